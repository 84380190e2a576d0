# SPDX-License-Identifier: Apache-2.0
"""Train Llama under DeepSpeed, which spreads optimizer state, gradients (--stage 2) and parameters (3)
over the devices.

    deepspeed --num_gpus 8 examples/zero.py --size 7b --stage 3
"""

from __future__ import annotations

import deepspeed
import torch
from transformers import LlamaForCausalLM

from loop import batches_for, parser, report
from models import LLAMA_SIZES, llama_config


def main() -> None:
    options = parser(__doc__, batch=2, length=1024, prefetch=False)
    options.add_argument("--size", choices=LLAMA_SIZES, default="160m")
    options.add_argument("--stage", type=int, choices=(1, 2, 3), default=2)
    options.add_argument("--micro-batches", type=int, default=2)
    options.add_argument("--local_rank", type=int, help="from DeepSpeed's launcher")
    args = options.parse_args()

    torch.manual_seed(args.seed)
    config = llama_config(args.size)
    model = LlamaForCausalLM(config)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    decays = [{"params": [p for p in model.parameters() if (p.dim() > 1) == is_matrix],
               "weight_decay": 0.1 * is_matrix} for is_matrix in (True, False)]
    engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(decays, lr=1e-5), config={
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_accumulation_steps": args.micro_batches,
        "gradient_clipping": 1.0,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": args.stage, "overlap_comm": True},
        "zero_allow_untested_optimizer": True,
    })
    batches = batches_for(args, config.vocab_size)

    for step in range(args.steps):
        for _ in range(args.micro_batches):
            tokens = next(batches)
            loss = engine(input_ids=tokens, labels=tokens).loss
            engine.backward(loss)
            engine.step()
        report(step, loss.detach())


if __name__ == "__main__":
    main()
