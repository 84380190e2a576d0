# SPDX-License-Identifier: Apache-2.0
"""One rank of several."""
import contextlib
import os

import torch
import torch.nn.functional as F
from torch import nn

from common import CONFIG, Block, Job, habit


def join():
    import torch.distributed as dist
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    dist.init_process_group("nccl")
    return dist


@habit
def ddp_accumulate(args):
    """No reduction but in the last micro-batch of a window."""
    join()
    job = Job(args)
    net = nn.parallel.DistributedDataParallel(job.net, gradient_as_bucket_view=True)
    for _ in job.steps():
        for i in range(4):
            with net.no_sync() if i < 3 else contextlib.nullcontext():
                (job.loss(job.tokens(), net) / 4).backward()
        job.update()


@habit
def zero_1(args):
    from torch.distributed.optim import ZeroRedundancyOptimizer
    join()
    job = Job(args, optimizer=None)
    net = nn.parallel.DistributedDataParallel(job.net)
    job.optimizer = ZeroRedundancyOptimizer(job.net.parameters(), torch.optim.AdamW, lr=1e-4)
    for _ in job.steps():
        job.loss(job.tokens(), net).backward()
        job.update()


@habit
def fsdp2_accumulate(args):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    join()
    job = Job(args, optimizer=None)
    mixed = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    for block in job.net.blocks:
        fully_shard(block, mp_policy=mixed)
    fully_shard(job.net, mp_policy=mixed)
    job.optimizer = torch.optim.AdamW(job.net.parameters(), lr=1e-4)
    for _ in job.steps():
        for i in range(2):
            job.net.set_requires_gradient_sync(i == 1)
            tokens = job.tokens()
            job.net(tokens[:, :-1], tokens[:, 1:]).backward()
        job.update()


@habit
def clip(args):
    """Contrast between pictures and texts of all ranks."""
    dist = join()
    job = Job(args, optimizer=None)
    with torch.device("cuda"):
        eyes = nn.Sequential(nn.Conv2d(3, 512, 16, 16), nn.Flatten(2))
        blocks = nn.ModuleList(Block(CONFIG) for _ in range(6))
    optimizer = torch.optim.AdamW([*job.net.parameters(), *eyes.parameters(), *blocks.parameters()], lr=1e-4)
    world, rank = dist.get_world_size(), dist.get_rank()

    def everybody(x):
        parts = [torch.empty_like(x) for _ in range(world)]
        dist.all_gather(parts, x.detach().contiguous())
        parts[rank] = x
        return torch.cat(parts)

    for _ in job.steps():
        texts, pictures = job.tokens(32, 77)[:, :77], torch.randn(32, 3, 224, 224).cuda()
        with torch.autocast("cuda", torch.bfloat16):
            x = job.net.tokens(texts) + job.net.positions.weight[:77]
            y = eyes(pictures).transpose(1, 2)
            for block, other in zip(job.net.blocks, blocks):
                x, y = block(x), other(y)
        x, y = F.normalize(x[:, -1].float(), dim=-1), F.normalize(y.mean(1).float(), dim=-1)
        likeness = 100 * everybody(x) @ everybody(y).T
        wanted = torch.arange(len(likeness), device="cuda")
        (F.cross_entropy(likeness, wanted) + F.cross_entropy(likeness.T, wanted)).backward()
        optimizer.step()
        optimizer.zero_grad()
