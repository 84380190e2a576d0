#!/usr/bin/env python3
"""What a dry run has not: one sentence with the program's line and a way out, or it goes on
without and says so; prints TAP.

SPDX-License-Identifier: Apache-2.0
"""
import itertools
import os
import subprocess
import sys
import threading
import types

import dry
from tap import run_tests, test


def dry_run(tmp, text, *options):
    """Status and what Tessera says, apart from where the trace is and how far it is."""
    (tmp / "train.py").write_text(text)
    done = subprocess.run([str(dry.TESSERA), "dry-run", *options, "--", sys.executable, "train.py"], cwd=tmp,
                          capture_output=True, text=True, timeout=300, env=dict(os.environ))
    said = [line for line in done.stderr.splitlines() if line.startswith("tessera: ")]
    return done, [line for line in said if "ended with status" not in line and "events in" not in line]


@test
def modules_that_have_no_length_are_followed(tmp):
    """torch.compile gives a module one that raises where the module has none."""
    done, _ = dry_run(tmp, """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(140))
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
net, other = torch.compile(Net().cuda(), backend="eager"), Net().cuda()
optimizer = torch.optim.SGD([*net.parameters(), *other.parameters()], lr=0.1)
for _ in range(3):
    (net(torch.ones(4, 8, device="cuda")) + other(torch.ones(4, 8, device="cuda"))).sum().backward()
    optimizer.step()
""")
    assert done.returncode == 0 and "no longer followed" not in done.stderr, done.stderr


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
def what_is_compiled_and_never_called_is_not_said(tmp):
    """Libraries decorate functions; where one must be a single graph, running eagerly is no error."""
    for call, n in (("x", 0), ("double(x)", 1)):
        done, said = dry_run(tmp, f"""
import torch
@torch.compile(fullgraph=True, dynamic=True)
def double(x):
    return 2 * x
layer = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.AdamW(layer.parameters())
for _ in range(3):
    x = layer(torch.randn(8, 64, device="cuda"))
    {call}.sum().backward()
    optimizer.step()
""")
        assert done.returncode == 0, done.stderr
        assert len([line for line in said if "torch.compile runs eagerly" in line]) == n, (call, done.stderr)


@test
def kernels_of_triton_are_not_launched(tmp):
    """What they write is there, and so is the buffer that autotuning asks for: 256 MiB."""
    done, said = dry_run(tmp, """
import torch, triton, triton.language as tl
@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)
tuned = triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=["n"])(double)
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        double[(x.numel() // 256,)](x, out, x.numel(), BLOCK=256)
        return out
    @staticmethod
    def backward(ctx, grad):
        out = torch.empty_like(grad)
        tuned[lambda meta: (grad.numel() // meta["BLOCK"],)](grad, out, grad.numel())
        return out
layer = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.AdamW(layer.parameters())
for _ in range(4):
    Double.apply(layer(torch.randn(64, 64, device="cuda"))).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
assert 256 << 20 < torch.cuda.max_memory_allocated() < 258 << 20
""")
    assert done.returncode == 0 and "Seen: 4 steps" in done.stdout, (done.stdout, done.stderr)
    assert said == [], said


@test
def convolutions_are_said_to_be_guessed(tmp):
    for layer, n in (("Conv2d(8, 8, 3)", 1), ("Linear(16, 16)", 0)):
        done, said = dry_run(tmp, f"""
import torch
model = torch.nn.Sequential(torch.nn.{layer}, torch.nn.{layer}).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(4):
    model(torch.randn(2, 8, 16, 16, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""")
        assert done.returncode == 0, done.stderr
        assert len([line for line in said if "convolutions is guessed" in line]) == n, done.stderr


@test
def what_programs_divide_by_is_not_zero(tmp):
    """A state of the optimizer that was loaded to the device, averaged batch norms, samples, counts."""
    done, _ = dry_run(tmp, """
import torch
from torch import nn

for kind in torch.optim.AdamW, torch.optim.RAdam, torch.optim.Adafactor, torch.optim.NAdam:
    for foreach in False, True:
        model = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64, momentum=None)).cuda()
        optimizer = kind(model.parameters(), foreach=foreach)
        for step in range(4):
            model(torch.randn(8, 64, device="cuda")).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            if step == 1:
                torch.save(optimizer.state_dict(), "state.pt")
                optimizer.load_state_dict(torch.load("state.pt", map_location="cuda"))
                assert next(iter(optimizer.state.values()))["step"].is_cuda
        # What averaged norms and samples ask of the device.
        policy = torch.distributions.Categorical(logits=model(torch.randn(8, 64, device="cuda")))
        policy.log_prob(policy.sample())
        labels = torch.full((8,), -100, device="cuda")
        assert 1 / (labels != -100).sum().item() == 1
        scaler = torch.amp.GradScaler("cuda")
        scaler.scale(model(torch.randn(8, 64, device="cuda")).sum()).backward()
        done = []
        optimizer.register_step_post_hook(lambda *_: done.append(1))
        scaler.step(optimizer)
        scaler.update()
        assert done, "no step is skipped for infinities"
""")
    assert done.returncode == 0, done.stderr


