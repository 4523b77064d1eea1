#!/usr/bin/env bash
# Tests of scripts/abi.sh, on a small library that is made here and has a tag.
# Usage: abi_test.sh <sources> <test>
set -uo pipefail
sources=$1 test=$2
if ! command -v abidiff >/dev/null; then
  echo "skipped: there is no abidiff (apt-get install abigail-tools)"
  exit 77
fi

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

fail() {
  printf '%s\n' "$1" '---- the output:' "$output" >&2
  exit 1
}

git_here() { git -C "$tree" -c user.name=test -c user.email=test@localhost "$@"; }

mkdir -p "$tree/include/simba"
echo 'inline constexpr std::string_view version = "0.1.3";' >"$tree/include/simba/version.hpp"
cat >"$tree/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
add_library(simba-small small.cpp)
target_include_directories(simba-small PRIVATE include)
END
# header <members of Options> <more functions>
header() { echo "struct Options { int one; $1 }; int sum(const Options& options); $2" >"$tree/include/simba/small.hpp"; }
source_file() { printf '#include "simba/small.hpp"\n%s\n' "$1" >"$tree/small.cpp"; }
header '' ''
source_file 'int sum(const Options& options) { return options.one; }'
{ git_here init && git_here add . && git_here commit -m first && git_here tag v0.1.0; } >/dev/null 2>&1 ||
  { output= && fail "git cannot make a repository"; }

compare() {
  output=$("$sources/scripts/abi.sh" "$tree" 2>&1)
  code=$?
}

AnotherBodyAndMoreFunctionsPass() {
  header '' 'int product(const Options& options);'
  source_file 'int sum(const Options& options) { return 1 + options.one; } int product(const Options& options) { return options.one; }'
  compare
  [ "$code" -eq 0 ] || fail "it ends with code $code"
}

AnotherMemberOfAStructFails() {
  header 'int two;' ''
  source_file 'int sum(const Options& options) { return options.one + options.two; }'
  compare
  [ "$code" -eq 1 ] && [[ $output == *"libsimba-small.so is not ABI-compatible with that of v0.1.0"* ]] ||
    fail "it does not refuse a struct that has grown, but ends with code $code"
}

AFunctionThatIsGoneFails() {
  header '' ''
  source_file 'int sum2(const Options& options) { return options.one; }'
  compare
  [ "$code" -eq 1 ] || fail "it ends with code $code"
}

ATagOfAnotherSeriesIsNotCompared() {
  echo 'inline constexpr std::string_view version = "0.2.0";' >"$tree/include/simba/version.hpp"
  compare
  [ "$code" -eq 0 ] && [[ $output == *"v0.1.0 belongs to another release series"* ]] || fail "it ends with code $code"
}

"$test"
