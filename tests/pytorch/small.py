#!/usr/bin/env python3
"""The smallest training programs follow the plan of their own dry run without a miss.

One to three linear layers, the usual optimizers, losses and habits: what a person tries first. The
plan is made by a dry run as it is typed, and followed by one of twelve steps. A loss that each step
adds to a list is the only thing that the plan leaves out, on purpose.

SPDX-License-Identifier: Apache-2.0
"""
import json
import sys

import dry

SCRIPT = """
import sys, torch
from torch.nn import Linear, Sequential
from torch.nn.functional import cross_entropy, huber_loss, mse_loss
layers, width, loss, drop, keep, optimizer, options = sys.argv[1:8]
m = Sequential(*[Linear(int(width), int(width)) for _ in range(int(layers))]).cuda()
o = getattr(torch.optim, optimizer)(m.parameters(), lr=1e-3, **eval(options))
s = torch.optim.lr_scheduler.StepLR(o, 2)
losses = []
for i in range(20):
    if drop == "start": o.zero_grad()
    x = torch.randn(64, int(width), device="cuda")
    y = m(x)
    l = {"sum": lambda: y.sum(),
         "mse": lambda: mse_loss(y, x),
         "huber": lambda: huber_loss(y, torch.zeros_like(y)) + y.mean(),
         "classes": lambda: cross_entropy(y, torch.randint(int(width), (64,), device="cuda"))}[loss]()
    l.backward(); o.step(); s.step()
    if drop != "start": o.zero_grad(set_to_none=drop == "end")
    losses += {"none": [], "item": [l.item()], "detach": [l.detach()], "loss": [l]}[keep]
"""
PROGRAMS = (
    ("1", "4000", "sum", "end", "none", "Adam", "{}"),
    ("1", "64", "sum", "end", "none", "SGD", "{'momentum': 0.9}"),
    ("2", "600", "classes", "zero", "none", "Adam", "{'foreach': False}"),
    ("2", "4000", "classes", "start", "none", "AdamW", "{'fused': True}"),
    ("3", "600", "classes", "end", "none", "RMSprop", "{}"),
    ("1", "4000", "sum", "end", "item", "Adam", "{}"),
    ("1", "4000", "sum", "end", "detach", "Adam", "{}"),
    ("1", "500", "mse", "end", "detach", "Adagrad", "{}"),
    ("2", "100", "huber", "end", "loss", "NAdam", "{}"),
    ("1", "8192", "mse", "start", "loss", "Adam", "{'amsgrad': True}"),
)
STEPS = 12


@dry.judge
def main(report, folder):
    script, trace = folder / "small.py", folder / "a.tsr"
    script.write_text(SCRIPT, encoding="utf-8")
    for program in PROGRAMS:
        name = " ".join(program)
        answer = dry.dry_run(trace, script, *program)
        report.expect(answer["followable"] == "yes", f"{name}: {answer['follow_reason']}")
        ran = dry.dry_run(trace.with_name("b.tsr"), script, *program,
                          options=["--plan", trace.with_suffix(".tsp"), "--steps", STEPS])["recording"]
        keeps = "detach" in program or "loss" in program
        report.expect(ran["hits"] > 0 and ran["misses"] == ran["planned_misses"]
                      and ran["misses"] <= keeps * STEPS, f"{name}: {json.dumps(ran)}")
