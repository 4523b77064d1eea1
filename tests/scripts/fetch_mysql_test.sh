#!/usr/bin/env bash
# Tests of scripts/fetch-mysql.sh with a registry that is made here.
# Usage: fetch_mysql_test.sh <sources> <test>
set -uo pipefail
sources=$1 test=$2

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# What the registry serves is the archive of a program that is not MySQL.
mkdir -p "$tree/scripts" "$tree/bin" "$tree/package/server"
cp "$sources/scripts/fetch-mysql.sh" "$tree/scripts"
cp /bin/true "$tree/package/server/mysqld"
tar -czf "$tree/served.tgz" -C "$tree" package
cat >"$tree/bin/npm" <<END
#!/bin/sh
while [ \$# -gt 0 ]; do
  [ "\$1" != --pack-destination ] || cp "$tree/served.tgz" "\$2/served.tgz"
  shift
done
echo served.tgz
END
chmod +x "$tree/bin/npm"

fetch() {
  output=$(PATH="$tree/bin:$PATH" "$tree/scripts/fetch-mysql.sh" 2>&1)
  code=$?
}

fail() {
  printf '%s\n' "$1" '---- the output:' "$output" >&2
  exit 1
}

AnArchiveThatWasReplacedIsNotUnpacked() {
  fetch
  [ "$code" -eq 1 ] || fail "it ends with code $code, not 1"
  grep -q 'not the archive that is expected' <<<"$output" || fail 'it does not say why'
  [ ! -e "$tree/build/mysql-5.7" ] || fail 'there is something to run'
  [ -z "$(ls -A "$tree/build")" ] || fail 'something is left behind'
}

TheArchiveThatIsExpectedIsUnpacked() {
  local sum
  sum=$(sha512sum "$tree/served.tgz" | cut -d ' ' -f 1)
  sed -i "s/^sha512=.*/sha512=$sum/" "$tree/scripts/fetch-mysql.sh"
  fetch
  [ "$code" -eq 0 ] || fail "it ends with code $code, not 0"
  [ -x "$tree/build/mysql-5.7/mysqld" ] || fail 'it is not there'
}

"$test"
