#!/usr/bin/env python3
"""An installed tree, wherever it is moved, starts training programs with its own parts; prints TAP.

installed.py SOURCE_ROOT BUILD_ROOT MESON...

SPDX-License-Identifier: Apache-2.0
"""
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD, MESON = sys.argv[2], sys.argv[3:]


def variables(tessera, *arguments):
    show = ("sh", "-c", "env | grep -E '^(TESSERA_LIBRARY|LD_PRELOAD|PYTHONPATH)='")
    done = subprocess.run([tessera, *arguments, "--", *show], capture_output=True, text=True, timeout=60,
                          env={"PATH": "/usr/bin:/bin"})
    return dict(line.split("=", 1) for line in done.stdout.splitlines()), done.stderr


def findings(tree):
    programs = list(tree.glob("**/bin/tessera"))
    if len(programs) != 1:
        yield f"expected one program tessera, found {programs}"
        return
    for command in (("record", "-o", tree / "t.tsr"), ("dry-run", "-o", tree / "t.tsr")):
        found, errors = variables(programs[0], *command)
        for name in ("TESSERA_LIBRARY", "PYTHONPATH") + (("LD_PRELOAD",) if command[0] == "dry-run" else ()):
            path = found.get(name)
            if path is None or not Path(path).exists() or tree not in Path(path).parents:
                yield f"{command[0]}: {name} is {path}, which is not of the installed tree: {errors}"
        autoload = Path(found.get("PYTHONPATH", "/nowhere"))
        if not (autoload.parent / "__init__.py").exists() or not (autoload / "sitecustomize.py").exists():
            yield f"{command[0]}: the Python package in {autoload.parent} is not whole"


def main():
    print("1..1")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", folder + "/first"],
                       check=True, stdout=subprocess.DEVNULL)
        tree = Path(folder, "moved")
        Path(folder, "first").rename(tree)
        problems = list(findings(tree))
    print(f"{'not ok' if problems else 'ok'} 1 - an installed tree finds its own parts")
    for problem in problems:
        print(f"# {problem}")
    return 1 if problems else 0


sys.exit(main())
