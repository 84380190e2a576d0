# SPDX-License-Identifier: Apache-2.0
"""Reinforcement learning: a cache that grows, then an update."""
import torch
import torch.nn.functional as F
from torch import nn

from common import HABITS, TOY, Block, GPTConfig, Job


class Cached(nn.Module):
    """A decoder whose keys and values grow as it generates."""

    def __init__(self, width=512, layers=4, heads=8, vocabulary=8192):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        config = GPTConfig(width, layers, heads, dropout=0.0)
        self.blocks = nn.ModuleList(Block(config) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, cache=None):
        x = self.tokens(tokens)
        for i, block in enumerate(self.blocks):
            y = block.norm_attention(x)
            batch, length, width = y.shape
            q, k, v = block.qkv(y).view(batch, length, 3, block.heads, -1).permute(2, 0, 3, 1, 4)
            if cache is not None:
                if cache[i] is not None:
                    k, v = torch.cat([cache[i][0], k], 2), torch.cat([cache[i][1], v], 2)
                cache[i] = k, v
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
            x = x + block.projection(mixed.transpose(1, 2).reshape(batch, length, width))
            x = x + block.down(F.gelu(block.up(block.norm_mlp(x))))
        return self.head(x)


def policy(args, new, group):
    """Rolls out NEW() tokens with a growing cache, then updates GROUP times on what came."""
    job = Job(args, TOY)
    with torch.device("cuda"):
        net, old = Cached(), Cached().requires_grad_(False)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5)
    for _ in job.steps():
        tokens = torch.randint(8192, (8, 64)).cuda()
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
            cache = [None] * len(net.blocks)
            out, coming = tokens, tokens
            for _ in range(new(job.draw)):
                coming = net(coming, cache)[:, -1:].argmax(-1)
                out = torch.cat([out, coming], 1)
            del cache
            before = F.log_softmax(old(out).float(), -1).gather(2, out.unsqueeze(2))
        for part in out.split(8 // group):
            with torch.autocast("cuda", torch.bfloat16):
                now = F.log_softmax(net(part).float(), -1).gather(2, part.unsqueeze(2))
                ratio = (now - before[:len(part)]).exp()
                loss = -torch.minimum(ratio, ratio.clamp(0.8, 1.2)).mean()
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()


HABITS["rollout"] = lambda args: policy(args, lambda draw: 48, 2)
HABITS["rollout-lengths"] = lambda args: policy(args, lambda draw: draw.randint(20, 64), 2)
