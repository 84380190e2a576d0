#!/usr/bin/env python3
"""A table of docs/EVALUATION.md: what programs reserve under their own plan, beside PyTorch's own two allocators.

    beside.py                        all programs
    beside.py NAME...                these; the rows of others stay
    beside.py --programs FOLDER ...  the small scripts are there (programs/ beside the shared data)
    beside.py --check NAME...        writes nothing; fails where a plan that is followed reserves more than the
                                     better of the two by 2 % and by 4 MiB, or other than simulation says, by 2 %
                                     where something misses
    beside.py --list                 the names

Each program is recorded by a dry run as anybody would make it, and run once more under the plan of that. Natively and
with expandable segments is simulated from what that second run asked for, and so is the plan: its last column says by
how many bytes the process reserved more. Where the scripts' folder is missing, they are skipped aloud.

TESSERA_BUILD_ROOT names the build folder (build), TESSERA_TEST_PYTHON the Python with PyTorch (python3).

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
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
SCRIPTS = Path(os.environ.get("TESSERA_SHARED_DATA") or SOURCE.parent / "shared" / "data").parent / "programs"
PAGE = SOURCE / "docs" / "EVALUATION.md"
BEGIN, END = "<!-- beside: tests/evaluation/beside.py -->", "<!-- end of beside -->"
HEAD = ["program", "plan", "reserved MiB", "better of both MiB", "over it", "hits", "misses", "process - simulation"]
RANKS = {"ddp-accumulate": (8, 1), "zero-1": (8, 1), "fsdp2-accumulate": (8, 1), "clip": (8, 1)}
# The jobs of tests/pytorch/two-processes.py: script of examples/, arguments, ranks and rank.
JOBS = {"gpt": ("gpt", [], None), "gpt-recompute": ("gpt", ["--recompute"], None), "llama": ("llama", [], None),
        "bert": ("bert", [], None), "ddp": ("ddp", [], (16, 3)), "megatron": ("megatron_gpt", [], (8, 0))}
MIB = 1 << 20
MORE_SHARE, MORE_BYTES = 0.02, 4 * MIB
SECONDS = 400  # a run
DECLINED = "declined at its start"
TOO_LARGE = "larger than the device, declined at its start"


class Failed(Exception):
    pass


def run(folder, *command):
    try:
        done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True,
                              timeout=SECONDS, env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})
    except subprocess.TimeoutExpired:
        raise Failed(f"not over in {SECONDS} s") from None
    if not done.stdout.startswith("{"):
        said = [line for line in done.stderr.splitlines() if line.startswith("tessera: ")]
        raise Failed((said or done.stderr.splitlines() or [f"status {done.returncode}"])[-1])
    return json.loads(done.stdout)


def list_programs(folder):
    """NAME: (the command, its ranks and rank or None)."""
    programs = {}
    if folder.is_dir():
        programs = {path.name: ([path.resolve()], None) for path in sorted(folder.glob("*.py"))}
    else:
        print(f"skipped: the scripts of {folder}, which is not there (--programs)", file=sys.stderr)
    programs |= {f"job {name}": ([SOURCE / "examples" / f"{script}.py", *words], ranks)
                 for name, (script, words, ranks) in JOBS.items()}
    done = subprocess.run([PYTHON, HABITS, "--list"], capture_output=True, text=True, check=True)
    return programs | {name: ([HABITS, name], RANKS.get(name)) for name in done.stdout.split()}


def seeded(script, folder, seed):
    """A copy of the script in that folder, which begins with a seed of its own: the small scripts have none."""
    copy = Path(folder) / script.name
    copy.write_text(f"import torch; torch.manual_seed({seed})\n{script.read_text(encoding='utf-8')}", encoding="utf-8")
    return copy


def dry_run(folder, trace, program, *options):
    (script, *words), ranks = program
    # Batches of the two runs differ, and are the same whenever this is measured.
    seed = 0 if trace == "a.tsr" else 1
    command = [script if script.is_relative_to(SOURCE) else seeded(script, folder, seed), *words]
    of_ranks = ["--world", ranks[0], "--rank", ranks[1]] if ranks else []
    return run(folder, BUILD / "cli" / "tessera", "dry-run", "--json", "--no-stacks", *options, *of_ranks,
               "-o", trace, "--", PYTHON, *command)


def reserved(folder, policy, *options):
    return run(folder, BUILD / "cli" / "tessera", "simulate", "--json", "--policy", policy, *options,
               "b.tsr")["peak_reserved_bytes"]


def has_lengths(folder):
    with closing(sqlite3.connect(f"file:{folder}/a.tsp?mode=ro", uri=True)) as plan:
        (n,), = plan.execute("SELECT count(*) FROM length_plan")
    return n > 0


def measure(folder, program):
    """How the plan was followed, and where a run did so, what was reserved and hit."""
    first = dry_run(folder, "a.tsr", program)
    followable = first["followable"]
    by_length = ["--by-length"] if has_lengths(folder) else []
    seen = dry_run(folder, "b.tsr", program, "--plan", "a.tsp")["recording"]
    if not seen["followed_plan"]:
        if first["height_bytes"] > first["gpu_bytes"]:
            return {"plan": TOO_LARGE}
        return {"plan": "not advised, not followed" if followable == "no" and not by_length else DECLINED}
    in_process = reserved(folder, "recorded")
    return {"plan": "declined" if seen["declined_at_event"] else "every length" if by_length else followable,
            "reserved_bytes": in_process,
            "better_bytes": min(reserved(folder, "native"), reserved(folder, "expandable")),
            "hits": seen["hits"], "misses": seen["misses"],
            "above_simulation_bytes": in_process - reserved(folder, "plan:a.tsp", *by_length)}


def cells_of(found):
    """A row's cells but the name."""
    if "reserved_bytes" not in found:
        return [found["plan"], "", "", "", "", "", ""]
    in_process, better = found["reserved_bytes"], found["better_bytes"]
    return [found["plan"], f"{in_process / MIB:.1f}", f"{better / MIB:.1f}", f"{in_process / better:.4f}",
            f"{found['hits']:,}", f"{found['misses']:,}", f"{found['above_simulation_bytes']:,}"]


