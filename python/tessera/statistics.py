# SPDX-License-Identifier: Apache-2.0
"""PyTorch's memory statistics, answered by the library.

torch.cuda.memory_allocated(), memory_stats(), memory_summary() and the like are Python
over a few functions of torch._C, which raise under a pluggable allocator. Those few are
replaced; everything above is PyTorch's own, so keys, devices and texts are its own too.

What else PyTorch refuses under a pluggable allocator is left out (refused.py), or goes on
raising its RuntimeError ("... does not yet support ..."): CUDA IPC, MemPool and checkpoints
of pools (torch.compile's reduce-overhead mode).
get_allocator_backend() says "pluggable".
"""

from typing import Any, Callable, Dict, Tuple

import torch

from .library import BY_POOL, OWN_COUNTS, Library, Stat

#: PyTorch's order of pools is the library's.
_POOLS = ("all", "small_pool", "large_pool")
#: PyTorch's counts and the library's.
_COUNTS = {
    "num_alloc_retries": "n_alloc_retries",
    "num_ooms": "n_ooms",
    "max_split_size": "max_split_bytes",
    "num_sync_all_streams": "n_sync_all_streams",
    "num_device_alloc": "n_device_alloc",
    "num_device_free": "n_device_free",
}
#: Keys that some versions of PyTorch have and others have not: those that the
#: documentation of memory_stats() names.
_SINCE: Dict[str, Any] = {"num_oom_rejections": 0, "reserved_bytes_by_private_pools": {}}


def _as_dict(stat: Stat) -> Dict[str, int]:
    return {name: int(getattr(stat, name)) for name, _ in Stat._fields_}  # type: ignore[misc]


def nested(library: Library, device: int, documentation: str) -> Dict[str, Any]:
    """What torch.cuda.memory_stats_as_nested_dict(device) returns, with the keys that
    @documentation names of those that came late."""
    stats = library.get_stats(device)
    late = {key: value for key, value in _SINCE.items() if key in documentation}
    result: Dict[str, Any] = {
        key: int(getattr(stats, field)) for key, field in _COUNTS.items()
    }
    if result["max_split_size"] == 2**64 - 1:
        result["max_split_size"] = -1
    # In PyTorch's order: somebody may print the whole.
    if "num_oom_rejections" in late:
        result["num_oom_rejections"] = late.pop("num_oom_rejections")
    for key in BY_POOL:
        result[key] = dict(zip(_POOLS, map(_as_dict, getattr(stats, key))))
        if key == "reserved_bytes":
            result.update(late)
    for key in ("oversize_allocations", "oversize_segments"):
        result[key] = _as_dict(getattr(stats, key))
    return result


def followed(library: Library, device: int) -> Dict[str, int]:
    """What the library counts beside PyTorch's statistics: plan and recording."""
    stats = library.get_stats(device)
    return {name: int(getattr(stats, name)) for name in OWN_COUNTS}


#: By device, before a program's resets: bytes reserved and allocated at most.
_before_reset: Dict[int, Tuple[int, int]] = {}


def peaks(library: Library, device: int) -> Tuple[int, int]:
    """Bytes reserved and allocated at most, in the whole run."""
    stats = library.get_stats(device)
    reserved, allocated = _before_reset.get(device, (0, 0))
    return max(reserved, stats.reserved_bytes[0].peak), max(allocated, stats.allocated_bytes[0].peak)


def _three(library: Library, module: Any) -> Tuple[Callable[[int], Any], ...]:
    memory_stats: Any = getattr(module, "memory_stats", None)
    documentation = str(getattr(memory_stats, "__doc__", None) or "")

    def answer(device: int) -> Dict[str, Any]:
        return nested(library, device, documentation)

    def reset_peak(device: int) -> None:
        _before_reset[device] = peaks(library, device)
        library.reset_peak_stats(device)

    def reset_accumulated(device: int) -> None:
        library.reset_accumulated_stats(device)

    return answer, reset_peak, reset_accumulated


def _replacements(library: Library) -> Dict[str, Callable[..., Any]]:
    fractions: Dict[int, float] = {}
    set_fraction: Any = torch._C._cuda_setMemoryFraction

    def remember_fraction(fraction: float, device: int) -> None:
        set_fraction(fraction, device)
        fractions[device] = fraction

    def fraction(device: int) -> float:
        return fractions.get(device, 1.0)

    replacements: Dict[str, Callable[..., Any]] = {
        "_cuda_setMemoryFraction": remember_fraction,
        "_cuda_getMemoryFraction": fraction,
    }
    if hasattr(torch._C, "_accelerator_isAllocatorInitialized"):
        # These two know of caching allocators only.
        replacements["_accelerator_isAllocatorInitialized"] = lambda: True
        replacements["_accelerator_emptyCache"] = lambda: torch._C._cuda_emptyCache()
    # A function object for each: torch.compile knows PyTorch's functions by their objects.
    accelerator: Any = getattr(torch, "accelerator", None)
    for prefix, infix, module in (
        ("_cuda_", "Memory", torch.cuda),
        ("_accelerator_", "", accelerator),
    ):
        answer, reset_peak, reset_accumulated = _three(library, module)
        replacements[prefix + ("memoryStats" if infix else "getDeviceStats")] = answer
        replacements[prefix + "resetPeak%sStats" % infix] = reset_peak
        replacements[prefix + "resetAccumulated%sStats" % infix] = reset_accumulated
    return replacements


def install(library: Library) -> None:
    """For good: the allocator can't be taken out again either."""
    for name, function in _replacements(library).items():
        if hasattr(torch._C, name):
            setattr(torch._C, name, function)

