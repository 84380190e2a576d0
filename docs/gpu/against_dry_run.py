#!/usr/bin/env python3
"""A dry run against this device: the requests of each step in order and size, and the peaks.

SPDX-License-Identifier: Apache-2.0
"""
import sqlite3
from contextlib import closing

from bench import PYTHON, SOURCE, TESSERA, Bench

JOBS = [["gpt"], ["gpt", "--recompute"], ["llama"], ["accumulate", "--prefetch"]]
STEPS = 3
ALLOC = 1  # event.action of a trace


def requests_of(trace):
    """Sizes of the requests up to the end of the last step that both have."""
    with closing(sqlite3.connect(f"file:{trace}?mode=ro", uri=True)) as database:
        return [size for size, in database.execute(
            "SELECT size_bytes FROM event WHERE action = ? AND event_index < "
            "(SELECT max(end_index) FROM (SELECT end_index FROM step ORDER BY begin_index "
            "LIMIT ?)) ORDER BY event_index", (ALLOC, STEPS))]


def compare(bench, job):
    script, *words = job
    real, dry = bench.folder / "real.tsr", bench.folder / "dry.tsr"
    bench.example([*job, "--steps", STEPS + 1], under=["record", "-o", real])
    bench.run([TESSERA, "dry-run", "--no-stacks", "--gpu", bench.device_bytes, "--steps", STEPS,
               "-o", dry, "--", PYTHON, SOURCE / "examples" / f"{script}.py", *words,
               "--steps", STEPS + 1])
    theirs, ours = requests_of(real), requests_of(dry)
    peaks = {name: bench.tessera("info", trace) for name, trace in (("real", real), ("dry", dry))}
    return {"job": " ".join(job), "requests": len(theirs), "dry_requests": len(ours),
            "equal_in_order": sum(a == b for a, b in zip(theirs, ours)),
            **{f"{name}_{key}": peak[key] for name, peak in peaks.items()
               for key in ("peak_allocated_bytes", "peak_reserved_bytes")}}


def main():
    bench = Bench(__doc__)
    jobs = JOBS[:1] if bench.is_rehearsal else JOBS
    bench.save("against-dry-run", [compare(bench, job) for job in jobs])


main()
