#!/usr/bin/env python3
"""`tessera dry-run`, `record` and `run` around an unmodified training script; prints TAP.

Each step of the story goes on from what the one before left behind.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import dry
from dry import query as rows
from tap import run_tests, test

GPT = (sys.executable, dry.EXAMPLES / "gpt.py", "--batch", 1, "--length", 256)


def run(tmp, *arguments, largest_file=None, **environment):
    command = [str(dry.TESSERA), *map(str, arguments)]
    if largest_file is not None:  # in bytes: a disk that is full
        command = ["sh", "-c", f"trap '' XFSZ; ulimit -f {largest_file // 512}; exec \"$@\"", "sh", *command]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    return subprocess.run(command, cwd=tmp, capture_output=True, text=True, timeout=300,
                          env={**environ, **environment})


def over_null_cuda(tmp, *arguments, **kwargs):
    """As on a machine with a device: the caller's own preload is the driver."""
    return run(tmp, *arguments, **dry.NULL_CUDA, **kwargs)


def said(done):
    """What Tessera says of itself, apart from the script's own output."""
    return [line for line in done.stderr.splitlines() if line.startswith("tessera")]


def answer_of(done, status=0):
    assert done.returncode == status, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return json.loads(done.stdout)


# A linear layer, trained; with a large batch after steps 8, 17 ...
EVALUATES = """
import sys, torch
model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(int(sys.argv[1])):
    model(torch.randn(64, 1024, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 9 == 8:
        with torch.no_grad():
            model(torch.randn(1 << 20, 1024, device="cuda"))
"""


def evaluates(tmp, *options, steps=20):
    (tmp / "evaluates.py").write_text(EVALUATES)
    return ("dry-run", "--gpu", "6GiB", *options, "--", sys.executable, "evaluates.py", steps)


def one(trace, query):
    return rows(trace, query)[0][0]


@test
def a_dry_run_gives_trace_answer_and_plan(tmp):
    done = run(tmp, "dry-run", "--json", "--", *GPT)
    answer = answer_of(done)
    assert Path(answer["trace"]) == tmp / "gpt.tsr" and Path(answer["plan"]) == tmp / "gpt.tsp", answer
    assert "step 1:" in done.stderr, done.stderr
    assert answer["steps"] == 4 and answer["complete"] is True and "end of the script" in answer["seen"], answer
    assert answer["recording"]["policy"] == "native", answer
    assert answer["recording"]["lost_events"] == 0, answer
    # The answer is what the trace itself gives.
    assert answer["events"] == one(tmp / "gpt.tsr", "SELECT count(*) FROM event")
    assert answer["live_bytes"] == one(tmp / "gpt.tsr", "SELECT max(live_bytes) FROM usage")
    fit = json.loads(run(tmp, "fit", "gpt.tsr", "--json").stdout)
    for key in ("native_bytes", "expandable_bytes", "plan_bytes", "bound_bytes"):
        assert answer[key] == fit[key], (key, answer, fit)
    assert answer["live_bytes"] <= answer["bound_bytes"] <= answer["plan_bytes"], answer
    assert answer["fits"] == "native" and answer["followable"] == "yes", answer
    assert run(tmp, "check", "gpt.tsp", "--trace", "gpt.tsr").returncode == 0
    rank, world, device_bytes, torch = rows(tmp / "gpt.tsp", "SELECT rank, world, device_bytes, torch FROM plan")[0]
    assert (rank, device_bytes) == (0, answer["gpu_bytes"]) and world <= 1 and torch, (rank, world, device_bytes, torch)


@test
def two_dry_runs_are_one_also_under_load(tmp):
    if subprocess.run(["setarch", "-R", "true"], capture_output=True).returncode != 0:
        print("# not looked at: addresses of a process cannot be the same each time here")
        return
    events = "SELECT action, addr, size_bytes, stream FROM event ORDER BY event_index"
    first = rows(tmp / "gpt.tsr", events)
    burning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        answer_of(run(tmp, "dry-run", "--json", "-o", "again.tsr", "--", *GPT))
    finally:
        for process in burning:
            process.kill()
            process.wait()
    assert rows(tmp / "again.tsr", events) == first


