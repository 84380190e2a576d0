# SPDX-License-Identifier: Apache-2.0
"""One rank of any job, alone, over a CUDA that computes nothing.

With TESSERA_WORLD the program sees that many ranks and is TESSERA_RANK of them: every
process group is PyTorch's fake one, whose collectives return at once, whatever backend is
asked for. Sizes that depend on data are answered from a drawn distribution (answers.py).
Nothing here is used on a real device.
"""

import contextlib
import functools
import inspect
import os
import sys
from typing import Any, Callable

import torch
from torch.multiprocessing import ProcessRaisedException

from . import RANKS_PER_NODE, _give_up, _note, answers, contract, lacking, workers
from .imports import after_import
from .say import say
from .topology import Topology

_is_installed = False


def _number(name: str, default: int) -> int:
    try:
        return int(os.environ.get(name, default))
    except ValueError:
        say("%s is no number: %d is taken" % (name, default))
        return default


def _set_environment(rank: int, world: int) -> None:
    os.environ.update(
        RANK=str(rank),
        WORLD_SIZE=str(world),
        LOCAL_RANK=str(rank % RANKS_PER_NODE),
        LOCAL_WORLD_SIZE=str(min(world, RANKS_PER_NODE)),
    )
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")


def _replace(name: str, make: Callable[[Any], Any]) -> None:
    """Puts make(function) in the place of torch.distributed's function @name in every
    module that has it by name."""
    import torch.distributed.distributed_c10d as c10d

    original = getattr(c10d, name)
    replacement = functools.wraps(original)(make(original))
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("torch.distributed") and (
            vars(module).get(name) is original
        ):
            setattr(module, name, replacement)


def _install_group(rank: int, world: int) -> None:
    from torch.testing._internal.distributed.fake_pg import FakeStore

    layout = Topology(world)

    def make_init(original: Any) -> Any:
        def init_process_group(*args: Any, **kwargs: Any) -> Any:
            return original("fake", store=FakeStore(), rank=rank, world_size=world)

        return init_process_group

    def make_new(original: Any) -> Any:
        def new_group(*args: Any, **kwargs: Any) -> Any:
            # (ranks, timeout, backend, pg_options, ...): the last two do not apply.
            kept = args[:2] + ("fake", None) + args[4:] if len(args) > 2 else args
            if len(args) <= 2:
                kwargs["backend"] = "fake"
            kwargs.pop("pg_options", None)
            kwargs.pop("device_id", None)
            members = args[0] if args else kwargs.get("ranks")
            if members is not None and rank in members:
                told = layout.add(members, kwargs.get("group_desc"))
                if told is not None:
                    _note("topology", told)
            return original(*kept, **kwargs)

        return new_group

    def make_gather(original: Any) -> Any:
        signature = inspect.signature(original)
        output, tensor = list(signature.parameters)[:2]

        def all_gather(*args: Any, **kwargs: Any) -> Any:
            call = signature.bind(*args, **kwargs).arguments
            # The fake group cuts the output along its first dimension, NCCL as bytes (SyncBatchNorm).
            if call[output].shape[:1].numel() % torch.distributed.get_world_size(call.get("group")) != 0:
                call |= {output: call[output].view(-1), tensor: call[tensor].view(-1)}
            return original(**call)

        return all_gather

    _replace("init_process_group", make_init)
    _replace("new_group", make_new)
    for name in "all_gather_into_tensor", "all_gather_single":
        if hasattr(torch.distributed, name):
            _replace(name, make_gather)


