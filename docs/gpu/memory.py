#!/usr/bin/env python3
"""Native, expandable segments and the plan on jobs of 0.3 to 13 B parameters: allocated, reserved,
seconds a step, the first steps apart. A job that this device can't hold says so. Nobody else may
use the device meanwhile.

SPDX-License-Identifier: Apache-2.0
"""
from bench import EXPANDABLE, HERE, Bench, label, step_seconds

STEPS = ["--steps", "12"]
JOBS = [
    ["gpt", "--size", "medium", "--batch", "16", *STEPS],
    ["gpt", "--size", "medium", "--batch", "32", "--recompute", *STEPS],
    ["gpt", "--size", "xl", "--batch", "8", *STEPS],
    ["llama", "--size", "1b", "--batch", "8", *STEPS],
    ["llama", "--size", "1b", "--batch", "8", "--length", "2048", "--var-length", "--steps", "24"],
    ["finetune", "--size", "1b", "--batch", "4", "--steps", "24"],
    ["moe", "--size", "8b", *STEPS],
    ["llama", "--size", "7b", "--batch", "4", "--recompute", *STEPS],
    [HERE / "resnet.py", "--batch", "256", *STEPS],
    ["unet", "--width", "320", "--batch", "8", "--steps", "16"],
]
REHEARSED = [["llama", "--steps", "4"]]
COUNTS = ("hits", "misses", "plan_is_declined", "peak_extra_bytes", "plan_height_bytes")


def judge(facts):
    return {"peak_allocated_bytes": facts["peak_allocated_bytes"],
            "peak_reserved_bytes": facts["peak_reserved_bytes"],
            "step_seconds": step_seconds(facts), "first_steps": facts["step_seconds"][:4],
            "retries": facts["retries"], "beside_bytes": facts["beside_bytes"],
            "out_of_memory": facts["out_of_memory"]}


def compare(bench, job):
    found = {"job": label(job), "native": judge(bench.example(job)),
             "expandable": judge(bench.example(job, env=EXPANDABLE))}
    _, plan = bench.plan(job, policy="expandable")
    under = bench.example(job, under=["run", "--plan", plan])
    found["plan"] = judge(under)
    found["following"] = {key: under["plan"].get(key) for key in COUNTS}
    return found


def main():
    bench = Bench(__doc__, JOBS, REHEARSED)
    found = []
    for job in bench.jobs:
        found.append(compare(bench, job))
        bench.save("memory", found)


main()
