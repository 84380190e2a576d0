# SPDX-License-Identifier: Apache-2.0
"""Pre-train Hugging Face's BERT from random weights, in the loop that its documentation shows: what
the model gave is there until the next step has given the same."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM
from transformers.modeling_outputs import MaskedLMOutput

from loop import add_between_steps, add_var_length, batches_for, between_steps, evaluate, parser, report
from models import count_parameters


def main() -> None:
    options = parser(__doc__, batch=8, length=512)
    add_between_steps(options)
    add_var_length(options)
    options.add_argument("--layers", type=int, default=6)
    options.add_argument("--hidden", type=int, default=768)
    args = options.parse_args()

    torch.manual_seed(args.seed)
    config = BertConfig(hidden_size=args.hidden, intermediate_size=4 * args.hidden,
                        num_attention_heads=args.hidden // 64, num_hidden_layers=args.layers)
    with torch.device("cuda"):
        model = BertForMaskedLM(config)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batches = batches_for(args, config.vocab_size)
    print(count_parameters(model))

    def outputs_of(tokens: Tensor) -> MaskedLMOutput:
        with torch.autocast("cuda", torch.bfloat16):
            return model(input_ids=tokens, labels=tokens)

    def loss_of(tokens: Tensor) -> Tensor:
        return outputs_of(tokens).loss

    for step in range(args.steps):
        outputs = outputs_of(next(batches))
        outputs.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        report(step, outputs.loss.detach(), args.keep_losses)
        between_steps(args, step, model, lambda: evaluate(model, loss_of, batches))


if __name__ == "__main__":
    main()
