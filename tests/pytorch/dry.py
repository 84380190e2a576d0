# SPDX-License-Identifier: Apache-2.0
"""What the tests inside PyTorch share: dry runs of the examples, and traces read back."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

SOURCE = Path(os.environ["TESSERA_SOURCE_ROOT"])
BUILD = Path(os.environ["TESSERA_BUILD_ROOT"])
sys.path.insert(0, str(SOURCE / "tests"))  # tap
TESSERA = BUILD / "cli" / "tessera"
EXAMPLES = SOURCE / "examples"
LIBRARY = BUILD / "runtime" / "libtessera.so"
PACKAGE = SOURCE / "python"
AUTOLOAD = PACKAGE / "tessera" / "autoload"
# The environment of a process whose driver computes nothing.
NULL_CUDA = {"LD_PRELOAD": str(BUILD / "nullcuda" / "libnullcuda.so"),
             "LD_LIBRARY_PATH": str(BUILD / "nullcuda"), "NULLCUDA_FORCE": "1"}
ALLOC = 1  # event.action of a trace

# The examples as jobs. NAME: (script, its arguments, ranks, rank)
JOBS = {
    "gpt": ("gpt", [], 0, 0),
    "gpt-recompute": ("gpt", ["--recompute"], 0, 0),
    "llama": ("llama", [], 0, 0),
    "bert": ("bert", [], 0, 0),
    "moe": ("moe", [], 0, 0),
    "finetune": ("finetune", [], 0, 0),
    "accumulate": ("accumulate", [], 0, 0),
    "fsdp1": ("fsdp1", [], 16, 3),
    "fsdp2": ("fsdp2", [], 16, 3),
    "ddp": ("ddp", [], 16, 3),
    "megatron": ("megatron_gpt", [], 8, 0),
    "megatron-experts": ("megatron_gpt", ["--experts", "8", "--expert-parallel", "2"], 8, 0),
    "translate": ("translate", [], 0, 0),
    "unet": ("unet", [], 0, 0),
    "cs336": ("cs336", [], 0, 0),
    "dit": ("dit", ["--keep-losses"], 0, 0),
}

MIB = 1 << 20

# What the shim (shim.c) counts and a run must not do; it knows no private pools.
FAULTS = ("overlaps", "misaligned", "unknown_frees", "failed", "of_another_stream", "pending",
          "of_another_kind", "private_pools")


def scratch():
    """A folder for the test's files, gone at its end."""
    return tempfile.TemporaryDirectory(prefix="tessera-")


def shared(*parts):
    """A file of the shared data, or the end of the test: skipped."""
    path = Path(os.environ.get("TESSERA_SHARED_DATA", "")).joinpath(*parts)
    if not os.environ.get("TESSERA_SHARED_DATA") or not path.exists():
        print(f"skipped: {'/'.join(parts)} is not there (TESSERA_SHARED_DATA)")
        sys.exit(77)
    return path


def run(*command, env=(), cwd=None, good=(0,)):
    """The finished process, which must have ended with one of these."""
    done = subprocess.run([str(part) for part in command], env={**os.environ, **dict(env)},
                          cwd=cwd, capture_output=True, text=True)
    if done.returncode not in good:
        print(done.stdout[-2000:], done.stderr[-4000:], sep="\n")
        sys.exit(f"{' '.join(str(part) for part in command)} ended with {done.returncode}")
    return done


def tessera(*arguments):
    return run(TESSERA, *arguments).stdout


def dry_run(trace, script, *arguments, options=(), env=()):
    """Runs a script of ours, and gives what `tessera dry-run --json` answers."""
    done = run(TESSERA, "dry-run", "--json", *options, "-o", trace, "--",
               sys.executable, script, *arguments, env=env, cwd=Path(trace).parent, good=(0, 3))
    return json.loads(done.stdout)


def shim_env(shim, seen):
    """Of a process that the shim serves; it writes to @seen what it saw."""
    return {"TESSERA_LIBRARY": str(Path(shim).resolve()), "TESSERA_SHIM_REPORT": str(seen)}


def under_shim(trace, shim, script, *arguments, options=()):
    """Runs a script of ours, served by the shim. Returns: what it saw, and what the program's user read."""
    seen = Path(trace).with_name("shim.json")
    done = run(TESSERA, "dry-run", "--json", "--no-stacks", *options, "-o", trace, "--", sys.executable, script, *arguments,
               cwd=Path(trace).parent, env=shim_env(shim, seen))
    answer = json.loads(seen.read_text(encoding="utf-8"))
    seen.unlink()
    return answer, [line for line in done.stderr.splitlines() if line.startswith("tessera: ")]


def rank_options(world, rank):
    """Of `tessera dry-run`, for one rank of so many; 0: a job of one process."""
    return ["--world", world, "--rank", rank] if world else []


def over_null(script, *arguments):
    """Runs a script in a dry run that PyTorch's own allocator serves."""
    return run(sys.executable, script, *arguments,
               env={**NULL_CUDA, "TESSERA_DRY_RUN": "1", "PYTHONPATH": str(AUTOLOAD)})


def query(trace, sql, *arguments):
    with closing(sqlite3.connect(f"file:{trace}?mode=ro", uri=True)) as database:
        return database.execute(sql, arguments).fetchall()


def requests_of(trace, begin=0, end=1 << 62):
    """The sizes asked for between two events, in order."""
    return [size for size, in query(
        trace, "SELECT size_bytes FROM event WHERE action = ? AND event_index >= ? "
        "AND event_index < ? ORDER BY event_index", ALLOC, begin, end)]


def steps_of(trace):
    """(first event, event behind the last) of each step. What is done between steps cuts a
    step that had begun in two: the larger part is its work."""
    parts = {}
    for name, begin, end in query(trace, "SELECT name, begin_index, end_index FROM step"):
        parts[name] = max(parts.get(name, (0, 0)), (begin, end), key=lambda p: p[1] - p[0])
    return sorted(parts.values())


class Report:
    """Says each finding; done() ends the test by them."""

    def __init__(self):
        self.failed = 0

    def expect(self, holds, sentence):
        print(f"{'ok' if holds else 'NOT OK'}: {sentence}", flush=True)
        self.failed += not holds

    def expect_safe(self, seen):
        """By what the shim counted."""
        for what in FAULTS:
            self.expect(seen[what] == 0, f"{seen[what]} {what.replace('_', ' ')}")

    def done(self):
        sys.exit(1 if self.failed else 0)


def judge(test):
    """Decorates a test, which it runs: test(report, folder, *arguments of the script)."""
    report = Report()
    with scratch() as folder:
        test(report, Path(folder), *sys.argv[1:])
    report.done()
