#!/usr/bin/env python3
"""Snapshots that PyTorch writes on this device, each verified address by address.

SPDX-License-Identifier: Apache-2.0
"""
import gzip

from bench import EXPANDABLE, Bench

GPT = ["gpt", "--steps", "3"]
STREAMS = ["accumulate", "--steps", "3", "--prefetch"]


def snapshot(bench, name, job, *options, env=(), verify=()):
    pickle = bench.folder / f"{name}.pickle"
    facts = bench.example(job, "--snapshot", pickle, *options, env=env)
    bench.out.mkdir(parents=True, exist_ok=True)
    packed = bench.out / f"{name}.pickle.gz"
    packed.write_bytes(gzip.compress(pickle.read_bytes()))
    seen, = bench.tessera("simulate", "--verify", packed, *verify)
    kept = ("verified", "addresses", "addresses_right", "segments", "segments_right", "ooms",
            "ooms_right", "difference")
    return facts, {"name": name, "packed_bytes": packed.stat().st_size,
                   "out_of_memory": facts["out_of_memory"], **{key: seen[key] for key in kept}}


def main():
    bench = Bench(__doc__)
    facts, native = snapshot(bench, "native", GPT)
    size = ["--device-memory", bench.device_bytes]
    results = [native, snapshot(bench, "expandable", GPT, env=EXPANDABLE, verify=size)[1],
               snapshot(bench, "streams", STREAMS)[1]]
    limit = facts["peak_allocated_bytes"] * 3 // 4
    results.append(snapshot(bench, "out-of-memory", GPT, "--limit", limit,
                            verify=[*size, "--memory-limit", limit])[1])
    bench.save("snapshots", results)


main()
