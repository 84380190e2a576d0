#!/usr/bin/env python3
"""A dry run against this device: the requests of each step in order and size, the peaks, and the
dry run's plan followed here.

SPDX-License-Identifier: Apache-2.0
"""
import sqlite3
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing

from bench import HERE, PYTHON, TESSERA, Bench, label, path_of

JOBS = [["gpt"], ["gpt", "--recompute"], ["llama"], ["accumulate", "--save-every", "0"], ["bert"],
        ["unet"], ["dit"], [HERE / "resnet.py"]]
STEPS = 3
AT_ONCE = 4
ALLOC = 1  # event.action of a trace
COUNTS = ("hits", "misses", "plan_is_declined", "plan_height_bytes", "peak_extra_bytes")


def requests_of(trace):
    """Sizes of the requests up to the end of the last step that both have."""
    with closing(sqlite3.connect(f"file:{trace}?mode=ro", uri=True)) as database:
        return [size for size, in database.execute(
            "SELECT size_bytes FROM event WHERE action = ? AND event_index < "
            "(SELECT max(end_index) FROM (SELECT end_index FROM step ORDER BY begin_index "
            "LIMIT ?)) ORDER BY event_index", (ALLOC, STEPS))]


def difference(theirs, ours):
    """The first requests that differ, or None."""
    for i, (a, b) in enumerate(zip(theirs, ours)):
        if a != b:
            return {"request": i, "device": theirs[i:i + 6], "dry": ours[i:i + 6]}
    return None


def compare(bench, job):
    script, *words = job
    name = label(job).replace(" ", "-")
    real, dry, followed = (bench.folder / f"{kind}-{name}.tsr" for kind in ("real", "dry", "followed"))
    bench.example([*job, "--steps", STEPS + 1], under=["record", "-o", real])
    bench.run([TESSERA, "dry-run", "--no-stacks", "--gpu", bench.device_bytes, "--steps", STEPS,
               "--events", 0, "-o", dry, "--", PYTHON, path_of(script), *words, "--steps", STEPS + 1], good=(0, 3))
    under = bench.example([*job, "--steps", 2 * STEPS], under=["run", "--plan", dry.with_suffix(".tsp")])
    theirs, ours = requests_of(real), requests_of(dry)
    peaks = {name: bench.tessera("info", trace) for name, trace in (("real", real), ("dry", dry))}
    return {"job": label(job), "requests": len(theirs), "dry_requests": len(ours),
            "equal_in_order": sum(a == b for a, b in zip(theirs, ours)),
            "first_difference": difference(theirs, ours),
            **{f"{name}_{key}": peak[key] for name, peak in peaks.items()
               for key in ("peak_allocated_bytes", "peak_reserved_bytes")},
            "followed_reserved_bytes": under["peak_reserved_bytes"],
            "followed_allocated_bytes": under["peak_allocated_bytes"],
            "following": {key: under["plan"].get(key) for key in COUNTS}}


def main():
    bench = Bench(__doc__, JOBS, JOBS[:1])
    found = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in as_completed([pool.submit(compare, bench, job) for job in bench.jobs]):
            found.append(done.result())
            bench.save("against-dry-run", found)


main()
