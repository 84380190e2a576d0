#!/usr/bin/env python3
"""Trains torchvision's ResNet-50 on made-up pictures: what cuDNN asks for beside the tensors.

SPDX-License-Identifier: Apache-2.0
"""
import sys

import torch
from torch.nn import functional
from torchvision.models import resnet50

sys.path.insert(0, str(__import__("pathlib").Path(__file__).resolve().parents[2] / "examples"))
from loop import parser, report  # noqa: E402


def main():
    options = parser(__doc__, batch=64)
    options.add_argument("--side", type=int, default=224)
    args = options.parse_args()
    torch.manual_seed(args.seed)
    with torch.device("cuda"):
        model = resnet50()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(args.steps):
        pictures = torch.randn(args.batch, 3, args.side, args.side, device="cuda")
        labels = torch.randint(1000, (args.batch,), device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            loss = functional.cross_entropy(model(pictures), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        report(step, loss.detach())


main()
