#!/usr/bin/env python3
"""`tessera dry-run --sweep` over a program that writes its trace itself, without PyTorch. What is found is
compared with what `tessera fit` says of the value found and of the next one. Prints TAP.

    sweep.py TESSERA SOURCE-ROOT

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import signal
import subprocess
import time

from command import GIB, TESSERA, elsewhere, refused
from tap import run_tests, test

MIB = 1 << 20
HEADROOM = 768 * MIB

# Three steps. What each keeps for the next lies where a larger block was: natively that segment is lost to such
# blocks. FAILS and DIES are batches from which on the script fails, and dies of memory.
TRAIN = f"""#!/usr/bin/env python3
import os, sqlite3, subprocess, sys, time
batch, length = int(sys.argv[1]), int(sys.argv[2])
if os.environ.get("HANGS"):
    open(f"{{os.environ['HANGS']}}/{{os.getpid()}}", "w").close()
    time.sleep(600)
if batch >= int(os.environ.get("FAILS", 1 << 30)):
    print("Traceback ...")
    sys.exit(f"ValueError: no batch of {{batch}}")
if batch == int(os.environ.get("DIPS", -1)):
    batch = 1
if os.environ.get("TESSERA_TRY"):
    batch /= len(os.environ["TESSERA_TRY"])
unit = batch * length ** int(os.environ.get("POWER", 1)) * {MIB}
rows, n = ["seq,action,id,size_bytes,stream,iteration"], 0
for step in range(3):
    steps = [("alloc", "large", 8), ("free", "large", 8), ("alloc", "kept", 3), ("alloc", "other", 8), ("free", "other", 8),
             ("free", "kept", 3)]
    for action, name, size in steps:
        rows.append(f"{{n}},{{action}},{{step}}{{name}},{{int (size * unit)}},0,{{step}}")
        n += 1
trace = os.environ["TESSERA_RECORD"]
open(trace + ".csv", "w").write("\\n".join(rows) + "\\n")
subprocess.run([os.environ["IMPORTER"], "import", trace + ".csv", "-o", trace], check=True)
if batch >= int(os.environ.get("DIES", 1 << 30)):
    base = sqlite3.connect(trace)
    base.execute("INSERT INTO meta (key, value) VALUES ('died_of', 'memory')")
    base.commit()
    sys.exit(1)
