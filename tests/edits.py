#!/usr/bin/env python3
"""Edits by command line: made, kept, undone, planned with; prints TAP.

    edits.py TESSERA SOURCE-ROOT

SPDX-License-Identifier: Apache-2.0
"""
import collections
import csv
import json
import lzma
import os
import re
import sqlite3
import subprocess
from pathlib import Path

from command import FSDP, GIB, ROOT, SAMPLE, TESSERA, good, refused
from tap import run_tests, test

MIB = 1 << 20
# An edit of each kind, as options of `tessera edits add`.
KINDS = {
    "group": ("--what", "size>=64MiB", "--group", "large"),
    "move": ("--what", "size<1KiB", "--group", "large"),
    "split": ("--what", "group=large", "--by", "size"),
    "merge": ("--what", "group=large*", "--group", "large again"),
    "pin": ("--what", "blocks=0", "--at", "1GiB"),
    "together": ("--what", "size>=64MiB blocks=1-4000"),
    "apart": ("--what", "blocks=5", "--with", "blocks=6-90"),
    "dynamic": ("--what", "blocks=99"),
    "class": ("--what", "blocks=98", "--class", "scoped"),
    "cap": ("--at", "80GiB"),
}


def planned(*arguments):
    return json.loads(good("plan", *arguments, "--json"))


def add(trace, kind, *options):
    return json.loads(good("edits", "add", trace, "--kind", kind, *options, "--json"))


def standing(trace):
    listed = json.loads(good("edits", "list", trace, "--json"))
    assert listed["standing"] == sum(not edit["is_undone"] for edit in listed["edits"])
    return listed["standing"], len(listed["edits"])


def slots(plan):
    with sqlite3.connect(plan) as base:
        return dict(base.execute("SELECT block, offset_bytes FROM slot"))


def unplanned(plan, column="block"):
    with sqlite3.connect(plan) as base:
        return [value for value, in base.execute(f"SELECT {column} FROM unplanned ORDER BY unplanned_index")]


@test
def every_kind_is_made_kept_undone_and_redone(tmp):
    trace = tmp / "s.tsr"
    good("import", SAMPLE, "-o", trace)
    first = planned(trace)
    assert first["edits"] == []
    for number, (kind, options) in enumerate(KINDS.items(), 1):
        listed = add(trace, kind, *options)
        assert listed["standing"] == number == len(listed["edits"]), listed
    last = planned(trace, "-o", tmp / "p.tsp")
    assert len(last["edits"]) == len(KINDS) and last["slot_digest"] != first["slot_digest"]
    good("check", tmp / "p.tsp", "--trace", trace)
    assert slots(tmp / "p.tsp")[0] == 1 << 30 and 99 not in slots(tmp / "p.tsp")
    with sqlite3.connect(tmp / "p.tsp") as base:
        assert base.execute("SELECT count(*) FROM plan_edit").fetchone()[0] == len(KINDS)
    assert planned(trace, "--no-edits")["slot_digest"] == first["slot_digest"]
    good("edits", "undo", trace, "-n", len(KINDS))
    assert standing(trace) == (0, len(KINDS))
    assert planned(trace)["slot_digest"] == first["slot_digest"]
    refused("edits", "undo", trace, words=("no edit to undo",))
    good("edits", "redo", trace, "--times", len(KINDS))
    assert planned(trace)["slot_digest"] == last["slot_digest"]
    refused("edits", "redo", trace, words=("no edit to redo",))


@test
def edits_go_from_file_to_file(tmp):
    trace, other = tmp / "s.tsr", tmp / "other.tsr"
    good("import", SAMPLE, "-o", trace)
    good("import", SAMPLE, "-o", other)
    for kind in ("group", "pin", "apart"):
        add(trace, kind, *KINDS[kind])
    wanted = planned(trace)["slot_digest"]
    good("edits", "export", trace, "-o", tmp / "e.json")
    assert json.loads(good("edits", "export", trace)) == json.loads((tmp / "e.json").read_text())
    assert planned(other, "--edits", tmp / "e.json")["slot_digest"] == wanted
    assert standing(other) == (0, 0)
    good("edits", "apply", other, tmp / "e.json")
    assert standing(other) == (3, 3) and planned(other)["slot_digest"] == wanted
    assert "--no-edits leaves them out" in good("plan", other)


