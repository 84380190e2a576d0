# SPDX-License-Identifier: Apache-2.0
"""Train Hugging Face's T5 or BART from random weights on pairs of texts, source and target, of a length each."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from loop import parser, report
from models import count_parameters


def t5(layers: int) -> nn.Module:
    from transformers import T5Config, T5ForConditionalGeneration

    return T5ForConditionalGeneration(T5Config(
        d_model=1024, d_ff=4096, num_heads=16, num_layers=layers, vocab_size=32128, use_cache=False,
        decoder_start_token_id=0))


def bart(layers: int) -> nn.Module:
    from transformers import BartConfig, BartForConditionalGeneration

    return BartForConditionalGeneration(BartConfig(
        d_model=1024, encoder_layers=layers, decoder_layers=layers, encoder_ffn_dim=4096, decoder_ffn_dim=4096,
        encoder_attention_heads=16, decoder_attention_heads=16, max_position_embeddings=4096, vocab_size=50265,
        use_cache=False, attn_implementation="sdpa"))


MODELS = {"t5": t5, "bart": bart}


def pairs(size: int, var_batch: bool, lengths: tuple[int, int], seed: int,
          vocabulary: int) -> Iterator[dict[str, Tensor]]:
    """Each batch is padded to its longest source and its longest target."""
    generator = torch.Generator().manual_seed(seed)

    def draw(least: int, most: int) -> int:
        return int(torch.randint(least, most + 1, (), generator=generator))

    while True:
        count = draw((size + 1) // 2, size) if var_batch else size
        source, target = (draw(max(longest // 4, 1), longest) for longest in lengths)
        mask = torch.ones(count, source, dtype=torch.long)
        mask[1:, source - source // 8:] = 0
        yield {"input_ids": torch.randint(2, vocabulary, (count, source), generator=generator),
               "attention_mask": mask,
               "labels": torch.randint(2, vocabulary, (count, target), generator=generator)}


def main() -> None:
    options = parser(__doc__, steps=6, batch=16, length=512)
    options.add_argument("--model", choices=MODELS, default="t5")
    options.add_argument("--layers", type=int, default=4, help="of the encoder, and as many of the decoder")
    options.add_argument("--target-length", type=int, default=256, help="tokens of a target at most")
    options.add_argument("--var-batch", action="store_true", help="batches of half to all of --batch")
    options.add_argument("--recompute", action="store_true")
    args = options.parse_args()

    torch.manual_seed(args.seed)
    with torch.device("cuda"):
        model = MODELS[args.model](args.layers).to(torch.bfloat16)
    model.train()
    if args.recompute:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batches = pairs(args.batch, args.var_batch, (args.length, args.target_length), args.seed,
                    model.config.vocab_size)
    print(count_parameters(model))

    for step in range(args.steps):
        batch = {name: tensor.cuda() for name, tensor in next(batches).items()}
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"       {tuple(batch['input_ids'].shape)} to {tuple(batch['labels'].shape)}")
        report(step, loss.detach(), args.keep_losses)
        del loss


if __name__ == "__main__":
    main()
