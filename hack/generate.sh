#!/usr/bin/env bash
# generate.sh [DIR]
#
# Writes the generated files (the protocol's code, deep copies of the Kubernetes types, their CRDs, the page of settings) into the tree, or under DIR.
# shellcheck source=hack/lib.sh
. "$(dirname "$0")/lib.sh"

into=${1:-$root}
hack/tools.sh buf protoc-gen-go protoc-gen-go-grpc controller-gen
mkdir -p "$into"/api/v1alpha1 "$into"/deploy/crds "$into"/docs
PATH=$root/.tools:$PATH timeout 120 .tools/buf generate -o "$into"
(cd api && timeout 120 ../.tools/controller-gen \
	object paths=./v1alpha1 output:object:dir="$into/api/v1alpha1")
timeout 120 .tools/controller-gen crd paths=./api/v1alpha1 output:crd:dir="$into/deploy/crds"
# The generator names CRDs group_plural; here a CRD's file has the CRD's name.
for crd in "$into"/deploy/crds/berth.dev_*.yaml; do
	plural=${crd##*/berth.dev_}
	mv "$crd" "$into/deploy/crds/${plural%.yaml}.berth.dev.yaml"
done
(cd controlplane && timeout 300 go run ./internal/settingspage >"$into/docs/settings.md")