def is_let_pass(found):
    """By --check."""
    if "reserved_bytes" not in found:
        return found["plan"] != DECLINED
    better = found["better_bytes"]
    # A simulation lends idle pages at no cost, a run has one part in 64 of its time for that.
    beyond = MORE_SHARE * better if found["misses"] else 0
    return (found["reserved_bytes"] <= better + max(MORE_SHARE * better, MORE_BYTES)
            and abs(found["above_simulation_bytes"]) <= beyond)


def as_row(cells):
    return "| " + " | ".join(cells) + " |"


def write(rows):
    """Puts the rows between the marks, in the order of the programs; those of others stay."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN + "\n")
    old, after = rest.split(END)
    kept = {line.split(" | ")[0][2:]: line for line in old.splitlines()[2:] if line.startswith("| ")}
    lines = [as_row(HEAD), as_row(["---"] * len(HEAD)), *(kept | rows).values()]
    PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*", metavar="NAME")
    options.add_argument("--programs", type=Path, default=SCRIPTS, metavar="FOLDER")
    options.add_argument("--check", action="store_true")
    options.add_argument("--list", action="store_true")
    args = options.parse_args()
    programs = list_programs(args.programs)
    if args.check and not args.programs.is_dir() and any(name.endswith(".py") for name in args.names):
        sys.exit(77)
    unknown = set(args.names) - set(programs)
    if unknown:
        options.error(f"no program {', '.join(sorted(unknown))} (--list)")
    if args.list:
        print(*programs, sep="\n")
        return
    n_worse = 0
    for name in args.names or programs:
        with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
            try:
                found = measure(folder, programs[name])
                cells, is_good = cells_of(found), is_let_pass(found)
            except Failed as failure:
                cells, is_good = [f"none: {failure}".replace("|", "/")[:160], "", "", "", "", "", ""], False
        row = as_row([name, *cells])
        print(row, flush=True)
        n_worse += not is_good
        if not args.check:
            write({name: row})
    sys.exit(1 if n_worse and args.check else 0)


if __name__ == "__main__":
    main()
