#!/usr/bin/env python3
"""Snapshots that PyTorch writes on this device, each verified address by address.

SPDX-License-Identifier: Apache-2.0
"""
import gzip

from bench import EXPANDABLE, HERE, Bench

GPT = ["gpt", "--steps", "3"]
STREAMS = ["accumulate", "--steps", "3"]
VARIED = ["finetune", "--steps", "6"]


def settings(text):
    return {"PYTORCH_CUDA_ALLOC_CONF": text}


def snapshot(bench, name, job, *options, env=(), verify=()):
    pickle = bench.folder / f"{name}.pickle"
    facts = bench.example(job, "--snapshot", pickle, *options, env=env)
    bench.out.mkdir(parents=True, exist_ok=True)
    packed = bench.out / f"{name}.pickle.gz"
    packed.write_bytes(gzip.compress(pickle.read_bytes()))
    seen, = bench.tessera("simulate", "--verify", packed, *verify, good=(0, 1))
    kept = ("verified", "addresses", "addresses_right", "segments", "segments_right", "ooms",
            "ooms_right", "difference")
    return facts, {"name": name, "packed_bytes": packed.stat().st_size,
                   "peak_allocated_bytes": facts["peak_allocated_bytes"],
                   "peak_reserved_bytes": facts["peak_reserved_bytes"], "retries": facts["retries"],
                   "out_of_memory": facts["out_of_memory"], **{key: seen[key] for key in kept}}


def main():
    bench = Bench(__doc__)
    facts, native = snapshot(bench, "native", GPT)
    size = ["--device-memory", bench.device_bytes]
    limit = facts["peak_allocated_bytes"] * 3 // 4
    limited = [*size, "--memory-limit", limit]
    varied = snapshot(bench, "varied", VARIED)
    tight = varied[0]["peak_reserved_bytes"] * 15 // 16
    collected = ["--limit", tight], [*size, "--memory-limit", tight]
    found = [
        native, varied[1],
        snapshot(bench, "expandable", GPT, env=EXPANDABLE, verify=size)[1],
        snapshot(bench, "streams", STREAMS)[1],
        snapshot(bench, "streams-expandable", STREAMS, env=EXPANDABLE, verify=size)[1],
        snapshot(bench, "varied-expandable", VARIED, env=EXPANDABLE, verify=size)[1],
        snapshot(bench, "max-split", VARIED, env=settings("max_split_size_mb:64"))[1],
        snapshot(bench, "collected", VARIED, *collected[0], verify=collected[1],
                 env=settings("garbage_collection_threshold:0.7"))[1],
        snapshot(bench, "graph", [HERE / "pools.py", "--graph"])[1],
        snapshot(bench, "pool", [HERE / "pools.py", "--pool"])[1],
        snapshot(bench, "resnet", [HERE / "resnet.py", "--steps", "3"])[1],
        snapshot(bench, "out-of-memory", GPT, "--limit", limit, verify=limited)[1],
    ]
    bench.save("snapshots", found)


main()
