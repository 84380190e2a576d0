#!/usr/bin/env python3
"""No byte is written between its release and its next use, by the device's own order: jobs under a
plan with paranoid.cu between PyTorch and the library, first one with a planted fault, which must be
found. paranoid.cu is compiled by nvcc, or TESSERA_PARANOID names the library, or it lies in
TESSERA_BUILD as libparanoid.so. Skipped where none is there, and in rehearsals.

SPDX-License-Identifier: Apache-2.0
"""
import functools
import json
import os
import shutil
import sys
from pathlib import Path

from bench import BUILD, HERE, SOURCE, Bench, label, one_rank

STEPS, PLANNED_STEPS = 12, 5
JOBS = [["gpt"], ["llama"], ["finetune"], ["accumulate", "--save-every", "0"], ["moe"], ["fsdp2"]]
#: Which of the filled blocks of a MiB or more is written to.
PLANTED = 1000


def find_library(bench):
    built = Path(os.environ.get("TESSERA_PARANOID", BUILD / "libparanoid.so")).resolve()
    if "TESSERA_PARANOID" in os.environ or not shutil.which("nvcc"):
        return built if built.exists() else None
    library, runtime = bench.folder / "libparanoid.so", BUILD / "runtime"
    bench.run(["nvcc", "-O2", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-I", SOURCE,
               "-o", library, HERE / "paranoid.cu", "-L", runtime, "-ltessera", "-Xlinker", f"-rpath={runtime}"])
    return library


@functools.cache
def plan_of(bench, *job):
    env = one_rank() if job[0].startswith("fsdp") else {}
    return bench.plan([*job, "--steps", PLANNED_STEPS], env=env)[1], env


def follow(bench, library, job, planted=0):
    """One job that fails ends no other."""
    report = bench.folder / "report.json"
    report.unlink(missing_ok=True)
    try:
        plan, env = plan_of(bench, *job)
        env = env | {"TESSERA_LIBRARY": str(library), "TESSERA_PARANOID_REPORT": str(report),
                     "TESSERA_PARANOID_PLANT": str(planted)}
        stats = bench.example([*job, "--steps", STEPS], under=["run", "--plan", plan], env=env)["plan"]
        return {"job": label(job), "steps": STEPS,
                **{key: stats.get(key) for key in ("hits", "misses", "plan_is_declined")},
                **json.loads(report.read_text(encoding="utf-8"))}
    except (OSError, SystemExit) as error:
        return {"job": label(job), "failed": str(error)}


def main():
    bench = Bench(__doc__, JOBS)
    library = None if bench.is_rehearsal else find_library(bench)
    if library is None:
        print("skipped: paranoid needs a device and nvcc")
        return
    found = [follow(bench, library, ["gpt"], PLANTED)]
    if not (found[0].get("planted") and found[0]["changed_words"]):
        sys.exit(f"the planted fault was not found: {found[0]}")
    for job in bench.jobs:
        found.append(follow(bench, library, job))
        bench.save("paranoid", found)


main()
