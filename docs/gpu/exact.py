#!/usr/bin/env python3
"""The same bits: 100 steps native twice, then under a plan, with deterministic algorithms. Where
native differs from native, the plan is not to blame.

SPDX-License-Identifier: Apache-2.0
"""
from bench import Bench

STEPS, DIGEST_EVERY = 100, 5
JOBS = [["gpt"], ["gpt", "--recompute"], ["llama"]]
REHEARSED_STEPS, REHEARSED_EVERY, REHEARSED = 4, 2, [["gpt"]]


def compare(bench, job, steps, every):
    probed = ["--deterministic", "--digest-every", every]
    longer = [*job, "--steps", steps]
    _, plan = bench.plan([*job, "--steps", "4"])
    first, second = (bench.example(longer, *probed)["digests"] for _ in range(2))
    planned = bench.example(longer, *probed, under=["run", "--plan", plan])["digests"]
    return {"job": " ".join(job), "steps": steps, "digests": len(first),
            "native_is_native": first == second, "plan_is_native": planned == first,
            "first_difference": next((i for i, (a, b) in enumerate(zip(first, planned)) if a != b),
                                     None)}


def main():
    bench = Bench(__doc__)
    steps, every, jobs = ((REHEARSED_STEPS, REHEARSED_EVERY, REHEARSED) if bench.is_rehearsal
                          else (STEPS, DIGEST_EVERY, JOBS))
    bench.save("exact", [compare(bench, job, steps, every) for job in jobs])


main()
