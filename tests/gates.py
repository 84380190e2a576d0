#!/usr/bin/env python3
"""The gates of tests/evaluation/house.py: what passes each of them, and what breaks it.

gates.py TESSERA SOURCE_ROOT

SPDX-License-Identifier: Apache-2.0
"""
import copy
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout

from command import ROOT
from tap import run_tests, test

sys.path.insert(0, str(ROOT / "tests" / "evaluation"))
import house  # noqa: E402  (after its folder is known)

GIB = 1 << 30
FIGURES = {
    "streams": 1,
    "verified": {"addresses": "7/7"},
    "verdict": {"reserved_bytes": 10 * GIB, "hard_bytes": 5},
    "plan": {"height_bytes": 10 * GIB, "bound_bytes": 10 * GIB, "followable": "yes"},
    "followed": {"hits": 7, "misses": 1, "peak_reserved_bytes": 10 * GIB},
    "smallest": {"plan_bytes": 10 * GIB, "native_bytes": GIB},
}


def verdicts(name="real/one", before=None, **changes):
    """Of FIGURES, with @before in them, after @changes: part__key=value."""
    def changed(figures, values):
        figures = copy.deepcopy(figures)
        for path, value in values.items():
            *parts, last = path.split("__")
            place = figures
            for part in parts:
                place = place[part]
            place[last] = value
        return figures
    old = changed(FIGURES, before or {})
    return [verdict for verdict, _ in house.compare(name, old, changed(old, changes))]


@test
def equal_figures_are_not_told(_folder):
    assert verdicts() == []


@test
def what_must_be_as_before_breaks_at_any_change(_folder):
    for change in ({"verified__addresses": "6/7"}, {"verdict__hard_bytes": 4}, {"verdict__reserved_bytes": GIB},
                   {"plan__followable": "no"}, {"followed__hits": 6}, {"failed": "no such file"}, {"smallest": {}}):
        assert "broken" in verdicts(**change), change
    assert verdicts(followed__hits=8, followed__misses=0) == ["better", "changed"]


@test
def a_height_at_the_bound_stays_there(_folder):
    assert verdicts(plan__height_bytes=int(10 * GIB * 1.00004)) == ["worse"]
    for name in "real/one", "pytorch-2.6/c_def_1":
        assert verdicts(name, plan__height_bytes=int(10 * GIB * 1.00006)) == ["broken"]
    # A bound that rises with the height excuses nothing.
    assert verdicts(plan__height_bytes=11 * GIB, plan__bound_bytes=11 * GIB) == ["changed", "broken"]


@test
def a_height_above_the_bound_may_rise_a_little(_folder):
    high = {"plan__height_bytes": int(10 * GIB * 1.01)}
    for name, streams, passes, breaks in (("real/one", 1, 1.0109, 1.0111), ("jobs/two", 2, 1.0149, 1.0151),
                                          ("pytorch-2.6/f_gc", 1, 1.0149, 1.0151)):
        before = {**high, "streams": streams}
        assert verdicts(name, before, plan__height_bytes=int(10 * GIB * passes)) == ["worse"], name
        assert verdicts(name, before, plan__height_bytes=int(10 * GIB * breaks)) == ["broken"], name
    assert verdicts(before=high, plan__height_bytes=10 * GIB) == ["better"]


@test
def a_minimalloc_instance_may_take_what_it_fits_into(_folder):
    before = {"plan__height_bytes": 1000000, "plan__bound_bytes": 986112}
    assert verdicts("dsa/minimalloc-D", before, plan__height_bytes=1048576) == ["worse"]
    assert verdicts("dsa/minimalloc-D", before, plan__height_bytes=1048577) == ["broken"]


@test
def a_device_may_grow_by_2_per_mille_or_4_mib(_folder):
    for key in "smallest__plan_bytes", "followed__peak_reserved_bytes":
        assert verdicts(**{key: int(10 * GIB * 1.0019)}) == ["worse"], key
        assert verdicts(**{key: int(10 * GIB * 1.0021)}) == ["broken"], key
    assert verdicts(smallest__native_bytes=GIB + (4 << 20)) == ["worse"]
    assert verdicts(smallest__native_bytes=GIB + (4 << 20) + 1) == ["broken"]
    assert verdicts(smallest__native_bytes=None) == ["broken"]


@test
def of_a_program_kind_and_reserved_bytes_are_held(_folder):
    before = {"plan": "yes", "reserved_bytes": GIB, "hits": 5, "above_simulation_bytes": 0}
    for change, verdict in (({"plan": "declined"}, "broken"), ({"hits": 4}, "changed"),
                            ({"reserved_bytes": GIB + (4 << 20)}, "worse"),
                            ({"reserved_bytes": GIB + (5 << 20)}, "broken"),
                            ({"above_simulation_bytes": 512}, "broken")):
        assert [told for told, _ in house.compare("lora", before, before | change)] == [verdict], change


@test
def processor_seconds_are_held_as_a_sum_over_all(_folder):
    before = {"a": 1.0, "b": 9.0}
    with redirect_stdout(io.StringIO()) as said:  # beside the lines of TAP
        assert not house.report_seconds(before, {"a": 1.9, "b": 9.0}, True)
        assert "broken" not in said.getvalue()
        assert house.report_seconds(before, {"a": 2.1, "b": 9.0}, True)
        assert "broken: planning 11.1 processor s" in said.getvalue()
        assert not house.report_seconds(before, {"a": 2.1, "b": 9.0}, False)


@test
def a_figure_that_is_broken_by_hand_is_status_1(folder):
    kept = folder / "house.json"

    def run(*words):
        done = subprocess.run([sys.executable, ROOT / "tests" / "evaluation" / "house.py", "--figures", kept,
                               "--data", folder, "traces/gpt", *words], capture_output=True, text=True, env=os.environ)
        return done.returncode, done.stdout + done.stderr

    status, said = run("--write")
    assert status == 0, said
    status, said = run()
    assert status == 0 and "0 broken" in said and "skipped: " in said, said
    figures = json.loads(kept.read_text(encoding="utf-8"))
    figures["files"]["traces/gpt"]["followed"]["hits"] += 1
    kept.write_text(json.dumps(figures), encoding="utf-8")
    status, said = run()
    assert status == 1 and "broken: traces/gpt followed.hits" in said and "1 broken" in said, said


run_tests()
