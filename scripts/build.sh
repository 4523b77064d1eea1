#!/usr/bin/env bash
# Configures and builds one preset. Usage: scripts/build.sh <preset> [cmake --build options]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
# The log of configuring is of interest only when it fails or leaves something out.
mkdir -p build
log=build/configure-$preset.log
if ! cmake --preset "$preset" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
grep -E '^-- simba:|Warning' "$log" || true
exec cmake --build --preset "$preset" "$@"
