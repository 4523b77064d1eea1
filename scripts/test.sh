#!/usr/bin/env bash
# Runs ctest; a test that fails is run once more, alone. Usage: scripts/test.sh <options of ctest>
# A test that then passes has failed for lack of time on a busy machine, and is only named at the
# end: "failed once, passed alone". More than two of these fail the run all the same; of a suite,
# each of its tests counts.
# A test that fails and prints SAFETY-VIOLATION has seen a broken rule of safety (two owners, a token
# that does not grow, a lost update, a callback after stop). It gets no second chance, nor does one
# that prints the report of a sanitizer or dies by a signal: no lack of time explains these. They
# are named at the end, with the reason.
# A test that was skipped must be one of those in tests/skips.txt that may be, or else the run fails.
# With SIMBA_TEST_STRICT=1 a server or a tool that is missing is an error, though the tests can do without it.
# The last line is always "N passed, N failed"; skipped tests count as passed, as for ctest. What ctest
# counts may be a suite; how many tests of GoogleTest were run altogether is said above it.
set -uo pipefail

safety=SAFETY-VIOLATION
most_flaky=2
most_again=10 # with more, it is not the machine
skips=${SIMBA_TEST_SKIPS:-$(dirname "$0")/../tests/skips.txt}
strict=${SIMBA_TEST_STRICT:-0}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkfifo "$work/pipe"

# What runs in its servers' name ends them when it is gone itself: see tests/support/supervisor.
child=
stop() {
  trap '' INT TERM HUP
  if [ -n "$child" ]; then
    kill -STOP "$child" # it starts nothing more
    # shellcheck disable=SC2046
    kill -TERM $(cat /proc/"$child"/task/*/children)
    kill -KILL "$child"
  fi 2>/dev/null
  echo "test: interrupted" >&2
  exit 130
}
trap stop INT TERM HUP

# run_ctest <log> <lines to hide> <option ...>: leaves the whole output in the log.
run_ctest() {
  local log=$1 hidden=$2 printer status
  shift 2
  tee "$log" <"$work/pipe" | grep --line-buffered -Ev "$hidden" &
  printer=$!
  # In the background it would ignore the interrupt key, and so would all tests.
  env --default-signal=INT,QUIT ctest --output-on-failure "$@" >"$work/pipe" 2>&1 </dev/null &
  child=$!
  wait "$child"
  status=$?
  child=
  wait "$printer"
  return $status
}

# The count of ctest is hidden where it is not the last word.
run_ctest "$work/log" '^[0-9]{1,2}% tests passed, ' "$@"
status=$?
read -r failures total < <(
  sed -En 's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of ([0-9]+)$/\1 \2/p' "$work/log"
)
if [ "${total:-0}" -eq 0 ] || { [ $status -ne 0 ] && [ "$failures" -eq 0 ]; }; then
  echo "test: ctest ended with code $status" >&2
  exit $((status == 0 ? 1 : status))
fi

folder=$(sed -n 's/^Test project //p' "$work/log" | head -n 1)

# note_skips <log>: adds what that run has skipped. For ctest a suite of GoogleTest is skipped only if all of it
# is, so its tests are looked for in what they have printed.
note_skips() {
  awk '
    FNR == 1 { ++file }
    file == 1 && /^[0-9]+\/[0-9]+ Test: / { sub(/^[^:]*: /, ""); entry = $0 }
    file == 1 && /^\[  SKIPPED \] .* \([0-9]+ ms\)$/ { print $4; counted[entry] = 1 }
    file == 2 && /^The following tests did not run:/ { listed = 1 }
    file == 2 && listed && $2 == "-" && sub(/ \((Skipped|Disabled)\)$/, "") {
      sub(/^[[:space:]]*[0-9]+ - /, "")
      if (!($0 in counted)) print
    }' "${folder:-.}/Testing/Temporary/LastTest.log" "$1" >>"$work/skipped"
}
note_skips "$work/log"
cases=$(sed -En 's/^\[=+\] ([0-9]+) tests? from .* ran\. .*$/\1/p' \
  "${folder:-.}/Testing/Temporary/LastTest.log" 2>/dev/null | paste -sd+)

# Lines "   7 - Suite.Name (Failed)".
mapfile -t failed < <(
  sed -En '/^The following tests FAILED:/,$ s/^[[:space:]]+[0-9]+ - (.*) \([^()]*\)[^()]*$/\1/p' "$work/log"
)

# reasons <log>: for each that failed and gets no second chance, the reason and its name.
reasons() {
  awk -v word="$safety" '
    /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / { sub(/^[^#]*#/, ""); number = $0 + 0 }
    index($0, word) { why[number] = word }
    /(Address|Leak|Memory|Thread|UndefinedBehavior)Sanitizer: |:[0-9]+: runtime error: / {
      if (!(number in why)) why[number] = "report of a sanitizer"
    }
    /^The following tests FAILED:/ { listed = 1 }
    listed && $2 == "-" && match($0, / \([^()]*\)[^()]*$/) {
      number = $1 + 0
      status = substr($0, RSTART + 2)
      sub(/\).*/, "", status)
      name = substr($0, 1, RSTART - 1)
      sub(/^[[:space:]]*[0-9]+ - /, "", name)
      if (!(number in why) && status !~ /^(Failed|Timeout|Not Run|BAD_COMMAND)$/) why[number] = status
      if (number in why) print why[number] ": " name
    }' "$1"
}
mapfile -t hopeless < <(reasons "$work/log")

