#!/usr/bin/env python3
"""Snapshots that PyTorch 2.11 wrote on an H200 (docs/gpu/snapshots.py), and one of 2.15 over the null CUDA, which from
2.13 on takes other ones of equal free blocks; each verified address by address. Prints TAP.

snapshots.py TESSERA SOURCE_ROOT

SPDX-License-Identifier: Apache-2.0
"""
import json

from command import ROOT, good
from tap import run_tests, test

DEVICE_BYTES = {"h200": "150109880320", "null": "85017493504"}
#: What set_per_process_memory_fraction() was in the run: no snapshot says that.
LIMITS = {"h200-collected": "11645091840", "h200-out-of-memory": "4668334848", "null-2.15-collected": "11611668480"}
#: NAME: (addresses, segment events, failures)
EXPECTED = {
    "h200-native": (4347, 117, 0),
    "h200-expandable": (4347, 104, 0),
    "h200-streams": (14004, 119, 0),
    "h200-streams-expandable": (14004, 107, 0),
    "h200-varied-expandable": (12447, 36, 0),
    "h200-max-split": (12447, 102, 0),
    "h200-collected": (12447, 43, 0),
    "h200-graph": (679, 53, 0),
    "h200-resnet": (2785, 104, 0),
    "h200-out-of-memory": (554, 115, 1),
    "null-2.15-collected": (14977, 42, 0),
}


def verify(name):
    limit = ["--memory-limit", LIMITS[name]] if name in LIMITS else []
    size = ["--device-memory", DEVICE_BYTES[name.split("-")[0]]]
    path = ROOT / "tests" / "snapshots" / f"{name}.pickle.gz"
    seen, = json.loads(good("simulate", "--verify", "--json", *size, *limit, path))
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
