# SPDX-License-Identifier: Apache-2.0
"""Finetune a frozen Llama by low-rank additions to the projections of its attention (LoRA)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import LlamaForCausalLM

from loop import add_between_steps, add_var_length, batches_for, between_steps, evaluate, parser, report
from models import LLAMA_SIZES, llama_config


class LoRA(nn.Module):
    """A linear layer as it is, and a product of two narrow ones that learn."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + 2 * self.up(self.down(x))


def main() -> None:
    options = parser(__doc__)
    add_between_steps(options)
    add_var_length(options)
    options.add_argument("--size", choices=LLAMA_SIZES, default="160m")
    options.add_argument("--rank", type=int, default=16)
    options.add_argument("--recompute", action="store_true")
    options.add_argument("--micro-batches", type=int, default=1)
    args = options.parse_args()

    torch.manual_seed(args.seed)
    config = llama_config(args.size)
    model = LlamaForCausalLM(config).requires_grad_(False)
    for layer in model.model.layers:
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(layer.self_attn, name, LoRA(getattr(layer.self_attn, name), args.rank))
    model = model.to("cuda", torch.bfloat16).train()
    if args.recompute:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    batches = batches_for(args, config.vocab_size)

    def loss_of(tokens: Tensor) -> Tensor:
        return model(input_ids=tokens, labels=tokens).loss

    for step in range(args.steps):
        for _ in range(args.micro_batches):
            loss = loss_of(next(batches)) / args.micro_batches
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        report(step, loss.detach(), args.keep_losses)
        between_steps(args, step, model, lambda: evaluate(model, loss_of, batches))


if __name__ == "__main__":
    main()
