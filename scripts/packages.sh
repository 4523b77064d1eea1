#!/usr/bin/env bash
# Makes the Debian packages as docs/building.md says, installs them, uses them as a stranger would, removes them,
# looks for what is left behind, and checks them with lintian. It changes the system that it runs on, as
# root, so use one that is thrown away afterwards: scripts/bare.sh trixie scripts/packages.sh
# Usage: scripts/packages.sh [shared]      (shared: with the shared libraries in a package of their own)
# PACKAGES: a folder of the tree with packages that were made earlier.
set -euo pipefail
cd "$(dirname "$0")/.."
die() { echo "packages: $*" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || die "not root; in a system to throw away: scripts/bare.sh trixie scripts/packages.sh"
case ${1-} in
  '') shared=OFF expected=(libsimba-dev simba) ;;
  shared) shared=ON expected=(libsimba-dev libsimba0.1 simba) ;;
  *) die "usage: scripts/packages.sh [shared]" ;;
esac
export DEBIAN_FRONTEND=noninteractive
# For the programs that use them: of the testkit too.
scripts/setup.sh build >/dev/null
apt-get install -qq -y --no-install-recommends dpkg-dev file lintian pkg-config >/dev/null

folder=${PACKAGES:-build/release/packages}
if [ -z "${PACKAGES:-}" ]; then
  cmake --preset release -DCMAKE_INSTALL_PREFIX=/usr -DBUILD_SHARED_LIBS=$shared -DSIMBA_BUILD_TESTS=OFF \
    -DSIMBA_BUILD_BENCH=OFF -DSIMBA_BUILD_EXAMPLES=OFF >/dev/null
  cmake --build --preset release >/dev/null
  rm -rf "$folder"
  cpack --config build/release/CPackConfig.cmake >/dev/null
fi
packages=("$PWD/$folder"/*.deb)
echo "packages: made: ${packages[*]##*/}"

files() { find /etc /opt /usr /var/lib -xdev -not -path '/var/lib/dpkg/*' -not -path '/var/lib/apt/*' | sort; }
files >/tmp/before
apt-get install -qq -y --no-install-recommends "${packages[@]}" >/dev/null
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' '*simba*' | sed -n 's/ installed$//p' | sort | paste -sd ' ')
[ "$installed" = "${expected[*]}" ] || die "installed '$installed', expected '${expected[*]}'"
echo "packages: ok: installed: $installed"

work=$(mktemp -d)
cd "$work"
[ "$(command -v simba)" = /usr/bin/simba ] || die "simba is at $(command -v simba)"
simba --version
simba run -b "sqlite:$work/simba.db" -m package-test -- true
echo "packages: ok: the command owns a mutex"
# In a copy with nothing else of the tree beside it.
mkdir -p tree/tests
cp -r "$OLDPWD/tests/package" tree/tests/
cp "$OLDPWD/README.md" tree/
cmake -S tree/tests/package -B consumer -G Ninja >/dev/null
cmake --build consumer >/dev/null
ctest --test-dir consumer --no-tests=error --output-on-failure | tail -n 3
echo "packages: ok: programs find it by CMake"
kind=(--static)
[ $shared = OFF ] || kind=()
# shellcheck disable=SC2046
c++ -std=c++20 tree/tests/package/main.cpp -o main $(pkg-config --cflags --libs "${kind[@]}" simba-memory)
./main
echo "packages: ok: and by pkg-config"
cd /
rm -rf "$work"

apt-get purge -qq -y "${expected[@]}" >/dev/null
files >/tmp/after
difference=$(diff /tmp/before /tmp/after) || die "removal leaves a difference:
$difference"
echo "packages: ok: removed without a trace"

# Accepted: the maintainer has no address outside of this host.
lintian --allow-root --fail-on error,warning \
  --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "${packages[@]}"
echo "packages: ok: $(lintian --version | head -n 1) finds no error and no warning"
