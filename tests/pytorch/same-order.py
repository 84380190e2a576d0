#!/usr/bin/env python3
"""Our recorder sees what PyTorch's own history sees: the same requests in the same order.

One process is recorded by us under native rules; another of the same seed runs with
PyTorch's own allocator, which writes its snapshot. Both are verified address by address.

SPDX-License-Identifier: Apache-2.0
"""
import json
from pathlib import Path

import dry

SCRIPT = dry.EXAMPLES / "gpt.py"
ARGUMENTS = ["--steps", "4", "--seed", "7"]
STEPS = 3


def operations(trace, end):
    """Each request, and the requests whose blocks were freed before it: by number, since
    addresses may differ, and sorted, since autocast drops its casts in the order of a hash table
    over host addresses, which no two processes share."""
    number_of = {}
    found, freed = [], []
    for action, addr, size, stream in dry.query(
            trace, "SELECT action, addr, size_bytes, stream FROM event "
            "WHERE action IN (1, 2) AND event_index < ? ORDER BY event_index", end):
        if action == dry.ALLOC:
            number_of[addr] = len(found)
            found.append((size, stream, sorted(freed)))
            freed.clear()
        else:
            freed.append(number_of[addr])
    return found


def say_verified(report, name, path):
    answer, = json.loads(dry.tessera("simulate", "--verify", "--json", path))
    report.expect(answer["verified"] and answer["addresses_right"] == answer["addresses"] > 1000,
                  f"{name}: {answer['addresses_right']} of {answer['addresses']} addresses, "
                  f"{answer['segments_right']} of {answer['segments']} segments as we compute them")


@dry.judge
def main(report, folder):
    ours, snapshot, theirs = (folder / name
                              for name in ("ours.tsr", "theirs.pickle", "theirs.tsr"))
    dry.dry_run(ours, SCRIPT, *ARGUMENTS, options=["--steps", STEPS, "--policy", "native"])
    dry.over_null(Path(__file__).with_name("snapshot.py"), snapshot, SCRIPT, *ARGUMENTS)
    dry.tessera("import", snapshot, "-o", theirs)

    _, end = dry.steps_of(ours)[STEPS - 1]
    mine = operations(ours, end)
    other = operations(theirs, 1 << 62)[:len(mine)]
    n_same = sum(a == b for a, b in zip(mine, other))
    report.expect(len(mine) > 1000 and mine == other,
                  f"{n_same} of {len(mine)} requests equal in order, size, stream and in what "
                  "was freed before")
    say_verified(report, "PyTorch's snapshot", snapshot)
    say_verified(report, "our trace", ours)
