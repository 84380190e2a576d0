#!/usr/bin/env python3
"""What `tessera info` says that a change would win is what a second dry run with that change shows, within 2 %: one of
the script with the change written in it, and one of `tessera dry-run --try`, which makes it from outside.

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

model = (torch.nn.Sequential(Model()) if "wrapped" in changes else Model()).cuda()
kind = next((one for one in (torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.SGD, torch.optim.Adam) if one.__name__ in changes), torch.optim.AdamW)
optimizer = kind(model.parameters(), **({"fused": True} if "fused" in changes else {}))
for _ in range(5):
    if "zeros" in changes:
        optimizer.zero_grad(set_to_none=False)
    if "twice" in changes:
        model(torch.randint(VOCABULARY, (batch, LENGTH), device="cuda"))[0].backward()
    loss, logits = model(torch.randint(VOCABULARY, (batch, LENGTH), device="cuda"))
    if "views" in changes:
        loss = loss + model(torch.randint(VOCABULARY, (batch, LENGTH), device="cuda"))[0]
    if "late-zero" in changes:
        optimizer.zero_grad()
    if "keep" not in changes:
        del logits
    loss.backward()
    optimizer.step()
    if "late-zero" not in changes and "zeros" not in changes:
        optimizer.zero_grad()
    if "keep" in changes:
        kept = loss, logits
    if "del" in changes:
        del kept, loss, logits
model.train("evaluate" not in changes)
for _ in range(3 if "evaluate" in changes else 0):
    with torch.set_grad_enabled("no-grad" not in changes):
        loss, logits = model(torch.randint(VOCABULARY, (4 * batch, LENGTH), device="cuda"))
"""
# What is tried from outside where a program runs as it is, by its changes and batch.
TRIED = {("plain", 1): "fused,8-bit,offload,foreach-off", ("plain", 16): "suggested", ("late-zero", 2): "zero-grad",
         ("Adagrad", 1): "8-bit", ("late-zero,SGD", 2): "zero-grad", ("zeros", 2): "zero-grad", ("zeros,twice", 2): "zero-grad",
         ("fused", 1): "fused,checkpointing+zero-grad", ("wrapped", 16): "checkpointing"}
peaks = {}


def dry_run(tmp, changes, batch):
    """What is live at most, and what info advises and the dry run tried, by their names."""
    (tmp / "train.py").write_text(PROGRAM, encoding="utf-8")
    trace = tmp / f"{changes}-{batch}.tsr"
    if trace not in peaks:
        tries = ["--try", TRIED[changes, batch]] if (changes, batch) in TRIED else []
        ran = subprocess.run([dry.TESSERA, "dry-run", "--json", *tries, "-o", trace, "--", sys.executable, "train.py", changes, str(batch)],
                             cwd=tmp, check=True, capture_output=True, text=True, timeout=200)
        told = json.loads(subprocess.run([dry.TESSERA, "info", trace, "--fast", "--json"], check=True, capture_output=True, text=True).stdout)
        peaks[trace] = (told["peak_live_bytes"], {row["what"]: row for row in told["what_to_do"]},
                        {row["change"]: row for row in json.loads(ran.stdout).get("tried", [])})
    return peaks[trace]


def check(tmp, what, before, after, batch=8, batch_after=None):
    """@after: the changes as written in the script; None: from outside alone."""
    peak, suggestions, tried = dry_run(tmp, before, batch)
    assert what in suggestions, (what, suggestions)
    predicted = suggestions[what]["peak_bytes"]
    measured = {}
    if after is not None:
        measured["in the script"] = dry_run(tmp, after, batch_after or batch)[0]
    if what in tried:
        measured["from outside"] = tried[what]["live_bytes"]
        assert suggestions[what]["tried_bytes"] == tried[what]["live_bytes"], (suggestions[what], tried[what])
        assert "(verified: " in suggestions[what]["sentence"] and tried[what]["remark"] is None, (suggestions[what], tried[what])
        assert suggestions[what]["wins_bytes"] == peak - tried[what]["live_bytes"], (suggestions[what], tried[what])
        assert tried["as it is"]["live_bytes"] == peak and tried[what]["predicted_live_bytes"] == suggestions[what]["peak_bytes"], tried
    for how, found in measured.items():
        print(f"# {what}: {peak / dry.MIB:.1f} MiB, predicted {predicted / dry.MIB:.1f}, measured {how} {found / dry.MIB:.1f}")
        assert abs(predicted / found - 1) <= 0.02, (what, how, peak, predicted, found)
    return measured


