#!/usr/bin/env python3
"""An example runs to its end in a process of its own, and its trace tells what it did.

    examples.py NAME

SPDX-License-Identifier: Apache-2.0
"""

import dry

STEPS = 3
# None of these jobs makes do with fewer.
LEAST_REQUESTS_A_STEP = 500


@dry.judge
def main(report, folder, name):
    script, arguments, world, rank = dry.JOBS[name]
    trace = folder / f"{name}.tsr"
    answer = dry.dry_run(trace, dry.EXAMPLES / f"{script}.py", *arguments,
                         options=["--steps", STEPS, *dry.rank_options(world, rank)])
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
