#!/usr/bin/env python3
"""Rows of docs/EVALUATION.md: dry runs of single ranks, planned, and followed.

    evaluate.py ROW...            the row's ranks; then docs/evaluation/ROW.json and the table
    evaluate.py --follow ROW...   also a second run of the worst rank, of another seed, planned
    evaluate.py --check ROW...    writes nothing: is what comes of the row what is written there?
    evaluate.py --list            the rows
    evaluate.py --table           the table alone, from docs/evaluation

TESSERA_BUILD_ROOT names the build folder (build), TESSERA_TEST_PYTHON the Python with PyTorch and
megatron-core (python3). A row that is there already is replaced.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import table
from rows import ROWS

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TESSERA_BUILD_ROOT", SOURCE / "build")).resolve()
PYTHON = os.environ.get("TESSERA_TEST_PYTHON", "python3")
STEPS = 3
SEED, OTHER_SEED = 1, 2
ALLOC = 1  # event.action of a trace
# A row is the same each time; only a better planner may lower its plan.
EXACT = ("requests_a_step", "live_bytes", "bound_bytes", "native_bytes", "expandable_bytes")


def dry_run(row, rank, trace, seed, options=()):
    """What `tessera dry-run --json` answers about one rank."""
    command = [BUILD / "cli" / "tessera", "dry-run", "--json", "--no-stacks", "--gpu", row.gpu,
               "--world", row.world, "--rank", rank, "--steps", STEPS, "-o", trace, *options,
               "--", PYTHON, SOURCE / "examples" / "megatron_gpt.py", *row.arguments(),
               "--steps", STEPS + 1, "--seed", seed]
    chosen = {"OMP_NUM_THREADS": "1", "NULLCUDA_SEED": str(seed)}
    done = subprocess.run([str(word) for word in command], env={**os.environ, **chosen},
                          capture_output=True, text=True)
    if done.returncode not in (0, 3):  # 3: that GPU is too small
        sys.exit(f"{row.name}, rank {rank}: status {done.returncode}\n{done.stderr[-3000:]}")
    return json.loads(done.stdout)


def count_of(trace, sql):
    with closing(sqlite3.connect(f"file:{trace}?mode=ro", uri=True)) as database:
        (count,), = database.execute(f"SELECT count(*) FROM event {sql}", [ALLOC])
    return count


def requests_of_last_step(trace):
    return count_of(trace, ", (SELECT begin_index, end_index FROM step "
                    "ORDER BY begin_index DESC LIMIT 1) WHERE action = ? "
                    "AND event_index >= begin_index AND event_index < end_index")


def judge(row, rank, trace):
    answer = dry_run(row, rank, trace, SEED)
    live = answer["live_bytes"]
    native, plan = answer["native_endless_bytes"], answer["plan_endless_bytes"]
    return {
        "rank": rank,
        "requests_a_step": requests_of_last_step(trace),
        "trace_cpu_seconds": round(answer["trace_cpu_seconds"], 1),
        "plan_cpu_seconds": round(answer["plan_cpu_seconds"], 1),
        "live_bytes": live,
        "bound_bytes": answer["bound_bytes"],
        "native_bytes": native,
        "expandable_bytes": answer["expandable_endless_bytes"],
        "plan_bytes": plan,
        "smallest_native_bytes": answer["native_bytes"],
        "smallest_expandable_bytes": answer["expandable_bytes"],
        "smallest_plan_bytes": answer["plan_bytes"],
        "waste_removed": round(1 - (plan - live) / (native - live), 4),
        "followable": answer["followable"],
    }


def follow(row, rank, trace):
    """The plan beside @trace in a second process. Of a plan that it declines while it runs hits
    and misses are those until then."""
    plan = trace.with_suffix(".tsp")
    followed = trace.with_name("followed.tsr")
    answer = dry_run(row, rank, followed, OTHER_SEED, options=["--policy", "plan", "--plan", plan])
    seen = answer["recording"]
    if not seen["followed_plan"]:
        return {"rank": rank, "followed": False}
    return {"rank": rank, "followed": True, "declined_at_event": seen["declined_at_event"],
            "requests": count_of(followed, "WHERE action = ?"), "hits": seen["hits"], "misses": seen["misses"],
            "missed_bytes": seen["missed_bytes"], "pool_bytes": seen["pool_bytes"],
            "extra_bytes": seen["extra_bytes"]}


def evaluate(row, is_followed):
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        traces = {rank: Path(folder) / f"rank{rank}.tsr" for rank in row.ranks()}
        ranks = [judge(row, rank, trace) for rank, trace in traces.items()]
        worst = min(ranks, key=lambda each: each["waste_removed"])["rank"]
        followed = follow(row, worst, traces[worst]) if is_followed else None
    return {"row": row.name, "title": row.title, "options": row.options, "gpu": row.gpu,
            "world": row.world, "tensor": row.tensor, "pipeline": row.pipeline,
            "experts_over": row.experts_over, "batch": row.batch,
            "micro_batches": row.micro_batches, "length": row.length,
            "sequence_parallel": row.is_sequence_parallel, "steps": STEPS,
            "ranks": ranks, "following": followed}


def differences(written, found):
    """Sentences, none where a row is as it was written."""
    for old, new in zip(written["ranks"], found["ranks"], strict=True):
        for key in (*EXACT, "plan_bytes"):
            is_worse = new[key] > old[key] if key == "plan_bytes" else new[key] != old[key]
            if is_worse:
                yield f"{found['row']}, rank {new['rank']}: {key} {new[key]:,}, was {old[key]:,}"


def check(names):
    wrong = [sentence for name in names
             for sentence in differences(table.load(SOURCE, name), evaluate(ROWS[name], False))]
    print("\n".join(wrong) or f"as written: {', '.join(names)}")
    sys.exit(1 if wrong else 0)


def main():
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("rows", nargs="*", choices=[[], *ROWS], metavar="ROW")
    options.add_argument("--follow", action="store_true")
    options.add_argument("--check", action="store_true")
    options.add_argument("--list", action="store_true")
    options.add_argument("--table", action="store_true")
    args = options.parse_args()
    if args.list:
        print(*ROWS, sep="\n")
    elif not args.rows and not args.table:
        options.error("which row? (--list)")
    if args.check:
        check(args.rows)
    for name in args.rows:
        result = evaluate(ROWS[name], args.follow)
        table.save(SOURCE, result)
        print(json.dumps(result, indent=1))
    if args.rows or args.table:
        table.regenerate(SOURCE, ROWS)


main()
