#!/usr/bin/env bash
# Makes the root of the image of packaging/Dockerfile without Docker, and tries the command in it as a
# container would run it: as process 1, as nobody in particular, with signals, orphans and exit codes.
# Usage: scripts/image.sh <simba_VERSION_ARCH.deb> [suite]      (default: trixie, as in the Dockerfile)
# The package is made as docs/building.md says, on that suite: scripts/bare.sh does it anywhere. The root
# is made by mmdebstrap and removed afterwards; where users may make namespaces no root is needed.
set -euo pipefail
cd "$(dirname "$0")/.."
die() { echo "image: $*" >&2; exit 1; }
[ $# -ge 1 ] && [ -f "$1" ] || die "usage: scripts/image.sh <simba.deb> [suite]"
command -v mmdebstrap >/dev/null || die "no mmdebstrap; on Debian: apt-get install mmdebstrap"
suite=${2:-trixie}
mkdir -p build
work=$(mktemp -d build/image.XXXXXX)
work=$PWD/$work
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cp "$1" "$work/simba.deb"

# What mmdebstrap calls in its namespaces, with the root as its argument.
cat >"$work/hook" <<'END'
set -uo pipefail
root=$1
failed=0
chroot "$root" useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin simba
install -d -m 700 -o 10001 -g 10001 "$root/data"

# The arguments of the image; what it prints is in "output". Process 1 is the command itself.
container() {
  unshare --pid --fork --kill-child --mount bash -c '
    mount -t proc proc "$0/proc" && exec chroot --userspec=10001:10001 "$0" \
      /usr/bin/env -i PATH=/usr/bin:/bin SIMBA_BACKEND=sqlite:/data/simba.db simba "$@"' "$root" "$@"
}
expect() { # <what> <wanted code> <pattern of the output> <argument ...>
  local what=$1 wanted=$2 pattern=$3 output code=0
  shift 3
  output=$(container "$@" 2>&1) || code=$?
  if [ "$code" -eq "$wanted" ] && grep -qE -- "$pattern" <<<"$output"; then
    echo "image: ok: $what"
  else
    echo "image: FAILED: $what: code $code, not $wanted, or no '$pattern' in:"
    sed 's/^/  /' <<<"$output"
    failed=1
  fi
}

expect "it runs" 0 '^simba [0-9]' --version
expect "it is process 1, and not root" 0 '^simba 10001$' run -m a -- sh -c 'echo $(cat /proc/1/comm) $(id -u)'
expect "the health check finds its store" 0 '' status -m healthcheck
expect "the code of the application is its own" 7 '' run -m a -- sh -c 'exit 7'
expect "orphans do not stay as zombies" 0 '^none$' run -m a -- sh -c '
  (sleep 0.2 &) ; sleep 1
  for file in /proc/[0-9]*/stat; do
    read -r number name state rest <$file && [ "$state" = Z ] && echo "zombie $number $name"
  done
  echo none'
expect "a killed application is told by the code" 137 '' run -m a -- sh -c 'kill -KILL $$'

expect "TERM to process 1 reaches the application, which ends by itself" 3 '^got TERM$' run -m a -- sh -c '
  trap "echo got TERM; exit 3" TERM
  kill -TERM 1
  while :; do sleep 0.1; done'
exit $failed
END
TMPDIR=$work mmdebstrap --quiet --mode=unshare --variant=minbase --format=null --include=ca-certificates \
  --aptopt='Acquire::Retries "3"' \
  --customize-hook="copy-in $work/simba.deb /tmp" \
  --customize-hook='chroot "$1" apt-get install -qq -y --no-install-recommends /tmp/simba.deb >/dev/null' \
  --customize-hook="bash $work/hook \"\$1\"" "$suite" -
