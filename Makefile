# 'make' alone lists what there is. Every target first calls hack/setup.sh, which gets or names what this machine lacks.
MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)
GO_BUILD := CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)'

.PHONY: help
help: ## list the targets
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

.PHONY: setup
setup: ## get what a fresh machine lacks for all of this (Debian), or say what is missing
	@hack/setup.sh

.PHONY: build
build: ## bin/berth-controlplane, bin/berth-agent and bin/berthctl; needs only Go
	@hack/setup.sh build
	@mkdir -p bin
	cd controlplane && $(GO_BUILD) -o ../bin/ ./cmd/berth-controlplane ./cmd/berthctl
	cd dataplane-agent && $(GO_BUILD) -o ../bin/ ./cmd/berth-agent

.PHONY: demo
demo: build ## two fleets under load through a rolling restart and route changes, with a verdict; KEEP=1 stays up
	@hack/setup.sh demo
	cd tests && $(GO_BUILD) -o ../bin/berth-demo ./cmd/berth-demo
	@KEEP='$(KEEP)' hack/demo.sh

.PHONY: test
test: ## all tests: unit (with the race detector), end to end, fuzz targets for 10 s each
	@hack/setup.sh build test
	@hack/test.sh all

.PHONY: test-unit
test-unit: ## every package but the end-to-end tests, with the race detector
	@hack/setup.sh build test
	@hack/test.sh unit

.PHONY: test-e2e
test-e2e: ## real HAProxy under load
	@hack/setup.sh build test
	@hack/test.sh e2e

.PHONY: soak
soak: ## random faults under load for DURATION (1h), the same ones again with SEED=n; FAULTS='journal|plane' picks some
	@hack/setup.sh build test
	@DURATION='$(DURATION)' SEED='$(SEED)' FAULTS='$(FAULTS)' hack/test.sh soak

.PHONY: fuzz
fuzz: ## every fuzz target, FUZZ_TIME (10s) each
	@hack/setup.sh build test
	@hack/test.sh fuzz

.PHONY: mutants
mutants: ## break each property on purpose (tests/mutants) and see the tests notice; ONLY=p6 picks some
	@hack/setup.sh build test
	@hack/mutants.sh $(ONLY)

.PHONY: docs
docs: ## run every command that the README and docs/ show, as a reader would; PAGES='docs/demo.md' picks some
	@hack/setup.sh build demo
	@hack/docs.sh $(PAGES)

.PHONY: bench
bench: ## benchmarks, each beside the floor measured in the same run; also into build/bench.txt
	@hack/setup.sh build test
	@hack/bench.sh

.PHONY: lint
lint: ## generated code, protocol, format, vet, linters, scripts, house rules; CHECK='format vet' picks some
	@hack/setup.sh build lint
	@hack/lint.sh $(CHECK)

.PHONY: generate
generate: ## write the generated code and the CRDs anew
	@hack/setup.sh build
	@hack/generate.sh

.PHONY: baseline
baseline: ## take the protocol as it is for what later changes must not break (after a release only)
	@hack/tools.sh buf
	.tools/buf build -o proto/baseline.binpb

.PHONY: tidy
tidy: ## go mod tidy in every module, and gofmt
	@hack/setup.sh build
	@for module in api proto controlplane dataplane-agent tests; do (cd $$module && go mod tidy) || exit 1; done
	@gofmt -w $$(git ls-files -co --exclude-standard --deduplicate -- '*.go')

.PHONY: tools
tools: ## build tools into .tools; TOOLS='grpcurl' picks some
	@hack/setup.sh build
	@hack/tools.sh $(or $(TOOLS),buf golangci-lint grpcurl protoc-gen-go protoc-gen-go-grpc controller-gen)

.PHONY: clean
clean: ## remove what was built, but not the tools (.tools) and not the fetched HAProxy
	rm -rf bin build/mutants build/bench.txt
