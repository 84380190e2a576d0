#!/usr/bin/env python3
"""Runs a script with PyTorch's own allocator, whose history goes into a snapshot.

    snapshot.py SNAPSHOT SCRIPT [ARGUMENTS]

SPDX-License-Identifier: Apache-2.0
"""
import runpy
import sys
from pathlib import Path

import torch

torch.cuda.memory._record_memory_history(context=None, max_entries=10_000_000)
snapshot, *sys.argv = sys.argv[1:]
sys.path[0] = str(Path(sys.argv[0]).parent)
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    torch.cuda.memory._dump_snapshot(snapshot)
