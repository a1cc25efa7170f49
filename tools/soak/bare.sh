#!/usr/bin/env bash
# Runs .ci/run of a fresh clone in a fresh Debian 12 (minbase, nothing else) and prints how many seconds it took.
# Needs root and debootstrap. The archive, name server, certificates and pip settings are this machine's own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

((EUID == 0)) || { echo "bare: needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "bare: run: apt-get install debootstrap" >&2; exit 1; }

place=$(mktemp -d)
system=$place/system
clean_up() {
  for mounted in "$system/proc" "$system/sys"; do
    if mountpoint -q "$mounted"; then umount -l "$mounted"; fi
  done
  rm -rf --one-file-system "$place"
}
trap clean_up EXIT

make_system() {
  local archive suite
  read -r archive suite < <(python3 -m tools.setup.archive)
  debootstrap --variant=minbase "$suite" "$system" "$archive" >"$place/debootstrap.log" 2>&1 ||
    { tail -20 "$place/debootstrap.log" >&2; exit 1; }
  cp /etc/resolv.conf /etc/hosts "$system/etc/"
  [[ ! -f /etc/pip.conf ]] || cp /etc/pip.conf "$system/etc/"
  [[ ! -d /usr/local/share/ca-certificates ]] || cp -r /usr/local/share/ca-certificates "$system/usr/local/share/"
  apt-config dump | grep -iE '^Acquire::https?::' >"$system/etc/apt/apt.conf.d/90machine" || true
  mount -t proc proc "$system/proc"
  mount -t sysfs -o ro sysfs "$system/sys"
  install -d -m 1777 "$system/dev/shm"
}

make_system
git -c safe.directory='*' clone -q --no-hardlinks . "$system/vectis"

# Only what a machine needs to reach its archives goes in.
mapfile -t settings < <(env | grep -E '^((https?|no|all)_proxy|PIP_(CERT|INDEX_URL|EXTRA_INDEX_URL|DEFAULT_TIMEOUT))=' || true)
start=$SECONDS
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "${settings[@]}" \
  chroot "$system" bash /vectis/.ci/run
echo "bare: .ci/run took $((SECONDS - start)) seconds"
