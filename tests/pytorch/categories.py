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


def run(*arguments, **kwargs):
    return subprocess.run([dry.TESSERA, *map(str, arguments)], check=True, capture_output=True, text=True, timeout=300, **kwargs).stdout


def bytes_by_category(path):
    told = json.loads(run("info", path, "--by", "category", "--at", "peak", "--json"))
    return {row["name"]: row["bytes"] for row in told["rows"]}, told["live_bytes"]


def check(tmp, script, *options, least=0.98):
    trace, snapshot = tmp / "run.tsr", tmp / "run.pickle"
    subprocess.run([dry.TESSERA, "dry-run", "-o", trace, "--force", "--events", "0", *options, "--", sys.executable, script], cwd=tmp, check=True,
                   capture_output=True, timeout=300)
    run("export", "-t", "snapshot", trace, "-o", snapshot, "--force")
    said, live = bytes_by_category(trace)
    by_rules, same = bytes_by_category(snapshot)
    agree = sum(min(size, by_rules.get(name, 0)) for name, size in said.items()) / live
    unknown = sum(size for name, size in by_rules.items() if name.startswith("unknown")) / live
    print(f"# {script.name}: {100 * agree:.2f} % of {live / dry.MIB:.0f} MiB, {100 * unknown:.2f} % unknown")
    assert live == same and said["parameter"] > 0 and said["optimizer state"] > 0, said
    assert agree >= least and unknown <= 0.02, (said, by_rules)


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


@test
def an_optimizer_of_ones_own(tmp):
    check(tmp, dry.EXAMPLES / "cs336.py")


@test
def sharded(tmp):
    check(tmp, dry.EXAMPLES / "fsdp2.py", "--world", "16", "--rank", "3")


@test
def megatron(tmp):
    # One file allocates the buffers of parameters and of gradients alike.
    check(tmp, dry.EXAMPLES / "megatron_gpt.py", "--world", "8", "--rank", "0", least=0.92)


@test
def programs_that_were_written_without_it(tmp):
    for name in "kd", "moe", "accel":
        if (PROGRAMS / f"{name}.py").exists():
            check(tmp, PROGRAMS / f"{name}.py")


run_tests(one_folder=True)