@test
def edits_are_read_from_plans_and_traces(tmp):
    trace, other = tmp / "s.tsr", tmp / "other.tsr"
    good("import", SAMPLE, "-o", trace)
    good("import", SAMPLE, "-o", other)
    for kind in ("group", "pin", "apart"):
        add(trace, kind, *KINDS[kind])
    wanted = planned(trace, "-o", tmp / "p.tsp")["slot_digest"]
    for source in (tmp / "p.tsp", trace):
        assert planned(other, "--edits", source)["slot_digest"] == wanted
    good("edits", "apply", other, tmp / "p.tsp")
    assert standing(other) == (3, 3) and planned(other)["slot_digest"] == wanted
    good("edits", "undo", trace)
    good("edits", "apply", other, trace)
    assert standing(other) == (5, 5)
    (tmp / "cut.tsp").write_bytes((tmp / "p.tsp").read_bytes()[:5000])
    refused("edits", "apply", other, tmp / "cut.tsp", words=("cut.tsp",))
    refused("edits", "apply", other, tmp, words=("Is a directory",))


@test
def blocks_by_hand_are_found_in_tomorrows_trace(tmp):
    """Listed are blocks of 20 and 30 KiB: they are meant where others come before them, too."""
    def trace(name, sizes):
        rows = [f"{size},{at},{at + 10},{size * 1024}" for at, size in enumerate(sizes)]
        (tmp / name).write_text("\n".join(["id,lower,upper,size", *rows]) + "\n")
        return tmp / name

    today = trace("today.csv", (10, 20, 30, 40))
    tomorrow = trace("tomorrow.csv", (50, 60, 10, 20, 30, 40))
    other = trace("other.csv", (50, 60, 70))
    planned(today, "-o", tmp / "today.tsp")
    before = slots(tmp / "today.tsp")
    add(today, "pin", "--what", "blocks=1-2", "--shape", tmp / "today.tsp", "--at", "200KiB")
    add(today, "apart", "--what", "blocks=0", "--with", "blocks=3")
    good("edits", "export", today, "-o", tmp / "e.json")
    good("edits", "apply", tomorrow, tmp / "e.json")
    listed = json.loads(good("edits", "export", tomorrow))
    assert [edit["what"]["blocks"] for edit in listed] == [[3, 4], [2]]
    assert listed[1]["with"]["blocks"] == [5]
    planned(tomorrow, "-o", tmp / "tomorrow.tsp")
    after = slots(tmp / "tomorrow.tsp")
    assert min(after[3], after[4]) == 200 * 1024
    assert after[4] - after[3] == before[2] - before[1]
    words = ("e.json", 'the edit "Pin 2 blocks at 200.00 KiB" lists blocks', "20480 bytes", "leave the edit out")
    refused("edits", "apply", other, tmp / "e.json", words=words)
    assert standing(other) == (0, 0)
    refused("plan", other, "--edits", tmp / "e.json", words=words)
    # Another trace under the name that the edits were kept for.
    today.write_bytes(other.read_bytes())
    refused("plan", today, words=("today.csv", "20480 bytes"))


@test
def edits_of_a_snapshot_lie_beside_it(tmp):
    snapshot = tmp / "s.pickle.gz"
    snapshot.write_bytes(SAMPLE.read_bytes())
    add(snapshot, "pin", *KINDS["pin"])
    assert (tmp / "s.pickle.gz.edits.json").exists()
    assert len(planned(snapshot)["edits"]) == 1
    (tmp / "s.pickle.gz.edits.json").write_text("[{}]")
    refused("plan", snapshot, words=("s.pickle.gz.edits.json", "kind"))


