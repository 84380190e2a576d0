#!/usr/bin/env python3
"""A job that dies natively and runs under its plan, on a limit between what both need; its tokens
a second against the largest native batch that fits.

SPDX-License-Identifier: Apache-2.0
"""
from bench import EXPANDABLE, Bench, step_seconds

LENGTH = 1024
BATCH, JOB = 16, ["gpt", "--size", "xl", "--recompute", "--steps", "8"]
REHEARSED_BATCH, REHEARSED = 4, ["gpt", "--recompute", "--steps", "4"]


def judge(facts, batch):
    seconds = step_seconds(facts)
    return {"batch": batch, "out_of_memory": facts["out_of_memory"],
            "peak_reserved_bytes": facts["peak_reserved_bytes"],
            "tokens_a_second": batch * LENGTH / seconds
            if seconds and not facts["out_of_memory"] else None}


def largest_native(bench, job, batch, limit, env=()):
    """The largest batch below @batch that completes, by bisection."""
    best, low, high = None, 1, batch - 1
    while low <= high:
        middle = (low + high) // 2
        found = judge(bench.example([*job, "--batch", middle], *limit, env=env), middle)
        if found["out_of_memory"]:
            high = middle - 1
        else:
            best, low = found, middle + 1
    return best


def main():
    bench = Bench(__doc__)
    batch, job = (REHEARSED_BATCH, REHEARSED) if bench.is_rehearsal else (BATCH, JOB)
    whole = [*job, "--batch", batch]
    trace, plan = bench.plan(whole)
    needs = bench.tessera("fit", trace)
    limit_bytes = (needs["plan_bytes"] + needs["native_bytes"]) // 2
    limit = ["--limit", limit_bytes]
    bench.save("rescued", {
        "job": " ".join(map(str, whole)), "limit_bytes": limit_bytes,
        "needs": {key: needs[f"{key}_bytes"] for key in ("native", "expandable", "plan")},
        "native": judge(bench.example(whole, *limit), batch),
        "expandable": judge(bench.example(whole, *limit, env=EXPANDABLE), batch),
        "plan": judge(bench.example(whole, *limit, under=["run", "--plan", plan]), batch),
        "native_smaller": largest_native(bench, job, batch, limit),
    })


main()
