#!/usr/bin/env python3
"""Allocates and releases in a loop, and writes the nanoseconds that each pair took: of several
rounds the fastest, since other work only lengthens them.

SPDX-License-Identifier: Apache-2.0
"""
import json
import sys
import time
from pathlib import Path

import torch

try:
    from tessera import stats, step  # on the path where `tessera record` or `run` started us
except ImportError:
    def step():
        """Nobody counts."""

    def stats():
        """Nobody does."""
        return {}

SIZES = {"4 KiB": 4 << 10, "4 MiB": 4 << 20}
LIVE = [100, 1000]
ROUNDS = 5

allocate = torch._C._cuda_cudaCachingAllocator_raw_alloc
release = torch._C._cuda_cudaCachingAllocator_raw_delete


def pairs(n, size, stream):
    begin = time.perf_counter_ns()
    for _ in range(n):
        release(allocate(size, stream))
    return (time.perf_counter_ns() - begin) / n


def nothing(n):
    begin = time.perf_counter_ns()
    for _ in range(n):
        int(int(0))
    return (time.perf_counter_ns() - begin) / n


def round_of_pairs(n, stream):
    found = {"nothing": nothing(n)}
    for n_live in LIVE:
        held = [allocate(4 << 10, stream) for _ in range(n_live)]
        for name, size in SIZES.items():
            found[f"{n_live} live, {name}"] = pairs(n, size, stream)
        for address in held:
            release(address)
    step()
    return found


def main(path, *words):
    n = 200 if "--short" in words else 20000
    torch.cuda.init()
    stream = torch.cuda.current_stream().cuda_stream
    rounds = [round_of_pairs(n, stream) for _ in range(ROUNDS)]
    fastest = {key: min(found[key] for found in rounds) for key in rounds[0]}
    counted = {key: stats()[key] for key in ("hits", "misses") if key in stats()}
    Path(path).write_text(json.dumps(fastest | counted), encoding="utf-8")


main(*sys.argv[1:])