@test
def edits_that_are_added_at_once_are_all_kept(tmp):
    trace, snapshot = tmp / "s.tsr", tmp / "s.pickle.gz"
    good("import", SAMPLE, "-o", trace)
    snapshot.write_bytes(SAMPLE.read_bytes())
    for path in trace, snapshot:
        at_once = [subprocess.Popen([TESSERA, "edits", "add", path, "--kind", "cap", "--at", f"{80 + i}GiB"],
                                    stdout=subprocess.PIPE, text=True) for i in range(10)]
        listed = [process.communicate()[0].splitlines() for process in at_once]
        assert [process.returncode for process in at_once] == [0] * 10
        kept = [edit["pool_bytes"] for edit in json.loads(good("edits", "export", path))]
        assert sorted(kept) == [(80 + i) * GIB for i in range(10)], kept
        assert sorted(map(len, listed)) == list(range(1, 11)), listed
    assert sorted(path.name for path in tmp.iterdir()) == ["s.pickle.gz", "s.pickle.gz.edits.json", "s.tsr"]


@test
def a_shape_is_taken_from_a_plan(tmp):
    """Pinned where they lie, blocks keep the distances that they had."""
    trace = tmp / "s.tsr"
    good("import", SAMPLE, "-o", trace)
    planned(trace, "-o", tmp / "before.tsp")
    before = slots(tmp / "before.tsp")
    lowest = min(before[block] for block in range(10, 20))
    add(trace, "pin", "--what", "blocks=10-19", "--at", lowest + 512 * MIB, "--shape", tmp / "before.tsp")
    planned(trace, "-o", tmp / "after.tsp")
    after = slots(tmp / "after.tsp")
    assert all(after[block] == before[block] + 512 * MIB for block in range(10, 20))
    planned(FSDP, "-o", tmp / "foreign.tsp")
    refused("edits", "add", trace, "--kind", "pin", "--what", "blocks=1", "--at", "0", "--shape",
            tmp / "foreign.tsp", words=("another trace",))


@test
def a_picture_is_of_the_groups_as_edited(tmp):
    trace = tmp / "s.tsr"
    good("import", SAMPLE, "-o", trace)

    def picture(*options):
        good("render", trace, "-o", tmp / "p.png", "--no-plan", "--colour", "group", *options)
        return (tmp / "p.png").read_bytes()

    first = picture()
    add(trace, "group", *KINDS["group"])
    assert picture() != first
    assert picture("--no-edits") == first
    good("edits", "undo", trace)
    assert picture() == first


@test
def what_differs_from_step_to_step_cannot_be_left_out(tmp):
    trace = tmp / "moe.tsr"
    trace.write_bytes(lzma.open(ROOT / "tests" / "traces" / "moe.tsr.xz").read())
    listed = add(trace, "dynamic", "--what", "class=dynamic")
    assert "differ from step to step" in listed["note"] and "note" not in json.loads(
        good("edits", "list", trace, "--json")), listed
    good("export", trace, "-t", "blocks", "-o", f"{trace}.csv")
    with open(f"{trace}.csv", encoding="utf-8") as file:
        blocks = [row for row in csv.DictReader(file) if row["class"] == "dynamic"]
    steps = collections.defaultdict(set)
    for row in blocks:
        steps[row["size_bytes"]].add(row["step"])
    alone = next(row["block"] for row in blocks if steps[row["size_bytes"]] == {"1"})
    for kind, options in (("dynamic", ()), ("pin", ("--at", "0"))):
        refused("edits", "add", trace, "--kind", kind, "--what", f"blocks={alone}", *options,
                words=(f"kind {kind} can't hold", "differ from step to step", "rooms"))
    assert standing(trace) == (1, 1)
    assert not explained(trace, alone)["left"]


@test
def a_report_names_its_edits(tmp):
    trace, page = tmp / "s.tsr", tmp / "page.html"
    good("import", SAMPLE, "-o", trace)
    add(trace, "pin", "--what", "blocks=0", "--at", "1GiB", "--name", "to the left")
    good("report", trace, "-o", page)
    assert "to the left" in page.read_text(encoding="utf-8")
    good("report", trace, "-o", page, "--no-edits")
    assert "Edited by hand" not in page.read_text(encoding="utf-8")


