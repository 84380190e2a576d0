# SPDX-License-Identifier: Apache-2.0
"""Programs that do what training programs do beside training: what they print is what they
print without Tessera, but for lines that begin with "tessera: "."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

from dry import BUILD, TESSERA, Report, scratch

TRAIN = """
import sys, torch
from torch import nn
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.LazyLinear(4)).cuda()
net(torch.zeros(2, 3, 9, 9, device="cuda"))
optimizer = torch.optim.AdamW(net.parameters())
def train(net=net, steps=2):
    for _ in range(steps):
        net(torch.zeros(2, 3, 9, 9, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""
# All that PyTorch refuses under an allocator that is not its own; what torch.compile says of
# hooks; and memory that ends.
EVERYTHING = """
import torch
torch.cuda.memory._record_memory_history(max_entries=1000)
torch.backends.cudnn.benchmark = True
""" + TRAIN + """
train()
print("segments" in torch.cuda.memory._snapshot())
torch.cuda.memory._dump_snapshot("dumped.pickle")
torch.cuda.memory._record_memory_history(enabled=None)
with torch.backends.cudnn.flags(enabled=True, benchmark=True):
    train()
train(torch.compile(net, backend="eager"))
print(list(torch.cuda.memory_stats_as_nested_dict()))
kept = []
try:
    while True:
        kept.append(torch.empty(4 << 30, dtype=torch.uint8, device="cuda"))
except torch.cuda.OutOfMemoryError as error:
    print(len(kept), str(error)[:50])
del kept
try:
    torch.empty(4 << 40, dtype=torch.uint8, device="cuda")
except RuntimeError as error:
    print(type(error).__name__)
train()
raise SystemExit(7)
"""
# Nobody says the rank.
LAUNCHED = "import torch, torch.distributed as dist; dist.init_process_group('nccl')"

report = Report()


def start(folder, *command):
    null = BUILD / "nullcuda"
    given = {"LD_PRELOAD": null / "libnullcuda.so", "LD_LIBRARY_PATH": null, "NULLCUDA_FORCE": "1"}
    return subprocess.Popen([str(part) for part in command], cwd=folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, **{key: str(value) for key, value in given.items()}})


def end(process):
    out, said = process.communicate()
    ours = [line for line in said.splitlines() if line.startswith("tessera: ")]
    theirs = [line for line in said.splitlines() if not line.startswith("tessera: ")]
    return process.returncode, out, theirs, ours


with scratch() as folder:
    python = [sys.executable, "-c"]
    Path(folder, "alone").mkdir()
    alone = start(Path(folder, "alone"), *python, EVERYTHING)
    recorded = start(folder, TESSERA, "record", "-o", "rough.tsr", "--", *python, EVERYTHING)
    launched = start(folder, TESSERA, "dry-run", "-o", "none.tsr", "--", *python, LAUNCHED)
    status, out, theirs, ours = end(recorded)
    report.expect((status, out, theirs) == end(alone)[:3], f"recorded as alone: {status} {out} {theirs}")
    report.expect(len(ours) == 1, f"what is left out is one sentence: {ours}")
    with Path(folder, "dumped.pickle").open("rb") as file:
        report.expect(len(pickle.load(file)["device_traces"][0]) > 100, "the history is the recording's")
    report.expect(Path(folder, "rough.tsr").exists(), "there is a trace")
    status, out, theirs, ours = end(launched)
    report.expect(status == 4 and any("--world" in line for line in ours),
                  f"a program for a launcher: the sentence names --world: {ours}")
report.done()
