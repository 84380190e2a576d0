# SPDX-License-Identifier: Apache-2.0
"""Pre-train a GPT in bfloat16 autocast with AdamW, with or without recomputing activations."""

from __future__ import annotations

import torch
from torch import Tensor

from loop import add_between_steps, batches_for, between_steps, evaluate, parser, report
from models import GPT, GPT_SIZES, count_parameters


def main() -> None:
    options = parser(__doc__)
    add_between_steps(options)
    options.add_argument("--size", choices=GPT_SIZES, default="small")
    options.add_argument("--recompute", action="store_true", help="keep only what enters a block")
    args = options.parse_args()

    torch.manual_seed(args.seed)
    config = GPT_SIZES[args.size]
    with torch.device("cuda"):
        model = GPT(config, recompute=args.recompute)
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
        report(step, loss.detach(), args.keep_losses)
        del loss
        between_steps(args, step, model, lambda: evaluate(model, loss_of, batches))


if __name__ == "__main__":
    main()
