#!/usr/bin/env python3
"""What `tessera dry-run`, `record` and `run` make of a program that they start, without PyTorch: the
environment, the exit status, signals, and what is said of the trace. Prints TAP.

    programs.py TESSERA SOURCE-ROOT

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

from command import GIB, ROOT, SAMPLE, elsewhere, good, refused, run
from tap import run_tests, test


def away(program, *arguments, **kwargs):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=60, **kwargs)


SHOW = ("sh", "-c", "env | grep -E '^(TESSERA|NULLCUDA|LD_|PYTHONPATH)' | sort")


def variables(done):
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


@test
def record_and_run_become_the_program(tmp):
    tessera = elsewhere(tmp)
    out = tmp / "run-%r.tsr"
    seen = variables(away(tessera, "record", "-o", out, "--policy", "direct", "--stacks", "--", *SHOW))
    assert seen["TESSERA_RECORD"] == str(out) and seen["TESSERA_POLICY"] == "direct", seen
    assert seen["TESSERA_STACKS"] == "1" and seen["TESSERA_LIBRARY"] == str(tmp / "build" / "runtime" / "libtessera.so"), seen
    assert seen["PYTHONPATH"].split(":")[0] == str(tmp / "python" / "tessera" / "autoload"), seen
    assert "LD_PRELOAD" not in seen and "TESSERA_DRY_RUN" not in seen and "NULLCUDA_DEVICE" not in seen, seen
    environ = dict(os.environ, PYTHONPATH="/mine", TESSERA_LIBRARY="/a/shim.so")
    (tmp / "p.tsp").touch()
    seen = variables(away(tessera, "run", "--plan", "p.tsp", "--", *SHOW, cwd=tmp, env=environ))
    assert seen["TESSERA_PLAN"] == str(tmp / "p.tsp") and seen["TESSERA_POLICY"] == "plan", seen
    assert "TESSERA_RECORD" not in seen and seen["TESSERA_LIBRARY"] == "/a/shim.so", seen
    assert seen["PYTHONPATH"].endswith(":/mine"), seen
    assert away(tessera, "run", "--plan", tmp / "p.tsp", "--", "sh", "-c", "exit 7").returncode == 7
    # Whose plan a pattern is, each process knows.
    assert away(tessera, "run", "--plan", "none-%r.tsp", "--", "sh", "-c", "exit 7").returncode == 7
    assert away(tessera, "record", "-o", out, "--", "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM
    # The program's own options are its own, with or without "--".
    assert away(tessera, "record", "-o", out, "echo", "-o", "--stacks").stdout == "-o --stacks\n"


@test
def without_its_parts_training_goes_on_unrecorded(tmp):
    tessera = elsewhere(tmp, parts=False)
    (tmp / "p.tsp").touch()
    for command in (("record", "-o", tmp / "t.tsr"), ("run", "--plan", tmp / "p.tsp")):
        done = away(tessera, *command, "--", "sh", "-c", "echo trained; exit 3")
        assert done.returncode == 3 and done.stdout == "trained\n", done
        assert len(done.stderr.splitlines()) == 1 and "libtessera.so" in done.stderr, done.stderr
    done = away(tessera, "dry-run", "-o", tmp / "t.tsr", "--", "sh", "-c", "echo trained")
    assert done.returncode == 1 and done.stdout == "" and "libtessera.so" in done.stderr, done


@test
def a_dry_run_is_dry_and_what_its_command_line_says(tmp):
    tessera = elsewhere(tmp)
    environ = dict(os.environ, TESSERA_PLAN="/another.tsp", LD_LIBRARY_PATH="/mine")
    done = away(tessera, "dry-run", "--gpu", "24GiB", "--world", 64, "--rank", 3, "--steps", 5,
                "--no-stacks", "-o", "t.tsr", "--", *SHOW, cwd=tmp, env=environ)
    seen = variables(done)
    assert seen["LD_PRELOAD"].split(":")[0] == str(tmp / "build" / "nullcuda" / "libnullcuda.so"), seen
    assert seen["LD_LIBRARY_PATH"] == f"{tmp}/build/nullcuda:/mine", seen
    for name, value in (("DRY_RUN", "1"), ("STEPS", "5-5"), ("EVENTS", None), ("WORLD", "64"), ("RANK", "3"), ("STACKS", "0"),
                        ("POLICY", "native"), ("RECORD", str(tmp / "t.tsr")), ("PLAN", None)):
        assert seen.get(f"TESSERA_{name}") == value, (name, seen)
    assert seen["NULLCUDA_DEVICE"] == str(24 * GIB) and seen["NULLCUDA_LAG"] == "1", seen
    assert seen["NULLCUDA_COUNT"] == "8" and seen["NULLCUDA_FORCE"] == "1" and seen["NULLCUDA_BUDGET"], seen
    for options, events, seconds in (((), "2000000", None), (("--for", 1.5), None, "1.5"), (("--events", 0), None, None),
                                     (("--events", 7, "--for", 2), "7", "2"), (("--steps", "2", "--events", 9), "9", None)):
        seen = variables(away(tessera, "dry-run", *options, "-o", "t.tsr", "--", *SHOW, cwd=tmp, env=environ))
        assert (seen.get("TESSERA_EVENTS"), seen.get("TESSERA_SECONDS")) == (events, seconds), (options, seen)
    # A program that allocates nothing leaves no trace, and an older one is not taken for its own.
    assert done.returncode == 1 and "nothing was recorded" in done.stderr, done.stderr
    good("import", SAMPLE, "-o", tmp / "t.tsr")
    done = away(tessera, "dry-run", "-o", "t.tsr", "--", "true", cwd=tmp)
    assert done.returncode == 1 and "nothing was recorded" in done.stderr and not (tmp / "t.tsp").exists(), done


@test
def a_dry_run_answers_from_the_trace(tmp):
    """The program is a copy of a trace: what is printed must be what that trace gives."""
    tessera = elsewhere(tmp)
    good("import", SAMPLE, "-o", tmp / "s.tsr")
    copy = ("sh", "-c", 'echo noise; cp s.tsr "$TESSERA_RECORD"')
    fit = json.loads(good("fit", tmp / "s.tsr", "--json"))
    for gpu, verdict in (("80GiB", "native"), ("36GiB", "expandable"), ("34GiB", "plan"), ("30GiB", "no")):
        done = away(tessera, "dry-run", "--gpu", gpu, "--json", "-o", "t.tsr", "--", *copy, cwd=tmp)
        answer = json.loads(done.stdout)
        assert done.returncode == (0 if verdict in ("native", "expandable") else 3) and "noise" in done.stderr, done
        assert answer["headroom_bytes"] == 768 << 20 and "assumed" in answer["headroom_why"], answer
        for key in ("native_bytes", "expandable_bytes", "plan_bytes", "bound_bytes"):
            assert answer[key] == fit[key], (key, answer, fit)
        room = answer["available_bytes"]
        assert room == answer["gpu_bytes"] - answer["headroom_bytes"]
        fitting = [name for name in ("native", "expandable", "plan") if answer[f"{name}_bytes"] <= room] + ["no"]
        assert answer["complete"] is True and answer["seen"].endswith("to the end of the script."), answer
        assert answer["seen"].startswith("Seen: 4 steps, no evaluation, to"), answer
        assert answer["fits"] == fitting[0] == verdict, (gpu, answer)
        assert len(answer["not_seen"]) == 4
        good("check", tmp / "t.tsp", "--trace", tmp / "t.tsr")
    # What repeats is no step of an optimizer, where nobody told any.
    with sqlite3.connect(tmp / "s.tsr") as base:
        base.execute("DELETE FROM range")
    answer = json.loads(away(tessera, "dry-run", "--json", "-o", "t.tsr", "--", *copy, cwd=tmp).stdout)
    assert answer["seen"].startswith("Seen: no step of an optimizer, no evaluation"), answer
    good("import", SAMPLE, "-o", tmp / "s.tsr")
    done = away(tessera, "dry-run", "--gpu", "a100-40", "--world", 8, "--headroom", "6GiB", "-o", "t.tsr", "--", *copy,
                cwd=tmp)
    assert "6.00 GiB (as asked for)" in done.stdout, done
    assert done.returncode == (0 if "Fits only with expandable" in done.stdout else 3), done
    assert "Fits only with" in done.stdout or "Does not fit" in done.stdout, done.stdout
    done = away(tessera, "dry-run", "-o", "t.tsr", "--", "sh", "-c", copy[2] + "; exit 5", cwd=tmp)
    assert done.returncode == 4 and "status 5" in done.stderr and "t.tsr" in done.stderr, done
    with sqlite3.connect(tmp / "s.tsr") as base:
        base.execute("INSERT INTO meta (key, value) VALUES ('died_of', 'memory')")
    done = away(tessera, "dry-run", "-o", "t.tsr", "--", "sh", "-c", copy[2] + "; exit 1", cwd=tmp)
    assert done.returncode == 3 and "died of memory" in done.stderr, done


@test
def a_recording_says_what_it_followed(tmp):
    good("import", SAMPLE, "-o", tmp / "s.tsr")
    assert json.loads(good("info", tmp / "s.tsr", "--fast", "--json"))["recording"] is None
    with sqlite3.connect(tmp / "s.tsr") as base:
        low, high = base.execute("SELECT min(addr), max(addr + size_bytes) FROM event WHERE action = 1").fetchone()
        pool = (high - low) // 2
        inside, outside, missed = base.execute(
            "SELECT total(addr < ?1), total(addr >= ?1), total(size_bytes * (addr >= ?1)) FROM event WHERE action = 1",
            (low + pool,)).fetchone()
        meta = {"policy": "plan", "plan_source": "x.tsp", "plan_pool_addr": low, "plan_pool_bytes": pool, "rank": 3,
                "world": 64, "lost_events": 7}
        base.executemany("INSERT INTO meta (key, value) VALUES (?, ?)", [(key, str(value)) for key, value in meta.items()])
    info = json.loads(good("info", tmp / "s.tsr", "--fast", "--json"))
    said = info["recording"]
    assert said["followed_plan"] is True and said["plan_source"] == "x.tsp" and said["lost_events"] == 7, said
    assert (said["rank"], said["world"], said["pool_bytes"]) == (3, 64, pool), said
    assert (said["hits"], said["misses"], said["missed_bytes"]) == (inside, outside, missed), (said, inside, outside)
    assert said["extra_bytes"] == max(0, info["peak_reserved_bytes"] - pool), said
    text = good("info", tmp / "s.tsr", "--fast")
    assert "rank 3 of 64" in text and "x.tsp" in text and "7 events are lost" in text, text


@test
def a_stopped_dry_run_keeps_its_trace(tmp):
    tessera = elsewhere(tmp)
    good("import", SAMPLE, "-o", tmp / "s.tsr")
    script = 'trap "cp s.tsr $TESSERA_RECORD; exit 1" INT TERM; touch ready; while :; do sleep 0.05; done'
    for number in (signal.SIGINT, signal.SIGTERM):
        for name in ("t.tsr", "ready"):
            (tmp / name).unlink(missing_ok=True)
        with subprocess.Popen([tessera, "dry-run", "-o", "t.tsr", "--", "sh", "-c", script], cwd=tmp,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            while not (tmp / "ready").exists():
                time.sleep(0.02)
            running.send_signal(number)
            out, errors = running.communicate(timeout=60)
        # Ctrl-C asks for the answer.
        if number == signal.SIGINT:
            assert running.returncode == 0 and "stopped by Ctrl-C" in out, (out, errors)
        else:
            assert running.returncode == 1 and "was stopped" in errors and "t.tsr" in errors, errors
        good("info", tmp / "t.tsr", "--fast")


@test
def the_package_alone_passes_signals_on(tmp):
    elsewhere(tmp)
    (tmp / "build" / "nullcuda" / "libnullcuda.so").touch()
    shutil.copytree(ROOT / "python" / "tessera", tmp / "python" / "tessera", dirs_exist_ok=True)
    good("import", SAMPLE, "-o", tmp / "s.tsr")
    (tmp / "held").mkdir()
    save = "cp s.tsr $TESSERA_RECORD; touch ready; while :; do sleep 0.05; done"
    for number, script, status in ((signal.SIGINT, f'trap "exit 9" INT; {save}', 9), (signal.SIGHUP, save, 129),
                                   (signal.SIGTERM, save, 143)):
        for name in ("t.tsr", "ready"):
            (tmp / name).unlink(missing_ok=True)
        with subprocess.Popen([sys.executable, "-m", "tessera", "dry-run", "-o", "t.tsr", "--", "sh", "-c", script], cwd=tmp,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, PYTHONPATH=str(tmp / "python"), TMPDIR=str(tmp / "held"))) as running:
            while not (tmp / "ready").exists() and running.poll() is None:
                time.sleep(0.02)
            running.send_signal(number)
            errors = running.communicate(timeout=60)[1]
        assert running.returncode == status and "Traceback" not in errors, (running.returncode, errors)
        assert os.listdir(tmp / "held") == [] and (tmp / "t.tsr").exists(), errors
        assert ("t.tsr is written" in errors) == (status > 128), errors


@test
def a_program_that_cannot_be_dry_run_gets_one_sentence(tmp):
    tessera = elsewhere(tmp)
    for name, version in (("none", None), ("cpu", "cuda: Optional[str] = None")):
        folder = tmp / name / "torch"
        folder.mkdir(parents=True)
        if version:
            (folder / "__init__.py").touch()
            (folder / "version.py").write_text(f"from typing import Optional\n{version}\n")
    python = tmp / "python3"  # without the site's packages
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    for program, path, status, words in (
            (("no-such-program",), "", 1, ("no-such-program", "does not start")),
            (("python-of-nobody", "t.py"), "", 1, ("python-of-nobody", "name the Python")),
            ((python, "t.py"), "", 1, ("has no PyTorch",)),
            ((python, "t.py"), tmp / "cpu", 1, ("without CUDA",)),
            (("torchrun", "t.py"), "", 2, ("torchrun", "tessera dry-run -- python t.py (")),
            (("torchrun", "--nproc_per_node=8", "--nnodes", "2", "t.py", "-n", "3", "a b"), "", 2,
             ("torchrun", "tessera dry-run --world 16 --rank 0 -- python t.py -n 3 'a b' (")),
            (("accelerate", "launch", "--num_processes", "4", "-m", "pkg.train"), "", 2, ("--world 4 --rank 0 -- python -m pkg.train (",)),
            ((python, "-m", "torch.distributed.run", "--nproc-per-node", "gpu", "t.py"), "", 2,
             ("torch.distributed.run", "tessera dry-run -- python t.py (")),
    ):
        done = away(tessera, "dry-run", "-o", tmp / "t.tsr", "--", *program, env=dict(os.environ, PYTHONPATH=str(path)))
        lines = done.stderr.strip().splitlines()
        assert done.returncode == status and len(lines) == 1, (program, done)
        for word in words:
            assert word in lines[0], (word, lines)
    for bad in (("--gpu", "b300"), ("--gpu", "1"), ("--rank", 1), ("--world", 4, "--rank", 4), ("--steps", 0), ("--events", -2), ("--for", -1),
                ("--policy", "best"), ("--policy", "plan"), ("--headroom", "much"), ("-o", "%r.tsr"),
                ("-o", "")):
        refused("dry-run", *bad, "--", "true", status=2)
    refused("dry-run", "-o", tmp / "nowhere" / "t.tsr", "--", "true", words=("cannot be written",))
    refused("dry-run", "--plan", tmp / "missing.tsp", "-o", tmp / "t.tsr", "--", "true", words=("missing.tsp",))
    good("plan", SAMPLE, "-o", tmp / "p.tsp")
    (tmp / "cut.tsp").write_bytes((tmp / "p.tsp").read_bytes()[:9000])
    refused("dry-run", "--plan", tmp / "cut.tsp", "-o", tmp / "t.tsr", "--", "true", words=("cut.tsp",))
    refused("record", "--", "true", status=2)
    refused("record", "-o", tmp / "t.tsr", "--policy", "plan", "--", "true", status=2)
    refused("record", "-o", tmp / "nowhere" / "t.tsr", "--", "true", words=("cannot be written",))
    refused("run", "--", "true", status=2)
    # A program that never uses CUDA would not tell that there is no such plan.
    refused("run", "--plan", tmp / "missing.tsp", "--", "true", words=("Cannot read", "missing.tsp", "No such file"))
    refused("run", "--plan", tmp, "--", "true", words=("folder without plans", "job DIR --plans"))
    os.mkfifo(tmp / "pipe")
    refused("run", "--plan", tmp / "pipe", "--", "true", words=("Cannot read", "pipe", "device or pipe"))
    done = away(tessera, "run", "--plan", tmp / "p.tsp", "--", "no-such-program")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done


run_tests()
