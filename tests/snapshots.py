#!/usr/bin/env python3
"""Snapshots that PyTorch 2.11 wrote on an H200 (docs/gpu/snapshots.py), verified address by address; prints TAP.

snapshots.py TESSERA SOURCE_ROOT

SPDX-License-Identifier: Apache-2.0
"""
import json

from command import ROOT, good
from tap import run_tests, test

DEVICE = ["--device-memory", "150109880320"]
#: What set_per_process_memory_fraction() was in the run: no snapshot says that.
LIMITS = {"collected": "11645091840", "out-of-memory": "4668334848"}
#: NAME: (addresses, segment events, failures)
EXPECTED = {"native": (4347, 117, 0), "expandable": (4347, 104, 0), "streams": (14004, 119, 0),
            "streams-expandable": (14004, 107, 0), "varied-expandable": (12447, 36, 0), "max-split": (12447, 102, 0),
            "collected": (12447, 43, 0), "graph": (679, 53, 0), "resnet": (2785, 104, 0), "out-of-memory": (554, 115, 1)}


def verify(name):
    limit = ["--memory-limit", LIMITS[name]] if name in LIMITS else []
    path = ROOT / "tests" / "snapshots" / f"h200-{name}.pickle.gz"
    seen, = json.loads(good("simulate", "--verify", "--json", *DEVICE, *limit, path))
    n_addresses, n_segments, n_ooms = EXPECTED[name]
    assert seen["verified"], seen["difference"]
    assert seen["addresses_right"] == seen["addresses"] == n_addresses, seen
    assert seen["segments_right"] == seen["segments"] == n_segments, seen
    assert seen["ooms_right"] == seen["ooms"] == n_ooms, seen


for each in EXPECTED:
    def check(tmp, name=each):
        verify(name)

    check.__name__ = each
    test(check)

run_tests()
