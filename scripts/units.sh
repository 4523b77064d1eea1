#!/usr/bin/env bash
# Tries the units of examples/systemd under a real systemd: process 1 of a root with the Debian package in it, in
# namespaces and a cgroup of its own. Needs root, as it mounts cgroups.
# Usage: scripts/units.sh <simba_VERSION_ARCH.deb> [suite]      (the suite the package was built for; default: bookworm)
# The root is made by mmdebstrap and removed afterwards. What the units did is printed at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
die() { echo "units: $*" >&2; exit 1; }
[ $# -ge 1 ] && [ -f "$1" ] || die "usage: scripts/units.sh <simba.deb> [suite]"
[ "$(id -u)" -eq 0 ] || die "not root"
command -v mmdebstrap >/dev/null || die "no mmdebstrap; on Debian: apt-get install mmdebstrap"
suite=${2:-bookworm}
mkdir -p build
work=$(mktemp -d build/units.XXXXXX)
work=$PWD/$work
group=$work/cgroup/${work##*/}
cleanup() {
  [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} +
  ! mountpoint -q "$work/cgroup" || umount "$work/cgroup"
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT
chmod 755 "$work"
root=$work/root

TMPDIR=$work mmdebstrap --quiet --mode=root --variant=minbase --include=systemd --aptopt='Acquire::Retries "3"' \
  --customize-hook="copy-in $(realpath "$1") /tmp" \
  --customize-hook='chroot "$1" sh -c "apt-get install -qq -y --no-install-recommends /tmp/*.deb >/dev/null"' \
  "$suite" "$root"
cp examples/systemd/*.service "$root/etc/systemd/system/"
for unit in app leader; do
  mkdir "$root/etc/systemd/system/$unit.service.d"
  printf '[Service]\nEnvironment=SIMBA_BACKEND=sqlite:/var/lib/simba/simba.db\n' \
    >"$root/etc/systemd/system/$unit.service.d/store.conf"
done
mkdir -m 700 "$root/var/lib/simba"

# What the units run. The application ends with the code that it finds in a file.
cat >"$root/usr/local/bin/app" <<'END'
#!/bin/sh
echo "app $*" >>/said
trap 'echo "app got TERM" >>/said; exit 0' TERM
while :; do
  sleep 0.1
  [ ! -e /code ] || { code=$(cat /code); rm /code; exit "$code"; }
done
END
printf '#!/bin/sh\necho "vip $*" >>/said\n' >"$root/usr/local/bin/vip"
cat >"$root/try" <<'END'
#!/bin/bash
await() { # <what> <times> <line>
  local _
  for _ in {1..600}; do
    [ "$(grep -cx -- "$3" /said)" -lt "$2" ] || { echo "units: ok: $1"; return; }
    sleep 0.1
  done
  echo "units: FAILED: $1"
}
is() { # <what> <unit> <property> <value>
  local found
  found=$(systemctl show -P "$3" "$2")
  if [ "$found" = "$4" ]; then echo "units: ok: $1"; else echo "units: FAILED: $1: $3 is $found"; fi
}
touch /said
systemctl start app leader
await 'the application runs' 1 'app --foreground'
await 'the leader has the address' 1 'vip add'
echo 3 >/code
await 'an application that has failed is started again' 2 'app --foreground'
systemctl kill -s KILL --kill-who=main leader
await 'the address of a leader that was killed is removed' 1 'vip remove'
await 'and another leads' 2 'vip add'
systemctl stop leader
await 'a leader that is stopped removes it' 2 'vip remove'
is 'and exits normally' leader Result success
systemctl stop app
await 'TERM reaches the application' 1 'app got TERM'
is 'and it exits normally' app Result success
systemctl start app
await 'it starts again' 3 'app --foreground'
echo 78 >/code
sleep 5
is 'but not after a code that a restart does not cure' app ActiveState failed
is 'which is told' app ExecMainStatus 78
END
chmod +x "$root/usr/local/bin/"* "$root/try"
cat >"$root/etc/systemd/system/try.service" <<'END'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/try
StandardOutput=file:/result
StandardError=file:/result
ExecStopPost=/bin/systemctl exit --force
END

mkdir "$work/cgroup"
mount -t cgroup2 cgroup "$work/cgroup"
mkdir "$group"
# Process 1 of the namespaces is systemd.
timeout 300 bash -c 'echo $$ >"$0/cgroup.procs" && exec unshare --pid --fork --kill-child --mount --uts --ipc --cgroup \
  bash -c '\''
    set -e
    mount --bind "$0" "$0"
    mount -t proc proc "$0/proc"
    mount -t sysfs -o ro sysfs "$0/sys"
    mount -t cgroup2 cgroup "$0/sys/fs/cgroup"
    for folder in dev run tmp; do mount -t tmpfs tmpfs "$0/$folder"; done
    for device in null zero full random urandom; do
      touch "$0/dev/$device"
      mount --bind "/dev/$device" "$0/dev/$device"
    done
    mkdir "$0/dev/shm"
    exec chroot "$0" /usr/bin/env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
      /lib/systemd/systemd --system --unit=try.service --show-status=0 --log-level=err'\'' "$1"
' "$group" "$root" >"$work/log" 2>&1 || true
[ -s "$root/result" ] || { cat "$work/log"; die "systemd did not run"; }
echo "units: $(chroot "$root" /lib/systemd/systemd --version | head -n 1), $suite"
cat "$root/result"
! grep -q FAILED "$root/result" || { cat "$root/said"; exit 1; }
