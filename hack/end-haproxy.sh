#!/usr/bin/env bash
# end-haproxy.sh STATE_DIR
#
# Ends the HAProxy that an agent has left serving: the master whose socket is STATE_DIR/master.sock, with its workers. The agent must have been ended
# before, or it starts HAProxy again. Connections that are open are given up.
set -euo pipefail

[ $# -eq 1 ] || {
	echo "usage: end-haproxy.sh STATE_DIR" >&2
	exit 2
}
[ -d "$1" ] || {
	echo "end-haproxy.sh: there is no folder $1; give the --state-dir of an agent" >&2
	exit 1
}
state=$(realpath "$1")
ended=0

# The socket of the master stands on its command line, as the agent wrote it; no other process has it there.
find_masters() {
	local dir arguments
	for dir in /proc/[0-9]*; do
		# A process may end while it is looked at.
		arguments=$({ tr '\0' '\n' <"$dir/cmdline"; } 2>/dev/null) || continue
		case $arguments in *"$state/master.sock"*) ;; *) continue ;; esac
		# A worker has the same command line as its master, and is its child.
		case $'\n'$arguments$'\n' in *$'\n-W\n'* | *$'\n-Ws\n'*) echo "${dir#/proc/}" ;; esac
	done
}

mapfile -t found < <(find_masters)
for pid in "${found[@]}"; do
	if kill -TERM "$pid" 2>/dev/null; then ended=$((ended + 1)); fi
done
for _ in $(seq 50); do
	left=0
	for pid in "${found[@]}"; do if kill -0 "$pid" 2>/dev/null; then left=1; fi; done
	[ "$left" -eq 1 ] || break
	sleep 0.1
done
echo "ended $ended HAProxy processes of $state"
