#!/usr/bin/env python3
"""The smallest training programs follow the plan of their own dry run without a miss.

One to three linear layers, the usual optimizers and habits: what a person tries first. The plan
is made by a dry run as it is typed, and followed by one of twelve steps.

SPDX-License-Identifier: Apache-2.0
"""
import json
import sys
from pathlib import Path

import dry

SCRIPT = """
import sys, torch
from torch.nn import Linear, Sequential
from torch.nn.functional import cross_entropy
layers, width, drop, optimizer, options = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], eval(sys.argv[5])
m = Sequential(*[Linear(width, width) for _ in range(layers)]).cuda()
o = getattr(torch.optim, optimizer)(m.parameters(), lr=1e-3, **options)
s = torch.optim.lr_scheduler.StepLR(o, 2)
for i in range(20):
    if drop == "start": o.zero_grad()
    y = m(torch.randn(64, width, device="cuda"))
    l = y.sum() if layers == 1 else y.mean() + cross_entropy(y, torch.randint(width, (64,), device="cuda"))
    l.backward(); o.step(); s.step()
    if drop != "start": o.zero_grad(set_to_none=drop == "end")
"""
PROGRAMS = (
    ("1", "4000", "end", "Adam", "{}"),
    ("1", "64", "end", "SGD", "{'momentum': 0.9}"),
    ("2", "600", "zero", "Adam", "{'foreach': False}"),
    ("2", "4000", "start", "AdamW", "{'fused': True}"),
    ("3", "600", "end", "RMSprop", "{}"),
)
STEPS = 12


def main():
    report = dry.Report()
    with dry.scratch() as folder:
        script, trace = Path(folder) / "small.py", Path(folder) / "a.tsr"
        script.write_text(SCRIPT, encoding="utf-8")
        for program in PROGRAMS:
            name = " ".join(program)
            answer = dry.dry_run(trace, script, *program)
            report.expect(answer["followable"] == "yes", f"{name}: {answer['follow_reason']}")
            ran = dry.dry_run(trace.with_name("b.tsr"), script, *program,
                              options=["--plan", trace.with_suffix(".tsp"), "--steps", STEPS])["recording"]
            report.expect(ran["hits"] > 0 and ran["misses"] == 0, f"{name}: {json.dumps(ran)}")
    report.done()


main()
