#!/usr/bin/env python3
"""The table of plans for every length in docs/EVALUATION.md: how high they are, and what other runs reserve.

    lengths.py                   a row for each program
    lengths.py NAME...           for these
    lengths.py --check NAME...   fails unless each height is at most 1.02 of the bound, and each run reserves
                                 at most 1.02 of what is allocated and less than expandable segments do

Each program is recorded by dry runs of three seeds, and the plan of one of them is followed in simulation
by all. Heights are of the steps that were seen, and of ten other lengths up to the longest.

TESSERA_BUILD_ROOT names the build folder (build), TESSERA_TEST_PYTHON the Python with PyTorch (python3).

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TESSERA_BUILD_ROOT", SOURCE / "build")).resolve()
PYTHON = os.environ.get("TESSERA_TEST_PYTHON", "python3")
STEPS, SEEDS = 12, (1, 2, 3)
MOST_OF_BOUND = MOST_RESERVED = 1.02  # --check

# What is run, the seed whose plan is followed.
PROGRAMS = {
    "gemma": (["gemma.py", "--var-length"], 2),
    "llama": (["llama.py", "--var-length", "--recompute"], 1),
    "bert": (["bert.py", "--var-length"], 1),
    "accumulate": (["accumulate.py", "--var-length", "--micro-batches", "3"], 1),
}
HEAD = """| program | plan of seed | height / bound: seen | ten others | by length: seeds 1, 2, 3 | expandable |
| --- | --- | --- | --- | --- | --- |"""


def tessera(*words):
    done = subprocess.run([str(word) for word in (BUILD / "cli" / "tessera", *words)], capture_output=True,
                          text=True, env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def record(words, seed, trace):
    tessera("dry-run", "--json", "--no-stacks", "--steps", f"{STEPS}-{STEPS}", "-o", trace, "--", PYTHON,
            SOURCE / "examples" / words[0], *words[1:], "--steps", STEPS, "--seed", seed)


def reserved(trace, *options):
    """Bytes reserved over bytes allocated, at most."""
    peaks = tessera("simulate", "--json", *options, trace)
    return peaks["peak_reserved_bytes"] / peaks["peak_allocated_bytes"]


def heights(steps):
    return [step["height_bytes"] / step["bound_bytes"] for step in steps]


def measure(name, folder):
    """A row's cells, and whether --check lets it pass."""
    words, planned_seed = PROGRAMS[name]
    traces = {seed: Path(folder) / f"{seed}.tsr" for seed in SEEDS}
    plan = Path(folder) / "plan.tsp"
    for seed, trace in traces.items():
        record(words, seed, trace)
    lengths = tessera("plan", "--json", "-o", plan, traces[planned_seed])["steps_that_vary"]
    seen, others = heights(lengths["parameters"]), heights(lengths["curve"])
    followed = [reserved(trace, "--policy", f"plan:{plan}", "--by-length") for trace in traces.values()]
    expandable = [reserved(trace, "--policy", "expandable") for trace in traces.values()]
    is_good = (max(seen + others) <= MOST_OF_BOUND and max(followed) <= MOST_RESERVED
               and all(a < b for a, b in zip(followed, expandable, strict=True)))
    cells = [name, str(planned_seed), f"{min(seen):.4f} to {max(seen):.4f}", f"{max(others):.4f} at most",
             ", ".join(f"{ratio:.4f}" for ratio in followed), ", ".join(f"{ratio:.3f}" for ratio in expandable)]
    return cells, is_good


def main(arguments):
    names = [name for name in arguments if name != "--check"] or list(PROGRAMS)
    n_worse = 0
    if not set(names) <= set(PROGRAMS):
        sys.exit(f"there are: {' '.join(PROGRAMS)}")
    print(HEAD, flush=True)
    for name in names:
        with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
            cells, is_good = measure(name, folder)
        print("| " + " | ".join(cells) + " |", flush=True)
        n_worse += not is_good
    sys.exit(1 if n_worse and "--check" in arguments else 0)


main(sys.argv[1:])
