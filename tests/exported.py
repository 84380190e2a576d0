#!/usr/bin/env python3
"""`tessera export -t snapshot`: what is read back is what was written; prints TAP.

    exported.py TESSERA SOURCE-ROOT

SPDX-License-Identifier: Apache-2.0
"""
import csv
import gzip
import io
import json
import lzma
import pickle
import pickletools
import sqlite3

from command import FSDP, ROOT, SAMPLE, good, refused, run
from tap import run_tests, test

# Those that PyTorch's viewer knows, of all that a pickle may hold.
VIEWER = {"PROTO", "EMPTY_DICT", "EMPTY_LIST", "MARK", "BINUNICODE", "LONG_BINPUT", "LONG_BINGET", "BININT", "LONG1", "BINFLOAT", "TUPLE2",
          "NEWTRUE", "NEWFALSE", "SETITEMS", "APPENDS", "STOP"}


def blocks(path):
    """But for what a snapshot has not: modules and names of tensors, by which these go as well."""
    rows = list(csv.DictReader(io.StringIO(good("export", path))))
    return [{key: value for key, value in row.items() if key not in ("category", "module", "line")} for row in rows]


# Streams, pools and names have other numbers in another file.
QUESTIONS = (
    """SELECT action, addr, size_bytes, stream.handle, user_id, owner_id FROM event
       JOIN stream ON stream_index = stream JOIN pool ON pool_index = pool ORDER BY event_index""",
    "SELECT name, begin_index, end_index, is_inferred FROM step ORDER BY begin_index",
    "SELECT event_index, live_bytes, active_bytes, reserved_bytes FROM usage ORDER BY event_index",
)


def tables(path, tmp):
    """What the trace of the file says to each question; then its times."""
    trace = tmp / "queried.tsr"
    good("import", path, "-o", trace, "--force")
    with sqlite3.connect(trace) as base:
        return [base.execute(question).fetchall() for question in QUESTIONS], \
            [at for at, in base.execute("SELECT at_ns FROM event ORDER BY event_index")]


def export(path, tmp, name="out.pickle"):
    good("export", path, "-t", "snapshot", "-o", tmp / name)
    return tmp / name


def load(path):
    with path.open("rb") as file:
        return pickle.load(file)


