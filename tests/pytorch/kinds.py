#!/usr/bin/env python3
"""Steps of several kinds: a short run that evaluates now and then is recorded and planned, and a
longer one of another seed and another rhythm, which saves as well, follows that plan: nothing
misses, and next to nothing is reserved that is not allocated.

SPDX-License-Identifier: Apache-2.0
"""
import json

import dry

# The evaluation gives its results the names that training gives them.
INLINE = """
import sys, torch
steps, every = int(sys.argv[1]), int(sys.argv[2])
model = torch.nn.Sequential(torch.nn.Embedding(4000, 256), torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 4000)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
loss_of = torch.nn.CrossEntropyLoss()
for step in range(steps):
    tokens = torch.randint(4000, (4096,), device="cuda")
    outputs = model(tokens)
    loss = loss_of(outputs, tokens)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % every == every - 1:
        model.eval()
        with torch.no_grad():
            for _ in range(2):
                outputs = model(tokens)
                loss = loss_of(outputs, tokens)
        model.train()
"""
# script, run A, run B, requests that may miss
JOBS = [
    ("gpt.py", ["--steps", 8, "--evaluate-every", 3],
     ["--steps", 13, "--evaluate-every", 4, "--save-every", 5, "--seed", 7], 0),
    ("accumulate.py", ["--steps", 12, "--evaluate-every", 4, "--save-every", 0, "--fewer-every", 3],
     ["--steps", 10, "--evaluate-every", 3, "--save-every", 4, "--fewer-every", 2, "--seed", 7], 0.001),
    ("bert.py", ["--steps", 12, "--evaluate-every", 4], ["--steps", 16, "--evaluate-every", 3, "--seed", 7], 0),
    ("inline.py", [24, 5], [40, 7], 0.001),
]
TWO_LAYOUTS = ("bert.py", "inline.py")  # what a step gave is there until the next has given the same
MOST_RESERVED = 1.02


def judge(report, folder, script, first, second, may_miss):
    made, seen, plan = folder / "a.tsr", folder / "b.tsr", folder / "a.tsp"
    whole = ["--no-stacks", "--steps", "40-40"]  # to the program's own end
    path = dry.EXAMPLES / script
    if script == "inline.py":
        path = folder / script
        path.write_text(INLINE, encoding="utf-8")
    dry.dry_run(made, path, *first, options=whole)
    dry.tessera("plan", made, "-o", plan)
    kinds = dry.query(plan, "SELECT n_steps FROM section WHERE repeats")
    layouts = dry.query(plan, "SELECT count(*) FROM section WHERE alternate = 2")[0][0]
    report.expect((layouts > 0) == (script in TWO_LAYOUTS), f"{script}: {layouts} second layouts")
    report.expect(len(kinds) > 1, f"{script}: {len(kinds)} kinds of step, {[n for n, in kinds]} times")
    dry.dry_run(seen, path, *second, options=[*whole, "--plan", plan])
    recording = json.loads(dry.tessera("info", "--fast", "--json", seen))
    recording = recording.get("recording", recording)
    hits, misses = recording["hits"], recording["misses"]
    report.expect(hits > 1000 and misses <= may_miss * hits, f"{script}: {hits} hits, {misses} misses")
    own = json.loads(dry.tessera("simulate", "--json", "--policy", f"plan:{plan}", seen))
    expandable = json.loads(dry.tessera("simulate", "--json", "--policy", "expandable", seen))
    own, expandable = (one if isinstance(one, dict) else one[0] for one in (own, expandable))
    reserved, allocated = own["peak_reserved_bytes"], own["peak_allocated_bytes"]
    report.expect(reserved <= MOST_RESERVED * allocated and reserved < expandable["peak_reserved_bytes"],
                  f"{script}: reserved {reserved / allocated:.4f} of peak allocated, expandable "
                  f"{expandable['peak_reserved_bytes'] / allocated:.4f}")


@dry.judge
def main(report, folder):
    for job in JOBS:
        judge(report, folder, *job)
