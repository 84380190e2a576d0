#!/usr/bin/env python3
"""A plan that a person changed is what a run is served by: a training program is recorded, some of
what each of its steps makes is pinned above everything else and some left without a slot, and the
same program follows that plan. The pinned blocks get their pool's first address plus their
offset, in every step, and nobody else does.

SPDX-License-Identifier: Apache-2.0
"""
import sqlite3
from contextlib import closing
from pathlib import Path

import dry

SCRIPT = dry.EXAMPLES / "gpt.py"
STEPS = 3
N_PINNED = 5


def slots(plan, where):
    with closing(sqlite3.connect(plan)) as database:
        return database.execute("SELECT slot.block, slot.size_bytes, slot.offset_bytes FROM slot "
                                "JOIN section ON section_index = slot.section "
                                f"WHERE section.repeats AND ordinal NOTNULL AND {where} "
                                "ORDER BY slot_index").fetchall()


def followed(folder, plan, name):
    """The steps' requests as (size, offset in the pool or None), and the pool's size."""
    trace = folder / f"{name}.tsr"
    dry.dry_run(trace, SCRIPT, "--seed", 7, options=["--steps", STEPS, "--plan", plan])
    meta = dict(dry.query(trace, "SELECT key, value FROM meta"))
    pool, pool_bytes = int(meta["plan_pool_addr"]), int(meta["plan_pool_bytes"])
    steps = []
    for begin, end in dry.steps_of(trace):
        rows = dry.query(trace, "SELECT size_bytes, addr FROM event WHERE action = ? AND event_index >= ? "
                         "AND event_index < ? ORDER BY event_index", dry.ALLOC, begin, end)
        steps.append([(size, addr - pool if pool <= addr < pool + pool_bytes else None) for size, addr in rows])
    return steps, pool_bytes


def main():
    report = dry.Report()
    with dry.scratch() as scratch:
        folder = Path(scratch)
        trace, plain, edited = folder / "run.tsr", folder / "plain.tsp", folder / "edited.tsp"
        dry.dry_run(trace, SCRIPT, "--seed", 7, options=["--steps", STEPS])
        dry.tessera("plan", trace, "--no-edits", "-o", plain)
        chosen = slots(plain, "NOT slot.wraps AND slot.size_bytes >= 1048576")[:N_PINNED]
        floor, = [top for top, in dry.query(plain, "SELECT height_bytes FROM plan")]
        floor = (floor // dry.MIB + 1) * dry.MIB
        lowest = min(offset for _, _, offset in chosen)
        wanted = {block: floor + offset - lowest for block, _, offset in chosen}
        blocks = ",".join(str(block) for block in wanted)
        dry.tessera("edits", "add", trace, "--kind", "pin", "--what", f"blocks={blocks}", "--at", floor,
                    "--shape", plain)
        dynamic = slots(plain, "NOT slot.wraps AND slot.size_bytes >= 1048576")[-1]
        dry.tessera("edits", "add", trace, "--kind", "dynamic", "--what", f"blocks={dynamic[0]}")
        dry.tessera("plan", trace, "-o", edited)
        dry.tessera("check", edited, "--trace", trace)
        planned = {block: offset for block, _, offset in slots(edited, "1")}
        report.expect(all(planned[block] == offset for block, offset in wanted.items()),
                      f"{len(wanted)} blocks are planned at {floor} and above")
        report.expect(dynamic[0] not in planned, "one has no slot")

        steps, pool_bytes = followed(folder, edited, "followed")
        places = {(size, wanted[block]) for block, size, _ in chosen}
        report.expect(len(steps) >= STEPS, f"{len(steps)} steps follow the plan, a pool of {pool_bytes} bytes")
        # The first step makes the optimizer's state and is the plan's start: what was chosen is of those
        # that repeat.
        for number, requests in list(enumerate(steps))[1:]:
            above = [(size, offset) for size, offset in requests if offset is not None and offset >= floor]
            report.expect(set(above) == places and len(above) == len(chosen),
                          f"step {number}: the pinned blocks, and these only, lie where they were pinned")
            missed = [size for size, offset in requests if offset is None]
            report.expect(missed == [dynamic[1]], f"step {number}: missed the one without a slot: {missed}")

        steps, _ = followed(folder, plain, "plain-followed")
        report.expect(all(offset is not None and offset < floor for requests in steps for _, offset in requests),
                      "without the edits all is served below")
    report.done()


main()
