#!/bin/sh
# What a real GPU must show: each script on its own, each with a JSON file that names the device. Goes on after one that fails, and says which at the end.
#
#   docs/gpu/run.sh [--rehearse] FOLDER [NAME...]
#
# TESSERA_BUILD names the build folder (build), TESSERA_TEST_PYTHON the Python with PyTorch and
# transformers (python3). --rehearse runs tiny sizes over the null CUDA: nothing there counts.
# What asks for addresses and bits runs side by side, what is timed alone; with names these.
# SPDX-License-Identifier: Apache-2.0
set -u
here=$(cd "$(dirname "$0")" && pwd)
TESSERA_TEST_PYTHON=${TESSERA_TEST_PYTHON:-python3}
export TESSERA_TEST_PYTHON
rehearse=
[ "${1:-}" != --rehearse ] || { rehearse=--rehearse; shift; }
[ $# -ge 1 ] || { sed -n '5s/^# *//p' "$0" >&2; exit 2; }
folder=$1; shift
mkdir -p "$folder"
beside="snapshots exact against_dry_run smallest"
alone="head_room barriers calls turns rescued memory strays paranoid"
[ $# -eq 0 ] || { beside=; alone="$*"; }

one () {
  began=$(date +%s)
  "$TESSERA_TEST_PYTHON" "$here/$1.py" $rehearse "$folder" >"$folder/$1.log" 2>&1 || { echo "$1" >>"$folder/failed"; }
  printf '== %s, %s s\n' "$1" $(($(date +%s) - began)); cat "$folder/$1.log"
}
rm -f "$folder/failed"
for name in $alone; do one "$name"; done
if [ -n "$rehearse" ]; then for name in $beside; do one "$name"; done
else for name in $beside; do one "$name" & done; wait; fi
[ ! -f "$folder/failed" ] || { printf 'failed: %s\n' "$(tr '\n' ' ' <"$folder/failed")" >&2; exit 1; }
