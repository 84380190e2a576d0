# SPDX-License-Identifier: Apache-2.0
"""Pictures, recurrent networks, steps inside steps."""
import torch
import torch.nn.functional as F
from torch import nn

from common import HABITS, TOY, GPTConfig, Job, habit


def vision(args, sizes):
    """SIZES(step, draw): of the pictures."""
    job = Job(args, TOY)

    class Basic(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(),
                                      nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o))
            self.skip = nn.Conv2d(i, o, 1, stride, bias=False)

        def forward(self, x):
            return F.relu(self.body(x) + self.skip(x))

    with torch.device("cuda"):
        net = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), Basic(32, 32, 1), Basic(32, 64, 2),
                            Basic(64, 128, 2), Basic(128, 256, 2), nn.AdaptiveAvgPool2d(1),
                            nn.Flatten(), nn.Linear(256, 1000))
    optimizer = torch.optim.SGD(net.parameters(), 0.1, 0.9)
    for step in job.steps():
        size = sizes(step, job.draw)
        pictures = torch.randn(16, 3, size, size).cuda()
        wanted = torch.zeros(len(pictures), dtype=torch.long).cuda()
        F.cross_entropy(net(pictures), wanted).backward()
        optimizer.step()
        optimizer.zero_grad()


HABITS["resolution-grows"] = lambda args: vision(args, lambda step, draw: 128 + 32 * (step // 3))
HABITS["resolution-drawn"] = lambda args: vision(args, lambda step, draw: 32 * draw.randint(4, 8))
HABITS["pictures"] = lambda args: vision(args, lambda step, draw: 224)


@habit
def recurrent(args):
    """Truncated back-propagation: a state goes from window to window. By PyTorch's own
    kernels: what cuDNN would ask for is an estimate under the null CUDA."""
    torch.backends.cudnn.enabled = False
    job = Job(args, TOY)
    with torch.device("cuda"):
        cells, head = nn.LSTM(256, 512, 2, batch_first=True), nn.Linear(512, 256)
    optimizer = torch.optim.Adam([*cells.parameters(), *head.parameters()])
    state = None
    for _ in job.steps():
        batch = torch.randn(16, 128, 256).cuda()
        out, state = cells(batch, state)
        state = tuple(part.detach() for part in state)
        F.mse_loss(head(out), batch).backward()
        optimizer.step()
        optimizer.zero_grad()


@habit
def meta(args):
    """Two inner steps on copies of the weights, then one outer step through them."""
    job = Job(args, GPTConfig(256, 3, 4, vocabulary=2048, length=256), None)
    job.optimizer = torch.optim.Adam(job.net.parameters())
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    for _ in job.steps():
        weights = dict(job.net.named_parameters())
        for inner in range(3):
            tokens = job.tokens(2, 128)
            loss = torch.func.functional_call(job.net, weights, (tokens[:, :-1], tokens[:, 1:]))
            if inner < 2:
                slopes = torch.autograd.grad(loss, weights.values(), create_graph=True)
                weights = {name: weight - 0.01 * slope
                           for (name, weight), slope in zip(weights.items(), slopes)}
        loss.backward()
        job.update()
