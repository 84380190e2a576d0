# SPDX-License-Identifier: Apache-2.0
"""Megatron-core's all-to-all token dispatcher under a CUDA that computes nothing: the
numbers of tokens that it copies to the host are drawn instead, per expert and rank."""

import functools
import sys
from typing import Any

import torch

from .answers import Answers


def _fill(dispatcher: Any, answers: Answers, n_tokens: int) -> Any:
    """Gives the dispatcher its splits. Returns the tokens of each local expert."""
    n_experts = int(dispatcher.num_experts)
    n_local = int(dispatcher.num_local_experts)
    n_groups, n_tensor = int(dispatcher.ep_size), int(dispatcher.tp_size)
    total = n_tokens * int(dispatcher.config.moe_router_topk)
    rows = answers.skew.counts(dispatcher, n_experts, total, n_tokens, n_groups * n_tensor)
    first = int(dispatcher.local_expert_indices[0])
    # [tensor rank, expert rank, expert], as Megatron gathers them.
    sent = torch.tensor(rows).reshape(n_groups, n_tensor, n_experts).transpose(0, 1)
    local = sent[:, :, first : first + n_local].contiguous()
    own = sent[int(dispatcher.tp_rank), int(dispatcher.ep_group.rank()) if n_groups > 1 else 0]
    if dispatcher.input_splits is not None:
        dispatcher.input_splits = own.reshape(n_groups, n_local).sum(1).numpy()
    if dispatcher.output_splits is not None:
        dispatcher.output_splits = local.sum(2)[int(dispatcher.tp_rank)].numpy()
        dispatcher.output_splits_tp = local.sum(2).sum(1).numpy()
    if n_local > 1:
        dispatcher.num_global_tokens_per_local_expert = local.reshape(-1, n_local)
    return local.sum((0, 1))


def install(answers: Answers) -> None:
    module: Any = sys.modules["megatron.core.transformer.moe.token_dispatcher"]
    dispatcher_class: Any = module.MoEAlltoAllTokenDispatcher
    preprocess = dispatcher_class.dispatch_preprocess
    copy_to_host = dispatcher_class._maybe_dtoh_and_synchronize

    @functools.wraps(preprocess)
    def dispatch_preprocess(self: Any, hidden: Any, routing_map: Any, probs: Any) -> Any:
        self.tessera_n_tokens = routing_map.shape[0]
        answers.n_selected = routing_map.shape[0] * int(self.config.moe_router_topk)
        try:
            return preprocess(self, hidden, routing_map, probs)
        finally:
            answers.n_selected = None

    @functools.wraps(copy_to_host)
    def _maybe_dtoh_and_synchronize(self: Any, point: str, tokens_per_expert: Any = None) -> Any:
        copied = copy_to_host(self, point, tokens_per_expert)
        if point != self.cuda_dtoh_point or self.drop_and_pad:
            return copied
        return _fill(self, answers, self.tessera_n_tokens)

    dispatcher_class.dispatch_preprocess = dispatch_preprocess
    dispatcher_class._maybe_dtoh_and_synchronize = _maybe_dtoh_and_synchronize