def _install_ddp() -> None:
    """DistributedDataParallel compares the ranks' shapes, which come back as zeros, and
    reduces gradients by a future whose value the fake group does not give."""
    import torch.distributed as dist
    from torch.nn.parallel import distributed as ddp

    def is_same(*args: Any, **kwargs: Any) -> bool:
        return True

    # DistributedDataParallel refuses a hook that is annotated otherwise.
    def reduce(group: Any, bucket):  # type: ignore[no-untyped-def]
        buffer = bucket.buffer()
        buffer.div_(dist.get_world_size(group))
        dist.all_reduce(buffer, group=group, async_op=True)
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        future.set_result(buffer)
        return future

    initialise: Any = ddp.DistributedDataParallel.__init__

    @functools.wraps(initialise)
    def initialise_and_hook(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        ddp.DistributedDataParallel.register_comm_hook(self, self.process_group, reduce)
        # A hook of the program's own would wait for the same future.
        self.register_comm_hook = lambda state, hook: None

    setattr(ddp, "_verify_param_shape_across_processes", is_same)
    setattr(ddp.DistributedDataParallel, "__init__", initialise_and_hook)


def _agree() -> None:
    """DeepSpeed's ranks ask whether they hold what rank 0 holds, which is not there: they do.
    The questions are asked, for the memory that they take."""
    utils: Any = sys.modules["deepspeed.runtime.zero.utils"]
    assert_as_long, get = utils.assert_lst_len_same_as_other_ranks, utils.get_lst_from_rank0

    def are_as_long(items: Any) -> None:
        with contextlib.suppress(RuntimeError):
            assert_as_long(items)

    def get_own(items: Any) -> Any:
        get(items)
        return list(items)

    utils.assert_lst_len_same_as_other_ranks, utils.get_lst_from_rank0 = are_as_long, get_own


#: What torchrun tells the processes that it starts.
_LAUNCHERS = (
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
)


def _is_about_ranks(error: BaseException) -> bool:
    if isinstance(error, KeyError):
        return bool(error.args) and error.args[0] in _LAUNCHERS
    # A worker's error (mp.spawn) has its text in that of the one who started it.
    text = str(error)
    return isinstance(error, Exception) and (
        any(
            "environment variable %s expected" % name in text or "KeyError: '%s'" % name in text
            for name in _LAUNCHERS
        )
        or ("NCCL" in text and isinstance(error, (RuntimeError, ProcessRaisedException)))
    )


def _install_hook(has_world: bool) -> None:
    """The trace says when the program died of memory. A program that ends because nobody
    told it its rank is one that torchrun starts."""
    before = sys.excepthook

    def explain(kind: Any, error: BaseException, traceback: Any) -> None:
        if isinstance(error, KeyboardInterrupt):
            _give_up()
            return  # what was seen until then is answered from
        lacks = None if "NCCL" in str(error) else lacking.sentence(error)
        if lacks is not None:
            say(lacks)
            return
        before(kind, error, traceback)
        if isinstance(error, torch.cuda.OutOfMemoryError):
            _note("died_of", "memory")
        if not has_world and _is_about_ranks(error):
            say(
                "this program has several ranks, as a launcher such as torchrun or mp.spawn starts "
                "them: say which rank of how many the dry run is, e.g. tessera dry-run --world 8 --rank 0 -- python ..."
            )
            return
        if "invalid device ordinal" in str(error):
            say(
                "this program uses more GPUs in one process than the dry run has: say how many it sees, "
                "e.g. tessera dry-run --gpu-count 2 -- python ..."
            )
            return
        of_values = lacking.sentence_of_values(error)
        if of_values is not None:
            say(of_values)

    sys.excepthook = explain


def install() -> None:
    """As the environment asks; called right after `import torch`. Once a process."""
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    answers.install()
    lacking.install()
    workers.install()
    contract.install()
    if os.environ.get("TESSERA_TRY"):
        from . import trying

        trying.install(os.environ["TESSERA_TRY"], os.environ.get("TESSERA_TRY_MODULES") or None)
    world = _number("TESSERA_WORLD", 0)
    if world > 0:
        rank = _number("TESSERA_RANK", 0)
        if not 0 <= rank < world:
            say("TESSERA_RANK is outside 0 .. %d: rank 0 is taken" % (world - 1))
            rank = 0
        _set_environment(rank, world)
        if torch.distributed.is_available():
            _install_group(rank, world)
            _install_ddp()
            after_import("deepspeed.runtime.zero.utils", _agree)
    _install_hook(world > 0)
