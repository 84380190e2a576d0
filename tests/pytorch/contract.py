#!/usr/bin/env python3
"""A dry run says whether a program orders its streams as a plan needs it; prints TAP.

SPDX-License-Identifier: Apache-2.0
"""
import os
import re
import subprocess
import sys

import dry
from dry import query as rows
from tap import run_tests, test

BEGIN = """
import sys, torch
main = torch.cuda.current_stream()
side = torch.cuda.Stream()
"""

UNCHECKED = "unchecked"  # an option of program()


def answer_of(tmp, text, *options, name="program"):
    """What a dry run of a program says, checked for its contract unless UNCHECKED."""
    script, trace = tmp / f"{name}.py", tmp / f"{name}.tsr"
    script.write_text(text)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    options = [option for option in options if option != UNCHECKED] + ["--contract"] * (UNCHECKED not in options)
    done = subprocess.run([dry.TESSERA, "dry-run", *options, "-o", trace, "--", sys.executable, script],
                          cwd=tmp, env=environ, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, (done.returncode, done.stdout[-1000:], done.stderr[-3000:])
    return done


def program(tmp, text, *options, name="program"):
    """What is said of the streams of a program, and what its trace says of its contract."""
    done, trace = answer_of(tmp, text, *options, name=name), tmp / f"{name}.tsr"
    said = [line for line in done.stderr.splitlines() if "streams: " in line]
    kept = rows(trace, "SELECT value FROM meta WHERE key = 'contract'")
    assert len(said) == len(kept) <= 1, (said, kept)
    return (said[0] if said else None), (kept[0][0] if kept else None)


def line_of(text, mark):
    """The number of the line that ends with # @mark."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.endswith(f"# {mark}"))


def is_kept(found):
    said, kept = found
    uses = re.search(r"([\d,]+) uses on (\d) streams checked, ([\d,]+) of them of another stream's memory: all ordered",
                     said or "")
    assert uses and kept == "kept: " + said.removeprefix("tessera: streams: "), (said, kept)
    assert int(uses[3].replace(",", "")) > 0, said
    return uses


def is_broken(found, text, use, allocation, name="program"):
    said, kept = found
    assert kept and kept.startswith("broken: ") and said.endswith(kept.removeprefix("broken: ")), (said, kept)
    places = re.findall(rf"{name}\.py:(\d+)", said)
    assert [int(place) for place in places] == [line_of(text, use), line_of(text, allocation)], (said, places)


@test
def a_wait_behind_the_allocation_keeps_it(tmp):
    assert is_kept(program(tmp, BEGIN + """
for step in range(20):
    x = torch.empty(1 << 20, device="cuda")
    side.wait_stream(main)
    with torch.cuda.stream(side):
        y = x.fill_(step) + 1
    if step % 2:
        x.record_stream(side)
    else:
        main.wait_stream(side)
    main.wait_stream(side)
    y.record_stream(main)
    y.sum()
    del x, y
event = torch.cuda.Event()
x = torch.ones(1000, device="cuda")
event.record()
while not event.query():
    pass
with torch.cuda.stream(side):
    x += 1
side.synchronize()
"""))[2] == "2"


@test
def a_wait_before_the_allocation_breaks_it(tmp):
    text = BEGIN + """
for step in range(5):
    side.wait_stream(main)
    x = torch.empty(1 << 20, device="cuda")  # allocates
    with torch.cuda.stream(side):
        x.fill_(step)  # uses
    main.wait_stream(side)
"""
    found = program(tmp, text)
    is_broken(found, text, "uses", "allocates")
    assert "a wait before it does not count" in found[0] and "more such" not in found[0], found


@test
def a_use_in_no_order_breaks_it(tmp):
    for text in BEGIN.replace("side", "early = torch.zeros(1000, device='cuda')\nside") + """
with torch.cuda.stream(side):
    early += 1
""", BEGIN + """
def fill(x):
    with torch.cuda.stream(side):
        torch.nn.functional.relu(x)  # uses
x = torch.zeros(1000, device="cuda")  # allocates
fill(x)
side.wait_stream(main)
with torch.cuda.stream(side):
    x += 1
""":
        found = program(tmp, text, "--no-stacks", "--force")
        if "# uses" in text:
            is_broken(found, text, "uses", "allocates")
        else:
            assert "from before the first stream" in found[0], found


@test
def what_was_there_before_is_ordered_by_any_wait(tmp):
    is_kept(program(tmp, """
import torch
early = torch.zeros(1000, device="cuda")
torch.cuda.synchronize()
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    early += 1
"""))


TRAP = BEGIN + """
for step in range(5):
    x = torch.zeros(1 << 20, device="cuda")  # allocates
    side.wait_stream(main)
    with torch.cuda.stream(side):
        x.sum()  # uses
    del x
    {}
"""


@test
def the_owner_waits_before_it_allocates_again(tmp):
    """Nobody recorded the stream, and the block was free before its last use was done."""
    is_kept(program(tmp, TRAP.format("main.wait_stream(side)")))
    text = TRAP.format("")
    is_broken(program(tmp, text, "--force"), text, "uses", "allocates")
    is_kept(program(tmp, text.replace("del x", "x.record_stream(side); del x"), "--force"))


@test
def one_stream_is_not_watched(tmp):
    text = """
import torch
model = torch.nn.Linear(100, 100).cuda()
model(torch.randn(10, 100, device="cuda")).sum().backward()
torch.cuda.current_stream().synchronize()
event = torch.cuda.Event()
event.record()
event.wait()
assert torch._C._len_torch_dispatch_stack() == 0
"""
    assert program(tmp, text) == (None, None)
    assert program(tmp, text + "side = torch.cuda.Stream()\nassert torch._C._len_torch_dispatch_stack() == 1\n"
                   "model(torch.randn(10, 100, device='cuda'))\n", "--force") == (None, None)


LOADER = """
import torch
from torch.utils.data import DataLoader

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        assert torch._C._len_torch_dispatch_stack() == 0  # a child of a fork
        return torch.full((100,), float(index))

def ahead(batches, copies=torch.cuda.Stream()):
    def copy(batch):
        with torch.cuda.stream(copies):
            return batch.cuda(non_blocking=True)
    following = None
    for batch in batches:
        batch, following = following, copy(batch.pin_memory())
        if batch is not None:
            torch.cuda.current_stream().wait_stream(copies)
            batch.record_stream(torch.cuda.current_stream())
            yield batch

model = torch.nn.Linear(100, 100).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in ahead(DataLoader(Rows(), 4, num_workers=2, multiprocessing_context="fork")):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@test
def a_loader_copies_on_a_stream_of_its_own(tmp):
    is_kept(program(tmp, LOADER))
    text = LOADER.replace("            torch.cuda.current_stream().wait_stream(copies)\n", "")
    text = text.replace(".cuda(non_blocking=True)", ".cuda(non_blocking=True)  # allocates")
    text = text.replace("    model(batch)", "    batch.mul_(2)  # uses\n    model(batch)")
    said, kept = program(tmp, text, "--force")
    assert kept.startswith("broken: ") and f"program.py:{line_of(text, 'allocates')} allocates" in said, said


HOOKS = BEGIN + """
class Residual(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.LayerNorm(64), torch.nn.Linear(64, 64), torch.nn.GELU())
    def forward(self, x):
        return x + self.inner(x)

class Checked(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()
    @staticmethod
    def backward(context, gradient):
        {}
        return gradient

model = torch.nn.Sequential(*[Residual() for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(4):
    x = torch.randn(8, 64, device="cuda")
    loss = torch.nn.functional.kl_div(Checked.apply(model(x)).log_softmax(-1), x.softmax(-1), reduction="sum")
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
RIGHT = """x = torch.empty(1 << 20, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x.fill_(1)
        torch.cuda.current_stream().wait_stream(side)"""
WRONG = """side.wait_stream(torch.cuda.current_stream())
        x = torch.empty(1 << 20, device="cuda")  # allocates
        with torch.cuda.stream(side):
            x.fill_(1)  # uses
        torch.cuda.current_stream().wait_stream(side)"""


@test
def what_a_backward_pass_calls_is_seen(tmp):
    is_kept(program(tmp, HOOKS.format(RIGHT)))
    text = HOOKS.format(WRONG)
    is_broken(program(tmp, text, "--force"), text, "uses", "allocates")


@test
def the_trace_is_the_same_with_the_check_and_without(tmp):
    text = HOOKS.format(RIGHT)
    assert program(tmp, text, UNCHECKED, name="without") == (None, None)
    is_kept(program(tmp, text, name="with"))
    assert dry.requests_of(tmp / "with.tsr") == dry.requests_of(tmp / "without.tsr") != []


@test
def whether_to_look_is_told_where_it_pays(tmp):
    text = BEGIN + """
model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x = torch.empty(64 << 20, device="cuda")
    del x
    with torch.cuda.stream(side):
        y = torch.empty(64 << 20, device="cuda")
        del y
    model(torch.ones(8, 8, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    advice = re.compile(r"The plan needs a device of 51\d.* MiB, .*\nA plan across streams needs one of 2[56]\d.* MiB: "
                        "whether the program allows it is what --contract looks at", re.S)
    assert advice.search((said := answer_of(tmp, text, UNCHECKED).stdout)), said
    assert "--contract" not in (said := answer_of(tmp, text, "--force").stdout), said


@test
def sharded_parameters_are_seen_inside(tmp):
    """DTensors, storages that are resized, collectives: FSDP2 and FSDP1."""
    for name in "fsdp2", "fsdp1":
        requests = []
        for options in ["--contract"], []:
            trace = tmp / f"{name}.tsr"
            answer = dry.dry_run(trace, dry.EXAMPLES / f"{name}.py",
                                 options=["--world", "16", "--rank", "3", "--steps", "3", "--events", "0", "--force", *options])
            assert answer["steps"] == 3, answer
            verdict = rows(trace, "SELECT value FROM meta WHERE key = 'contract'")
            assert options or not verdict, verdict
            assert not options or re.match(r"kept: .* on [34] streams checked, [\d,]+ of them", verdict[0][0]), verdict
            requests.append(dry.requests_of(trace))
        assert requests[0] == requests[1], [len(sizes) for sizes in requests]


@test
def where_it_cannot_look_it_says_so_and_nothing_fails(tmp):
    blind = "import sys\nsys.modules['torch.cuda._sanitizer'] = None\nimport torch\n"
    two = "with torch.cuda.stream(torch.cuda.Stream()):\n    torch.ones(10, device='cuda')\n"
    said, kept = program(tmp, blind + two)
    assert kept.startswith("not checked: ") and "_sanitizer" in said, (said, kept)
    assert program(tmp, blind + "torch.ones(10, device='cuda')\n", "--force") == (None, None)
    # Something of PyTorch's changes its ways in the midst.
    said, kept = program(tmp, BEGIN + "del torch._C._cuda_isCurrentStreamCapturing\n" + two, "--force")
    assert kept.startswith("not checked: AttributeError"), (said, kept)
    compiled = BEGIN + two + "torch.compile(torch.nn.Linear(10, 10).cuda(), backend='eager')(torch.ones(10, device='cuda'))\n"
    said, kept = program(tmp, compiled, "--force")
    assert kept == "not checked: torch.compile is at work" and kept in said, (said, kept)


@test
def modes_and_graphs_of_the_program_go_on(tmp):
    is_kept(program(tmp, """
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

class Counts(TorchDispatchMode):
    n = 0
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        Counts.n += 1
        return func(*args, **(kwargs or {}))

with Counts():
    side = torch.cuda.Stream()
    torch.ones(10, device="cuda")
n = Counts.n
assert n > 0 and torch._C._len_torch_dispatch_stack() == 0
side.wait_stream(torch.cuda.current_stream())
assert torch._C._len_torch_dispatch_stack() == 1
with FakeTensorMode():
    (torch.ones(10, device="cuda") + 1).sum()
with Counts():
    x = torch.ones(10, device="cuda")
assert Counts.n > n
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
graph.replay()
y.sum()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    torch.func.vmap(torch.func.grad(lambda y: y.sum() * 2))(x)
"""))


run_tests()
