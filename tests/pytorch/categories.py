#!/usr/bin/env python3
"""Categories by rules from stacks and lifetimes alone agree with what PyTorch itself says of its tensors.

A dry run's trace knows the tensors; the same trace as a snapshot does not.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import dry
from tap import run_tests, test

PROGRAMS = Path(os.environ.get("TESSERA_SHARED_DATA", "")).parent / "programs"


LEAST = 0.98
# A snapshot has no modules: logits that a rollout holds look like an activation.
LEAST_ELSEWHERE = 0.94


def run(*arguments, **kwargs):
    return subprocess.run([dry.TESSERA, *map(str, arguments)], check=True, capture_output=True, text=True, timeout=300, **kwargs).stdout


def bytes_by_category(path, at="peak"):
    told = json.loads(run("info", path, "--by", "category", "--at", at, "--json"))
    return {row["name"]: row["bytes"] for row in told["rows"]}, told["live_bytes"]


def check(tmp, script, *options, arguments=(), at=("peak",)):
    """Returns the events of @at, and what was said of each kind at these."""
    trace, snapshot = tmp / "run.tsr", tmp / "run.pickle"
    subprocess.run([dry.TESSERA, "dry-run", "-o", trace, "--force", "--events", "0", *options, "--", sys.executable, script, *arguments], cwd=tmp, check=True,
                   capture_output=True, timeout=300)
    run("export", "-t", "snapshot", trace, "-o", snapshot, "--force")
    peaks = {row["name"]: row["event_index"] for row in json.loads(run("info", trace, "--by", "phase", "--json"))["phase_peaks"]}
    return [compare(script, trace, snapshot, peaks.get(moment, moment), LEAST if moment == "peak" else LEAST_ELSEWHERE) for moment in at]


def compare(script, trace, snapshot, at, least):
    said, live = bytes_by_category(trace, str(at))
    by_rules, same = bytes_by_category(snapshot, str(at))
    agree = sum(min(size, by_rules.get(name, 0)) for name, size in said.items()) / live
    unknown = sum(size for name, size in by_rules.items() if name.startswith("unknown")) / live
    print(f"# {script.name} at {at}: {100 * agree:.2f} % of {live / dry.MIB:.0f} MiB, {100 * unknown:.2f} % unknown")
    assert live == same and said["parameter"] > 0, said
    assert agree >= least and unknown <= 0.02, (said, by_rules)
    return said


@test
def gpt(tmp):
    check(tmp, dry.EXAMPLES / "gpt.py")


@test
def llama(tmp):
    check(tmp, dry.EXAMPLES / "llama.py")


@test
def experts(tmp):
    check(tmp, dry.EXAMPLES / "moe.py")


@test
def convolutions(tmp):
    check(tmp, dry.EXAMPLES / "unet.py")
    check(tmp, dry.EXAMPLES / "resnet.py", arguments=("--side", "64"))


@test
def an_average_of_the_weights(tmp):
    said, = check(tmp, dry.EXAMPLES / "dit.py")
    assert said["kept between steps"] == said["parameter"], said


@test
def low_rank_additions(tmp):
    said, = check(tmp, dry.EXAMPLES / "lora.py")
    assert said["optimizer state"] < said["parameter"] / 10, said


SPARSE = """
import torch
table = torch.nn.Embedding(20000, 128, sparse=True).cuda()
top = torch.nn.Sequential(torch.nn.Linear(128 * 8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).cuda()
optimizers = torch.optim.SparseAdam(table.parameters()), torch.optim.Adam(top.parameters())
for step in range(5):
    loss = top(table(torch.randint(20000, (1024, 8), device="cuda")).flatten(1)).square().mean()
    for one in optimizers:
        one.zero_grad()
    loss.backward()
    for one in optimizers:
        one.step()
"""


@test
def sparse_gradients(tmp):
    """In steps of which tensors are told, and of which they are not. Advice goes by the optimizer with most state."""
    (tmp / "sparse.py").write_text(SPARSE, encoding="utf-8")
    trace = tmp / "sparse.tsr"
    subprocess.run([dry.TESSERA, "dry-run", "--steps", "5", "-o", trace, "--", sys.executable, tmp / "sparse.py"], cwd=tmp, check=True,
                   capture_output=True, timeout=300)
    ends = [end for end, in dry.query(trace, "SELECT end_index FROM step WHERE name LIKE 'step %' ORDER BY range_index")]
    assert len(ends) >= 4, ends
    for end in ends[:4]:
        said, _ = bytes_by_category(trace, str(end - 1))
        assert said["gradient"] >= 1024 * 8 * 128 * 4 and said["parameter"] >= 20000 * 128 * 4, said
        assert said.get("temporary of backward", 0) < 1024 * 8 * 128 * 4, said
    told = json.loads(run("info", trace, "--fast", "--json"))
    assert not {"8-bit", "offload", "fused"} & {row["what"] for row in told["what_to_do"]}, told["what_to_do"]


@test
def rollouts_and_training(tmp):
    """30 s of processor time are theirs, 15 those of the three above."""
    for name in "grpo", "ppo":
        full, rollout = check(tmp, dry.EXAMPLES / f"{name}.py", arguments=("--new", "16", "--steps", "3"), at=("peak", "generate"))
        assert full["optimizer state"] > full["parameter"] and full["loss and logits"] > 0 and "KV cache" not in full, full
        assert rollout["KV cache"] > 100 * rollout.get("activation", 0), rollout


@test
def an_optimizer_of_ones_own(tmp):
    check(tmp, dry.EXAMPLES / "cs336.py")


@test
def sharded(tmp):
    check(tmp, dry.EXAMPLES / "fsdp2.py", "--world", "16", "--rank", "3")


@test
def megatron(tmp):
    check(tmp, dry.EXAMPLES / "megatron_gpt.py", "--world", "8", "--rank", "0")


@test
def programs_that_were_written_without_it(tmp):
    for name in "kd", "moe", "accel":
        if (PROGRAMS / f"{name}.py").exists():
            check(tmp, PROGRAMS / f"{name}.py")


run_tests(one_folder=True)
