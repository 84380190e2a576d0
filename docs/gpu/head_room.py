#!/usr/bin/env python3
"""How much of the device is used beside what PyTorch's allocator reserves: the context, kernels as
they are loaded, cuBLAS, cuDNN, NCCL. A dry run assumes 768 MiB, and 1 GiB with NCCL. Nobody else
may use the device meanwhile.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import sys

from bench import HERE, Bench


def measure(path):
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F

    found = {}

    def note(name):
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        found[name] = total - free - torch.cuda.memory_reserved()

    torch.cuda.init()
    note("context")
    x = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    note("first kernel")
    (x @ x).relu_().sum()
    note("cuBLAS")
    picture = torch.randn(8, 64, 64, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    weight = torch.randn(64, 64, 3, 3, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    F.conv2d(picture, weight).sum().backward()
    note("cuDNN")
    q = torch.randn(2, 8, 1024, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    note("attention")
    torch.optim.AdamW([weight]).step()
    note("AdamW")
    if dist.is_nccl_available() and "--no-nccl" not in sys.argv:
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29571", "RANK": "0", "WORLD_SIZE": "1"}
        dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
        dist.all_reduce(x)
        note("NCCL, one rank")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file)


def main():
    bench = Bench(__doc__)
    facts = bench.folder / "head-room.json"
    bench.example(["gpt", "--steps", "1"])  # which device this is
    bench.python(HERE / "head_room.py", "--measure", facts, *(["--no-nccl"] if bench.is_rehearsal else []))
    bench.save("head-room", json.loads(facts.read_text(encoding="utf-8")))


if sys.argv[1:2] == ["--measure"]:
    measure(sys.argv[2])
else:
    main()
