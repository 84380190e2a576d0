# SPDX-License-Identifier: Apache-2.0
"""Train a diffusion UNet on pictures of different sizes, with an average of its weights."""

from __future__ import annotations

import random
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from loop import parser, report
from models import count_parameters


class Residual(nn.Module):
    def __init__(self, n_in: int, n_out: int, n_time: int) -> None:
        super().__init__()
        self.norm_in, self.norm_out = nn.GroupNorm(32, n_in), nn.GroupNorm(32, n_out)
        self.conv_in = nn.Conv2d(n_in, n_out, 3, padding=1)
        self.conv_out = nn.Conv2d(n_out, n_out, 3, padding=1)
        self.time = nn.Linear(n_time, n_out)
        self.skip = nn.Conv2d(n_in, n_out, 1) if n_in != n_out else nn.Identity()

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        y = self.conv_in(F.silu(self.norm_in(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv_out(F.silu(self.norm_out(y)))


class Attention(nn.Module):
    def __init__(self, channels: int, head_width: int = 64) -> None:
        super().__init__()
        self.heads = channels // head_width
        self.norm = nn.GroupNorm(32, channels)
        self.qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.projection = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        qkv = self.qkv(self.norm(x)).view(batch, 3, self.heads, -1, height * width)
        mixed = F.scaled_dot_product_attention(*qkv.transpose(3, 4).unbind(1))
        return x + self.projection(mixed.transpose(2, 3).reshape(x.shape))


class Stage(nn.Module):
    """A residual block, and attention where the picture is small enough for it."""

    def __init__(self, n_in: int, n_out: int, n_time: int, attends: bool) -> None:
        super().__init__()
        self.residual = Residual(n_in, n_out, n_time)
        self.attention = Attention(n_out) if attends else nn.Identity()

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        return self.attention(self.residual(x, time))


class UNet(nn.Module):
    def __init__(self, width: int, factors: tuple[int, ...] = (1, 2, 4, 4), depth: int = 2) -> None:
        super().__init__()
        n_time = 4 * width
        self.time = nn.Sequential(nn.Linear(width, n_time), nn.SiLU(), nn.Linear(n_time, n_time))
        self.enter = nn.Conv2d(4, width, 3, padding=1)
        channels, kept = width, [width]
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        for level, factor in enumerate(factors):
            for _ in range(depth):
                self.down.append(Stage(channels, factor * width, n_time, level > 0))
                channels = factor * width
                kept.append(channels)
            if level + 1 < len(factors):
                self.down.append(nn.Conv2d(channels, channels, 3, stride=2, padding=1))
                kept.append(channels)
        self.middle = Stage(channels, channels, n_time, True)
        for level, factor in reversed(list(enumerate(factors))):
            for _ in range(depth + 1):
                self.up.append(Stage(channels + kept.pop(), factor * width, n_time, level > 0))
                channels = factor * width
            if level:
                self.up.append(nn.Conv2d(channels, channels, 3, padding=1))
        self.leave = nn.Sequential(nn.GroupNorm(32, channels), nn.SiLU(),
                                   nn.Conv2d(channels, 4, 3, padding=1))

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        time = self.time(time)
        x = self.enter(x)
        kept = [x]
        for layer in self.down:
            x = layer(x, time) if isinstance(layer, Stage) else layer(x)
            kept.append(x)
        x = self.middle(x, time)
        for layer in self.up:
            if isinstance(layer, Stage):
                x = layer(torch.cat([x, kept.pop()], 1), time)
            else:
                x = layer(F.interpolate(x, scale_factor=2.0))
        return self.leave(x)


def pictures(batch: int, smallest: int, largest: int, seed: int) -> Iterator[Tensor]:
    """Latent pictures whose sides are multiples of eight, as in training by aspect ratio."""
    rng = random.Random(seed)
    while True:
        height, width = (8 * rng.randint(smallest // 8, largest // 8) for _ in range(2))
        yield torch.randn(batch, 4, height, width, device="cuda")


def main() -> None:
    options = parser(__doc__, batch=8)
    options.add_argument("--width", type=int, default=128, help="channels of the first level")
    options.add_argument("--smallest", type=int, default=32, help="side of the latent picture")
    options.add_argument("--largest", type=int, default=96)
    args = options.parse_args()

    torch.manual_seed(args.seed)
    with torch.device("cuda"):
        model = UNet(args.width)
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    print(count_parameters(model))

    batches = pictures(args.batch, args.smallest, args.largest, args.seed)
    for step in range(args.steps):
        picture = next(batches)
        noise = torch.randn_like(picture)
        time = torch.rand(args.batch, args.width, device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.mse_loss(model(picture + noise, time).float(), noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update_parameters(model)
        print(f"       {picture.shape[2]} x {picture.shape[3]}")
        report(step, loss.detach(), args.keep_losses)


if __name__ == "__main__":
    main()
