#!/usr/bin/env python3
"""What it costs to stray from a plan and to be declined: jobs under another job's plan, and under
one for other batches, beside expandable segments alone. Reserved at most, seconds a step. Nobody else
may use the device meanwhile.

SPDX-License-Identifier: Apache-2.0
"""
from bench import EXPANDABLE, Bench, step_seconds

#: NAME: (the job that is planned, the job that follows)
CASES = {
    "larger batches": (["gpt", "--steps", "4"], ["gpt", "--batch", "6", "--steps", "12"]),
    "another model": (["gpt", "--steps", "4"], ["gpt", "--size", "medium", "--steps", "12"]),
    "other routing": (["moe", "--steps", "4"], ["moe", "--seed", "7", "--steps", "12"]),
    "other lengths": (["finetune", "--steps", "6"], ["finetune", "--seed", "7", "--steps", "16"]),
    "evaluations that the plan lacks": (["gpt", "--steps", "4"],
                                        ["gpt", "--evaluate-every", "3", "--log-norms", "--prefetch",
                                         "--steps", "12"]),
}
COUNTS = ("hits", "misses", "plan_is_declined", "peak_extra_bytes")


def judge(facts):
    return {"peak_allocated_bytes": facts["peak_allocated_bytes"],
            "peak_reserved_bytes": facts["peak_reserved_bytes"], "step_seconds": step_seconds(facts),
            "steps": facts["step_seconds"]}


def compare(bench, name, planned, followed):
    _, plan = bench.plan(planned)
    under = bench.example(followed, under=["run", "--plan", plan])
    expandable = bench.example(followed, env=EXPANDABLE)
    native = bench.example(followed)
    return {"case": name, "planned": " ".join(planned), "job": " ".join(followed),
            "native": judge(native), "expandable": judge(expandable), "plan": judge(under),
            **{key: under["plan"].get(key) for key in COUNTS}}


def main():
    names = [[name] for name in CASES]
    bench = Bench(__doc__, names, names[:1])
    found = []
    for name, in bench.jobs:
        found.append(compare(bench, name, *CASES[name]))
        bench.save("strays", found)


main()
