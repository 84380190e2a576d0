# SPDX-License-Identifier: Apache-2.0
"""Train a diffusion transformer on latent pictures, with an average of its weights.

--keep-cycles leaves what a step gave in an object that refers to itself: Python's collector finds
it some steps later."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from loop import parser, report
from models import count_parameters


class Block(nn.Module):
    """Attention and an MLP, scaled and shifted by what time it is."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_attention = nn.LayerNorm(width, elementwise_affine=False)
        self.norm_mlp = nn.LayerNorm(width, elementwise_affine=False)
        self.modulation = nn.Linear(width, 6 * width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        query, key, value = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value)
        return self.projection(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        shift, scale, gate, shift_mlp, scale_mlp, gate_mlp = self.modulation(F.silu(time))[:, None].chunk(6, -1)
        x = x + gate * self.attend(self.norm_attention(x) * (1 + scale) + shift)
        y = self.norm_mlp(x) * (1 + scale_mlp) + shift_mlp
        return x + gate_mlp * self.down(F.gelu(self.up(y), approximate="tanh"))


class DiT(nn.Module):
    def __init__(self, width: int, layers: int, side: int, channels: int = 4, patch: int = 2) -> None:
        super().__init__()
        self.patch, self.channels = patch, channels
        self.enter = nn.Linear(channels * patch * patch, width)
        self.places = nn.Parameter(torch.zeros((side // patch) ** 2, width))
        self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(Block(width, width // 64) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.leave = nn.Linear(width, channels * patch * patch)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        side = x.shape[-1]
        x = F.unfold(x, self.patch, stride=self.patch).transpose(1, 2)
        x = self.enter(x) + self.places
        time = self.time(time)
        for block in self.blocks:
            x = block(x, time)
        x = self.leave(self.norm(x)).transpose(1, 2)
        return F.fold(x, (side, side), self.patch, stride=self.patch)


class Result:
    """What a step gave. It refers to itself, so only the collector lets go of it."""

    def __init__(self, **values: Tensor) -> None:
        self.values = values
        self.own = self


def main() -> None:
    options = parser(__doc__, batch=16)
    options.add_argument("--width", type=int, default=384)
    options.add_argument("--layers", type=int, default=4)
    options.add_argument("--side", type=int, default=32, help="of the latent picture")
    options.add_argument("--keep-cycles", action="store_true")
    args = options.parse_args()

    torch.manual_seed(args.seed)
    with torch.device("cuda"):
        model = DiT(args.width, args.layers, args.side)
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    print(count_parameters(model))

    for step in range(args.steps):
        picture = torch.randn(args.batch, 4, args.side, args.side, device="cuda")
        noise, time = torch.randn_like(picture), torch.rand(args.batch, 1, 1, 1, device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            guess = model(picture * (1 - time) + noise * time, time.view(-1, 1).expand(-1, args.width))
        loss = F.mse_loss(guess.float(), noise - picture)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update_parameters(model)
        if args.keep_cycles:
            Result(guess=guess.detach(), loss=loss.detach())
        report(step, loss.detach(), args.keep_losses)


if __name__ == "__main__":
    main()