@test
def info_and_fit_tell_of_the_plan_that_plan_makes(tmp):
    trace = tmp / "s.tsr"
    good("import", SAMPLE, "-o", trace)
    plain = json.loads(good("fit", trace, "--json"))
    assert plain["edits"] == []
    add(trace, "pin", "--what", "blocks=0", "--at", "35GiB", "--name", "to the right")
    wanted = planned(trace)["height_bytes"]
    assert wanted > 35 * GIB > plain["planned"]["height_bytes"]
    for told in json.loads(good("fit", trace, "--json")), json.loads(good("info", trace, "--json")):
        needs = told.get("needs", told)
        assert needs["planned"]["height_bytes"] == wanted and needs["plan_bytes"] > plain["plan_bytes"], (wanted, needs)
        assert [edit["name"] for edit in told["edits"]] == ["to the right"], told
        assert needs["native_bytes"] == plain["native_bytes"]
    for command in "fit", "info":
        assert f"1 edit of {trace} applied (--no-edits leaves them out)" in good(command, trace)
        assert "applied" not in good(command, trace, "--no-edits")
    assert json.loads(good("fit", trace, "--no-edits", "--json")) == plain
    assert "edits" not in json.loads(good("info", trace, "--fast", "--json"))
    add(trace, "pin", "--what", "blocks=0", "--at", "2GiB", "--name", "to the left")
    for command in "fit", "info":
        refused(command, trace, words=("to the left", "to the right", "different offsets"))
        good(command, trace, "--no-edits")


@test
def what_is_kept_apart_is_in_the_bound(tmp):
    """Optimal is told to be by the sum of what shares no address, or by a pin."""
    trace = tmp / "s.tsr"
    good("import", FSDP, "-o", trace)
    load = planned(trace, "--budget", "1")["bound_bytes"]
    for kind, options in (("apart", ("--what", "size>=64MiB")), ("pin", ("--what", "blocks=0", "--at", "100GiB"))):
        add(trace, kind, *options)
        plan = planned(trace, "--budget", "1")
        assert plan["optimal"] and plan["proven_bound_bytes"] == plan["height_bytes"] > 2 * load, plan
        head, cost, proof = good("plan", trace, "--budget", "1").splitlines()[1:4]
        assert "proven bound" in head and "(0.000 % above)" in head and "alive at most" in head, head
        assert plan["edits_cost_bytes"] > load and cost.startswith("the edits cost "), (plan["edits_cost_bytes"], cost)
        assert re.match(r"optimal with its edits \(proven\), [0-9.]+ GiB above the load bound; checked$", proof), proof
        good("edits", "undo", trace)


@test
def edits_that_conflict_are_named(tmp):
    trace = tmp / "s.tsr"
    good("import", SAMPLE, "-o", trace)
    add(trace, "pin", "--what", "blocks=0", "--at", "1GiB", "--name", "to the left")
    add(trace, "pin", "--what", "blocks=0", "--at", "2GiB", "--name", "to the right")
    refused("plan", trace, words=("to the left", "to the right", "different offsets"))
    good("edits", "undo", trace)
    good("plan", trace)


@test
def what_is_left_to_the_dynamic_allocator_misses_as_planned(tmp):
    trace, plain, left = tmp / "s.tsr", tmp / "plain.tsp", tmp / "left.tsp"
    good("import", SAMPLE, "-o", trace)
    good("plan", trace, "-o", plain)
    add(trace, "dynamic", "--what", "blocks=100-120")
    plan = planned(trace, "-o", left)
    assert plan["unplanned"] == plan["misses"] == plan["planned_misses"] == 21, plan
    assert plan["slots"] + 21 == len(slots(plain)) and plan["hits"] > 0, plan
    assert unplanned(left) == list(range(100, 121)) and unplanned(left, "before_slot")[0] == 100
    assert len(slots(left)) == plan["slots"]
    assert json.loads(good("check", left, "--trace", trace, "--json"))["unplanned"] == 21
    told = good("plan", trace)
    assert "left to the dynamic allocator: 21 requests" in told and "21 misses, all planned" in told, told
    followed = json.loads(good("simulate", trace, "--policy", f"plan:{left}", "--json"))
    assert followed["misses"] == followed["planned_misses"] == 21, followed
    one, other = json.loads(good("compare", plain, left, "--trace", trace, "--json"))["plans"]
    assert (one["misses"], other["misses"], other["planned_misses"]) == (0, 21, 21), (one, other)
    with sqlite3.connect(left) as base:
        base.execute("UPDATE unplanned SET before_slot = before_slot - 1 WHERE unplanned_index = 20")
    refused("check", left, words=("unplanned", "births in order"))


