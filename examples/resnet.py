# SPDX-License-Identifier: Apache-2.0
"""Train torchvision's ResNet on random pictures, with SGD and momentum."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import torchvision

from loop import parser, report


def main() -> None:
    options = parser(__doc__, batch=16)
    options.add_argument("--model", default="resnet50", help="one of torchvision's classifiers")
    options.add_argument("--side", type=int, default=224, help="pixels")
    args = options.parse_args()

    torch.manual_seed(args.seed)
    model = torchvision.models.get_model(args.model).cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

    for step in range(args.steps):
        pictures = torch.randn(args.batch, 3, args.side, args.side).cuda(non_blocking=True)
        labels = torch.randint(1000, (args.batch,)).cuda(non_blocking=True)
        loss = F.cross_entropy(model(pictures), labels, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report(step, loss.detach(), args.keep_losses)


if __name__ == "__main__":
    main()