"""


def prepare(tmp):
    """The command in a tree of its own, the program, a place for temporary files, and the environment."""
    if not (tmp / "train").exists():
        elsewhere(tmp)
        (tmp / "train").write_text(TRAIN)
        (tmp / "train").chmod(0o755)
        (tmp / "held").mkdir()
    return tmp / "build" / "cli" / "tessera", dict(os.environ, TMPDIR=str(tmp / "held"), IMPORTER=TESSERA)


def sweep(tmp, *options, values="{length}", environ=(), status=0):
    """What it answers, and what it says on stderr."""
    tessera, environment = prepare(tmp)
    done = subprocess.run([tessera, "dry-run", *map(str, options), "--", tmp / "train", "{batch}", values], cwd=tmp,
                          env={**environment, **dict(environ)}, capture_output=True, text=True, timeout=200)
    assert done.returncode == status, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return (json.loads(done.stdout) if "--json" in options else done.stdout), done.stderr


def needs(tmp, batch, length, **environ):
    """What `tessera fit` says of the trace that the program writes with these values."""
    trace = tmp / "alone.tsr"
    subprocess.run([tmp / "train", str(batch), str(length)], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "IMPORTER": TESSERA, "TESSERA_RECORD": str(trace), **environ})
    fit = json.loads(subprocess.run([TESSERA, "fit", trace, "--json"], check=True, capture_output=True, text=True).stdout)
    return {policy: fit[f"{policy}_bytes"] for policy in ("native", "expandable", "plan")}


@test
def the_largest_that_fits_is_found(tmp):
    answer, said = sweep(tmp, "--json", "--sweep", "batch=1..200", "--sweep", "length=4,16", "--gpu", "a100-40,6GiB", "--jobs", 2)
    assert answer["first"] == 1 and answer["last"] == 200 and answer["searched"] == "batch", answer
    assert [(row["at"], row["gpu"]) for row in answer["largest"]] == [
        ("length=4", "a100-40"), ("length=4", "6GiB"), ("length=16", "a100-40"), ("length=16", "6GiB")], answer
    for row in answer["largest"]:
        length = int(row["at"].split("=")[1])
        assert row["gpu"] != "6GiB" or row["available_bytes"] == 6 * GIB - HEADROOM, row
        for policy in ("native", "expandable", "plan"):
            found = row[policy]
            assert needs(tmp, found, length)[policy] <= row["available_bytes"], (row, policy)
            assert found == 200 or needs(tmp, found + 1, length)[policy] > row["available_bytes"], (row, policy)
    last = answer["largest"][-1]
    assert last["native"] < last["expandable"] <= last["plan"], last
    assert answer["sentence"] == (f"Largest batch on 6GiB at length=16: {last['native']} natively, {last['expandable']} with "
                                  f"expandable segments, {last['plan']} with the plan."), answer
    # A run serves both GPUs and three policies: halving alone would take eight for each.
    assert len(answer["runs"]) <= 20 and {run["outcome"] for run in answer["runs"]} == {"measured"}, len(answer["runs"])
    assert said == "" and os.listdir(tmp / "held") == [] and sorted(os.listdir(tmp)) == [
        "alone.tsr", "alone.tsr.csv", "build", "held", "python", "train"], (said, os.listdir(tmp))


@test
def a_change_is_tried_at_each_value(tmp):
    answer, _ = sweep(tmp, "--json", "--sweep", "batch=1..1000", "--try", "8-bit,zero-grad", "--gpu", "6GiB", "--picture", tmp / "held" / "f.svg",
                      values="8")
    plain, *changed = answer["largest"]
    assert [row["at"] for row in answer["largest"]] == ["try=nothing", "try=8-bit", "try=zero-grad"], answer
    for row in changed:  # the program takes as many times less as the change has letters
        assert abs(row["plan"] / plain["plan"] - len(row["at"].removeprefix("try="))) < 1, answer
    drawn = (tmp / "held" / "f.svg").read_bytes()
    (tmp / "held" / "f.svg").unlink()
    assert drawn.startswith(b"<?xml") and b"</svg>" in drawn, drawn[:200]
    refused("dry-run", "--sweep", "batch=1..2", "--try", "suggested", "--", "true", "{batch}", status=2, words=("has no advice",))
    refused("dry-run", "--sweep", "batch=1..2", "--sweep", "try=fused", "--", "true", "{batch}", status=2, words=("write {try} where",))
    refused("dry-run", "--try", "fused+del", "--", "true", status=2, words=("zero-grad", '"del"'))
    refused("dry-run", "--picture", "f.svg", "--", "true", status=2, words=("--sweep", "tessera render"))
    refused("dry-run", "--sweep", "batch=1..2", "--picture", "f.jpg", "--", "true", "{batch}", status=2, words=(".png or .svg", "f.jpg"))
    refused("dry-run", "--try", "fused", "--plan", "p.tsp", "--", "true", status=2, words=("leave --plan out",))


@test
def what_grows_faster_than_a_line_is_found_too(tmp):
    power = {"POWER": "2"}
    answer, _ = sweep(tmp, "--json", "--sweep", "length=1..1000", "--sweep", "batch=1", "--gpu", "24GiB", environ=power)
    row = answer["largest"][0]
    for policy in ("native", "expandable", "plan"):
        assert needs(tmp, 1, row[policy], **power)[policy] <= row["available_bytes"], row
        assert needs(tmp, 1, row[policy] + 1, **power)[policy] > row["available_bytes"], row
    assert len(answer["runs"]) <= 22, len(answer["runs"])


@test
def ends_of_the_range_are_said(tmp):
    text, _ = sweep(tmp, "--sweep", "batch=4..5", "--sweep", "length=1..2", "--gpu", "24GiB,769MiB")
    lines = text.splitlines()
    assert lines[0] == "Largest batch on 769MiB at length=2: none natively, none with expandable segments, none with the plan."
    assert lines[2].split() == ["at", "gpu", "available", "native", "expandable", "plan"], lines
    assert [line.split()[:2] + line.split()[-3:] for line in lines[3:7]] == [
        ["length=1", "24GiB", "5+", "5+", "5+"], ["length=1", "769MiB", "none", "none", "none"],
        ["length=2", "24GiB", "5+", "5+", "5+"], ["length=2", "769MiB", "none", "none", "none"]], lines
    assert "assumed: memory grows with batch, in a line or bent one way" in lines, lines
    sweep(tmp, "--sweep", "batch=4..5", "--gpu", "769MiB", values="1", status=3)
    text, _ = sweep(tmp, "--sweep", "batch=7..7", "--gpu", "24GiB", values="1")
    assert text.startswith("Largest batch on 24GiB: 7+ natively"), text


@test
def a_script_that_fails_ends_the_range(tmp):
    answer, said = sweep(tmp, "--json", "--sweep", "batch=1..64", "--gpu", "80GiB", values="1", environ={"FAILS": "40"}, status=4)
    assert answer["largest"][0]["native"] == 39 and "39 (then fails) natively" in answer["sentence"], answer
    failed = [run for run in answer["runs"] if run["outcome"] == "failed"]
    assert min(run["value"] for run in failed) == 40 and len(said.splitlines()) == len(failed), (failed, said)
    assert "batch=40 failed: ValueError: no batch of 40 (more in " in said, said
    # What it said is kept, and nothing else.
    logs = list((tmp / "held").glob("tessera-sweep-*/*"))
    assert len(logs) == len(failed) and all(log.suffix == ".log" and "Traceback" in log.read_text() for log in logs), logs
    answer, said = sweep(tmp, "--json", "--sweep", "batch=1..64", values="1", environ={"FAILS": "1"}, status=4)
    assert answer["largest"][0]["plan"] is None and len(answer["runs"]) <= 2, answer
    answer, said = sweep(tmp, "--json", "--sweep", "batch=1..64", "--gpu", "80GiB", values="1", environ={"DIES": "40"})
    assert answer["largest"][0]["native"] == 39 and said == "", (answer, said)
    assert {run["outcome"] for run in answer["runs"] if run["value"] >= 40} == {"memory"}, answer


@test
def what_does_not_grow_is_told(tmp):
    answer, _ = sweep(tmp, "--json", "--sweep", "batch=2..64", "--gpu", "24GiB", values="8", environ={"DIPS": "64"})
    assert answer["largest"][0]["native"] == 64, answer
    assert any(note.startswith("batch=64 needs less (plan: ") for note in answer["notes"]), answer["notes"]
    answer, _ = sweep(tmp, "--json", "--sweep", "batch=2..64", "--gpu", "24GiB", values="8")
    assert not any("needs less" in note for note in answer["notes"]), answer["notes"]


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@test
def a_signal_ends_all_runs(tmp):
    tessera, environ = prepare(tmp)
    for number in (signal.SIGINT, signal.SIGTERM):
        hangs = tmp / str(number)
        hangs.mkdir()
        with subprocess.Popen([tessera, "dry-run", "--sweep", "batch=1..64", "--jobs", "2", "--", tmp / "train", "{batch}", "1"],
                              cwd=tmp, env={**environ, "HANGS": str(hangs)}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as running:
            while len(os.listdir(hangs)) < 2:
                assert running.poll() is None
                time.sleep(0.02)
            running.send_signal(number)
            out, said = running.communicate(timeout=60)
        assert running.returncode == -number and out == "" and "stopped by" in said and len(said.splitlines()) == 1, (out, said)
        until = time.monotonic() + 10
        while any(is_alive(int(pid)) for pid in os.listdir(hangs)) and time.monotonic() < until:
            time.sleep(0.02)
        assert not any(is_alive(int(pid)) for pid in os.listdir(hangs)) and os.listdir(tmp / "held") == []


@test
def a_sweep_that_cannot_be_gets_one_sentence(tmp):
    good = ("--sweep", "batch=1..8")
    for bad, words in ((("--sweep", "batch"), ("batch=1..64",)), (("--sweep", "batch=8..1"), ("8..1",)),
                       (("--sweep", "batch="), ("1..64",)), (("--sweep", "batch=1,2"), ("range",)),
                       ((*good, "--sweep", "lr=1,2"), ("{lr}",)), ((*good, *good), ("twice",)),
                       ((*good, "--sweep", "batch2=1..100000"), ("{batch2}",)),
                       ((*good, "--gpu", "h100-80,b300"), ("b300",)), ((*good, "--gpu", ""), ("--gpu",)),
                       ((*good, "--for", 3), ("--for",)), ((*good, "--policy", "native"), ("--policy",)),
                       ((*good, "-o", tmp / "t.tsr"), ("-o",)), ((*good, "--jobs", -1), ("--jobs",)),
                       (("--jobs", 2), ("--jobs",)), (("--gpu", "h100-80,a100-40"), ("--sweep",))):
        refused("dry-run", *bad, "--", "true", "{batch}", status=2, words=words)
    refused("dry-run", *good, "--sweep", "n=1..100000", "--", "true", "{batch}", "{n}", status=2, words=("1000 combinations",))
    refused("dry-run", *good, "--", "python-of-nobody", "{batch}", words=("python-of-nobody", "name the Python"))
    refused("dry-run", *good, "--", "torchrun", "{batch}", status=2, words=("torchrun",))


run_tests()
