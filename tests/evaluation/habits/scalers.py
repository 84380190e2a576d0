# SPDX-License-Identifier: Apache-2.0
"""Losses scaled for float16, and steps skipped for that."""
import torch
from torch import nn

from common import HABITS, Job


class Overflowing(torch.amp.GradScaler):
    """Steps numbered in SKIPPED find infinities."""

    skipped, number = (), 0

    def _maybe_opt_step(self, optimizer, state, *args, **kwargs):
        self.number += 1
        if self.number - 1 in self.skipped:
            return None
        return super()._maybe_opt_step(optimizer, state, *args, **kwargs)


def scaled(args, skipped):
    job, scaler = Job(args), Overflowing("cuda")
    scaler.skipped = skipped
    for _ in job.steps():
        tokens = job.tokens()
        with torch.autocast("cuda", torch.float16):
            loss = job.net(tokens[:, :-1], tokens[:, 1:])
        scaler.scale(loss).backward()
        scaler.unscale_(job.optimizer)
        nn.utils.clip_grad_norm_(job.net.parameters(), 1.0)
        scaler.step(job.optimizer)
        scaler.update()
        job.optimizer.zero_grad()


HABITS["scaler"] = lambda args: scaled(args, ())
HABITS["scaler-skips-first"] = lambda args: scaled(args, (0, 1))
HABITS["scaler-skips-some"] = lambda args: scaled(args, range((args.seed + 1) % 3, 99, 5))
