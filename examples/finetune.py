# SPDX-License-Identifier: Apache-2.0
"""Fine-tune a Llama on documents of different lengths: every step has other sizes."""

from __future__ import annotations

import random
from collections.abc import Iterator

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from loop import parser, report
from models import LLAMA_SIZES, count_parameters, llama_config


def padded_batches(size: int, longest: int, vocabulary: int, seed: int) -> Iterator[Tensor]:
    """Documents have a long-tailed length; a batch is padded to its longest."""
    rng = random.Random(seed)
    while True:
        lengths = [min(longest, max(32, int(rng.lognormvariate(6.6, 0.9)))) for _ in range(size)]
        documents = [torch.randint(1, vocabulary, (length,)) for length in lengths]
        yield torch.nn.utils.rnn.pad_sequence(documents, batch_first=True).cuda()


def main() -> None:
    options = parser(__doc__, steps=6, length=4096)
    options.add_argument("--size", choices=LLAMA_SIZES, default="160m")
    args = options.parse_args()

    torch.manual_seed(args.seed)
    config = llama_config(args.size)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.train()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    batches = padded_batches(args.batch, args.length, config.vocab_size, args.seed)
    print(count_parameters(model))

    for step in range(args.steps):
        tokens = next(batches)
        loss = model(input_ids=tokens, labels=tokens.masked_fill(tokens == 0, -100)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"       {tokens.shape[1]} tokens")
        report(step, loss.detach(), args.keep_losses)


if __name__ == "__main__":
    main()