@test
def the_trace_knows_steps_phases_modules_and_lines(tmp):
    trace = tmp / "gpt.tsr"
    assert len(rows(trace, "SELECT * FROM step WHERE NOT is_inferred")) >= 4
    phases = {row[0] for row in rows(trace, "SELECT DISTINCT name FROM phase")}
    assert {"forward", "backward", "optimizer"} <= phases, phases
    modules = {row[0] for row in rows(trace, "SELECT DISTINCT text FROM range JOIN string ON string_index = name "
                                             "WHERE kind = 3")}
    assert len(modules) > 10, modules
    allocations = one(trace, "SELECT count(*) FROM event WHERE action = 1")
    third = one(trace, "SELECT end_index FROM step ORDER BY begin_index LIMIT 1 OFFSET 2")
    lines = ("SELECT count(DISTINCT event_index) FROM event JOIN stack_frame USING (stack) "
             f"WHERE action = 1 AND file LIKE '%/examples/%' AND event_index {{}} {third}")
    assert one(trace, lines.format("<")) > allocations / 3, allocations
    # What comes after the steps of the plan has none.
    assert one(trace, lines.format(">=")) == 0
    info = json.loads(run(tmp, "info", "gpt.tsr", "--json", "--fast").stdout)
    assert info["steps"] >= 3 and info["steps_from"] == "annotations" and info["phases"] > 0, info
    for command in (("report", "gpt.tsr", "-o", "gpt.html"), ("render", "gpt.tsr", "-o", "gpt.png")):
        assert run(tmp, *command).returncode == 0, command


@test
def a_dry_run_follows_the_plan(tmp):
    answer = answer_of(run(tmp, "dry-run", "--json", "--plan", "gpt.tsp", "--", *GPT, "--seed", 1))
    recording = answer["recording"]
    assert Path(answer["trace"]) == tmp / "gpt-planned.tsr", answer
    assert recording["followed_plan"] is True and recording["plan_source"] == "gpt.tsp", recording
    assert recording["misses"] <= recording["hits"] / 100, recording
    assert recording["pool_bytes"] >= answer["live_bytes"] - recording["extra_bytes"], (recording, answer)


@test
def the_answer_is_about_the_plan_that_was_followed(tmp):
    planned = answer_of(run(tmp, "dry-run", "--json", "-o", "first.tsr", "--", *GPT, "--steps", 6))
    for length, how in ((256, "was followed by"), (192, "does not suit")):
        answer = answer_of(run(tmp, "dry-run", "--json", "--force", "--plan", "first.tsp", "-o", "second.tsr", "--",
                               *GPT[:-1], length))
        reserved = json.loads(run(tmp, "simulate", "second.tsr", "--policy", "recorded", "--json").stdout)["peak_reserved_bytes"]
        assert answer["plan_endless_bytes"] == reserved and answer["fits"] == "plan", (length, reserved, answer)
        assert answer["sentence"].startswith(f"Fits: first.tsp {how}"), answer["sentence"]
        assert answer["height_bytes"] == planned["height_bytes"] and answer["followed_plan"] == str(tmp / "first.tsp"), answer
        # The plan that is made besides is this run's.
        assert run(tmp, "check", "second.tsp", "--trace", "second.tsr").returncode == 0
    # A device that is below the plan's pool, and what the run takes then.
    done = run(tmp, "dry-run", "--force", "--plan", "first.tsp", "-o", "second.tsr", "--headroom", 0, "--gpu",
               answer["expandable_bytes"] - (8 << 20), "--", *GPT[:-1], 192)
    assert done.returncode == 3, (done.returncode, done.stdout, done.stderr)
    assert "Does not fit: first.tsp was declined before the first request" in done.stdout, done.stdout
    assert re.search(r"^  first.tsp  ", done.stdout, re.M) and "can a run follow it" not in done.stdout, done.stdout


@test
def run_follows_it_where_there_is_a_device(tmp):
    done = over_null_cuda(tmp, "run", "--plan", "gpt.tsp", "-o", "run-%r.tsr", "--", *GPT, RANK="0", WORLD_SIZE="1")
    assert done.returncode == 0 and "step 3:" in done.stdout, (done.stdout, done.stderr)
    recording = json.loads(run(tmp, "info", "run-0.tsr", "--json", "--fast").stdout)["recording"]
    assert recording["followed_plan"] is True and recording["misses"] <= recording["hits"] / 100, recording
    told = re.fullmatch(r"tessera: plan gpt.tsp was followed by ([\d,]+) of ([\d,]+) requests; at most [\d.]+ GiB reserved, "
                        r"[\d.]+ allocated", said(done)[-1])
    assert told, said(done)
    hits, asked = (int(number.replace(",", "")) for number in told.groups())
    assert (hits, asked - hits) == (recording["hits"], recording["misses"]), (told, recording)


