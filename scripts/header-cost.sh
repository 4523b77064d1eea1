#!/usr/bin/env bash
# Measures how long simba/simba.hpp takes to compile beside the standard headers that it needs: those that
# it and the headers of Simba below it include. Both in turn, by processor time. Fails above the goal.
set -euo pipefail
cd "$(dirname "$0")/.."
goal=1.3
rounds=${ROUNDS:-15}
compiler=${CXX:-g++}
flags=(-std=c++20 -Iinclude -x c++)

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
echo '#include "simba/simba.hpp"' > "$folder/simba.cpp"
mapfile -t headers < <("$compiler" "${flags[@]}" -MM "$folder/simba.cpp" | tr -s ' \\\n' '\n' | grep '\.hpp$')
grep -hoE '^#include <[^>]+>' "${headers[@]}" | sort -u > "$folder/standard.cpp"

seconds() {
  local TIMEFORMAT=%U
  { time "$compiler" "${flags[@]}" -fsyntax-only "$1"; } 2>&1
}
median() { sort -n "$1" | sed -n "$(((rounds + 1) / 2))p"; }

for ((round = 0; round < rounds; ++round)); do
  seconds "$folder/standard.cpp" >> "$folder/standard"
  seconds "$folder/simba.cpp" >> "$folder/simba"
done
awk -v simba="$(median "$folder/simba")" -v standard="$(median "$folder/standard")" -v goal="$goal" \
  -v headers="$(wc -l < "$folder/standard.cpp")" 'BEGIN {
    ratio = simba / standard
    printf "simba/simba.hpp: %.3f s to compile, the %d standard headers that it needs %.3f s\n", simba, headers, standard
    printf "figure: simba/simba.hpp: time to compile / that of the standard headers: goal <= %g x, measured %.3g x, %s\n",
      goal, ratio, ratio <= goal ? "ok" : "MISSED"
    exit ratio > goal
  }'
