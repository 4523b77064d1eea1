#!/usr/bin/env bash
# Compiles our sources, tests, examples and benchmarks for their warnings alone (-fsyntax-only), with each compiler
# named, and prints a line for each: how many files, how many distinct warnings about our code. Fails if there is any, or
# if something does not compile. Usage: scripts/warnings.sh <c++ compiler> ...      (default: c++)
# Example, for compilers that another Debian has:
#   scripts/bare.sh sid bash -c 'scripts/setup.sh build && apt-get -qq install -y g++-16 clang-22 &&
#     scripts/warnings.sh g++-16 clang++-22'
# WARNINGS_OF: a pattern of the files to compile, e.g. 'CMakeFiles/simba_' for the library and the command (default:
# all). Sources are compiled in groups, as by the presets. The logs are in build/warnings.
set -uo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- c++
root=$PWD
logs=$root/build/warnings
mkdir -p "$logs"

# The commands of a build folder, one in a line; not those of files that the build itself makes.
commands_of() {
  sed -n 's/^  "command": "\(.*\)",$/\1/p' "$1/compile_commands.json" | sed 's/\\\(["\\]\)/\1/g' |
    grep -v "$1/mutations/\|/generated/fuzz/\|simba_empty_program" | grep -e "${WARNINGS_OF:-}"
}

failed=0
for compiler in "$@"; do
  name=${compiler##*/}
  folder=$logs/$name
  log=$logs/$name.log
  if ! cmake --preset dev -B "$folder" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
    -DSIMBA_PACKAGE_TEST=OFF -DSIMBA_BUILD_BENCH=ON -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$folder/bin" >"$log" 2>&1; then
    echo "warnings: $name: cannot be configured, see $log"
    failed=1
    continue
  fi
  # Each file's output in one piece.
  commands_of "$folder" | (cd "$folder" && xargs -d '\n' -P "$(nproc)" -I{} sh -c \
    'output=$(eval "$1 -fsyntax-only" 2>&1); status=$?; [ -z "$output" ] || printf "%s\n" "$output"; exit $status' \
    sh {}) >"$log" 2>&1 || { echo "warnings: $name: not everything compiles, see $log"; failed=1; }
  found=$(sed -En "s#^$root/([^:]+:[0-9]+):[0-9]+: (warning|error|fatal error): #\1: #p" "$log" | sort -u)
  count=$(grep -c . <<<"$found")
  echo "warnings: $($compiler --version | head -n 1): $(commands_of "$folder" | wc -l) files, $count warnings"
  [ "$count" -eq 0 ] || { echo "$found"; failed=1; }
done
exit $failed
