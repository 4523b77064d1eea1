#!/usr/bin/env bash
# Fetches Debian's Prometheus and promtool into build/prometheus, for the tests that let it scrape us.
# Usage: scripts/fetch-prometheus.sh
# The packages are unpacked, not installed: installing them starts a server where systemd runs. No root is
# needed. Does nothing, quickly, when both programs are there. Where apt cannot bring them it says so and succeeds:
# those tests are skipped then.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/prometheus

if [ -x "$folder/usr/bin/prometheus" ] && [ -x "$folder/usr/bin/promtool" ]; then
  echo "fetch-prometheus: $folder is there"
  exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
  echo "fetch-prometheus: there is no apt-get or dpkg-deb; the tests with Prometheus will be skipped" >&2
  exit 0
fi
mkdir -p build
new=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$new"' EXIT
# From Debian 13 on promtool is a package of its own.
packages=(prometheus)
if LC_ALL=C apt-cache policy promtool 2>/dev/null | grep 'Candidate: [^(]' >/dev/null; then
  packages+=(promtool)
fi
# apt has checked the signatures of the lists, and by them the packages. As root it would leave its sandbox
# with a warning, since the folder is ours.
if ! (cd "$new" && apt-get -qq -o Acquire::Retries=3 -o APT::Sandbox::User="$(id -un)" download "${packages[@]}"); then
  echo "fetch-prometheus: apt-get cannot download ${packages[*]}; the tests with Prometheus will be skipped" >&2
  exit 0
fi
for package in "$new"/*.deb; do
  dpkg-deb --extract "$package" "$new"
  rm "$package"
done
chmod 755 "$new"
# Whoever was faster wins.
rm -rf "$folder"
mv -T "$new" "$folder" 2>/dev/null || [ -x "$folder/usr/bin/prometheus" ]
echo "fetch-prometheus: Prometheus is in $folder"
