#!/usr/bin/env python3
"""A job of 16 ranks, four pipeline stages that are sharded over four devices each: half of the ranks run, all get a
plan, and one of each stage follows its own, which reserves no more than PyTorch's policies.

SPDX-License-Identifier: Apache-2.0
"""
import json
import sys

import dry

WORLD, STAGES = 16, 4
SCRIPT = dry.EXAMPLES / "pipeline.py"
LEAST_HIT = 0.999


def follow(folder, rank, world=WORLD):
    """(the answer of a dry run that follows the rank's plan, what it says on stderr)"""
    done = dry.run(dry.TESSERA, "dry-run", "--json", "--events", 0, "--steps", 3, "--no-stacks", "--world", world, "--rank", rank,
                   "--plan", folder / "plans", "-o", folder / f"followed-{rank}.tsr", "--", sys.executable, SCRIPT)
    return json.loads(done.stdout), done.stderr


def judge_kinds(report, answer):
    kinds = {kind["where"]: kind for kind in answer["kinds"]}
    report.expect(answer["topology"] == "pp=4 dp=4", f"the groups tell the topology {answer['topology']}")
    report.expect({where: kind["ranks"] for where, kind in kinds.items()} ==
                  {f"stage {i}": list(range(4 * i, 4 * i + 4)) for i in range(STAGES)}, "each stage's ranks are alike")
    ran = [file["rank"] for file in answer["files"] if not file["taken"]]
    report.expect(ran == [0, 3, 4, 7, 8, 11, 12, 15], f"{len(ran)} of {answer['ranks']} ranks ran")
    report.expect("(stage 3) need most" in answer["sentence"] and "module logits" in answer["sentence"], answer["sentence"])
    return kinds


@dry.judge
def main(report, folder):
    dry.tessera("dry-run", "--world", WORLD, "--all-ranks", "--steps", 3, "-o", folder / "job", "--", sys.executable, SCRIPT)
    kinds = judge_kinds(report, json.loads(
        dry.tessera("job", folder / "job", "--plans", folder / "plans", "--across-streams", "--json")))
    for stage in range(STAGES):
        rank = 4 * stage + stage % 3 + 1  # ranks that ran, and that did not
        answer, _ = follow(folder, rank)
        served, kind = answer["recording"], kinds[f"stage {stage}"]
        others = {name: kind[f"{name}_bytes"] / dry.MIB for name in ("native", "expandable")}
        reserved = (served["pool_bytes"] + served["extra_bytes"]) / dry.MIB
        report.expect(served["hits"] >= LEAST_HIT * (served["hits"] + served["misses"]) > 0,
                      f"rank {rank}: {served['hits']} requests hit, {served['misses']} miss")
        report.expect(reserved <= min(others.values()), f"rank {rank}: {reserved:.0f} MiB reserved, the smallest device "
                      f"is of {others['native']:.0f} natively, {others['expandable']:.0f} with expandable segments")
    _, said = follow(folder, 3, world=8)
    report.expect("it was made for rank 3 of 16, and this is rank 3 of 8" in said, said.splitlines()[0])
