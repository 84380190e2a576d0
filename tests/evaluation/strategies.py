#!/usr/bin/env python3
"""Rows of docs/EVALUATION.md: heights under each strategy.

    strategies.py FILE...            snapshots, traces, planner's instances
    strategies.py --heights FILE...  height beside the bound, and seconds, of the usual strategy
    strategies.py --examples         each example of the tests, dry-run first

Run by the Python that has PyTorch; TESSERA_BUILD_ROOT names the build folder (build).

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
os.environ.setdefault("TESSERA_SOURCE_ROOT", str(SOURCE))
BUILD = Path(os.environ.setdefault("TESSERA_BUILD_ROOT", str(SOURCE / "build")))
STRATEGIES = "free", "stalloc"
GIB = 1 << 30


def plan(path, strategy):
    done = subprocess.run([BUILD / "cli" / "tessera", "plan", path, "--no-edits", "--strategy", strategy, "--json"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def row(name, path):
    plans = [plan(path, strategy) for strategy in STRATEGIES]
    free = plans[0]["height_bytes"]
    others = [f"{each['height_bytes'] / GIB:.3f} ({(each['height_bytes'] / free - 1) * 100:+.1f} %)"
              for each in plans[1:]]
    cells = [name, plans[0]["slots"], f"{plans[0]['bound_bytes'] / GIB:.3f}", f"{free / GIB:.3f}", *others]
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def heights(name, path):
    found = plan(path, "free")
    print("|", name, "|", found["blocks"], "|", found["slots"], f"| {found['seconds']:.3f} | {found['height_bytes'] / GIB:.3f} |",
          f"{found['height_bytes'] / max(found['bound_bytes'], 1):.4f} | {found['followable']} |", flush=True)


def examples():
    sys.path.insert(0, str(SOURCE / "tests" / "pytorch"))
    import dry
    for name, (script, arguments, world, rank) in sorted(dry.JOBS.items()):
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder) / f"{name}.tsr"
            dry.dry_run(trace, dry.EXAMPLES / f"{script}.py", *arguments,
                        options=["--steps", 3, *dry.rank_options(world, rank)])
            row(f"examples: {name}", trace)


def main(arguments):
    if arguments == ["--examples"]:
        examples()
    elif arguments and (arguments[0] == "--heights" or not arguments[0].startswith("-")):
        tell = heights if arguments[0] == "--heights" else row
        for path in arguments[tell is heights:]:
            tell(Path(path).name.split(".pickle")[0].split(".tsr")[0].split(".csv")[0], path)
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
