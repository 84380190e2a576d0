# SPDX-License-Identifier: Apache-2.0
"""What the programs share: the list of them, a model with its optimizer and batches, and a loop."""
import random
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))
from models import GPT, Block, GPTConfig  # Block is for the others

CONFIG = GPTConfig(512, 6, 8, vocabulary=8192, length=1024)
TOY = GPTConfig(64, 1, 1, vocabulary=64, length=8)  # beside a model of the program's own
HABITS = {}


def habit(function):
    HABITS[function.__name__.replace("_", "-")] = function
    return function


def report(step):
    print(f"step {step} allocated {torch.cuda.max_memory_allocated()} "
          f"reserved {torch.cuda.max_memory_reserved()}", flush=True)


class Job:
    """What most programs begin with: a GPT, an optimizer, seeded batches."""

    def __init__(self, args, config=CONFIG, optimizer=torch.optim.AdamW, **options):
        self.args = args
        self.draw = random.Random(args.seed)
        torch.manual_seed(args.seed)
        with torch.device("cuda"):
            self.net = GPT(config)
        self.config = config
        self.optimizer = optimizer(self.net.parameters(), lr=1e-4, **options) if optimizer else None

    def tokens(self, batch=4, length=512):
        tokens = torch.randint(self.config.vocabulary, (batch, length + 1))
        return tokens.pin_memory().cuda(non_blocking=True)

    def loss(self, tokens, net=None):
        with torch.autocast("cuda", torch.bfloat16):
            return (self.net if net is None else net)(tokens[:, :-1], tokens[:, 1:])

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad()

    def steps(self):
        for step in range(self.args.steps):
            yield step
            report(step)


def train(job):
    """The plain loop."""
    for _ in job.steps():
        job.loss(job.tokens()).backward()
        job.update()
