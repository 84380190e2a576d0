# SPDX-License-Identifier: Apache-2.0
"""Train Llama with its parameters sharded over the devices: FullyShardedDataParallel.

    torchrun --nproc-per-node 8 examples/fsdp1.py --size 7b
"""

from __future__ import annotations

from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    apply_activation_checkpointing)
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from transformers import LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from loop import batches_for, join_group, parser, report
from models import LLAMA_SIZES, llama_config


def materialize(module: nn.Module) -> None:
    """A module built on no device gets memory, and weights of its own."""
    module.to_empty(device="cuda", recurse=False)
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()


def main() -> None:
    options = parser(__doc__, batch=1, length=2048, prefetch=False)
    options.add_argument("--size", choices=LLAMA_SIZES, default="160m")
    options.add_argument("--no-limit", action="store_true", help="gather as far ahead as it goes")
    args = options.parse_args()

    rank, _ = join_group()
    torch.manual_seed(args.seed)
    config = llama_config(args.size)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    model = FullyShardedDataParallel(
        model,
        auto_wrap_policy=partial(transformer_auto_wrap_policy,
                                 transformer_layer_cls={LlamaDecoderLayer}),
        mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
        param_init_fn=materialize, device_id=torch.cuda.current_device(), use_orig_params=True,
        limit_all_gathers=not args.no_limit)
    apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, LlamaDecoderLayer))
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    args.seed += rank
    batches = batches_for(args, config.vocab_size)

    for step in range(args.steps):
        tokens = next(batches)
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
        optimizer.zero_grad()
        report(step, loss.detach())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
