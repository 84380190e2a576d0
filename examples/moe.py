# SPDX-License-Identifier: Apache-2.0
"""Train Hugging Face's Qwen3-MoE from random weights: each expert gets other tokens every time."""

from __future__ import annotations

import torch
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

from loop import batches_for, parser, report
from models import count_parameters

SIZES = {
    "400m": dict(hidden_size=1024, num_hidden_layers=8, num_attention_heads=16,
                 num_key_value_heads=8, moe_intermediate_size=768, num_experts=16,
                 num_experts_per_tok=4, vocab_size=32000),
    "8b": dict(hidden_size=2048, num_hidden_layers=24, num_attention_heads=16,
               num_key_value_heads=8, moe_intermediate_size=768, num_experts=64,
               num_experts_per_tok=8),
    "30b": dict(hidden_size=2048, num_hidden_layers=48, num_attention_heads=32,
                num_key_value_heads=4, moe_intermediate_size=768, num_experts=128,
                num_experts_per_tok=8),
}


def main() -> None:
    options = parser(__doc__, batch=2, prefetch=False)
    options.add_argument("--size", choices=SIZES, default="400m")
    options.add_argument("--experts", choices=["eager", "grouped_mm"], default="eager",
                         help="one expert after the other, or all in one product")
    args = options.parse_args()

    torch.manual_seed(args.seed)
    config = Qwen3MoeConfig(**SIZES[args.size], max_position_embeddings=8192, norm_topk_prob=True,
                            head_dim=128, use_cache=False, attn_implementation="sdpa",
                            experts_implementation=args.experts, output_router_logits=True)
    with torch.device("cuda"):
        model = Qwen3MoeForCausalLM(config).to(torch.bfloat16)
    model.train()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    batches = batches_for(args, config.vocab_size)
    print(count_parameters(model))

    for step in range(args.steps):
        tokens = next(batches)
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        report(step, loss.detach(), args.keep_losses)


if __name__ == "__main__":
    main()
