#!/usr/bin/env python3
"""Reinforcement learning, as it is written: each phase has a name and a peak, a step is a rollout
with the training on it, and another process follows the plan with no request beside it, in less
than either of PyTorch's allocators takes. Where answers end by themselves no plan is advised. (45 s of processor time)

SPDX-License-Identifier: Apache-2.0
"""
import json

import dry

N_STEPS = 4
SHORT = ["--new", 12, "--steps", N_STEPS]
PARAMETER, STATE = 1, 3
MOVES = {"grpo": {PARAMETER, STATE}, "ppo": {PARAMETER}}
PHASES = ["generate", "scoring", "forward", "backward", "optimizer"]


def judge(report, folder, name):
    script, trace = dry.EXAMPLES / f"{name}.py", folder / f"{name}.tsr"
    told = dry.dry_run(trace, script, *SHORT)
    report.expect(told["steps"] == N_STEPS and told["followable"] == "yes", f"{name}: {told['steps']} steps; {told['follow_reason']}")
    peaks = json.loads(dry.tessera("info", "--by", "phase", "--json", trace))["phase_peaks"]
    names = [row["name"] for row in peaks if row["name"] in PHASES]
    report.expect(names == PHASES, f"{name}: {', '.join(row['name'] for row in peaks)}")
    report.expect(max(row["live_bytes"] for row in peaks) == told["live_bytes"], f"{name}: the largest is the run's own peak")
    # The third step is none in which all is told anyway.
    begin, end = dry.steps_of(trace)[2]
    moved = {kind for kind, in dry.query(trace, "SELECT DISTINCT kind FROM tensor WHERE event_index BETWEEN ? AND ?", begin, end)}
    report.expect(MOVES[name] <= moved, f"{name}: what came back from the host is told again, kinds {sorted(moved)}")
    least = min(told["native_endless_bytes"], told["expandable_endless_bytes"])
    followed = dry.dry_run(folder / "b.tsr", script, *SHORT, options=["--plan", trace.with_suffix(".tsp")])
    recording = followed["recording"]
    held = recording["pool_bytes"] + recording["extra_bytes"]
    report.expect(recording["hits"] > 10_000 and recording["misses"] == 0 and held <= least,
                  f"{name}: {recording['hits']} hits, {recording['misses']} misses, {held / least:.4f} of the better allocator")


def ends(report, folder):
    script = folder / "ends.py"
    text = (dry.EXAMPLES / "grpo.py").read_text(encoding="utf-8")
    script.write_text(text.replace("min_new_tokens=n_new", "min_new_tokens=n_new // 2"), encoding="utf-8")
    told = dry.dry_run(folder / "v.tsr", script, *SHORT, env={"PYTHONPATH": str(dry.EXAMPLES)})
    report.expect(told["followable"] == "no" and "end by themselves" in told["follow_reason"], told["follow_reason"])


@dry.judge
def main(report, folder):
    for name in "grpo", "ppo":
        judge(report, folder, name)
    ends(report, folder)
