# SPDX-License-Identifier: Apache-2.0
"""What leaves the device and comes back."""
import torch

from common import Job, habit


@habit
def save_on_cpu(args):
    job = Job(args)
    for _ in job.steps():
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            loss = job.loss(job.tokens())
        loss.backward()
        job.update()


@habit
def offload_optimizer(args):
    job = Job(args, optimizer=None)
    copies = [weight.detach().cpu().pin_memory() for weight in job.net.parameters()]
    optimizer = torch.optim.AdamW(copies, lr=1e-4)
    for _ in job.steps():
        job.loss(job.tokens()).backward()
        for copy, weight in zip(copies, job.net.parameters()):
            copy.grad = weight.grad.to("cpu")
            weight.grad = None
        optimizer.step()
        for copy, weight in zip(copies, job.net.parameters()):
            weight.data.copy_(copy, non_blocking=True)


@habit
def offload_stream(args):
    """Gradients leave on a stream of their own as they come."""
    job = Job(args, optimizer=None)
    side = torch.cuda.Stream()
    copies = {weight: weight.detach().cpu().pin_memory() for weight in job.net.parameters()}
    grads = {weight: torch.empty_like(copy).pin_memory() for weight, copy in copies.items()}
    optimizer = torch.optim.AdamW(copies.values(), lr=1e-4)

    def leave(weight):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            grads[weight].copy_(weight.grad, non_blocking=True)
            weight.grad.record_stream(side)
        weight.grad = None

    for weight in copies:
        weight.register_post_accumulate_grad_hook(leave)
    for _ in job.steps():
        job.loss(job.tokens()).backward()
        side.synchronize()
        for weight, copy in copies.items():
            copy.grad = grads[weight]
        optimizer.step()
        for weight, copy in copies.items():
            weight.data.copy_(copy, non_blocking=True)


@habit
def layer_streaming(args):
    """Weights of each block come to the device for its forward and its backward."""
    job = Job(args, optimizer=None)
    for block in job.net.blocks:
        block.cpu()

    def pull(block, *_):
        for weight in block.parameters():
            weight.host = weight.data
            weight.data = weight.data.cuda(non_blocking=True)

    for block in job.net.blocks:
        block.register_forward_pre_hook(pull)
    for _ in job.steps():
        job.loss(job.tokens()).backward()
        for block in job.net.blocks:
            for weight in block.parameters():
                grad = weight.grad
                weight.grad = None
                weight.data = weight.host
                weight.data.add_(grad.to("cpu"), alpha=-1e-3)
        for weight in job.net.parameters():
            weight.grad = None