def explained(*arguments):
    return json.loads(good("explain", *arguments, "--json"))


def likes(trace):
    """A large block of the second step, and the one of the third that is like it: what repeats has one place."""
    good("export", trace, "-t", "blocks", "-o", f"{trace}.csv")
    with open(f"{trace}.csv", encoding="utf-8") as file:
        blocks = [row for row in csv.DictReader(file) if row["step"] and int(row["size_bytes"]) >= MIB]
    steps = sorted({int(row["step"]) for row in blocks})[-2:]
    first, second = ([row for row in blocks if int(row["step"]) == step] for step in steps)
    chosen = next(row for row in first if row["class"] == "transient")
    alike = [[row for row in rows if all(row[key] == chosen[key] for key in ("size_bytes", "born_phase", "stream"))]
             for rows in (first, second)]
    return int(chosen["block"]), int(alike[1][alike[0].index(chosen)]["block"])


@test
def explain_tells_of_the_plan_with_its_edits(tmp):
    trace = tmp / "s.tsr"
    good("import", FSDP, "-o", trace)
    block, like = likes(trace)
    plain = explained(trace, block)
    assert not plain["left"], plain
    add(trace, "pin", "--what", f"blocks={block}", "--at", "40GiB")
    for asked in block, like:
        told = explained(trace, asked)
        assert told["offset_bytes"] == 40 * GIB and told["lower_offset_bytes"] < 40 * GIB, told
    text = good("explain", trace, like)
    assert text.startswith(f"1 edit of {trace} applied") and "an edit keeps it from there" in text, text
    assert explained(trace, block, "--no-edits") == plain
    add(trace, "dynamic", "--what", f"blocks={block}")
    assert explained(trace, block)["left"]
    assert "a planned miss" in good("explain", trace, like)
    good("edits", "undo", trace, "-n", "2")
    add(trace, "cap", "--at", "12GiB")
    left = left_by_cap(trace)
    assert explained(trace, left[0])["left"]
    assert not explained(trace, next(asked for asked in (0, block, like) if asked not in left))["left"]


def left_by_cap(trace):
    good("plan", trace, "-o", f"{trace}.tsp")
    return unplanned(f"{trace}.tsp")


@test
def what_if_keeps_to_the_blocks_that_edits_are_about(tmp):
    """A block freed before the peak is no longer alive there: the edit was about it nevertheless."""
    trace = tmp / "s.tsr"
    good("import", SAMPLE, "-o", trace)
    peak = explained(trace)
    add(trace, "dynamic", "--what", f"alive={peak['at_event']} size>=16MiB")
    edited, plan = explained(trace), planned(trace)
    assert edited["edits"] == 1 and edited["height_bytes"] == plan["height_bytes"] < peak["height_bytes"]
    asked = [row["what_if"] for row in edited["rows"] if "what_if" in row]
    assert plan["unplanned"] > 0 and all(answer["left"] == plan["unplanned"] for answer in asked), (plan, asked)
    assert "requests to the dynamic allocator" in good("explain", trace)


@test
def edits_hold_in_plans_for_every_length(tmp):
    """What is left out, or capped, is missed by the run, and nothing else; what can't be had is said."""
    trace = Path(os.environ.get("TESSERA_SHARED_DATA", "")) / "snapshots" / "jobs" / "llama1b_var_length.pickle.gz"
    if not trace.exists():
        return

    def with_edit(edit):
        (tmp / "e.json").write_text('[{"name": "", %s}]' % edit)
        return good("plan", trace, "--edits", tmp / "e.json", "-o", tmp / "p.tsp")

    def misses():
        said = good("simulate", trace, "--policy", f"plan:{tmp / 'p.tsp'}", "--by-length", "--json")
        layout = json.loads(said)
        return layout["misses"], layout["planned_misses"]

    plain = good("plan", trace, "--no-edits", "-o", tmp / "p.tsp")
    assert "one plan for every length" in plain and "can a run follow it? at other lengths" in plain, plain
    unplanned, none = misses()
    assert none == 0
    for edit in ('"kind": "group", "group": "mine", "what": {"blocks": [3]}', '"kind": "pin", "what": {"blocks": [3]}, "offset_bytes": 0'):
        assert "one plan for every length" in with_edit(edit)
        assert misses() == (unplanned, 0)
    said = with_edit('"kind": "cap", "pool_bytes": 32212254720')
    assert "one plan for every length" in said and " with none; checked" in said, said
    heights = [float(value) for value in re.findall(r"\(seen\): height ([0-9.]+) GiB", said)]
    assert len(heights) == 12 and max(heights) <= 30, said
    n_misses, n_planned = misses()
    assert n_planned > 12 and n_misses - n_planned == unplanned, (n_misses, n_planned)
    said = with_edit('"kind": "dynamic", "what": {"least_bytes": 314572800}')
    kept, limit = (float(value) for value in re.search(
        r"no plan for every length: with it .* may reserve ([0-9.]+) GiB, and with expandable segments ([0-9.]+) GiB", said).groups())
    assert kept > limit * 1.02 and "can a run follow it? at other lengths" not in said, said
    said = with_edit('"kind": "cap", "pool_bytes": 512')
    assert "no plan for every length" in said and "one plan for every length" not in said, said
    assert "can a run follow it? at other lengths" not in said, said


