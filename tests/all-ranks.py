#!/usr/bin/env python3
"""`tessera dry-run --all-ranks` over a program that writes its trace itself, without PyTorch: which ranks run, and what
is said of the others. Prints TAP.

    all-ranks.py TESSERA SOURCE-ROOT

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess

from command import TESSERA, elsewhere, refused, run
from fake_rank import TRAIN
from tap import run_tests, test


def all_ranks(tmp, world, sizes, *options, status=0, **environ):
    """What it answers, what it says on stderr, and the ranks that ran."""
    if not (tmp / "train").exists():
        elsewhere(tmp)
        (tmp / "train").write_text(TRAIN)
        (tmp / "train").chmod(0o755)
    subprocess.run(["rm", "-rf", tmp / "train-ranks"], check=True)
    done = subprocess.run([tmp / "build" / "cli" / "tessera", "dry-run", "--world", str(world), "--all-ranks", "--json", *options,
                           "--", tmp / "train"], cwd=tmp, capture_output=True, text=True, timeout=200,
                          env={**os.environ, "IMPORTER": TESSERA, "SIZES": sizes, **environ})
    assert done.returncode == status, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    if status == 4:
        return None, done.stderr, []
    answer = json.loads(done.stdout)
    of_folder = json.loads(run("job", tmp / "train-ranks", "--json").stdout)
    assert kinds_of(of_folder) == kinds_of(answer) and of_folder["sentence"] == answer["sentence"], (of_folder, answer)
    return answer, done.stderr, [file["rank"] for file in answer["files"] if not file["taken"]]


def kinds_of(answer):
    return {kind["where"]: kind["ranks"] for kind in answer["kinds"]}


@test
def each_stage_has_its_first_and_last_run(tmp):
    answer, _, ran = all_ranks(tmp, 16, "8 * (r // 4 + 1)", GROUPS="pp=4 dp=4")
    assert answer["topology"] == "pp=4 dp=4" and ran == [0, 3, 4, 7, 8, 11, 12, 15], answer
    assert kinds_of(answer) == {f"stage {stage}": list(range(4 * stage, 4 * stage + 4)) for stage in (3, 2, 1, 0)}, answer
    assert answer["world"] == answer["ranks"] == 16 and answer["sentence"].startswith("Ranks 12-15 (stage 3) need most: ")
    # The data-parallel axis outside, and experts.
    answer, _, ran = all_ranks(tmp, 16, "8 * (r % 2 + 1)", "--topology", "dp=4,ep=2,pp=2")
    assert ran == [0, 1, 2, 3, 12, 13, 14, 15] and kinds_of(answer) == {
        "stage 1": list(range(1, 16, 2)), "stage 0": list(range(0, 16, 2))}, answer


@test
def one_in_a_stage_that_is_unlike_is_found(tmp):
    answer, _, ran = all_ranks(tmp, 32, "8 + (r == 31) + 8 * (r // 16)", GROUPS="pp=2 dp=16")
    assert kinds_of(answer) == {"stage 1, dp 15": [31], "stage 1, dp 0-14": list(range(16, 31)), "stage 0": list(range(16))}, answer
    assert len(ran) < 12, ran


@test
def without_a_topology_unlike_ones_are_looked_between(tmp):
    answer, _, ran = all_ranks(tmp, 64, "8")
    assert answer["topology"] == "rank=64" and ran == [0, 23, 63] and len(answer["kinds"]) == 1, answer
    for sizes, world in ("8 * (r // 16 + 1)", 64), ("8 + 8 * (r > 0)", 64), ("8 * (r % 4 + 1)", 16):
        answer, _, ran = all_ranks(tmp, world, sizes)
        of_kind = sorted(kind["ranks"] for kind in answer["kinds"])
        expected = {}
        for rank in range(world):
            expected.setdefault(eval(sizes, {"r": rank}), []).append(rank)
        assert of_kind == sorted(expected.values()), (sizes, of_kind)
        assert len(ran) <= (24 if world == 64 else 16), (sizes, ran)


@test
def what_does_not_fit_or_fails_is_said(tmp):
    all_ranks(tmp, 4, "8 + r * 30000", "--gpu", "a100-40", status=3)
    _, said, _ = all_ranks(tmp, 6, "8", status=4, FAILS="5")
    assert "rank 5 failed: ValueError: no rank 5 (more in " in said, said
    refused("dry-run", "--world", 6, "--all-ranks", "-o", tmp, "--", "true", words=("cannot be made: File exists; name another",))
    for options in ("--rank", 1), ("--plan", "x"), ("--topology", "pp=4"), ("--sweep", "a=1,2"):
        assert run("dry-run", "--world", 6, "--all-ranks", *options, "--", "true").returncode == 2, options


# Slurm's and GNU parallel's part: each task by itself.
SBATCH = """#!/bin/sh
echo "$@" >>calls
for word in "$@"; do case $word in --array=*) cells=${word#--array=};; --wrap) wraps=1;; *) last=$word;; esac; done
if [ $wraps ]; then sh -c "$last" >answer; exit; fi
case $cells in *-*) cells=$(seq ${cells%-*} ${cells#*-});; esac
for cell in $(echo $cells | tr , ' '); do SLURM_ARRAY_TASK_ID=$cell sh "$last" >&2 || exit; done
echo "17;cluster"
"""
PARALLEL = """#!/bin/sh
shift 2; while read cell; do "$@" $cell >&2; done
"""


@test
def engines_get_a_task_and_a_line(tmp):
    elsewhere(tmp)
    for name, text in ("train", TRAIN), ("sbatch", SBATCH), ("parallel", PARALLEL):
        (tmp / name).write_text(text)
        (tmp / name).chmod(0o755)
    environment = {**os.environ, "IMPORTER": TESSERA, "SIZES": "8 * (r // 2 + 1)", "PATH": f"{tmp}:{os.environ['PATH']}"}

    def ask(*words):
        done = subprocess.run([tmp / "build" / "cli" / "tessera", "job", *words], cwd=tmp, capture_output=True, text=True,
                              timeout=200, env=environment)
        assert done.returncode == 0, done
        subprocess.run(["bash", "-n", tmp / "it's" / "task"], check=True)
        return done.stdout

    kinds = "Ranks 2-3 need most: "
    line = ask("--slurm", "--world", "4", "it's", "--", "./train", "--lr", "it's {rank}")
    assert "--array=0-3 " in line and not (tmp / "calls").exists() and os.listdir(tmp / "it's") == ["task"], line
    task = (tmp / "it's" / "task").read_text()
    assert task.splitlines()[-1].endswith("""-- './train' '--lr' 'it'\\''s '"$i"''"""), task
    subprocess.run(["sh", "-c", line], cwd=tmp, env=environment, check=True, capture_output=True)
    assert (tmp / "answer").read_text().startswith(kinds) and "--dependency=afterany:17 " in (tmp / "calls").read_text()
    (tmp / "answer").unlink()
    ask("--slurm", "--submit", "--world", "4", "it's", "./train")
    assert (tmp / "answer").read_text().startswith(kinds)
    answer = ask("--parallel", "--submit", "--world", "4", "it's", "--", "./train")
    assert kinds in answer, answer
    subprocess.run(["rm", "-r", tmp / "it's"], check=True)
    for values, cells in ("1,2,5", [1, 2, 5]), ("1..3", [1, 2, 3]):
        for engine in "--slurm", "--parallel":
            ask(engine, "--submit", "--sweep", f"batch={values}", "it's", "--", "env", "TESSERA_RANK={batch}", "TESSERA_WORLD=8", "./train")
            assert sorted(path.name for path in (tmp / "it's").glob("*.tsr")) == [f"batch-{cell}.tsr" for cell in cells]
            subprocess.run(["rm", "-r", tmp / "it's"], check=True)
    for wrong in (("--slurm", "x", "true"), ("--slurm", "--world", "4", "x"), ("--parallel", "--sweep", "b=1;rm", "x", "true"),
                  ("--world", "4", "x"), ("--submit", "x")):
        refused("job", *wrong, status=2)


run_tests()
