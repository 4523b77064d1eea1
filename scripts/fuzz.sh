#!/usr/bin/env bash
# Builds every fuzz target and runs each from its kept corpus, as many at a time as there are
# processors, all of them even when one finds something. Prints one table, and writes it.
# Usage: scripts/fuzz.sh [seconds per target [target...]]      (default: 300, all of them)
# FUZZ_BUILD: the folder that they are built in (default: build/fuzz).
# FUZZ_REPORT: where the table is written (default: fuzz.md in that folder).
# FUZZ_KEEP=1: adds what reaches more than the kept corpus to it, minimised.
# A find is kept in the folder "finds" there. Once it is mended, add it to tests/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-300}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "fuzz: '$seconds' is no number of seconds" >&2; exit 2; }
shift || true
build=${FUZZ_BUILD:-build/fuzz}
report=${FUZZ_REPORT:-$build/fuzz.md}

[ -n "${FUZZ_BUILD:-}" ] || scripts/build.sh fuzz --target simba-fuzz

finds=$build/finds
mkdir -p "$finds" "${report%/*}"
work=$(mktemp -d)
trap 'trap - EXIT; kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
shopt -s nullglob

# run <name of a target>: leaves one row of the table in $work/<name>.row.
run() {
  local name=$1
  local program=$build/bin/simba-$name-fuzz
  local corpus=${name//-/_}
  corpus=tests/fuzz/corpus/$corpus
  local log=$build/$name.log
  # libFuzzer adds inputs to the folder that it is given: that must not be the one under git.
  mkdir "$work/$name"
  local code=0
  if [ -d "$corpus" ]; then
    cp -r "$corpus/." "$work/$name"
    "$program" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
      -print_final_stats=1 -artifact_prefix="$finds/$name-" "$work/$name" >"$log" 2>&1 &
    local process=$!
    trap 'kill $process' TERM
    wait $process || code=$?
  else
    echo "fuzz: there is no $corpus" >"$log"
    code=1
  fi
  if [ $code -eq 0 ] && [ -n "${FUZZ_KEEP:-}" ]; then
    "$program" -merge=1 -use_counters=0 -max_len=512 "$corpus" "$work/$name" >"$log.merge" 2>&1 || code=$?
  fi
  stat() { sed -n "s/^stat::$1: *//p" "$log" | tail -n 1; }
  word() { grep -E '^#[0-9]+.* cov: ' "$log" | tail -n 1 | sed -n "s/.* $1: \([0-9/bKM]*\).*/\1/p"; }
  local kept=("$corpus"/*)
  local found="none"
  [ $code -eq 0 ] || found="**see $log**"
  printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' "$name" "$seconds" \
    "$(stat number_of_executed_units)" "$(stat average_exec_per_sec)" "${#kept[@]}" \
    "$(word cov)" "$(word ft)" "$found" >"$work/$name.row"
  return $code
}

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  # By the sources: a program of a target that is no more does not count.
  for source in tests/fuzz/*_fuzz.cpp; do
    name=${source##*/}
    name=${name%_fuzz.cpp}
    names+=("${name//_/-}")
  done
fi
for name in "${names[@]}"; do
  [ -x "$build/bin/simba-$name-fuzz" ] || { echo "fuzz: $name was not built" >&2; exit 1; }
done

failed=()
declare -A running=()
# reap: waits for one target to end.
reap() {
  local pid code=0
  wait -n -p pid || code=$?
  echo "fuzz: ${running[$pid]}: $([ $code -eq 0 ] && echo nothing was found || echo FAILED)"
  [ $code -eq 0 ] || failed+=("${running[$pid]}")
  unset "running[$pid]"
}
for name in "${names[@]}"; do
  while [ ${#running[@]} -ge "$(nproc)" ]; do reap; done
  run "$name" &
  running[$!]=$name
done
while [ ${#running[@]} -gt 0 ]; do reap; done

{
  echo '| target | seconds | executions | executions/s | kept inputs | cov | ft | finds |'
  echo '|---|---|---|---|---|---|---|---|'
  for name in "${names[@]}"; do cat "$work/$name.row"; done
} >"$report"
cat "$report"
if [ ${#failed[@]} -gt 0 ]; then
  for name in "${failed[@]}"; do
    echo "== $name" >&2
    tail -n 40 "$build/$name.log" >&2
  done
  echo "fuzz: failed: ${failed[*]}; the inputs are in $finds, all that was said in $build/*.log" >&2
  exit 1
fi
echo "fuzz: nothing was found"