@test
def checks_that_all_is_well_hold(tmp):
    done, said = dry_run(tmp, """
import torch
x = torch.randn(8, 64, device="cuda")
# One mask selects as much each time, until it is written.
first, other = x.flatten() > 0, x.flatten() > 1
n = len(torch.where(other)[0])
assert len(x.flatten()[first]) == len(torch.where(first)[0]) == len(x.flatten().masked_select(first)) and n > 0
assert len(x.flatten()[other]) == len(other.nonzero()) == n
other &= first
assert len(x.flatten()[other]) == 0
# What the host makes on the device is known, also where it is stretched or selects.
assert torch.tensor([2], device="cuda").expand(3).tolist() == [2, 2, 2]
assert x[torch.as_tensor([True] * 5 + [False] * 3, device="cuda")].shape == (5, 64)
assert not torch.isnan(x).all(dim=1).any() and not x.isinf().all() and not x.isnan().any()
assert torch.isfinite(x.sum()) and x.isfinite().all() and not torch.isnan(x.sum()) and torch.allclose(x, x)
assert not torch.allclose(torch.zeros(2), torch.ones(2)) and not torch.isfinite(torch.tensor(float("inf")))
""")
    assert done.returncode == 0, done.stderr


@test
def targets_of_ctc_have_lengths(tmp):
    """A mask of data that are made on the device tells nothing; lengths that are sent from the host are kept."""
    done, said = dry_run(tmp, """
import torch
from torch import nn
model, loss_of = nn.Linear(80, 40).cuda(), nn.CTCLoss(zero_infinity=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    scores = model(torch.randn(100, 8, 80, device="cuda")).log_softmax(-1)
    labels = torch.randint(-5, 40, (8, 30), device="cuda")
    mask, n_inputs = labels >= 0, torch.full((8,), 100, device="cuda")
    listed = loss_of(scores, labels.masked_select(mask), n_inputs, mask.sum(-1))
    before = torch.cuda.memory_allocated()
    known = loss_of(scores, labels, n_inputs, torch.full((8,), 15).cuda())
    # What the function keeps of each input: a state before, at and behind each label.
    assert 8 * 100 * 31 * 4 <= torch.cuda.memory_allocated() - before < 8 * 100 * 33 * 4
    (listed + known + loss_of(scores, labels, n_inputs, mask.sum(-1))).backward()
    optimizer.step()
    optimizer.zero_grad()
""")
    assert done.returncode == 0, done.stderr


@test
def errors_that_may_come_of_values_say_so(tmp):
    """Those of other kinds do not, nor those of a program that has read nothing from the device."""
    for text, is_said in (("assert x.sum().item() > 0", True), ("1 / x.mean().item()", True),
                          ("x.split(x[0].long().tolist())", True), ("x.sum().item(); x.nothing", False), ("x.sum().item(); x.sum().backward()", False),
                          ("assert x.shape == (4, 4)", False), ("x @ x", False)):
        done, said = dry_run(tmp, f"import torch\nx = torch.ones(4, 8, device='cuda')\n{text}\n")
        assert done.returncode == 4 and "Error" in done.stderr, done.stderr
        assert len(said) == is_said, (text, done.stderr)
        assert not said or said[0].startswith("tessera: train.py:3: a dry run computes nothing") and "TESSERA_DRY_RUN" in said[0], said


@test
def a_missing_call_is_one_sentence(tmp):
    for text, name in (("torch.eye(4).to_sparse_csr().cuda() @ torch.ones(4, 4, device='cuda')", "cusparseCreateCsr"),
                       ("__import__('ctypes').CDLL(None).cuCtxDetach", "cuCtxDetach")):
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


@test
def a_loop_that_hangs_on_the_device_is_ended_and_named(tmp):
    done, said = dry_run(tmp, """
import torch
layer = torch.nn.Linear(64, 64).cuda()
def decode(x):
    with torch.no_grad():
        while not (x > 5).any():
            x = layer(x)
decode(torch.randn(4, 64, device="cuda"))
""", "--events", "5000")
    assert done.returncode == 0 and "stopped at 50" in done.stdout, (done.stdout, done.stderr)
    assert said[0].startswith("tessera: train.py:") and "no optimizer stepped" in said[0], done.stderr
    assert int(said[0].split(":")[2]) in (6, 7), said


@test
def steps_that_never_come_are_not_waited_for(tmp):
    sys.path.insert(0, str(dry.PACKAGE))
    from tessera.further import Further

    os.environ["TESSERA_DRY_RUN"] = "1"
    guard = Further.of(0, 0)  # --steps 3
    library = types.SimpleNamespace(get_stats=lambda device: types.SimpleNamespace(n_events=2000000))
    assert guard is not None and not guard.goes_on
    guard.attach(library, lambda: 0, lambda: None)
    assert guard.reached() == "events"
    guard.detach()
    del os.environ["TESSERA_DRY_RUN"]
    assert Further.of(0, 0) is None and Further.of(5, 0).goes_on


@test
def a_loop_that_only_asks_for_values_is_ended(tmp):
    sys.path.insert(0, str(dry.PACKAGE))
    from tessera import further

    further._PROGRESS_S = further._IDLE_S = 0.01
    library = types.SimpleNamespace(get_stats=lambda device: types.SimpleNamespace(n_events=7))
    for seconds, ends in (0, True), (1e9, False):
        ended, clock = threading.Event(), itertools.count(0, 2e9)
        loop = further.Further(1000, seconds)
        loop.attach(library, lambda: 0, ended.set)
        loop._device_ns = lambda: next(clock)
        while next(clock) < 1e12 and not ended.wait(0.01):
            pass
        loop.detach()
        assert ended.is_set() == ends and (loop.reached() == "values") == ends, (seconds, loop.reached())


run_tests()