@test
def record_gives_the_same_requests(tmp):
    """A device, native rules, four whole steps: the first three are the dry run's."""
    done = over_null_cuda(tmp, "record", "-o", "rec-%r.tsr", "--policy", "expandable", "--", *GPT, RANK="0")
    assert done.returncode == 0 and "step 3:" in done.stdout, (done.stdout, done.stderr)
    query = ("SELECT size_bytes, stream FROM event WHERE action = 1 AND event_index < "
             "(SELECT max(end_index) FROM (SELECT end_index FROM step ORDER BY begin_index LIMIT 3)) "
             "ORDER BY event_index")
    dry, real = rows(tmp / "gpt.tsr", query), rows(tmp / "rec-0.tsr", query)
    assert len(dry) > 1000 and dry == real, (len(dry), len(real))
    assert len(rows(tmp / "rec-0.tsr", "SELECT * FROM step")) >= 4


@test
def a_failing_script_keeps_its_trace_and_status(tmp):
    # Sorting asks what code runs on the GPU: 8.6's on a 4090, which nobody builds PyTorch for.
    (tmp / "fails.py").write_text("import sys, torch\ntorch.ones(1 << 20, device='cuda').sort()\nsys.exit(7)\n")
    done = run(tmp, "dry-run", "--gpu", "rtx4090-24", "--", sys.executable, "fails.py")
    assert done.returncode == 4 and "status 7" in said(done)[-1] and "fails.tsr" in said(done)[-1], done
    assert one(tmp / "fails.tsr", "SELECT count(*) FROM event WHERE action = 1 AND size_bytes = 4 << 20") >= 1
    assert over_null_cuda(tmp, "record", "-o", "f.tsr", "--", sys.executable, "fails.py").returncode == 7
    done = run(tmp, "dry-run", "--", sys.executable, "missing.py")
    assert done.returncode == 4 and "nothing was recorded" in said(done)[-1], done
    assert not (tmp / "missing.tsr").exists()


@test
def a_script_that_dies_of_memory_does_not_fit(tmp):
    (tmp / "dies.py").write_text("import torch\ntorch.cuda.set_per_process_memory_fraction(0.5)\n"
                                 "torch.empty(60 << 30, dtype=torch.uint8, device='cuda')\n")
    done = run(tmp, "dry-run", "--", sys.executable, "dies.py")
    assert done.returncode == 3 and "died of memory" in said(done)[-1], done


@test
def workers_that_a_dry_run_ends_are_not_waited_for(tmp):
    """The program waits for what its workers say at their end."""
    (tmp / "workers.py").write_text("""
import sqlite3, sys, time, torch, torch.multiprocessing as mp
def is_recorded():
    try:
        return sqlite3.connect("workers.tsr").execute("SELECT value FROM meta WHERE key = 'closed'").fetchone() == ("yes",)
    except sqlite3.Error:
        return False
def work(queue, comes_late):
    while comes_late and not is_recorded():
        time.sleep(0.001)
    layer = torch.nn.Linear(500, 500).cuda()
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    for _ in range(1000000):
        layer(torch.randn(64, 500, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    queue.put(torch.cuda.max_memory_allocated())
if __name__ == "__main__":
    mp.set_start_method(sys.argv[1])
    queue = mp.Queue()
    workers = [mp.Process(target=work, args=(queue, number and sys.argv[2] == "late")) for number in range(2)]
    [worker.start() for worker in workers]
    while sys.argv[2] == "late":
        sum(range(20000000))  # no signal interrupts it
    print([queue.get() for _ in workers])
""")
    for method, second in ("spawn", "at once"), ("fork", "at once"), ("fork", "late"):
        (tmp / "workers.tsr").unlink(missing_ok=True)
        answer = answer_of(run(tmp, "dry-run", "--json", "--steps", 3, "-o", "workers.tsr", "--",
                               sys.executable, "workers.py", method, second))
        closed = one(tmp / "workers.tsr", "SELECT value FROM meta WHERE key = 'closed'")
        assert (answer["steps"], closed) == (3, "yes"), (method, second, answer["steps"], closed)


