# SPDX-License-Identifier: Apache-2.0
"""Gradients of several micro-batches, and batches of many lengths."""
from torch import nn

from common import HABITS, Job, habit


def accumulate(args, n, last=None, lengths=None, every=4):
    """LAST: micro-batches of each EVERY-th window; LENGTHS: (least, most) tokens of a micro-batch."""
    job = Job(args)
    for step in job.steps():
        count = last if last and step % every == every - 1 else n
        for _ in range(count):
            length = job.draw.randint(*lengths) if lengths else 512
            (job.loss(job.tokens(length=length)) / count).backward()
        nn.utils.clip_grad_norm_(job.net.parameters(), 1.0)
        job.update()


HABITS["accumulate-2"] = lambda args: accumulate(args, 2)
HABITS["accumulate-8"] = lambda args: accumulate(args, 8)
HABITS["accumulate-4-last-3"] = lambda args: accumulate(args, 4, last=3)
HABITS["accumulate-8-last-1"] = lambda args: accumulate(args, 8, last=1)
HABITS["accumulate-4-lengths"] = lambda args: accumulate(args, 4, lengths=(128, 1000))
HABITS["accumulate-4-lengths-last-2"] = lambda args: accumulate(args, 4, last=2, lengths=(128, 1000))


@habit
def lengths(args):
    job = Job(args)
    for _ in job.steps():
        job.loss(job.tokens(length=job.draw.randint(128, 1000))).backward()
        job.update()
