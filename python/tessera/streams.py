# SPDX-License-Identifier: Apache-2.0
"""Streams that a program makes of its own, told to the library.

A stream that allocates, or that a tensor is recorded on, the library sees for itself. One
that only computes (copies to the host, say) it can't: the program may then rely on what
PyTorch keeps apart on each stream, and a plan must do so as well. `torch.Stream`, which is
of C, can't be watched.
"""

from typing import Any

import torch

from .library import Library

were_made = False

def install(library: Library) -> None:
    """For good: memory is served by the library as long as the process lives."""
    streams: Any = torch.cuda.Stream
    make = streams.__new__

    def make_and_tell(cls: Any, *args: Any, **kwargs: Any) -> Any:
        global were_made
        stream = make(cls, *args, **kwargs)
        were_made = True
        if stream.cuda_stream != 0:
            library.note("makes_streams", "1")
            library.has_streams(stream.device_index)
        return stream

    streams.__new__ = staticmethod(make_and_tell)
