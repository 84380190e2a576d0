#!/usr/bin/env python3
"""Nanoseconds that an allocation and its release take under each allocator, Python's call
included: "nothing" is the same loop around a call that does nothing.

SPDX-License-Identifier: Apache-2.0
"""
import json

from bench import EXPANDABLE, HERE, Bench


def measure(bench, **how):
    facts = bench.folder / "calls.json"
    facts.unlink(missing_ok=True)
    bench.python(HERE / "calls_loop.py", facts, *(["--short"] if bench.is_rehearsal else []), **how)
    return json.loads(facts.read_text(encoding="utf-8"))


def main():
    bench = Bench(__doc__)
    trace = bench.folder / "calls.tsr"
    plan = trace.with_suffix(".tsp")
    bench.example(["gpt", "--steps", "1"])  # which device this is
    results = {"native": measure(bench), "expandable": measure(bench, env=EXPANDABLE),
               "recorded": measure(bench, under=["record", "-o", trace])}
    bench.tessera("plan", trace, "-o", plan)
    results["plan"] = measure(bench, under=["run", "--plan", plan])
    bench.save("calls", results)


main()
