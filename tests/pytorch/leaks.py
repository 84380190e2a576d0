#!/usr/bin/env python3
"""A dry run says of a program that keeps more each step which line does it and when it dies, and of one that does not, nothing.

SPDX-License-Identifier: Apache-2.0
"""
import sys

import dry
from dry import MIB

SCRIPT = """
import collections, sys, torch
model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 1024)).cuda()
optimizer = torch.optim.Adam(model.parameters())
average = {}
kept = collections.deque(maxlen=2) if sys.argv[1] == "few" else []
if sys.argv[1] == "hook":
    model[1].register_forward_hook(lambda module, inputs, output: kept.append(output))
for step in range(40):
    output = model(torch.randn(4096, 1024, device="cuda"))
    loss = output.square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if sys.argv[1] == "number": kept.append(loss.item())
    if sys.argv[1] in ("output", "few"): kept.append(output.detach())
    if sys.argv[1] == "host": kept.append(output.detach().cpu())
    if sys.argv[1] == "average":
        for name, weight in model.named_parameters(): average[name] = average.get(name, 0) * 0.9 + weight.detach() * 0.1
    if sys.argv[1] == "rarely" and step < 2: kept.append(output.detach())
"""
# Each keeps something for good: (habit, bytes of a step, line of the script that asked for them)
LEAKS = (("output", 16 * MIB, 10), ("hook", 16 * MIB, 10))
# These keep something for a while, on the host, once, or no more than before.
SOUND = ("number", "few", "host", "average", "rarely")


@dry.judge
def main(report, folder):
    script, trace = folder / "habit.py", folder / "a.tsr"
    script.write_text(SCRIPT, encoding="utf-8")
    for habit, step_bytes, line in LEAKS:
        for steps in (3, 12):
            answer = dry.dry_run(trace, script, habit, options=["--gpu", "rtx4090-24", "--steps", steps])
            leak = answer.get("leak") or {}
            report.expect(leak.get("step_bytes") == step_bytes, f"{habit}, {steps} steps: {leak}")
            said = dry.tessera("info", trace).split("\n")[0]
            report.expect(said.startswith(f"Keeps 16.00 MiB more each step (habit.py:{line} ") and "dies at about step" in said,
                          f"{habit}, {steps} steps: {said}")
            # Both know what the device leaves to PyTorch.
            report.expect(answer["sentence"].startswith(said), f"{habit}: {said} beside {answer['sentence']}")
    for habit in SOUND:
        answer = dry.dry_run(trace, script, habit, options=["--steps", 12])
        report.expect(not answer.get("leak"), f"{habit}: {answer.get('leak')}")
