#!/usr/bin/env python3
"""Mixtures of experts as people write them, in a dry run: each routes tokens x k in all, and
the same again where autograd recomputes. And all() holds, so that Hugging Face's models take the
batch for one without padding or packed documents, and build no mask, as on a device; but for what
masks that came from the host say.

    routing.py

SPDX-License-Identifier: Apache-2.0
"""
import ast
import io
import os
import sys

import dry
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from transformers.masking_utils import find_packed_sequence_indices

N_TOKENS, WIDTH, N_EXPERTS, K = 512, 32, 8, 2
EACH = N_TOKENS * K


class Mixture(nn.Module):
    """A subclass is one way to write it."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, N_EXPERTS)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(N_EXPERTS))
        self.n_routed = 0

    def expert(self, number, x):
        self.n_routed += x.shape[0]
        return self.experts[number](x)

    def forward(self, x):
        weights, chosen = torch.topk(functional.softmax(self.gate(x), -1), K, -1)
        return self.mix(x, weights, chosen)


class ByWhere(Mixture):
    def mix(self, x, weights, chosen):
        out = torch.zeros_like(x)
        for e in range(N_EXPERTS):
            tokens, nth = torch.where(chosen == e)
            if tokens.numel():
                out.index_add_(0, tokens, self.expert(e, x[tokens]) * weights[tokens, nth, None])
        return out


class ByMask(Mixture):
    def mix(self, x, weights, chosen):
        out = torch.zeros_like(x)
        for e in range(N_EXPERTS):
            mask = (chosen == e).any(-1)
            if mask.any():
                out[mask] += self.expert(e, x[mask])
        return out


class ByOneHot(Mixture):
    def mix(self, x, weights, chosen):
        out = torch.zeros_like(x)
        mask = functional.one_hot(chosen, N_EXPERTS).permute(2, 1, 0)
        for e in torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero():
            _, tokens = torch.where(mask[e].squeeze(0))
            out.index_add_(0, tokens, self.expert(int(e), x[tokens]))
        return out


class ByCounts(Mixture):
    def mix(self, x, weights, chosen):
        flat = chosen.view(-1)
        order = flat.argsort()
        parts = x[order // K].split(torch.bincount(flat, minlength=N_EXPERTS).cpu().tolist())
        out = torch.cat([self.expert(e, part) for e, part in enumerate(parts)])
        return out[order.argsort()].view(N_TOKENS, K, WIDTH).sum(1)


class ByScatter(Mixture):
    def mix(self, x, weights, chosen):
        mask = torch.zeros_like(self.gate(x)).scatter_(1, chosen, 1.0)
        counts = mask.sum(0).to(torch.long).tolist()
        out = torch.zeros_like(x)
        for e in range(N_EXPERTS):
            tokens = mask[:, e].nonzero(as_tuple=True)[0]
            assert len(tokens) == counts[e]
            out.index_add_(0, tokens, self.expert(e, x[tokens]))
        return out


class ByUnique(Mixture):
    def mix(self, x, weights, chosen):
        out = torch.zeros_like(x)
        for e in torch.unique(chosen).tolist():
            tokens = (chosen == e).nonzero()[:, 0]
            out[tokens] += self.expert(e, x[tokens])
        return out


class ByRow(Mixture):
    def mix(self, x, weights, chosen):
        row = torch.arange(N_EXPERTS, device=chosen.device)
        masks = (chosen[None] == row[:, None, None]).any(-1)
        out = torch.zeros_like(x)
        for e in range(N_EXPERTS):
            mask = masks[e][:, None]
            out.masked_scatter_(mask, self.expert(e, x.masked_select(mask).view(-1, WIDTH)))
        return out


class Switch(Mixture):
    def mix(self, x, weights, chosen):
        best, chosen = torch.max(self.gate(x), dim=-1)
        out = torch.zeros_like(x)
        for e in range(N_EXPERTS):
            mask = chosen.eq(e)
            out[mask] = self.expert(e, x[mask]) * best[mask].unsqueeze(1)
        return out


def inside():
    """Prints what each routed: in the forward pass, again, recomputed, in an evaluation."""
    for kind in Mixture.__subclasses__():
        layer = kind().cuda()
        x = torch.randn(N_TOKENS, WIDTH, device="cuda", requires_grad=True)
        layer(x).sum().backward()
        first = layer.n_routed
        layer = kind().cuda()
        with torch.no_grad():
            layer.eval()(x)
        again = layer.n_routed
        checkpoint(layer.train(), x, use_reentrant=False).sum().backward()
        print([kind.__name__, first, again, layer.n_routed - again], flush=True)


def ask_all():
    """Prints what a program reads of data that nobody computes."""
    x = torch.randn(4, 8, device="cuda")
    mask = functional.softmax(x, -1) > 2
    print({"all": bool(mask.all()), "rows": torch.all(mask, dim=1).tolist(), "any": bool(mask.any()),
           "not": bool(~mask.all()), "packed": find_packed_sequence_indices(torch.arange(8, device="cuda")[None])},
          flush=True)


def ask_sent_numbers():
    """Labels of which some are left out, and three graphs of a batch by the number of each node's."""
    labels, graphs = torch.arange(8) % 4 * 50 - 100, torch.tensor([0, 0, 0, 1, 2, 2])
    there, of_node = labels.cuda(), graphs.to("cuda")
    n_graphs = int(of_node.max()) + 1
    changed = there.clone()
    changed[1:3] = -100
    sums = torch.zeros(n_graphs, 4, device="cuda").index_add(0, of_node, torch.ones(6, 4, device="cuda"))
    print({"learnt": len(torch.randn(8, 4, device="cuda")[there != -100]), "counted": (there != -100).sum().item(), "left": (changed != -100).sum().item(),
           "graphs": len(sums), "embedded": type(torch.nn.Embedding(100, 4).cuda()(of_node)) is torch.Tensor}, flush=True)