# How many tests of GoogleTest failed in each entry that did, before its name.
mapfile -t several < <(
  awk '
    /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / { sub(/^[^#]*#/, ""); number = $0 + 0 }
    /^\[  FAILED  \] .* \([0-9]+ ms\)$/ { ++count[number] }
    /^The following tests FAILED:/ { listed = 1 }
    listed && ($1 + 0 in count) && $2 == "-" {
      cases = count[$1 + 0]
      sub(/^[[:space:]]*[0-9]+ - /, ""); sub(/ \([^()]*\)[^()]*$/, ""); print cases, $0
    }' "$work/log"
)

# tests_failed_in <entry>: at least one, for the entry itself may be the test.
tests_failed_in() {
  local line
  for line in "${several[@]}"; do [ "${line#* }" != "$1" ] || { echo "${line%% *}"; return; }; done
  echo 1
}

is_hopeless() {
  local line
  for line in "${hopeless[@]}"; do [ "${line#*: }" != "$1" ] || return 0; done
  return 1
}

flaky=()
flaky_tests=0
if [ ${#failed[@]} -le $most_again ]; then
  for name in "${failed[@]}"; do
    is_hopeless "$name" && continue
    echo "== once more, alone: $name"
    pattern=$(sed 's/[][\\.^$*+?|()]/\\&/g' <<<"$name")
    if run_ctest "$work/again" '^[0-9]+% tests passed, ' "$@" --parallel 1 -R "^$pattern\$"; then
      flaky+=("$name")
      flaky_tests=$((flaky_tests + $(tests_failed_in "$name")))
    else
      mapfile -t -O ${#hopeless[@]} hopeless < <(reasons "$work/again")
    fi
    note_skips "$work/again"
  done
fi

# excused <test>: whether tests/skips.txt lets it be skipped here and now.
declare -A holds
excused() {
  local line condition=
  while IFS= read -r line; do
    case $line in
      '' | '#'*) ;;
      'when '* | 'missing '*) condition=$line ;;
      *)
        # shellcheck disable=SC2053
        [[ $1 == $line ]] || continue
        if [ -z "${holds[$condition]:-}" ]; then
          holds[$condition]=no
          [[ $strict == 0 || $condition != 'missing '* ]] &&
            (cd "$(dirname "$0")/.." && build=$folder bash -c "${condition#* }") >/dev/null 2>&1 </dev/null &&
            holds[$condition]=yes
        fi
        [ "${holds[$condition]}" = no ] || return 0
        ;;
    esac
  done <"$skips"
  return 1
}
shopt -s extglob
mapfile -t skipped < <(sort -u "$work/skipped")
unexpected=()
for name in "${skipped[@]}"; do excused "$name" || unexpected+=("$name"); done

echo
[ ${#hopeless[@]} -eq 0 ] || printf '%s\n' "${hopeless[@]}"
[ ${#flaky[@]} -eq 0 ] || printf 'failed once, passed alone: %s\n' "${flaky[@]}"
if [ $flaky_tests -gt $most_flaky ]; then
  echo "test: $flaky_tests tests failed once; more than $most_flaky are too many"
else
  failures=$((failures - ${#flaky[@]}))
fi
[ ${#unexpected[@]} -eq 0 ] || {
  printf 'skipped: %s\n' "${unexpected[@]}"
  echo "test: ${#unexpected[@]} tests were skipped that may not be: see tests/skips.txt"
}
[ -z "$cases" ] || echo "tests of GoogleTest in these: $((cases))"
echo "$((total - failures)) passed, $failures failed"
[ "$failures" -eq 0 ] && [ ${#unexpected[@]} -eq 0 ]
