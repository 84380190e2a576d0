#!/usr/bin/env python3
"""What `tessera export -t snapshot` writes of a recorded run, in PyTorch's own tools (torch.cuda._memory_viz).

SPDX-License-Identifier: Apache-2.0
"""
import pickle

import dry
from torch.cuda import _memory_viz as viz


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
