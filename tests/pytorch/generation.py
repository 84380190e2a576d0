#!/usr/bin/env python3
"""generate() in a dry run decodes to its greatest length, whichever way, and ends.

    generation.py

SPDX-License-Identifier: Apache-2.0
"""
import ast
import os
import sys
import types

import dry
import torch

N_NEW = 6
WAYS = {
    "greedy": {"do_sample": False},
    "sampled": {"do_sample": True, "num_return_sequences": 2},
    "beams": {"num_beams": 2, "do_sample": False},
    "among ranks": {"do_sample": False, "synced_gpus": True},
}


def inside():
    """Prints the shape that each way gives."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.distributed.init_process_group()
    with torch.device("cuda"):
        model = LlamaForCausalLM(LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=1,
                                             num_attention_heads=4, vocab_size=640)).eval()
    n_calls = []

    def count(*_):
        n_calls.append(1)
        if len(n_calls) > 1000:
            sys.exit("generate() never stops")

    model.register_forward_pre_hook(count)
    sys.modules["trl"] = types.ModuleType("trl")
    prompt = torch.randint(5, 300, (2, 8), device="cuda")
    for name, options in WAYS.items():
        del n_calls[:]
        tokens = model.generate(prompt, max_new_tokens=N_NEW, eos_token_id=319, pad_token_id=0, **options)
        # TRL reads which tokens come before the end of their sequence.
        is_answer = torch.empty(len(tokens), N_NEW, dtype=torch.bool, device="cuda").cpu()
        print([name, list(tokens.shape), len(n_calls), bool(is_answer.all()), "num_beams" in options], flush=True)


if "TESSERA_DRY_RUN" in os.environ:
    inside()
    sys.exit()


@dry.judge
def main(report, folder):
    printed = dry.run(dry.TESSERA, "dry-run", "--world", 2, "-o", f"{folder}/generation.tsr", "--",
                      sys.executable, __file__).stdout
    lines = [ast.literal_eval(line) for line in printed.splitlines() if line.startswith("[")]
    report.expect([name for name, *_ in lines] == list(WAYS), f"all ways come to their end: {lines}")
    for name, shape, n_calls, is_answer, has_beams in lines:
        report.expect(is_answer or has_beams, f"{name}: its tokens are there")
        expected = [4 if name == "sampled" else 2, 8 + N_NEW]
        report.expect(shape == expected and n_calls == N_NEW, f"{name}: {shape} after {n_calls} calls")
