# SPDX-License-Identifier: Apache-2.0
"""Reinforcement learning as PPO does it: policy and critic, answers sampled token by token, minibatches, several epochs.

While answers are sampled, the critic waits in the host's memory.
"""

from __future__ import annotations

import argparse

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import LlamaForCausalLM, LlamaModel

from loop import report
from models import LLAMA_SIZES, llama_config


class Critic(nn.Module):
    def __init__(self, size: str) -> None:
        super().__init__()
        self.body = LlamaModel(llama_config(size))
        self.value = nn.Linear(self.body.config.hidden_size, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.value(self.body(tokens).last_hidden_state).squeeze(-1)


@torch.no_grad()
def rollout(policy: nn.Module, prompts: Tensor, n_new: int) -> tuple[Tensor, Tensor]:
    """Prompts with an answer each, and the log-probability of each token of it."""
    tokens, news, cache, log_probs = prompts, prompts, None, []
    for _ in range(n_new):
        out = policy(input_ids=news, past_key_values=cache, use_cache=True)
        cache, logits = out.past_key_values, out.logits[:, -1].float()
        news = torch.multinomial(logits.softmax(-1), 1)
        log_probs.append(logits.log_softmax(-1).gather(-1, news))
        tokens = torch.cat((tokens, news), 1)
    return tokens, torch.cat(log_probs, 1)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--size", choices=LLAMA_SIZES, default="160m")
    options.add_argument("--steps", type=int, default=4)
    options.add_argument("--batch", type=int, default=8, help="prompts of a step")
    options.add_argument("--minibatch", type=int, default=4)
    options.add_argument("--epochs", type=int, default=2)
    options.add_argument("--length", type=int, default=128, help="tokens of a prompt")
    options.add_argument("--new", type=int, default=64, help="tokens of an answer")
    args = options.parse_args()
    new = slice(-args.new - 1, -1)

    torch.manual_seed(0)
    policy = LlamaForCausalLM(llama_config(args.size)).to(torch.bfloat16).cuda()
    critic = Critic(args.size).to(torch.bfloat16).cuda()
    optimizer = torch.optim.AdamW([*policy.parameters(), *critic.parameters()], lr=1e-6)

    for step in range(args.steps):
        prompts = torch.randint(5, policy.config.vocab_size, (args.batch, args.length)).cuda()
        critic.cpu()
        tokens, before = rollout(policy.eval(), prompts, args.new)
        critic.cuda()

        with torch.no_grad():  # the reward comes with the last token
            values = critic(tokens)[:, new].float()
            rewards = torch.zeros_like(values)
            rewards[:, -1] = (tokens[:, 1:] != tokens[:, :-1]).float().mean(-1)
            returns = rewards.flip(1).cumsum(1).flip(1)
            advantage = F.layer_norm(returns - values, values.shape)

        policy.train()
        for _ in range(args.epochs):
            for part in torch.randperm(args.batch).cuda().split(args.minibatch):
                logits = policy(input_ids=tokens[part], use_cache=False).logits[:, new].float()
                now = logits.log_softmax(-1).gather(-1, tokens[part, -args.new:, None]).squeeze(-1)
                ratio = (now - before[part]).exp()
                gain = torch.minimum(ratio * advantage[part], ratio.clamp(0.8, 1.2) * advantage[part])
                miss = F.mse_loss(critic(tokens[part])[:, new].float(), returns[part])
                loss = 0.5 * miss - gain.mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        report(step, loss.detach())


if __name__ == "__main__":
    main()
