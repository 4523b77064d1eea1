#!/usr/bin/env bash
# Tests of scripts/test.sh, on small projects of ctest that are made here.
# Usage: test_sh_test.sh <sources> <simba-test-server> <test>
set -uo pipefail
sources=$1 server=$2 test=$3

project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT

fail() {
  printf '%s\n' "$1" '---- the output:' >&2
  cat "$project/output" >&2
  exit 1
}

# add <name> <script of the shell>: it finds how often it runs in $run.
add() {
  local file=$project/script-$((++scripts))
  printf 'echo >>"%s.runs"; run=$(wc -l <"%s.runs")\n%s\n' "$file" "$file" "$2" >"$file"
  echo "add_test([=[$1]=] sh \"$file\")" >>"$project/CTestTestfile.cmake"
}
scripts=0

# skipping <name> ...: these may say that they were skipped, by code 77.
skipping() { echo "set_tests_properties($* PROPERTIES SKIP_RETURN_CODE 77)" >>"$project/CTestTestfile.cmake"; }

: >"$project/skips"
run() {
  SIMBA_TEST_SKIPS=$project/skips SIMBA_TEST_STRICT=${strict:-0} "$sources/scripts/test.sh" --test-dir "$project" --parallel 4 "$@" >"$project/output" 2>&1
  code=$?
}

runs() { [ ! -e "$project/script-$1.runs" ] && echo 0 || wc -l <"$project/script-$1.runs"; }
says() { grep -qF -- "$1" "$project/output" || fail "it does not say: $1"; }
says_not() { ! grep -qF -- "$1" "$project/output" || fail "it says: $1"; }
ends_with() { [ "$(tail -n 1 "$project/output")" = "$1" ] || fail "it does not end with: $1"; }
code_is() { [ "$code" -eq "$1" ] || fail "it ended with code $code, not $1"; }
runs_are() { [ "$(runs "$1")" -eq "$2" ] || fail "script $1 was run $(runs "$1") times, not $2"; }

AllPass() {
  add One 'exit 0'
  add Two 'echo SAFETY-VIOLATION, which a test of a checker wants to see'
  run
  code_is 0
  says '100% tests passed, 0 tests failed out of 2'
  says_not 'SAFETY-VIOLATION'
  ends_with '2 passed, 0 failed'
}

OneThatFailsOncePassesAndIsNamed() {
  add Good 'exit 0'
  add 'Suite/Odd.Name[1]/a+b (c)' '[ "$run" -gt 1 ]'
  run
  code_is 0
  runs_are 1 1
  runs_are 2 2
  says 'failed once, passed alone: Suite/Odd.Name[1]/a+b (c)'
  says_not '% tests passed'
  ends_with '2 passed, 0 failed'
}

TheSecondRunIsAlone() {
  local alone="[ \"\$run\" -gt 1 ] || exit 1; mkdir '$project/busy' && sleep 0.3 && rmdir '$project/busy'"
  add One "$alone"
  add Two "$alone"
  run
  code_is 0
  ends_with '2 passed, 0 failed'
}

OneThatFailsTwiceFails() {
  add Good 'exit 0'
  add Bad 'echo the reason; exit 1'
  run
  code_is 1
  runs_are 2 2
  says 'the reason'
  says_not 'failed once'
  ends_with '1 passed, 1 failed'
}

ABrokenRuleOfSafetyHasNoSecondChance() {
  add Good 'exit 0'
  add Bad 'echo "x SAFETY-VIOLATION: two owners"; [ "$run" -gt 1 ]'
  add Slow '[ "$run" -gt 1 ]'
  run
  code_is 1
  runs_are 2 1
  runs_are 3 2
  says 'SAFETY-VIOLATION: Bad'
  says_not 'SAFETY-VIOLATION: Slow'
  says 'failed once, passed alone: Slow'
  ends_with '2 passed, 1 failed'
}

