#!/usr/bin/env python3
"""The main paths of the `tessera` command, run as a person would; prints TAP.

    cli.py TESSERA SOURCE-ROOT

SPDX-License-Identifier: Apache-2.0
"""
import csv
import gzip
import io
import itertools
import json
import os
import pickle
import pty
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from html import unescape
from pathlib import Path

from command import FSDP, GIB, ROOT, SAMPLE, TESSERA, good, refused, run
from tap import run_tests, test

PARTS = ("live_bytes", "rounding_bytes", "pending_bytes", "new_segment_bytes", "other_stream_bytes", "other_size_bytes", "hard_bytes",
         "soft_bytes", "cache_bytes")
UMASK = os.umask(0o022)
os.umask(UMASK)


def check_sum(parts):
    assert sum(parts["parts"][key] for key in PARTS) == parts["reserved_bytes"], parts


@test
def explain_tells_of_blocks_and_of_the_peak(tmp):
    plan = json.loads(good("plan", SAMPLE, "--json"))
    peak = json.loads(good("explain", SAMPLE, "--json"))
    assert peak["bound_bytes"] == plan["bound_bytes"] and peak["height_bytes"] == plan["height_bytes"]
    assert sum(row["bytes"] for row in peak["rows"]) == peak["bound_bytes"]
    asked = [row for row in peak["rows"] if "what_if" in row]
    assert len(asked) == 5 and all(row["what_if"]["bound_bytes"] <= peak["bound_bytes"] for row in asked)
    assert any(row["what_if"]["height_bytes"] < peak["height_bytes"] for row in asked)
    assert sum(row["bytes"] for row in json.loads(good("explain", SAMPLE, "--by", "line", "--json"))["rows"]) == peak["bound_bytes"]
    good("export", SAMPLE, "-t", "blocks", "-o", str(tmp / "blocks.csv"))
    blocks = list(csv.DictReader((tmp / "blocks.csv").open()))
    largest = max(range(len(blocks)), key=lambda i: int(blocks[i]["size_bytes"]) * (blocks[i]["addr"] != ""))
    told = json.loads(good("explain", SAMPLE, str(largest), "--json"))
    assert told["block"] == largest and told["size_bytes"] == int(blocks[largest]["size_bytes"])
    assert told["lower_offset_bytes"] <= told["offset_bytes"]
    assert told["offset_bytes"] + told["block_bytes"] <= plan["height_bytes"]
    assert told["offset_bytes"] == 0 or told["below"], told
    refused("explain", SAMPLE, str(len(blocks)), words=("there is no block",))


@test
def a_block_without_a_line_has_its_phase_and_module(tmp):
    (tmp / "module.csv").write_text("action,id,size_bytes,iteration,phase,module\nalloc,x,4096,0,forward,layer\n", encoding="utf-8")
    assert json.loads(good("explain", tmp / "module.csv", "0", "--json"))["line"] == "(forward of layer)"
    good("report", tmp / "module.csv", "-o", tmp / "module.html")
    assert "<code>(forward of layer)</code>" in (tmp / "module.html").read_text(encoding="utf-8").partition("Largest of")[2]


@test
def what_changes_nothing_is_said_so(tmp):
    twice = "alloc,a{0},2097152\nalloc,b{0},512\nfree,b{0},512\nfree,a{0},2097152\n"
    (tmp / "twice.csv").write_text("action,id,size_bytes\n" + twice.format(1) + twice.format(2))
    out = good("explain", tmp / "twice.csv")
    assert "2.00 MiB, as now" in out and "-0 B" not in out, out
    lines = good("plan", tmp / "twice.csv", "--across-streams").splitlines()
    assert "--across-streams changes nothing here: all memory is asked for on one stream" in lines, lines
    assert not any("across-streams" in line for line in good("plan", tmp / "twice.csv").splitlines())


@test
def compare_tells_what_moved(tmp):
    one, other, small = str(tmp / "one.tsp"), str(tmp / "other.tsp"), str(tmp / "small.tsp")
    good("plan", FSDP, "-o", one)
    good("plan", FSDP, "-o", other, "--steps", "1")
    good("plan", SAMPLE, "-o", small)
    same = json.loads(good("compare", one, one, "--json"))
    assert same["moved"] == {"blocks": 0, "bytes": 0} and same["largest_moved"] == []
    told = json.loads(good("compare", one, other, "--trace", FSDP, "--json"))
    slots = {}
    for path in (one, other):
        rows = sqlite3.connect(path).execute(
            "SELECT block, offset_bytes, block_bytes FROM slot WHERE NOT (ordinal IS NULL AND wraps = 1) ORDER BY slot_index DESC").fetchall()
        slots[path] = {block: (offset, size) for block, offset, size in rows}
    moves = {row["block"]: row for row in told["largest_moved"]}
    assert len(moves) == told["moved"]["blocks"] > 0
    assert sum(row["block_bytes"] for row in moves.values()) == told["moved"]["bytes"]
    for block, row in moves.items():
        assert row["first_offset_bytes"] != row["second_offset_bytes"]
        assert slots[one][block] == (row["first_offset_bytes"], row["block_bytes"])
        assert slots[other][block][0] == row["second_offset_bytes"]
    for i, path in enumerate((one, other)):
        plan = json.loads(good("check", path, "--json"))
        assert told["plans"][i]["height_bytes"] == plan["height_bytes"]
        proven = told["plans"][i]["proven_bound_bytes"]  # what `tessera plan` and the window tell the height against
        above = 100 * (plan["height_bytes"] / proven - 1)
        assert abs(told["plans"][i]["above_bound_percent"] - above) < 1e-9 and above < 1 < 100 * (plan["height_bytes"] / plan["bound_bytes"] - 1)
        n = told["same"]["blocks"] + told["moved"]["blocks"] + told[("only_first", "only_second")[i]]["blocks"]
        assert told["plans"][i]["blocks"] == n == len(slots[path])
        assert told["plans"][i]["hits"] > 0
    sizes = [row["block_bytes"] for row in told["largest_moved"]]
    assert sizes == sorted(sizes, reverse=True)
    assert "moved" in good("compare", one, other)
    refused("compare", one, small, words=(f"{one} and {small}", "not of the same trace"))
    refused("compare", one, other, "--trace", SAMPLE, words=("one.tsp", "another trace"))
    with sqlite3.connect(other) as plan:
        plan.execute("UPDATE slot SET offset_bytes = 0")
    refused("compare", one, other, words=("other.tsp", "breaks the law of"))
    refused("simulate", FSDP, "--policy", f"plan:{other}", words=("other.tsp", "breaks the law of"))


@test
def info_tells_the_story_of_the_sample(tmp):
    quoted = [line[2:] for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("> ")]
    assert " ".join(quoted) == good("info", SAMPLE).split("\n\n")[0].replace("\n", " "), quoted
    info = json.loads(good("info", SAMPLE, "--json"))
    check_sum(info)
    for failure in info["failures"]:
        check_sum(failure)
    assert info["cause"] == "fragmentation" and info["died"] is True
    assert info["ooms"] == 1 and len(info["failures"]) == 1
    assert round(info["request_bytes"] / GIB, 2) == 7.83
    assert round((info["reserved_bytes"] - info["parts"]["live_bytes"]
                  - info["parts"]["rounding_bytes"]) / GIB, 2) == 7.87
    assert round(info["free_at_driver_bytes"] / GIB, 2) == 6.18
    needs = info["needs"]
    assert 41.03 * GIB < needs["native_bytes"] <= 41.06 * GIB, needs
    assert 33.35 * GIB < needs["expandable_bytes"] <= 33.41 * GIB, needs
    assert needs["plan_bytes"] <= 33.18 * GIB, needs
    assert needs["expandable_bytes"] < needs["native_bytes"]
    text = good("info", SAMPLE)
    assert info["headline"] in text and info["sentence"] in text
    # What a run follows is what is told: its plan is for every length.
    assert needs["planned"]["for_every_length"] == "every length up to 4096 (the longest seen): 33.17 GiB at length 4096, the bound there"
    assert f"the plan is for {needs['planned']['for_every_length']}" in text
    good("plan", SAMPLE, "-o", tmp / "a.tsp")
    followed = json.loads(good("simulate", SAMPLE, "--policy", f"plan:{tmp / 'a.tsp'}", "--by-length", "--json"))
    assert needs["plan_endless_bytes"] == followed["peak_reserved_bytes"], (needs, followed)


