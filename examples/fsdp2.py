# SPDX-License-Identifier: Apache-2.0
"""Train Llama with its parameters sharded over the devices: fully_shard.

    torchrun --nproc-per-node 8 examples/fsdp2.py --size 7b
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from transformers import LlamaForCausalLM

from loop import batches_for, join_group, parser, report
from models import LLAMA_SIZES, llama_config


def main() -> None:
    options = parser(__doc__, batch=1, length=2048, prefetch=False)
    options.add_argument("--size", choices=LLAMA_SIZES, default="160m")
    options.add_argument("--keep-gathered", action="store_true",
                         help="do not shard again between forward and backward")
    args = options.parse_args()

    rank, world = join_group()
    torch.manual_seed(args.seed)
    config = llama_config(args.size)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    shard = dict(mesh=init_device_mesh("cuda", (world,)),
                 mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32),
                 reshard_after_forward=not args.keep_gathered)
    for layer in model.model.layers:
        fully_shard(layer, **shard)
    fully_shard(model, **shard)
    model.to_empty(device="cuda")
    model.init_weights()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    args.seed += rank
    batches = batches_for(args, config.vocab_size)

    for step in range(args.steps):
        tokens = next(batches)
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        report(step, loss.detach())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
