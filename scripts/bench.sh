#!/usr/bin/env bash
# Runs every benchmark of the release build, and that of compiling against it; all of them even when one
# fails.
set -uo pipefail
cd "$(dirname "$0")/.."
# By environment, as not every benchmark program parses Google Benchmark's flags.
export BENCHMARK_COUNTERS_TABULAR=${BENCHMARK_COUNTERS_TABULAR:-true}

# Servers write to the disk, as those of users do; tests keep them in memory.
export TMPDIR=${TMPDIR:-/tmp}

shopt -s nullglob
programs=(build/release/bin/simba-bench-*)
[ ${#programs[@]} -gt 0 ] || { echo "bench: no benchmark was built" >&2; exit 1; }
failed=()
for program in "${programs[@]}"; do
  echo "== ${program##*/}"
  "$program" || failed+=("${program##*/}")
done
echo "== simba/simba.hpp"
scripts/header-cost.sh || failed+=(scripts/header-cost.sh)
if [ ${#failed[@]} -gt 0 ]; then
  echo "bench: failed: ${failed[*]}" >&2
  exit 1
fi