@test
def parts_are_the_same_in_each_view(tmp):
    """Names and numbers of the verdict's moment, as info prints them, as JSON and in the report."""
    streams = {}
    for trace in SAMPLE, FSDP:
        told = json.loads(good("info", "--fast", trace, "--json"))
        check_sum(told)
        rows = re.findall(r"^  ([a-z= ]+?) +([0-9.]+ [KMG]?i?B)  #*$", good("info", "--fast", trace), re.M)
        names = [name for name, _ in rows]
        streams[trace] = names[3:-1] if "new segment" not in names else names[4:-1]
        good("report", trace, "-o", tmp / "report.html")
        page = (tmp / "report.html").read_text(encoding="utf-8").split("byte by byte")[1].split("</table>")[0]
        in_page = re.findall(r"<tr><td>([a-z ]+)</td><td class=n[^>]*>([0-9.]+ [KMG]?i?B)<", page)
        assert in_page == [(name.replace("= ", ""), size) for name, size in rows], (in_page, rows)
        shown = [told["parts"][key] for key in PARTS if key != "new_segment_bytes" or told["parts"][key]]
        assert len(shown) == len(rows) - 1 == len(set(names)) - 1, rows
    # A program of one stream has nothing of another's.
    assert streams == {SAMPLE: ["other pool", "other sizes", "between blocks", "segment edges", "free segments"],
                       FSDP: ["other stream", "other sizes", "between blocks", "segment edges", "free segments"]}, streams


