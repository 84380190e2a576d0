# SPDX-License-Identifier: Apache-2.0
"""torch.compile, with backends that need no compiler of kernels."""
import torch

from common import HABITS, Job


def compiled(args, backend, dynamic=None, lengths=None):
    job = Job(args)
    net = torch.compile(job.net, backend=backend, dynamic=dynamic)
    for _ in job.steps():
        length = job.draw.randint(*lengths) if lengths else 512
        job.loss(job.tokens(length=length), net).backward()
        job.update()


HABITS["compile-eager"] = lambda args: compiled(args, "eager")
HABITS["compile-aot"] = lambda args: compiled(args, "aot_eager")
HABITS["compile-aot-lengths"] = lambda args: compiled(args, "aot_eager", True, (128, 1000))
HABITS["compile-partition"] = lambda args: compiled(args, "aot_eager_decomp_partition")
