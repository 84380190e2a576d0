# SPDX-License-Identifier: Apache-2.0
"""Names as C sees them: each kept once, for ever, at an address that never moves."""

import ctypes
from typing import Any, Dict, List, Tuple

#: Address of the zero-terminated text, and the text.
Name = Tuple[int, str]

_names: Dict[str, Name] = {}
_buffers: List[Any] = []


def intern(text: str) -> Name:
    """The same text gives the same address. Programs have few names: none is freed."""
    name = _names.get(text)
    if name is None:
        buffer = ctypes.create_string_buffer(text.encode("utf-8", "replace"))
        _buffers.append(buffer)
        name = _names[text] = (ctypes.addressof(buffer), text)
    return name
