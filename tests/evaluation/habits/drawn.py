# SPDX-License-Identifier: Apache-2.0
"""What a step does is drawn: layers, exits, heads, experts, documents."""
import torch
import torch.nn.functional as F
from torch import nn

from common import HABITS, TOY, Block, GPTConfig, Job, habit


class Drawn(nn.Module):
    """A stack of blocks of which FORWARD's caller says which run."""

    def __init__(self, layers=8, heads=1):
        super().__init__()
        config = GPTConfig(512, layers, 8)
        self.tokens = nn.Embedding(8192, 512)
        self.blocks = nn.ModuleList(Block(config) for _ in range(layers))
        self.heads = nn.ModuleList(nn.Linear(512, width) for width in (8192, 2, 1000, 30)[:heads])

    def forward(self, tokens, kept=None, head=0):
        x = self.tokens(tokens)
        for i, block in enumerate(self.blocks):
            if kept is None or i in kept:
                x = block(x)
        return self.heads[head](x)


def drawn(args, choose, heads=1, pooled=()):
    """CHOOSE(draw): which blocks run, and which head judges."""
    job = Job(args, TOY)
    with torch.device("cuda"):
        net = Drawn(heads=heads)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    for _ in job.steps():
        kept, head = choose(job.draw)
        tokens = job.tokens()[:, :-1]
        with torch.autocast("cuda", torch.bfloat16):
            out = net(tokens, kept, head)
        if head in pooled:
            out, wanted = out[:, 0], tokens[:, 0]
        else:
            out, wanted = out.flatten(0, 1), tokens.flatten()
        F.cross_entropy(out.float(), wanted % out.shape[-1]).backward()
        optimizer.step()
        optimizer.zero_grad()


def some_layers(draw):
    return {i for i in range(8) if draw.random() > 0.2}, 0


def first_layers(draw):
    return set(range(draw.choice([3, 5, 8]))), 0


def one_head(draw):
    return None, draw.randrange(4)


HABITS["layer-drop"] = lambda args: drawn(args, some_layers)
HABITS["early-exit"] = lambda args: drawn(args, first_layers)
HABITS["heads"] = lambda args: drawn(args, one_head, heads=4, pooled=(1,))


@habit
def experts(args):
    """A layer of experts each block, each token to one; how many each gets is drawn."""
    job = Job(args, TOY)

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.attend = Block(GPTConfig(512, 1, 8))
            self.route = nn.Linear(512, 8)
            self.experts = nn.ModuleList(
                nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(8))

        def forward(self, x):
            x = self.attend(x)
            flat = x.flatten(0, 1)
            gate = self.route(flat).softmax(-1)
            cuts = sorted(job.draw.randrange(len(flat) + 1) for _ in range(7))
            counts = [b - a for a, b in zip([0, *cuts], [*cuts, len(flat)])]
            order = torch.randperm(len(flat)).cuda().split(counts)
            out = torch.zeros_like(flat)
            for i, (expert, rows) in enumerate(zip(self.experts, order)):
                if len(rows):
                    out = out.index_add(0, rows, (expert(flat[rows]) * gate[rows, i:i + 1]).to(out.dtype))
            return x + out.view_as(x)

    with torch.device("cuda"):
        tokens, head = nn.Embedding(8192, 512), nn.Linear(512, 8192)
        blocks = nn.Sequential(*(Experts() for _ in range(4)))
    net = nn.ModuleList([tokens, blocks, head])
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    for _ in job.steps():
        batch = torch.randint(8192, (4, 512)).cuda()
        with torch.autocast("cuda", torch.bfloat16):
            out = head(blocks(tokens(batch)))
        F.cross_entropy(out.flatten(0, 1).float(), batch.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


@habit
def packing(args):
    """Documents packed into rows of one length, a mask of blocks made on the device for each."""
    job = Job(args)

    def attend(block, x, mask):
        batch, length, width = x.shape
        q, k, v = block.qkv(x).view(batch, length, 3, block.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return block.projection(mixed.transpose(1, 2).reshape(batch, length, width))

    for _ in job.steps():
        tokens = job.tokens()
        ends = torch.zeros(4, 512, dtype=torch.long)
        for row in ends:
            row[torch.tensor([job.draw.randrange(512) for _ in range(job.draw.randint(1, 9))])] = 1
        document = ends.cumsum(1).cuda(non_blocking=True)
        mask = document[:, None, :, None] == document[:, None, None, :]
        mask = mask & torch.ones(512, 512, dtype=torch.bool, device="cuda").tril()
        with torch.autocast("cuda", torch.bfloat16):
            x = job.net.tokens(tokens[:, :-1]) + job.net.positions.weight[:512]
            for block in job.net.blocks:
                x = x + attend(block, block.norm_attention(x), mask)
                x = x + block.down(F.gelu(block.up(block.norm_mlp(x))))
            logits = job.net.head(job.net.norm(x)).flatten(0, 1)
            loss = F.cross_entropy(logits.float(), tokens[:, 1:].flatten())
        loss.backward()
        job.update()


@habit
def packing_nearly_full(args):
    """Rows of documents, no padding: between 85 and 100 % of 4096 tokens a step."""
    job = Job(args, GPTConfig(512, 6, 8, vocabulary=8192, length=4096))
    for _ in job.steps():
        job.loss(job.tokens(1, job.draw.randint(3481, 4095))).backward()
        job.update()
