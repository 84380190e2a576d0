#!/usr/bin/env python3
"""Seconds a step natively, with expandable segments and under the plan, by turns, since a device's
speed drifts: medians of all steady steps, and of each round. Nobody else may use the device meanwhile.

SPDX-License-Identifier: Apache-2.0
"""
import statistics

from bench import EXPANDABLE, WARM_UP, Bench, label

STEPS, ROUNDS = ["--steps", "24"], 3
JOBS = [["gpt", "--size", "xl", "--batch", "8", *STEPS], ["llama", "--size", "1b", "--batch", "8", *STEPS],
        ["finetune", *STEPS]]
REHEARSED = [["gpt", "--steps", "5"]]


def compare(bench, job, rounds):
    _, plan = bench.plan([*job[:-1], "5"])
    ways = {"native": {}, "expandable": {"env": EXPANDABLE}, "plan": {"under": ["run", "--plan", plan]}}
    steps = {name: [] for name in ways}
    for _ in range(rounds):
        for name, how in ways.items():
            steps[name].append(bench.example(job, **how)["step_seconds"][1 + WARM_UP:])
    return {"job": label(job), **{name: {
        "step_seconds": statistics.median(sum(found, [])),
        "rounds": [statistics.median(each) for each in found]} for name, found in steps.items()}}


def main():
    bench = Bench(__doc__, JOBS, REHEARSED)
    found = []
    for job in bench.jobs:
        found.append(compare(bench, job, 1 if bench.is_rehearsal else ROUNDS))
        bench.save("turns", found)


main()
