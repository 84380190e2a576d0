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
import json
import sys
from pathlib import Path

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


def follow(folder, shim, script, arguments, options):
    """What the shim saw, and what the program's user read."""
    report_path = Path(folder) / "shim.json"
    done = dry.run(dry.TESSERA, "dry-run", "--json", "--no-stacks", "--steps", STEPS, *options, "-o",
                   Path(folder) / "other.tsr", "--", sys.executable, dry.EXAMPLES / f"{script}.py",
                   "--steps", STEPS + 1, *arguments, cwd=folder,
                   env={"TESSERA_LIBRARY": str(shim), "TESSERA_SHIM_REPORT": str(report_path)})
    seen = json.loads(report_path.read_text(encoding="utf-8"))
    report_path.unlink()
    return seen, [line for line in done.stderr.splitlines() if line.startswith("tessera: ")]


def reserved_in(seen, step):
    """Bytes at the driver, at most, while the step ran."""
    return max(reserved for number, *_, reserved in seen["requests"] if number == step)


def judge(report, program, seen, said, alone):
    print(" ".join(program))
    for line in said:
        print("   ", line)
    told = [line for line in said if SENTENCE in line]
    report.expect(len(told) == 1 and seen["plan_is_declined"] == 1, "one sentence says so")
    for what in dry.FAULTS:
        report.expect(seen[what] == 0, f"{seen[what]} {what.replace('_', ' ')}")
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


def main(shim):
    report = dry.Report()
    with dry.scratch() as folder:
        for planned, others in PLANNED.items():
            plan = Path(folder) / f"{planned}.tsp"
            dry.dry_run(plan.with_suffix(".tsr"), dry.EXAMPLES / f"{planned}.py",
                        "--steps", PLANNED_STEPS + 1, options=["--no-stacks", "--steps", PLANNED_STEPS])
            for script, *arguments in others:
                seen, said = follow(folder, shim, script, arguments, ["--plan", plan, "--follow", "trace"])
                alone, _ = follow(folder, shim, script, arguments, ["--policy", "expandable"])
                judge(report, (script, *arguments), seen, said, alone)
    report.done()


main(Path(sys.argv[1]).resolve())
