#!/usr/bin/env python3
"""The library is told of each stream that a program makes, and of no other.

SPDX-License-Identifier: Apache-2.0
"""
import json
import sys
from pathlib import Path

from dry import LIBRARY, NULL_CUDA, PACKAGE, dry_run, run, scratch, tessera

PROGRAM = '''
import torch, tessera

assert tessera.enable(policy="native")
library, told = tessera._session.library, []
tell = library.has_streams
library.has_streams = lambda device: (told.append(device), tell(device))

{first}
side = torch.cuda.Stream()
assert told == [0], told
assert type(side) is torch.cuda.Stream and side == side and side.cuda_stream != 0
with torch.cuda.stream(side):
    y = torch.zeros(1000, device="cuda")
side.synchronize()
told.clear()
urgent = torch.cuda.Stream(priority=-1)
same = torch.cuda.ExternalStream(side.cuda_stream)
assert type(same) is torch.cuda.ExternalStream and same.cuda_stream == side.cuda_stream
assert told == [0, 0], told
tessera.disable()
torch.cuda.Stream(device=0)
assert told == [0, 0, 0], told
'''
# A program without streams of its own asks for the default one all the time.
DEFAULT = '''
x = torch.zeros(1000, device="cuda")
torch.cuda.current_stream().synchronize()
with torch.cuda.stream(torch.cuda.default_stream()):
    del x
assert told == [], told
'''

for first in (DEFAULT, ""):  # the first stream may be what initialises CUDA
    run(sys.executable, "-c", PROGRAM.format(first=first),
        env={**NULL_CUDA, "TESSERA_LIBRARY": str(LIBRARY), "PYTHONPATH": str(PACKAGE)})

# A stream that never asks for memory is in no event: the plan knows of it all the same, and holds in
# a run that makes it too.
COPIES = '''
import torch
from torch import nn
net = nn.Sequential(*[nn.Sequential(nn.Linear(512, 512), nn.GELU()) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(net.parameters())
torch.cuda.Stream()
for _ in range(8):
    x = torch.randn(600, 512, device="cuda")
    loss = nn.functional.mse_loss(net(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
with scratch() as folder:
    script, trace = Path(folder) / "copies.py", Path(folder) / "copies.tsr"
    script.write_text(COPIES)
    dry_run(trace, script)
    dry_run(Path(folder) / "followed.tsr", script, options=["--plan", trace.with_suffix(".tsp")])
    seen = json.loads(tessera("info", Path(folder) / "followed.tsr", "--json"))["recording"]
assert seen["hits"] > 400 and seen["misses"] == 0 == seen["declined_at_event"], seen
print("told of its streams")
