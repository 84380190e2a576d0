#!/usr/bin/env python3
"""The same program under PyTorch's own allocator and under libtessera's: the same requests, frees,
segments and failures in the same order, and the same figures in memory_stats().

served.py native|expandable

Both run over the null CUDA, each in a process of its own.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import sys

import dry
from dry import MIB

N_STEPS = 4

# What both say of an event: what happened, and to how many bytes.
EVENTS = """
    SELECT name, size_bytes FROM event JOIN action USING (action)
     WHERE name NOT IN ('snapshot', 'mark') ORDER BY event_index
"""


def train():
    """Batches of several lengths come on a stream of their own; memory runs out and is given back."""
    import torch

    prefetch = torch.cuda.Stream()
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(N_STEPS):
        with torch.cuda.stream(prefetch):
            batch = torch.randn(640 + 1000 * step, 1024, device="cuda")
        batch.record_stream(torch.cuda.current_stream())
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 1:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.reset_accumulated_memory_stats()
    blocks = []
    try:
        while True:
            blocks.append(torch.empty(100 * MIB, dtype=torch.uint8, device="cuda"))
    except RuntimeError as error:
        assert str(error).startswith("CUDA out of memory. Tried to allocate 100.00 MiB. GPU 0 has a total "
                                     "capacity of 1.01 GiB of which "), error
    del blocks[::2]
    blocks.append(torch.empty(150 * MIB, dtype=torch.uint8, device="cuda"))
    return dict(torch.cuda.memory_stats())


def run_torch(policy, path):
    import torch

    torch.cuda.memory._record_memory_history(context=None, max_entries=10**6)
    stats = train()
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    events = [(entry["action"], entry["size"]) for entry in trace if entry["action"] != "snapshot"]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"stats": stats, "events": events}, file)


def run_tessera(policy, path):
    import tessera

    assert tessera.enable(record=path + ".tsr", policy=policy) is not False
    stats = train()
    tessera.disable()
    events = dry.query(path + ".tsr", EVENTS)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"stats": stats, "events": events}, file)


def child(who, policy, path):
    environment = dict(dry.NULL_CUDA, PYTHONPATH=str(dry.PACKAGE), NULLCUDA_DEVICE="1034MiB",
                       TESSERA_LIBRARY=str(dry.LIBRARY))
    if policy == "expandable" and who == "torch":
        environment["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    dry.run(sys.executable, __file__, who, policy, path, env=environment)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def compare(policy):
    with dry.scratch() as folder:
        torch = child("torch", policy, os.path.join(folder, "torch"))
        ours = child("tessera", policy, os.path.join(folder, "tessera"))
    failed = 0
    for key in sorted(torch["stats"].keys() | ours["stats"].keys()):
        if torch["stats"].get(key) != ours["stats"].get(key):
            print(f"{key}: PyTorch {torch['stats'].get(key)}, Tessera {ours['stats'].get(key)}")
            failed += 1
    for index, (expected, found) in enumerate(zip(torch["events"], ours["events"])):
        if expected != found:
            print(f"event {index}: PyTorch {expected}, Tessera {found}")
            failed += 1
            break
    if len(torch["events"]) != len(ours["events"]):
        print(f"PyTorch tells {len(torch['events'])} events, Tessera {len(ours['events'])}")
        failed += 1
    print(f"{len(torch['events'])} events, {len(torch['stats'])} figures, {failed} differences")
    return failed != 0


if len(sys.argv) == 2:
    sys.exit(compare(sys.argv[1]))
{"torch": run_torch, "tessera": run_tessera}[sys.argv[1]](sys.argv[2], sys.argv[3])