ARuleThatBreaksInTheSecondRunIsNamed() {
  add Bad '[ "$run" -eq 1 ] || echo "SAFETY-VIOLATION: two owners"; exit 1'
  run
  code_is 1
  says 'SAFETY-VIOLATION: Bad'
  ends_with '0 passed, 1 failed'
}

ASanitizersReportHasNoSecondChance() {
  local report reports=(
    '==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1'
    'WARNING: ThreadSanitizer: data race (pid=7)'
    '==7==ERROR: LeakSanitizer: detected memory leaks'
    'store.cpp:12:7: runtime error: signed integer overflow'
    'SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior store.cpp:12:7'
  )
  for report in "${reports[@]}"; do add "Bad$scripts" "echo '$report'; [ \"\$run\" -gt 1 ]"; done
  add Slow 'echo "std::runtime_error: no sanitizer"; [ "$run" -gt 1 ]'
  run
  code_is 1
  for i in 1 2 3 4 5; do
    runs_are $i 1
    says "report of a sanitizer: Bad$((i - 1))"
  done
  says 'failed once, passed alone: Slow'
  ends_with '1 passed, 5 failed'
}

ADeathByASignalHasNoSecondChance() {
  local signal
  for signal in SEGV ABRT BUS ILL FPE KILL TERM; do
    add "Dies by $signal" "[ \"\$run\" -gt 1 ] || kill -$signal \$\$"
  done
  run
  code_is 1
  for i in 1 2 3 4 5 6 7; do runs_are $i 1; done
  says 'SEGFAULT: Dies by SEGV'
  says 'Subprocess aborted: Dies by ABRT'
  says 'Subprocess killed: Dies by KILL'
  ends_with '0 passed, 7 failed'
}

ASignalThatKillsItInTheSecondRunIsNamed() {
  add Bad '[ "$run" -eq 1 ] || kill -SEGV $$; exit 1'
  run
  code_is 1
  runs_are 1 2
  says 'SEGFAULT: Bad'
  ends_with '0 passed, 1 failed'
}

OneThatTakesTooLongHasASecondChance() {
  add Slow '[ "$run" -gt 1 ] || exec sleep 600'
  echo 'set_tests_properties(Slow PROPERTIES TIMEOUT 1)' >>"$project/CTestTestfile.cmake"
  run
  code_is 0
  says 'failed once, passed alone: Slow'
  ends_with '1 passed, 0 failed'
}

MoreThanTwoThatFailOnceFail() {
  add Good 'exit 0'
  local i
  for i in 1 2 3; do add "Flaky$i" '[ "$run" -gt 1 ]'; done
  run
  code_is 1
  for i in 1 2 3; do says "failed once, passed alone: Flaky$i"; done
  ends_with '1 passed, 3 failed'
}

