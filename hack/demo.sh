#!/usr/bin/env bash
# demo.sh
#
# Runs the demo that 'make demo' has built, with the newest HAProxy that is here. KEEP=1 keeps it up until it is interrupted.
# shellcheck source=hack/lib.sh
. "$(dirname "$0")/lib.sh"

find_haproxies
keep=()
[ -z "${KEEP:-}" ] || keep=(--keep)
exec bin/berth-demo "${keep[@]}"
