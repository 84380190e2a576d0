#!/usr/bin/env python3
"""Prints, file by file: MB/s of opening (to the verdict) against Python's own unpickling, peak memory over file size,
simulated events/s, plan seconds and height over bound. The samples, and real traces where present.

files.py TESSERA SOURCE_ROOT [BIG_MEGABYTES]

SPDX-License-Identifier: Apache-2.0
"""
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESSERA, ROOT = sys.argv[1], Path(sys.argv[2])
BIG = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
SHARED = Path(os.environ.get("TESSERA_SHARED_DATA", ROOT / ".." / "shared" / "data"))


def timed(*arguments):
    """CPU seconds, wall seconds, peak bytes, output of one run of the command."""
    begin = time.monotonic()
    process = subprocess.Popen([TESSERA, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{arguments}: {err.decode()}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss * 1024, out.decode()


def unpickle_seconds(path):
    """Python's own reader in a process of its own: the baseline of the same run."""
    code = "import pickle,sys,time;b=time.process_time();pickle.load(open(sys.argv[1],'rb'));print(time.process_time()-b)"
    return float(subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True).stdout)


def one(path, folder, plan=True, baseline=True):
    raw = Path(path)
    if raw.suffix == ".gz":
        raw = Path(folder) / raw.stem
        raw.write_bytes(gzip.open(path).read())
    size = raw.stat().st_size
    opened, wall, peak, out = timed("info", raw, "--fast", "--json")
    events = json.loads(out)["events"]
    written, _, _, _ = timed("import", raw, "-o", Path(folder) / "t.tsr")
    row = (f"{raw.name:36} {size / 1e6:8.1f} MB  open {size / 1e6 / opened:5.0f} MB/s, {wall:6.2f} s, peak {peak / 1e6:6.0f} MB"
           f" ({peak / size:5.2f} x file); import with writing {size / 1e6 / written:5.0f} MB/s")
    if baseline:
        row += f"; open {unpickle_seconds(raw) / opened:5.2f} x as fast as Python's pickle"
    print(row, flush=True)
    if plan:
        native, _, _, _ = timed("simulate", raw, "--policy", "native", "--json")
        found = json.loads(timed("plan", raw, "--json")[3])
        print(f"{'':36} simulate {events / max(native, 1e-3) / 1e6:6.2f} M events/s with opening; plan {found['seconds']:6.3f} s, "
              f"height/bound {found['height_bytes'] / max(found['bound_bytes'], 1):.6f}, hits {found['hits']}, misses {found['misses']}", flush=True)
    (Path(folder) / "t.tsr").unlink()


def open_a_million(base, folder):
    """Opens a trace of about a million blocks, to the layout that the viewer draws."""
    snapshot, trace = Path(folder) / "million.pickle", Path(folder) / "million.tsr"
    subprocess.run([sys.executable, ROOT / "tests" / "bench" / "repeat.py", base, "575", snapshot], check=True)
    timed("import", snapshot, "-o", trace)
    cpu, wall, peak, out = timed("info", trace, "--fast", "--json")
    found = json.loads(out)
    begin = time.process_time()
    with sqlite3.connect(trace) as base:
        base.execute("SELECT total(addr), total(size_bytes) FROM event").fetchone()
    baseline = time.process_time() - begin
    print(f"open {found['blocks']} blocks, {found['events']} events (.tsr): {cpu:.2f} s CPU, {wall:.2f} s, "
          f"peak {peak / 1e6:.0f} MB; {cpu / baseline:.1f} x one SQL pass over its events", flush=True)


def main():
    files = sorted((ROOT / "samples").glob("*.gz"))
    if SHARED.is_dir():
        for part in ("sample", "snapshots/real", "snapshots/jobs"):
            files += sorted(p for p in (SHARED / part).glob("*.pickle*"))
    else:
        print(f"{SHARED} is not there: the samples only")
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            one(path, folder)
        base = SHARED / "snapshots/real/large-ctx256-fullstep.pickle"
        base = base if base.exists() else ROOT / "samples" / "finetune-oom.pickle.gz"
        big = Path(folder) / "big.pickle"
        subprocess.run([sys.executable, ROOT / "tests" / "bench" / "repeat.py", base, str(BIG), big], check=True)
        one(big, folder, plan=False, baseline=False)
        open_a_million(base, folder)


main()
