#!/usr/bin/env python3
"""The wheel alone, installed where PyTorch is, gives a dry run: package, library and the
CUDA that computes nothing come from it, nothing from the source tree.

SPDX-License-Identifier: Apache-2.0
"""
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

from dry import BUILD, EXAMPLES, PACKAGE, query, scratch

STEPS = 2


def run(*command, cwd=None):
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "TESSERA_LIBRARY")}
    done = subprocess.run([str(part) for part in command], env=clean, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"not ok - {command[-1]}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done


def build(folder):
    build_wheel = PACKAGE / "build-wheel.py"
    names = [run(sys.executable, build_wheel, "--build", BUILD, "-o", folder / part).stdout.strip() for part in "ab"]
    first, again = map(Path, names)
    assert first.read_bytes() == again.read_bytes(), "built twice, the wheel differs"
    assert first.name.startswith("tessera-") and "-py3-none-" in first.name, first.name
    held = set(zipfile.ZipFile(first).namelist())
    wanted = {"tessera/py.typed", "tessera/libtessera.so", "tessera/autoload/sitecustomize.py"}
    assert wanted <= held and "tessera/nullcuda/libnullcuda.so" in held, held
    return first


def install(wheel, folder):
    """A virtual environment that has the wheel, and PyTorch from where this Python has it."""
    venv.create(folder)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet", wheel)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "pytorch.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


with scratch() as place:
    folder = Path(place)
    wheel = build(folder)
    print("ok -", wheel.name)
    python = install(wheel, folder / "venv")
    where = run(python, "-c", "import tessera; print(tessera.__file__)", cwd=folder).stdout
    assert where.startswith(str(folder / "venv")), where
    trace = folder / "gpt.tsr"
    gpt = EXAMPLES / "gpt.py"
    run(python, "-m", "tessera", "dry-run", "-o", trace, "--steps", STEPS, "--", python, gpt, cwd=folder)
    ((n_steps,),) = query(trace, "SELECT count(*) FROM step")
    ((n_events,),) = query(trace, "SELECT count(*) FROM event")
    print(f"{'ok' if n_steps == STEPS and n_events > 1000 else 'not ok'} - {n_steps} steps, {n_events} events")
    sys.exit(0 if n_steps == STEPS and n_events > 1000 else 1)
