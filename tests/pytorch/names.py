#!/usr/bin/env python3
"""A trace names the line, the function and the module of each request, held against the truth.

Each request here has a size that no other has, and its line says in a comment which: what is
expected is read from the program's own text.

SPDX-License-Identifier: Apache-2.0
"""
import re

import dry

PROGRAM = '''
import torch
from torch import nn


def scratch(n_bytes):
    return torch.empty(n_bytes, dtype=torch.uint8, device="cuda")  # scratch of all


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n_bytes):
        ctx.n_bytes = n_bytes
        scratch(n_bytes)  # forward 3000000 net.first, 5000000 net.second.inner
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        scratch(ctx.n_bytes + 1000000)  # backward 4000000 net.first, 6000000 net.second.inner
        return grad * 2, None


class Part(nn.Module):
    def __init__(self, n_bytes):
        super().__init__()
        self.n_bytes = n_bytes

    def forward(self, x):
        return Twice.apply(x, self.n_bytes)


class Outer(nn.Module):
    def __init__(self, n_bytes):
        super().__init__()
        self.inner = Part(n_bytes)

    def forward(self, x):
        scratch(7000000)  # forward 7000000 net.second
        return self.inner(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1000, device="cuda"))
        self.first, self.second = Part(3000000), Outer(5000000)

    def forward(self):
        return self.second(self.first(self.weight)).sum()


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train(n_steps=4):
    for _ in range(n_steps):
        scratch(9000000)  # train 9000000 -
        net().backward()
        optimizer.step()
        optimizer.zero_grad()


train()
'''
EVALUATED = '''
for _ in range(2):
    train(6)
    with torch.no_grad():
        net()
'''
STEPS, N_SIZES = 3, 6


def expectations():
    """(size, function, line, module or None) of each request that a comment tells of."""
    for line, text in enumerate(PROGRAM.splitlines(), 1):
        told = re.search(r"# (\w+) (\d.*)$", text)
        for part in told[2].split(", ") if told else ():
            size, module = part.split()
            yield int(size), told[1], line, None if module == "-" else module.removeprefix("net.")


def callers(trace, event, script):
    """The functions and lines of the script that an event's stack has, innermost first."""
    return dry.query(trace, "SELECT function, line FROM event JOIN stack_frame USING (stack) "
                     "WHERE event_index = ? AND file = ? ORDER BY depth", event, str(script))


def module_of(trace, event):
    """The innermost module around an event."""
    names = dry.query(trace, "SELECT text FROM range JOIN string ON string_index = name "
                      "WHERE kind = 3 AND begin_index <= ? AND end_index > ? "
                      "ORDER BY range_index DESC LIMIT 1", event, event)
    return names[0][0] if names else None


@dry.judge
def main(report, folder):
    script, trace = folder.resolve() / "program.py", folder / "program.tsr"
    script.write_text(PROGRAM, encoding="utf-8")
    dry.dry_run(trace, script, options=["--steps", STEPS])
    wanted = list(expectations())
    report.expect(len(wanted) == N_SIZES, f"{len(wanted)} sizes are expected")
    for size, function, line, module in wanted:
        events = [index for index, in dry.query(
            trace, "SELECT event_index FROM event WHERE action = 1 AND size_bytes = ?", size)]
        report.expect(len(events) == STEPS, f"{size} bytes are asked for once a step: {len(events)}")
        for event in events:
            found = callers(trace, event, script)
            holds = [name.rpartition(".")[2] for name, _ in found[:2]] == ["scratch", function]
            report.expect(holds and found[1][1] == line, f"{size} bytes: {found[:2]}, {function} in line {line}")
            report.expect(module_of(trace, event) == module, f"{size} bytes: {module_of(trace, event)}, {module}")

    # Once steps are known these have neither, evaluations both.
    evaluated, trace = folder.resolve() / "evaluated.py", folder / "evaluated.tsr"
    evaluated.write_text(PROGRAM + EVALUATED, encoding="utf-8")
    dry.dry_run(trace, evaluated, options=["--events", 100000])
    found = [(module_of(trace, event), [name.rpartition(".")[2] for name, _ in callers(trace, event, evaluated)[:2]])
             for event, in dry.query(trace, "SELECT event_index FROM event WHERE action = 1 AND size_bytes = 7000000 ORDER BY 1")]
    named = ("second", ["scratch", "forward"])
    known = found.index((None, []))
    report.expect(found == [named] * known + [(None, [])] * (10 - known) + [named] + [(None, [])] * 6 + [named],
                  f"what has lines and modules, of 10 steps, an evaluation, 6 steps, an evaluation: {found}")