@test
def the_published_method_is_a_strategy(tmp):
    plan = planned(SAMPLE, "--strategy", "stalloc")
    assert plan["checked"] and plan["misses"] == 0 and plan["strategy"].startswith("stalloc: "), plan
    assert plan["height_bytes"] > planned(SAMPLE)["height_bytes"]


@test
def mistakes_get_one_sentence(tmp):
    trace = tmp / "s.tsr"
    good("import", SAMPLE, "-o", trace)
    for options, words in (
            ((), ("--kind",)),
            (("--kind", "melt"), ("melt",)),
            (("--kind", "pin"), ("needs --at",)),
            (("--kind", "pin", "--what", "size=1", "--at", "x"), ("--at",)),
            (("--kind", "pin", "--what", "size>=1PB", "--at", "0"), ("size",)),
            (("--kind", "pin", "--what", "phase=fowrard", "--at", "0"), ("no block", "fowrard")),
            (("--kind", "cap", "--at", "1GiB", "--what", "size=1"), ("does not take --what",)),
            (("--kind", "split", "--what", "size>=1"), ("needs --by",)),
            (("--kind", "split", "--what", "size>=1", "--by", "colour"), ("colour",)),
            (("--kind", "class", "--what", "size>=1", "--class", "odd"), ("odd",))):
        refused("edits", "add", trace, *options, words=words)
    assert standing(trace) == (0, 0)
    refused("edits", "list", tmp / "none.tsr", words=("none.tsr",))
    refused("edits", "melt", trace, status=2)
    (tmp / "text.txt").write_text("no trace\n")
    (tmp / "c.json").write_text('[{"kind": "cap", "name": "", "pool_bytes": 512}]')
    before = sorted(tmp.iterdir())
    for no_trace in "text.txt", "":
        refused("edits", "list", tmp / no_trace, words=(no_trace,))
        refused("edits", "add", tmp / no_trace, "--kind", "cap", "--at", "1GiB", words=(no_trace,))
        refused("edits", "apply", tmp / no_trace, tmp / "c.json", words=(no_trace,))
    assert sorted(tmp.iterdir()) == before
    (tmp / "c.json").unlink()
    refused("edits", "apply", trace, status=2)
    refused("edits", "apply", trace, tmp / "none.json", words=("none.json",))
    (tmp / "other.json").write_text('[{"kind": "pin", "name": "far", "offset_bytes": 0, "what": {"blocks": [4000000000]}}]')
    told = good("plan", trace, "--edits", tmp / "other.json", "-o", tmp / "far.tsp")
    assert f'"far" is about no block of {trace}' in told, told
    refused("edits", "apply", trace, "/dev/zero", words=("/dev/zero", "device or pipe"))
    refused("plan", trace, "--strategy", "best", status=2)
    refused("plan", trace, "--edits", tmp / "e.json", "--no-edits", status=2)
    (tmp / "e.json").write_text('[{"kind": "cap", "name": "", "pool_byte": 3}]')
    refused("plan", trace, "--edits", tmp / "e.json", words=("e.json", "pool_byte"))


run_tests()
