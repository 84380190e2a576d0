# SPDX-License-Identifier: Apache-2.0
"""What training loops share: options, batches, and what happens between steps."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn


def parser(description: str | None, **defaults: object) -> argparse.ArgumentParser:
    """The options that every example has."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--steps", type=int, default=4)
    options.add_argument("--batch", type=int, default=4, help="sequences of a micro-batch")
    options.add_argument("--length", type=int, default=1024, help="tokens of a sequence")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--keep-losses", action="store_true",
                         help="put the loss of each step in a list, on the device")
    options.set_defaults(**defaults)
    return options


def add_between_steps(options: argparse.ArgumentParser) -> None:
    """Options of the examples that do more between steps than train on."""
    options.add_argument("--evaluate-every", type=int, default=0, metavar="STEPS")
    options.add_argument("--save-every", type=int, default=0, metavar="STEPS")
    options.add_argument("--output", type=Path, default=Path("checkpoint.pt"))
    options.add_argument("--log-norms", action="store_true", help="log the norm of every weight")
    options.add_argument("--prefetch", action="store_true",
                         help="bring the next batch to the device on a stream of its own")


def add_var_length(options: argparse.ArgumentParser) -> None:
    options.add_argument("--var-length", action="store_true",
                         help="pad each batch to a length of its own, a quarter of --length at least")


def random_batches(batch: int, length: int, vocabulary: int, seed: int, shortest: int) -> Iterator[Tensor]:
    """Token numbers in pinned memory, as a data loader gives them."""
    generator = torch.Generator().manual_seed(seed)
    longest = length
    while True:
        if shortest < longest:
            length = int(torch.randint(shortest, longest + 1, (), generator=generator))
        yield torch.randint(vocabulary, (batch, length), generator=generator).pin_memory()


def to_device(batches: Iterator[Tensor]) -> Iterator[Tensor]:
    for batch in batches:
        yield batch.cuda(non_blocking=True)


def prefetch(batches: Iterator[Tensor]) -> Iterator[Tensor]:
    """The next batch travels while the model works on this one."""
    side = torch.cuda.Stream()

    def send() -> Tensor:
        with torch.cuda.stream(side):
            return next(batches).cuda(non_blocking=True)

    coming = send()
    while True:
        torch.cuda.current_stream().wait_stream(side)
        batch = coming
        batch.record_stream(torch.cuda.current_stream())
        coming = send()
        yield batch


def batches_for(args: argparse.Namespace, vocabulary: int) -> Iterator[Tensor]:
    shortest = args.length // 4 if getattr(args, "var_length", False) else args.length
    batches = random_batches(args.batch, args.length, vocabulary, args.seed, shortest)
    return prefetch(batches) if args.prefetch else to_device(batches)


@torch.no_grad()
def evaluate(model: nn.Module, loss_of: Callable[[Tensor], Tensor], batches: Iterator[Tensor],
             count: int = 2) -> float:
    """The mean loss of some batches."""
    model.eval()
    total = torch.zeros((), device="cuda")
    for _ in range(count):
        total += loss_of(next(batches))
    model.train()
    return total.item() / count


def between_steps(args: argparse.Namespace, step: int, model: nn.Module,
                  evaluate: Callable[[], float]) -> None:
    """Logs, evaluates and saves as the options say."""
    if args.log_norms:
        norms = torch.stack([weight.detach().norm() for weight in model.parameters()])
        print(f"       norms: least {norms.min().item():.3g}, greatest {norms.max().item():.3g}")
    if args.evaluate_every and (step + 1) % args.evaluate_every == 0:
        print(f"       evaluation: {evaluate():.3f}")
    if args.save_every and (step + 1) % args.save_every == 0:
        torch.save(model.state_dict(), args.output)


_losses: list[Tensor | float] = []


def report(step: int, loss: Tensor | float, keep: bool = False) -> None:
    """Says how the step went. @keep: the loss stays where it is, for a curve in the end."""
    if keep:
        _losses.append(loss)
    allocated = torch.cuda.max_memory_allocated() / 2**30
    reserved = torch.cuda.max_memory_reserved() / 2**30
    print(f"step {step}: loss {float(loss):.3f}, peak {allocated:.2f} GiB allocated, "
          f"{reserved:.2f} reserved", flush=True)


def join_group() -> tuple[int, int]:
    """This process's rank and the number of processes, as torchrun says them."""
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    dist.init_process_group("nccl")
    return dist.get_rank(), dist.get_world_size()