@test
def the_verdict_covers_what_was_seen(tmp):
    short = answer_of(run(tmp, *evaluates(tmp, "--events", 0, "--json")))
    assert short["complete"] is False and short["evaluations"] == 0 and "no evaluation yet" in short["seen"], short
    assert short["sentence"].startswith("What was seen fits natively"), short
    short_plan = short["height_bytes"]
    done = run(tmp, *evaluates(tmp))
    # The plan has places for the evaluations, and is the one of this trace.
    run(tmp, "plan", "evaluates.tsr", "-o", "again.tsp")
    plans = [rows(tmp / name, "SELECT slot_digest, height_bytes, followable FROM plan") for name in ("evaluates.tsp", "again.tsp")]
    assert plans[0] == plans[1] and plans[0][0][1] >= 8 << 30 > short_plan, (plans, short_plan)
    assert run(tmp, "check", "evaluates.tsp", "--trace", "evaluates.tsr").returncode == 0
    lines = done.stdout.strip().splitlines()
    assert lines[0] == "Seen: 20 steps, 2 evaluations, to the end of the script.", lines
    assert done.returncode == 3 and lines[1].startswith("Does not fit") and any(line.startswith("Smallest known GPU: native rtx4090-24, ") for line in lines), lines


@test
def a_program_with_several_gpus_says_how_many(tmp):
    (tmp / "gpus.py").write_text("""
import torch
first, second = (torch.nn.Linear(1024, 1024, device=f"cuda:{number}") for number in range(2))
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()])
for _ in range(5):
    second(first(torch.randn(512, 1024, device="cuda:0")).to("cuda:1")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""")
    command = "dry-run", "--force", "-o", "gpus.tsr"
    done = run(tmp, *command, "--", sys.executable, "gpus.py")
    assert done.returncode == 4 and "--gpu-count 2" in done.stderr, done
    done = run(tmp, *command, "--gpu-count", 2, "--", sys.executable, "gpus.py")
    assert done.returncode == 0 and "That is GPU 1, of 2 the one with most requests" in done.stdout, done
    answer = answer_of(run(tmp, "dry-run", "--json", "--gpu-count", 2, "--plan", "gpus.tsp", "-o", "followed.tsr", "--",
                           sys.executable, "gpus.py"))
    assert answer["recording"]["hits"] > 0 and answer["recording"]["misses"] == 0, answer["recording"]


@test
def an_evaluation_in_the_midst_of_accumulation_is_seen(tmp):
    """An epoch has 10 batches, of which four make a step."""
    (tmp / "midst.py").write_text("""
import torch
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for batch in range(1, 31):
    model(torch.randn(64, 512, device="cuda")).sum().backward()
    if batch % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
    if batch % 10 == 0:
        model.eval()
        with torch.no_grad():
            model(torch.randn(256, 512, device="cuda"))
        model.train()
""")
    seen = answer_of(run(tmp, "dry-run", "--json", "-o", "midst.tsr", "--", sys.executable, "midst.py"))["seen"]
    assert seen == "Seen: 8 steps, 3 evaluations, to the end of the script.", seen


@test
def a_run_that_evaluates_follows_its_plan(tmp):
    on = ("--gpu", "24GiB", "--json")
    planned = answer_of(run(tmp, *evaluates(tmp, *on, "-o", "large.tsr")))
    followed = answer_of(run(tmp, *evaluates(tmp, *on, "--plan", "large.tsp")))
    assert followed["recording"]["hits"] == planned["blocks"] and followed["recording"]["misses"] == 0, followed
    assert followed["plan_endless_bytes"] <= 1.01 * planned["live_bytes"], (planned, followed)


@test
def a_dry_run_stops_at_a_number_of_events(tmp):
    answer = answer_of(run(tmp, *evaluates(tmp, "--events", 3000, "--json", steps=10**6)), status=3)
    assert answer["complete"] is False and "(--events)" in answer["seen"], answer
    assert 3000 <= answer["events"] <= 3100 and answer["evaluations"] > 3 and answer["steps"] > 90, answer
    assert answer["fits"] == "no" and answer["live_bytes"] >= 8 << 30 and answer["adapts"] is None, answer
    assert not (tmp / "evaluates-adapted.tsr").exists()
    assert answer["smallest_gpus"]["native"] == "rtx4090-24", answer


