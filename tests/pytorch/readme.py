#!/usr/bin/env python3
"""Each command of the README's table of questions answers, of the bundled sample and of a dry run of a script that
knows nothing of Tessera.

SPDX-License-Identifier: Apache-2.0
"""
import re
import shlex
import shutil
import subprocess
import sys

import dry
from tap import run_tests, test

PROGRAM = """
import argparse, torch
parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--length", type=int, default=512)
options = parser.parse_args()
table = torch.nn.Embedding(1000, 256).cuda()
layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 4).cuda()
head = torch.nn.Linear(256, 1000).cuda()
optimizer = torch.optim.AdamW([*table.parameters(), *model.parameters(), *head.parameters()])
for step in range(5):
    tokens = torch.randint(1000, (options.batch, options.length), device="cuda")
    loss = torch.nn.functional.cross_entropy(head(model(table(tokens))).flatten(0, 1), tokens.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
ERROR = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB of which 1.20 GiB is free. "
         "Including non-PyTorch memory, this process has 38.19 GiB memory in use. Of the allocated memory 20.00 GiB is allocated by PyTorch, "
         "and 17.50 GiB is reserved by PyTorch but unallocated.\n")
#: It opens a window, and needs a screen.
WINDOW = "tessera view"


def rows():
    """Each command, with its question."""
    text = (dry.SOURCE / "README.md").read_text(encoding="utf-8")
    table = text.partition("| question | command |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        _, question, answer, _ = re.split(r" ?(?<!\\)\| ?", line)
        for command in re.findall(r"`([^`]+)`", answer):
            if command.startswith("tessera ") and not command.startswith(WINDOW):
                yield question, command


def answer(tmp, command):
    """Runs it as one would type it, and gives what it says."""
    words = [{"tessera": str(dry.TESSERA), "python": sys.executable}.get(word, word)
             for word in shlex.split(command.replace("torchrun ...", "python").replace("[BLOCK]", "20"))]
    on_gpu = words[1] in ("record", "run")
    done = dry.run(*words, env=dry.NULL_CUDA if on_gpu else {}, cwd=tmp, good=(0, 3))
    return done.stdout + done.stderr


def prepare(tmp):
    (tmp / "train.py").write_text(PROGRAM, encoding="utf-8")
    (tmp / "train.log").write_text(ERROR, encoding="utf-8")
    shutil.copy(dry.SOURCE / "samples" / "finetune-oom.pickle.gz", tmp / "run.pickle")
    (tmp / "other.csv").write_text("id,lower,upper,size\na,0,4,512\nb,2,6,1024\nc,4,8,512\n", encoding="utf-8")
    (tmp / "runs").mkdir()
    answer(tmp, "tessera dry-run -o run.tsr -- python train.py")
    answer(tmp, "tessera dry-run -o mine.tsr -- python train.py --batch 12")
    for copy in "main.tsr", "runs/rank0.tsr", "runs/rank1.tsr":
        shutil.copy(tmp / "run.tsr", tmp / copy)


def check(tmp, asked):
    """Each has the plan that it names made of the trace that it names."""
    for question, command in asked:
        trace = "run.pickle" if "run.pickle" in command else "run.tsr"
        for plan, strategy in ("run.tsp", "free"), ("other.tsp", "stalloc"):
            if re.search(rf"\b{plan}\b", command):
                answer(tmp, f"tessera plan {trace} --no-edits --force --strategy {strategy} -o {plan}")
        overwriting = command.replace(" -o run.", " --force -o run.")
        said, written = answer(tmp, overwriting), re.search(r" -o (\S+)", command.replace("%r", "0"))
        assert len(said) > 20 if written is None else (tmp / written[1]).stat().st_size > 0, (question, command, said)
    return len(asked)


@test
def the_table_as_it_is(tmp):
    prepare(tmp)
    assert check(tmp, list(rows())) >= 30


@test
def of_a_dry_run_what_the_table_asks_of_a_snapshot(tmp):
    prepare(tmp)
    assert check(tmp, [(question, command.replace("run.pickle", "run.tsr")) for question, command in rows()
                       if "run.pickle" in command and " -o run." not in command]) >= 10


run_tests()
