#!/usr/bin/env bash
# Builds every fuzz target and runs each from its kept corpus, all of them even when one finds
# something. Usage: scripts/fuzz.sh [seconds per target]      (default: 300)
# A find is kept in build/fuzz/finds. Once it is mended, add it to tests/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-300}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "fuzz: '$seconds' is no number of seconds" >&2; exit 2; }

scripts/build.sh fuzz --target simba-fuzz

# libFuzzer adds inputs to the folder that it is given: that must not be the one under git.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
finds=build/fuzz/finds
mkdir -p "$finds"
shopt -s nullglob
programs=(build/fuzz/bin/simba-*-fuzz)
[ ${#programs[@]} -gt 0 ] || { echo "fuzz: no target was built" >&2; exit 1; }
failed=()
for program in "${programs[@]}"; do
  name=${program##*/simba-}
  corpus=${name%-fuzz}
  corpus=tests/fuzz/corpus/${corpus//-/_}
  log=build/fuzz/$name.log
  echo "== $name, $seconds s"
  [ -d "$corpus" ] || { echo "fuzz: there is no $corpus" >&2; failed+=("$name"); continue; }
  cp -r "$corpus" "$work/$name"
  if "$program" -max_total_time="$seconds" -max_len=4096 -timeout=10 \
    -print_final_stats=1 -artifact_prefix="$finds/$name-" "$work/$name" >"$log" 2>&1; then
    grep -E '^stat::(number_of_executed_units|average_exec_per_sec|new_units_added|peak_rss_mb)' "$log"
    grep ' cov: ' "$log" | tail -n 1
  else
    tail -n 60 "$log" >&2
    failed+=("$name")
  fi
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "fuzz: failed: ${failed[*]}; the inputs are in $finds, all that was said in build/fuzz/*.log" >&2
  exit 1
fi
echo "fuzz: nothing was found"
