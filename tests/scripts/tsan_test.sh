#!/usr/bin/env bash
# Tests of tests/tsan.supp, on a small program that is compiled here. Usage: tsan_test.sh <sources> <test>
set -uo pipefail
sources=$1 test=$2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# See scripts/tsan.sh.
fixed=(setarch -R)
"${fixed[@]}" true 2>/dev/null || fixed=()

# races <code>: whether ThreadSanitizer reports what two threads do that run it, with our suppressions.
races() {
  cat >"$folder/program.cpp" <<END_OF_PROGRAM
#include <string>
#include <thread>
int main(int count, char**) {
  std::string text(100, 'x');
  const std::string other(60 + static_cast<unsigned>(count), 'y');
  const auto work = [&] { $1 };
  std::thread one{work};
  std::thread two{work};
  one.join();
  two.join();
  return text.empty() ? 1 : 0;
}
END_OF_PROGRAM
  if ! c++ -std=c++20 -O1 -g1 -fsanitize=thread "$folder/program.cpp" -o "$folder/program" -lpthread; then
    echo "skipped: the compiler has no ThreadSanitizer"
    exit 77
  fi
  TSAN_OPTIONS="suppressions=$sources/tests/tsan.supp" "${fixed[@]}" "$folder/program" >"$folder/output" 2>&1
  grep -q 'WARNING: ThreadSanitizer: data race' "$folder/output"
}

fail() {
  printf '%s\n' "$1" '---- the output:' >&2
  cat "$folder/output" >&2
  exit 1
}

# One of the suppressions names std::string, by which libstdc++ means the string of its own exceptions.
ARaceOfAStringOfOursIsReported() {
  races 'text.assign(other);' || fail 'a race of assign() is hidden'
  races 'text = "something that is longer than what fits into a string itself";' || fail 'a race of operator= is hidden'
  ! races 'std::string copy; copy.assign(other);' || fail 'what is no race is reported'
}

"$test"
