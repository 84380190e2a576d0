# SPDX-License-Identifier: Apache-2.0
"""Where a backward pass begins and ends: PyTorch's engine, with brackets around a run."""

from typing import Any, Callable

import torch

from .marks import Marks
from .modules import Modules, _graph_task

_Base: Any = torch._C._ImperativeEngine


def _make(marks: Marks, modules: Modules) -> Any:
    run: Callable[..., Any] = _Base.run_backward

    class Engine(_Base):  # type: ignore[misc]
        """All users of the engine reach it through Variable._execution_engine."""

        def run_backward(self, *args: Any, **kwargs: Any) -> Any:
            if _graph_task() != -1:
                modules.nested_backward(1)
                try:
                    return run(self, *args, **kwargs)
                finally:
                    modules.nested_backward(-1)
            adds_up = bool(kwargs.get("accumulate_grad", True))
            depth = marks.backward(adds_up) if marks.is_ours() else None
            modules.backward(1)
            try:
                return run(self, *args, **kwargs)
            finally:
                modules.backward(-1)
                if depth is not None:
                    marks.close(depth)

    return Engine()


def install(marks: Marks, modules: Modules) -> Callable[[], None]:
    """Returns the function that puts PyTorch's own engine back."""
    variable: Any = torch.autograd.Variable
    before = variable._execution_engine
    variable._execution_engine = _make(marks, modules)

    def remove() -> None:
        variable._execution_engine = before

    return remove
