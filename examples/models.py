# SPDX-License-Identifier: Apache-2.0
"""The models that several examples train: a GPT of our own, and configurations of Llama."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from transformers import LlamaConfig


@dataclass(frozen=True)
class GPTConfig:
    width: int
    layers: int
    heads: int
    vocabulary: int = 50304
    length: int = 1024
    dropout: float = 0.1


GPT_SIZES = {
    "small": GPTConfig(768, 12, 12),
    "medium": GPTConfig(1024, 24, 16),
    "xl": GPTConfig(1600, 48, 25),
    "7b": GPTConfig(4096, 32, 32, length=2048),
    "13b": GPTConfig(5120, 40, 40, length=2048),
}


class Block(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.norm_attention = nn.LayerNorm(width)
        self.norm_mlp = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(config.dropout)

    def attend(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.projection(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attend(self.norm_attention(x)))
        return x + self.dropout(self.down(F.gelu(self.up(self.norm_mlp(x)))))


class GPT(nn.Module):
    def __init__(self, config: GPTConfig, recompute: bool = False) -> None:
        super().__init__()
        self.recompute = recompute
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Embedding(config.length, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(places)
        for block in self.blocks:
            if self.recompute and self.training:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


LLAMA_SIZES = {
    "160m": dict(hidden_size=768, intermediate_size=3072, num_hidden_layers=12,
                 num_attention_heads=12),
    "1b": dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
               num_attention_heads=32, num_key_value_heads=8, vocab_size=128256),
    "7b": dict(hidden_size=4096, intermediate_size=11008, num_hidden_layers=32,
               num_attention_heads=32),
    "13b": dict(hidden_size=5120, intermediate_size=13824, num_hidden_layers=40,
                num_attention_heads=40),
}


def llama_config(size: str) -> LlamaConfig:
    """Llama of one of LLAMA_SIZES, without the key-value cache that only generation uses."""
    from transformers import LlamaConfig

    return LlamaConfig(**LLAMA_SIZES[size], max_position_embeddings=8192, use_cache=False,
                       attn_implementation="sdpa")


def count_parameters(model: nn.Module) -> str:
    return f"{sum(p.numel() for p in model.parameters()) / 1e9:.2f} B parameters"
