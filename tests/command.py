# SPDX-License-Identifier: Apache-2.0
"""The command line as tests call it: its path and the source tree are the script's arguments."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

TESSERA, ROOT = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
SAMPLE = ROOT / "samples" / "finetune-oom.pickle.gz"
FSDP = ROOT / "samples" / "fsdp1-7b-rank3of16.pickle.gz"
GIB = 1 << 30


def run(*arguments, cwd=None, limit=None, stdout=subprocess.PIPE, env=None):
    """limit: the largest file the command may write, in bytes. env: what is set beside the environment."""
    command = [TESSERA, *map(str, arguments)]
    if limit is not None:
        command = ["sh", "-c", f"ulimit -f {limit // 512}; exec \"$@\"", "sh", *command]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=cwd, timeout=300,
                          env={**os.environ, **(env or {})})


def good(*arguments):
    done = run(*arguments)
    assert done.returncode == 0, f"{arguments}: status {done.returncode}: {done.stderr}"
    return done.stdout


def refused(*arguments, status=1, words=(), **kwargs):
    """One sentence on stderr that holds all words; the given status; nothing on stdout.

    A command that fails ends where it stands, with what it holds: leaks are looked for in those that return."""
    no_leaks = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    done = run(*arguments, env=no_leaks, **kwargs)
    assert done.returncode == status, f"{arguments}: status {done.returncode}, not {status}: {done.stderr}"
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, f"{arguments}: expected one sentence, got {done.stderr!r}"
    for word in words:
        assert str(word) in lines[0], f"{arguments}: {word!r} is not in {lines[0]!r}"


def elsewhere(tmp, parts=True):
    """The command in a tree of its own, with or without (empty) parts that go into a training process."""
    for name in ("build/cli", "build/runtime", "build/nullcuda", "python/tessera/autoload"):
        (tmp / name).mkdir(parents=True)
    shutil.copy(TESSERA, tmp / "build" / "cli" / "tessera")
    if parts:
        (tmp / "build" / "runtime" / "libtessera.so").touch()
    return tmp / "build" / "cli" / "tessera"
