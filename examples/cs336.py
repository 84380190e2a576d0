# SPDX-License-Identifier: Apache-2.0
"""Train the transformer that the course CS336 has its students write, every operation by itself.

Nothing here is fused: normalisation, rotation, softmax, cross-entropy and AdamW are spelled out
in PyTorch's elementary operations, each of which allocates what it gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from loop import batches_for, parser, report
from models import count_parameters


@dataclass(frozen=True)
class Config:
    width: int
    hidden: int
    layers: int
    heads: int
    vocabulary: int = 10_000
    longest: int = 1024


SIZES = {
    "small": Config(768, 3072, 12, 12),
    "medium": Config(1024, 4096, 24, 16),
    "large": Config(1280, 5120, 36, 20),
    "xl": Config(1600, 6400, 48, 25),
    "2.7b": Config(2560, 10240, 32, 32),
}


def softmax(x: Tensor, dim: int) -> Tensor:
    powers = torch.exp(x - x.max(dim, keepdim=True)[0])
    return powers / powers.sum(dim, keepdim=True)


def log_softmax(x: Tensor, dim: int) -> Tensor:
    greatest = x.max(dim, keepdim=True)[0]
    x = x - greatest
    return x - torch.log(torch.exp(x).sum(dim, keepdim=True))


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    costs = -log_softmax(logits, -1)
    return costs.gather(-1, targets.unsqueeze(-1)).mean()


class Linear(nn.Module):
    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        deviation = math.sqrt(2 / (n_in + n_out))
        self.weight = nn.Parameter(torch.empty(n_out, n_in))
        nn.init.trunc_normal_(self.weight, std=deviation, a=-3 * deviation, b=3 * deviation)

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("...i,oi->...o", x, self.weight)


class Embedding(nn.Module):
    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary, width))
        nn.init.trunc_normal_(self.weight, std=1.0, a=-3.0, b=3.0)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.weight[tokens, :]


class RMSNorm(nn.Module):
    def __init__(self, width: int, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        dtype = x.dtype
        x = x.to(torch.float32)
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon)
        x = x * scale
        return (self.weight * x).to(dtype)


class Rotary(nn.Module):
    """Turns pairs of neighbouring features by angles that grow with the position."""

    def __init__(self, width: int, longest: int, theta: float = 10_000.0) -> None:
        super().__init__()
        speeds = theta ** -(torch.arange(0, width, 2) / width)
        angles = torch.outer(torch.arange(longest), speeds)
        self.register_buffer("turns", torch.stack([angles.cos(), angles.sin()]), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        first, second = x.unflatten(-1, (-1, 2)).movedim(-1, 0)
        cos, sin = self.turns[:, :x.shape[-2]]
        turned_first = cos * first - sin * second
        turned_second = sin * first + cos * second
        return torch.stack([turned_first, turned_second], -1).flatten(-2)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    scores = torch.einsum("...qd,...kd->...qk", query, key) / math.sqrt(key.shape[-1])
    scores = torch.where(mask, scores, float("-inf"))
    weights = softmax(scores, -1)
    return torch.einsum("...qk,...kd->...qd", weights, value)


class Attention(nn.Module):
    def __init__(self, config: Config, rotary: Rotary) -> None:
        super().__init__()
        self.heads = config.heads
        self.query, self.key, self.value, self.output = (
            Linear(config.width, config.width) for _ in range(4))
        self.rotary = rotary

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.query(x), self.key(x), self.value(x)
        query, key, value = (y.unflatten(-1, (self.heads, -1)).transpose(-3, -2)
                             for y in (query, key, value))
        query = self.rotary(query)
        key = self.rotary(key)
        places = torch.arange(x.shape[-2], device=x.device)
        mask = places[:, None] >= places
        mixed = attend(query, key, value, mask)
        mixed = mixed.transpose(-3, -2).flatten(-2)
        return self.output(mixed)


class SwiGLU(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate = Linear(width, hidden)
        self.down = Linear(hidden, width)
        self.up = Linear(width, hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(silu(self.gate(x)) * self.up(x))


def silu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(x)


class Block(nn.Module):
    def __init__(self, config: Config, rotary: Rotary) -> None:
        super().__init__()
        self.attention = Attention(config, rotary)
        self.feed_forward = SwiGLU(config.width, config.hidden)
        self.norm_attention = RMSNorm(config.width)
        self.norm_feed_forward = RMSNorm(config.width)

    def forward(self, x: Tensor) -> Tensor:
        attended = self.attention(self.norm_attention(x))
        after_attention = x + attended
        fed = self.feed_forward(self.norm_feed_forward(after_attention))
        return after_attention + fed


class Transformer(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.embedding = Embedding(config.vocabulary, config.width)
        rotary = Rotary(config.width // config.heads, config.longest)
        self.blocks = nn.ModuleList(Block(config, rotary) for _ in range(config.layers))
        self.norm = RMSNorm(config.width)
        self.head = Linear(config.width, config.vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x)


class AdamW(torch.optim.Optimizer):
    def __init__(self, params: Iterable[nn.Parameter], lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.95), eps: float = 1e-8,
                 weight_decay: float = 0.1) -> None:
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            rate, (beta_1, beta_2) = group["lr"], group["betas"]
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                gradient, state = weight.grad, self.state[weight]
                number = state.get("number", 1)
                weight -= rate * group["weight_decay"] * weight
                mean = state.get("mean", torch.zeros_like(gradient))
                square = state.get("square", torch.zeros_like(gradient))
                new_mean = beta_1 * mean + (1 - beta_1) * gradient
                new_square = beta_2 * square + (1 - beta_2) * gradient**2
                size = rate * math.sqrt(1 - beta_2**number) / (1 - beta_1**number)
                weight -= size * new_mean / (torch.sqrt(new_square) + group["eps"])
                state.update(number=number + 1, mean=new_mean, square=new_square)


def main() -> None:
    options = parser(__doc__, length=128, prefetch=False)
    options.add_argument("--size", choices=SIZES, default="small")
    options.add_argument("--bfloat16", action="store_true", help="autocast in mixed precision")
    args = options.parse_args()

    torch.manual_seed(args.seed)
    config = SIZES[args.size]
    with torch.device("cuda"):
        model = Transformer(config)
    optimizer = AdamW(model.parameters())
    batches = batches_for(args, config.vocabulary)
    print(count_parameters(model))

    tokens, targets = next(batches), next(batches)
    for step in range(args.steps):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=args.bfloat16):
            loss = cross_entropy(model(tokens), targets)
        loss.backward()
        optimizer.step()
        report(step, loss.detach())


if __name__ == "__main__":
    main()
