#!/usr/bin/env bash
# Fetches servers of other Debian releases into build/servers/<suite>/<server>, for tests that compare
# versions. Usage: scripts/fetch-server.sh <suite>/<server> ...
# Example: scripts/fetch-server.sh trixie/postgresql sid/mysql
# Servers: mariadb, mysql, postgresql, redis, valkey, zookeeper, as far as the suite has them; and sqlite, which
# is a library.
# Does nothing, quickly, when they are there. Packages are unpacked, not installed: no root is needed
# where users may make namespaces, and only /usr is of use. Where mmdebstrap is absent it says so and
# succeeds: those tests are skipped then.
set -euo pipefail
cd "$(dirname "$0")/.."
die() { echo "fetch-server: $*" >&2; exit 1; }
[ $# -gt 0 ] || die "usage: scripts/fetch-server.sh <suite>/<server> ..."

# The server, and what its own scripts and its locale need.
packages_of() {
  case $1 in
    mariadb) echo mariadb-server,libc-bin,dash,coreutils,sed,grep,hostname ;;
    mysql) echo mysql-server-core,libc-bin ;;
    postgresql) echo postgresql,libc-bin,dash ;;
    redis) echo redis-server,redis-sentinel,libc-bin ;;
    valkey) echo valkey-server,valkey-sentinel,libc-bin ;;
    sqlite) echo libsqlite3-0,libc6,libstdc++6 ;;
    zookeeper) echo libzookeeper-java,libslf4j-java ;;
    *) die "no server '$1' (known: mariadb, mysql, postgresql, redis, sqlite, valkey, zookeeper)" ;;
  esac
}

fetch() {
  local suite=${1%%/*} server=${1#*/} folder=build/servers/$1 packages new
  [ "$suite/$server" = "$1" ] || die "'$1' is not <suite>/<server>"
  packages=$(packages_of "$server")
  if [ -d "$folder/usr" ]; then
    echo "fetch-server: $folder is there"
    return
  fi
  if ! command -v mmdebstrap >/dev/null; then
    echo "fetch-server: there is no mmdebstrap (apt-get install mmdebstrap); the tests with $1 will be skipped" >&2
    return
  fi
  mkdir -p "build/servers/$suite"
  new=$(mktemp -d "$folder.XXXXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$new'" EXIT
  # The Release file of sid may be past its date on a mirror that is behind.
  mmdebstrap --quiet --mode=unshare --variant=extract --format=tar --include="$packages" \
    --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"' "$suite" - |
    tar -x -C "$new" --no-same-owner --wildcards './usr/*'
  chmod 755 "$new"
  # Whoever was faster wins.
  mv -T "$new" "$folder" 2>/dev/null || [ -d "$folder/usr" ]
  rm -rf "$new"
  echo "fetch-server: $folder is made"
}

for one in "$@"; do
  fetch "$one"
done
