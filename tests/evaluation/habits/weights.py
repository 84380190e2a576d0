# SPDX-License-Identifier: Apache-2.0
"""Parts of the model that train, or not."""
import torch
from torch import nn

from common import Job, habit, train


class Adapter(nn.Module):
    def __init__(self, base, rank=16):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False, device="cuda")
        self.up = nn.Linear(rank, base.out_features, bias=False, device="cuda")
        self.drop = nn.Dropout(0.05)

    def forward(self, x):
        return self.base(x) + self.up(self.down(self.drop(x))) * 2


def adapt(net):
    net.requires_grad_(False)
    for block in net.blocks:
        for name in ("qkv", "projection", "up", "down"):
            setattr(block, name, Adapter(getattr(block, name)))
    return [weight for weight in net.parameters() if weight.requires_grad]


@habit
def lora(args):
    job = Job(args, optimizer=None)
    job.optimizer = torch.optim.AdamW(adapt(job.net), lr=1e-4)
    train(job)


@habit
def lora_merge_eval(args):
    """Evaluates with the adapters merged into copies of the weights."""
    job = Job(args, optimizer=None)
    job.optimizer = torch.optim.AdamW(adapt(job.net), lr=1e-4)
    for step in job.steps():
        job.loss(job.tokens()).backward()
        job.update()
        if step % 3 == 2:
            with torch.no_grad():
                merged = {id(m): m.base.weight + 2 * m.up.weight @ m.down.weight
                          for m in job.net.modules() if isinstance(m, Adapter)}
                job.loss(job.tokens())
                del merged


@habit
def unfreeze(args):
    job = Job(args, optimizer=None)
    lower = list(job.net.blocks[:4].parameters()) + [job.net.tokens.weight, job.net.positions.weight]
    for weight in lower:
        weight.requires_grad_(False)
    job.optimizer = torch.optim.AdamW([w for w in job.net.parameters() if w.requires_grad], lr=1e-4)
    for step in job.steps():
        if step == 3:
            for weight in lower:
                weight.requires_grad_(True)
            job.optimizer.add_param_group({"params": lower})
        job.loss(job.tokens()).backward()
        job.update()


@habit
def gradual_unfreeze(args):
    job = Job(args, optimizer=None)
    job.net.requires_grad_(False)
    job.net.head.requires_grad_(True)
    job.optimizer = torch.optim.AdamW(job.net.head.parameters(), lr=1e-4)
    for step in job.steps():
        if step and step <= len(job.net.blocks):
            block = job.net.blocks[-step].requires_grad_(True)
            job.optimizer.add_param_group({"params": list(block.parameters())})
        job.loss(job.tokens()).backward()
        job.update()
