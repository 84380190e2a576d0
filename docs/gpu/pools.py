#!/usr/bin/env python3
"""A step that is captured as a CUDA graph and replayed (--graph), or buffers from a MemPool of the
program's own (--pool), between steps as usual: for snapshots with private pools.

SPDX-License-Identifier: Apache-2.0
"""
import argparse

import torch
from torch import nn
from torch.nn import functional

#: A MemPool that is gone when the snapshot is written has left no word of itself there.
_alive = []


def make(width=1024):
    model = nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(width, width), nn.GELU())))
    return model.cuda(), torch.randn(256, width, device="cuda")


def train(model, optimizer, batch):
    loss = functional.mse_loss(model(batch), batch)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.detach()


def capture(model, optimizer, batch):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            train(model, optimizer, batch)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = train(model, optimizer, batch)
    return graph, loss


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--graph", action="store_true")
    options.add_argument("--pool", action="store_true")
    options.add_argument("--steps", type=int, default=8)
    args = options.parse_args()
    torch.manual_seed(0)
    model, batch = make()
    optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
    pool = torch.cuda.MemPool() if args.pool else None
    _alive.append(pool)
    kept = []
    graph = capture(model, optimizer, batch)[0] if args.graph else None
    for step in range(args.steps):
        if graph:
            graph.replay()
        train(model, optimizer, batch)
        if pool:
            with torch.cuda.use_mem_pool(pool):
                kept.append(torch.empty((step + 1) << 20, device="cuda"))
                torch.empty(3 << 20, device="cuda").zero_()
            if step % 2:
                kept.pop(0)
        torch.cuda.synchronize()
    print("done", float(batch.sum()))


main()
