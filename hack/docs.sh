#!/usr/bin/env bash
# docs.sh [PAGE...]
#
# Runs every block marked "sh" of the pages, in one bash, top to bottom, as a reader would, and fails where a command fails. Without pages: the
# README by itself, then the session of docs/README.md in its order. What was started in the background is ended with it, and waited for:
# the next session's pods want the same addresses.
# shellcheck source=hack/lib.sh
. "$(dirname "$0")/lib.sh"

# session prints the pages of the session, as docs/README.md lists them.
session() { sed -nE 's/^[0-9]+\. \[([a-z-]+\.md)\].*/docs\/\1/p' docs/README.md; }

# blocks prints the commands of a page, each page announced.
blocks() {
	local page
	for page in "$@"; do
		printf "printf '\\\\n######## %s\\\\n'\n" "$page"
		awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$page"
	done
}

run() {
	local script code=0
	script=$(mktemp)
	{
		echo "set -euo pipefail; trap 'kill \$(jobs -p) 2>/dev/null || true; wait' EXIT; set -v"
		blocks "$@"
	} >"$script"
	timeout -k 10 "${DOCS_SECONDS:-900}" bash "$script" </dev/null || code=$?
	rm -f "$script"
	local state
	for state in build/node-1 build/node-2; do
		[ ! -d "$state" ] || hack/end-haproxy.sh "$state"
	done
	return "$code"
}

if [ $# -gt 0 ]; then
	run "$@"
	exit
fi
mapfile -t pages < <(session)
step README.md run README.md
step "docs/README.md, the session" run "${pages[@]}"
