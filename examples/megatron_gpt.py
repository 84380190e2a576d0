# SPDX-License-Identifier: Apache-2.0
"""Train a GPT with Megatron-core: interleaved pipeline, tensor and expert parallel.

    torchrun --nproc-per-node 8 examples/megatron_gpt.py --pipeline 4 --tensor 2 --size 7b
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist
import torch.nn.functional as F
from megatron.core import parallel_state, tensor_parallel
from megatron.core.distributed import (DistributedDataParallel, DistributedDataParallelConfig,
                                       finalize_model_grads)
from megatron.core.enums import ModelType
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.transformer import MegatronModule, TransformerConfig
from megatron.core.transformer.moe import moe_utils
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.spec_utils import ModuleSpec
from megatron.core.transformer.transformer_block import (TransformerBlockSubmodules,
                                                         get_num_layers_to_build)
from torch import Tensor

from loop import add_between_steps, batches_for, between_steps, join_group, parser, report
from megatron_sizes import SIZES, Size

# Megatron-core 0.16 asks for this name, and lacks it where Transformer Engine is missing.
if not hasattr(moe_utils, "te_general_gemm"):
    moe_utils.te_general_gemm = None


class Attention(MegatronModule):
    """PyTorch's own attention, in the place that Transformer Engine's would take."""

    def __init__(self, config: TransformerConfig, **_: object) -> None:
        super().__init__(config=config)

    def forward(self, query: Tensor, key: Tensor, value: Tensor,
                *_: object, **__: object) -> Tensor:
        query, key, value = (x.permute(1, 2, 0, 3) for x in (query, key, value))
        dropout = self.config.attention_dropout if self.training else 0.0
        with tensor_parallel.get_cuda_rng_tracker().fork():
            mixed = F.scaled_dot_product_attention(query, key, value, dropout_p=dropout,
                                                   is_causal=True, enable_gqa=True)
        return mixed.permute(2, 0, 1, 3).flatten(2)


class SequenceNorm:
    """The norm of a part of the sequence: Megatron-core's own over PyTorch's takes all of it."""

    def __new__(cls, config: TransformerConfig, hidden_size: int, eps: float = 1e-5,
                **_: object) -> torch.nn.Module:
        kind = torch.nn.RMSNorm if config.normalization == "RMSNorm" else torch.nn.LayerNorm
        norm = kind(hidden_size, eps=eps)
        for weight in norm.parameters():
            weight.sequence_parallel = True
        return norm


def options() -> argparse.ArgumentParser:
    options = parser(__doc__, batch=1, length=1024, steps=3)
    add_between_steps(options)
    options.add_argument("--size", choices=SIZES, default="350m")
    options.add_argument("--tensor", type=int, default=1)
    options.add_argument("--pipeline", type=int, default=4)
    options.add_argument("--chunks", type=int, default=2, help="parts of the model on each device")
    options.add_argument("--micro-batches", type=int, default=8)
    options.add_argument("--experts", type=int, default=0, help="0: no mixture of experts")
    options.add_argument("--expert-parallel", type=int, default=1)
    options.add_argument("--recompute", choices=["full", "selective"])
    options.add_argument("--sequence-parallel", action="store_true")
    options.add_argument("--whole-optimizer", action="store_true",
                         help="its state on every device, not distributed over them")
    options.add_argument("--overlap", action="store_true",
                         help="gradients, parameters and what stages send pass while others compute")
    return options


def config_of_size(size: Size) -> dict[str, object]:
    config: dict[str, object] = dict(
        num_layers=size.layers, hidden_size=size.width, num_attention_heads=size.heads,
        ffn_hidden_size=size.mlp, num_query_groups=size.key_value_groups,
        add_qkv_bias=size.qkv_bias, **size.experts)
    if size.is_gpt2:
        return config | dict(hidden_dropout=0.1, attention_dropout=0.1)
    return config | dict(gated_linear_unit=True, activation_func=F.silu, add_bias_linear=False,
                         normalization="RMSNorm", hidden_dropout=0.0, attention_dropout=0.0)


def transformer_config(args: argparse.Namespace) -> TransformerConfig:
    chosen = config_of_size(SIZES[args.size])
    if args.recompute:
        chosen.update(recompute_granularity=args.recompute)
    if args.recompute == "full":
        chosen.update(recompute_method="uniform", recompute_num_layers=1)
    if args.experts:
        chosen.update(num_moe_experts=args.experts, moe_router_topk=2, moe_ffn_hidden_size=1408)
    if "num_moe_experts" in chosen:
        chosen.update(moe_token_dispatcher_type="alltoall", moe_aux_loss_coeff=0.01,
                      expert_model_parallel_size=args.expert_parallel,
                      expert_tensor_parallel_size=1)
    # These need Apex or Transformer Engine.
    without_apex = dict.fromkeys(
        ["masked_softmax_fusion", "bias_activation_fusion", "bias_dropout_fusion",
         "gradient_accumulation_fusion", "apply_rope_fusion", "persist_layer_norm"], False)
    return TransformerConfig(
        tensor_model_parallel_size=args.tensor, pipeline_model_parallel_size=args.pipeline,
        virtual_pipeline_model_parallel_size=args.chunks if args.chunks > 1 else None,
        sequence_parallel=args.sequence_parallel,
        bf16=True, params_dtype=torch.bfloat16, pipeline_dtype=torch.bfloat16,
        deallocate_pipeline_outputs=True, overlap_p2p_comm=args.overlap,
        batch_p2p_comm=not args.overlap, **without_apex, **chosen)


def layer_spec(config: TransformerConfig, chunk: int | None
               ) -> ModuleSpec | TransformerBlockSubmodules:
    spec = get_gpt_layer_local_spec(num_experts=config.num_moe_experts, moe_grouped_gemm=False,
                                    normalization=config.normalization)
    spec.submodules.self_attention.submodules.core_attention = Attention
    if not config.sequence_parallel:
        return spec
    spec.submodules.input_layernorm = spec.submodules.pre_mlp_layernorm = SequenceNorm
    return TransformerBlockSubmodules([spec] * get_num_layers_to_build(config, chunk),
                                      layer_norm=SequenceNorm)


def build_chunk(args: argparse.Namespace, config: TransformerConfig,
                chunk: int | None) -> Float16Module:
    size = SIZES[args.size]
    stage = dict(ignore_virtual=False, vp_stage=chunk) if chunk is not None else {}
    model = GPTModel(
        config, layer_spec(config, chunk), vocab_size=size.vocabulary,
        max_sequence_length=args.length,
        pre_process=parallel_state.is_pipeline_first_stage(**stage),
        post_process=parallel_state.is_pipeline_last_stage(**stage), parallel_output=True,
        share_embeddings_and_output_weights=size.is_gpt2,
        position_embedding_type="learned_absolute" if size.is_gpt2 else "rope", vp_stage=chunk)
    model.model_type = ModelType.encoder_or_decoder
    return Float16Module(config, model.cuda())


def build(args: argparse.Namespace, config: TransformerConfig) -> list[DistributedDataParallel]:
    numbers = range(args.chunks) if args.chunks > 1 else [None]
    chunks = [build_chunk(args, config, number) for number in numbers]
    reduction = DistributedDataParallelConfig(
        grad_reduce_in_fp32=True, use_distributed_optimizer=not args.whole_optimizer,
        overlap_grad_reduce=args.overlap,
        overlap_param_gather=args.overlap and not args.whole_optimizer)
    return [DistributedDataParallel(config, reduction, chunk, disable_bucketing=number > 0)
            for number, chunk in enumerate(chunks)]


def forward_step(batches: Iterator[Tensor], model: DistributedDataParallel
                 ) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, dict[str, Tensor]]]]:
    tokens = next(batches)
    positions = torch.arange(tokens.shape[1], device="cuda").expand_as(tokens)

    def loss_of(losses: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        loss = losses.float().mean()
        return loss, {"loss": loss.detach()}

    return model(tokens, positions, None, labels=tokens), loss_of


def main() -> None:
    args = options().parse_args()
    join_group()
    parallel_state.initialize_model_parallel(
        args.tensor, args.pipeline, args.chunks if args.chunks > 1 else None,
        expert_model_parallel_size=args.expert_parallel, expert_tensor_parallel_size=1,
        create_gloo_process_groups=False)
    tensor_parallel.model_parallel_cuda_manual_seed(args.seed + 1)

    config = transformer_config(args)
    model = build(args, config)
    optimizer = get_megatron_optimizer(
        OptimizerConfig(optimizer="adam", lr=1e-4, bf16=True, params_dtype=torch.bfloat16,
                        use_distributed_optimizer=not args.whole_optimizer, clip_grad=1.0,
                        overlap_param_gather=args.overlap and not args.whole_optimizer),
        model, use_gloo_process_groups=False)
    config.finalize_model_grads_func = finalize_model_grads
    config.grad_scale_func = optimizer.scale_loss
    if args.overlap:
        config.no_sync_func = [chunk.no_sync for chunk in model]
        config.grad_sync_func = [chunk.start_grad_sync for chunk in model]
        config.param_sync_func = [chunk.start_param_sync for chunk in model]

    batches = batches_for(args, SIZES[args.size].vocabulary)
    run = get_forward_backward_func()

    def pass_through(forward_only: bool = False) -> float:
        with torch.set_grad_enabled(not forward_only):
            losses = run(forward_step_func=forward_step, data_iterator=[batches] * len(model),
                         model=model, num_microbatches=args.micro_batches,
                         seq_length=args.length, micro_batch_size=args.batch,
                         forward_only=forward_only)
        return sum(each["loss"].item() for each in losses) / max(1, len(losses))

    for step in range(args.steps):
        for chunk in model:
            chunk.zero_grad_buffer()
        optimizer.zero_grad()
        loss = pass_through()
        optimizer.step()
        report(step, loss)
        between_steps(args, step, torch.nn.ModuleList(model),
                      lambda: pass_through(forward_only=True))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
