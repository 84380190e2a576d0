# SPDX-License-Identifier: Apache-2.0
"""Puts libtessera.so in the place of PyTorch's CUDA allocator, by addresses."""

from typing import Any

import torch

from .library import Library, LibraryError

#: Hooks of PyTorch's pluggable allocator and what serves each. They must be set before
#: the allocator becomes the current one. PyTorch 2.1 lacks some of the pool hooks; only
#: without record_stream does anything change for the user (nothing is reused from stream
#: to stream), and the library says so.
HOOKS = (
    ("set_init_fn", "torch_init"),
    ("set_reset_fn", "torch_empty_cache"),
    ("set_memory_fraction_fn", "torch_memory_fraction"),
    ("set_base_alloc_fn", "torch_base_alloc"),
    ("set_record_stream_fn", "torch_record_stream"),
    ("set_begin_allocate_to_pool", "torch_begin_pool"),
    ("set_end_allocate_to_pool_fn", "torch_end_pool"),
    ("set_release_pool", "torch_release_pool"),
)


def why_not() -> str:
    """A sentence why this PyTorch's allocator can't be replaced now, or ''."""
    if not hasattr(torch._C, "_cuda_customAllocator"):
        return "this PyTorch is built without CUDA, so there is no device memory to serve"
    cuda: Any = torch.cuda
    if cuda.is_initialized():
        return (
            "CUDA memory was in use before tessera.enable(): call it right after "
            "`import torch`, PyTorch's own allocator stays"
        )
    return ""


def install(library: Library) -> None:
    """Make @library the current allocator. Raises LibraryError when PyTorch refuses."""
    allocator = torch._C._cuda_customAllocator(
        library.address("torch_alloc"), library.address("torch_free")
    )
    has_record_stream = False
    for setter, function in HOOKS:
        if hasattr(allocator, setter):
            getattr(allocator, setter)(library.address(function))
            has_record_stream = has_record_stream or function == "torch_record_stream"
    library.has_record_stream(int(has_record_stream))
    try:
        torch._C._cuda_changeCurrentAllocator(allocator)
    except RuntimeError as error:
        raise LibraryError(
            "PyTorch's own allocator can't be replaced any more (%s)" % str(error).splitlines()[0]
        ) from None
