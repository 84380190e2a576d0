#!/usr/bin/env python3
"""An example runs to its end in a process of its own, and its trace tells what it did.

    examples.py NAME

SPDX-License-Identifier: Apache-2.0
"""
import sys
from pathlib import Path

import dry

# NAME: (script, its arguments, ranks, rank)
JOBS = {
    "gpt": ("gpt", [], 0, 0),
    "gpt-recompute": ("gpt", ["--recompute"], 0, 0),
    "llama": ("llama", [], 0, 0),
    "moe": ("moe", [], 0, 0),
    "finetune": ("finetune", [], 0, 0),
    "accumulate": ("accumulate", [], 0, 0),
    "fsdp1": ("fsdp1", [], 16, 3),
    "fsdp2": ("fsdp2", [], 16, 3),
    "ddp": ("ddp", [], 16, 3),
    "megatron": ("megatron_gpt", [], 8, 0),
    "megatron-experts": ("megatron_gpt", ["--experts", "8", "--expert-parallel", "2"], 8, 0),
    "unet": ("unet", [], 0, 0),
    "cs336": ("cs336", [], 0, 0),
}
STEPS = 3
# None of these jobs makes do with fewer.
LEAST_REQUESTS_A_STEP = 500


def options_of(world, rank):
    return ["--steps", STEPS] + (["--world", world, "--rank", rank] if world else [])


def main(name):
    script, arguments, world, rank = JOBS[name]
    report = dry.Report()
    with dry.scratch() as folder:
        trace = Path(folder) / f"{name}.tsr"
        answer = dry.dry_run(trace, dry.EXAMPLES / f"{script}.py", *arguments,
                             options=options_of(world, rank))
        steps = dry.steps_of(trace)
        counts = [len(dry.requests_of(trace, begin, end)) for begin, end in steps]
        print(answer["sentence"])
        report.expect(len(steps) == STEPS, f"{len(steps)} steps: {counts} requests")
        report.expect(min(counts, default=0) >= LEAST_REQUESTS_A_STEP,
                      f"each step makes {LEAST_REQUESTS_A_STEP} requests or more")
        phases = {phase for phase, in dry.query(trace, "SELECT DISTINCT name FROM phase")}
        report.expect({"forward", "backward", "optimizer"} <= phases,
                      f"phases: {', '.join(sorted(phases))}")
        report.expect(answer["live_bytes"] > 0, f"{answer['live_bytes']} bytes were live at once")
        dry.tessera("check", trace.with_suffix(".tsp"), "--trace", trace)
        report.expect(True, "the checker accepts the plan")
    report.done()


main(sys.argv[1])
