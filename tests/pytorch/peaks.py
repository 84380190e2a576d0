#!/usr/bin/env python3
"""What a dry run says a script needs, against the same script run to its end under PyTorch's own
allocator over the null CUDA: the same within 1 %.

SPDX-License-Identifier: Apache-2.0
"""
import json
import re
from pathlib import Path

import dry

# Runs a script, and says at its end what PyTorch counted.
COUNT = """
import atexit, runpy, sys, torch
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
atexit.register(lambda: print("peaks", torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()))
runpy.run_path(sys.argv[0], run_name="__main__")
"""

# Evaluates with a larger batch, saves, and ends with half a batch.
EVALUATES = """
import io, torch
model = torch.nn.Sequential(*[torch.nn.Conv2d(3 if i == 0 else 32, 32, 3) for i in range(6)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(24):
    model(torch.randn(8 if step < 23 else 4, 3, 96, 96, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 8 == 7:
        with torch.no_grad():
            model(torch.randn(256, 3, 96, 96, device="cuda"))
        torch.save(optimizer.state_dict(), io.BytesIO())
"""

PROGRAMS = (
    ("evaluates.py",),
    (dry.EXAMPLES / "gpt.py", "--batch", "1", "--length", "256", "--steps", "12", "--evaluate-every", "5"),
    (dry.EXAMPLES / "llama.py", "--steps", "12", "--seed", "3"),
)
MOST_APART = 0.01


@dry.judge
def main(report, folder):
    count, evaluates = folder / "count.py", folder / "evaluates.py"
    count.write_text(COUNT, encoding="utf-8")
    evaluates.write_text(EVALUATES, encoding="utf-8")
    for name, *arguments in PROGRAMS:
        script = evaluates if name == "evaluates.py" else name
        trace = folder / f"{Path(name).stem}.tsr"
        answer = dry.dry_run(trace, script, *arguments)
        report.expect(answer["complete"], f"{trace.stem}: {answer['seen']}")
        allocated = json.loads(dry.tessera("info", "--json", "--fast", trace))["peak_allocated_bytes"]
        printed = dry.over_null(count, script, *arguments).stdout
        of_pytorch = [int(text) for text in re.search(r"peaks (\d+) (\d+)", printed).groups()]
        for what, ours, theirs in zip(("allocated", "reserved"), (allocated, answer["native_endless_bytes"]), of_pytorch):
            report.expect(abs(ours - theirs) <= MOST_APART * theirs, f"{trace.stem}: {ours} {what}, natively {theirs}")
