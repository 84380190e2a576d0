# SPDX-License-Identifier: Apache-2.0
"""How a job's ranks are laid out, as its process groups tell: "pp=4 dp=16", the outermost
first. A program makes the groups of each axis; this rank's own show its stride and size."""

from typing import Dict, Optional, Sequence, Tuple

#: What Megatron-core says of its groups. A DeviceMesh says "mesh_" and the name.
_NAMES = (
    ("expert_data", "edp"),
    ("expert_model", "ep"),
    ("pipeline_model", "pp"),
    ("tensor_model", "tp"),
    ("context", "cp"),
    ("data", "dp"),
)


def _axis(description: str) -> str:
    low = description.lower()
    known = [short for begin, short in _NAMES if low.startswith(begin)]
    name = known[0] if known else low.replace("mesh_", "", 1)
    return name if name.isidentifier() and len(name) < 16 else ""


class Topology:
    def __init__(self, world: int) -> None:
        self._world = world
        self._axes: Dict[int, Tuple[int, str]] = {}  #: stride: (size, name), the smallest

    def add(self, ranks: Sequence[int], description: Optional[str]) -> Optional[str]:
        """A group of this rank's. Returns the topology, once groups cover the world."""
        stride = ranks[1] - ranks[0] if len(ranks) > 1 else 0
        if stride < 1 or list(ranks) != list(range(ranks[0], ranks[-1] + 1, stride)):
            return None
        found = len(ranks), _axis(description or "")
        if stride not in self._axes or found[0] < self._axes[stride][0]:
            self._axes[stride] = found
        stride, axes = 1, []
        while stride in self._axes:
            size, name = self._axes[stride]
            axes.insert(0, "%s=%d" % (name or "axis%d" % stride, size))
            stride *= size
        return " ".join(axes) if stride == self._world else None