@test
def a_script_that_halves_its_batch_goes_on_with_a_smaller_one(tmp):
    (tmp / "halves.py").write_text("""
import torch
model, batch, n_done = torch.nn.Linear(1024, 1024).cuda(), 1 << 20, 0
optimizer = torch.optim.SGD(model.parameters(), 0.1)
while n_done < 5:
    try:
        model(torch.randn(batch, 1024, device="cuda")).sum().backward()
        optimizer.step()
        n_done += 1
    except torch.cuda.OutOfMemoryError:
        batch //= 2
    optimizer.zero_grad()
""")
    answer = answer_of(run(tmp, "dry-run", "--gpu", "8GiB", "--json", "--", sys.executable, "halves.py"))
    adapts = answer["adapts"]
    assert answer["fits"] == "no" and "with batch 524288 instead of 1048576" in answer["sentence"], answer
    told = re.search(r"8GiB (\d+) requests? failed and 5 steps were done, at most .* reserved \((.*)\)\.$", adapts)
    assert answer["sentence"].startswith(adapts) and int(told[1]) >= 1, answer
    assert Path(told[2]) == tmp / "halves-adapted.tsr", adapts
    again = answer_of(run(tmp, "info", "--fast", "--json", told[2]))
    assert again["steps"] == 5 and again["peak_reserved_bytes"] <= answer["available_bytes"], again


@test
def control_c_gives_the_verdict_on_what_was_seen(tmp):
    command = [str(dry.TESSERA), *map(str, evaluates(tmp, steps=10**6))]
    with subprocess.Popen(command, cwd=tmp, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        progress = next(line for line in running.stderr if re.search(r"tessera: \d\d+ steps, [\d,]+ events in", line))
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=120)
    lines = out.strip().splitlines()
    assert running.returncode == 3 and "Traceback" not in errors, (running.returncode, errors)
    assert "stopped by Ctrl-C in step" in lines[0] and int(lines[0].split()[1]) >= int(progress.split()[1]), lines
    assert lines[1].startswith("Does not fit"), lines


@test
def plans_that_do_not_hold_are_declined_and_training_goes_on(tmp):
    (tmp / "cut.tsp").write_bytes((tmp / "gpt.tsp").read_bytes()[:20000])
    for plan, named in (("cut.tsp", "cut.tsp"), ("missing-%r.tsp", "missing-0.tsp")):
        done = over_null_cuda(tmp, "run", "--plan", plan, "--", *GPT, "--steps", 1, RANK="0", WORLD_SIZE="1")
        assert done.returncode == 0 and "step 0:" in done.stdout, (done.stdout, done.stderr)
        assert len([line for line in said(done) if named in line]) == 1, done.stderr
    # One that is not there before the program starts is a slip.
    done = over_null_cuda(tmp, "run", "--plan", "missing.tsp", "--", *GPT, "--steps", 1)
    assert done.returncode == 1 and done.stdout == "" and len(said(done)) == 1, (done.stdout, done.stderr)
    # Another model: nothing of the plan fits it, and it trains to its end all the same.
    done = over_null_cuda(tmp, "run", "--plan", "gpt.tsp", "-o", "other.tsr", "--", *GPT, "--length", 192)
    assert done.returncode == 0 and "step 3:" in done.stdout, (done.stdout, done.stderr)
    recording = json.loads(run(tmp, "info", "other.tsr", "--json", "--fast").stdout)["recording"]
    assert recording["plan_source"] == "gpt.tsp", recording
    # What to type is of this program, and a dry run's new plan is ready.
    what = f"tessera record -o gpt.tsr -- {' '.join(map(str, GPT))} --length 192, then tessera plan gpt.tsr -o gpt.tsp"
    assert what in done.stderr, done.stderr
    done = run(tmp, "dry-run", "--plan", "gpt.tsp", "--force", "--", *GPT, "--length", 192)
    assert f"to follow that: tessera run --plan {tmp / 'gpt-planned.tsp'} -- {GPT[0]}" in done.stdout, done.stdout
    assert not recording["followed_plan"] or recording["misses"] > 0, recording


@test
def a_full_disk_does_not_stop_training(tmp):
    done = over_null_cuda(tmp, "record", "-o", "full.tsr", "--", *GPT, largest_file=96 << 10)
    assert done.returncode == 0 and "step 3:" in done.stdout, (done.stdout, done.stderr)
    assert len(said(done)) == 1 and "full.tsr" in said(done)[0], done.stderr


run_tests(one_folder=True)
