#!/bin/sh
# What a real GPU must show (TODO.md): each script on its own, each with a JSON file that names
# the device. Goes on after one that fails, and says which at the end.
#
#   docs/gpu/run.sh [--rehearse] FOLDER
#
# TESSERA_BUILD names the build folder (build), TESSERA_TEST_PYTHON the Python with PyTorch and
# transformers (python3). --rehearse runs tiny sizes over the null CUDA: nothing there counts.
# SPDX-License-Identifier: Apache-2.0
set -u
here=$(cd "$(dirname "$0")" && pwd)
TESSERA_TEST_PYTHON=${TESSERA_TEST_PYTHON:-python3}
export TESSERA_TEST_PYTHON
rehearse=
[ "${1:-}" != --rehearse ] || { rehearse=--rehearse; shift; }
[ $# -eq 1 ] || { sed -n '5s/^# *//p' "$0" >&2; exit 2; }

failed=
for name in snapshots memory exact calls rescued against_dry_run; do
  printf '== %s\n' "$name"
  "$TESSERA_TEST_PYTHON" "$here/$name.py" $rehearse "$1" || failed="$failed $name"
done
[ -z "$failed" ] || { printf 'failed:%s\n' "$failed" >&2; exit 1; }
