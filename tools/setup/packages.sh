#!/usr/bin/env bash
# Installs what tools/packages.txt names. Quick and without apt when all of it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

mapfile -t wanted < <(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' tools/packages.txt)
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
  echo "setup: ${#missing[@]} of ${#wanted[@]} packages are missing; run as root:" >&2
  echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -q update
apt-get -q install -y --no-install-recommends "${missing[@]}"
