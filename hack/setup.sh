#!/usr/bin/env bash
# setup.sh [build|demo|test|lint|all]...
#
# Looks whether this machine has what the named jobs need (all, when none is named) and gets what is missing: with apt on Debian and its kin,
# and the newest HAProxy by get-haproxy.sh into build/haproxy-new. Elsewhere, or without root, it says what is missing and
# which command gets it. It is quick when nothing is missing, and the other targets of the Makefile call it first.
# shellcheck source=hack/lib.sh
. "$(dirname "$0")/lib.sh"

go_minimum=1.26
branches=(3.4 3.3 3.2 3.0)
fetch_seconds=300
# A mirror that could not be reached is not asked again by every make for this many minutes; 'make setup' asks at once.
fetch_again_minutes=60
unreached=build/haproxy-new.unreached

wants=" ${*:-all} "
wanted() { case $wants in *" all "* | *" $1 "*) return 0 ;; *) return 1 ;; esac }

# What is missing: Debian's package names, each with the reason; and what a job can do without, with what is lost.
packages=()
reasons=()
need() {
	local command=$1 package=$2 reason=$3
	have "$command" && return
	packages+=("$package")
	reasons+=("$command (package $package): $reason")
}

check_go() {
	local version
	have go || die "Go is not here. Berth needs Go $go_minimum or newer: unpack it from https://go.dev/dl/ into /usr/local and put /usr/local/go/bin into PATH"
	if ! version=$(go env GOVERSION 2>&1); then
		die "Go cannot be used in this folder: $version
Berth needs Go $go_minimum or newer: https://go.dev/dl/ has it"
	fi
	version=${version#go}
	version=${version%%[^0-9.]*}
	at_least "$version" "$go_minimum" || die "Go $version at $(command -v go) is too old: Berth needs $go_minimum or newer, which https://go.dev/dl/ has"
}

# as_root is how a command is run as root: nothing for root itself, sudo where it asks for no password, else not at all.
as_root=()
can_be_root() {
	[ "$(id -u)" -eq 0 ] && return
	as_root=(sudo -n)
	have sudo && sudo -n true 2>/dev/null
}

find_missing() {
	if wanted demo || wanted test; then
		need curl curl "the commands in the documentation use it"
		# Any HAProxy serves. Where it can be had at no cost, the distribution's own is wanted too: it is the oldest that is tested.
		if [ ! -x "$haproxy_new" ] || { have apt-get && can_be_root; }; then need haproxy haproxy "what Berth drives"; fi
	fi
	if wanted test; then
		need ip iproute2 "tests make network namespaces of their own"
		need unshare util-linux "tests make network namespaces of their own"
		need git git "the tests with mutants copy the tree with it"
		need gcc gcc "the race detector (go test -race) needs a C compiler"
		need tar tar "the tests with mutants copy the tree with it"
	fi
	if wanted lint; then
		need shellcheck shellcheck "make lint checks the scripts with it"
		need git git "make lint asks it which files are the project's"
	fi
}

# install_missing gets the packages, or says how and ends.
install_missing() {
	[ "${#packages[@]}" -gt 0 ] || return 0
	say "missing on this machine:"
	printf '  %s\n' "${reasons[@]}"
	local list="${packages[*]}"
	if ! have apt-get; then
		die "this is no Debian, so install these yourself (the names are Debian's): $list
  Fedora: dnf install haproxy ShellCheck iproute util-linux git gcc curl     Alpine: apk add haproxy shellcheck iproute2 util-linux git gcc musl-dev curl
  HAProxy must be $haproxy_minimum or newer; https://www.haproxy.org lists packages"
	fi
	# gcc alone has no C library to link with.
	case " $list " in *" gcc "*) packages+=(libc6-dev) ;; esac
	can_be_root || die "root is needed to install packages. Run:
  sudo apt-get update && sudo apt-get install --no-install-recommends -y ${packages[*]}"
	say "installing: ${packages[*]}"
		timeout 300 "${as_root[@]}" apt-get -qq -o Acquire::http::Timeout=30 update ||
		loud "apt-get update failed: the mirror cannot be reached, or a list is broken. Trying with the lists that are here."
	timeout 900 "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install --no-install-recommends -y "${packages[@]}" >/dev/null ||
		die "apt could not install ${packages[*]}: see its message above"
}

# fetch_haproxy puts the newest HAProxy that the mirror has into build/haproxy-new.
fetch_haproxy() {
	local got
	if [ -x "$haproxy_new" ] && [ -n "$(haproxy_version "$haproxy_new" || true)" ]; then return; fi
	if ! have apt-get; then
		loud "The newest HAProxy is fetched with apt only, which is not here. Tests use the haproxy in PATH, or BERTH_TEST_HAPROXY_NEW."
		return
	fi
	if ! wanted all && [ -n "$(find "$unreached" -mmin "-$fetch_again_minutes" 2>/dev/null)" ]; then
		say "the newest HAProxy could not be fetched lately: going on without ('make setup' tries again)"
		return
	fi
	say "fetching the newest HAProxy (${branches[*]}, the first that the mirror has) into build/haproxy-new: about half a minute, 25 MB"
	mkdir -p build
	if got=$(timeout "$fetch_seconds" "$root/hack/get-haproxy.sh" build/haproxy-new "${branches[@]}" 2>build/haproxy-new.log); then
		rm -f "$unreached"
		loud "Got $got"
		case $got in
		*"version ${branches[0]}."*) ;;
		*) loud "HAProxy ${branches[0]} is no longer to be had from this mirror: the newest here is $(haproxy_version "$haproxy_new")." ;;
		esac
	else
		touch "$unreached"
		cat build/haproxy-new.log >&2
		loud "The newest HAProxy could not be fetched (see above). What is here already is used instead: $(if have haproxy; then haproxy -v | sed -n 1p; else echo nothing yet; fi)."
	fi
}

check_go
wanted build && [ "$wants" = " build " ] && exit 0
# Fetched first, because it needs no root: who has none can go on without the distribution's package.
if wanted demo || wanted test; then fetch_haproxy; fi
find_missing
install_missing
if wanted demo || wanted test; then
	have haproxy || [ -x "$haproxy_new" ] || [ -n "${BERTH_TEST_HAPROXY_OLD:-}" ] || die "no HAProxy is here and none could be got: install $haproxy_minimum or newer, or set BERTH_TEST_HAPROXY_OLD to one"
fi
