#!/usr/bin/env bash
# Prints our C++ files, one per line. Usage: scripts/sources.sh [directory ...]   (default: all)
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- include src cli testkit tests bench examples
for directory in "$@"; do
  [ ! -d "$directory" ] || find "$directory" -name '*.[chi]pp'
done | sort