def ask_sent_masks():
    """A batch with padding, one without; and a mask is saved as any tensor is."""
    x = torch.randn(4, 8, device="cuda", requires_grad=True)
    padded, file = torch.ones(4, 8, dtype=torch.long), io.BytesIO()
    padded[0, 5:] = 0
    there, full = padded.to("cuda"), torch.ones(4, 8, dtype=torch.bool).cuda(non_blocking=True)
    torch.save({"mask": there}, file)
    file.seek(0)
    selected = x[there.bool()]
    selected.sum().backward()
    print({"padded": bool(there.all()), "full": bool(full.all()), "selected": len(selected), "sums": there.sum(1).tolist(),
           "saved": type(torch.load(file, weights_only=True)["mask"]) is torch.Tensor,
           "fast": bool((there.sum() == there.numel()).item()), "flag": type(torch.tensor(1).cuda()) is torch.Tensor},
          flush=True)


if "TESSERA_DRY_RUN" in os.environ:
    ask_all()
    ask_sent_masks()
    ask_sent_numbers()
    inside()
    sys.exit()


@dry.judge
def main(report, folder):
    printed = dry.run(dry.TESSERA, "dry-run", "-o", f"{folder}/routing.tsr", "--", sys.executable, __file__).stdout
    answers = [ast.literal_eval(line) for line in printed.splitlines() if line.startswith("{")]
    report.expect(answers[:1] == [{"all": True, "rows": [True] * 4, "any": False, "not": False, "packed": None}],
                  f"all() holds: {answers[:1]}")
    report.expect(answers[2:] == [{"learnt": 6, "counted": 6, "left": 4, "graphs": 3, "embedded": True}],
                  f"whole numbers say what they are: {answers[2:]}")
    report.expect(answers[1:2] == [{"padded": False, "full": True, "selected": 29, "sums": [5, 8, 8, 8], "saved": True,
                                   "fast": False, "flag": True}], f"masks say what they are: {answers[1:2]}")
    routed = [ast.literal_eval(line) for line in printed.splitlines() if line.startswith("[")]
    report.expect(len(routed) == len(Mixture.__subclasses__()), f"{len(routed)} ways to route")
    for name, *counts in routed:
        each = N_TOKENS if name == "Switch" else EACH
        report.expect(counts == [each, each, 2 * each], f"{name}: {counts}, where {each} are chosen")
