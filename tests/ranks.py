#!/usr/bin/env python3
"""`tessera job`: the ranks of a job beside each other, as a person would ask; prints TAP.

    ranks.py TESSERA SOURCE-ROOT

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

from command import FSDP, SAMPLE, TESSERA, good, refused, run
from tap import run_tests, test

MIB = 1 << 20


def table(embed=8, hidden=4, steps=4, layers=6):
    """A training run in MiB: what an embedding and each layer keeps, and activations of each step."""
    rows, n = [], 0

    def row(action, block, size, step, phase, module):
        rows.append(f"{action},{block},{size * MIB},{step},{phase},{module}")

    row("alloc", "embed", embed, "", "init", "model.embed")
    for layer in range(layers):
        row("alloc", f"w{layer}", hidden, "", "init", f"model.layers.{layer}")
    for step in range(steps):
        for layer in range(layers):
            row("alloc", f"a{n}", 2 * hidden, step, "forward", f"model.layers.{layer}")
            n += 1
        for layer in reversed(range(layers)):
            n -= 1
            row("alloc", f"g{step}.{layer}", hidden, step, "backward", f"model.layers.{layer}")
            row("free", f"a{n}", 2 * hidden, step, "backward", f"model.layers.{layer}")
            row("free", f"g{step}.{layer}", hidden, step, "backward", f"model.layers.{layer}")
        n += layers
    return ["action,id,size_bytes,iteration,phase,module", *rows]


def write(path, rows):
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def recorded(path, rank, world, rows):
    """A trace that says itself which rank it is."""
    write(path.with_suffix(".csv"), rows)
    good("import", path.with_suffix(".csv"), "-o", path)
    path.with_suffix(".csv").unlink()
    with sqlite3.connect(path) as trace:
        n = trace.execute("SELECT count(*) FROM meta").fetchone()[0]
        trace.executemany("INSERT INTO meta VALUES (?, ?, ?)", [(n, "rank", str(rank)), (n + 1, "world", str(world))])


def asked(*arguments):
    return json.loads(good("job", *arguments, "--json"))


def ranks_of(answer):
    return [kind["ranks"] for kind in answer["kinds"]]


@test
def equal_ranks_are_one_row_and_the_fullest_comes_first(tmp):
    for rank in range(8):
        write(tmp / f"run-rank{rank}.csv", table(embed=40 if rank == 5 else 8))
    text = good("job", tmp)
    first, _, head, worst, others = text.splitlines()[:5]
    assert first == ("Rank 5 needs most: 116.00 MiB of live at the peak, 32.00 MiB (38.1 %) more than ranks 0-4, 6-7 (the least): "
                     "most in module model.embed (+32.00 MiB), by line (init of model.embed), parameter (+32.00 MiB)."), first
    assert head.split()[:3] == ["ranks", "live", "reserved"] and worst.split()[:3] == ["5", "116.00", "MiB"], text
    assert others.split()[:4] == ["0-4,", "6-7", "(x", "7)"], text
    answer = asked(tmp)
    assert answer["sentence"] == first and ranks_of(answer) == [[5], [0, 1, 2, 3, 4, 6, 7]] and answer["failed"] == 0
    assert [file["rank"] for file in answer["files"]] == list(range(8)) and not any(file["numbered"] for file in answer["files"])
    assert answer["imbalance"]["module"][0]["name"] == "model.embed" and answer["imbalance"]["after"]["live_bytes"] == 116 * MIB
    for kind in answer["kinds"]:
        info = json.loads(good("info", kind["file"], "--json"))
        assert all(kind[key] == info["needs"][key] for key in ("native_bytes", "expandable_bytes", "plan_bytes")), (kind, info)
        assert all(kind[key] == info[key] for key in ("peak_live_bytes", "peak_reserved_bytes", "headline", "cause"))
    fast = asked(tmp, "--fast")["kinds"]
    assert all(kind["plan_bytes"] is None for kind in fast) and [kind["headline"] for kind in fast] == [
        kind["headline"] for kind in answer["kinds"]]


@test
def all_alike_or_alone_is_said(tmp):
    for rank in range(3):
        write(tmp / f"r{rank}.csv", table())
    assert good("job", tmp).startswith("All 3 ranks are alike: 84.00 MiB of live at the peak of each.\n")
    assert asked(tmp)["imbalance"] is None
    assert good("job", tmp / "r1.csv").startswith("Rank 1 alone is here: 84.00 MiB of live at its peak.\n")
    # As much, in another order.
    rows = table()
    rows[1], rows[2] = rows[2], rows[1]
    write(tmp / "r1.csv", rows)
    assert good("job", tmp).startswith("All 3 ranks need as much, 84.00 MiB of live at the peak, though their requests differ.\n")
    assert ranks_of(asked(tmp)) == [[0, 2], [1]]


@test
def one_that_was_recorded_for_less_long_is_alike(tmp):
    rows = table(steps=8)
    for rank, n in enumerate((len(rows), len(rows) - 1, len(rows) * 3 // 4, len(rows) // 4)):
        write(tmp / f"rank{rank}.csv", rows[:n])
    at = next(i for i in range(len(rows) // 2, len(rows)) if rows[i].startswith("alloc"))
    other = [*rows[:at], rows[at].replace(f",{8 * MIB},", f",{9 * MIB},").replace(f",{4 * MIB},", f",{5 * MIB},"), *rows[at + 1 :]]
    write(tmp / "rank4.csv", other[: len(rows) * 3 // 4])
    # A quarter is too little to tell by, and one request of another size is another rank.
    kinds = asked(tmp, "--fast")["kinds"]
    assert sorted(kind["ranks"] for kind in kinds) == [[0, 1, 2], [3], [4]], kinds
    assert [kind["file"] for kind in kinds if 0 in kind["ranks"]] == [str(tmp / "rank0.csv")]
    # The longest stands for all, wherever it comes.
    write(tmp / "rank0.csv", rows[: len(rows) * 3 // 4])
    write(tmp / "rank2.csv", rows)
    kinds = asked(tmp, "--fast")["kinds"]
    assert [kind["file"] for kind in kinds if 0 in kind["ranks"]] == [str(tmp / "rank2.csv")], kinds


@test
def ranks_are_known_by_name_then_recording_then_order(tmp):
    names = {"x-rank_12.csv": 12, "gpt_r3of16_late.csv": 3, "resnet_r50-rank7.csv": 7, "run-5.csv": 5, "9.csv": 9}
    for name in names:
        write(tmp / name, table())
    recorded(tmp / "gpt-2.tsr", 4, 16, table())
    write(tmp / "last.csv", table())  # nothing tells: the first that is free
    os.makedirs(tmp / "node1")
    write(tmp / "node1" / "rank7.csv", table())  # 7 is another file's
    (tmp / "notes.json").write_text("{}", encoding="utf-8")
    (tmp / "README.md").write_text("no recording", encoding="utf-8")
    answer = asked(tmp, tmp / "node1", "--fast")
    told = {os.path.basename(file["file"]): (file["rank"], file["numbered"]) for file in answer["files"]}
    assert told == {**{name: (rank, False) for name, rank in names.items()}, "gpt-2.tsr": (4, False), "last.csv": (0, True),
                    "rank7.csv": (1, True)}, told
    assert answer["world"] == 16
    text = good("job", tmp, tmp / "node1", "--fast")
    assert "note: of a job of 16 ranks 8 are here" in text
    assert "note: 2 files tell no rank, or one that another file tells, and are numbered in order: last.csv is 0, rank7.csv is 1\n" in text


@test
def who_dies_comes_first(tmp):
    shutil.copy(SAMPLE, tmp / "job-rank3.pickle.gz")
    for rank in 0, 1:
        shutil.copy(FSDP, tmp / f"job-rank{rank}.pickle.gz")
    write(tmp / "job-rank2.csv", table(embed=100_000))  # the fullest of all
    text = good("job", tmp)
    assert text.startswith("Rank 3: Died of fragmentation, not of size. 7.83 GiB asked with 14.05 GiB free"), text
    assert "\nRank 2 needs most: " in text
    answer = asked(tmp)
    assert ranks_of(answer) == [[3], [2], [0, 1]] and [kind["died"] for kind in answer["kinds"]] == [True, False, False]


@test
def each_rank_gets_its_plan(tmp):
    job, plans = tmp / "job", tmp / "new" / "plans"
    job.mkdir()
    for rank in range(4):
        recorded(job / f"run-{rank}.tsr", rank, 4, table(embed=40 if rank == 3 else 8))
    text = good("job", job, "--plans", plans)
    assert f"to follow: tessera run --plan {plans} -- torchrun ...\n" in text
    told = run("run", "--plan", plans, "--", "sh", "-c", "echo $TESSERA_PLAN")
    assert told.stdout == f"{plans}/rank-%r.tsp\n", told
    for file in asked(job, "--plans", plans, "--fast")["files"]:  # also over plans
        assert file["plan"] == str(plans / f"rank-{file['rank']}.tsp")
        good("check", file["plan"], "--trace", file["file"])
        # What it would be alone, but for its rank, without which a run declines it.
        good("plan", file["file"], "-o", tmp / "alone.tsp")
        row = "SELECT slot_digest, height_bytes, followable, trace_fingerprint, world, rank FROM plan"
        mine, alone = (sqlite3.connect(path).execute(row).fetchone() for path in (file["plan"], tmp / "alone.tsp"))
        assert mine == alone and mine[4:] == (4, file["rank"]), (mine, alone)
    assert sorted(os.listdir(plans)) == [f"rank-{rank}.tsp" for rank in range(4)]
    (plans / "rank-2.tsp").write_text("mine", encoding="utf-8")
    refused("job", job, "--plans", plans, words=("rank-2.tsp", "would be lost"))
    good("job", job, "--plans", plans, "--force")
    refused("job", job, "--plans", job / "run-0.tsr", words=("run-0.tsr cannot be made",))


@test
def plans_that_need_more_than_pytorch_are_not_to_be_followed(tmp):
    shutil.copy(FSDP, tmp / "rank3of16.pickle.gz")
    text = good("job", tmp, "--plans", tmp / "plans")
    assert "warning: rank 3: the plan needs a device of 12.87 GiB, PyTorch alone one of 8.85 GiB; add --across-streams for one of 8.85 GiB\n" in text, text
    assert "to follow" not in text
    kind = asked(tmp)["kinds"][0]
    assert kind["across_streams_bytes"] <= kind["expandable_bytes"] < kind["plan_bytes"], kind
    text = good("job", tmp, "--plans", tmp / "plans", "--across-streams", "--force")
    assert "warning" not in text and "to follow" in text, text


@test
def a_topology_says_where_ranks_are_and_which_are_equal(tmp):
    job, plans = tmp / "job", tmp / "plans"
    job.mkdir()
    for rank in 0, 3, 4, 7:
        recorded(job / f"run-{rank}.tsr", rank, 8, table(embed=40 if rank > 3 else 8))
    assert "note: of a job of 8 ranks 4 are here" in good("job", job, "--fast")
    text = good("job", job, "--topology", "pp=2,dp=4", "--plans", plans)
    assert text.startswith("Ranks 4-7 (stage 1) need most: 116.00 MiB of live at the peak, 32.00 MiB (38.1 %) more than ranks "
                           "0-3 (stage 0, the least): most in module model.embed"), text
    assert "\n4-7 (x 4), stage 1 " in text.replace("\n  ", "\n") and "note: of a job" not in text, text
    assert "4 of 8 ranks ran (pp=2 dp=4). Taken as equal" in text and ": 1-2, 5-6\n" in text, text
    assert sorted(os.listdir(plans)) == [f"rank-{rank}.tsp" for rank in range(8)]
    with sqlite3.connect(plans / "rank-6.tsp") as plan:
        assert plan.execute("SELECT world, rank FROM plan").fetchone() == (8, 6)
    (job / "topology").write_text("# as launched\ntp=2  # inside a node: dp\ndp=4\n", encoding="utf-8")
    answer = asked(job, "--fast")
    assert [kind["where"] for kind in answer["kinds"]] == ["tp 1", "tp 0"] and answer["topology"] == "tp=2 dp=4", answer
    assert [file["rank"] for file in answer["files"] if file["taken"]] == [1, 2, 5, 6]
    (job / "topology").write_bytes(b"\xff=8" + bytes(range(1, 256)) * 4000)
    refused("job", job, words=("job/topology does not tell how ranks are laid out",))
    for plan in ("run", "--plan", job), ("dry-run", "--plan", job):
        refused(*plan, "--", "true", words=("job is a folder without plans",))
    refused("job", job, "--topology", "pp=3,dp=4", words=("--topology lays out 12 ranks, but this job has 8",))
    for wrong in "pp", "pp=0,dp=8", "PP=8", "pp=99999999", "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=8":
        refused("job", job, "--topology", wrong, words=("--topology does not tell how ranks are laid out",))
    (job / "topology").write_text("pp=4", encoding="utf-8")
    refused("job", job, words=("job/topology lays out 4 ranks, but this job has 8",))
    # What a recording tells says where, and no more.
    (job / "topology").unlink()
    for trace in job.glob("*.tsr"):
        with sqlite3.connect(trace) as base:
            base.execute("INSERT INTO meta SELECT count(*), 'topology', 'pp=2 dp=4' FROM meta")
    answer = asked(job, "--fast")
    assert [(kind["where"], kind["ranks"]) for kind in answer["kinds"]] == [("stage 1, dp 0, 3", [4, 7]), ("stage 0, dp 0, 3", [0, 3])]


@test
def what_cannot_be_read_is_one_sentence_and_the_others_are_answered(tmp):
    for rank in 0, 1:
        write(tmp / f"rank{rank}.csv", table())
    (tmp / "rank2.pickle").write_bytes(b"\x80\x02cos\nsystem\n")
    (tmp / "rank3.tsr").write_bytes(b"")
    no_leaks = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    for arguments in (tmp,), (tmp / "rank0.csv", tmp / "rank1.csv", tmp / "rank2.pickle", tmp / "nowhere"):
        done = run("job", *arguments, env=no_leaks)
        lines = done.stderr.splitlines()
        assert done.returncode == 1 and len(lines) == 2, (done.returncode, lines)
        assert all(line.startswith("tessera: ") for line in lines) and any("rank2.pickle" in line for line in lines), lines
        assert done.stdout.startswith("All 2 ranks are alike: "), done.stdout
    answer = json.loads(run("job", tmp, "--json", env=no_leaks).stdout)
    assert answer["failed"] == 2 and answer["ranks"] == 2
    (tmp / "none").mkdir()
    refused("job", tmp / "none", words=("none holds no recording",))
    refused("job", tmp / "rank2.pickle", words=("rank2.pickle",))
    refused("job", status=2, words=("expected DIR",))


@test
def a_signal_ends_it_and_its_processes(tmp):
    for rank in range(100):
        (tmp / f"rank{rank}.pickle.gz").symlink_to(FSDP.resolve())
    job = subprocess.Popen([TESSERA, "job", str(tmp)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text(encoding="utf-8"):
        assert job.poll() is None
        time.sleep(0.01)
    job.send_signal(signal.SIGTERM)
    _, told = job.communicate(timeout=60)  # the pipe is closed once the last of them has ended
    assert job.returncode == -signal.SIGTERM and told == "tessera: stopped by SIGTERM before the end\n", (job.returncode, told)


run_tests()
