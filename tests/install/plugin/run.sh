#!/usr/bin/env bash
# Builds the plug-in of the installed docs/writing-a-backend.md, its code blocks one after the other, with a C compiler
# and the installed header alone, and loads it with the installed programs.
# usage: run.sh PREFIX
set -euo pipefail

prefix="$1"
page=$(find "$prefix" -name writing-a-backend.md)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH="$prefix/bin:/usr/bin:/bin"

fail() {
  echo "tests/install/plugin: $1" >&2
  exit 1
}

# build NAME SED: the page's plug-in after an edit, as a plug-in of that name.
build() {
  mkdir -p "$work/$1"
  awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$page" | sed "$2" >"$work/$1/toy.c"
  cc -std=c11 -Wall -Wextra -Wpedantic -Werror -shared -fPIC -I "$prefix/include" -o "$work/$1/libvectis_backend_toy.so" \
    "$work/$1/toy.c"
}

# expect TEXT COMMAND...: the command's output contains the text.
expect() {
  local text="$1" output
  shift
  output=$("$@") || fail "'$*' failed: $output"
  [[ "$output" == *"$text"* ]] || fail "'$*' does not say '$text': $output"
}

build right ''
export VECTIS_BACKEND_PATH="$work/right"
expect 'toy:0' vectis devices
expect 'toy: found' vectis doctor
expect "'toy' was requested by VECTIS_DEVICE" env VECTIS_DEVICE=toy vectis devices
expect 'do        unset backends.toy.broken' env VECTIS_BACKENDS_TOY_BROKEN=1 vectis doctor
expect 'cpu:0' env VECTIS_BACKENDS_TOY_BROKEN=1 vectis devices
expect ' 0 failures' vectis conformance --backend toy --slice
expect '3 of 4 lines are not offered' vectis conformance --backend toy --slice --op sum_rows # float32 is

backends=$(dirname "$(find "$prefix" -name libvectis_backend_failing.so)")
export VECTIS_BACKENDS_FAILING_TARGET=toy
expect 'failing:0' env VECTIS_BACKEND_PATH="$work/right:$backends" vectis devices
expect 'failing: found' env VECTIS_BACKEND_PATH="$work/right:$backends" vectis doctor
unset VECTIS_BACKENDS_FAILING_TARGET

mkdir -p "$work/misnamed"
cp "$work/right/libvectis_backend_toy.so" "$work/misnamed/libvectis_backend_game.so"
expect 'rename the file' env VECTIS_BACKEND_PATH="$work/misnamed" vectis doctor
expect 'names /nowhere, which does not exist' env VECTIS_BACKEND_PATH=/nowhere vectis doctor

build old 's/\.abi_major = VECTIS_ABI_MAJOR/.abi_major = VECTIS_ABI_MAJOR + 1/'
export VECTIS_BACKEND_PATH="$work/old"
expect 'it was built for backend ABI 2.' vectis doctor
expect 'cpu:0' vectis devices

build lacking 's/^ *\.copy_to_host = .*//; s/^static VectisStatus toy_copy_to_host/VectisStatus toy_copy_to_host(VectisStream*, void*, VectisMemory*, uint64_t, uint64_t, VectisMessage*);\nVectisStatus toy_copy_to_host/'
export VECTIS_BACKEND_PATH="$work/lacking"
expect "required slot 'copy_to_host' is missing" vectis doctor
expect 'cpu:0' vectis devices

echo "install: the plug-in of docs/writing-a-backend.md builds as plain C and is listed and wrapped; 4 mistakes are named"
