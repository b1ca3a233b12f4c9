#!/usr/bin/env bash
# hygiene.sh
#
# Checks what no linter knows: that no file grows too long, that every package says what it is for, that nothing committed names a path of
# the machine that it was written on or the host of a package registry, and that scripts can be run.
# shellcheck source=hack/lib.sh
. "$(dirname "$0")/lib.sh"

longest=450
failures=0
complain() {
	printf '%s\n' "$@" >&2
	failures=$((failures + 1))
}

# files lists the project's files, those that are not committed yet included, that match the git pathspecs given.
files() { git ls-files -co --exclude-standard --deduplicate -- "$@" | while read -r f; do [ -f "$f" ] && echo "$f"; done; }

is_generated() { grep -qm 1 '^// Code generated .* DO NOT EDIT' "$1"; }

check_length() {
	local file lines
	while read -r file; do
		is_generated "$file" && continue
		lines=$(wc -l <"$file")
		[ "$lines" -le "$longest" ] || complain "$file: $lines lines, more than $longest: is there a noun in there that wants a file of its own?"
	done < <(files '*.go' 'hack/*' '.ci/*')
}

check_packages() {
	local file dir
	while read -r dir; do
		grep -qsE '^(// (Package|Command) |/\*)' "$dir"/*.go || complain "$dir: a package without a doc comment"
	done < <(
		# A package of nothing but tests, or of generated files, needs no doc.
		files '*.go' ':!*_test.go' | while read -r file; do is_generated "$file" || dirname "$file"; done | sort -u
	)
}

# The brackets keep these patterns from matching themselves. Hosts that this machine's own tools are set up with are added to them, for a
# mirror of somebody's own must not get into the repository either.
machine_paths='(^|[^[:alnum:]_./-])/(wor[k]|tm[p]/hx|roo[t])(/|\b)|/hom[e]/[a-z]|\.\./share[d]/'
registry_hosts='proxy\.golan[g]\.org|sum\.golan[g]\.org|registry\.npmj[s]\.(org|com)|deb\.debia[n]\.org|security\.debia[n]\.org|snapshot\.debia[n]\.org|pypi\.or[g]'
own_hosts() {
	{
		go env GOPROXY | tr ',|' '\n'
		cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -oE 'https?://[^ ]+' || true
	} | sed -nE 's#^https?://([^/@]*@)?([^/:]+).*#\2#p' | sort -u | sed 's/\./\\./g' | paste -s -d '|'
}

check_names() {
	local pattern=$machine_paths'|'$registry_hosts own found
	own=$(own_hosts)
	[ -z "$own" ] || pattern+="|$own"
	found=$(files | grep -vE '(^|/)go\.(mod|sum|work\.sum)$' | xargs -d '\n' grep -nIE "$pattern" /dev/null || true)
	[ -z "$found" ] || complain "these lines name a path of somebody's machine or a package registry:" "$found"
}

check_modes() {
	local file
	while read -r file; do
		if head -n 1 "$file" | grep -q '^#!'; then
			[ -x "$file" ] || complain "$file: starts with #! but cannot be run (chmod +x)"
		elif [ -x "$file" ]; then
			complain "$file: can be run but does not say by what (#!)"
		fi
	done < <(files 'hack/*' '.ci/*' 'deploy/*' '*.sh')
}

# check_links sees that what a page links to inside the repository is there.
check_links() {
	local page target
	while IFS=: read -r page target; do
		target=${target#*](}
		target=${target%%[#)]*}
		if [ -n "$target" ] && [ ! -e "$(dirname "$page")/$target" ]; then complain "$page: links to $target, which is not there"; fi
	done < <(files '*.md' | xargs -r grep -noE '\]\([^)]*\)' /dev/null | sed -E 's/^([^:]*):[0-9]+:/\1:/' | grep -vE '\]\((https?:|mailto:)')
}

check_mutants() {
	local patch
	while read -r patch; do
		if ! grep -q '^# property: P[0-9]' "$patch" || ! grep -q '^# test: ' "$patch"; then
			complain "$patch: says not which property it breaks (# property:) and which test must see it (# test:)"
		fi
		git apply --check --whitespace=nowarn "$patch" 2>/dev/null || complain "$patch: no longer applies"
	done < <(files 'tests/mutants/*.patch' 2>/dev/null)
}

check_length
check_packages
check_names
check_modes
check_links
check_mutants
[ "$failures" -eq 0 ] || die "$failures complaints"
