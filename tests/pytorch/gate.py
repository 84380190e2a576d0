#!/usr/bin/env python3
"""`tessera gate`: a change that needs no more passes, one that does fails, and a program that is not the same twice is said to be so.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import dry
from tap import run_tests, test

PROGRAM = """
import random, sys, torch
width = int(sys.argv[1]) + (64 * random.randint(0, 99) if "flaky" in sys.argv else 0)
model = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(8)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(5):
    model(torch.randn(64, width, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
if "fails" in sys.argv:
    raise SystemExit(7)
"""


def gate(tmp, *arguments, above="2%"):
    (tmp / "train.py").write_text(PROGRAM, encoding="utf-8")
    if not (tmp / "main.tsr").exists():
        subprocess.run([dry.TESSERA, "dry-run", "-o", "main.tsr", "--", sys.executable, "train.py", "512"], cwd=tmp, check=True,
                       capture_output=True)
    return subprocess.run([dry.TESSERA, "gate", "--baseline", "main.tsr", "--above", above, "--markdown", "change.md", "--junit", "change.xml",
                           "--json", "--", sys.executable, "train.py", *arguments], cwd=tmp, capture_output=True, text=True, timeout=200)


def junit_failures(tmp):
    return int(xml.etree.ElementTree.parse(tmp / "change.xml").getroot().get("failures"))


@test
def the_same_program_passes(tmp):
    done = gate(tmp, "512")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["passes"] is True and told["before"]["live_bytes"] == told["after"]["live_bytes"], told
    assert junit_failures(tmp) == 0 and "passes" in (tmp / "change.md").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp.iterdir()) == ["change.md", "change.xml", "main.tsp", "main.tsr", "train.py"]


@test
def a_program_that_needs_more_does_not(tmp):
    done = gate(tmp, "640")
    assert done.returncode == 3, (done.returncode, done.stderr)
    told = json.loads(done.stdout)
    assert told["passes"] is False and "not the same in each run" not in told["sentence"]
    size = {row["name"]: row["after_bytes"] for row in told["category"]}
    weights = 8 * (640 * 640 + 640) * 4
    assert size["parameter"] == weights and abs(size["optimizer state"] / (2 * weights) - 1) < 0.001, size
    assert junit_failures(tmp) == 1 and "| parameter" not in (tmp / "change.md").read_text(encoding="utf-8")
    assert "`parameter`" in (tmp / "change.md").read_text(encoding="utf-8")
    assert gate(tmp, "640", above="1GiB").returncode == 0


@test
def a_program_that_differs_in_each_run_is_said_to(tmp):
    done = gate(tmp, "1024", "flaky")
    assert done.returncode == 3, (done.returncode, done.stderr)
    assert "This program is not the same in each run" in (tmp / "change.md").read_text(encoding="utf-8")


@test
def a_program_that_fails_is_not_judged(tmp):
    (tmp / "change.xml").unlink()
    done = gate(tmp, "512", "fails")
    assert done.returncode == 4 and not (tmp / "change.xml").exists(), (done.returncode, done.stderr)


@test
def the_commands_of_the_guide_work(tmp):
    """The first block of docs/CI.md, as a shell runs it."""
    guide = (dry.SOURCE / "docs" / "CI.md").read_text(encoding="utf-8")
    block = guide.split("```sh\n")[1].split("```")[0]
    (tmp / "bin").mkdir()
    (tmp / "bin" / "tessera").symlink_to(dry.TESSERA)
    (tmp / "train.py").write_text(PROGRAM.replace("int(sys.argv[1])", "256"), encoding="utf-8")
    path = {**os.environ, "PATH": f"{tmp / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-e"], input=block, cwd=tmp, env=path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 and "passes: The same at the peak of live" in done.stdout, (done.stdout, done.stderr)


run_tests(one_folder=True)
