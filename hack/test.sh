#!/usr/bin/env bash
# test.sh [unit|e2e|fuzz|soak|all]
#
# unit  the tests of every package but the end-to-end ones, with the race detector
# e2e   the packages under tests/e2e, and two minutes of tests/soak: real HAProxy, real gRPC, load; without the race detector, which would measure itself
# fuzz  every fuzz target that there is, FUZZ_TIME (10s) each
# soak  random faults for longer: DURATION (1h), with a seed of one's own (SEED), of some kinds only (FAULTS, a regular expression); not a part of all
#
# Everything is run even when something before it failed; the exit code and the last lines say what did. The lines of go test itself
# are left as they are. GO_TEST_FLAGS is handed to go test, such as GO_TEST_FLAGS='-run Rolling -v'.
# shellcheck source=hack/lib.sh
. "$(dirname "$0")/lib.sh"

fuzz_time=${FUZZ_TIME:-10s}
fuzz_jobs=${FUZZ_JOBS:-2}
read -r -a flags <<<"${GO_TEST_FLAGS:-}"

race=(-race)
if [ "$(go env CGO_ENABLED)" != 1 ] || ! have "$(go env CC)"; then
	race=()
	loud "No C compiler is here, so the tests run without the race detector."
fi

# unit_packages lists a module's packages that are no end-to-end tests.
unit_packages() { go list ./... | grep -v '/tests/\(e2e\|soak\)\(/\|$\)' || true; }

# The module tests looks at what lies outside of it (other modules' imports, binaries, HAProxy), which go test's cache does not notice.
unit_of() {
	local packages uncached=()
	[ "$1" != tests ] || uncached=(-count 1)
	mapfile -t packages < <(unit_packages)
	[ "${#packages[@]}" -gt 0 ] || return 0
	go test "${race[@]}" "${uncached[@]}" -timeout 10m "${flags[@]}" "${packages[@]}"
}

unit() {
	local module code=0
	product || code=1
	for module in $(modules); do
		say "-- $module: go test ${race[*]} ${flags[*]:-}"
		(cd "$module" && unit_of "$module") || code=1
	done
	return "$code"
}

# product builds the product's commands once for all test processes, which would build them each for itself otherwise.
product() {
	[ -z "${BERTH_BIN:-}" ] || return 0
	local module bin=$root/build/test-bin
	mkdir -p "$bin"
	for module in controlplane dataplane-agent; do
		(cd "$module" && go build -o "$bin/" ./cmd/...) || return 1
	done
	export BERTH_BIN=$bin
}

# e2e packages run one after the other: each wants the two cores for its load. What a passing test prints is kept (the figures are the point),
# the runner's chatter about starting and pausing is not.
e2e() {
	[ -d tests/e2e ] || {
		say "there are no end-to-end tests yet"
		return 0
	}
	product || return 1
	say "-- tests: go test -v -count 1 -p 1 ${flags[*]:-} ./e2e/... ./soak/..."
	(cd tests && BERTH_SOAK_KEEP=$root/build/soak go test -v -count 1 -p 1 -timeout 20m "${flags[@]}" ./e2e/... ./soak/...) |
		grep --line-buffered -vE '^=== (RUN|PAUSE|CONT|NAME) |^PASS$|\[no test files\]$'
}

# soak is the run of random faults alone. What a run that found something leaves behind is in build/soak.
soak() {
	product || return 1
	(cd tests && BERTH_SOAK_KEEP=$root/build/soak BERTH_SOAK_DURATION=${DURATION:-1h} BERTH_SOAK_SEED=${SEED:-} BERTH_SOAK_FAULTS=${FAULTS:-} \
		go test -v -count 1 -timeout 0 -run '^TestRandomFaults$' ./soak) |
		grep --line-buffered -vE '^=== (RUN|PAUSE|CONT|NAME) |^PASS$'
}

# list_targets prints module, package folder and name of every fuzz target.
list_targets() {
	local modules
	read -r -a modules < <(modules)
	grep -rnoE '^func Fuzz[A-Z][A-Za-z0-9_]*\(' --include='*_test.go' "${modules[@]}" |
		sed -nE 's|^([^/]+)/(.*)/[^/]*:[0-9]+:func (Fuzz[A-Za-z0-9_]*)\($|\1 ./\2 \3|p' | sort -u
}

# fuzz_one fuzzes one target with one worker; two targets run side by side. Ten seconds are for new inputs: neither for running all that earlier runs on
# this machine have found (they would be begun with, so the committed corpus alone is given, unless FUZZ_CACHE=1) nor for making
# inputs shorter. Go's fuzzer now and then reports its own deadline as a failure of the
# target (golang/go#75804): without a failing input that is no finding, and the target gets a second try.
fuzz_one() {
	local module=$1 package=$2 name=$3 log try cache arguments=()
	log=$(mktemp)
	cache=$(mktemp -d)
	[ -n "${FUZZ_CACHE:-}" ] || arguments=(-args "-test.fuzzcachedir=$cache")
	for try in first second; do
		if (cd "$module" && timeout 1200 go test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzz_time" -fuzzminimizetime 10x -parallel 1 "$package" "${arguments[@]}") >"$log" 2>&1; then
			sed -n '$p' "$log" | sed "s/\$/   $name, $(grep -oE 'execs: [0-9]+' "$log" | tail -n 1)/"
			rm -rf "$log" "$cache"
			return 0
		fi
		if [ "$try" = second ] || grep -q 'Failing input written' "$log" || ! grep -q 'context deadline exceeded' "$log"; then break; fi
		say "$name: the fuzzer ran into its own deadline, once more"
	done
	printf '%s in %s/%s:\n' "$name" "$module" "${package#./}"
	cat "$log"
	rm -rf "$log" "$cache"
	return 1
}

fuzz() {
	local targets
	targets=$(list_targets) || true
	[ -n "$targets" ] || {
		say "there are no fuzz targets"
		return 0
	}
	say "-- $(wc -l <<<"$targets") fuzz targets, $fuzz_time each, $fuzz_jobs at a time"
	xargs -P "$fuzz_jobs" -L 1 "$0" fuzz-one <<<"$targets"
}

case ${1:-all} in
fuzz-one)
	shift
	fuzz_one "$@"
	exit
	;;
unit | e2e | fuzz | soak) parts=("$1") ;;
all) parts=(unit e2e fuzz) ;;
*) die "usage: test.sh [unit|e2e|fuzz|soak|all]" ;;
esac

find_haproxies
failed=()
start=$SECONDS
for part in "${parts[@]}"; do
	step "$part" "$part" || failed+=("$part")
done
[ "${#failed[@]}" -eq 0 ] || die "failed: ${failed[*]} (in $((SECONDS - start)) s)"
say "test: ${parts[*]} ok in $((SECONDS - start)) s"
