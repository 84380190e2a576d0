#!/usr/bin/env python3
"""Two snapshots from real devices, rebuilt without one: the same requests, the same peaks.

medium-seq128-train and medium-seq512-train are a step each of the transformer of the course
CS336, the second in mixed precision. examples/cs336.py is that transformer. PyTorch 2.15 frees
its cuBLAS workspace after every product unless told otherwise; the version that wrote these
snapshots kept it, so here it is told.

SPDX-License-Identifier: Apache-2.0
"""
import json

import dry

STEPS = 3
LEAST_EQUAL = 0.99
ALLOCATED_WITHIN, RESERVED_WITHIN = 0.01, 0.03
JOBS = {
    "medium-seq128-train": ["--length", "128"],
    "medium-seq512-train": ["--length", "512", "--bfloat16"],
}


def large(sizes):
    return [size for size in sizes if size >= dry.MIB]


def compare(report, real, ours):
    """Place by place: one request too many, and all that follow count as wrong."""
    n_equal = sum(a == b for a, b in zip(real, ours))
    n_most = max(len(real), len(ours))
    report.expect(n_equal >= LEAST_EQUAL * n_most > 0,
                  f"{n_equal} of {n_most} requests of 1 MiB and more equal in order and size")


@dry.judge
def main(report, folder):
    for name, arguments in JOBS.items():
        print(name)
        snapshot = dry.shared("snapshots", "real", f"{name}.pickle")
        real, ours = (folder / f"{side}-{name}.tsr" for side in ("real", "ours"))
        dry.tessera("import", snapshot, "-o", real)
        dry.dry_run(ours, dry.EXAMPLES / "cs336.py", "--size", "medium", *arguments,
                    options=["--steps", STEPS], env={"TORCH_CUBLAS_WORKSPACE_CACHE": "1"})

        begin, end = dry.steps_of(ours)[STEPS - 1]
        theirs, mine = dry.requests_of(real), dry.requests_of(ours, begin, end)
        print(f"    {sum(a == b for a, b in zip(theirs, mine))} of {len(theirs)} requests "
              f"of any size equal in order and size; ours are {len(mine)}")
        compare(report, large(theirs), large(mine))
        facts = [json.loads(dry.tessera("info", "--json", trace)) for trace in (real, ours)]
        for key, within in (("peak_allocated_bytes", ALLOCATED_WITHIN),
                            ("peak_reserved_bytes", RESERVED_WITHIN)):
            expected, found = (fact[key] for fact in facts)
            report.expect(abs(found / expected - 1) <= within,
                          f"{key} {found:,} for {expected:,} ({found / expected - 1:+.2%})")
