# SPDX-License-Identifier: Apache-2.0
"""Several networks: a teacher, adversaries."""
import torch
import torch.nn.functional as F
from torch import nn

from common import GPT, HABITS, TOY, GPTConfig, Job, habit


@habit
def distill(args):
    job = Job(args)
    with torch.device("cuda"):
        teacher = GPT(GPTConfig(1024, 6, 8, vocabulary=8192, length=1024)).eval().requires_grad_(False)

    def logits(net, tokens):
        with torch.autocast("cuda", torch.bfloat16):
            x = net.tokens(tokens) + net.positions(torch.arange(tokens.shape[1], device="cuda"))
            for block in net.blocks:
                x = block(x)
            return net.head(net.norm(x))

    for _ in job.steps():
        tokens = job.tokens()[:, :-1]
        with torch.no_grad():
            wanted = F.softmax(logits(teacher, tokens).float() / 2, -1)
        found = F.log_softmax(logits(job.net, tokens).float() / 2, -1)
        F.kl_div(found, wanted, reduction="batchmean").backward()
        job.update()


def down(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 4, 2, 1), nn.BatchNorm2d(o), nn.LeakyReLU(0.2))


def up(i, o):
    return nn.Sequential(nn.ConvTranspose2d(i, o, 4, 2, 1), nn.BatchNorm2d(o), nn.ReLU())


def adversary(args, every=1, penalty=False):
    torch.manual_seed(args.seed)
    job = Job(args, TOY)
    with torch.device("cuda"):
        maker = nn.Sequential(up(100, 512), up(512, 256), up(256, 128), up(128, 64),
                              nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh())
        judge = nn.Sequential(down(3, 64), down(64, 128), down(128, 256), nn.Conv2d(256, 1, 4))
    first, second = (torch.optim.Adam(net.parameters(), 2e-4, (0.5, 0.9)) for net in (maker, judge))
    for step in job.steps():
        real = torch.randn(32, 3, 64, 64).cuda()
        fake = maker(torch.randn(32, 100, 2, 2, device="cuda"))
        second.zero_grad()
        loss = F.softplus(-judge(real)).mean() + F.softplus(judge(fake.detach())).mean()
        if penalty:
            mixed = (real + fake.detach()).div(2).requires_grad_()
            slope, = torch.autograd.grad(judge(mixed).sum(), mixed, create_graph=True)
            loss = loss + 10 * ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()
        loss.backward()
        second.step()
        if step % every == every - 1:
            first.zero_grad()
            F.softplus(-judge(fake)).mean().backward()
            first.step()


HABITS["gan"] = lambda args: adversary(args)
HABITS["gan-5-to-1"] = lambda args: adversary(args, every=5)
HABITS["gan-penalty"] = lambda args: adversary(args, penalty=True)
