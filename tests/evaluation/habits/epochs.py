# SPDX-License-Identifier: Apache-2.0
"""Epochs: short batches, validation, a data loader, a rate that warms up."""
import copy

import torch

from common import HABITS, Job, habit


def epochs(args, sizes, validate):
    """SIZES: of the batches of an epoch; VALIDATE: those of the validation set."""
    job = Job(args)
    steps = job.steps()
    while True:
        for size in sizes:
            if next(steps, None) is None:
                return
            job.loss(job.tokens(size)).backward()
            job.update()
        job.net.eval()
        with torch.no_grad():
            total = torch.zeros((), device="cuda")
            for size in validate:
                total += job.loss(job.tokens(size))
            print("validation", total.item())
        job.net.train()


def best_weights(args, each):
    """Validates after each epoch, and copies the weights: after EACH, or where they are the first."""
    job = Job(args)
    best, copied = float("inf"), None
    for step in job.steps():
        job.loss(job.tokens()).backward()
        torch.nn.utils.clip_grad_norm_(job.net.parameters(), 1.0)
        job.update()
        if step % 3 == 2:
            job.net.eval()
            with torch.no_grad():
                hits = torch.zeros(8, device="cuda")
                total = sum(job.loss(job.tokens(size)).item() for size in (8, 3))
                for k in range(8):
                    hits[k] += (job.tokens(1) == k).sum()
            job.net.train()
            if each or best == float("inf"):
                best, copied = total, copy.deepcopy(job.net.state_dict())
    assert copied is not None


HABITS["best-weights"] = lambda args: best_weights(args, False)
HABITS["best-weights-each"] = lambda args: best_weights(args, True)
HABITS["epoch-short-batch"] = lambda args: epochs(args, [4, 4, 4, 1], [])
HABITS["epoch-short-batch-validate"] = lambda args: epochs(args, [4, 4, 4, 2], [8, 8, 3])
HABITS["epoch-validate-larger"] = lambda args: epochs(args, [4, 4], [16, 16])


@habit
def loader(args):
    """A data loader of worker processes, shuffled, its last batch short."""
    job = Job(args)
    data = torch.utils.data.TensorDataset(torch.randint(8192, (22, 513)))
    batches = torch.utils.data.DataLoader(data, 4, shuffle=True, num_workers=2, pin_memory=True)
    steps = job.steps()
    while True:
        for (tokens,) in batches:
            if next(steps, None) is None:
                return
            job.loss(tokens.cuda(non_blocking=True)).backward()
            job.update()


@habit
def lr_branch(args):
    """While the rate warms up the loss is plain; from then on a second pass regularizes."""
    job = Job(args)
    schedule = torch.optim.lr_scheduler.LinearLR(job.optimizer, 0.1, 1.0, 4)
    for _ in job.steps():
        tokens = job.tokens()
        loss = job.loss(tokens)
        if schedule.get_last_lr()[0] >= 1e-4:
            loss = loss + 0.1 * (job.loss(tokens) - loss.detach()) ** 2
        loss.backward()
        job.update()
        schedule.step()
