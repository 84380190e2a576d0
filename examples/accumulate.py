# SPDX-License-Identifier: Apache-2.0
"""Pre-train a GPT: gradients of several micro-batches, evaluation and saving between steps."""

from __future__ import annotations

import torch
from torch import Tensor

from loop import add_between_steps, add_var_length, batches_for, between_steps, evaluate, parser, report
from models import GPT, GPT_SIZES, count_parameters


def main() -> None:
    options = parser(__doc__, steps=6)
    add_between_steps(options)
    add_var_length(options)
    options.set_defaults(evaluate_every=2, save_every=3, prefetch=True)
    options.add_argument("--size", choices=GPT_SIZES, default="small")
    options.add_argument("--micro-batches", type=int, default=4)
    options.add_argument("--fewer-every", type=int, default=0, metavar="STEPS",
                         help="every so many steps accumulate half as many micro-batches")
    args = options.parse_args()

    torch.manual_seed(args.seed)
    config = GPT_SIZES[args.size]
    with torch.device("cuda"):
        model = GPT(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    batches = batches_for(args, config.vocabulary)
    print(count_parameters(model))

    def loss_of(tokens: Tensor) -> Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            return model(tokens[:, :-1], tokens[:, 1:])

    for step in range(args.steps):
        total = torch.zeros((), device="cuda")
        is_short = args.fewer_every and (step + 1) % args.fewer_every == 0
        micro_batches = args.micro_batches // 2 if is_short else args.micro_batches
        for _ in range(micro_batches):
            loss = loss_of(next(batches)) / micro_batches
            loss.backward()
            total += loss.detach()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        report(step, total, args.keep_losses)
        del loss
        between_steps(args, step, model, lambda: evaluate(model, loss_of, batches))


if __name__ == "__main__":
    main()
