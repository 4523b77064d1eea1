#!/usr/bin/env bash
# Installs the Debian packages that the given groups need and that are missing.
# Usage: scripts/setup.sh [build] [servers] [lint] [coverage] [fuzz]      (default: build)
# Does nothing, quickly, when all of them are there. DEPENDENCIES.md says why each is needed.
set -euo pipefail

build=(g++ cmake ninja-build libasio-dev libspdlog-dev libfmt-dev
       libsqlite3-dev libpq-dev libmariadb-dev libhiredis-dev libssl-dev
       libzookeeper-mt-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev
       libgtest-dev libgmock-dev libbenchmark-dev liblua5.1-0-dev)
servers=(postgresql-15 mariadb-server redis-server redis-sentinel redis-tools
         python3-redis openssl
         libzookeeper-java libcurator-recipes-java default-jre-headless
         pkg-config dpkg-dev file)
lint=(clang-format clang-tidy-16 cppcheck codespell)
coverage=(gcovr)
fuzz=(clang libclang-rt-14-dev)

die() { echo "setup: $*" >&2; exit 1; }

[ $# -gt 0 ] || set -- build
wanted=()
for group in "$@"; do
  case $group in
    build) wanted+=("${build[@]}") ;;
    servers) wanted+=("${servers[@]}") ;;
    lint) wanted+=("${lint[@]}") ;;
    coverage) wanted+=("${coverage[@]}") ;;
    fuzz) wanted+=("${fuzz[@]}") ;;
    *) die "unknown group '$group' (known: build servers lint coverage fuzz)" ;;
  esac
done

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  die "this is not a Debian system; please install the counterparts of: ${wanted[*]}"

installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for package in "${wanted[@]}"; do
  installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all packages for '$*' are installed"
  exit 0
fi
echo "setup: installing with apt-get: ${missing[*]}"

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    die "not root and no sudo; as root run: apt-get install --no-install-recommends ${missing[*]}"
  as_root=(sudo)
fi

apt() {
  # The timeout waits for another apt that is running, e.g. unattended upgrades at boot.
  # "env" because sudo does not hand on our environment.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" </dev/null
}
apt update || echo "setup: apt-get update failed; trying with the package lists that are there" >&2
apt install -y --no-install-recommends "${missing[@]}" ||
  die "apt-get could not install: ${missing[*]}; see the message above"
echo "setup: done"
