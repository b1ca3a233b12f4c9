# What the scripts in this folder share. Sourced, never run: it leaves the shell in the repository's root.
# shellcheck shell=bash

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Debian keeps haproxy and ip where a plain user's PATH does not look.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

# modules lists the modules of go.work, those that others depend on first.
modules() { echo api proto controlplane dataplane-agent tests; }

say() { printf '%s\n' "$*"; }

# loud is for what must not be overlooked between a thousand lines of test output.
loud() { printf '\n*** %s\n' "$@" >&2; printf '\n' >&2; }

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# step says what is run, and how long it took when it is over: a bound on a run is kept only by who sees where the time goes.
step() {
	local name=$1 start=$SECONDS code=0
	shift
	printf '== %s\n' "$name"
	"$@" || code=$?
	printf '== %s: %s in %d s\n' "$name" "$([ "$code" -eq 0 ] && echo ok || echo "FAILED (exit $code)")" "$((SECONDS - start))"
	return "$code"
}

# haproxy_version prints the version of the haproxy at $1, such as 2.6.12, or nothing when it does not run.
haproxy_version() { "$1" -v 2>/dev/null | sed -n '1s/.*version \([0-9][0-9.]*\).*/\1/p'; }

# at_least says whether version $1 is $2 or newer.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# The oldest HAProxy that Berth speaks to, and where setup puts the newest that it can get.
haproxy_minimum=2.6
haproxy_new=$root/build/haproxy-new/haproxy

# find_haproxies exports BERTH_TEST_HAPROXY_OLD and BERTH_TEST_HAPROXY_NEW. What is set already is kept; where only one HAProxy is
# to be had, it stands for both, and that is said.
find_haproxies() {
	local path_one='' new_one=''
	if have haproxy && at_least "$(haproxy_version haproxy || true)" "$haproxy_minimum"; then path_one=$(command -v haproxy); fi
	if [ -x "$haproxy_new" ] && [ -n "$(haproxy_version "$haproxy_new" || true)" ]; then new_one=$haproxy_new; fi
	: "${BERTH_TEST_HAPROXY_OLD:=${path_one:-$new_one}}"
	: "${BERTH_TEST_HAPROXY_NEW:=${new_one:-$path_one}}"
	export BERTH_TEST_HAPROXY_OLD BERTH_TEST_HAPROXY_NEW
	[ -n "$BERTH_TEST_HAPROXY_OLD" ] || die "no HAProxy $haproxy_minimum or newer is here: run 'make setup'"
	say "HAProxy: $(haproxy_version "$BERTH_TEST_HAPROXY_OLD") at $BERTH_TEST_HAPROXY_OLD"
	say "HAProxy: $(haproxy_version "$BERTH_TEST_HAPROXY_NEW") at $BERTH_TEST_HAPROXY_NEW"
	if [ "$BERTH_TEST_HAPROXY_OLD" = "$BERTH_TEST_HAPROXY_NEW" ]; then
		loud "Only one HAProxy is here: tests that want an old and a new one use it twice."
	fi
}
