# SPDX-License-Identifier: Apache-2.0
"""What PyTorch refuses under any allocator but its own, and programs do all the same.

Each would end the program with a RuntimeError, in the middle of training. None of it is
what the program is for, so it is left out, with one sentence.
"""

import warnings
from typing import Any, Callable, Dict, List, Set

import torch

from .library import LibraryError
from .say import say
from .snapshots import History

_said: Set[str] = set()


def _say_once(sentence: str) -> None:
    if sentence and sentence not in _said:
        _said.add(sentence)
        say(sentence)


def _leave_out(sentence: str, answer: Callable[[], Any]) -> Callable[..., Any]:
    def left_out(*args: Any, **kwargs: Any) -> Any:
        _say_once(sentence)
        return answer()

    return left_out


def _nothing() -> None:
    return None


def _empty_snapshot() -> Dict[str, List[Any]]:
    return {
        "segments": [],
        "device_traces": [[] for _ in range(torch.cuda.device_count())],
        "external_annotations": [],
    }


_OBSERVER = "observers of torch.cuda.OutOfMemoryError are not called while Tessera serves memory"
_BENCHMARK = (
    "torch.backends.cudnn.benchmark stays off: PyTorch refuses it under any allocator but its own"
)



def _snapshot(history: History) -> Callable[..., Any]:
    def snapshot(*args: Any, **kwargs: Any) -> Dict[str, Any]:
        try:
            return history.read() or _empty_snapshot()
        except LibraryError as error:
            _say_once("this snapshot is empty: %s" % error)
            return _empty_snapshot()

    return snapshot


def _want(history: History) -> Callable[..., None]:
    def want(*args: Any, **kwargs: Any) -> None:
        try:
            history.want(*args, **kwargs)
        except LibraryError as error:
            _say_once("torch.cuda.memory keeps no history: %s" % error)

    return want


def _left_out(history: History) -> Dict[str, Callable[..., Any]]:
    return {
        "_cuda_record_memory_history": _want(history),
        "_cuda_record_memory_history_legacy": _want(history),
        "_cuda_memorySnapshot": _snapshot(history),
        "_cuda_attach_out_of_memory_observer": _leave_out(_OBSERVER, _nothing),
    }


def _keep_benchmark_off() -> Callable[[], None]:
    set_benchmark: Any = torch._C._set_cudnn_benchmark
    wanted = bool(torch._C._get_cudnn_benchmark())

    def set_off(is_on: bool) -> None:
        if is_on:
            _say_once(_BENCHMARK)
        set_benchmark(False)

    cudnn: Any = type(torch.backends.cudnn)
    property_before = cudnn.__dict__.get("benchmark")
    setattr(torch._C, "_set_cudnn_benchmark", set_off)
    if property_before is not None:
        cudnn.benchmark = type(property_before)(torch._C._get_cudnn_benchmark, set_off)
    set_off(wanted)

    def restore() -> None:
        setattr(torch._C, "_set_cudnn_benchmark", set_benchmark)
        if property_before is not None:
            cudnn.benchmark = property_before
        set_benchmark(wanted)

    return restore


def install(history: History) -> Callable[[], None]:
    """Before CUDA starts: some of these start PyTorch's own allocator. Returns the
    function that takes all back, for where ours does not serve after all."""
    # Our hooks on modules are no business of the program's.
    warnings.filterwarnings(
        "ignore", message=r"Using `torch\.compile\(module\)` when there are global hooks"
    )
    left_out = _left_out(history)
    before = {name: getattr(torch._C, name) for name in left_out if hasattr(torch._C, name)}
    for name in before:
        setattr(torch._C, name, left_out[name])
    restore_benchmark = _keep_benchmark_off()

    def restore() -> None:
        for name, function in before.items():
            setattr(torch._C, name, function)
        restore_benchmark()

    return restore