def check_sizes(snapshot):
    """As torch/cuda/_memory_viz.py adds them up."""
    for segment in snapshot["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == at, (segment, block)
            at += block["size"]
        assert at == segment["address"] + segment["total_size"], segment
        live, pending = (sum(block["size"] for block in segment["blocks"] if block["state"] == state)
                         for state in ("active_allocated", "active_pending_free"))
        assert (segment["allocated_size"], segment["active_size"]) == (live, live + pending), segment


def state(snapshot):
    keys = ("address", "total_size", "stream", "segment_type", "segment_pool_id", "is_expandable", "allocated_size", "active_size",
            "requested_size")
    return [[*(segment[key] for key in keys), [(block["address"], block["size"], block["requested_size"], block["state"])
                                               for block in segment["blocks"]]] for segment in snapshot["segments"]]


def recorded(name, tmp):
    path = tmp / f"{name}.tsr"
    path.write_bytes(lzma.open(ROOT / "tests" / "traces" / f"{name}.tsr.xz").read())
    return path


def check_same(path, tmp):
    """Returns: both events' times."""
    out = export(path, tmp)
    assert blocks(path) == blocks(out), path
    (first, before), (second, after) = tables(path, tmp), tables(out, tmp)
    for question, a, b in zip(QUESTIONS, first, second, strict=True):
        assert a == b, (path, question)
    check_sizes(load(out))
    return before, after


@test
def a_snapshot_of_pytorch_is_the_same_again(tmp):
    for path in SAMPLE, FSDP, *sorted((ROOT / "tests" / "snapshots").glob("*.pickle.gz")):
        before, after = check_same(path, tmp)
        assert before == after, path
        facts = [json.loads(good("info", "--fast", each, "--json")) for each in (path, tmp / "out.pickle")]
        for one in facts:
            one.pop("file")
        assert facts[0] == facts[1], (path, facts)


@test
def what_pytorch_wrote_is_in_it(tmp):
    out, real = load(export(SAMPLE, tmp)), pickle.load(gzip.open(SAMPLE))
    for block in (block for segment in real["segments"] for block in segment["blocks"] if block["state"] == "inactive"):
        block["requested_size"] = 0  # of a tensor that is gone
    assert state(out) == state({"segments": sorted(real["segments"], key=lambda segment: segment["address"])})
    for ours, theirs in zip(out["device_traces"][0], real["device_traces"][0], strict=True):
        for key in "action", "addr", "device_free", "size", "stream", "pool_id", "frames":
            assert ours.get(key) == theirs.get(key), (key, ours, theirs)
    assert [(each["name"], each["stage"]) for each in out["external_annotations"]] == [
        (each["name"], each["stage"]) for each in sorted(real["external_annotations"], key=lambda each: each["time_us"])]
    for key in out["allocator_settings"]:
        assert out["allocator_settings"][key] == real["allocator_settings"][key], key


@test
def a_recording_is_a_snapshot_too(tmp):
    for name in "gpt", "fsdp2", "moe":
        path = recorded(name, tmp)
        before, after = check_same(path, tmp)
        assert [int(at) // 1000 for at in before] == [int(at) // 1000 for at in after] and len(before) > 1000
        plans = [json.loads(good("plan", each, "--json")) for each in (path, tmp / "out.pickle")]
        for key in "bound_bytes", "slots", "hits", "misses":
            assert plans[0][key] == plans[1][key], (name, key)


@test
def a_run_that_was_killed_has_what_it_held(tmp):
    for name in "gpt", "fsdp2":
        path = recorded(name, tmp)
        whole = load(export(path, tmp))
        with sqlite3.connect(path) as base:
            base.execute("DELETE FROM segment WHERE at_end = 1")
            base.execute("DELETE FROM held_block WHERE at_end = 1")
            base.execute("UPDATE meta SET value = 'no' WHERE key = 'closed'")
        killed = load(export(path, tmp))
        assert state(whole) == state(killed) and len(state(whole)) > 1, name


@test
def the_viewer_knows_every_opcode(tmp):
    path = export(recorded("fsdp2", tmp), tmp)
    n = items = 0
    for opcode, argument, _ in pickletools.genops(path.read_bytes()):
        assert opcode.name in VIEWER, opcode.name
        assert opcode.name != "PROTO" or argument == 2
        n += opcode.name == "MARK"
        items = 0 if opcode.name == "APPENDS" else items + (opcode.name == "SETITEMS")
        assert items < 5000  # it passes a batch as the arguments of a call
    assert n > 1000


@test
def without_addresses_there_are_the_events(tmp):
    rows = ["action,id,size_bytes", "alloc,a,4096", "alloc,b,512", "free,a,4096", f"alloc,c,{1 << 40}"]
    (tmp / "t.csv").write_text("\n".join(rows) + "\n")
    out = load(export(tmp / "t.csv", tmp))
    assert out["segments"] == [] and out["external_annotations"] == []
    assert [(event["action"], event["size"]) for event in out["device_traces"][0]] == [
        ("alloc", 4096), ("alloc", 512), ("free_requested", 4096), ("free_completed", 4096), ("alloc", 1 << 40)]
    assert not any("time_us" in event for event in out["device_traces"][0])


@test
def it_goes_where_it_is_told_or_nowhere(tmp):
    refused("export", SAMPLE, "-t", "snapshot", status=2, words=("-o OUT.pickle",))
    done = run("export", SAMPLE, "-t", "snapshot", "-o", tmp / "full.pickle", limit=100_000)
    assert done.returncode == 1 and "full.pickle" in done.stderr and not list(tmp.iterdir()), done
    good("plan", SAMPLE, "-o", tmp / "p.tsp")
    refused("export", tmp / "p.tsp", "-t", "snapshot", "-o", tmp / "o.pickle", words=("is a plan",))


run_tests()
