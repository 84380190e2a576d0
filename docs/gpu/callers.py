#!/usr/bin/env python3
"""Who takes the device memory that PyTorch does not count: calls of the driver by caller, as
callers.c hears them, against what is used beside PyTorch. And kernels with begin and end: how far
the device runs behind the host. Skipped without CUPTI, and in rehearsals.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import runpy
import shutil
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from bench import BUILD, EXPANDABLE, HERE, PYTHON, WARM_UP, Bench, label, one_rank, path_of, step_seconds

JOBS = [[script, "--steps", "4"] for script in ("gpt", HERE / "resnet.py", "llama", "fsdp1")]
TIMED = ["gpt", "--steps", "10"]


def library(bench):
    """Compiled here, or the build folder's, or None; and the folder of pip's CUDA."""
    wheel = Path(bench.run([PYTHON, "-c", "import nvidia; print(list(nvidia.__path__)[0])"], good=(0, 1)).strip(), "cu13")
    nvcc, built = Path(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"), bench.folder / "libcallers.so"
    for include in (nvcc.resolve().parents[1] / "include", wheel / "include"):
        if (include / "cupti.h").exists() and shutil.which("cc") and subprocess.run(
                ["cc", "-O2", "-shared", "-fPIC", "-I", include, HERE / "callers.c", "-o", built, "-ldl",
                 "-lpthread"], check=False).returncode == 0:
            return built, wheel
    return next((path for path in [BUILD / "libcallers.so"] if path.exists()), None), wheel


def account(bench, job, env):
    """A job's rows, and what they explain of the bytes beside PyTorch's."""
    report = bench.folder / "callers.json"
    report.unlink(missing_ok=True)
    facts = bench.example(job, env=env | {"TESSERA_CALLERS_REPORT": str(report)})
    found = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {"error": "no report", "rows": []}
    rows = sorted(found.pop("rows"), key=lambda row: -row["live_bytes"])
    by_library, context = defaultdict(int), found.get("first_used_bytes", 0)
    for row in rows:
        if not (row["is_allocation"] and row["caller"].startswith("libc10_cuda.so")):
            by_library[row["caller"].split(" < ")[0]] += row["device_bytes"]
    explained = sum(by_library.values())
    return {**found, "step_seconds": step_seconds(facts), "beside_bytes": facts["beside_bytes"],
            "live_bytes": sum(row["live_bytes"] for row in rows), "explained_bytes": explained,
            "context_bytes": context, "remaining_bytes": facts["beside_bytes"] - explained - context,
            "by_library": dict(sorted(by_library.items(), key=lambda pair: -pair[1])), "rows": rows}


def lags(trace):
    """Of each stream's kernels behind the ends of the calls that launched them, in microseconds."""
    events = [each for each in trace["traceEvents"] if each.get("ph") == "X" and "correlation" in each.get("args", {})]
    launched = {each["args"]["correlation"]: each["ts"] + each["dur"] for each in events
                if each["cat"] in ("cuda_runtime", "cuda_driver")}
    streams = defaultdict(list)
    for each in events:
        if each["cat"] == "kernel":
            streams[each["args"]["stream"]].append((each["ts"], each["dur"], launched.get(each["args"]["correlation"])))
    zero = min((kernel[0] for kernels in streams.values() for kernel in kernels), default=0)
    found = {}
    for stream, kernels in streams.items():
        behind = [began - launch for began, _, launch in kernels if launch is not None]
        found[stream] = {"kernels": len(kernels), "busy_us": sum(took for _, took, _ in kernels),
                         "first_begin_us": min(began for began, *_ in kernels) - zero,
                         "last_end_us": max(began + took for began, took, _ in kernels) - zero, "with_launch": len(behind),
                         **({"least_lag_us": min(behind), "median_lag_us": statistics.median(behind),
                             "most_lag_us": max(behind)} if behind else {})}
    return found


def watch(facts, script, *words):
    """Runs a script under PyTorch's profiler, but for the steps that warm up."""
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])  # the host stays fast
    ends, trace = [], Path(facts).with_suffix(".trace")

    def after(*_):
        ends.append(time.perf_counter())
        if len(ends) == 1 + WARM_UP:
            profiler.start()

    register_optimizer_step_post_hook(after)
    sys.argv, sys.path[0] = [script, *words], str(Path(script).parent)
    runpy.run_path(script, run_name="__main__")
    torch.cuda.synchronize()
    profiler.stop()
    profiler.export_chrome_trace(str(trace))
    steps = [end - begin for begin, end in zip(ends[1 + WARM_UP:], ends[2 + WARM_UP:])]
    found = {"step_seconds": statistics.median(steps), "streams": lags(json.loads(trace.read_text(encoding="utf-8")))}
    Path(facts).write_text(json.dumps(found), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)


def main():
    bench = Bench(__doc__, JOBS, JOBS)
    callers, wheel = (None, None) if bench.is_rehearsal else library(bench)
    if callers is None:
        print("skipped: callers needs a device and CUPTI")
        return
    injected = {"CUDA_INJECTION64_PATH": str(callers), "CUPTI_LIBRARY": str(wheel / "lib" / "libcupti.so.13")}
    results = {"jobs": []}
    for job in bench.jobs:
        env = one_rank() if job[0] == "fsdp1" else {}
        bare = bench.example(job, env=env)
        results["jobs"].append({
            "job": label(job), "unwatched": {"step_seconds": step_seconds(bare), "beside_bytes": bare["beside_bytes"]},
            "native": account(bench, job, env | injected),
            "expandable": account(bench, job, env | injected | EXPANDABLE)})
        bench.save("callers", results)
    facts = bench.folder / "kernels.json"
    bench.python(HERE / "callers.py", "--watch", facts, path_of(TIMED[0]), *TIMED[1:])
    results["kernels"] = {"job": label(TIMED), "unwatched_step_seconds": step_seconds(bench.example(TIMED)),
                          **json.loads(facts.read_text(encoding="utf-8"))}
    bench.save("callers", results)


if sys.argv[1:2] == ["--watch"]:
    watch(*sys.argv[2:])
else:
    main()
