#!/usr/bin/env bash
# get-haproxy.sh DEST BRANCH...
#
# Unpacks the first of the branches (3.4, 3.2, ...) that the Debian mirror has, with every library that it needs, into DEST;
# DEST/haproxy runs it, DEST/VERSION names it. Nothing on the system changes and root is not needed: apt is used
# with a configuration, an index and a cache of its own in a temporary folder, which goes away at the end. What DEST held
# before stays until the new one has answered to -v.
#
# The mirror is the one that apt uses already; DEBIAN_MIRROR names another. Newer branches live in suites that move, so a
# branch that was here yesterday can be gone today: give several.
set -euo pipefail

usage() {
	echo "usage: get-haproxy.sh DEST BRANCH...   such as: get-haproxy.sh build/haproxy-new 3.4 3.2 3.0" >&2
	exit 2
}

fail() {
	echo "get-haproxy: $*" >&2
	exit 1
}

# Suites in which to look, the one with the newest HAProxy first.
suites=(experimental sid trixie)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# find_mirror prints the mirror of Debian's main archive that apt is set up with.
find_mirror() {
	local found
	if [ -n "${DEBIAN_MIRROR:-}" ]; then
		echo "$DEBIAN_MIRROR"
		return
	fi
	# The indexes know it only after an update; the source lists always do, in either of their two formats.
	# shellcheck disable=SC2016 # the $(...) are apt's own
	found=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(SUITE)' 'Created-By: Packages' 2>/dev/null |
		awk '$2 == "Debian" && $3 !~ /security|backports|updates/ { print $1; exit }') || true
	if [ -z "$found" ]; then
		found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
			sed -nE 's/^URIs:[[:space:]]*([^[:space:]]+).*/\1/p; s/^deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+).*/\2/p' |
			grep -m 1 -E '/debian/?$') || true
	fi
	echo "$found"
}

# private_apt writes an apt configuration that touches nothing outside $1, and makes this shell's apt commands use it. Settings of the
# machine (a proxy, a rule about dates) still hold, for they come from its apt.conf.d.
private_apt() {
	local dir=$1 mirror=$2 suite
	mkdir -p "$dir/etc" "$dir/state/lists/partial" "$dir/cache/archives/partial"
	: >"$dir/state/status"
	for suite in "${suites[@]}"; do
		echo "deb [arch=$arch signed-by=$keyring] $mirror $suite main"
	done >"$dir/etc/sources.list"
	cat >"$dir/apt.conf" <<CONF
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Dir::Etc::sourcelist "$dir/etc/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$dir/state";
Dir::State::status "$dir/state/status";
Dir::Cache "$dir/cache";
CONF
	export APT_CONFIG=$dir/apt.conf
}

# find_version prints the newest package version of the first branch that is there.
find_version() {
	local branch version
	for branch in "$@"; do
		version=$(apt-cache madison haproxy 2>/dev/null |
			awk -F'|' -v prefix="$branch." '{ gsub(/ /, "", $2) } /Packages/ && index($2, prefix) == 1 { print $2; exit }')
		if [ -n "$version" ]; then
			echo "$version"
			return
		fi
	done
}

# with_libraries prints the package $1 and all libraries that it needs, theirs included: the C library too, so that the
# binary of a newer suite runs on this machine without touching this machine's own.
with_libraries() {
	local all=("$1") wave=("$1") next package
	while [ "${#wave[@]}" -gt 0 ]; do
		next=()
		while read -r package; do
			case " ${all[*]} " in
			*" $package "*) ;;
			*)
				all+=("$package")
				next+=("$package")
				;;
			esac
		done < <(apt-cache show --no-all-versions "${wave[@]}" |
			sed -nE 's/^(Pre-)?Depends: //p' | tr ',|' '\n' | sed -E 's/^ *//; s/[ :(].*//' |
			grep -E '^(lib|zlib)' | sort -u)
		wave=("${next[@]}")
	done
	echo "${all[@]}"
}

# unpack lays the packages in $1 out under $2 and writes the command that starts this HAProxy with its own loader and libraries.
unpack() {
	local debs=$1 into=$2 deb
	rm -rf "$into"
	mkdir -p "$into"
	for deb in "$debs"/*.deb; do
		dpkg-deb -x "$deb" "$into"
	done
	rm -rf "${into:?}"/usr/share "${into:?}"/usr/lib/*/gconv "${into:?}"/usr/lib/*/perl* "${into:?}"/etc "${into:?}"/var
	cat >"$into/haproxy" <<'RUN'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
lib=$(echo "$here"/usr/lib/*-linux-gnu)
loader=$(echo "$lib"/ld-linux-*.so.*)
exec "$loader" --library-path "$lib" --argv0 "$here/haproxy" "$here/usr/sbin/haproxy" "$@"
RUN
	chmod +x "$into/haproxy"
}

[ $# -ge 2 ] || usage
dest=$1
shift
for tool in apt-get apt-cache dpkg dpkg-deb; do
	command -v "$tool" >/dev/null || fail "$tool is not here: this works on Debian and its kin only"
done
[ -r "$keyring" ] || fail "$keyring is not here: install the package debian-archive-keyring"
arch=$(dpkg --print-architecture)
mirror=$(find_mirror)
[ -n "$mirror" ] || fail "apt's source lists name no mirror of Debian: set DEBIAN_MIRROR to the address of one"

work=$(mktemp -d)
trap 'rm -rf "$work" "$dest.new"' EXIT
private_apt "$work" "$mirror"
apt-get -qq update || true # that one suite is missing is no reason to fail; that all are is seen next
version=$(find_version "$@")
[ -n "$version" ] || fail "none of the branches $* is at $mirror in ${suites[*]} (or the mirror cannot be reached)"

read -r -a packages < <(with_libraries "haproxy=$version")
mkdir -p "$work/deb" "$(dirname "$dest")"
(cd "$work/deb" && apt-get -qq download "${packages[@]}") || fail "$mirror has haproxy $version in its index, but it could not be fetched whole"
unpack "$work/deb" "$dest.new"
echo "$version" >"$dest.new/VERSION"
banner=$("$dest.new/haproxy" -v) || fail "haproxy $version was fetched but does not run: a library is missing; $dest is as it was"
rm -rf "$dest"
mv "$dest.new" "$dest"
echo "${banner%%$'\n'*}"
