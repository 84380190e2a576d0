# SPDX-License-Identifier: Apache-2.0
"""Optimizer steps, through PyTorch's global step hooks. Optimizers that wrap others, as
Megatron's do, are seen by what the inner ones do."""

import functools
from typing import Any, Callable, List, Tuple

import torch
from torch.optim import optimizer as optim

from .clock import Clock
from .marks import Marks
from .modules import _graph_task


class Optimizers:
    """Brackets the outermost step() of an optimizer; nested ones belong to it."""

    def __init__(
        self, marks: Marks, on_step: Callable[[torch.optim.Optimizer], None]
    ) -> None:
        self._marks = marks
        self._on_step = on_step
        self._clock = Clock()
        self._open: List[Tuple[int, int]] = []  # who, and the depth of its phase
        self._has_ended = False
        self._n_stepped = 0
        self._removers: List[Callable[[], None]] = []

    def install(self) -> None:
        self._removers = [
            optim.register_optimizer_step_pre_hook(self._before).remove,
            optim.register_optimizer_step_post_hook(self._after).remove,
        ]
        self._install_scaler()
        self._note_made()

    def remove(self) -> None:
        for remove in self._removers:
            remove()
        self._removers = []

    def _begin(self, who: int) -> None:
        for place, (other, depth) in enumerate(self._open):
            if other == who:  # its last step ended in an exception
                self._marks.close(depth)
                del self._open[place:]
                break
        self._open.append((who, self._marks.optimizer()))

    def _end(self, who: int) -> None:
        while self._open:
            other, depth = self._open.pop()
            self._marks.close(depth)
            if other == who:
                break
        if not self._open and self._has_ended:
            self._has_ended = False
            self._marks.found_end()
            if _graph_task() == -1:
                self._marks.raise_if_due()

    def _is_ours(self) -> bool:
        # Some programs step each parameter's optimizer inside the backward pass.
        return _graph_task() != -1 or self._marks.is_ours()

    def _before(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if self._is_ours():
            self._begin(id(optimizer))

    def _after(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if self._is_ours():
            self._on_step(optimizer)
            self._stepped(optimizer)
            self._end(id(optimizer))

    def _stepped(self, optimizer: torch.optim.Optimizer) -> None:
        self._n_stepped += 1
        self._has_ended = self._clock.has_ended_step(optimizer) or self._has_ended

    def _note_made(self) -> None:
        """Each optimizer that is made is given its parameters so."""
        add = torch.optim.Optimizer.add_param_group

        @functools.wraps(add)
        def noted(optimizer: torch.optim.Optimizer, group: Any) -> None:
            add(optimizer, group)
            self._marks.learning.update(map(id, optimizer.param_groups[-1]["params"]))

        def remove() -> None:
            torch.optim.Optimizer.add_param_group = add  # type: ignore[method-assign]

        torch.optim.Optimizer.add_param_group = noted  # type: ignore[method-assign]
        self._removers.append(remove)

    def _install_scaler(self) -> None:
        """GradScaler.step() calls no optimizer where gradients overflow; the training
        step is over all the same."""
        scaler_class: Any = torch.cuda.amp.GradScaler.__mro__[-2]
        step = scaler_class.step

        @functools.wraps(step)
        def bracketed(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._is_ours():
                return step(scaler, optimizer, *args, **kwargs)
            self._begin(id(scaler))
            n_stepped = self._n_stepped
            result = step(scaler, optimizer, *args, **kwargs)
            if self._n_stepped == n_stepped and isinstance(optimizer, torch.optim.Optimizer):
                self._stepped(optimizer)
            self._end(id(scaler))
            return result

        def remove() -> None:
            scaler_class.step = step

        scaler_class.step = bracketed
        self._removers.append(remove)
