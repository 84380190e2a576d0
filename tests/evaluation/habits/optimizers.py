# SPDX-License-Identifier: Apache-2.0
"""Optimizers, PyTorch's own and some written by hand."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import swa_utils

from common import HABITS, Job, habit, train


class Lion8(torch.optim.Optimizer):
    """Momentum in 8 bits a value and a scale for each 256."""

    def __init__(self, weights, lr):
        super().__init__(weights, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                n = -(-weight.numel() // 256)
                if not state:
                    state["q"] = torch.zeros(n, 256, dtype=torch.int8, device=weight.device)
                    state["scale"] = torch.zeros(n, 1, device=weight.device)
                momentum = (state["q"].float() * state["scale"]).flatten()[:weight.numel()].view_as(weight)
                weight.add_(torch.sign(momentum * 0.9 + weight.grad * 0.1), alpha=-group["lr"])
                momentum = (momentum * 0.99 + weight.grad * 0.01).flatten()
                rows = F.pad(momentum, (0, n * 256 - weight.numel())).view(n, 256)
                state["scale"].copy_(rows.abs().amax(1, keepdim=True) / 127)
                state["q"].copy_((rows / (state["scale"] + 1e-12)).round().to(torch.int8))


class Muon(torch.optim.Optimizer):
    """Momentum made orthogonal for matrices, plain for the rest."""

    def __init__(self, weights, lr):
        super().__init__(weights, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["m"] = torch.zeros_like(weight)
                state["m"].mul_(0.95).add_(weight.grad)
                update = state["m"]
                if weight.dim() == 2:
                    x = update.bfloat16()
                    x = x.T if (tall := x.size(0) > x.size(1)) else x
                    x = x / (x.norm() + 1e-7)
                    for _ in range(5):
                        a = x @ x.T
                        x = 3.4 * x + (-4.8 * a + 2.0 * a @ a) @ x
                    update = (x.T if tall else x).to(weight.dtype)
                weight.add_(update, alpha=-group["lr"])


def optimized(name, kind, **options):
    HABITS["opt-" + name] = lambda args: train(Job(args, optimizer=kind, **options))


optimized("sgd-momentum", torch.optim.SGD, momentum=0.9, nesterov=True)
optimized("adafactor", torch.optim.Adafactor)
optimized("adam-loop", torch.optim.Adam, foreach=False)
optimized("adam-fused", torch.optim.Adam, fused=True)
optimized("adam-capturable", torch.optim.Adam, capturable=True)
optimized("adam-amsgrad", torch.optim.AdamW, amsgrad=True)
optimized("rmsprop", torch.optim.RMSprop, momentum=0.9, centered=True)
optimized("lion-8bit", Lion8)
optimized("muon", Muon)


@habit
def opt_lbfgs(args):
    job = Job(args, optimizer=None)
    job.optimizer = torch.optim.LBFGS(job.net.parameters(), lr=0.1, max_iter=3, history_size=3)
    for _ in job.steps():
        tokens = job.tokens()

        def closure():
            job.optimizer.zero_grad()
            loss = job.loss(tokens)
            loss.backward()
            return loss

        job.optimizer.step(closure)


@habit
def opt_in_backward(args):
    """Each weight is updated as soon as its gradient is there, which goes at once."""
    job = Job(args, optimizer=None)
    optimizers = {weight: torch.optim.AdamW([weight], lr=1e-4) for weight in job.net.parameters()}

    def update(weight):
        optimizers[weight].step()
        optimizers[weight].zero_grad()

    for weight in optimizers:
        weight.register_post_accumulate_grad_hook(update)
    for _ in job.steps():
        job.loss(job.tokens()).backward()


@habit
def sam(args):
    """Sharpness-aware: two passes a step, weights moved and moved back."""
    job = Job(args)
    for _ in job.steps():
        tokens = job.tokens()
        job.loss(tokens).backward()
        with torch.no_grad():
            norm = nn.utils.get_total_norm([w.grad for w in job.net.parameters()])
            moved = [w.grad * (0.05 / (norm + 1e-12)) for w in job.net.parameters()]
            for weight, move in zip(job.net.parameters(), moved):
                weight.add_(move)
        job.optimizer.zero_grad()
        job.loss(tokens).backward()
        with torch.no_grad():
            for weight, move in zip(job.net.parameters(), moved):
                weight.sub_(move)
        job.update()


@habit
def master_weights(args):
    """bfloat16 weights and gradients, float32 copies in the optimizer."""
    job = Job(args, optimizer=None)
    job.net.bfloat16()
    masters = [weight.detach().float() for weight in job.net.parameters()]
    optimizer = torch.optim.AdamW(masters, lr=1e-4)
    for _ in job.steps():
        job.loss(job.tokens()).backward()
        for master, weight in zip(masters, job.net.parameters()):
            master.grad = weight.grad.float()
            weight.grad = None
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for master, weight in zip(masters, job.net.parameters()):
                weight.copy_(master)


@habit
def ema(args):
    job = Job(args)
    average = swa_utils.AveragedModel(job.net, multi_avg_fn=swa_utils.get_ema_multi_avg_fn())
    for _ in job.steps():
        job.loss(job.tokens()).backward()
        job.update()
        average.update_parameters(job.net)


@habit
def ema_from_later(args):
    job, average = Job(args), None
    for step in job.steps():
        job.loss(job.tokens()).backward()
        job.update()
        if step == 4:
            average = [weight.detach().clone() for weight in job.net.parameters()]
        elif average:
            torch._foreach_lerp_(average, [w.detach() for w in job.net.parameters()], 0.01)
