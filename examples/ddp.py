# SPDX-License-Identifier: Apache-2.0
"""Pre-train a GPT on several devices, each with the whole model: DistributedDataParallel.

    torchrun --nproc-per-node 8 examples/ddp.py
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from loop import (add_between_steps, batches_for, between_steps, evaluate, join_group, parser,
                  report)
from models import GPT, GPT_SIZES, count_parameters


def main() -> None:
    options = parser(__doc__)
    add_between_steps(options)
    options.add_argument("--size", choices=GPT_SIZES, default="small")
    options.add_argument("--recompute", action="store_true")
    args = options.parse_args()

    rank, _ = join_group()
    torch.manual_seed(args.seed)
    args.seed += rank
    config = GPT_SIZES[args.size]
    with torch.device("cuda"):
        model = DistributedDataParallel(GPT(config, recompute=args.recompute),
                                        gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batches = batches_for(args, config.vocabulary)
    print(count_parameters(model))

    def loss_of(tokens: Tensor) -> Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            return model(tokens[:, :-1], tokens[:, 1:])

    for step in range(args.steps):
        loss = loss_of(next(batches))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        report(step, loss.detach())
        del loss
        between_steps(args, step, model.module, lambda: evaluate(model, loss_of, batches))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
