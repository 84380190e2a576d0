#!/usr/bin/env python3
"""Native, expandable segments and the plan on jobs of 1 to 13 B parameters: allocated, reserved,
seconds a step. A job that this device can't hold says so.

SPDX-License-Identifier: Apache-2.0
"""
from bench import EXPANDABLE, Bench, step_seconds

STEPS = ["--steps", "8"]
JOBS = [
    ["gpt", "--size", "xl", "--batch", "4", *STEPS],
    ["gpt", "--size", "xl", "--batch", "16", "--recompute", *STEPS],
    ["llama", "--size", "1b", "--batch", "4", *STEPS],
    ["llama", "--size", "7b", "--recompute", *STEPS],
    ["llama", "--size", "13b", "--recompute", *STEPS],
    ["moe", "--size", "8b", *STEPS],
    ["finetune", "--size", "1b", *STEPS],
]
REHEARSED = [["llama", "--steps", "4"]]


def judge(facts):
    return {"peak_allocated_bytes": facts["peak_allocated_bytes"],
            "peak_reserved_bytes": facts["peak_reserved_bytes"],
            "step_seconds": step_seconds(facts), "out_of_memory": facts["out_of_memory"]}


def compare(bench, job):
    found = {"job": " ".join(job), "native": judge(bench.example(job)),
             "expandable": judge(bench.example(job, env=EXPANDABLE))}
    if found["native"]["out_of_memory"]:
        return found | {"plan": None}
    _, plan = bench.plan(job)
    other_seed = [*job, "--seed", "2"]
    followed = bench.folder / "followed.tsr"
    found["plan"] = judge(bench.example(other_seed, under=["run", "--plan", plan]))
    bench.example(other_seed, under=["run", "--plan", plan, "-o", followed])
    found["following"] = bench.tessera("info", followed)["recording"]
    return found


def main():
    bench = Bench(__doc__)
    jobs = REHEARSED if bench.is_rehearsal else JOBS
    bench.save("memory", [compare(bench, job) for job in jobs])


main()
