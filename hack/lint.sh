#!/usr/bin/env bash
# lint.sh [CHECK...]
#
# Runs every check, or those named, and says at the end which failed: generated, protocol, format, vet, linters, scripts, hygiene.
# shellcheck source=hack/lib.sh
. "$(dirname "$0")/lib.sh"

all=(format hygiene scripts protocol generated vet linters)

# Generated code is committed, so that nobody needs these tools to build; here it is made again beside the tree and compared.
generated() {
	hack/tools.sh buf protoc-gen-go protoc-gen-go-grpc controller-gen || return 1
	local fresh code=0
	fresh=$(mktemp -d)
	hack/generate.sh "$fresh" || code=1
	local file
	while [ "$code" -eq 0 ] && read -r file; do
		diff -u "$file" "$fresh/$file" >"$fresh/difference" 2>&1 || {
			head -n 20 "$fresh/difference"
			say "$file is stale: run 'make generate' and commit it"
			code=1
		}
	done < <(cd "$fresh" && find . -type f ! -name difference | sed 's#^\./##' | sort)
	# What is committed and no longer generated is as stale.
	while [ "$code" -eq 0 ] && read -r file; do
		[ -e "$fresh/$file" ] || {
			say "$file is no longer generated from anything: remove it"
			code=1
		}
	done < <(git ls-files 'proto/**/*.pb.go' 'api/**/zz_generated*.go' 'deploy/crds/*.yaml')
	rm -rf "$fresh"
	return "$code"
}

protocol() {
	hack/tools.sh buf || return 1
	timeout 120 .tools/buf lint && timeout 120 .tools/buf breaking --against proto/baseline.binpb
}

format() {
	local files unformatted
	mapfile -t files < <(git ls-files -co --exclude-standard --deduplicate -- '*.go' | while read -r f; do [ -f "$f" ] && echo "$f"; done)
	unformatted=$(gofmt -l "${files[@]}") || return 1
	[ -z "$unformatted" ] || {
		say "gofmt would change:" "$unformatted"
		return 1
	}
}

vet() {
	local module code=0
	for module in $(modules); do
		(cd "$module" && timeout 900 go vet ./...) || code=1
	done
	return "$code"
}

linters() {
	hack/tools.sh golangci-lint || return 1
	local module code=0
	for module in $(modules); do
		say "-- $module"
		(cd "$module" && timeout 900 ../.tools/golangci-lint run --allow-parallel-runners --config ../.golangci.yml ./...) || code=1
	done
	return "$code"
}

scripts() {
	local files
	mapfile -t files < <(git ls-files -co --exclude-standard --deduplicate -- 'hack/*.sh' '*.sh' '.ci/run' | while read -r f; do [ -f "$f" ] && echo "$f"; done)
	shellcheck -x "${files[@]}"
}

hygiene() { hack/hygiene.sh; }

failed=()
checks=("${@:-${all[@]}}")
[ $# -gt 0 ] || checks=("${all[@]}")
for check in "${checks[@]}"; do
	case " ${all[*]} " in *" $check "*) ;; *) die "no check is called $check: there are ${all[*]}" ;; esac
	step "$check" "$check" || failed+=("$check")
done
[ "${#failed[@]}" -eq 0 ] || die "failed: ${failed[*]}"
say "lint: ${#checks[@]} checks, all ok"
