#!/usr/bin/env bash
# Installs the Debian packages that the given groups need and that are missing.
# Usage: scripts/setup.sh [build] [servers] [lint] [coverage] [fuzz] [browser]      (default: build)
# Does nothing, quickly, when all of them are there. DEPENDENCIES.md says why each is needed.
# Where releases name a package differently, "a|b" is the first of these that the release has.
set -euo pipefail

build=(g++ cmake ninja-build libasio-dev libspdlog-dev libfmt-dev libhowardhinnant-date-dev tzdata
       libsqlite3-dev libpq-dev libmariadb-dev libhiredis-dev libssl-dev
       libzookeeper-mt-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev prometheus-cpp-dev
       libgtest-dev libgmock-dev libbenchmark-dev liblua5.1-0-dev)
# For simba::http and simba/boost_asio.hpp. A Boost that is there stays: each version of it replaces the others.
[ -e /usr/include/boost/version.hpp ] || build+=('libboost1.81-dev|libboost-dev')
servers=(postgresql mariadb-server redis-server redis-sentinel redis-tools
         python3-redis python3-croniter openssl haproxy
         libzookeeper-java libcurator-recipes-java default-jre-headless
         pkg-config dpkg-dev file)
lint=(clang-format 'clang-tidy-16|clang-tidy' cppcheck codespell abigail-tools)
coverage=(gcovr)
fuzz=(clang libclang-rt-dev)
browser=(chromium chromium-driver fonts-dejavu-core)

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
    browser) wanted+=("${browser[@]}") ;;
    *) die "unknown group '$group' (known: build servers lint coverage fuzz browser)" ;;
  esac
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  cat >&2 <<'END'
setup: not a Debian system, so nothing was installed; continuing with the libraries that are present. Simba
setup: needs a C++20 compiler, CMake, Ninja, Asio, spdlog, fmt and JSON for Modern C++; each store its client library;
setup: the command yaml-cpp and CLI11; the tests GoogleTest and the servers. DEPENDENCIES.md has the versions.
END
  exit 0
fi

installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Not "apt-cache show", which also succeeds for what the release only mentions.
has_candidate() { LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep 'Candidate: [^(]' >/dev/null; }

# Fills "missing". A name that the package lists do not have yet is left to the second look.
find_missing() {
  local entry name names
  missing=()
  for entry in "${wanted[@]}"; do
    IFS='|' read -ra names <<<"$entry"
    for name in "${names[@]}"; do
      ! installed "$name" || continue 2
      [ ${#names[@]} -eq 1 ] || has_candidate "$name" || continue
      break
    done
    missing+=("$name")
  done
}

find_missing
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all packages for '$*' are installed"
  exit 0
fi

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
find_missing
echo "setup: installing with apt-get: ${missing[*]}"
apt install -y --no-install-recommends "${missing[@]}" ||
  die "apt-get could not install: ${missing[*]}; see the message above"
echo "setup: done"
