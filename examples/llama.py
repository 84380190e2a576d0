# SPDX-License-Identifier: Apache-2.0
"""Train Hugging Face's Llama from random weights, on sequences of one length or of many."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from loop import add_between_steps, add_var_length, batches_for, between_steps, evaluate, parser, report
from models import LLAMA_SIZES, count_parameters, llama_config


def main() -> None:
    options = parser(__doc__)
    add_between_steps(options)
    add_var_length(options)
    options.add_argument("--size", choices=LLAMA_SIZES, default="160m")
    options.add_argument("--recompute", action="store_true")
    options.add_argument("--zero-first", action="store_true",
                         help="zero the gradients before the forward pass, not after the optimizer's step")
    args = options.parse_args()

    torch.manual_seed(args.seed)
    config = llama_config(args.size)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.train()
    if args.recompute:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    batches = batches_for(args, config.vocab_size)
    print(count_parameters(model))

    def next_batch() -> Tensor:
        tokens = next(batches)
        if args.zero_first:
            optimizer.zero_grad()
        return tokens

    def loss_of(tokens: Tensor) -> Tensor:
        return model(input_ids=tokens, labels=tokens).loss

    for step in range(args.steps):
        loss = loss_of(next_batch())
        loss.backward()
        optimizer.step()
        if not args.zero_first:
            optimizer.zero_grad()
        report(step, loss.detach(), args.keep_losses)
        del loss
        between_steps(args, step, model, lambda: evaluate(model, loss_of, batches))


if __name__ == "__main__":
    main()
