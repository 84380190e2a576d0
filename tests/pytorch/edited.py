#!/usr/bin/env python3
"""A plan that a person changed is what a run is served by: a training program is recorded, some of
what each of its steps makes is pinned above everything else and some of many equal blocks are left
to the dynamic allocator, and the same program follows that plan. The pinned blocks get their pool's
first address plus their offset, in every step, and nobody else does; just the blocks that were left
lie outside of the pool, and each of their equals in its own slot. Where steps are of two kinds, both have
blocks that are pinned, and a run of another seed and rhythm does the same.

SPDX-License-Identifier: Apache-2.0
"""
import json
import sqlite3
from contextlib import closing

import dry

SCRIPT = dry.EXAMPLES / "gpt.py"
STEPS = 3
N_PINNED = 5
N_LEFT = 3
# Planned, followed: steps of these, and an evaluation after every so many.
RHYTHMS = ((10, 3), (13, 4))


def slots(plan, where):
    with closing(sqlite3.connect(plan)) as database:
        return database.execute("SELECT slot.block, slot.size_bytes, slot.offset_bytes FROM slot "
                                "JOIN section ON section_index = slot.section "
                                f"WHERE section.repeats AND ordinal NOTNULL AND {where} "
                                "ORDER BY slot_index").fetchall()


def planned_step(plan):
    """The requests of the step that repeats, in order: (size, offset, whether always there); offset None: it
    has no place."""
    with closing(sqlite3.connect(plan)) as database:
        rows = database.execute("SELECT slot_index, 1, 0, size_bytes, offset_bytes, NOT wraps FROM slot "
                                "JOIN section ON section_index = slot.section WHERE repeats AND ordinal NOTNULL "
                                "UNION ALL SELECT before_slot, 0, unplanned_index, size_bytes, NULL, 1 FROM unplanned "
                                "JOIN section ON section_index = unplanned.section WHERE repeats "
                                "ORDER BY 1, 2, 3").fetchall()
    return [row[3:] for row in rows]


