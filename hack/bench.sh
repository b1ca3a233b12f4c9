#!/usr/bin/env bash
# bench.sh
#
# Runs every benchmark, one package after the other, on screen and into build/bench.txt. BENCH picks some (a regular expression),
# BENCH_TIME (1s) is how long each runs.
# shellcheck source=hack/lib.sh
. "$(dirname "$0")/lib.sh"

find_haproxies
mkdir -p build
{
	say "commit: $(git describe --tags --always --dirty 2>/dev/null || echo unknown)"
	say "cores: $(nproc)   go: $(go env GOVERSION)   haproxy: $(haproxy_version "$BERTH_TEST_HAPROXY_OLD") and $(haproxy_version "$BERTH_TEST_HAPROXY_NEW")"
	# Times that were taken beside other work are for comparing within the run only.
	[ ! -r /proc/loadavg ] || say "load: $(cut -d ' ' -f 1-3 /proc/loadavg) at the start"
	code=0
	for module in $(modules); do
		# Packages without a benchmark are left out: they would only be built.
		mapfile -t packages < <(cd "$module" && grep -rlE '^func Benchmark[A-Z]' --include='*_test.go' . | xargs -r -n 1 dirname | sort -u)
		[ "${#packages[@]}" -gt 0 ] || continue
		(cd "$module" && go test -p 1 -run '^$' -bench "${BENCH:-.}" -benchtime "${BENCH_TIME:-1s}" -benchmem -timeout 30m "${packages[@]}") || code=1
	done
	exit "$code"
} 2>&1 | tee build/bench.txt
