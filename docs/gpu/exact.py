#!/usr/bin/env python3
"""The same bits: 100 steps native twice, then under a plan, with deterministic algorithms. Where
native differs from native, the plan is not to blame. An independent judge (tests/pytorch/shim.c)
stands between PyTorch and the library while the plan is followed.

SPDX-License-Identifier: Apache-2.0
"""
import json
from concurrent.futures import ThreadPoolExecutor

from bench import BUILD, Bench, label, one_rank

STEPS, DIGEST_EVERY = 100, 5
JOBS = [["gpt"], ["gpt", "--recompute"], ["llama"], ["finetune"], ["fsdp2"], ["fsdp1"],
        ["accumulate", "--save-every", "0"]]
REHEARSED_STEPS, REHEARSED_EVERY, REHEARSED = 4, 2, [["gpt"]]
AT_ONCE = 5
#: What the judge counts, and must not.
FAULTS = ("overlaps", "misaligned", "unknown_frees", "failed", "of_another_stream", "pending",
          "of_another_kind")


def compare(bench, job, steps, every):
    env = one_rank() if job[0].startswith("fsdp") else {}
    probed = ["--deterministic", "--digest-every", every]
    longer = [*job, "--steps", steps]
    _, plan = bench.plan([*job, "--steps", "5"], env=env)
    first, second = (bench.example(longer, *probed, env=env)["digests"] for _ in range(2))
    report = plan.with_suffix(".json")
    under = bench.example(longer, *probed, under=["run", "--plan", plan],
                          env=env | {"TESSERA_LIBRARY": str(BUILD / "tests" / "pytorch" / "libtessera-shim.so"),
                                     "TESSERA_SHIM_REPORT": str(report)})
    seen = json.loads(report.read_text(encoding="utf-8"))
    planned = under["digests"]
    return {"job": label(job), "steps": steps, "digests": len(first),
            "native_is_native": first == second, "plan_is_native": planned == first,
            "first_difference": next((i for i, (a, b) in enumerate(zip(first, planned)) if a != b),
                                     None),
            **{key: under["plan"].get(key) for key in ("hits", "misses", "plan_is_declined")},
            "judged_requests": len(seen["requests"]), "faults": {key: seen[key] for key in FAULTS}}


def attempt(bench, job, steps, every):
    """One job that fails ends no other."""
    try:
        return compare(bench, job, steps, every)
    except SystemExit as error:
        return {"job": label(job), "failed": str(error)}


def main():
    bench = Bench(__doc__, JOBS, REHEARSED)
    steps, every, at_once = ((REHEARSED_STEPS, REHEARSED_EVERY, 1) if bench.is_rehearsal
                             else (STEPS, DIGEST_EVERY, AT_ONCE))
    with ThreadPoolExecutor(at_once) as pool:
        bench.save("exact", list(pool.map(lambda job: attempt(bench, job, steps, every), bench.jobs)))


main()
