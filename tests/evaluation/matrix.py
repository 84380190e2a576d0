#!/usr/bin/env python3
"""The table of habits in docs/EVALUATION.md: what small real programs reserve under a plan.

    matrix.py                    a row for each program of tests/evaluation/habits
    matrix.py NAME...            for these
    matrix.py --check NAME...    fails unless each reserves at most 1.02 of what is allocated under the
                                 plan, and less than expandable segments do

Each is recorded by a dry run as anybody would make it (seed 1), planned, and run again in another
process under that plan, with another seed and more steps. Peaks are told by torch.cuda in that
process; native and expandable segments are simulated from what it asked for.

TESSERA_BUILD_ROOT names the build folder (build), TESSERA_TEST_PYTHON the Python with PyTorch (python3).

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TESSERA_BUILD_ROOT", SOURCE / "build")).resolve()
PYTHON = os.environ.get("TESSERA_TEST_PYTHON", "python3")
HABITS = Path(__file__).resolve().parent / "habits"
RANKS = {"ddp-accumulate": 8, "zero-1": 8, "fsdp2-accumulate": 8, "clip": 8}
PLANNED_STEPS, STEPS = 12, 15
HEAD = """| program | hits | misses | plan | expandable | native | plan is for |
| --- | --- | --- | --- | --- | --- | --- |"""


MOST_RESERVED = 1.02  # --check


class Failed(Exception):
    pass


def run(folder, *command):
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})
    if done.returncode != 0:
        raise Failed(f"status {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout, done.stderr


def dry_run(folder, trace, name, seed, steps, *options):
    ranks = ["--world", RANKS[name], "--rank", 1] if name in RANKS else []
    return run(folder, BUILD / "cli" / "tessera", "dry-run", "--no-stacks", *options, *ranks, "-o", trace,
               "--", PYTHON, HABITS, name, "--seed", seed, "--steps", steps)


def simulated(folder, policy):
    """Bytes reserved over allocated, at most, of the second run's requests."""
    out, _ = run(folder, BUILD / "cli" / "tessera", "simulate", "--json", "--policy", policy, "b.tsr")
    peaks = json.loads(out)
    return peaks["peak_reserved_bytes"] / peaks["peak_allocated_bytes"]


def suits(folder, answer, said):
    """What the plan is for, or that the second run declined it."""
    with closing(sqlite3.connect(f"file:{folder}/a.tsp?mode=ro", uri=True)) as plan:
        (has_lengths,), = plan.execute("SELECT count(*) FROM length_plan")
    if "The plan is declined" in said:
        return "declined"
    return "every length" if has_lengths else {"yes": "steps"}.get(answer["followable"], answer["followable"])


def measure(folder, name):
    """A row's cells, and whether --check lets it pass."""
    answer = json.loads(dry_run(folder, "a.tsr", name, 1, PLANNED_STEPS, "--json")[0])
    run(folder, BUILD / "cli" / "tessera", "check", "a.tsp", "--trace", "a.tsr")
    out, said = dry_run(folder, "b.tsr", name, 2, STEPS, "--steps", "99-99", "--plan", "a.tsp")
    allocated, reserved = map(int, re.findall(r"allocated (\d+) reserved (\d+)", out)[-1])
    counted = re.search(r"([\d,]+) hits, ([\d,]+) misses?", out)
    hits, misses = counted.groups() if counted else ("", "")  # a plan that was declined is told without
    ratios = reserved / allocated, simulated(folder, "expandable"), simulated(folder, "native")
    cells = [name, hits, misses, *(f"{ratio:.3f}" for ratio in ratios), suits(folder, answer, said)]
    return cells, ratios[0] <= MOST_RESERVED and ratios[0] < ratios[1]


def main(arguments):
    names = [name for name in arguments if name != "--check"]
    n_worse = 0
    if not names:
        names = run(SOURCE, PYTHON, HABITS, "--list")[0].split()
    print(HEAD, flush=True)
    for name in names:
        with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
            try:
                cells, is_good = measure(folder, name)
            except Failed as failure:
                cells, is_good = [name, str(failure)], False
        print("| " + " | ".join(cells) + " |", flush=True)
        n_worse += not is_good
    sys.exit(1 if n_worse and "--check" in arguments else 0)


main(sys.argv[1:])