@test
def an_optimizer_that_is_fused(tmp):
    assert len(check(tmp, "fused", "plain", "fused", batch=1)) == 2


@test
def an_optimizer_by_its_name(tmp):
    """RMSprop takes no fused=True."""
    _, adam, _ = dry_run(tmp, "Adam", 1)
    _, rmsprop, _ = dry_run(tmp, "RMSprop", 1)
    assert adam["fused"]["type"] == "torch.optim.Adam(..., fused=True)", adam
    assert "fused" not in rmsprop and rmsprop["8-bit"]["type"] == "bitsandbytes.optim.RMSprop8bit(...)", rmsprop
    assert rmsprop["offload"]["type"].endswith("torch.optim.RMSprop)"), rmsprop


@test
def activations_made_again_in_a_wrapped_model(tmp):
    """In torch.nn.Sequential (a backbone with a head, sentence-transformers) the list lies inside of another."""
    assert len(check(tmp, "checkpointing", "wrapped", None, batch=16)) == 1


@test
def activations_made_again(tmp):
    assert len(check(tmp, "checkpointing", "plain", "checkpoint", batch=16)) == 2


@test
def activations_of_two_calls(tmp):
    """They come back in one backward pass: what the first made is not there until the second is done."""
    check(tmp, "checkpointing", "views", "views,checkpoint", batch=8)


@test
def half_of_the_batch(tmp):
    check(tmp, "half-batch", "plain", "plain", batch=16, batch_after=8)


@test
def a_loss_in_parts(tmp):
    check(tmp, "chunks", "plain", "chunks", batch=16)


@test
def gradients_that_go_in_time(tmp):
    assert len(check(tmp, "zero-grad", "late-zero", "plain", batch=2)) == 2


@test
def an_optimizer_that_asks_for_nothing(tmp):
    """SGD without momentum has no phase, and its gradients are there for as long as another's."""
    assert len(check(tmp, "zero-grad", "late-zero,SGD", "SGD", batch=2)) == 2


@test
def gradients_that_are_zeroed_and_kept(tmp):
    """They are made anew in the next backward pass; behind a first of two they are there anyway."""
    assert len(check(tmp, "zero-grad", "zeros", "plain", batch=2)) == 2
    peak, suggestions, tried = dry_run(tmp, "zeros,twice", 2)
    assert "zero-grad" not in suggestions and tried["zero-grad"]["live_bytes"] > 0.99 * peak, (suggestions, tried)


@test
def state_in_a_byte_each(tmp):
    assert len(check(tmp, "8-bit", "plain", None, batch=1)) == 1
    assert len(check(tmp, "8-bit", "Adagrad", None, batch=1)) == 1  # it is there before the first step


@test
def state_on_the_host(tmp):
    assert len(check(tmp, "offload", "plain", None, batch=1)) == 1


@test
def an_output_that_goes_with_its_step(tmp):
    check(tmp, "delete", "keep", "keep,del", batch=8)
    assert "delete" not in dry_run(tmp, "keep,del", 8)[1]


@test
def an_evaluation_that_keeps_gradients(tmp):
    """No advice where it keeps none, though its last output stays until the next one."""
    check(tmp, "no-grad", "evaluate", "evaluate,no-grad", batch=8)
    assert "no-grad" not in dry_run(tmp, "evaluate,no-grad", 8)[1]


@test
def what_cannot_be_tried_says_why(tmp):
    """Nor is anything without advice said to be verified; changes may be tried together."""
    _, suggestions, tried = dry_run(tmp, "fused", 1)
    assert tried["fused"]["live_bytes"] is None and "AdamW has fused=True already" in tried["fused"]["remark"], tried
    assert tried["checkpointing+zero-grad"]["live_bytes"] <= tried["as it is"]["live_bytes"], tried
    assert not any("verified: " in row["sentence"] for row in suggestions.values()), suggestions
    _, _, tried = dry_run(tmp, "plain", 1)
    assert tried["fused"]["live_bytes"] < tried["foreach-off"]["live_bytes"] < tried["as it is"]["live_bytes"], tried


@test
def nothing_where_nothing_is_to_be_won(tmp):
    _, suggestions, _ = dry_run(tmp, "fused", 1)
    assert "fused" not in suggestions and "delete" not in suggestions and "zero-grad" not in suggestions, suggestions


run_tests(one_folder=True)
