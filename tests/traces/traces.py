#!/usr/bin/env python3
"""Traces of the examples, kept here: what is planned and simulated from them stays as it was.

    traces.py TESSERA                     compares with golden.json; prints TAP
    traces.py TESSERA --write             writes golden.json anew, after a change that is meant
    traces.py TESSERA --record NAME...    records NAME.tsr.xz anew (TESSERA_TEST_PYTHON: a Python
                                          with PyTorch)

SPDX-License-Identifier: Apache-2.0
"""
import json
import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
GOLDEN = HERE / "golden.json"

# NAME: (options of the dry run, script, its arguments)
JOBS = {
    "gpt": ([], "gpt", []),
    "gpt-recompute": ([], "gpt", ["--recompute"]),
    "moe": ([], "moe", []),
    "finetune": ([], "finetune", []),
    "fsdp2": (["--world", "16", "--rank", "3"], "fsdp2", []),
    "megatron": (["--world", "8", "--rank", "0"], "megatron_gpt", ["--recompute", "full"]),
    "lengths": (["--steps", "12"], "../tests/evaluation/habits/__main__", ["lengths", "--seed", "1", "--steps", "12"]),
}
STEPS = ["--steps", "3"]

# Of `tessera fit --json` and `tessera plan --json`: the same on every machine.
FIT_KEYS = ["native_bytes", "native_endless_bytes", "expandable_bytes",
            "expandable_endless_bytes", "plan_bytes", "plan_endless_bytes", "bound_bytes"]
PLAN_KEYS = ["height_bytes", "hits", "misses", "followable"]
INFO_KEYS = ["events", "blocks", "streams", "steps", "peak_live_bytes", "peak_allocated_bytes",
             "peak_reserved_bytes"]


def ask(tessera, command, trace):
    done = subprocess.run([tessera, command, "--json", trace], capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)


def figures_of(tessera, name):
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        trace = Path(folder) / f"{name}.tsr"
        trace.write_bytes(lzma.decompress((HERE / f"{name}.tsr.xz").read_bytes()))
        found = {}
        for command, keys in (("info", INFO_KEYS), ("fit", FIT_KEYS), ("plan", PLAN_KEYS)):
            answer = ask(tessera, command, trace)
            found |= {key: answer[key] for key in keys}
        # Height over bound where there is a plan for every length, step by step.
        steps = (answer["steps_that_vary"] or {}).get("parameters", [])
        if any("height_bytes" in step for step in steps):
            found["every_length"] = {str(step["length"]): [step["height_bytes"], step["bound_bytes"]] for step in steps}
        return found


def record(tessera, name):
    options, script, arguments = JOBS[name]
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        trace = Path(folder) / f"{name}.tsr"
        subprocess.run([tessera, "dry-run", "--no-stacks", *STEPS, *options, "-o", trace, "--",
                        os.environ["TESSERA_TEST_PYTHON"], EXAMPLES / f"{script}.py", *arguments],
                       check=True)
        packed = lzma.compress(trace.read_bytes(), preset=9 | lzma.PRESET_EXTREME)
        (HERE / f"{name}.tsr.xz").write_bytes(packed)


def compare(tessera):
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    print(f"1..{len(JOBS)}")
    for number, name in enumerate(JOBS, 1):
        found = figures_of(tessera, name)
        wrong = [key for key in golden[name] | found if golden[name].get(key) != found.get(key)]
        for key in wrong:
            print(f"# {key}: {found.get(key)}, was {golden[name].get(key)}")
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}", flush=True)


def main(tessera, *words):
    if not words:
        compare(tessera)
    elif words[0] == "--record":
        for name in words[1:]:
            record(tessera, name)
    elif words == ("--write",):
        golden = {name: figures_of(tessera, name) for name in JOBS}
        GOLDEN.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")
    else:
        sys.exit(__doc__)


main(*sys.argv[1:])
