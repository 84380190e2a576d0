#!/usr/bin/env python3
"""A loop that keeps something of each step for good follows its plan with another seed.

    kept.py SHIM

examples/dit.py puts its losses in a list, or leaves what each step gave to Python's collector,
which comes by when it likes. Its plan, of six steps, is followed by twelve with another seed: all
that misses is what is kept. The shim between PyTorch and the library judges: what was handed out
was free and aligned, and the driver gave hardly more than was alive.

SPDX-License-Identifier: Apache-2.0
"""
import json

import dry

PLANNED_STEPS, STEPS = 6, 12
# Habit: how many requests of a step it keeps.
KEEPS = {"--keep-losses": 1, "--keep-cycles": 2}
MOST_RESERVED = 1.01  # of what is alive in the moment that most is


def judge(report, habit, answer, seen, said, alone):
    print(habit)
    for line in said:
        print("   ", line)
    reason = answer["follow_reason"]
    report.expect(answer["followable"] == "yes" and "beyond the next one" in reason, reason)
    for row in answer["kept"]:
        report.expect(row["line"].startswith("dit.py:"), f"each step keeps {row['bytes']} bytes: {row['line']}")
    report.expect(sum(row["requests"] for row in answer["kept"]) == KEEPS[habit], "all that is kept has a line")
    report.expect_safe(seen)
    report.expect(seen["plan_is_declined"] == 0, "the plan is followed to the end")
    # The first step makes the optimizer's state; what is kept lies in the start's places there.
    for step in range(2, STEPS):
        made = [request for request in seen["requests"] if request[0] == step]
        missed = [size for _, size, is_hit, *_ in made if not is_hit]
        report.expect(len(missed) == KEEPS[habit], f"step {step}: {len(made)} requests, missed {missed}")
    live, reserved = seen["peak_live_bytes"], seen["peak_reserved_bytes"]
    report.expect(reserved <= MOST_RESERVED * live,
                  f"{reserved / dry.MIB:.0f} MiB reserved, {reserved / live:.4f} of what is alive")
    expandable = alone["peak_reserved_bytes"]
    report.expect(reserved < expandable,
                  f"expandable segments: {expandable / dry.MIB:.0f} MiB, {expandable / live:.4f}")


@dry.judge
def main(report, folder, shim):
    for habit in KEEPS:
        plan = folder / "a.tsp"
        dry.dry_run(plan.with_suffix(".tsr"), dry.EXAMPLES / "dit.py", "--steps", PLANNED_STEPS + 1,
                    "--seed", "1", habit, options=["--steps", PLANNED_STEPS])
        answer = json.loads(dry.tessera("plan", "--json", plan.with_suffix(".tsr"), "-o", plan))
        command = [folder / "other.tsr", shim, dry.EXAMPLES / "dit.py", "--steps", STEPS + 1, "--seed", "2", habit]
        alone, _ = dry.under_shim(*command, options=["--steps", STEPS, "--policy", "expandable"])
        seen, said = dry.under_shim(*command, options=["--steps", STEPS, "--plan", plan])
        judge(report, habit, answer, seen, said, alone)
