#!/usr/bin/env python3
"""What `tessera info` says that a change would win is what a second dry run with that change shows, within 2 %.

SPDX-License-Identifier: Apache-2.0
"""
import json
import subprocess
import sys

import dry
from tap import run_tests, test

PROGRAM = """
import sys, torch
from torch.utils.checkpoint import checkpoint
changes, batch = sys.argv[1].split(","), int(sys.argv[2])
WIDTH, VOCABULARY, LENGTH = 512, 16000, 256

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(8))
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)

    def loss(self, x, targets):
        return torch.nn.functional.cross_entropy(self.head(x).flatten(0, 1), targets.flatten(), reduction="sum")

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if "checkpoint" in changes else block(x)
        if "chunks" not in changes:
            logits = self.head(x)
            return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten()), logits
        parts = zip(x.chunk(8, dim=1), tokens.chunk(8, dim=1))
        return sum(checkpoint(self.loss, part, targets, use_reentrant=False) for part, targets in parts) / tokens.numel(), None

model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused="fused" in changes)
for _ in range(5):
    loss, logits = model(torch.randint(VOCABULARY, (batch, LENGTH), device="cuda"))
    if "late-zero" in changes:
        optimizer.zero_grad()
    del logits
    loss.backward()
    optimizer.step()
    if "late-zero" not in changes:
        optimizer.zero_grad()
"""
peaks = {}


def dry_run(tmp, changes, batch):
    (tmp / "train.py").write_text(PROGRAM, encoding="utf-8")
    trace = tmp / f"{changes}-{batch}.tsr"
    if trace not in peaks:
        subprocess.run([dry.TESSERA, "dry-run", "-o", trace, "--", sys.executable, "train.py", changes, str(batch)], cwd=tmp, check=True,
                       capture_output=True, timeout=200)
        told = json.loads(subprocess.run([dry.TESSERA, "info", trace, "--fast", "--json"], check=True, capture_output=True, text=True).stdout)
        peaks[trace] = told["peak_live_bytes"], {row["what"]: row for row in told["what_to_do"]}
    return peaks[trace]


def check(tmp, what, before, after, batch=8, batch_after=None):
    peak, suggestions = dry_run(tmp, before, batch)
    measured, _ = dry_run(tmp, after, batch_after or batch)
    assert what in suggestions, (what, suggestions)
    predicted = peak - suggestions[what]["wins_bytes"]
    print(f"# {what}: {peak / dry.MIB:.1f} MiB, predicted {predicted / dry.MIB:.1f}, measured {measured / dry.MIB:.1f}")
    assert abs(predicted / measured - 1) <= 0.02, (what, peak, predicted, measured)


@test
def an_optimizer_that_is_fused(tmp):
    check(tmp, "fused", "plain", "fused", batch=1)


@test
def activations_made_again(tmp):
    check(tmp, "checkpoint", "plain", "checkpoint", batch=16)


@test
def half_of_the_batch(tmp):
    check(tmp, "half-batch", "plain", "plain", batch=16, batch_after=8)


@test
def a_loss_in_parts(tmp):
    check(tmp, "chunks", "plain", "chunks", batch=16)


@test
def gradients_that_go_in_time(tmp):
    check(tmp, "zero-grad", "late-zero", "plain", batch=2)


@test
def nothing_where_nothing_is_to_be_won(tmp):
    _, suggestions = dry_run(tmp, "fused", 1)
    assert "fused" not in suggestions and "delete" not in suggestions and "zero-grad" not in suggestions, suggestions


run_tests(one_folder=True)
