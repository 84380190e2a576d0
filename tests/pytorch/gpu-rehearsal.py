#!/usr/bin/env python3
"""What a GPU is to show (docs/gpu/run.sh), rehearsed with tiny sizes where no GPU is: each script
runs to its end, says that its device was none, and its JSON has what it promises.

SPDX-License-Identifier: Apache-2.0
"""
import json

import dry

HEAD = {"name", "command", "date", "driver", "is_rehearsal", "device", "device_bytes", "torch", "cuda", "results"}
FIGURES = {"peak_allocated_bytes", "peak_reserved_bytes", "step_seconds", "first_steps", "retries", "beside_bytes",
           "out_of_memory"}
TIMED = {"nothing", "100 live, 4 KiB", "100 live, 4 MiB", "1000 live, 4 KiB", "1000 live, 4 MiB"}
N_SNAPSHOTS = 12
MOST_PACKED_BYTES = 5_000_000


def read(report, out, name):
    found = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    report.expect(set(found) == HEAD, f"{name}.json has {', '.join(sorted(found))}")
    report.expect(found["is_rehearsal"] and found["device"].startswith("null CUDA"),
                  f"{name}.json claims no GPU: {found['device']}")
    return found["results"]


def check_snapshots(report, found):
    for each in found:
        report.expect(each["verified"] and each["addresses_right"] == each["addresses"] > 500
                      and each["ooms_right"] == each["ooms"],
                      f"{each['name']}: {each['addresses_right']} of {each['addresses']} addresses")
    report.expect([each["ooms"] for each in found] == [0] * (N_SNAPSHOTS - 1) + [1],
                  f"the last of {N_SNAPSHOTS} dies, and the others do not")
    report.expect(sum(each["packed_bytes"] for each in found) < MOST_PACKED_BYTES,
                  "the snapshots are small")


def check_memory(report, found):
    for each in found:
        report.expect(all(set(each[policy]) == FIGURES
                          for policy in ("native", "expandable", "plan")),
                      f"{each['job']}: figures under three policies")
        report.expect(each["following"]["hits"] > 0 == each["following"]["misses"],
                      f"{each['following']['hits']} hits, no miss")
        report.expect(each["plan"]["peak_reserved_bytes"] < each["native"]["peak_reserved_bytes"],
                      "the plan reserves less than native")


def check_exact(report, found):
    for each in found:
        report.expect(each["native_is_native"] and each["plan_is_native"]
                      and each["digests"] == 2,
                      f"{each['job']}: {each['digests']} digests of the weights, all the same")
        report.expect(each["judged_requests"] > 1000 and not any(each["faults"].values()),
                      f"{each['judged_requests']} requests judged, no fault")


def check_calls(report, found):
    report.expect(set(found) == {"native", "expandable", "recorded", "plan"}
                  and all(each[key] > 0 for each in found.values() for key in TIMED),
                  f"nanoseconds under {', '.join(found)}")
    report.expect(found["plan"]["hits"] > 0 == found["plan"]["misses"],
                  f"{found['plan']['hits']} calls hit the plan, all")


def check_rescued(report, found):
    report.expect(found["native"]["out_of_memory"] and not found["plan"]["out_of_memory"],
                  f"{found['job']} dies natively and runs planned")
    report.expect(found["plan"]["peak_reserved_bytes"] <= found["limit_bytes"],
                  "the plan keeps the limit")
    report.expect(found["native_smaller"]["batch"] < found["plan"]["batch"],
                  f"native fits a batch of {found['native_smaller']['batch']}")


def check_against_dry_run(report, found):
    for each in found:
        report.expect(each["equal_in_order"] == each["requests"] == each["dry_requests"] > 1000,
                      f"{each['job']}: {each['requests']} requests, those of the dry run")
        report.expect(each["following"]["hits"] > 0 == each["following"]["misses"],
                      f"{each['following']['hits']} hits of the dry run's plan, no miss")


def check_smallest(report, found):
    for each in found:
        for policy in ("native", "expandable", "plan"):
            report.expect(each[policy]["smallest_bytes"] > 0 and each[policy]["dies_below"],
                          f"{each['job']}, {policy}: dies below its smallest device")
        report.expect(not each["plan"]["dies_there"], f"{each['job']}: completes on the plan's smallest device")


def check_strays(report, found):
    for each in found:
        report.expect(each["plan_is_declined"], f"{each['case']}: declined")


def check_turns(report, found):
    for each in found:
        report.expect(all(each[policy]["step_seconds"] > 0 for policy in ("native", "expandable", "plan")),
                      f"{each['job']}: seconds a step")


def check_head_room(report, found):
    report.expect({"context", "cuBLAS", "cuDNN"} <= set(found), f"head-room after {', '.join(found)}")


CHECKS = {"snapshots": check_snapshots, "memory": check_memory, "exact": check_exact,
          "calls": check_calls, "rescued": check_rescued,
          "against-dry-run": check_against_dry_run, "smallest": check_smallest, "strays": check_strays,
          "turns": check_turns, "head-room": check_head_room}


@dry.judge
def main(report, folder):
    print(dry.run(dry.SOURCE / "docs" / "gpu" / "run.sh", "--rehearse", folder,
                  env={"TESSERA_BUILD": str(dry.BUILD)}).stdout)
    for name, check in CHECKS.items():
        check(report, read(report, folder, name))
