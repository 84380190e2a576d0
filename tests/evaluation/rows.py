# SPDX-License-Identifier: Apache-2.0
"""The rows of docs/EVALUATION.md: models, degrees, batches. Data alone; evaluate.py runs it.

GPT-2, Llama 2 and Qwen1.5-MoE have the degrees and batches of the published evaluation
(STAlloc). It names none for Qwen2.5 but 14B's "TP2 with VPP" on 16 devices: those are ours.
"""
from dataclasses import dataclass

# What each option adds to a row, and how it is told to examples/megatron_gpt.py.
OPTIONS = {
    "R": "every layer of the stage is recomputed in the backward pass, one by one",
    "V": "interleaved pipeline, two chunks a device",
    "Z": "the optimizer is distributed over data-parallel ranks",
}


@dataclass(frozen=True)
class Row:
    size: str  # of examples/megatron_sizes.py
    title: str
    options: str  # letters of OPTIONS, or "none"
    gpu: str
    world: int
    tensor: int
    pipeline: int
    batch: int  # sequences of a micro-batch
    all_sequences: int  # of a step, over all data-parallel ranks
    length: int
    experts_over: int = 1
    is_sequence_parallel: bool = False

    @property
    def name(self):
        return f"{self.size}-{self.options}"

    @property
    def data_parallel(self):
        return self.world // (self.tensor * self.pipeline)

    @property
    def micro_batches(self):
        return self.all_sequences // (self.batch * self.data_parallel)

    def ranks(self):
        """The first of the first, the middle and the last pipeline stage."""
        stages = {0, self.pipeline // 2, self.pipeline - 1}
        return [stage * self.world // self.pipeline for stage in sorted(stages)]

    def arguments(self):
        """For examples/megatron_gpt.py."""
        words = ["--size", self.size, "--tensor", self.tensor, "--pipeline", self.pipeline,
                 "--chunks", 2 if "V" in self.options else 1, "--batch", self.batch,
                 "--micro-batches", self.micro_batches, "--length", self.length]
        words += ["--recompute", "full"] if "R" in self.options else []
        words += ["--whole-optimizer"] if "Z" not in self.options else []
        words += ["--expert-parallel", self.experts_over] if self.experts_over > 1 else []
        words += ["--sequence-parallel"] if self.is_sequence_parallel else []
        return [str(word) for word in words]


def published(size, title, batch, all_sequences, length, experts_over=(1, 1)):
    """Eight devices; tensor parallel 4, or 2 with a distributed optimizer."""
    for options in ("none", "R", "V", "VR", "ZR"):
        is_split = "Z" in options
        over = experts_over[is_split]
        yield Row(size, title, options, "a100-80", 8, 2 if is_split else 4, 2, batch,
                  all_sequences, length, over, is_sequence_parallel=over > 1)


def qwen25(size, title, world, tensor, pipeline, options="ZR"):
    return Row(size, title, options, "h200-141", world, tensor, pipeline, batch=1,
               all_sequences=16 * world // (tensor * pipeline), length=4096,
               is_sequence_parallel=True)


ROWS = {row.name: row for row in [
    *published("gpt2-345m", "GPT-2 345M", 128, 1024, 1024),
    *published("llama2-7b", "Llama2-7B", 4, 128, 4096),
    *published("qwen1.5-moe-a2.7b", "Qwen1.5-MoE-A2.7B", 8, 128, 4096, experts_over=(4, 2)),
    qwen25("qwen2.5-7b", "Qwen2.5-7B", 8, 2, 2),
    qwen25("qwen2.5-14b", "Qwen2.5-14B", 16, 2, 4),
    qwen25("qwen2.5-14b", "Qwen2.5-14B", 16, 2, 4, "VZ"),
    qwen25("qwen2.5-32b", "Qwen2.5-32B", 32, 4, 4),
    qwen25("qwen2.5-72b", "Qwen2.5-72B", 128, 4, 8),
]}
