#!/usr/bin/env python3
"""Runs barriers.cu, which measures what handing memory from stream to stream would cost: compiled by
nvcc, or TESSERA_BARRIERS names the program. Skipped where neither is there, and in rehearsals.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import shutil

from bench import HERE, Bench


def main():
    bench = Bench(__doc__)
    if bench.is_rehearsal or not (os.environ.get("TESSERA_BARRIERS") or shutil.which("nvcc")):
        print("skipped: barriers needs a device and nvcc")
        return
    program = os.environ.get("TESSERA_BARRIERS")
    if not program:
        program = bench.folder / "barriers"
        bench.run(["nvcc", "-O2", "-std=c++17", "-arch=native", "--extended-lambda", "-o", program,
                   HERE / "barriers.cu"])
    bench.example(["gpt", "--steps", "1"])  # which device this is
    bench.save("barriers", json.loads(bench.run([program])))


main()