EachTestOfASuiteCounts() {
  add Good 'exit 0'
  local failed='[  FAILED  ] Suite' lines=()
  for i in 1 2 3; do lines+=("echo '$failed.Test$i (7 ms)'"); done
  add Suite "$(printf '%s\n' "${lines[@]}")
[ \"\$run\" -gt 1 ]"
  run
  code_is 1
  runs_are 2 2
  says 'failed once, passed alone: Suite'
  says '3 tests failed once'
  ends_with '1 passed, 1 failed'
}

OptionsOfTheFirstRunDoNotWidenTheSecond() {
  add Some.One 'exit 0'
  add Some.Two '[ "$run" -gt 1 ]'
  add Other 'exit 1'
  run -R Some
  code_is 0
  runs_are 1 1
  runs_are 3 0
  ends_with '2 passed, 0 failed'
}

ASkippedTestThatMayNotBeFails() {
  add Good 'exit 0'
  add Listed 'exit 77'
  add New 'exit 77'
  skipping Listed New
  printf '%s\n' 'when true' Listed >"$project/skips"
  run
  code_is 1
  says 'skipped: New'
  says_not 'skipped: Listed'
  ends_with '3 passed, 0 failed'
}

ATestOfASuiteThatIsSkippedIsSeenThoughTheSuitePasses() {
  add Suite "echo '[  SKIPPED ] Suite.New (0 ms)'; echo '[  SKIPPED ] Suite.Listed/1 (12 ms)'"
  printf '%s\n' 'when true' 'Suite.Listed/@(1|2)' >"$project/skips"
  run
  code_is 1
  says 'skipped: Suite.New'
  says_not 'skipped: Suite.Listed'
}

ATestThatIsSkippedInTheSecondRunIsSeenToo() {
  add Bad '[ "$run" -eq 1 ] && exit 1; exit 77'
  skipping Bad
  run
  code_is 1
  says 'skipped: Bad'
}

ASkipIsExcusedOnlyWhereItsConditionHolds() {
  add One 'exit 77'
  add Two 'exit 77'
  skipping One Two
  cat >"$project/skips" <<'END'
# a comment
when [ -e scripts/test.sh ] && [ -e "$build/CTestTestfile.cmake" ]
One

when false
Two
END
  run
  code_is 1
  says 'skipped: Two'
  says_not 'skipped: One'
}

WhatIsMissingIsAnErrorWhereItIsAskedFor() {
  add One 'exit 77'
  skipping One
  printf '%s\n' 'missing true' One >"$project/skips"
  run
  code_is 0
  local strict=1
  run
  code_is 1
  says 'skipped: One'
}

TheListIsWellFormed() {
  : >"$project/output"
  local line condition=
  while IFS= read -r line; do
    case $line in
      '' | '#'*) ;;
      'when '* | 'missing '*)
        condition=${line#* }
        bash -n -c "$condition" 2>>"$project/output" || fail "this is no command: $condition"
        ;;
      *[!][A-Za-z0-9_./@?\(\)\|*]*) fail "this is no name: $line" ;;
      *) [ -n "$condition" ] || fail "there is no condition before $line" ;;
    esac
  done <"$sources/tests/skips.txt"
}

NoTestsAreNoSuccess() {
  add One 'exit 0'
  run -R nothing
  [ "$code" -ne 0 ] || fail 'it has succeeded'
}

# Only the script itself is told: not ctest, not the test, not the server.
InterruptedItLeavesNothingBehind() {
  add Long "echo \$\$ >'$project/pid.new'; mv '$project/pid.new' '$project/pid'; exec sleep 600"
  cat >>"$project/CTestTestfile.cmake" <<END
add_test(start "$server" start redis "$project/server")
add_test(stop "$server" stop "$project/server")
set_tests_properties(start PROPERTIES FIXTURES_SETUP server)
set_tests_properties(stop PROPERTIES FIXTURES_CLEANUP server)
set_tests_properties(Long PROPERTIES FIXTURES_REQUIRED server)
END
  "$sources/scripts/test.sh" --test-dir "$project" >"$project/output" 2>&1 &
  local script=$! pid supervisor gone tries
  for ((tries = 0; tries < 600; ++tries)); do
    [ ! -e "$project/pid" ] || break
    sleep 0.1
  done
  [ -e "$project/pid" ] || fail 'the test was not started'
  pid=$(<"$project/pid")
  read -r supervisor _ <"$project/server/pid"
  kill -TERM "$script"
  wait "$script"
  code=$?
  code_is 130
  for gone in "$pid" "$supervisor"; do
    for ((tries = 0; tries < 600; ++tries)); do
      # Dead is enough: in a container without an init nobody reaps it.
      grep -qs '^State:.[^XZ]' "/proc/$gone/status" || continue 2
      sleep 0.1
    done
    fail "process $gone is left"
  done
}

TheCheckersUseItsWord() {
  : >"$project/output"
  local word file
  word=$(sed -n 's/^safety=//p' "$sources/scripts/test.sh")
  [ "$word" = SAFETY-VIOLATION ] || fail "its word is $word"
  for file in tests/support/safety.hpp testkit/contract/support.hpp; do
    grep -qF "$word" "$sources/$file" || fail "$file has another"
  done
}

"$test"
