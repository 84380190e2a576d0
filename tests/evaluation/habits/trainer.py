# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer, which evaluates and saves."""
import tempfile

import torch

from common import HABITS, report


def trainer(args, **options):
    from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

    class Told(TrainerCallback):
        def on_step_end(self, *_, **__):
            report(0)

    draw = torch.Generator().manual_seed(args.seed)
    rows = []
    for _ in range(38):
        row = torch.randint(5, 1000, (512,), generator=draw).tolist()
        rows.append({"input_ids": row, "labels": row})
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, max_steps=args.steps, seed=args.seed, per_device_train_batch_size=4,
            bf16=True, eval_strategy="steps", eval_steps=3, save_strategy="steps", save_steps=4,
            report_to=[], disable_tqdm=True, logging_steps=1, **options)
        net = LlamaForCausalLM(LlamaConfig(
            vocab_size=8192, hidden_size=512, intermediate_size=1408, num_hidden_layers=4,
            num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=1024))
        Trainer(net, arguments, train_dataset=rows, eval_dataset=rows[:10],
                callbacks=[Told()]).train()


HABITS["trainer"] = lambda args: trainer(args)
HABITS["trainer-accumulate"] = lambda args: trainer(
    args, gradient_accumulation_steps=4, gradient_checkpointing=True)
HABITS["trainer-adafactor"] = lambda args: trainer(args, optim="adafactor", torch_empty_cache_steps=2)
