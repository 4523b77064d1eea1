#!/usr/bin/env bash
# Tests of scripts/setup.sh on a system that is not Debian's.
# Usage: setup_test.sh <sources> <test>
set -uo pipefail
sources=$1 test=$2

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# All that there is on this system. apt-get alone does not make it Debian's.
for program in bash cat id; do ln -s "$(command -v "$program")" "$tree/$program"; done
printf '#!/bin/sh\ntouch "%s/was-called"\n' "$tree" >"$tree/apt-get"
chmod +x "$tree/apt-get"

setup() {
  output=$(PATH=$tree bash "$sources/scripts/setup.sh" "$@" 2>&1)
  code=$?
}

fail() {
  printf '%s\n' "$1" '---- the output:' "$output" >&2
  exit 1
}

WithoutDpkgItNamesWhatIsNeededAndGoesOn() {
  setup build servers
  [ "$code" -eq 0 ] || fail "it ends with code $code, not 0"
  grep -q 'not a Debian system' <<<"$output" || fail 'it does not say why nothing is installed'
  for needed in 'compiler' CMake Ninja Asio spdlog fmt yaml-cpp CLI11 GoogleTest DEPENDENCIES.md; do
    grep -q "$needed" <<<"$output" || fail "it does not name $needed"
  done
  [ ! -e "$tree/was-called" ] || fail 'something is installed'
}

WithoutDpkgAGroupThatDoesNotExistIsRefused() {
  setup biuld
  [ "$code" -eq 1 ] || fail "it ends with code $code, not 1"
  grep -q "unknown group 'biuld'" <<<"$output" || fail 'it does not say why'
}

"$test"
