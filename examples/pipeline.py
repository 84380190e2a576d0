# SPDX-License-Identifier: Apache-2.0
"""Train a GPT in pipeline stages, each sharded over its devices: PipelineStage, fully_shard.

    torchrun --nproc-per-node 16 examples/pipeline.py --stages 4
"""

from __future__ import annotations

import argparse
from collections import OrderedDict

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

from loop import batches_for, join_group, parser, report
from models import Block, GPTConfig


def build_stage(stage: int, args: argparse.Namespace) -> nn.Sequential:
    """Its share of the layers; the first has the embedding as well, the last the logits."""
    each = args.layers // args.stages
    config = GPTConfig(args.width, each, args.width // 64, dropout=0.0)
    parts: dict[str, nn.Module] = {}
    if stage == 0:
        parts["embedding"] = nn.Embedding(args.vocabulary, args.width)
    for layer in range(stage * each, (stage + 1) * each):
        parts[f"layer_{layer}"] = Block(config)
    if stage == args.stages - 1:
        parts["norm"] = nn.LayerNorm(args.width)
        parts["logits"] = nn.Linear(args.width, args.vocabulary, bias=False)
    return nn.Sequential(OrderedDict(parts))


def main() -> None:
    options = parser(__doc__, batch=8, length=512, prefetch=False)  # a micro-batch is one sequence
    for name, default in dict(stages=4, layers=8, width=768, vocabulary=32768).items():
        options.add_argument(f"--{name}", type=int, default=default)
    args = options.parse_args()

    rank, world = join_group()
    mesh = init_device_mesh("cuda", (args.stages, world // args.stages),
                            mesh_dim_names=("pp", "dp"))
    stage = mesh["pp"].get_local_rank()
    torch.manual_seed(args.seed + stage)
    with torch.device("meta"):
        model = build_stage(stage, args)
    for part in (*model, model):
        fully_shard(part, mesh=mesh["dp"], reshard_after_forward=False,
                    mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    model.to_empty(device="cuda")
    for part in model.modules():
        getattr(part, "reset_parameters", lambda: None)()

    def loss_of(logits: Tensor, tokens: Tensor) -> Tensor:
        return F.cross_entropy(logits.flatten(0, 1).float(), tokens.flatten())

    tokens = torch.empty(1, args.length, dtype=torch.long, device="meta")
    hidden = torch.empty(1, args.length, args.width, dtype=torch.bfloat16, device="meta",
                         requires_grad=True)
    logits = torch.empty(1, args.length, args.vocabulary, dtype=torch.bfloat16, device="meta",
                         requires_grad=True)
    device = torch.device("cuda", torch.cuda.current_device())
    pipe = PipelineStage(model, stage, args.stages, device,
                         input_args=(tokens if stage == 0 else hidden,),
                         output_args=(logits if stage == args.stages - 1 else hidden,),
                         group=mesh["pp"].get_group())
    schedule = Schedule1F1B(pipe, n_microbatches=args.batch, loss_fn=loss_of)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    args.seed += rank
    batches = batches_for(args, args.vocabulary)

    for step in range(args.steps):
        tokens, losses = next(batches), []
        if stage == 0:
            schedule.step(tokens)
        else:
            schedule.step(target=tokens, losses=losses)
        optimizer.step()
        optimizer.zero_grad()
        report(step, torch.stack(losses).mean().detach() if losses else 0.0)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