@test
def a_size_means_the_same_at_every_door(tmp):
    trace = tmp / "s.tsr"
    good("import", SAMPLE, "-o", trace)
    for text, size in (("24GB", 24 * 10**9), ("24 gb", 24 * 10**9), ("24GiB", 24 * GIB), ("24.5 GiB", 49 * GIB // 2)):
        good("edits", "add", trace, "--kind", "cap", "--at", text)
        good("edits", "add", trace, "--kind", "dynamic", "--what", f"size <= {text} phase=forward")
        cap, query = json.loads(good("edits", "export", trace))
        assert cap["pool_bytes"] == query["what"]["most_bytes"] == size, (text, cap, query)
        good("edits", "undo", trace, "-n", "2")
    for wrong in "24 GX", "1e9", "0x10", "-1", "":
        refused("info", SAMPLE, "--device-memory", wrong, status=2, words=("--device-memory",))
        refused("edits", "add", trace, "--kind", "cap", f"--at={wrong}", words=("--at takes a size",))


@test
def info_sums_at_any_moment(tmp):
    verdict = json.loads(good("info", SAMPLE, "--fast", "--json"))
    for event in (0, 1, 1000, 20000, 33456):
        info = json.loads(good("info", SAMPLE, "--fast", "--at", event, "--json"))
        # The verdict stays of its own moment.
        assert all(info[key] == verdict[key] for key in ("headline", "sentence", "cause", "died"))
        assert info["at_event"] == event
        check_sum(info)
    refused("info", SAMPLE, "--fast", "--at", 33457, words=("33457",))
    refused("info", SAMPLE, "--fast", "--at", "-5", status=2)


@test
def whose_memory_it_is_sums_to_what_is_live(tmp):
    """By each heading, against SQL over the trace; and the sample's script is known: a Llama's AdamW dies in its first backward's logits."""
    trace = tmp / "s.tsr"
    good("import", SAMPLE, "-o", trace)
    for at in "failure", "peak", "20000", "100..9000":
        rows = {}
        for by in "category", "module", "line", "stack", "phase", "step":
            told = json.loads(good("info", trace, "--by", by, "--at", at, "--json"))
            rows[by] = told["rows"]
            assert sum(row["bytes"] for row in told["rows"] if row["depth"] == 0) == told["live_bytes"], (at, by)
        with sqlite3.connect(trace) as data:
            live = {addr: size for addr, size in data.execute("select addr, size_bytes from held_block where at_end = 0 and state = 2")}
            for action, addr, size in data.execute("select action, addr, size_bytes from event where event_index <= ? order by event_index",
                                                   (told["event_index"],)):
                if action == 1:
                    live[addr] = size
                elif action == 2:
                    live.pop(addr, None)
        assert sum(live.values()) == told["live_bytes"], at
    died = json.loads(good("info", SAMPLE, "--by", "category", "--json"))
    size = {row["name"]: row["bytes"] for row in died["rows"]}
    assert 0.9999 < size["optimizer state"] / (2 * size["parameter"]) < 1, size  # tables of rotary embeddings have no state
    assert sum(n for name, n in size.items() if "unknown" in name) < died["live_bytes"] / 10_000, size  # a tensor kept from step to step
    todo = {row["what"]: row for row in json.loads(good("info", SAMPLE, "--json"))["what_to_do"]}
    assert todo["expandable"]["type"] == "PYTORCH_ALLOC_CONF=expandable_segments:True" and todo["chunks"]["wins_bytes"] > 16 * GIB, todo
    assert abs(todo["8-bit"]["wins_bytes"] / (size["optimizer state"] * 3 / 4) - 1) < 0.001, todo
    text = good("info", SAMPLE)
    assert "loss_utils.py:42 fixed_cross_entropy" in text and "optimizer state" in text
    folded = good("export", SAMPLE, "-t", "flamegraph").splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded) == died["live_bytes"]
    assert any(line.startswith("finetune.py:") and ";" in line for line in folded)
    blocks = list(csv.DictReader(io.StringIO(good("export", SAMPLE, "-t", "blocks"))))
    assert {row["category"] for row in blocks} >= set(size) and any(row["line"] == "finetune.py:36 train_step" for row in blocks)
    refused("info", SAMPLE, "--by", "colour", status=2, words=("--by takes category",))
    refused("info", SAMPLE, "--by", "line", "--at", "9..9", status=2, words=("range A..B",))
    refused("info", SAMPLE, "--by", "line", "--at", "99999", words=("33456", "99999"))
    refused("info", FSDP, "--by", "line", "--at", "failure", words=("no failed request",))


@test
def diff_tells_what_changed_and_sums(tmp):
    same = json.loads(good("diff", SAMPLE, SAMPLE, "--json"))
    assert same["sentence"].startswith("The same at the peak of live: ")
    assert all(row["what"] == "same" for by in ("category", "module", "line") for row in same[by])
    assert good("diff", SAMPLE, SAMPLE).count("\n") == 4  # no row that says nothing
    peaks = json.loads(good("info", SAMPLE, "--json"))["phase_peaks"]
    assert {row["name"]: row["live_bytes"] for row in peaks} == {row["name"]: row["after_bytes"] for row in same["phase_peaks"]}
    at_failure = json.loads(good("diff", SAMPLE, SAMPLE, "--at", "failure", "--json"))
    assert at_failure["after"]["live_bytes"] < same["after"]["live_bytes"]
    told = json.loads(good("diff", FSDP, SAMPLE, "--json"))
    for by in "category", "module", "line":
        for side in "before", "after":
            assert sum(row[side + "_bytes"] for row in told[by]) == told[side]["live_bytes"], (by, side)
        sizes = [abs(row["after_bytes"] - row["before_bytes"]) for row in told[by]]
        assert sizes == sorted(sizes, reverse=True), by
    text = good("diff", FSDP, SAMPLE)
    assert text.startswith("+") and " GiB at the peak of live, " in text and "new" in text and "gone" in text
    assert "peak of each phase" in text
    event = "{},{},{},{},{},{}\n".format
    for name, size, phase in ("a", 1 << 30, "forward"), ("b", (1 << 30) + 512, ""), ("c", 1 << 29, "backward"):
        rows = event("alloc", "x", size, 0, phase, "layer") + event("free", "x", "", 0, phase, "")
        (tmp / f"{name}.csv").write_text("action,id,size_bytes,iteration,phase,module\n" + rows, encoding="utf-8")
    little = good("diff", tmp / "a.csv", tmp / "b.csv").splitlines()[0]
    assert little.endswith("(+0.0 %). The peak moved: it was in forward, and is outside of phases."), little
    assert "most in " in good("diff", tmp / "a.csv", tmp / "c.csv").splitlines()[0]
    refused("diff", FSDP, SAMPLE, "--at", "failure", words=("no failed request",))
    refused("diff", SAMPLE, status=2)
    refused("gate", "--", "python", "train.py", status=2, words=("--baseline MAIN.tsr",))
    refused("gate", "--baseline", SAMPLE, "--above", "2", "--", "true", status=2, words=("2%", "500MiB"))
    refused("gate", "--baseline", SAMPLE, "--above", "much", "--", "true", status=2, words=("2%", "500MiB", '"much"'))


@test
def rules_of_ones_own_come_first_and_stay_with_the_trace(tmp):
    mine, trace = tmp / "my.rules", tmp / "s.tsr"
    mine.write_text("KV cache: in torch/optim/:_init_group\n", encoding="utf-8")
    good("import", SAMPLE, "--rules", mine, "-o", trace)
    for arguments in (trace,), (SAMPLE, "--rules", mine):
        names = [row["name"] for row in json.loads(good("info", *arguments, "--by", "category", "--json"))["rows"]]
        assert "KV cache" in names and "optimizer state" not in names, names
    mine.write_text("# one\nlunch: kept\n", encoding="utf-8")
    refused("info", SAMPLE, "--by", "category", "--rules", mine, words=("my.rules, line 2", "lunch", "docs/CATEGORIES.md"))
    refused("import", SAMPLE, "--rules", tmp / "none", "-o", tmp / "t.tsr", words=("none cannot be read",))
    rules = (ROOT / "answers" / "categories.rules").read_text(encoding="utf-8")
    assert (ROOT / "docs" / "CATEGORIES.md").read_text(encoding="utf-8").endswith("```\n" + rules + "```\n")


@test
def samples_verify(tmp):
    out = good("simulate", "--verify", SAMPLE, FSDP)
    for line in out.splitlines():
        pairs = [word for word in line.split() if "/" in word and word.replace("/", "").isdigit()]
        assert len(pairs) == 4 and all(a == b for a, b in (p.split("/") for p in pairs)), line
    assert "addresses 11410/11410" in out and "addresses 26391/26391" in out, out


def altered_sample(path, change):
    with gzip.open(SAMPLE) as file:
        snapshot = pickle.load(file)
    change(snapshot)
    path.write_bytes(pickle.dumps(snapshot, 4))


@test
def one_changed_address_is_caught(tmp):
    trace_of = lambda snapshot: snapshot["device_traces"][0]
    seen = {}

    def move_alloc(snapshot):
        index = [i for i, entry in enumerate(trace_of(snapshot)) if entry["action"] == "alloc"][5000]
        seen["index"] = index
        trace_of(snapshot)[index] = dict(trace_of(snapshot)[index], addr=trace_of(snapshot)[index]["addr"] + 512)

    def grow_segment(snapshot):
        index = [i for i, entry in enumerate(trace_of(snapshot)) if entry["action"] == "segment_alloc"][40]
        seen["index"] = index
        trace_of(snapshot)[index] = dict(trace_of(snapshot)[index], size=trace_of(snapshot)[index]["size"] + (2 << 20))

    for change in (move_alloc, grow_segment):
        path = tmp / "altered.pickle"
        altered_sample(path, change)
        done = run("simulate", "--verify", path)
        assert done.returncode == 1, done.stdout
        assert str(seen["index"]) in done.stdout + done.stderr, (seen, done.stdout, done.stderr)


@test
def import_gives_the_same_answers(tmp):
    good("import", SAMPLE, "-o", tmp / "s.tsr")
    from_pickle = json.loads(good("info", SAMPLE, "--fast", "--json"))
    from_trace = json.loads(good("info", tmp / "s.tsr", "--fast", "--json"))
    for key in ("events", "blocks", "peak_reserved_bytes", "parts", "headline", "sentence"):
        assert from_pickle[key] == from_trace[key], key
    with sqlite3.connect(tmp / "s.tsr") as base:
        assert base.execute("SELECT count(*) FROM event").fetchone()[0] == from_pickle["events"]


@test
def plan_is_checked_followed_and_repeatable(tmp):
    for name in SAMPLE, FSDP:
        plan = json.loads(good("plan", name, "-o", tmp / "a.tsp", "--json"))
        assert plan["checked"] is True and plan["misses"] == 0 and plan["hits"] > 0, plan
        assert plan["bound_bytes"] <= plan["height_bytes"], plan
        again = json.loads(good("plan", name, "-o", tmp / "b.tsp", "--json"))
        assert again["slot_digest"] == plan["slot_digest"]
        good("check", tmp / "a.tsp", "--trace", name)
        followed = json.loads(good("simulate", name, "--policy", f"plan:{tmp / 'a.tsp'}", "--json"))
        assert followed["misses"] == 0 and followed["ooms"] == 0, followed
    # Which of the two does not fit: the plan by itself is whole, or it is not.
    refused("check", tmp / "a.tsp", "--trace", SAMPLE,
            words=(f"{SAMPLE}: is not the trace that {tmp / 'a.tsp'} was made from", "fingerprint", "breaks no law by itself"))
    good("import", FSDP, "-o", tmp / "f.tsr")
    good("check", tmp / "a.tsp", "--trace", tmp / "f.tsr")
    with sqlite3.connect(tmp / "f.tsr") as base:
        base.execute("UPDATE event SET size_bytes = size_bytes + 512 WHERE event_index = 1000")
    refused("check", tmp / "a.tsp", "--trace", tmp / "f.tsr", words=(f"{tmp / 'f.tsr'}: is not the trace", "changed since"))
    told = json.loads(run("check", tmp / "a.tsp", "--trace", tmp / "f.tsr", "--json").stdout)
    assert (told["law"], told["at_fault"]) == ("fingerprint", str(tmp / "f.tsr")), told
    with sqlite3.connect(tmp / "a.tsp") as base:
        base.execute("UPDATE slot SET offset_bytes = offset_bytes + 512 WHERE rowid = 500")
    refused("check", tmp / "a.tsp", "--trace", tmp / "f.tsr", words=(f"{tmp / 'a.tsp'}: breaks the law of",))
    told = json.loads(run("check", tmp / "a.tsp", "--trace", tmp / "f.tsr", "--json").stdout)
    assert told["at_fault"] == str(tmp / "a.tsp"), told
    assert json.loads(good("check", tmp / "b.tsp", "--json"))["at_fault"] is None


@test
def streams_share_one_pool_where_that_is_asked_for(tmp):
    apart, across = (json.loads(good("plan", FSDP, f"--{kind}", "--json", "-o", tmp / f"{kind}.tsp"))
                     for kind in ("streams-apart", "across-streams"))
    assert across["height_bytes"] < 0.8 * apart["height_bytes"], (across["height_bytes"], apart["height_bytes"])
    assert across["misses"] == 0 and across["barriers"] > 0 and apart["barriers"] == 0, across
    assert across["streams_apart_bytes"] == apart["height_bytes"] + apart["region_bytes"], across["streams_apart_bytes"]
    # What waits for what: every wait is of one pair of streams, and text says the same of a step.
    pairs = across["handovers"]
    assert 0 < sum(pair["waits"] for pair in pairs) < across["barriers"] and apart["handovers"] == [], across
    assert all(0 <= pair["waits"] <= pair["handovers"] > 0 for pair in pairs), pairs
    lines = good("plan", FSDP, "--across-streams").splitlines()
    said = lines.index(f"across streams: {sum(pair['waits'] for pair in pairs)} waits a step for memory that another stream used")
    shown = [[int(cell) for cell in line.split()] for line in lines[said + 2:said + 2 + len(pairs)]]
    assert shown == [[pair[key] for key in ("from_stream", "to_stream", "handovers", "waits")] for pair in pairs], (shown, pairs)
    good("check", tmp / "across-streams.tsp", "--trace", FSDP)
    # On a device of known size the plan is the one that waits least of those that fit.
    roomy, tight, tightest = (json.loads(good("plan", FSDP, "--across-streams", "--device-memory", memory, "--json"))
                              for memory in ("20GiB", "9.5GiB", "8.86GiB"))
    for told, plan in (roomy, apart), (tightest, across):
        assert (told["height_bytes"], told["barriers"]) == (plan["height_bytes"], plan["barriers"]), (told, plan)
    assert tight["barriers"] < across["barriers"] and across["height_bytes"] < tight["height_bytes"] <= 1.01 * across["height_bytes"], tight
    told = json.loads(good("plan", FSDP, "--json"))
    assert told["height_bytes"] == apart["height_bytes"], "nobody asked for it"
    refused("plan", FSDP, "--across-streams", "--streams-apart", words=("exclude each other",), status=2)


def write_mixture(path, steps=5, layers=10, experts=4):
    """A snapshot of steps whose experts ask for other sizes each time."""
    draw, events, notes, sizes = random.Random(1), [], [], {}

    def tell(action, addr):
        events.append({"action": action, "addr": addr, "size": sizes[addr], "stream": 0, "frames": [],
                       "time_us": 2 * len(events)})

    def ask(size):
        addr = (len(sizes) + 1) << 28
        sizes[addr] = size * 24
        tell("alloc", addr)
        return addr

    def let_go(addr):
        tell("free_requested", addr)
        tell("free_completed", addr)

    def note(step, stage):
        notes.append({"name": f"ProfilerStep#{step}", "stage": stage, "device": 0, "time_us": 2 * len(events) - 1})

    for layer in range(layers):
        ask(262144 + 2048 * layer)
    for step in range(steps):
        note(step, "START")
        kept = []
        for layer in range(layers):
            kept.append(ask(65536 + 2048 * layer))
            for _ in range(experts):
                mask, taken = ask(8192), ask(512 * draw.randrange(4, 120) + 256)
                kept.append(ask(512 * draw.randrange(4, 120) + 256))
                let_go(taken)
                let_go(ask(131072))
                let_go(mask)
        let_go(ask(1 << 20))
        while kept:
            gradient = ask(40960)
            let_go(kept.pop())
            let_go(gradient)
        note(step, "END")
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [events], "external_annotations": notes}))


