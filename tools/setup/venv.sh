#!/usr/bin/env bash
# venv.sh [--user]: makes build/venv with the pinned Python programs and the models of tests, or with --user with what a
# build takes from there: cuda.h, NVRTC and wgpu-native, and CMake where the system's is too old. Does nothing when it
# already holds them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

pins=(tools/requirements.txt tools/constraints.txt tools/models.txt)
stamp=build/venv/pins.sha256
if [[ -x build/venv/bin/pytest && -f "$stamp" && "$(sha256sum "${pins[@]}")" == "$(<"$stamp")" ]]; then
  echo "setup: build/venv is current"
  exit 0
fi
if [[ "${1:-}" == --user ]]; then
  mapfile -t wanted < <(grep -E '^(wgpu|nvidia-)' "${pins[0]}")
  oldest=3.25  # as in CMakeLists.txt
  found=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p')
  [[ "$(printf '%s\n' "$oldest" "${found:-0}" | sort -V | head -n 1)" == "$oldest" ]] || wanted+=("cmake>=$oldest,<4")
  python3 -m venv build/venv
  build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps "${wanted[@]}"
  echo "setup: build/venv holds ${wanted[*]}"
  exit 0
fi
rm -rf build/venv
python3 -m venv build/venv
build/venv/bin/python -m pip install --quiet --disable-pip-version-check -r "${pins[0]}" -c "${pins[1]}"
build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r "${pins[2]}"
sha256sum "${pins[@]}" >"$stamp"
echo "setup: made build/venv with $(grep -v '^#' "${pins[0]}" | tr '\n' ' ')"
