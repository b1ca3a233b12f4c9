#!/usr/bin/env bash
# tools.sh NAME...
#
# Builds tools of the modules under tools/ into .tools/, each when its module's list of versions (or Go) has changed since it was
# built. buf and golangci-lint take some five minutes each on two cores when Go's build cache is cold, so it says so.
# shellcheck source=hack/lib.sh
. "$(dirname "$0")/lib.sh"

# source_of prints the module folder and the package of a tool.
source_of() {
	case $1 in
	buf) echo tools github.com/bufbuild/buf/cmd/buf ;;
	golangci-lint) echo tools github.com/golangci/golangci-lint/v2/cmd/golangci-lint ;;
	grpcurl) echo tools github.com/fullstorydev/grpcurl/cmd/grpcurl ;;
	protoc-gen-go) echo tools google.golang.org/protobuf/cmd/protoc-gen-go ;;
	protoc-gen-go-grpc) echo tools google.golang.org/grpc/cmd/protoc-gen-go-grpc ;;
	controller-gen) echo tools/kubernetes sigs.k8s.io/controller-tools/cmd/controller-gen ;;
	*) die "no tool is called $1: there are buf, golangci-lint, grpcurl, protoc-gen-go, protoc-gen-go-grpc and controller-gen" ;;
	esac
}

build() {
	local name=$1 module package stamp
	read -r module package < <(source_of "$name")
	[ -n "${package:-}" ] || exit 1 # source_of has said why
	stamp=$(
		go version
		cat "$module/go.mod" "$module/go.sum"
	)
	stamp=$(sha256sum <<<"$stamp")
	if [ -x ".tools/$name" ] && [ "$(cat ".tools/$name.stamp" 2>/dev/null)" = "$stamp" ]; then return; fi
	say "building $name into .tools (from a cold cache, buf and golangci-lint take some five minutes each on two cores)"
	mkdir -p .tools
	(cd "$module" && GOWORK=off timeout 1200 go build -o "$root/.tools/$name" "$package") || die "$name could not be built"
	echo "$stamp" >".tools/$name.stamp"
}

[ $# -ge 1 ] || die "usage: tools.sh NAME..."
for name in "$@"; do
	build "$name"
done
