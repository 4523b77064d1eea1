#!/usr/bin/env bash
# Runs a command in a copy of this tree on a bare Debian: nothing but a minimal system with git and
# make, and an empty environment. Usage: scripts/bare.sh <suite> <command> [argument ...]
# Example: scripts/bare.sh trixie make test
# The system is made by mmdebstrap in build/bare and removed afterwards. No root is needed where
# users may make namespaces. Its processes end with the command.
set -euo pipefail
cd "$(dirname "$0")/.."
die() { echo "bare: $*" >&2; exit 1; }
[ $# -ge 2 ] || die "usage: scripts/bare.sh <suite> <command> [argument ...]"
command -v mmdebstrap >/dev/null || die "no mmdebstrap; on Debian: apt-get install mmdebstrap"
suite=$1
shift

mkdir -p build/bare
work=$(mktemp -d build/bare/XXXXXX)
work=$PWD/$work
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
# Also what is not committed yet.
git ls-files -z --cached --others --exclude-standard --deduplicate |
  tar --create --null --files-from=- --ignore-failed-read --owner=0 --group=0 \
    --transform='s|^|simba/|S' --file="$work/tree.tar" 2>/dev/null
printf -v command '%q ' "$@"

# What mmdebstrap calls in its namespaces, with the root as its argument; by bash, whose quoting of
# newlines "sh" does not read. The test servers live in /dev/shm, which is a plain folder there.
cat >"$work/hook" <<END
mount -t tmpfs -o mode=1777 tmpfs "\$1/dev/shm"
status=0
chroot "\$1" env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
  sh -c 'cd /simba && exec "\$@"' sh $command </dev/null || status=\$?
umount "\$1/dev/shm"
exit \$status
END
# The Release file of sid may be past its date on a mirror that is behind.
TMPDIR=$work mmdebstrap --quiet --mode=unshare --variant=minbase --format=null --include=ca-certificates,git,make \
  --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"' \
  --customize-hook="tar-in $work/tree.tar /" --customize-hook="bash $work/hook \"\$1\"" "$suite" -
