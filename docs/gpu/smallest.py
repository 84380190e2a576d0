#!/usr/bin/env python3
"""`tessera fit` against the truth: the smallest device of each policy, as a limit by
set_per_process_memory_fraction. There the job has to complete, and SHORT below it to die.

SPDX-License-Identifier: Apache-2.0
"""
from bench import EXPANDABLE, Bench, label

JOBS = [["gpt", "--recompute", "--steps", "5"], ["finetune", "--steps", "6"],
        ["accumulate", "--steps", "4", "--evaluate-every", "0", "--save-every", "0"]]
SHORT = 1 - 1 / 64  # of the smallest device
WAYS = {"native": {}, "expandable": {"env": EXPANDABLE}}


def compare(bench, job):
    trace, plan = bench.plan(job)
    needs = bench.tessera("fit", trace)
    found = {"job": label(job)}
    ways = WAYS | {"plan": {"under": ["run", "--plan", plan]}}
    for name, how in ways.items():
        need = needs[f"{name}_bytes"]
        there = bench.example(job, "--limit", need, **how)
        below = bench.example(job, "--limit", int(need * SHORT), **how)
        found[name] = {"smallest_bytes": need, "dies_there": there["out_of_memory"],
                       "retries_there": there["retries"],
                       "reserved_there_bytes": there["peak_reserved_bytes"],
                       "dies_below": below["out_of_memory"]}
    return found


def main():
    bench = Bench(__doc__, JOBS, JOBS[:1])
    bench.save("smallest", [compare(bench, job) for job in bench.jobs])


main()
