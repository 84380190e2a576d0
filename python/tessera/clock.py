# SPDX-License-Identifier: Apache-2.0
"""Which optimizer's step ends a training step, where a program has several."""

import gc
import weakref
from typing import Dict, List, Set

import torch

#: Steps that the busiest optimizer makes until one that never stepped is taken for idle.
#: Critics of adversarial networks step five times as often as the generator.
PATIENCE = 8


def _live_optimizers() -> List[torch.optim.Optimizer]:
    """Those that call step hooks. By type alone: to ask an object for its class may run
    code of lazily imported modules."""
    return [
        thing
        for thing in gc.get_objects()
        if issubclass(type(thing), torch.optim.Optimizer)
        and getattr(type(thing).step, "hooked", False)
        and hasattr(thing, "param_groups")
    ]


def _parameters(optimizer: torch.optim.Optimizer) -> Set[int]:
    return {
        id(parameter)
        for group in optimizer.param_groups
        for parameter in group["params"]
    }


class Clock:
    """A training step is over when every optimizer at work has stepped since the last one.

    At work are the optimizers alive when one is first seen to step, without those that
    wrap another (they hold the same parameters), hold nothing, or let another
    step PATIENCE times without a step of their own. Where each training step so far was
    one optimizer's, a new one begins a stage of its own: those before it are at work once
    they step again.
    """

    def __init__(self) -> None:
        self._known: "weakref.WeakSet[torch.optim.Optimizer]" = weakref.WeakSet()
        self._past: "weakref.WeakSet[torch.optim.Optimizer]" = weakref.WeakSet()
        self._count: Dict[int, int] = {}
        self._works_alone = True

    def _find(self, optimizer: torch.optim.Optimizer) -> None:
        if optimizer in self._past:  # it steps beside the new one, which has stepped
            self._works_alone = False
            self._count.update(dict.fromkeys(map(id, self._known), 1))
            self._past.clear()
        elif self._works_alone:
            self._past.update(self._known)
            self._known.clear()
        self._known.update({optimizer, *_live_optimizers()} - set(self._past))

    def _waiting(self) -> List[torch.optim.Optimizer]:
        missing = [other for other in self._known if id(other) not in self._count]
        if not missing:
            return []
        served: Set[int] = set()
        for optimizer in self._known:
            if id(optimizer) in self._count:
                served |= _parameters(optimizer)
        waiting = []
        for other in missing:
            parameters = _parameters(other)
            if parameters and not parameters & served:
                waiting.append(other)
        return waiting

    def has_ended_step(self, optimizer: torch.optim.Optimizer) -> bool:
        """@optimizer has stepped. Returns whether a training step is over by that."""
        if optimizer not in self._known:
            self._find(optimizer)
        count = self._count.get(id(optimizer), 0) + 1
        self._count[id(optimizer)] = count
        waiting = self._waiting()
        if waiting and count < PATIENCE:
            return False
        for other in waiting:
            self._known.discard(other)
        self._works_alone = self._works_alone and len(self._count) == 1
        self._count.clear()
        return True
