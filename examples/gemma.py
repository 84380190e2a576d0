# SPDX-License-Identifier: Apache-2.0
"""Train Hugging Face's Gemma from random weights, small, on sequences of one length or of many: one
head of keys for all of attention, and as much of the loss as of the rest."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import GemmaConfig, GemmaForCausalLM

from loop import add_between_steps, add_var_length, batches_for, between_steps, evaluate, parser, report
from models import count_parameters


def main() -> None:
    options = parser(__doc__)
    add_between_steps(options)
    add_var_length(options)
    options.add_argument("--layers", type=int, default=6)
    options.add_argument("--hidden", type=int, default=512)
    args = options.parse_args()

    torch.manual_seed(args.seed)
    config = GemmaConfig(vocab_size=32000, hidden_size=args.hidden, intermediate_size=4 * args.hidden,
                         num_hidden_layers=args.layers, num_attention_heads=args.hidden // 64,
                         num_key_value_heads=1, head_dim=64, use_cache=False)
    with torch.device("cuda"):
        model = GemmaForCausalLM(config).to(torch.bfloat16)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    batches = batches_for(args, config.vocab_size)
    print(count_parameters(model))

    def loss_of(tokens: Tensor) -> Tensor:
        return model(input_ids=tokens, labels=tokens).loss

    for step in range(args.steps):
        loss = loss_of(next(batches))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        report(step, loss.detach(), args.keep_losses)
        del loss
        between_steps(args, step, model, lambda: evaluate(model, loss_of, batches))


if __name__ == "__main__":
    main()
