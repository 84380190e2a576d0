# SPDX-License-Identifier: Apache-2.0
"""Streams, and what loops do beside training."""
import tempfile

import torch

from common import CONFIG, GPT, Job, habit, train


@habit
def prefetch(args):
    job = Job(args)
    side = torch.cuda.Stream()

    def send():
        with torch.cuda.stream(side):
            return job.tokens()

    coming = send()
    for _ in job.steps():
        torch.cuda.current_stream().wait_stream(side)
        tokens = coming
        tokens.record_stream(torch.cuda.current_stream())
        coming = send()
        job.loss(tokens).backward()
        job.update()


@habit
def two_streams(args):
    """Two halves of the blocks' work on a stream each, joined by events."""
    job = Job(args)
    with torch.device("cuda"):
        other = GPT(CONFIG)
    optimizer = torch.optim.AdamW([*job.net.parameters(), *other.parameters()], lr=1e-4)
    side = torch.cuda.Stream()
    for _ in job.steps():
        tokens = job.tokens()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            second = job.loss(tokens, other)
            tokens.record_stream(side)
        first = job.loss(tokens)
        torch.cuda.current_stream().wait_stream(side)
        second.record_stream(torch.cuda.current_stream())
        (first + second).backward()
        optimizer.step()
        optimizer.zero_grad()
        del first, second


@habit
def empties_cache(args):
    job = Job(args)
    for _ in job.steps():
        job.loss(job.tokens()).backward()
        job.update()
        torch.cuda.empty_cache()


@habit
def zero_to_none_not(args):
    job = Job(args)
    for _ in job.steps():
        job.optimizer.zero_grad(set_to_none=False)
        job.loss(job.tokens()).backward()
        job.optimizer.step()


@habit
def anomaly(args):
    job = Job(args)
    with torch.autograd.detect_anomaly(check_nan=False):
        train(job)


@habit
def exception_retry(args):
    """A batch that fails in its forward is left out."""
    job = Job(args)
    for step in job.steps():
        try:
            tokens = job.tokens()
            loss = job.loss(tokens)
            if step % 4 == 3:
                raise ValueError("a bad batch")
            loss.backward()
            job.update()
        except ValueError:
            job.optimizer.zero_grad()


@habit
def oom_retry(args):
    """A batch that is too large for the device is halved and tried again."""
    job = Job(args)
    for step in job.steps():
        size = 4
        if step % 4 == 3:
            size = 4096
        while True:
            try:
                job.loss(job.tokens(size)).backward()
                break
            except torch.cuda.OutOfMemoryError:
                job.optimizer.zero_grad()
                torch.cuda.empty_cache()
                size = 4
        job.update()


@habit
def resume(args):
    """Goes on from a checkpoint written to a file, optimizer and all."""
    with tempfile.TemporaryDirectory() as folder:
        first = Job(args)
        first.loss(first.tokens()).backward()
        first.update()
        state = {"net": first.net.state_dict(), "optimizer": first.optimizer.state_dict()}
        torch.save(state, f"{folder}/c.pt")
        del first, state
        job = Job(args)
        kept = torch.load(f"{folder}/c.pt", map_location="cpu")
    job.net.load_state_dict(kept["net"])
    job.optimizer.load_state_dict(kept["optimizer"])
    del kept
    train(job)


@habit
def grow_batch(args):
    """The batch doubles as training goes on."""
    job = Job(args)
    for step in job.steps():
        job.loss(job.tokens(2 << min(step // 4, 2))).backward()
        job.update()


@habit
def loss_from_before(args):
    """The last loss is kept and printed one step later."""
    job, last = Job(args), None
    for _ in job.steps():
        loss = job.loss(job.tokens())
        loss.backward()
        job.update()
        if last is not None:
            print("loss", float(last))
        last = loss.detach()
