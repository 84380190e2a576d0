# SPDX-License-Identifier: Apache-2.0
"""Reinforcement learning as GRPO does it: a group of answers to each prompt, each worth what it is better than its group.

While answers are generated, the optimizer's state and the reference model wait in the host's memory.
"""

from __future__ import annotations

import argparse
import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import LlamaForCausalLM

from loop import report
from models import LLAMA_SIZES, llama_config


def move_state(optimizer: torch.optim.Optimizer, device: str) -> None:
    for state in optimizer.state.values():
        for key, value in state.items():
            if isinstance(value, Tensor) and value.dim() > 0:
                state[key] = value.to(device, non_blocking=True)


def log_probs(model: nn.Module, tokens: Tensor, n_new: int) -> Tensor:
    """Of each token that was generated."""
    logits = model(input_ids=tokens, use_cache=False).logits[:, -n_new - 1:-1].float()
    return torch.log_softmax(logits, -1).gather(-1, tokens[:, -n_new:, None]).squeeze(-1)


def reward(answers: Tensor) -> Tensor:
    """No two neighbours alike, say."""
    return (answers[:, 1:] != answers[:, :-1]).float().mean(-1)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--size", choices=LLAMA_SIZES, default="160m")
    options.add_argument("--steps", type=int, default=4)
    options.add_argument("--prompts", type=int, default=2)
    options.add_argument("--group", type=int, default=4, help="answers to each prompt")
    options.add_argument("--epochs", type=int, default=2, help="trained on the answers of a step")
    options.add_argument("--length", type=int, default=128, help="tokens of a prompt")
    options.add_argument("--new", type=int, default=64, help="tokens of an answer")
    options.add_argument("--vary", action="store_true", help="answers of another length in each step")
    args = options.parse_args()

    torch.manual_seed(0)
    lengths = torch.Generator().manual_seed(0)
    policy = LlamaForCausalLM(llama_config(args.size)).to("cuda", torch.bfloat16)
    reference = copy.deepcopy(policy).to("cpu").requires_grad_(False)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-6)

    for step in range(args.steps):
        prompts = torch.randint(5, policy.config.vocab_size, (args.prompts, args.length)).to("cuda")
        policy.eval()
        move_state(optimizer, "cpu")
        n_new = int(torch.randint(args.new // 2, args.new, (), generator=lengths)) if args.vary else args.new
        tokens = policy.generate(prompts.repeat_interleave(args.group, 0), do_sample=True, use_cache=True,
                                 max_new_tokens=n_new, min_new_tokens=n_new)

        with torch.no_grad():
            scores = reward(tokens[:, -n_new:]).view(args.prompts, args.group)
            advantage = ((scores - scores.mean(1, True)) / (scores.std(1, keepdim=True) + 1e-4)).view(-1, 1)
            before = log_probs(policy, tokens, n_new)
            reference.to("cuda")
            anchor = log_probs(reference, tokens, n_new)
            reference.to("cpu")

        policy.train()
        move_state(optimizer, "cuda")
        for _ in range(args.epochs):
            now = log_probs(policy, tokens, n_new)
            ratio = (now - before).exp()
            gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
            drift = F.kl_div(now, anchor, log_target=True, reduction="none")
            loss = (0.04 * drift - gain).mean()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        report(step, loss.detach())


if __name__ == "__main__":
    main()
