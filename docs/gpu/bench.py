# SPDX-License-Identifier: Apache-2.0
"""What the scripts of this folder share: a job under one allocator or another, and one JSON file
each, which names the device."""

import argparse
import datetime
import itertools
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
BUILD = Path(os.environ.get("TESSERA_BUILD", SOURCE / "build")).resolve()
PYTHON = os.environ.get("TESSERA_TEST_PYTHON", sys.executable)
TESSERA = BUILD / "cli" / "tessera"

REHEARSAL_DEVICE = "h100-80"
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
DEVICE_KEYS = ("device", "device_bytes", "torch", "cuda")  # of a probe's facts
#: Steps that warm up: they are left out of step times.
WARM_UP = 2


class Bench:
    """One script's runs."""

    def __init__(self, description, jobs=(), rehearsed=()):
        options = argparse.ArgumentParser(description=description)
        options.add_argument("out", type=Path, help="folder for NAME.json and snapshots")
        options.add_argument("--rehearse", action="store_true",
                             help="tiny sizes, over a CUDA that computes nothing: no figure counts")
        if jobs:
            options.add_argument("--only", nargs="+", default=[""], metavar="TEXT",
                                 help="jobs whose words contain one of these")
        args = options.parse_args()
        #: What is to be run: (example or the path of a script, its arguments) each.
        self.jobs = [job for job in (rehearsed if args.rehearse else jobs)
                     if any(text in label(job) for text in args.only)]
        self._command = " ".join([f"docs/gpu/{Path(sys.argv[0]).name}", *(
            "FOLDER" if word == str(args.out) else word for word in sys.argv[1:])])
        self.out = args.out.resolve()
        self.is_rehearsal = args.rehearse
        self._folder = tempfile.TemporaryDirectory(prefix="tessera-")
        self.folder = Path(self._folder.name)
        self._device = {}
        self._numbers = itertools.count()

    def _device_prefix(self):
        if not self.is_rehearsal:
            return []
        null = BUILD / "nullcuda"
        return ["env", f"LD_PRELOAD={null / 'libnullcuda.so'}", f"LD_LIBRARY_PATH={null}",
                "NULLCUDA_FORCE=1", f"NULLCUDA_DEVICE={REHEARSAL_DEVICE}"]

    def run(self, command, env=(), good=(0,)):
        """Its standard output. Ends the script where it fails."""
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              env={**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8", **dict(env)})
        if done.returncode not in good:
            sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}\n"
                     f"{done.stdout[-1500:]}{done.stderr[-3000:]}")
        return done.stdout

    def tessera(self, *words, good=(0,)):
        """The answer of a command of ours, as --json gives it."""
        return json.loads(self.run([TESSERA, *words, "--json"], good=good))

    def python(self, script, *words, under=(), env=()):
        """Runs a script on the device; @under is a command of ours that starts it."""
        before = [TESSERA, *under, "--"] if under else []
        return self.run([*before, *self._device_prefix(), PYTHON, script, *words], env)

    def example(self, job, *probe_options, under=(), env=()):
        """Facts (see probe.py) of (example or the path of a script, its arguments)."""
        script, *words = job
        facts = self.folder / f"facts-{next(self._numbers)}.json"
        self.python(HERE / "probe.py", "--facts", facts, *probe_options,
                    path_of(script), *words, under=under, env=env)
        found = json.loads(facts.read_text(encoding="utf-8"))
        self._device = {key: found.pop(key) for key in DEVICE_KEYS}
        return found

    def plan(self, job, policy="native", env=()):
        """Records a job and plans it: the trace and the plan."""
        trace = self.folder / f"{label(job).replace(' ', '-')}.tsr"
        self.example(job, under=["record", "--policy", policy, "-o", trace], env=env)
        plan = trace.with_suffix(".tsp")
        self.tessera("plan", trace, "-o", plan)
        return trace, plan

    @property
    def device_bytes(self):
        return self._device["device_bytes"]

    def _driver(self):
        """Its version, or None."""
        if self.is_rehearsal or not shutil.which("nvidia-smi"):
            return None
        return self.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]).splitlines()[0]

    def save(self, name, results):
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / f"{name}.json"
        path.write_text(json.dumps({"name": name, "command": self._command,
                                    "date": datetime.date.today().isoformat(), "driver": self._driver(),
                                    "is_rehearsal": self.is_rehearsal, **self._device, "results": results},
                                   indent=1) + "\n", encoding="utf-8")
        print(f"{path}: {self._device['device']}")


def path_of(script):
    return script if isinstance(script, Path) else SOURCE / "examples" / f"{script}.py"


def label(job):
    """A job as people say it."""
    script, *words = job
    return " ".join([Path(script).stem, *map(str, words)])


def one_rank():
    """The environment of a distributed job of one process."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]),
                "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}


def step_seconds(facts):
    """The median step, or None where too few were made."""
    steady = facts["step_seconds"][1 + WARM_UP:]
    return statistics.median(steady) if steady else None
