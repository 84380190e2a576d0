#!/usr/bin/env python3
"""Runs a training script in this process and writes down what a device did with it.

    probe.py --facts FACTS.json [options] SCRIPT [ARGUMENTS]

Which allocator serves is the caller's choice: the environment says it. The script stays as it
is; its steps are seen through PyTorch's global optimizer hook.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import atexit
import ctypes
import hashlib
import json
import os
import runpy
import sys
import time
from pathlib import Path

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook


def device_name():
    """Says so where the device is none."""
    name = torch.cuda.get_device_name()
    is_null = hasattr(ctypes.CDLL(None), "nullcuda_now_ns")
    return f"null CUDA, which computes nothing (as {name})" if is_null else name


def clock():
    """Tells seconds: of the device's own clock where that is virtual."""
    now_ns = getattr(ctypes.CDLL(None), "nullcuda_now_ns", None)
    if not now_ns:
        return time.perf_counter
    now_ns.restype = ctypes.c_double
    return lambda: now_ns() / 1e9


def digest(optimizer):
    """Of the bits of all parameters."""
    found = hashlib.sha256()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            shard = parameter.detach()
            there = (shard.to_local() if hasattr(shard, "to_local") else shard).cpu().contiguous()
            found.update(ctypes.string_at(there.data_ptr(), there.nbytes))
    return found.hexdigest()


class Steps:
    """When each step ended, and digests of the weights."""

    def __init__(self, digest_every):
        self._digest_every = digest_every
        self._now = clock()
        self._ended_at = [self._now()]
        self.digests = []
        register_optimizer_step_post_hook(self._after)

    def _after(self, optimizer, *_):
        if torch.cuda.is_current_stream_capturing():
            return
        torch.cuda.synchronize()
        self._ended_at.append(self._now())
        if self._digest_every and (len(self._ended_at) - 1) % self._digest_every == 0:
            self.digests.append(digest(optimizer))

    def seconds(self):
        """Of each step; the first with all that the script does before it."""
        return [after - before for before, after in zip(self._ended_at, self._ended_at[1:])]


def counts_of_plan():
    """Hits, misses and the like, where the library serves."""
    library = sys.modules.get("tessera")
    return library.stats() if library else {}


def run(script):
    """The sentence of an out-of-memory error, or None."""
    sys.path[0] = str(Path(script).parent)
    try:
        runpy.run_path(script, run_name="__main__")
    except torch.OutOfMemoryError as error:
        return str(error)
    return None


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--facts", type=Path, required=True)
    options.add_argument("--snapshot", type=Path, help="PyTorch's own history goes there")
    options.add_argument("--digest-every", type=int, default=0, metavar="STEPS")
    options.add_argument("--limit", type=int, default=0, metavar="BYTES")
    options.add_argument("--deterministic", action="store_true")
    options.add_argument("script", nargs=argparse.REMAINDER)
    args = options.parse_args()

    torch.use_deterministic_algorithms(args.deterministic)
    if args.snapshot:
        torch.cuda.memory._record_memory_history(context=None, max_entries=10_000_000)
    total = torch.cuda.get_device_properties(0).total_memory
    if args.limit:
        torch.cuda.set_per_process_memory_fraction(args.limit / total)
    steps = Steps(args.digest_every)
    sys.argv = args.script
    out_of_memory = run(args.script[0])
    if args.snapshot:
        torch.cuda.memory._dump_snapshot(str(args.snapshot))
    free, _ = torch.cuda.mem_get_info()
    reserved = torch.cuda.memory_reserved()
    args.facts.write_text(json.dumps({
        "device": device_name(), "device_bytes": total, "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "out_of_memory": out_of_memory, "step_seconds": steps.seconds(),
        "digests": steps.digests,
        "peak_allocated_bytes": torch.cuda.max_memory_allocated(),
        "peak_reserved_bytes": torch.cuda.max_memory_reserved(),
        "beside_bytes": total - free - reserved,
        "retries": torch.cuda.memory_stats().get("num_alloc_retries", 0),
        "plan": counts_of_plan(),
    }), encoding="utf-8")


def leave():
    """PyTorch's autograd threads can abort a process whose interpreter is taken down around them:
    traces are closed, and the process ends there. The judge of tests/pytorch/ writes at exit."""
    if "TESSERA_SHIM_REPORT" in os.environ:
        return
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
    leave()
