# SPDX-License-Identifier: Apache-2.0
"""Models as Megatron-core is told them: sizes of our own, and those of published model cards."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Size:
    layers: int
    width: int
    heads: int
    mlp: int
    vocabulary: int = 32000
    key_value_groups: int | None = None
    qkv_bias: bool = False
    is_gpt2: bool = False  # layer norm, GELU, biases, dropout, learned positions, tied embeddings
    experts: dict[str, object] = field(default_factory=dict)


def qwen25(layers: int, width: int, heads: int, groups: int, mlp: int) -> Size:
    return Size(layers, width, heads, mlp, vocabulary=152064, key_value_groups=groups,
                qkv_bias=True)


SIZES = {
    "350m": Size(16, 1024, 16, 2816),
    "7b": Size(32, 4096, 32, 11008),
    "13b": Size(40, 5120, 40, 13824),
    # 50257 rounded up to 128 times a tensor-parallel degree of 4 or less.
    "gpt2-345m": Size(24, 1024, 16, 4096, vocabulary=50688, is_gpt2=True),
    "llama2-7b": Size(32, 4096, 32, 11008),
    "qwen1.5-moe-a2.7b": Size(
        24, 2048, 16, 5632, vocabulary=151936, qkv_bias=True,
        experts=dict(num_moe_experts=60, moe_router_topk=4, moe_ffn_hidden_size=1408,
                     moe_shared_expert_intermediate_size=5632, moe_shared_expert_gate=True)),
    "qwen2.5-7b": qwen25(28, 3584, 28, 4, 18944),
    "qwen2.5-14b": qwen25(48, 5120, 40, 8, 13824),
    "qwen2.5-32b": qwen25(64, 5120, 40, 8, 27648),
    "qwen2.5-72b": qwen25(80, 8192, 64, 8, 29568),
}
