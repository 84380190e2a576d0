#!/usr/bin/env python3
"""What `tessera export -t snapshot` writes of a recorded run, in PyTorch's own tools (torch.cuda._memory_viz), and the
snapshots that a program asks for while it runs.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pickle
import re
import sys

import dry
from torch.cuda import _memory_viz as viz


ASKS = """
import json, sys, torch
when = sys.argv[1] if len(sys.argv) > 1 else "first"
if when == "bounded":
    from tessera import snapshots
    snapshots.MOST_EVENTS = 60
if when == "full":
    from tessera import snapshots
    snapshots.MOST_EVENTS = 60
if when in ("first", "bounded", "full"):
    torch.cuda.memory._record_memory_history()
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(8):
    if when == "later" and step == 1:
        torch.cuda.memory._record_memory_history(max_entries=100000)
    model(torch.randn(64, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if when == "first" and step == 1:
        import os
        if os.fork() == 0:
            sys.exit(0)  # a child that ends as a program does
        os.wait()
    if when == "full" and step == 3:
        import tempfile
        tempfile.tempdir = "/no/such/folder"
    if step == 2:
        torch.cuda.memory._dump_snapshot("dumped.pickle")
        segments = torch.cuda.memory_snapshot()
        active = [block["size"] for s in segments for block in s["blocks"] if block["state"].startswith("active")]
        json.dump({"reserved": [sum(s["total_size"] for s in segments), torch.cuda.memory_reserved()],
                   "active": [sum(active), torch.cuda.memory_allocated()]}, open("asked.json", "w"))
"""


def check_asked(report, folder, under, events=(100, 1000)):
    """The program's own snapshots agree with what it is told of its memory, and hold its history."""
    asked = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
    for what, (of_snapshot, of_statistics) in asked.items():
        report.expect(of_snapshot == of_statistics > 0,
                      f"{under}: {what} is {of_snapshot:,} by the snapshot and {of_statistics:,} by the statistics")
    snapshot = pickle.loads((folder / "dumped.pickle").read_bytes())
    n_events = len(snapshot["device_traces"][0])
    report.expect(events[0] <= n_events <= events[1], f"{under}: the dumped snapshot has the history: {n_events} events")
    whole = json.loads(dry.tessera("info", "--json", folder / "dumped.pickle"))
    report.expect(whole["reserved_bytes"] == asked["reserved"][0], f"{under}: and is read as any other")


def check_unrecorded(report, folder, script):
    """A run that nobody records has the history that it asks for, from then on, and always a snapshot of what is held."""
    temporary = folder / "temporary"
    temporary.mkdir()
    for when, events in ("first", (200, 400)), ("bounded", (1, 120)), ("later", (100, 200)), ("never", (1, 1)):
        done = dry.run(dry.TESSERA, "run", "--plan", folder / "asks.tsp", "--", sys.executable, script, when, cwd=folder,
                       env={**dry.NULL_CUDA, "TMPDIR": str(temporary)})
        check_asked(report, folder, f"unrecorded, asked {when}", events=events)
        report.expect(re.search(r"followed by (\d+) of \1 requests", done.stderr), done.stderr.strip())
        report.expect(not list(temporary.glob("tessera-*")), "and nothing is left behind")
    done = dry.run(dry.TESSERA, "run", "--plan", folder / "asks.tsp", "--", sys.executable, script, "full", cwd=folder, env=dry.NULL_CUDA)
    report.expect("keeps no history: no folder" in done.stderr and "220 of 220" in done.stderr,
                  f"a history that cannot begin anew ends no training: {done.stderr.strip()}")


def check_asking(report, folder):
    script, trace = folder / "asks.py", folder / "asks.tsr"
    script.write_text(ASKS, encoding="utf-8")
    dry.dry_run(trace, script)
    check_asked(report, folder, "native")
    dry.tessera("plan", trace, "-o", folder / "asks.tsp")
    dry.dry_run(folder / "followed.tsr", script, options=("--plan", folder / "asks.tsp"))
    check_asked(report, folder, "under the plan")
    check_unrecorded(report, folder, script)


ALIKE = """
import torch
layers = [torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)) for _ in range(6)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(5):
    batch = torch.randn(8192, 512, device="cuda")
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
TOLD_WITHOUT = "parameter", "gradient", "optimizer state", "temporary of optimizer"


def whose(path, phase):
    """Bytes of each category at the peak of a phase."""
    peaks = {peak["name"]: peak["event_index"] for peak in json.loads(dry.tessera("info", path, "--by", "phase", "--json"))["phase_peaks"]}
    told = json.loads(dry.tessera("info", path, "--by", "category", "--at", peaks[phase], "--json"))
    return {row["name"]: row["bytes"] for row in told["rows"]}


def check_stackless(report, folder):
    """PyTorch's own snapshot without stacks has phases of the optimizer alone: what they do not tell is unknown, and
    no batch."""
    script, trace, snapshot = folder / "alike.py", folder / "alike.tsr", folder / "alike.pickle"
    script.write_text(ALIKE, encoding="utf-8")
    dry.dry_run(trace, script)
    dry.over_null(dry.SOURCE / "tests" / "pytorch" / "snapshot.py", snapshot, script)
    for phase, of_snapshot in ("backward", "(outside of phases)"), ("optimizer", "Optimizer.step#AdamW.step"):
        truth, told = whose(trace, phase), whose(snapshot, of_snapshot)
        named = {name: told.get(name, 0) for name in TOLD_WITHOUT}
        report.expect(named == {name: truth.get(name, 0) for name in named}, f"without stacks, at the peak of {phase}: {named}")
        unknown = sum(n for name, n in told.items() if name.startswith("unknown"))
        report.expect(sum(told.values()) - unknown == sum(named.values()), f"and nothing is guessed: {told}")


@dry.judge
def main(report, folder):
    trace, out = folder / "run.tsr", folder / "out.pickle"
    dry.dry_run(trace, dry.EXAMPLES / "gpt.py", options=("--for", "30"))
    dry.tessera("export", trace, "-t", "snapshot", "-o", out)
    with out.open("rb") as file:
        snapshot = pickle.load(file)
    (n_events,), = dry.query(trace, "SELECT count(*) FROM event")
    report.expect(len(snapshot["device_traces"][0]) == n_events > 1000, "all events are there")
    reserved = sum(segment["total_size"] for segment in snapshot["segments"])
    report.expect(f"total_reserved: {viz.Bytes(reserved)}" in viz.segsum(snapshot), "segsum() adds the segments up")
    report.expect(viz.trace(snapshot).count("\n") > n_events, "trace() tells each event")
    for name, page in (("trace_plot", viz.trace_plot(snapshot)), ("segment_plot", viz.segment_plot(snapshot))):
        report.expect("MemoryViz" in page and len(page) > len(pickle.dumps(snapshot)) // 2, f"{name}() makes a page")
    report.expect("inactive" in viz.memory(snapshot, format_flamegraph=str), "memory() tells what was held")
    lines = {frame["filename"].rpartition("/")[2] for event in snapshot["device_traces"][0] for frame in event["frames"]}
    report.expect("models.py" in lines, "events name the lines of the script")
    check_asking(report, folder)
    check_stackless(report, folder)