@test
def small_blocks_without_room_have_regions(tmp):
    made, plan = tmp / "mixture.pickle", tmp / "plan.tsp"
    write_mixture(made)
    told = json.loads(good("plan", made, "--json", "-o", plan))
    assert told["rooms"] > 0 and told["region_bytes"] > 0, told
    good("check", plan, "--trace", made)


@test
def a_plan_that_is_worse_says_so(tmp):
    better = json.loads(good("plan", FSDP, "--json"))
    assert better["worse_than_recorded"] is False
    assert better["height_bytes"] < better["recorded_reserved_bytes"], better
    # Two streams take turns: apart, the plan needs both peaks; the run flushed in between.
    mib = 1 << 20
    entries, base = [], 1 << 40
    for stream, addr in ((0, base), (7, base + 64 * mib)):
        for action, size in (("segment_alloc", 64 * mib), ("alloc", 64 * mib), ("free_requested", 64 * mib),
                             ("free_completed", 64 * mib), ("segment_free", 64 * mib)):
            entries.append({"action": action, "addr": addr, "size": size, "stream": stream})
    (tmp / "turns.pickle").write_bytes(pickle.dumps({"segments": [], "device_traces": [entries]}, 4))
    worse = json.loads(good("plan", tmp / "turns.pickle", "--json"))
    assert worse["worse_than_recorded"] is True and worse["height_bytes"] == 128 * mib, worse
    assert "worse" in good("plan", tmp / "turns.pickle")


@test
def sample_plan_is_near_the_bound_and_says_why_it_is_not_followable(tmp):
    plan = json.loads(good("plan", SAMPLE, "--json"))
    assert plan["height_bytes"] <= plan["bound_bytes"] * 1.0005, plan
    assert plan["followable"] == "same batches only" and plan["follow_reason"], plan


@test
def a_damaged_plan_is_refused(tmp):
    good("plan", SAMPLE, "-o", tmp / "p.tsp")
    with sqlite3.connect(tmp / "p.tsp") as base:
        base.execute("UPDATE slot SET offset_bytes = offset_bytes + 512 WHERE rowid = 5000")
    done = run("check", tmp / "p.tsp")
    assert done.returncode == 1 and "law" in done.stderr, done.stderr


