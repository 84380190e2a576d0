#!/usr/bin/env python3
"""Files of which one value or row is not what it was, through every command: each ends in time, within
memory, and does its work or refuses in one sentence; a plan that the checker accepts leads to no overlap.
A sample from a fixed seed (TESSERA_HOSTILE_CHANGES of each file, TESSERA_HOSTILE_SEED), or all with
TESSERA_TEST_LONG. Prints TAP.

    hostile.py TESSERA SOURCE-ROOT JUDGE

SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import json
import os
import pickle
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from changes import change, changes  # noqa: E402
from command import TESSERA, good, refused  # noqa: E402
from limits import ended, withstood  # noqa: E402
from tap import run_tests, test  # noqa: E402

JUDGE = str(Path(sys.argv[3]).resolve())
SEED = int(os.environ.get("TESSERA_HOSTILE_SEED", 20261122))
LONG = "TESSERA_TEST_LONG" in os.environ
N_DRAWN = int(os.environ.get("TESSERA_HOSTILE_CHANGES", 12))  # of each base
# NAME: options of `tessera plan`
PLANS = {
    "lengths": (), "parts": (), "kinds": (), "experts": (), "edited": (),
}
# An edit of each kind, as JSON.
EDITS = (
    {"kind": "group", "what": {"least_bytes": 4096}, "group": "large"},
    {"kind": "move", "what": {"most_bytes": 4095}, "group": "large"},
    {"kind": "split", "what": {"group": "large"}, "by": "size"},
    {"kind": "merge", "what": {"group": "large*"}, "group": "large again"},
    {"kind": "pin", "what": {"blocks": [1]}, "offset_bytes": 1 << 20},
    {"kind": "together", "what": {"blocks": [2, 3]}},
    {"kind": "apart", "what": {"blocks": [4]}, "with": {"blocks": [5, 6]}},
    {"kind": "dynamic", "what": {"blocks": [20, 21, 22]}},
    {"kind": "class", "what": {"blocks": [7]}, "class": "scoped"},
    {"kind": "cap", "pool_bytes": 1 << 40},
)


def edit_json():
    return json.dumps([dict(edit, name=f"{edit['kind']} \u2603", created_s=number) for number, edit in enumerate(EDITS)])


def plan_commands(plan, base, trace, out):
    """All that reads a plan."""
    yield "check", plan, "--trace", trace
    yield "check", plan, "--json"
    yield "compare", base, plan, "--trace", trace
    yield "compare", plan, base, "--json"
    yield "simulate", trace, "--policy", f"plan:{plan}"
    yield "simulate", trace, "--policy", f"plan:{plan}", "--by-length"
    yield "plan", trace, "--edits", plan
    yield "edits", "apply", out / "copy.tsr", plan
    yield "edits", "add", out / "copy.tsr", "--kind", "pin", "--what", "blocks=1-2", "--at", "0", "--shape", plan


def trace_commands(trace, out):
    """All that reads a trace."""
    yield "info", trace
    yield "info", trace, "--json"
    yield "plan", trace, "-o", out / "p.tsp"
    yield "plan", trace, "--no-edits"
    yield "fit", trace
    yield "explain", trace
    yield "explain", trace, "0"
    yield "report", trace, "-o", out / "r.html"
    yield "render", trace, "-o", out / "p.png", "--size", "640x400"
    for policy in "recorded", "native", "expandable":
        yield "simulate", trace, "--policy", policy
    yield "simulate", "--verify", trace
    yield "export", trace
    yield "export", trace, "--json"
    yield "edits", "list", trace
    yield "edits", "export", trace
    yield "edits", "undo", trace
    yield "edits", "add", trace, "--kind", "dynamic", "--what", "blocks=1"
    yield "import", trace, "-o", out / "i.tsr"


def tried(commands, is_accepted, changed, of):
    """What is accepted goes through all of them; of what is not, any two say why: it is read by the same code."""
    commands = list(commands)
    if not is_accepted or not LONG:
        commands = random.Random(f"{SEED} {of}").sample(commands, 2 if not is_accepted else 5)
    for command in commands:
        withstood([TESSERA, *command], names=(changed.name, "copy.tsr"), may_be_silent="--verify" in command)


def try_plan(name, base, changed, of):
    """Whether it was accepted."""
    trace = base.with_name(f"{name}.tsr")
    runs = [path for path in (trace, base.with_name(f"{name}-other.tsr")) if path.exists()]
    is_accepted = withstood([JUDGE, "follow", changed, *runs]) is None
    shutil.copy(trace, changed.with_name("copy.tsr"))
    tried(plan_commands(changed, base, trace, changed.parent), is_accepted, changed, of)
    return is_accepted


def try_trace(name, base, changed, of):
    is_accepted = withstood([TESSERA, "info", "--fast", changed], names=(changed.name,)) is None
    tried(trace_commands(changed, changed.parent), is_accepted, changed, of)
    return is_accepted


def try_change(name, base, of, attempt):
    """What is at fault, or None; and whether it was accepted."""
    with tempfile.TemporaryDirectory(dir=base.parent) as folder:
        changed = Path(folder) / f"changed{base.suffix}"
        if not change(base, changed, of):
            return None, False
        try:
            return None, attempt(name, base, changed, of)
        except (AssertionError, ValueError, sqlite3.Error) as problem:
            return f"{base.name}: {of}: {problem}", False


def sweep(name, base, attempt, wanted=None):
    listed = changes(base, wanted)
    if not LONG:
        listed = random.Random(f"{SEED} {base.name}").sample(listed, min(N_DRAWN, len(listed)))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda of: try_change(name, base, of, attempt), listed))
    faults = [fault for fault, _ in results if fault is not None]
    print(f"# {base.name}: {len(listed)} changes (seed {SEED}), {sum(accepted for _, accepted in results)} accepted")
    for fault in faults:
        print("#", fault.replace("\n", "\n# "))
    assert not faults, f"{len(faults)} of {len(listed)} changes, the first: {faults[0]}"


def make(tmp, name):
    """The traces, and the plan called so."""
    assert ended([JUDGE, "make", tmp])[0] == 0
    if name == "edited":
        shutil.copy(tmp / "experts.tsr", tmp / "edited.tsr")
        (tmp / "edits.json").write_text(edit_json(), encoding="utf-8")
        good("edits", "apply", tmp / "edited.tsr", tmp / "edits.json")
    plan = tmp / f"{name}.tsp"
    good("plan", tmp / f"{name}.tsr", *PLANS[name], "-o", plan)
    return plan


def rows(plan, table):
    with closing(sqlite3.connect(plan)) as base:
        return base.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


# What a base is there for: it must have rows.
PURPOSE = {
    "lengths": ("length_plan", "length_step", "length_law", "length_slot", "start_slot", "length_order",
                "length_order_slot", "length_order_edge"),
    "parts": ("length_phase", "length_plan"), "kinds": ("crossing",), "experts": ("room", "region"),
    "edited": ("plan_edit", "unplanned"),
}


def add_plan_test(name):
    def values_of_a_plan(tmp):
        plan = make(tmp, name)
        for table in PURPOSE[name]:
            assert rows(plan, table) > 0, f"{name}.tsp has no rows in {table}"
        sweep(name, plan, try_plan)

    values_of_a_plan.__name__ = f"values of plans: {name}"
    test(values_of_a_plan)


def add_trace_test(name):
    def values_of_a_trace(tmp):
        make(tmp, "edited")
        sweep(name, tmp / f"{name}.tsr", try_trace)

    values_of_a_trace.__name__ = f"values of traces: {name}"
    test(values_of_a_trace)


# NAME: text of a file of edits that is refused, in one sentence with its name.
REFUSED_EDITS = {
    "deep": "[" * 100000 + "]" * 100000,
    "version": '{"version": 99, "edits": []}',
    "twice": '[{"kind": "dynamic", "name": "", "what": {"blocks": [1]}, "what": {}}]',
    "large-number": '[{"kind": "cap", "name": "", "pool_bytes": ' + "9" * 100000 + "}]",
    "other-base": '[{"kind": "cap", "name": "", "pool_bytes": 0x10}]',
    "long-name": '[{"kind": "cap", "name": "' + "n" * (1 << 20) + '", "pool_bytes": 1}]',
    "long-key": '[{"' + "k" * (1 << 20) + '": 1}]',
    "not-utf8": b'[{"kind": "cap", "name": "\xff", "pool_bytes": 1}]',
    "values": "[" + "1," * 5000000 + "1]",
}
# ... and of one that is applied, or can't hold.
ODD_EDITS = {
    "cycle": [{"kind": "group", "name": "", "group": "A", "what": {"least_bytes": 4096}},
              {"kind": "group", "name": "", "group": "B", "what": {"group": "A"}},
              {"kind": "merge", "name": "", "group": "A", "what": {"group": "B"}},
              {"kind": "move", "name": "", "group": "B", "what": {"group": "*"}}] * 500,
    "stars": [{"kind": "class", "name": "", "class": "scoped", "what": {"phase": "*a" * 500}}],
    "far": [{"kind": "pin", "name": "", "what": {"blocks": [1]}, "offset_bytes": (1 << 63) - 512}],
    "many": [{"kind": "cap", "name": str(i), "pool_bytes": (1 << 40) - i} for i in range(100000 if LONG else 2000)],
}


@test
def files_of_edits_are_applied_or_refused(tmp):
    make(tmp, "experts")
    trace, file = tmp / "experts.tsr", tmp / "edits.json"
    before = trace.read_bytes()
    for name, text in REFUSED_EDITS.items():
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        for command in ("plan", trace, "--edits", file), ("edits", "apply", trace, file):
            assert withstood([TESSERA, *command], names=(file,)) is not None, f"{name} was taken"
        assert trace.read_bytes() == before, name
    for name, edits in ODD_EDITS.items():
        file.write_text(json.dumps(edits))
        withstood([TESSERA, "plan", trace, "--edits", file])
        shutil.copy(trace, tmp / "copy.tsr")
        withstood([TESSERA, "edits", "apply", tmp / "copy.tsr", file])
        withstood([TESSERA, "plan", tmp / "copy.tsr"])


def n_edits(trace):
    return len(json.loads(good("edits", "list", trace, "--json"))["edits"])


def write_snapshot(path):
    """Blocks that come and go."""
    entries = [{"action": action, "addr": (1 << 40) + (number << 21), "size": 1 << 20, "stream": 0}
               for number in range(30) for action in ("alloc", "free_requested", "free_completed")]
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [entries]}, 4))


@test
def edits_that_are_killed_or_have_no_room_leave_the_older_ones(tmp):
    """Whenever the process ends, all edits of before are there, or all of after; nothing between."""
    make(tmp, "edited")
    write_snapshot(tmp / "s.pickle")
    draw, file = random.Random(SEED), tmp / "more.json"
    file.write_text(json.dumps([dict(edit, name="") for edit in EDITS] * 20))
    for trace in tmp / "edited.tsr", tmp / "s.pickle":
        good("edits", "apply", trace, file)
        for _ in range(40 if LONG else 6):
            before = n_edits(trace)
            process = subprocess.Popen([TESSERA, "edits", "apply", trace, file], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(draw.random() * 0.2)
            process.kill()
            process.wait()
            assert n_edits(trace) - before in (0, 10 * 20), (trace, before)
        kept = {path: path.read_bytes() for path in tmp.iterdir() if path.name.startswith(trace.name)}
        refused("edits", "apply", trace, file, limit=20 * 1024)
        assert {path: path.read_bytes() for path in tmp.iterdir() if path.name.startswith(trace.name)} == kept


for each in PLANS:
    add_plan_test(each)
for each in "late-native", "late-expandable", "edited":
    add_trace_test(each)

if __name__ == "__main__":
    run_tests()
