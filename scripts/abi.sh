#!/usr/bin/env bash
# Compares the shared libraries of this version with those of the last tag of the same series, which they
# must be able to replace (docs/releasing.md). Both are built with full debug information, which describes
# the types that programs share with the libraries.
# Usage: scripts/abi.sh [<tree>]      (default: this one). The builds stay in build/abi.
set -uo pipefail
cd "${1:-$(dirname "$0")/..}" || exit 1

skip() { echo "abi: skipped: $*"; exit 0; }
die() { echo "abi: $*" >&2; exit 1; }

tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || skip "there is no tag yet"
series=$(sed -En 's/.*string_view version = "([0-9]+\.[0-9]+)\..*/\1/p' include/simba/version.hpp)
[[ $tag = v$series.* ]] || skip "$tag belongs to another release series"
command -v abidiff >/dev/null || skip "abidiff is not installed (apt-get install abigail-tools)"

# build <sources> <folder>
build() {
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-g -DBUILD_SHARED_LIBS=ON \
    -DCMAKE_UNITY_BUILD=ON -DSIMBA_BUILD_TESTS=OFF -DSIMBA_BUILD_TESTKIT=OFF -DSIMBA_BUILD_BENCH=OFF \
    -DSIMBA_BUILD_EXAMPLES=OFF -DSIMBA_BUILD_COMMAND=OFF &&
    cmake --build "$2"
}

log=build/abi/log
old=build/abi/$tag
mkdir -p build/abi
if [ ! -f "$old/complete" ]; then
  rm -rf "$old" && mkdir -p "$old/sources" && git archive "$tag" | tar -x -C "$old/sources" &&
    build "$old/sources" "$old/build" >"$log" 2>&1 && touch "$old/complete" ||
    { cat "$log" >&2; die "$tag cannot be built"; }
fi
build . build/abi/now >"$log" 2>&1 || { cat "$log" >&2; die "this version cannot be built"; }

# Additions do not count, nor do changes that no public header shows.
failed=0
for library in "$old"/build/libsimba-*.so; do
  new=build/abi/now/${library##*/}
  [ -f "$new" ] && abidiff --no-added-syms --headers-dir1 "$old/sources/include" --headers-dir2 include \
    "$library" "$new" >&2 && continue
  echo "abi: ${new##*/} is not ABI-compatible with that of $tag" >&2
  failed=1
done
exit $failed
