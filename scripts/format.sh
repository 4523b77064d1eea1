#!/usr/bin/env bash
# Formats all C++ sources in place.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/sources.sh | xargs -r -d '\n' clang-format -i --style=file
