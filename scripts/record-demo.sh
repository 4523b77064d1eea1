#!/bin/sh
# Records `simba demo` on a terminal and makes docs/demo.svg, the moving picture of the README.
# Usage: scripts/record-demo.sh [PROGRAM [FILE]]
set -eu
cd "$(dirname "$0")/.."
exec python3 scripts/terminal_svg.py "${2:-docs/demo.svg}" "${1:-build/bin/simba}" demo
