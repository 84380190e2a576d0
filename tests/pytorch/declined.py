#!/usr/bin/env python3
"""A plan made for one program is declined by others, and they go on as without it.

    declined.py SHIM

The plan of examples/gpt.py is followed by the same model with smaller and larger batches, by a
larger model and by another program; that of examples/finetune.py by itself, with texts of other
lengths, as if it had nothing for these. The shim between PyTorch and the library judges: what was
handed out was free and aligned, what the driver holds in each step is what it holds without a
plan, and the steps take as long, by a clock that knows what the driver's calls cost.

SPDX-License-Identifier: Apache-2.0
"""
import dry

PLANNED_STEPS, STEPS = 4, 6
PLANNED = {
    "gpt": [("gpt", "--batch", "2"), ("gpt", "--batch", "6"), ("gpt", "--size", "medium"), ("unet",)],
    "finetune": [("finetune", "--seed", "2")],
}
# A page of the pool stays while anything lives in it.
MOST_RESERVED = 1.02
MOST_OF = {("unet",): 1.025}
# In steps in which the plan may still be followed: of what the run holds at most without a plan.
FOLLOWED_STEPS, MOST_FOLLOWED = 2, 1.03
# Of a step without a plan, once the plan is declined and what it held has gone.
SETTLED_STEP, MOST_TIME = 3, 1.05
SENTENCE = "The plan is declined, it looks made for another model or other batches"


def reserved_in(seen, step):
    """Bytes at the driver, at most, while the step ran."""
    return max(reserved for number, *_, reserved in seen["requests"] if number == step)


def judge(report, program, seen, said, alone):
    print(" ".join(program))
    for line in said:
        print("   ", line)
    told = [line for line in said if SENTENCE in line]
    report.expect(len(told) == 1 and seen["plan_is_declined"] == 1, "one sentence says so")
    report.expect_safe(seen)
    at_most = max(reserved_in(alone, step) for step in range(STEPS))
    for step in range(STEPS):
        with_plan = reserved_in(seen, step)
        without = at_most if step < FOLLOWED_STEPS else reserved_in(alone, step)
        most = MOST_FOLLOWED if step < FOLLOWED_STEPS else MOST_OF.get(program, MOST_RESERVED)
        report.expect(with_plan <= most * without,
                      f"step {step}: {with_plan / dry.MIB:.0f} MiB reserved with the plan, "
                      f"{without / dry.MIB:.0f} without: {with_plan / without:.3f}")
    for step in range(SETTLED_STEP, len(alone["step_ns"]) - 1):
        took, alone_took = (steps["step_ns"][step + 1] - steps["step_ns"][step] for steps in (seen, alone))
        report.expect(took <= MOST_TIME * alone_took,
                      f"step {step}: {took / 1e6:.1f} ms with the plan, {alone_took / 1e6:.1f} without")


@dry.judge
def main(report, folder, shim):
    for planned, others in PLANNED.items():
        plan = folder / f"{planned}.tsp"
        dry.dry_run(plan.with_suffix(".tsr"), dry.EXAMPLES / f"{planned}.py",
                    "--steps", PLANNED_STEPS + 1, options=["--no-stacks", "--steps", PLANNED_STEPS])
        for script, *arguments in others:
            command = [folder / "other.tsr", shim, dry.EXAMPLES / f"{script}.py", "--steps", STEPS + 1, *arguments]
            seen, said = dry.under_shim(*command, options=["--steps", STEPS, "--plan", plan, "--follow", "trace"])
            alone, _ = dry.under_shim(*command, options=["--steps", STEPS, "--policy", "expandable"])
            judge(report, (script, *arguments), seen, said, alone)
