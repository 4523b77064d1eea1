#!/usr/bin/env bash
# Cross-builds for arm64 and runs the result under qemu-user-static: the simulation and the unit tests.
# Usage: scripts/arm64.sh [sim] [unit]      (default: both)
# ARM64_SUITE: a Debian release (bookworm). ARM64_HOURS: of simulation (5). ARM64_FILTER: of unit tests (all).
# The compiler, the libraries and qemu come into a root of their own, made by mmdebstrap in build/arm64 and
# removed afterwards with what was built. No root is needed where users may make namespaces.
set -euo pipefail
cd "$(dirname "$0")/.."
die() { echo "arm64: $*" >&2; exit 1; }
suite=${ARM64_SUITE:-bookworm}
command -v mmdebstrap >/dev/null || die "no mmdebstrap; on Debian: apt-get install mmdebstrap"
targets=()
[ $# -gt 0 ] || set -- sim unit
for what in "$@"; do
  case $what in
    sim) targets+=(--target simba-sim) ;;
    unit) targets+=(--target simba-unit-tests) ;;
    *) die "'$what' is neither sim nor unit" ;;
  esac
done

libraries=(libspdlog-dev libfmt-dev libhowardhinnant-date-dev libsqlite3-dev libpq-dev libmariadb-dev libhiredis-dev libssl-dev
           libzookeeper-mt-dev libyaml-cpp-dev libgtest-dev libgmock-dev liblua5.1-0-dev libc6-dev libstdc++6)
mkdir -p build/arm64
work=$(mktemp -d build/arm64/XXXXXX)
work=$PWD/$work
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
git ls-files -z --cached --others --exclude-standard --deduplicate |
  tar --create --null --files-from=- --ignore-failed-read --owner=0 --group=0 \
    --transform='s|^|simba/|S' --file="$work/tree.tar" 2>/dev/null

cat >"$work/hook" <<END
set -e
root=\$1
chroot "\$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c '
  set -e
  cd /simba
  cmake --preset dev --toolchain cmake/toolchains/arm64.cmake -DSIMBA_PROCESS_TESTS=OFF \
    -DSIMBA_PACKAGE_TEST=OFF -DSIMBA_BUILD_EXAMPLES=OFF -DSIMBA_BUILD_COMMAND=OFF >/tmp/configure.log 2>&1 ||
    { cat /tmp/configure.log; exit 1; }
  grep "^-- simba:" /tmp/configure.log
  cmake --build --preset dev ${targets[*]}
  for program in build/bin/simba-sim build/bin/simba-unit-tests; do
    [ ! -f \$program ] || file -b \$program
  done
  [ ! -f build/bin/simba-sim ] || qemu-aarch64-static build/bin/simba-sim --hours ${ARM64_HOURS:-5}
  [ ! -f build/bin/simba-unit-tests ] ||
    SIMBA_TEST_SCALE=5 qemu-aarch64-static build/bin/simba-unit-tests --gtest_brief=1 "--gtest_filter=${ARM64_FILTER:-*}"
'
END
include=g++,cmake,ninja-build,file,g++-aarch64-linux-gnu,qemu-user-static,libasio-dev,libcli11-dev,nlohmann-json3-dev
TMPDIR=$work mmdebstrap --quiet --mode=unshare --variant=minbase --format=null --architectures=amd64,arm64 \
  --include="$include,$(printf '%s:arm64,' "${libraries[@]}" | sed 's/,$//')" \
  --aptopt='Acquire::Retries "3"' --customize-hook="tar-in $work/tree.tar /" \
  --customize-hook="bash $work/hook \"\$1\"" "$suite" -
