#!/usr/bin/env python3
"""Plans of Hugging Face's Trainer, followed by runs of another seed: batches are padded to lengths of their own, two of
them are accumulated, and evaluations come between the steps. Such a run reserves no more than expandable segments do.

SPDX-License-Identifier: Apache-2.0
"""
import importlib.util
import sys

import dry

SCRIPT = """
import sys
import torch
from transformers import (BertConfig, BertForSequenceClassification, Qwen2Config, Qwen2ForCausalLM, Trainer,
                          TrainingArguments)
KIND, SEED = sys.argv[1], int(sys.argv[2])

class Texts(torch.utils.data.Dataset):
    def __init__(self, n):
        self.n = n
    def __len__(self):
        return self.n
    def __getitem__(self, i):
        draw = torch.Generator().manual_seed(SEED * 10007 + i)
        return torch.randint(1, 4000, (int(torch.randint(64, 256, (1,), generator=draw)),), generator=draw)

def collate(texts):
    ids = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
    labels = ids.masked_fill(ids == 0, -100) if KIND == "causal" else torch.tensor([int(text[0]) % 3 for text in texts])
    return {"input_ids": ids, "labels": labels, "attention_mask": (ids != 0).long()}

options = {"output_dir": "out", "report_to": [], "save_strategy": "no", "eval_strategy": "epoch", "seed": 42 + SEED, "disable_tqdm": True}
if KIND == "causal":
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=4000, hidden_size=512, intermediate_size=1408, num_hidden_layers=6,
                                         num_attention_heads=8, num_key_value_heads=2))
    options |= {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "num_train_epochs": 2, "bf16": True}
    train, judge = Texts(64), Texts(32)
else:
    model = BertForSequenceClassification(BertConfig(vocab_size=4000, hidden_size=256, num_hidden_layers=4,
                                                     num_attention_heads=4, intermediate_size=1024, num_labels=3))
    options |= {"per_device_train_batch_size": 16, "num_train_epochs": 3, "fp16": True, "per_device_eval_batch_size": 64}
    train, judge = Texts(200), Texts(100)
Trainer(model, TrainingArguments(**options), train_dataset=train, eval_dataset=judge, data_collator=collate).train()
"""
# Of what expandable segments reserve for the same run. The classifier's activations are small ones, beside the pool.
MOST_RESERVED = {"causal": 1.0, "classifier": 1.03}


@dry.judge
def main(report, folder):
    if importlib.util.find_spec("accelerate") is None:
        print("skipped: Hugging Face's Trainer needs the package accelerate")
        sys.exit(77)
    script = folder / "train.py"
    script.write_text(SCRIPT, encoding="utf-8")
    for kind, most in MOST_RESERVED.items():
        dry.dry_run(folder / f"{kind}.tsr", script, kind, 0)
        for seed in range(3):
            trace = folder / "followed.tsr"
            answer = dry.dry_run(trace, script, kind, seed, options=("--force", "--plan", folder / f"{kind}.tsp"))
            (reserved,), = dry.query(trace, "SELECT max(reserved_bytes) FROM usage")
            expandable = answer["expandable_endless_bytes"]
            report.expect(reserved <= most * expandable,
                          f"{kind}, seed {seed}: {reserved / dry.MIB:.0f} MiB reserved, expandable segments {expandable / dry.MIB:.0f}; "
                          + answer["sentence"])
