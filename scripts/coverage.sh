#!/usr/bin/env bash
# Runs the tests of the coverage build, prints the line coverage of core and engine and fails when
# it is below the bound.
set -euo pipefail
cd "$(dirname "$0")/.."
bound=95

find build/coverage -name '*.gcda' -delete  # counts of earlier runs
scripts/test.sh --preset coverage --parallel "$(nproc)" >build/coverage/ctest.log 2>&1 ||
  { cat build/coverage/ctest.log; exit 1; }
tail -n 3 build/coverage/ctest.log

mkdir -p build/coverage/html
gcovr --root . build/coverage -j "$(nproc)" \
  --filter 'src/(core|engine)/' --filter 'include/simba/(core|engine)/' \
  --exclude-unreachable-branches --exclude-throw-branches \
  --html-details build/coverage/html/index.html \
  --print-summary --txt - --fail-under-line "$bound" ||
  { echo "coverage: line coverage is below $bound %, or gcovr failed" >&2; exit 1; }
echo "coverage: line by line in build/coverage/html/index.html"
