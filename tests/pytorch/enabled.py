#!/usr/bin/env python3
"""tessera.enable() in real programs over the null CUDA: PyTorch's statistics have the keys
and the figures of its own allocator, and whatever fails is one sentence.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import dry
from told import expect, finish

PACKAGES = os.pathsep.join([str(dry.AUTOLOAD), str(dry.PACKAGE)])

# A model is trained, and everything asked that people ask.
PROGRAM = """
import json, torch
from torch import nn
net = nn.Sequential(nn.Linear(1000, 1000), nn.Linear(1000, 10)).cuda()
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(3):
    net(torch.zeros(300, 1000, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.synchronize()
before = torch.cuda.memory_stats()
assert len(torch.cuda.memory_summary().splitlines()) > 30
assert torch.cuda.memory_summary(abbreviated=True)
torch.cuda.reset_peak_memory_stats()
torch.cuda.reset_accumulated_memory_stats()
torch.cuda.reset_max_memory_allocated()
torch.cuda.set_per_process_memory_fraction(0.5)
free, total = torch.cuda.mem_get_info()
found = {
    "keys": sorted(before),
    "nested": sorted(torch.cuda.memory_stats_as_nested_dict()),
    "accelerator": sorted(torch.accelerator.memory_stats()) if hasattr(torch, "accelerator") else [],
    "fraction": torch.cuda.get_per_process_memory_fraction(),
    "total": total,
    "figures": {key: before[key] for key in before if key.startswith(
        ("allocated_bytes", "allocation", "requested_bytes", "reserved_bytes", "segment"))},
    "now": [torch.cuda.memory_allocated(), torch.cuda.memory_reserved()],
    "peak is now": [torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated(),
                    torch.cuda.max_memory_reserved() == torch.cuda.memory_reserved()],
}
torch.cuda.empty_cache()
del net, optimizer
import gc; gc.collect()
torch.cuda.empty_cache()
found["nothing left"] = torch.cuda.memory_allocated()
print(json.dumps(found))
"""
# Everything of the package's own, by hand.
BY_HAND = """
import json, torch, tessera
assert tessera.enable(record="hand-%r.tsr", flush_ms=50)
assert tessera.stats() == {}
weight = torch.zeros(1000, 1000, device="cuda", requires_grad=True)
for _ in range(2):
    tessera.step()
    (weight * 2).sum().backward()
with tessera.phase("eval"):
    tessera.mark("look here")
    kept = weight.detach() * 3
assert tessera.flush()
counted = tessera.stats("cuda:0")
tessera.disable()
assert tessera.stats() == {} and not tessera.flush()
more = torch.zeros(5, device="cuda")
print(json.dumps([counted["n_events"] > 8, counted["n_lost"], counted["plan_height_bytes"]]))
"""
LATE = "import torch; torch.zeros(1, device='cuda'); import tessera; print(tessera.enable(record='late.tsr'))"
REFUSED = "import torch, tessera; print(tessera.enable(policy='best')); torch.zeros(1, device='cuda')"
TWICE = "import torch, tessera; tessera.enable(policy='native'); print(tessera.enable(policy='native'))"
NO_DEVICE = "import torch; print(torch.ones(3).sum().item())"
ALIVE = "import torch; print(torch.zeros(1000, device='cuda').numel(), torch.cuda.get_allocator_backend())"
# Its end is the end of a backward pass.
BACKWARD = """
import torch
net = torch.nn.Sequential(*[torch.nn.Linear(100, 100) for _ in range(3)]).cuda()
for _ in range(3):
    net(torch.zeros(300, 100, device="cuda")).sum().backward()
"""
OTHER_SITE = "import sys; sys.stdout.write('other ran ')"


def run(program, folder, **given):
    environment = {
        **os.environ,
        **dry.NULL_CUDA,
        "PYTHONPATH": PACKAGES,
        "TESSERA_LIBRARY": str(dry.LIBRARY),
        **given,
    }
    done = subprocess.run([sys.executable, "-c", program], env=environment, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr)
    said = [line for line in done.stderr.splitlines() if line.startswith("tessera: ")]
    return done.returncode, done.stdout.strip(), said


def is_one_sentence(name, result, out, *words):
    status, printed, said = result
    holds = [status, printed, len(said), all(word in " ".join(said) for word in words)]
    expect(name, holds, [0, out, 1, True])
    if not holds[3]:
        print("  said:", said)


with dry.scratch() as folder:
    native = json.loads(run(PROGRAM, folder)[1])
    status, printed, said = run(PROGRAM, folder, TESSERA_RECORD="run.tsr")
    ours = json.loads(printed)
    for key in native:
        expect(f"as PyTorch's own allocator: {key}", [ours[key]], [native[key]])
    expect("nothing was said", said, [])
    expect("a trace is there", [Path(folder, "run.tsr").exists()], [True])

    expect("by hand", run(BY_HAND, folder), [0, "[true, 0, 0]", []])
    by_hand = Path(folder, "hand-0.tsr")
    names = {name for (name,) in dry.query(by_hand, "SELECT name FROM phase")}
    steps = [name for (name,) in dry.query(by_hand, "SELECT name FROM step ORDER BY range_index")]
    expect("its phases", sorted(names), ["backward", "eval"])
    expect("its steps", steps, ["step 0", "step 1"])

    is_one_sentence("too late", run(LATE, folder), "False", "before tessera.enable()")
    is_one_sentence("an option that makes no sense", run(REFUSED, folder), "False", "stays")
    is_one_sentence("twice", run(TWICE, folder), "False", "before")
    is_one_sentence(
        "no library",
        run(ALIVE, folder, TESSERA_RECORD="a.tsr", TESSERA_LIBRARY="/nowhere/libtessera.so"),
        "1000 native",
        "TESSERA_LIBRARY",
    )
    is_one_sentence(
        "a library of another kind",
        run(ALIVE, folder, TESSERA_RECORD="a.tsr", TESSERA_LIBRARY="libc.so.6"),
        "1000 native",
        "is no libtessera.so",
    )
    is_one_sentence(
        "a trace that can't be written",
        run(ALIVE, folder, TESSERA_RECORD="/nowhere/a.tsr"),
        "1000 pluggable",
        "/nowhere",
    )
    quiet = run(ALIVE, folder, TESSERA_RECORD="/nowhere/a.tsr", TESSERA_QUIET="1")
    expect("quiet", quiet, [0, "1000 pluggable", []])
    expect("no device used", run(NO_DEVICE, folder, TESSERA_RECORD="none.tsr"), [0, "3.0", []])
    expect("then no trace is written", [Path(folder, "none.tsr").exists()], [False])
    Path(folder, "site").mkdir()
    Path(folder, "site", "sitecustomize.py").write_text(OTHER_SITE)
    path = os.pathsep.join([PACKAGES, str(Path(folder, "site"))])
    result = run(ALIVE, folder, TESSERA_RECORD="b.tsr", PYTHONPATH=path)
    expect("another sitecustomize runs too", result, [0, "other ran 1000 pluggable", []])
    late = " ".join([dry.NULL_CUDA["LD_PRELOAD"], os.path.abspath(sys.argv[1])])
    ends = [run(BACKWARD, folder, TESSERA_POLICY="native", LD_PRELOAD=late, LATE_US=str(us)) for us in range(2000, 12000, 1000)]
    expect("autograd's thread is late at the end", ends, [(0, "", [])] * 10)
finish()
