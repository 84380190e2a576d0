# SPDX-License-Identifier: Apache-2.0
"""A rank of a job that writes its trace itself, without PyTorch."""

# SIZES: a Python expression of what rank r of w keeps, in MiB; FAILS: a rank whose script fails; GROUPS: the topology that
# its process groups tell.
TRAIN = """#!/usr/bin/env python3
import os, sqlite3, subprocess, sys
r, w = int(os.environ["TESSERA_RANK"]), int(os.environ["TESSERA_WORLD"])
if r == int(os.environ.get("FAILS", -1)):
    sys.exit("ValueError: no rank 5")
size = eval(os.environ["SIZES"])
trace = os.environ["TESSERA_RECORD"]
rows = ["action,id,size_bytes,iteration", f"alloc,kept,{size << 20},"]
rows += [f"{action},{step},{1 << 20},{step}" for step in range(3) for action in ("alloc", "free")]
open(trace + ".csv", "w").write("\\n".join(rows) + "\\n")
subprocess.run([os.environ["IMPORTER"], "import", trace + ".csv", "-o", trace], check=True)
os.unlink(trace + ".csv")
with sqlite3.connect(trace) as base:
    n = base.execute("SELECT count(*) FROM meta").fetchone()[0]
    meta = [("rank", str(r)), ("world", str(w))] + ([("topology", os.environ["GROUPS"])] if "GROUPS" in os.environ else [])
    base.executemany("INSERT INTO meta VALUES (?, ?, ?)", [(n + i, *each) for i, each in enumerate(meta)])
"""
