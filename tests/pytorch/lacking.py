#!/usr/bin/env python3
"""What a dry run has not: one sentence with the program's line and a way out, or it goes on
without and says so; prints TAP.

SPDX-License-Identifier: Apache-2.0
"""
import os
import subprocess
import sys

import dry
from tap import run_tests, test


def dry_run(tmp, text):
    """Status and what Tessera says, apart from where the trace is."""
    (tmp / "train.py").write_text(text)
    done = subprocess.run([str(dry.TESSERA), "dry-run", "--", sys.executable, "train.py"], cwd=tmp,
                          capture_output=True, text=True, timeout=300, env=dict(os.environ))
    said = [line for line in done.stderr.splitlines() if line.startswith("tessera: ")]
    return done, [line for line in said if "ended with status" not in line]


@test
def a_compiled_program_runs_eagerly(tmp):
    done, said = dry_run(tmp, """
import torch
model = torch.compile(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU()).cuda())
loss = torch.compile(dynamic=True)(lambda output: output.sum())
optimizer = torch.optim.AdamW(model._orig_mod.parameters())
for _ in range(4):
    loss(model(torch.randn(8, 64, device="cuda"))).backward()
    optimizer.step()
    optimizer.zero_grad()
""")
    assert done.returncode == 0, done.stderr
    assert len([line for line in said if "torch.compile runs eagerly" in line]) == 1, done.stderr


@test
def a_missing_call_is_one_sentence(tmp):
    for text, name in (("torch.fft.fft(torch.ones(4, device='cuda'))", "cuFFT"),
                       ("torch.linalg.inv(torch.ones(4, 4, device='cuda'))", "cusolverDnCreate"),
                       ("__import__('ctypes').CDLL(None).cuCtxSetLimit", "cuCtxSetLimit")):
        done, said = dry_run(tmp, f"import torch\ntorch.ones(4, device='cuda')\ndef work():\n    {text}\nwork()\n")
        assert done.returncode == 4, done
        assert len(said) == 1 and said[0].startswith("tessera: train.py:4: ") and name in said[0], done.stderr
        assert "Traceback" not in done.stderr and "tessera record" in said[0], done.stderr


@test
def ranks_that_the_program_starts_are_named(tmp):
    done, said = dry_run(tmp, """
import os, torch, torch.distributed as dist, torch.multiprocessing as mp
def work(rank, world):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="29517")
    dist.init_process_group("nccl", rank=rank, world_size=world)
if __name__ == "__main__":
    mp.spawn(work, args=(1,), nprocs=1)
""")
    assert done.returncode != 0 and "--world 8 --rank 0" in said[-1], done.stderr


run_tests()
