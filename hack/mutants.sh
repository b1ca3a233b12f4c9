#!/usr/bin/env bash
# mutants.sh [PATTERN]
#
# Each patch in tests/mutants (those whose name contains PATTERN) breaks one property of the product on purpose, and names the tests that must
# see it. It is applied to a copy of the tree, and the named tests must then fail. A patch starts with lines such as
#
#   # property: P6
#   # breaks: a generation is reported as applied when its commands were acknowledged, without a read-back
#   # test: dataplane-agent -run TestAppliedMeansReadBack ./internal/node
#   # test: tests -run 'TestRolling/new' ./e2e/rolling
#
# "test:" is a module's folder and what go test is given there; one of several must fail. It is an error when a mutant survives, when its patch no
# longer applies, when it does not compile (that proves nothing), and when a named test fails, or is not there, without the patch.
#
# MUTANT_SECONDS (300) bounds each run of tests: tests that hang have noticed.
# shellcheck source=hack/lib.sh
. "$(dirname "$0")/lib.sh"

pattern=${1:-}
dir=${MUTANTS_DIR:-tests/mutants}
bound=${MUTANT_SECONDS:-300}
# The copy is always in the same place, because Go's build cache knows packages by their folder.
copy=$root/build/mutants/tree
logs=$root/build/mutants/logs

copy_tree() {
	rm -rf "$copy" "$logs"
	mkdir -p "$copy" "$logs"
	git ls-files -co --exclude-standard --deduplicate | while read -r file; do [ -e "$file" ] && echo "$file"; done |
		tar -cf - -T - | tar -xf - -C "$copy"
	[ ! -f go.work.sum ] || cp go.work.sum "$copy/"
}

# in_copy is git in the copy. The ceiling keeps it from finding the repository around it, whose paths would be meant otherwise.
in_copy() { (cd "$copy" && GIT_CEILING_DIRECTORIES=$(dirname "$copy") git "$@"); }

# run_tests runs "MODULE ARGS..." in the copy, with its output in $1. The words of ARGS are quoted as in a shell.
run_tests() {
	local log=$1 module rest words
	read -r module rest <<<"$2"
	mapfile -t words < <(xargs -n 1 printf '%s\n' <<<"$rest")
	(cd "$copy/$module" && timeout -k 10 "$bound" go test -count 1 -v -timeout "${bound}s" "${words[@]}") >"$log" 2>&1
}

# compiles says whether the packages of "MODULE ARGS..." and their tests still build.
compiles() {
	local log=$1 module=${2%% *}
	packages_of "$2"
	(cd "$copy/$module" && timeout 900 go vet "${packages[@]}" && go build ./...) >"$log" 2>&1
}

# packages_of sets the array packages to the words of "MODULE ARGS..." that are packages.
packages_of() {
	local word
	packages=()
	while read -r word; do
		case $word in ./*) packages+=("$word") ;; esac
	done < <(xargs -n 1 printf '%s\n' <<<"${1#* }")
}

# green says whether tests pass without any patch; each set is run once. It keeps why not in the variable reason.
declare -A baseline=()
green() {
	local log
	if [ -z "${baseline[$1]:-}" ]; then
		log=$logs/baseline-${#baseline[@]}.log
		if ! run_tests "$log" "$1"; then
			baseline[$1]="fails without the patch (see $log)"
		elif ! grep -q '^--- PASS' "$log"; then
			baseline[$1]="names no test that runs (see $log)"
		else
			baseline[$1]=ok
		fi
	fi
	reason=${baseline[$1]}
	[ "$reason" = ok ]
}

# judge sets verdict and detail of one patch.
judge() {
	local patch=$1 name tests test count=0
	name=$(basename "$patch" .patch)
	mapfile -t tests < <(sed -n 's/^# test: *//p' "$patch")
	verdict=ERROR
	[ "${#tests[@]}" -gt 0 ] || {
		detail="names no test"
		return
	}
	for test in "${tests[@]}"; do
		green "$test" || {
			detail="'$test' $reason"
			return
		}
	done
	in_copy apply --whitespace=nowarn "$patch" >"$logs/$name.apply.log" 2>&1 || {
		detail="does not apply: $(sed -n 1p "$logs/$name.apply.log")"
		return
	}
	verdict=SURVIVED detail="all of its tests stay green"
	for test in "${tests[@]}"; do
		count=$((count + 1))
		if ! compiles "$logs/$name.$count.build.log" "$test"; then
			verdict=ERROR detail="does not compile (see $logs/$name.$count.build.log)"
			break
		fi
		if ! run_tests "$logs/$name.$count.log" "$test"; then
			verdict=killed
			detail=$(grep -oE '^ *--- FAIL: [^ ]+|^panic: .*|^FAIL.*\[.*\]' "$logs/$name.$count.log" | sed -n '1s/^ *--- FAIL: //p')
			detail=${detail:-by a time-out or a crash}
			break
		fi
	done
	in_copy apply -R --whitespace=nowarn "$patch" || die "$name: could not be taken back; look at $copy"
}

mapfile -t patches < <(find "$dir" -name '*.patch' 2>/dev/null | grep -F -- "$pattern" | sort)
[ "${#patches[@]}" -gt 0 ] || die "no patch in $dir matches '$pattern'"
find_haproxies
# Commands that were built before would be the unbroken ones: each test process builds its own, from the copy.
unset BERTH_BIN
copy_tree
printf '\n%-9s %-8s %-52s %s\n' verdict property mutant 'seen by'
bad=0
for patch in "${patches[@]}"; do
	judge "$(realpath "$patch")"
	[ "$verdict" = killed ] || bad=$((bad + 1))
	printf '%-9s %-8s %-52s %s\n' "$verdict" "$(sed -n 's/^# property: *//p' "$patch")" "$(basename "$patch" .patch)" "$detail"
done
rm -rf "$copy"
printf '\n%s mutants, %s not killed; what the tests said is in %s\n' "${#patches[@]}" "$bad" "$logs"
[ "$bad" -eq 0 ]
