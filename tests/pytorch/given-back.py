#!/usr/bin/env python3
"""What an evaluation takes beside a plan's pool goes back: some steps later the run holds what it held before.

The evaluation comes once, larger than the steps are: with gradients switched off, and as people forget to.

SPDX-License-Identifier: Apache-2.0
"""
import re
import sys

import dry

SCRIPT = f"""
import sys, torch
sys.path.insert(0, {str(dry.EXAMPLES)!r})
from models import GPT, GPTConfig
with torch.device("cuda"):
    net = GPT(GPTConfig(512, 4, 8, vocabulary=8192, length=1024))
optimizer = torch.optim.AdamW(net.parameters())
for step in range(10):
    tokens = torch.randint(8192, (4, 513)).cuda()
    with torch.autocast("cuda", torch.bfloat16):
        net(tokens[:, :-1], tokens[:, 1:]).backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 5:
        tokens = torch.randint(8192, (int(sys.argv[1]), 513)).cuda()
        with torch.set_grad_enabled(sys.argv[2] == "grad"), torch.autocast("cuda", torch.bfloat16):
            net(tokens[:, :-1], tokens[:, 1:])
    print("reserved", torch.cuda.memory_reserved(), flush=True)
"""
BEFORE, EVALUATED = 4, 5
MOST_LEFT = 1 / 64  # of what is held: less is not worth that the device waits for it
LEAST_MORE = 0.2


@dry.judge
def main(report, folder):
    script, plan = folder / "once.py", folder / "a.tsp"
    script.write_text(SCRIPT, encoding="utf-8")
    for arguments in (("12", "no-grad"), ("8", "grad")):
        # Of the first steps alone: the plan does not know the evaluation.
        dry.dry_run(plan.with_suffix(".tsr"), script, *arguments, options=["--no-stacks", "--events", "0", "--steps", "3"])
        out = dry.run(dry.TESSERA, "dry-run", "--no-stacks", "--plan", plan, "-o", plan.with_name("b.tsr"), "--",
                      sys.executable, script, *arguments).stdout
        held = [int(text) for text in re.findall(r"reserved (\d+)", out)]
        before, most, after = held[BEFORE], held[EVALUATED], held[-1]
        name = f"a batch of {arguments[0]}, {arguments[1]}"
        report.expect("plan a.tsp:" in out and most >= (1 + LEAST_MORE) * before,
                      f"{name}: {most / dry.MIB:.0f} MiB in the evaluation, {before / dry.MIB:.0f} before")
        report.expect(after <= (1 + MOST_LEFT) * before, f"{name}: {after / dry.MIB:.0f} MiB at the end")
