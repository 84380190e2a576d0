#!/usr/bin/env python3
"""Steps and phases that frameworks make, found with nothing in them changed: one rank of
sixteen under FSDP2 and DDP, and Hugging Face's Trainer.

    frameworks.py sharded | replicated | trainer

SPDX-License-Identifier: Apache-2.0
"""
import importlib.util
import os
import sys
import tempfile

kind = sys.argv[1]
if kind == "trainer":
    if importlib.util.find_spec("accelerate") is None:
        print("skipped: Hugging Face's Trainer needs the package accelerate")
        sys.exit(77)
else:
    os.environ.update(TESSERA_WORLD="16", TESSERA_RANK="11")

import torch
import torch.distributed as dist
from told import expect, finish, watch
from transformers import LlamaConfig, LlamaForCausalLM

from tessera import dryrun

dryrun.install()
CONFIG = LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=2,
    intermediate_size=64,
    max_position_embeddings=64,
    use_cache=False,
)
TRAIN = ">forward, <, >backward, <, >optimizer, <,"
ACCUMULATE = """>forward, <, >backward, <, >forward, >micro-batch 1 forward, <, <,
    >backward, >micro-batch 1 backward, <, <, >optimizer, <,"""


def train(net, n_micro):
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(2):
        for _ in range(n_micro):
            tokens = torch.zeros(2, 8, dtype=torch.long)
            net(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def sharded(told):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    net = LlamaForCausalLM(CONFIG)
    mesh = init_device_mesh("cpu", (16,))
    for layer in net.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    train(net, 1)


def replicated(told):
    dist.init_process_group("nccl")
    gloo = dist.new_group(backend="gloo")
    assert dist.get_rank(gloo) == 11 and os.environ["LOCAL_RANK"] == "3"
    row = torch.empty(1, 16 * 5)  # as SyncBatchNorm gathers
    dist.all_gather_into_tensor(row, torch.ones(5))
    assert row.eq(1).all()
    dist.all_gather_into_tensor(output_tensor=row, input_tensor=torch.zeros(5), group=None)  # as DeepSpeed does
    assert row.eq(0).all()
    train(torch.nn.parallel.DistributedDataParallel(LlamaForCausalLM(CONFIG)), 2)


def trainer(told):
    from transformers import Trainer, TrainingArguments

    rows = [{"input_ids": [1] * 8, "labels": [1] * 8} for _ in range(16)]
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=2,
            gradient_accumulation_steps=2,
            max_steps=3,
            eval_strategy="steps",
            eval_steps=2,
            per_device_eval_batch_size=16,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            skip_memory_metrics=False,
        )
        Trainer(LlamaForCausalLM(CONFIG), options, train_dataset=rows, eval_dataset=rows).train()


if kind == "sharded":
    expect("FSDP2", watch(sharded), f"step 0, {TRAIN} step 1, {TRAIN} step 2, step 2, step -1")
    words = [word for word in watch(sharded, has_modules=True) if word.startswith("(")]
    named = "(model.layers.1.mlp.down_proj" in words and words[0] == "(FSDPLlamaForCausalLM"
    expect("FSDP2's modules", [named], [True])
elif kind == "replicated":
    expect("DDP", watch(replicated), f"step 0, {ACCUMULATE} step 1, {ACCUMULATE} step 2, step 2, step -1")
else:
    expect(
        "Trainer",
        watch(trainer),
        f"step 0, {ACCUMULATE} step 1, {ACCUMULATE} step 2, step -1, >eval, <, step 2, {ACCUMULATE} step 3, >eval, <, step 3, step -1",
    )
finish()
