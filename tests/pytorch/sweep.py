#!/usr/bin/env python3
"""`tessera dry-run --sweep` finds the largest value that a dry run of that value alone says fits.

SPDX-License-Identifier: Apache-2.0
"""
import json
import subprocess
import sys

import dry
from tap import run_tests, test


def dry_run(tmp, *arguments):
    return json.loads(subprocess.run([dry.TESSERA, "dry-run", "--json", *arguments], cwd=tmp, capture_output=True, text=True, timeout=300).stdout)


@test
def a_sweep_finds_the_largest_batch(tmp):
    (tmp / "width.py").write_text("""
import os, torch
model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(4))).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(1000):
    model(torch.randn(int(os.environ["ROWS"]) << 10, 1024, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""")
    answer = dry_run(tmp, "--sweep", "rows=1..400", "--gpu", "4GiB", "--", "env", "ROWS={rows}", sys.executable, "width.py")
    row = answer["largest"][0]
    assert 1 < row["native"] <= row["expandable"] <= 400 and len(answer["runs"]) <= 12, answer
    for n, fits in ((row["native"], True), (row["native"] + 1, False)):
        alone = dry_run(tmp, "--events", "0", "--gpu", "4GiB", "--", "env", f"ROWS={n}", sys.executable, "width.py")
        assert (alone["native_bytes"] <= row["available_bytes"]) == fits, (alone, row)


run_tests()
