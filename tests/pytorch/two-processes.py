#!/usr/bin/env python3
"""A plan made from one process is followed in another that does more than the first.

    two-processes.py NAME SHIM

Process A is recorded and planned. Process B has another seed, logs the norms of all weights,
evaluates and saves between steps, and brings its batches over on a stream of their own. The
shim between PyTorch and the library judges: what was handed out was free and aligned, and how
many of the requests that the plan knows were served as planned.

SPDX-License-Identifier: Apache-2.0
"""
import difflib
import json

import dry

# DDP rebuilds its buckets in the second step: a step that repeats is seen from the third on.
STEPS_OF_A, STEPS_OF_B = 5, 6
FIRST_STEADY = 2
MORE = ["--log-norms", "--evaluate-every", "2", "--save-every", "2", "--prefetch"]

LEAST_HIT = 0.999
MOST_EXTRA_BYTES = MOST_ABOVE_BYTES = 64 * dry.MIB
# Whose evaluations need more than that, in pages that the pool lends: only what is reserved above
# the plan is limited there. (bert: 244 MiB of extras, 4 reserved above)
BORROWS = {"bert"}
GRANULE_BYTES = 2 * dry.MIB  # the driver's


def job(trace, script, arguments, world, rank, steps, options=(), env=()):
    return dry.dry_run(trace, dry.EXAMPLES / f"{script}.py", *arguments, "--steps", steps + 1,
                       options=["--steps", steps, *dry.rank_options(world, rank), *options], env=env)


def known(planned, made):
    """Which of the requests made, by size and stream, process A makes too: the longest common
    order."""
    matcher = difflib.SequenceMatcher(None, planned, made, autojunk=False)
    return {made_at + i for _, made_at, n in matcher.get_matching_blocks() for i in range(n)}


def requests_of_step(trace, step):
    """(size, handle of the stream) of each."""
    begin, end = dry.steps_of(trace)[step]
    return dry.query(
        trace, "SELECT size_bytes, handle FROM event JOIN stream "
        "ON stream = stream_index AND stream.device = event.device WHERE action = ? "
        "AND event_index >= ? AND event_index < ? ORDER BY event_index", dry.ALLOC, begin, end)


def judge_step(report, step, made, planned):
    """Requests of 1 MiB and more all hit. Returns: requests that A makes too, those hit."""
    of_plan = known(planned, [(size, stream) for _, size, _, stream, *_ in made])
    n_known_hit = sum(made[i][2] for i in of_plan)
    large = [is_hit for _, size, is_hit, *_ in made if size >= dry.MIB]
    print(f"    step {step}: {len(made)} requests, {sum(r[2] for r in made)} hit; "
          f"{len(of_plan)} that process A makes, {n_known_hit} hit")
    report.expect(sum(large) == len(large) > 0,
                  f"{sum(large)} of {len(large)} requests of 1 MiB and more hit in step {step}")
    return len(of_plan), n_known_hit


def judge_steps(report, seen, planned, borrows):
    """The steady steps: requests that A makes too, large requests, memory beside the pool."""
    n_known = n_known_hit = most_extra = most_reserved = 0
    for step in range(FIRST_STEADY, STEPS_OF_B):
        made = [request for request in seen["requests"] if request[0] == step]
        n, n_hit = judge_step(report, step, made, planned)
        n_known, n_known_hit = n_known + n, n_known_hit + n_hit
        most_extra = max(most_extra, *(extra for *_, extra, _ in made))
        most_reserved = max(most_reserved, *(reserved for *_, reserved in made))
    report.expect(n_known_hit >= LEAST_HIT * n_known > 0,
                  f"{n_known_hit} of {n_known} requests of the plan hit "
                  f"({n_known_hit / max(n_known, 1):.3%})")
    if not borrows:
        report.expect(most_extra <= MOST_EXTRA_BYTES,
                      f"{most_extra / dry.MIB:.1f} MiB of extras in steady steps at most")
    above = most_reserved - seen["plan_height_bytes"]
    report.expect(above <= MOST_ABOVE_BYTES,
                  f"{most_extra / dry.MIB:.1f} MiB of extras, {above / dry.MIB:.1f} MiB reserved above "
                  "the plan in steady steps at most")


def judge_safety(report, seen):
    report.expect_safe(seen)
    report.expect(seen["plan_is_declined"] == 0, "the plan is followed to the end")
    report.expect(seen["reused"] > 0 and seen["marked"] > 0,
                  f"of {seen['reused']} that lie where others lay {seen['marked']} had work of "
                  f"another stream to wait for, {seen['crossed']} were small for large or large for small")
    report.expect(seen["hits"] == seen["hits_said"] > 0,
                  f"{seen['hits']} hits seen, {seen['hits_said']} said by the library")
    report.expect(seen["hits_span_bytes"] <= seen["plan_height_bytes"],
                  f"hits lie within {seen['hits_span_bytes']} bytes, the plan is "
                  f"{seen['plan_height_bytes']} high")


def judge_peak(report, seen):
    stated = seen["plan_height_bytes"] + seen["peak_extra_said"]
    off = seen["peak_reserved_bytes"] - stated  # below where idle pages of the pool were lent
    report.expect(seen["plan_height_bytes"] - stated <= off <= GRANULE_BYTES,
                  f"peak at the driver {seen['peak_reserved_bytes']:,} bytes = plan "
                  f"{seen['plan_height_bytes']:,} + extras {seen['peak_extra_said']:,} {off:+,}")


@dry.judge
def main(report, folder, name, shim):
    script, arguments, world, rank = dry.JOBS[name]
    first, second, report_path = (folder / each for each in ("a.tsr", "b.tsr", "shim.json"))
    job(first, script, ["--seed", "1", *arguments], world, rank, STEPS_OF_A)
    more = [*MORE, "--output", folder / "checkpoint.pt"]
    job(second, script, ["--seed", "2", *arguments, *more], world, rank, STEPS_OF_B,
        options=["--plan", first.with_suffix(".tsp")],
        env=dry.shim_env(shim, report_path))

    seen = json.loads(report_path.read_text(encoding="utf-8"))
    print(name)
    judge_steps(report, seen, requests_of_step(first, STEPS_OF_A - 1), name in BORROWS)
    judge_safety(report, seen)
    judge_peak(report, seen)
