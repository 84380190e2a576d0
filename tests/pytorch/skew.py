#!/usr/bin/env python3
"""Drawn counts: they sum up, keep their limit, are skewed, and come again when autograd
recomputes.

SPDX-License-Identifier: Apache-2.0
"""
import os
import random

import torch
from told import expect, finish
from torch import nn
from torch.utils.checkpoint import checkpoint

from tessera.skew import Skew, share


def draw(seed="0", n=16, total=16000, limit=4000, visits=3):
    os.environ["NULLCUDA_SEED"] = seed
    skew, place = Skew(), object()
    return [skew.counts(place, n, total, limit)[0] for _ in range(visits)]


generator = random.Random(1)
wrong = []
for _ in range(500):
    n, limit = generator.randint(1, 40), generator.randint(1, 300)
    total = generator.randint(0, n * limit)
    weights = [generator.lognormvariate(0, 2) for _ in range(n)]
    counts = share(weights, total, limit)
    if sum(counts) != total or max(counts) > limit or min(counts) < 0:
        wrong.append(f"{total} in {n} places of at most {limit}: {counts}")
expect("a share sums up and keeps its limit", wrong, [])
expect("as heavy, so much", share([3, 1], 400, 400), [300, 100])

first = draw()
expect("the same seed, the same counts", draw(), first)
expect("another seed, others", [draw("1") == first], [False])
expect("each visit differs", [first[0] == first[1]], [False])
expect("skewed", [max(first[0]) > 2 * 1000 > 1000 > 2 * min(first[0])], [True])
expect("counts of each visit sum up", [sum(counts) for counts in first], [16000] * 3)


class Routed(nn.Module):
    seen = []

    def __init__(self, skew):
        super().__init__()
        self.skew, self.inner = skew, nn.Linear(4, 4)

    def forward(self, x):
        Routed.seen.append(self.skew.counts(self, 8, 100, 100)[0])
        return self.inner(x)


skew = Skew()
layer = Routed(skew)
outputs = [checkpoint(layer, torch.ones(1, 4, requires_grad=True), use_reentrant=False) for _ in range(2)]
for output in outputs:
    output.sum().backward()
expect("recomputation sees the counts of its forward pass", Routed.seen[2:], Routed.seen[:2])
finish()
