#!/usr/bin/env bash
# Runs a command under settings in which ThreadSanitizer works. Usage: scripts/tsan.sh <command...>
# Kernels with much address randomisation place a program where older sanitizers do not expect it
# ("unexpected memory mapping"). We then switch randomisation off for the command.
set -euo pipefail
cd "$(dirname "$0")/.."
program=build/tsan/bin/simba-unit-tests

# Several times: the place is random, so a single success says little.
works() {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    "$@" "$program" --gtest_list_tests >/dev/null 2>&1 || return 1
  done
}

if works; then
  exec "$@"
elif works setarch -R; then
  echo "tsan: address randomisation is switched off for this run"
  exec setarch -R "$@"
else
  echo "tsan: $program does not start here, with or without 'setarch -R':" >&2
  "$program" --gtest_list_tests 2>&1 >/dev/null | tail -n 5 >&2
  exit 1
fi