@test
def tables_export(tmp):
    good("export", SAMPLE, "-t", "blocks", "-o", tmp / "blocks.csv")
    good("export", SAMPLE, "-o", tmp / "blocks.json")
    with open(tmp / "blocks.csv", newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    as_json = json.loads(good("export", SAMPLE, "--json"))
    assert len(found) == 11411 and as_json == json.loads((tmp / "blocks.json").read_text())
    assert found == [{key: "" if value is None else str(value) for key, value in row.items()} for row in as_json]
    refused("export", SAMPLE, "-t", "events", status=2, words=("docs/FORMAT.md",))
    good("import", SAMPLE, "-o", tmp / "t.tsr")  # where they are
    good("plan", SAMPLE, "-o", tmp / "p.tsp")
    with sqlite3.connect(tmp / "t.tsr") as trace, sqlite3.connect(tmp / "p.tsp") as plan:
        assert trace.execute("SELECT count(*) FROM event").fetchone()[0] == 33457
        peaks = json.loads(good("info", SAMPLE, "--fast", "--json"))
        assert trace.execute("SELECT max(live_bytes), max(reserved_bytes) FROM usage").fetchone() == (
            peaks["peak_live_bytes"], peaks["peak_reserved_bytes"]), peaks
        assert plan.execute("SELECT count(*) FROM slot").fetchone()[0] == len(found)


@test
def pictures_and_report(tmp):
    good("render", SAMPLE, "-o", tmp / "p.png", "--size", "1280x720", "--scale", "2")
    data = (tmp / "p.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(data[16:20], "big") == 2560 and int.from_bytes(data[20:24], "big") == 1440
    good("render", SAMPLE, "-o", tmp / "p.svg", "--dark", "--axis", "events", "--colour", "size", "--stacked")
    assert "<svg" in (tmp / "p.svg").read_text()[:500]
    drawn = {}
    for key in (None, "category", "class"):  # with stacks, what a block is colours it unless something else is asked for
        good("render", SAMPLE, "-o", tmp / "k.png", "--no-plan", "--force", *(("--colour", key) if key else ()))
        drawn[key] = (tmp / "k.png").read_bytes()
    assert drawn[None] == drawn["category"] != drawn["class"]
    good("report", SAMPLE, "-o", tmp / "r.html")
    html = (tmp / "r.html").read_text()
    info = json.loads(good("info", SAMPLE, "--json"))
    assert info["headline"] in html and "data:image/png;base64," in html
    assert "http://" not in html and "https://" not in html
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in html.split("<h2>Whose the")[1].split("<h2>")[0].split("<tr>")]
    shown = {row[0]: row[1] for row in cells if row}
    text = good("info", SAMPLE)
    for row in info["whose"]["category"][:5] + info["whose"]["line"][:5]:  # names and numbers of info
        assert f"{shown[row['name']]} {100 * row['share']:5.1f} %" in text and row["name"] in shown, row
    todo = [unescape(row) for row in re.findall(r"<code>(.*?)</code>", html.split("<h2>What to do</h2>")[1].split("</table>")[0])]
    assert todo == [row["type"] for row in info["what_to_do"]] and len(todo) == 5, todo
    assert f"<p class=lead>{info['filling']}<br>" in html and f"{info['headline']}\n{info['filling']}\n" in text
    assert info["filling"].startswith(f"Refused in step 3, backward: {info['whose']['refused']}. Of 25.34 GiB in use: 31 % loss and logits (loss_utils.py"), info["filling"]
    good("report", FSDP, "-o", tmp / "f.html")  # without stacks: categories alone; none of its requests failed
    html = (tmp / "f.html").read_text()
    assert "<th>category" in html and "<th>line<th" not in html and "Refused" not in html and "Fullest in step 1, backward, with 8.71 GiB: 36 % optimizer state, " in html
    for bad in (("--size", "3x4"), ("--axis", "sideways"), ("--colour", "plaid"), ("--scale", "99")):
        refused("render", SAMPLE, "-o", tmp / "x.png", *bad, status=2)
    refused("render", SAMPLE, "-o", tmp / "x.bmp", status=2)


@test
def bad_files_get_one_sentence(tmp):
    (tmp / "empty.pickle").write_bytes(b"")
    (tmp / "notes.txt").write_text("hello, this is not a snapshot\n")
    (tmp / "evil.pickle").write_bytes(b"\x80\x02cos\nsystem\n(U\x04truetR.")
    (tmp / "evil0.pickle").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    (tmp / "evil4.pickle").write_bytes(b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.")
    (tmp / "list.pickle").write_bytes(pickle.dumps([1, 2, 3]))
    (tmp / "page.html").write_text("<!doctype html><html></html>")
    raw = gzip.open(SAMPLE).read()
    (tmp / "cut.pickle").write_bytes(raw[: len(raw) // 2])
    (tmp / "cut.pickle.gz").write_bytes(SAMPLE.read_bytes()[:100000])
    (tmp / "other.sqlite").unlink(missing_ok=True)
    with sqlite3.connect(tmp / "other.sqlite") as base:
        base.execute("CREATE TABLE t (x)")
    for name in ("empty.pickle", "notes.txt", "evil.pickle", "evil0.pickle", "evil4.pickle", "list.pickle", "page.html",
                 "cut.pickle", "cut.pickle.gz", "other.sqlite", "missing.pickle"):
        refused("info", tmp / name, words=(name,))
        refused("import", tmp / name, "-o", tmp / "out.tsr", words=(name,))
        assert not (tmp / "out.tsr").exists()
    (tmp / "loop").symlink_to(tmp / "loop")
    for name in ("loop", "missing.pickle", "notes.txt"):
        refused("info", tmp / name, words=(f"tessera: {tmp / name} ",))
        refused("edits", "list", tmp / name, words=(f"tessera: {tmp / name} ",))
    for command in ("info",), ("edits", "list"):
        refused(*command, tmp / "loop", words=("symbolic links",))
        refused(*command, tmp / "missing.pickle", words=("No such file",))
    refused("info", tmp, words=("folder",))
    refused("info", tmp / "evil.pickle", words=("GLOBAL",))
    refused("info", tmp / "evil4.pickle", words=("STACK_GLOBAL",))


def documented(base, name):
    """docs/FORMAT.md tells the file's version, every table and every column; rows' own numbers are told once."""
    text = (ROOT / "docs" / "FORMAT.md").read_text(encoding="utf-8")
    words = set(re.findall(r"`([a-z_]+)`", text))
    version, = re.findall(rf"^\| `{Path(name).suffix}` \|.*\| (\d+) \|$", text, re.MULTILINE)
    assert base.execute("PRAGMA user_version").fetchone() == (int(version),), version
    tables = [table for table, in base.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    for table in tables:
        columns = {row[1] for row in base.execute(f"PRAGMA table_info({table})")} - {f"{table}_index"}
        assert {table} | columns <= words, (table, ({table} | columns) - words)
    return len(tables)


@test
def a_plan_says_what_is_proven(tmp):
    whole = json.loads(good("plan", SAMPLE, "--json"))
    assert whole["optimal"] is True and whole["gap"] == 0 and whole["cut_short"] is False, whole
    assert whole["bound_bytes"] <= whole["proven_bound_bytes"] == whole["height_bytes"], whole


@test
def files_are_as_documented_and_those_of_the_future_are_refused(tmp):
    good("import", SAMPLE, "-o", tmp / "s.tsr")
    good("plan", SAMPLE, "-o", tmp / "p.tsp")
    for name in ("s.tsr", "p.tsp"):
        with sqlite3.connect(tmp / name) as base:
            assert documented(base, name) >= 6
        with sqlite3.connect(tmp / name) as base:
            base.execute("PRAGMA user_version = 9999")
    refused("info", tmp / "s.tsr", words=("s.tsr", "9999"))
    refused("check", tmp / "p.tsp", words=("p.tsp", "9999"))


@test
def a_full_disk_leaves_nothing_and_spares_the_old_file(tmp):
    (tmp / "kept.tsr").write_text("old")
    for target in ("kept.tsr", "new.tsr"):
        refused("import", SAMPLE, "-o", tmp / target, "--force", limit=200 * 1024, words=("larger than files may be",))
    for command, target in (("plan", "p.tsp"), ("export", "o.csv"), ("render", "o.png"), ("report", "o.html")):
        refused(command, SAMPLE, "-o", tmp / target, limit=20 * 1024, words=(target,))
    assert (tmp / "kept.tsr").read_text() == "old"
    assert sorted(os.listdir(tmp)) == ["kept.tsr"], os.listdir(tmp)


@test
def what_cannot_be_printed_is_an_error(tmp):
    with open("/dev/full", "w") as full:
        for command in (("info", SAMPLE), ("info", SAMPLE, "--json"), ("export", SAMPLE), ("plan", "--help"), ("--help",)):
            refused(*command, stdout=full, words=("cannot be written",))
    # No file of ours may take the place of a closed stream.
    for closed in (">&- 2>&- <&-", ">&-"):
        shell = ["sh", "-c", f"exec \"$@\" {closed}", "sh", TESSERA]
        done = subprocess.run([*shell, "plan", SAMPLE, "-o", tmp / "p.tsp"], stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1, closed
    assert done.stderr.strip() == "tessera: what was to be printed cannot be written: standard output is closed", done.stderr
    good("check", tmp / "p.tsp")
    done = subprocess.run([*shell, "edits", "export", SAMPLE, "-o", tmp / "e.json"])
    assert done.returncode == 0, "it had nothing to print"
    # Who reads only the first lines ends us as any other tool.
    head = subprocess.run(["sh", "-c", "\"$@\" | head -1", "sh", TESSERA, "export", SAMPLE], capture_output=True, text=True)
    assert head.stderr == "" and len(head.stdout.splitlines()) == 1, head


HOSTILE = "ph\x1b[7m\x07\r\n\u202e\x9b\u2028é"
SHOWN = "ph\\u001b[7m\\u0007\\u000d\\u000a\\u202e\\u009b\\u2028é"


@test
def names_from_files_cannot_reach_the_terminal(tmp):
    def entry(action, addr, at):
        return {"action": action, "addr": addr, "size": 4096, "stream": 0, "time_us": at,
                "frames": [{"filename": f"/x/{HOSTILE}.py", "line": 3, "name": HOSTILE}]}

    events = []
    for i in range(8):
        events += [entry(action, (1 << 30) + i * 4096, len(events) + k)
                   for k, action in enumerate(("alloc", "free_requested", "free_completed"))]
    notes = [{"name": HOSTILE, "stage": stage, "device": 0, "time_us": at} for stage, at in (("START", 0), ("END", 20))]
    trace, plan = tmp / f"{HOSTILE}.pickle", tmp / f"{HOSTILE}.tsp"
    trace.write_bytes(pickle.dumps({"segments": [], "device_traces": [events], "external_annotations": notes}))
    out = [good("explain", trace, "--by", by) for by in ("line", "phase")]
    assert all(SHOWN in text for text in out), out
    out += [good(*command) for command in (
        ("info", trace), ("plan", trace, "-o", plan), ("check", plan), ("compare", plan, plan, "--trace", trace),
        ("explain", trace, 0),
        ("import", trace, "-o", tmp / f"{HOSTILE}.tsr"), ("edits", "list", tmp / f"{HOSTILE}.tsr"), ("info", trace, "--json"))]
    out.append(run("simulate", "--verify", trace).stdout)
    out += [run(*command).stderr for command in (("check", trace), ("info", tmp / f"{HOSTILE}.gz"), (HOSTILE,), ("info", f"--{HOSTILE}"))]
    for text in out:
        assert "\\u001b[7m" in text, text
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", text), text
        assert not any(line.startswith(("\u202e", "\\u202e")) for line in text.splitlines()), text
    assert json.loads(good("info", trace, "--json"))["file"] == str(trace)
    good("report", trace, "-o", tmp / "r.html")
    page = (tmp / "r.html").read_text(encoding="utf-8")
    assert SHOWN in page and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", page)
    # A table is data: as it was.
    (tmp / "blocks.csv").write_bytes(subprocess.run([TESSERA, "export", trace, "-t", "blocks"], stdout=subprocess.PIPE).stdout)
    with (tmp / "blocks.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["born_phase"] == HOSTILE, rows[0]
    # The verdict names the line of a leak.
    kept = [entry("alloc", (1 << 30) + (i << 26), 10 * i) | {"size": 3 << 20} for i in range(6)]
    steps = [{"name": f"step {i}", "stage": stage, "device": 0, "time_us": 10 * i + at}
             for i in range(6) for stage, at in (("START", 0), ("END", 9))]
    (tmp / "leak.pickle").write_bytes(pickle.dumps({"segments": [], "device_traces": [kept], "external_annotations": steps}))
    assert f"Keeps 3.00 MiB more each step ({SHOWN}.py:3 {SHOWN})" in good("info", tmp / "leak.pickle")
    # A name that is no UTF-8 is one as well.
    done = subprocess.run([TESSERA, "info", os.fsencode(tmp) + b"/\xff\xc3.pickle"], stderr=subprocess.PIPE)
    assert b"\xff" not in done.stderr and b".pickle cannot be opened" in done.stderr, done.stderr


@test
def growth_is_told_line_by_line(tmp):
    rows = ["alloc,w,8388608,,init,model"]
    for i in range(12):  # two that each step keeps more of, one that steps use, one that the first keeps
        rows += [f"alloc,h{i},3145728,{i},forward,history", f"alloc,s{i},1048576,{i},forward,scores",
                 f"alloc,a{i},4194304,{i},forward,model", f"free,a{i},,{i},backward,model"]
        rows += [f"alloc,o,16777216,{i},optimizer,optimizer"] if i == 0 else []
    (tmp / "run.csv").write_text("action,id,size_bytes,iteration,phase,module\n" + "\n".join(rows) + "\n", encoding="utf-8")
    told = json.loads(good("info", tmp / "run.csv", "--growth", "--by", "module", "--json"))
    assert (told["first_step"], told["last_step"], told["after_bytes"] - told["before_bytes"]) == (2, 11, 36 << 20), told
    assert [(row["name"], row["step_bytes"]) for row in told["rows"] if row["step_bytes"]] == [("history", 3 << 20), ("scores", 1 << 20)]
    assert [row["after_blocks"] for row in told["rows"]][:2] == [11, 11] and sum(row["after_bytes"] for row in told["rows"]) == told["after_bytes"]
    text = good("info", tmp / "run.csv", "--growth", "--by", "module").splitlines()
    assert text[0] == "32.00 MiB are live where step 2 begins, 68.00 MiB where step 11 does. By module:" and len(text) == 4, text
    for sample in FSDP, SAMPLE:  # the second died in its last step
        assert "nothing grows" in good("info", sample, "--growth")
    refused("info", tmp / "run.csv", "--growth", "--at", "5", status=2, words=("--at",))
    (tmp / "short.csv").write_text("action,id,size_bytes\nalloc,a,512\n", encoding="utf-8")
    refused("info", tmp / "short.csv", "--growth", words=("short.csv has 0 steps",))


@test
def import_takes_no_more_than_others(tmp):
    (tmp / "huge.csv").write_text("action,id,size_bytes\n" + "".join(f"alloc,{i},{1 << 49}\n" for i in range(1025)))
    (tmp / "large.csv").write_text(f"action,id,size_bytes\nalloc,a,{1 << 50}\n")
    for name, words in (("huge.csv", "sum to more than 512 PiB"), ("large.csv", "no device has 1 PiB")):
        for command in (("info", "--fast"), ("plan",), ("export",), ("import", "-o", tmp / "o.tsr")):
            refused(command[0], tmp / name, *command[1:], words=(name, words))
        assert not (tmp / "o.tsr").exists()
    (tmp / "sizes.csv").write_text("action,id,size_bytes\nalloc,a,512\nfree,a,1024\n")
    told = "1 frees of another size than their allocation, which was taken"
    assert f"note: {told}\n" in good("import", tmp / "sizes.csv", "-o", tmp / "o.tsr")
    assert f"note: {told}\n" in good("info", tmp / "o.tsr")
    assert json.loads(good("info", tmp / "sizes.csv", "--json"))["notes"] == [told]


@test
def the_file_that_is_read_is_never_written(tmp):
    for name, arguments in (("s.pickle", ("import",)), ("s.pickle", ("plan",)), ("s.pickle", ("export",)),
                            ("s.pickle", ("report",)), ("s.png", ("render",))):
        (tmp / name).write_bytes(gzip.open(SAMPLE).read())
        (tmp / "hard.png").unlink(missing_ok=True)
        os.link(tmp / name, tmp / "hard.png")
        for output in (name, "hard.png"):
            before = (tmp / name).read_bytes()
            refused(*arguments, tmp / name, "-o", tmp / output, status=2, words=("-o",))
            assert (tmp / name).read_bytes() == before, (name, arguments)


@test
def outputs_that_cannot_be_are_refused_first(tmp):
    (tmp / "folder.png").mkdir()
    for command in ("import", "plan", "export", "report", "render"):
        for output in ("folder.png", "nowhere/o.png"):
            refused(command, SAMPLE, "-o", tmp / output, words=(output, "cannot be written"))
        refused(command, SAMPLE, "-o", "", status=2)
    assert os.listdir(tmp) == ["folder.png"]


WRITING = ((("import", SAMPLE), "t.tsr"), (("plan", SAMPLE), "p.tsp"), (("export", SAMPLE), "o.csv"),
           (("report", SAMPLE), "r.html"), (("render", SAMPLE, "--no-plan"), "p.png"), (("edits", "export", SAMPLE), "e.json"))


def is_same(name, written, wanted):
    """Pictures of the same data differ from run to run."""
    n = 24 if name.endswith(("png", "html")) else None
    return written[:n] == wanted[:n]


@test
def what_is_replaced_keeps_mode_owner_and_links(tmp):
    (tmp / "there").mkdir()
    owner = (os.getuid() or 1234, os.getgid() or 1235)
    for arguments, name in WRITING:
        target, link = tmp / "there" / name, tmp / name
        link.symlink_to(f"there/{name}")
        good(*arguments, "-o", link)  # a link to what is not there yet
        assert link.is_symlink() and target.stat().st_mode & 0o777 == 0o666 & ~UMASK, name
        first = target.read_bytes()
        target.chmod(0o640)
        os.chown(target, *owner)
        inode = target.stat().st_ino
        good(*arguments, "-o", link)
        now = target.stat()
        assert link.is_symlink() and is_same(name, target.read_bytes(), first), name
        assert (now.st_mode & 0o777, now.st_uid, now.st_gid) == (0o640, *owner) and now.st_ino != inode, (name, now)
    trace = tmp / "there" / "t.tsr"
    good("edits", "add", tmp / "t.tsr", "--kind", "cap", "--at", "80GiB")
    now = trace.stat()
    assert (tmp / "t.tsr").is_symlink() and (now.st_mode & 0o777, now.st_uid, now.st_gid) == (0o640, *owner), now
    assert sorted(os.listdir(tmp)) == sorted(["there", *(name for _, name in WRITING)])
    assert sorted(os.listdir(tmp / "there")) == sorted(name for _, name in WRITING)


@test
def what_is_something_else_is_not_overwritten(tmp):
    script = "import torch\n"
    (tmp / "empty").touch()
    for command, other, noun in (("import", ("plan",), "trace"), ("plan", ("import",), "plan")):
        (tmp / "train.py").write_text(script)
        good(*other, SAMPLE, "-o", tmp / "other")
        for name in "train.py", "other":
            before = (tmp / name).read_bytes()
            refused(command, SAMPLE, "-o", tmp / name, words=(name, f"no {noun}", "--force"))
            assert (tmp / name).read_bytes() == before
            good(command, SAMPLE, "-o", tmp / name, "--force")
            good(command, SAMPLE, "-o", tmp / name)
        (tmp / "other").unlink()
        good(command, SAMPLE, "-o", tmp / "empty")
        (tmp / "empty").write_bytes(b"")
    for name in "train.py", "t.tsr":
        (tmp / name).write_text(script)
        refused("record", "-o", tmp / name, "--", "true", words=(name, "no trace", "--force"))
        refused("run", "--plan", tmp / "t.tsr", "-o", tmp / name, "--", "true", status=2 if name == "t.tsr" else 1)
        refused("dry-run", "-o", tmp / name, "--", "true", words=(name, "no trace", "--force"))
        assert (tmp / name).read_text() == script
        forced = good("record", "-o", tmp / name, "--force", "--", "sh", "-c", "echo $TESSERA_FORCE")
        assert forced == "1\n" and (tmp / name).read_text() == script
    (tmp / "new.tsp").write_text(script)
    refused("dry-run", "-o", tmp / "new.tsr", "--", "true", words=("new.tsp", "no plan", "--force"))
    for command in "export", "report", "render":
        for other in "import", "plan":
            good(other, SAMPLE, "-o", tmp / "kept.png", "--force")
            before = (tmp / "kept.png").read_bytes()
            refused(command, SAMPLE, "-o", tmp / "kept.png", words=("kept.png", "a trace or plan would be lost", "--force"))
            assert (tmp / "kept.png").read_bytes() == before
            good(command, SAMPLE, "-o", tmp / "kept.png", "--force")
            good(command, SAMPLE, "-o", tmp / "kept.png")


@test
def devices_and_pipes_are_written_to(tmp):
    for arguments, name in WRITING:
        good(*arguments, "-o", tmp / name)
        wanted = (tmp / name).read_bytes()
        os.mkfifo(tmp / f"pipe-{name}")
        with subprocess.Popen([TESSERA, *arguments, "-o", tmp / f"pipe-{name}"], stdout=subprocess.DEVNULL) as running:
            assert is_same(name, (tmp / f"pipe-{name}").read_bytes(), wanted), name
        assert running.returncode == 0 and (tmp / f"pipe-{name}").is_fifo(), name
        # Before, the file's name or the device's link was given to another file.
        shell = ('{ echo first; "$@"; echo last; } > "$0" 2> /dev/null', tmp / "out", TESSERA, *arguments, "-o", "/dev/stdout")
        subprocess.run(["sh", "-c", *map(str, shell)], check=True)
        out = (tmp / "out").read_bytes()
        assert out[:6] == b"first\n" and out[-5:] == b"last\n" and is_same(name, out[6:-5], wanted), name
        done = subprocess.run([TESSERA, *arguments, "-o", "/dev/stdout"], capture_output=True, check=True)
        assert is_same(name, done.stdout, wanted), name
    good("plan", SAMPLE, "-o", "/dev/null")
    refused("plan", SAMPLE, "-o", "/dev/full", words=("/dev/full", "No space left"))
    assert Path("/dev/stdout").is_symlink() and Path("/dev/null").is_char_device()
    os.mkfifo(tmp / "pipe.tsr")
    refused("record", "-o", tmp / "pipe.tsr", "--", "true", words=("device or pipe",))


@test
def a_signal_ends_what_writes_and_leaves_nothing(tmp):
    """Nobody reads the pipe: the result is complete in a temporary file when the signal comes."""
    held = tmp / "held"
    held.mkdir()
    for number, (arguments, name) in zip(itertools.cycle((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)), WRITING):
        os.mkfifo(tmp / name)
        with subprocess.Popen([TESSERA, *arguments, "-o", tmp / name], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=dict(os.environ, TMPDIR=str(held))) as running:
            while not os.listdir(held):
                time.sleep(0.02)
            running.send_signal(number)
            said = running.communicate(timeout=60)
        assert running.returncode == -number and said[0] == "", (name, running.returncode, said)
        assert said[1].startswith(f"tessera: stopped by {number.name}") and said[1].count("\n") == 1, said
        assert os.listdir(held) == [], name
        (tmp / name).unlink()
    with subprocess.Popen([TESSERA, "plan", SAMPLE, "-o", tmp / "p.tsp"], stdout=subprocess.DEVNULL,
                          preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as running:
        while not list(tmp.glob("p.tsp*")) and running.poll() is None:
            running.send_signal(signal.SIGHUP)
            time.sleep(0.02)
    assert running.returncode == 0


@test
def a_signal_ends_what_works(tmp):
    """On a terminal it comes while the first line of progress is there."""
    large = tmp / "large.csv"
    with large.open("w") as file:
        file.write("action,id,size_bytes\n")
        file.writelines(f"alloc,{i},{512 + i * 7919 % 999 * 512}\n" + f"free,{i - 40},\n" * (i >= 40) for i in range(200000))
    for number, command in ((signal.SIGINT, "plan"), (signal.SIGTERM, "fit"), (signal.SIGHUP, "info")):
        seen = b""
        terminal, its = pty.openpty()
        with subprocess.Popen([TESSERA, command, large], stdout=subprocess.PIPE, stderr=its) as running:
            os.close(its)
            while b"%" not in seen:
                seen += os.read(terminal, 1000)
            running.send_signal(number)
            assert running.communicate(timeout=60)[0] == b""
        while b"before the end" not in seen:
            seen += os.read(terminal, 1000)
        os.close(terminal)
        assert running.returncode == -number, (command, running.returncode, seen)
        last = seen.decode().replace("\r\n", "\n").rsplit("\033[K", 1)[1]
        assert last.startswith(f"tessera: stopped by {number.name}"), seen


def write_varied(path, slots=700, steps=8):
    """Steps of one program with batches of other lengths, whose blocks live across each other: the plan by length takes a minute."""
    draw = random.Random(4)
    made = [(draw.randrange(3), draw.randrange(1, 60), draw.randrange(1, 400)) for _ in range(slots)]
    events, notes = [], []

    def entry(action, addr, size):
        events.append({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": len(events), "frames": []})

    for step in range(steps):
        length, dying = draw.randrange(1000, 4000), {}
        notes.append({"name": f"step {step}", "stage": "START", "device": 0, "time_us": len(events)})
        for i, (law, factor, life) in enumerate(made):
            block = (len(events) + 1) << 34, (32768 * factor, 1024 * factor * length, 16 * length * length)[law]
            entry("alloc", *block)
            dying.setdefault(min(i + life, slots - 1), []).append(block)
            for freed in dying.pop(i, ()):
                entry("free_requested", *freed)
                entry("free_completed", *freed)
        notes.append({"name": f"step {step}", "stage": "END", "device": 0, "time_us": len(events) - 1})
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [events], "external_annotations": notes}))


@test
def a_signal_ends_planning_by_length(tmp):
    """No progress is told of that part, and it once went on for seconds and then printed nothing."""
    write_varied(tmp / "varied.pickle")
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        seen = b""
        terminal, its = pty.openpty()
        with subprocess.Popen([TESSERA, "plan", tmp / "varied.pickle", "--budget", "1", "-o", tmp / "p.tsp"],
                              stdout=subprocess.PIPE, stderr=its) as running:
            os.close(its)
            while b"planning 100 %" not in seen:
                seen += os.read(terminal, 1000)
            time.sleep(0.5)  # on into the part by length
            running.send_signal(number)
            begun = time.monotonic()
            assert running.communicate(timeout=60)[0] == b""
            took = time.monotonic() - begun
        seen = os.read(terminal, 100000)
        os.close(terminal)
        assert running.returncode == -number and took < 2, (number, running.returncode, took)
        last = seen.decode().replace("\r\n", "\n").rsplit("\033[K", 1)[1]
        assert re.fullmatch(f"tessera: stopped by {number.name}( .ctrl-C.)? before the end\n", last), seen
        assert os.listdir(tmp) == ["varied.pickle"]


@test
def a_snapshot_without_history_says_so(tmp):
    blocks = [{"address": 1 << 30, "size": 2 << 20, "requested_size": 2 << 20, "state": "active_pending_free"}]
    segment = {"address": 1 << 30, "total_size": 2 << 20, "blocks": blocks, "device": 0}
    (tmp / "none.pickle").write_bytes(pickle.dumps({"segments": [], "device_traces": [[]]}, 4))
    (tmp / "moment.pickle").write_bytes(pickle.dumps({"segments": [segment], "device_traces": [[]]}, 4))
    for file in "none.pickle", "moment.pickle":
        for command in (("info",), ("render", "-o", tmp / "p.png"), ("report", "-o", tmp / "r.html"), ("plan",), ("fit",),
                        ("explain",), ("simulate", "--policy", "native"), ("import", "-o", tmp / "o.tsr"), ("export",)):
            refused(command[0], tmp / file, *command[1:], words=(file, "no events"))
    assert not (tmp / "o.tsr").exists()


@test
def a_viewer_without_display_is_one_sentence(tmp):
    names = ("DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "BROADWAY_DISPLAY", "GDK_BACKEND")
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        refused("view", SAMPLE, words=("display",))
        refused("view", tmp / "missing.pickle", words=("missing.pickle",))
    finally:
        os.environ.update(kept)


@test
def usage_mistakes_have_status_two(tmp):
    refused("fly", status=2)
    refused("info", status=2)
    refused("info", SAMPLE, "--no-such-option", status=2)
    refused("import", SAMPLE, status=2)
    refused("simulate", SAMPLE, status=2)
    refused("simulate", SAMPLE, "--policy", "magic", status=2)
    refused("info", SAMPLE, "--device-memory", "lots", status=2)
    refused("info", SAMPLE, "--device-memory", "99999999999999999999999", status=2)
    refused("info", SAMPLE, "--device", "-1", status=2)
    refused("info", SAMPLE, "--at", "-1", status=2)
    for most in (("--max-length", "0"), ("--max-length", "512,128"), ("--max-length", ""),
                 ("--max-batch", "0"), ("--max-batch", "-1"), ("--max-batch", "2,3"), ("--max-batch", "99999999999")):
        refused("plan", SAMPLE, *most, status=2, words=(most[0], "1 or more"))
    refused("info", "--", "-no-such-file", words=("-no-such-file",))
    assert run("--help").returncode == 0 and run("--version").returncode == 0
    for command in ("info", "import", "simulate", "fit", "plan", "check", "export", "render", "report", "view",
                    "dry-run", "record", "run"):
        assert command in good(command, "--help")


@test
def simulated_policies_report_their_peaks(tmp):
    native = json.loads(good("simulate", SAMPLE, "--policy", "native", "--json"))
    expandable = json.loads(good("simulate", SAMPLE, "--policy", "expandable", "--json"))
    small = json.loads(good("simulate", SAMPLE, "--policy", "native", "--device-memory", "30GiB", "--json"))
    assert native["ooms"] == 0 and expandable["ooms"] == 0 and small["ooms"] > 0
    assert expandable["peak_reserved_bytes"] < native["peak_reserved_bytes"]
    fit = json.loads(good("fit", SAMPLE, "--json"))
    for policy in ("native", "expandable"):
        need = fit[f"{policy}_bytes"]
        done = json.loads(good("simulate", SAMPLE, "--policy", policy, "--device-memory", need, "--json"))
        assert done["ooms"] == 0
        done = json.loads(good("simulate", SAMPLE, "--policy", policy, "--device-memory", need - (2 << 20), "--json"))
        assert done["ooms"] > 0


@test
def the_least_of_any_layout_is_the_lowest_row(tmp):
    for sample, rows in (SAMPLE, ["of any layout"]), (FSDP, ["with streams apart", "of any layout"]):
        assert re.findall(r"^  least ([a-z ]+?)  ", good("fit", sample), re.M) == rows


@test
def evaluations_are_not_counted_as_steps(tmp):
    rows = ["action,id,size_bytes,iteration,phase"]
    for step in range(12):
        for iteration, phase, sizes in [(step, "forward", (1, 2, 3))] + [("", "eval", (5, 4))] * (step % 3 == 2):
            rows += [f"{action},{phase}{step}-{size},{size << 20},{iteration},{phase}" for action in ("alloc", "free") for size in sizes]
    (tmp / "t.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert "yes: steps and what lies between come in 2 kinds (12 and 3 times)" in good("plan", tmp / "t.csv")


@test
def csv_becomes_a_plan(tmp):
    rows = ["seq,time_us,action,id,size_bytes,stream,iteration,phase,module"]
    seq = 0
    for step in range(3):
        for name, action in ((0, "alloc"), (1, "alloc"), (0, "free"), (2, "alloc"), (1, "free"), (2, "free")):
            rows.append(f"{seq},{seq * 10},{action},{step * 10 + name},{(name + 1) << 20},0,{step},forward,layer{name}")
            seq += 1
    (tmp / "t.csv").write_text("\n".join(rows) + "\n")
    plan = json.loads(good("plan", tmp / "t.csv", "-o", tmp / "t.tsp", "--json"))
    assert plan["bound_bytes"] == 5 << 20 and plan["height_bytes"] == 5 << 20, plan
    assert plan["followable"] == "yes" and plan["misses"] == 0, plan
    (tmp / "i.csv").write_text("id,lower,upper,size\na,0,2,10\nb,1,3,5\nc,2,4,10\n")
    plan = json.loads(good("plan", tmp / "i.csv", "--json"))
    assert plan["bound_bytes"] == 15 and plan["height_bytes"] == 15, plan
    (tmp / "bad.csv").write_text(rows[0] + "\n0,0,alloc,1,abc,0,0,forward,x\n")
    refused("plan", tmp / "bad.csv", words=("bad.csv", "line 2", "abc"))


@test
def plan_tells_height_bound_proof_and_seconds(tmp):
    (tmp / "i.csv").write_text("id,lower,upper,size\na,0,3,10\nb,2,5,10\nc,4,7,10\n")
    plan = json.loads(good("plan", tmp / "i.csv", "--json"))
    assert plan["bound_bytes"] == plan["height_bytes"] == 20 and plan["blocks"] == plan["slots"] == 3, plan
    assert plan["strategy"].startswith("free: ") and plan["proof"].startswith("optimal") and 0 <= plan["seconds"] < 60, plan
    assert good("plan", tmp / "i.csv").splitlines()[0].startswith("height 20 B, bound 20 B (0.000 % above), 3 slots, ")
    heights = subprocess.run([sys.executable, ROOT / "tests" / "evaluation" / "strategies.py", "--heights", tmp / "i.csv", SAMPLE],
                             capture_output=True, text=True, env={**os.environ, "TESSERA_BUILD_ROOT": str(Path(TESSERA).parents[1])})
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in heights.stdout.splitlines()]
    plan = json.loads(good("plan", SAMPLE, "--json"))
    assert [row[:3] for row in rows] == [["i", "3", "3"], ["finetune-oom", str(plan["blocks"]), str(plan["slots"])]], heights
    assert rows[0][5] == "1.0000" and rows[1][4] == f"{plan['height_bytes'] / (1 << 30):.3f}", rows


@test
def a_phase_of_its_own_for_every_request(tmp):
    n = 30000
    rows = ["seq,time_us,action,id,size_bytes,stream,iteration,phase,module"]
    rows += [f"{i},{i},alloc,{i},1024,0,{i},p{i},m" for i in range(n)]
    (tmp / "t.csv").write_text("\n".join(rows) + "\n")
    plan = json.loads(good("plan", tmp / "t.csv", "-o", tmp / "t.tsp", "--json"))
    assert plan["hits"] == n and plan["misses"] == 0, plan
    with sqlite3.connect(tmp / "t.tsp") as base:
        phases = base.execute("SELECT name FROM slot JOIN phase_name USING (phase) ORDER BY slot_index").fetchall()
    assert phases == [(f"p{i}",) for i in range(n)]


run_tests()
