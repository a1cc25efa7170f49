#!/usr/bin/env bash
# packages.sh [--user]: installs what tools/packages.txt names, or with --user what a build without tests needs on this
# system (tools/setup/user). Quick and without apt when all of it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

list=tools/packages.txt
if [[ "${1:-}" == --user ]]; then
  system=$(. "${VECTIS_OS_RELEASE:-/etc/os-release}" && echo "${ID:-unknown}-${VERSION_ID:-unknown}")
  list=tools/setup/user/$system.txt
  if [[ ! -f "$list" ]]; then
    echo "setup: there is no list of packages for $system; install what corresponds to those of" >&2
    echo "  tools/setup/user/debian-12.txt, then run: bash tools/setup/venv.sh --user" >&2
    exit 1
  fi
  ! grep -q '^# Untested' "$list" || echo "setup: untested on $system: please report what fails"
fi

mapfile -t wanted < <(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$list")
missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ "$state" == installed ]] || missing+=("$package")
done

if ((${#missing[@]} == 0)); then
  echo "setup: all ${#wanted[@]} packages are installed"
  exit 0
fi
if ((EUID != 0)); then
  echo "setup: ${#missing[@]} of ${#wanted[@]} packages are missing; install them as root, then run this again:" >&2
  echo "  sudo apt-get update && sudo apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -q update
apt-get -q install -y --no-install-recommends "${missing[@]}"
