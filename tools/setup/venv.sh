#!/usr/bin/env bash
# Makes build/venv with the pinned Python programs; does nothing when it already holds them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

pins=(tools/requirements.txt tools/constraints.txt)
stamp=build/venv/pins.sha256
if [[ -x build/venv/bin/pytest && -f "$stamp" ]] && sha256sum --status -c "$stamp"; then
  echo "setup: build/venv is current"
  exit 0
fi
rm -rf build/venv
python3 -m venv build/venv
build/venv/bin/python -m pip install --quiet --disable-pip-version-check -r "${pins[0]}" -c "${pins[1]}"
sha256sum "${pins[@]}" >"$stamp"
echo "setup: made build/venv with $(grep -v '^#' "${pins[0]}" | tr '\n' ' ')"
