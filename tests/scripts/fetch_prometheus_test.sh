#!/usr/bin/env bash
# Tests of scripts/fetch-prometheus.sh with an archive that is made here.
# Usage: fetch_prometheus_test.sh <sources> <test>
set -uo pipefail
sources=$1 test=$2
command -v dpkg-deb >/dev/null || exit 77

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/scripts" "$tree/bin"
cp "$sources/scripts/fetch-prometheus.sh" "$tree/scripts"

# archive <package> <program ...>: what the archive has.
archive() {
  local package=$1 program
  shift
  mkdir -p "$tree/$package/DEBIAN" "$tree/$package/usr/bin" "$tree/archive"
  printf 'Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: x <x@localhost>\nDescription: x\n' "$package" \
    >"$tree/$package/DEBIAN/control"
  for program in "$@"; do cp /bin/true "$tree/$package/usr/bin/$program"; done
  dpkg-deb --build "$tree/$package" "$tree/archive/$package.deb" >/dev/null
}

printf '#!/bin/sh\n[ ! -e "%s/archive/$2.deb" ] || echo "  Candidate: 1"\n' "$tree" >"$tree/bin/apt-cache"
cat >"$tree/bin/apt-get" <<END
#!/bin/sh
while [ "\$1" != download ]; do shift; done
shift
for package; do cp "$tree/archive/\$package.deb" . || exit 100; done
END
chmod +x "$tree/bin/apt-cache" "$tree/bin/apt-get"

fetch() {
  output=$(PATH="$tree/bin:$PATH" "$tree/scripts/fetch-prometheus.sh" 2>&1)
  code=$?
}

fail() {
  printf '%s\n' "$1" '---- the output:' "$output" >&2
  exit 1
}

there() {
  [ "$code" -eq 0 ] || fail "it ends with code $code, not 0"
  for program in prometheus promtool; do
    [ -x "$tree/build/prometheus/usr/bin/$program" ] || fail "$program is not there"
  done
  [ "$(ls "$tree/build")" = prometheus ] || fail 'something is left behind'
}

BothProgramsMayBeInOnePackage() {
  archive prometheus prometheus promtool
  fetch
  there
}

TheyMayBeInTwoPackages() {
  archive prometheus prometheus
  archive promtool promtool
  fetch
  there
}

WhereThePackageCannotBeHadItSaysSoAndSucceeds() {
  fetch
  [ "$code" -eq 0 ] || fail "it ends with code $code, not 0"
  grep -q 'tests with Prometheus will be skipped' <<<"$output" || fail 'it does not say so'
  [ -z "$(ls -A "$tree/build")" ] || fail 'something is left behind'
}

"$test"