def choose_left(plan, taken, where="1"):
    """Blocks of the size that most blocks of a step have, of at least 1 MiB: the second, the middle and the
    last but one."""
    by_size = {}
    for block, size, _ in slots(plan, f"NOT slot.wraps AND slot.size_bytes >= 1048576 AND {where}"):
        if block not in taken:
            by_size.setdefault(size, []).append(block)
    equals = max(by_size.values(), key=len)
    return [equals[1], equals[len(equals) // 2], equals[-2]], len(equals)


def as_planned(requests, wanted):
    """Whether each request of a step lies where it was planned, or outside of the pool if that was planned."""
    return len(requests) == len(wanted) and all(
        size == planned_size and (offset is None) == (place is None) and (offset == place or not is_fixed)
        for (size, offset), (planned_size, place, is_fixed) in zip(requests, wanted))


def followed(folder, plan, name):
    """The steps' requests as (size, offset in the pool or None), the pool's size, and what was counted."""
    trace = folder / f"{name}.tsr"
    dry.dry_run(trace, SCRIPT, "--seed", 7, options=["--steps", STEPS, "--plan", plan])
    meta = dict(dry.query(trace, "SELECT key, value FROM meta"))
    pool, pool_bytes = int(meta["plan_pool_addr"]), int(meta["plan_pool_bytes"])
    steps = []
    for begin, end in dry.steps_of(trace):
        rows = dry.query(trace, "SELECT size_bytes, addr FROM event WHERE action = ? AND event_index >= ? "
                         "AND event_index < ? ORDER BY event_index", dry.ALLOC, begin, end)
        marked = [addr for is_left, addr in dry.query(
            trace, "SELECT is_left, addr FROM event WHERE action = ? AND event_index >= ? AND event_index < ?",
            dry.ALLOC, begin, end) if is_left]
        assert marked == [addr for _, addr in rows if not pool <= addr < pool + pool_bytes], "planned misses are marked"
        steps.append([(size, addr - pool if pool <= addr < pool + pool_bytes else None) for size, addr in rows])
    recording = json.loads(dry.tessera("info", trace, "--json"))["recording"]
    return steps, pool_bytes, recording


def two_kinds(report, folder):
    trace, seen, plain, edited = (folder / name for name in ("kinds.tsr", "seen.tsr", "kinds.tsp", "pinned.tsp"))

    def run(out, rhythm, *options, seed=7):
        dry.dry_run(out, SCRIPT, "--seed", seed, "--steps", rhythm[0], "--evaluate-every", rhythm[1],
                    options=["--no-stacks", "--steps", "40-40", *options])

    run(trace, RHYTHMS[0])
    dry.tessera("plan", trace, "--no-edits", "-o", plain)
    kinds = [index for index, in dry.query(plain, "SELECT section_index FROM section WHERE repeats ORDER BY n_steps")]
    floor, = [top for top, in dry.query(plain, "SELECT height_bytes FROM plan")]
    floor = (floor // dry.MIB + 1) * dry.MIB
    chosen = [slots(plain, f"section = {kind} AND NOT slot.wraps AND slot.size_bytes >= 1048576")[:N_PINNED]
              for kind in kinds]
    blocks = sorted(block for of_kind in chosen for block, _, _ in of_kind)
    dry.tessera("edits", "add", trace, "--kind", "pin", "--what", f"blocks={','.join(map(str, blocks))}",
                "--at", floor, "--shape", plain)
    left, _ = choose_left(plain, blocks, f"section = {kinds[0]}")
    dry.tessera("edits", "add", trace, "--kind", "dynamic", "--what", f"blocks={','.join(map(str, left))}")
    dry.tessera("plan", trace, "-o", edited)
    dry.tessera("check", edited, "--trace", trace)
    report.expect(len(kinds) == 2 == len(dry.query(edited, "SELECT 1 FROM section WHERE repeats")),
                  "both plans have two kinds of step")
    run(seen, RHYTHMS[1], "--plan", edited, seed=11)
    meta = dict(dry.query(seen, "SELECT key, value FROM meta"))
    pool, pool_bytes = int(meta["plan_pool_addr"]), int(meta["plan_pool_bytes"])
    above = [size for size, in dry.query(
        seen, "SELECT size_bytes FROM event WHERE action = ? AND addr >= ? AND addr < ?", dry.ALLOC, pool + floor,
        pool + pool_bytes)]
    n_steps, n_evaluations = RHYTHMS[1][0] - 1, RHYTHMS[1][0] // RHYTHMS[1][1]
    wanted = [size for times, of_kind in zip((n_evaluations, n_steps), chosen) for _, size, _ in of_kind
              for _ in range(times)]
    report.expect(sorted(above) == sorted(wanted),
                  f"of {n_steps} steps and {n_evaluations} evaluations the pinned blocks, {len(above)}, and these only "
                  "lie where they were pinned")
    recording = json.loads(dry.tessera("info", seen, "--json"))["recording"]
    n_left = N_LEFT * n_evaluations
    report.expect((recording["misses"], recording["planned_misses"]) == (n_left, n_left),
                  f"{n_left} misses, all of them planned: {recording}")


@dry.judge
def main(report, folder):
    two_kinds(report, folder)
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
    left, n_equals = choose_left(plain, wanted)
    dry.tessera("edits", "add", trace, "--kind", "dynamic", "--what", f"blocks={','.join(map(str, left))}")
    dry.tessera("plan", trace, "-o", edited)
    dry.tessera("check", edited, "--trace", trace)
    planned = {block: offset for block, _, offset in slots(edited, "1")}
    report.expect(all(planned[block] == offset for block, offset in wanted.items()),
                  f"{len(wanted)} blocks are planned at {floor} and above")
    report.expect(n_equals > 2 * N_LEFT and len(set(left)) == N_LEFT and planned.keys().isdisjoint(left),
                  f"{N_LEFT} of {n_equals} equals have no slot")

    steps, pool_bytes, recording = followed(folder, edited, "followed")
    step = planned_step(edited)
    places = {(size, wanted[block]) for block, size, _ in chosen}
    report.expect(len(steps) >= STEPS, f"{len(steps)} steps follow the plan, a pool of {pool_bytes} bytes")
    # The first step makes the optimizer's state and is the plan's start: what was chosen is of those
    # that repeat.
    for number, requests in list(enumerate(steps))[1:]:
        above = [(size, offset) for size, offset in requests if offset is not None and offset >= floor]
        report.expect(set(above) == places and len(above) == len(chosen),
                      f"step {number}: the pinned blocks, and these only, lie where they were pinned")
        missed = [place for place, (_, offset) in enumerate(requests) if offset is None]
        report.expect(as_planned(requests, step),
                      f"step {number}: just those without a slot lie outside of the pool, requests {missed}, "
                      "and all others in their slots")
    n_left = N_LEFT * (len(steps) - 1)
    report.expect((recording["misses"], recording["planned_misses"]) == (n_left, n_left),
                  f"{n_left} misses, all of them planned: {recording}")

    steps, _, _ = followed(folder, plain, "plain-followed")
    report.expect(all(offset is not None and offset < floor for requests in steps for _, offset in requests),
                  "without the edits all is served below")
