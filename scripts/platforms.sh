#!/usr/bin/env bash
# Runs the commands of the README from nothing on bare Debian systems, prints a table, and writes it into
# docs/building.md: the rows of a system that was run replace its earlier ones, the others stay.
# Usage: scripts/platforms.sh [suite ...]      (default: bookworm trixie sid)
# sid is the early warning: built and unit-tested only, and its failure does not fail this script.
# The logs are in build/platforms.
set -uo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- bookworm trixie sid
logs=build/platforms
mkdir -p "$logs"

# What is run on a system: each step's result is a line "step|result|seconds".
inside='
step() {
  local name=$1 start=$SECONDS result=ok
  shift
  "$@" >/tmp/step 2>&1 || result=FAILED
  cat /tmp/step
  local count
  count=$(grep -E "^[0-9]+ passed, [0-9]+ failed$" /tmp/step | tail -n 1)
  echo "platforms: $name|$result${count:+ ($count)}|$((SECONDS - start))"
}
steps_of_a_newcomer() { step "make run" make run; step "make test" make test; }
steps_of_a_warning() {
  step "make build" make build
  step "unit tests" scripts/test.sh --preset dev --parallel "$(nproc)" -L unit
}
"$1"
c++ --version | sed -n "s/^/platforms: compiler|/;1p"
'

# write_page <system> <rows>
write_page() {
  exec 9>"$logs/lock" && flock 9 # another run may write meanwhile
  awk -v suite="$1" -v rows="$2" '
    /<!-- end of platforms -->/ { print rows; inside = 0 }
    inside && index($0, "| " suite " |") == 1 { next }
    { print }
    /<!-- platforms -->/ { inside = 1 }' docs/building.md >"$logs/page" && cat "$logs/page" >docs/building.md
  exec 9>&-
}

failed=0
table=
commit=$(git rev-parse --short HEAD)$([ -z "$(git status --porcelain)" ] || echo ' with changes')
for suite in "$@"; do
  echo "== platforms: $suite ($(date -u +%H:%M:%S))"
  steps=steps_of_a_newcomer
  [ "$suite" != sid ] || steps=steps_of_a_warning
  scripts/bare.sh "$suite" bash -c "$inside" bash "$steps" >"$logs/$suite.log" 2>&1
  compiler=$(sed -n 's/^platforms: compiler|//p' "$logs/$suite.log")
  lines=$(sed -n 's/^platforms: \(.*|.*|.*\)$/\1/p' "$logs/$suite.log")
  [ -n "$compiler" ] && [ -n "$lines" ] || lines+="${lines:+$'\n'}the system itself|FAILED|0"
  rows=
  while IFS='|' read -r step result seconds; do
    rows+="${rows:+$'\n'}| $suite | ${compiler:-?} | $step | $result | $seconds | $(date -u +%Y-%m-%d), $commit |"
    [[ $result != FAILED* ]] || [ "$suite" = sid ] || failed=1
  done <<<"$lines"
  write_page "$suite" "$rows"
  table+="${table:+$'\n'}$rows"
done
printf '\n%s\n' "$table"
exit $failed
