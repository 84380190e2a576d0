# SPDX-License-Identifier: Apache-2.0
"""Which module runs: global forward hooks, and for backward the sequence numbers that
autograd gives to the nodes it makes.

While a module's forward runs, its nodes get the numbers between the one at its begin and
the one at its end. Kept are the numbers at which the innermost module changed; a node of
the backward pass is then found by bisection. The numbers are per thread: those of the
training thread are asked, or, in the backward pass of a reentrant checkpoint, those of
the thread that recomputed.
"""

import threading
import weakref
from bisect import bisect_right
from typing import Any, Callable, Dict, List, Optional, Protocol, Tuple

import torch
from torch import nn
from torch.nn.modules import module as nn_module

from .generation import is_token
from .marks import Marks
from .names import Name, intern

#: Wrappers whose own component says nothing to a person.
_WRAPPERS = frozenset(("_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod"))
#: Places at which the innermost module changed that are kept for one step; the older half
#: goes when there are more.
MAX_CHANGES = 1 << 20

_get_sequence_nr: Callable[[], int] = getattr(
    torch._C._autograd, "_get_sequence_nr", lambda: 0
)
_current_node: Callable[[], Any] = getattr(torch._C, "_current_autograd_node", lambda: None)
_graph_task: Callable[[], int] = getattr(torch._C, "_current_graph_task_id", lambda: -1)
_is_compiling: Callable[[], bool] = getattr(
    getattr(torch, "compiler", None), "is_compiling", lambda: False
)
_NO_NAME: Name = (0, "")


class Told(Protocol):
    """What is told of modules; library.Library is one."""

    def module_begin(self, address: int) -> None: ...

    def module_end(self) -> None: ...

    def set_module_finder(self, find: Optional[Callable[[], Optional[int]]]) -> None: ...


class _State:
    """What belongs to one thread."""

    __slots__ = ("stack", "depth", "sequence", "names", "n_nested", "last")

    def __init__(self) -> None:
        self.stack: List[Tuple[nn.Module, Name]] = []  # being called, outermost first
        self.depth: Optional[int] = None  # of the phase that the outermost call opened
        self.sequence: List[int] = []  # at which the innermost module became ...
        self.names: List[Name] = []  # ... this one
        self.n_nested = 0  # backward passes that run inside a backward pass
        self.last = 0  # address of the name found last

    def change(self, name: Name) -> None:
        number = _get_sequence_nr()
        if self.sequence and self.sequence[-1] == number:
            self.names[-1] = name
            return
        if len(self.sequence) >= MAX_CHANGES:
            del self.sequence[: MAX_CHANGES // 2], self.names[: MAX_CHANGES // 2]
        self.sequence.append(number)
        self.names.append(name)

    def forget(self) -> None:
        self.sequence.clear()
        self.names.clear()


class _Local(threading.local):
    def __init__(self) -> None:
        self.state = _State()


def plain_path(path: str) -> List[str]:
    """The components of a module's path that the program has given."""
    parts = [part for part in path.split(".") if part not in _WRAPPERS]
    while parts and parts[0] == "module":
        del parts[0]
    return parts


class _Paths:
    """Names of modules, by the object, as long as it lives."""

    def __init__(self) -> None:
        self._known: Dict[int, Tuple["weakref.ref[nn.Module]", Name]] = {}
        self._n_pruned = 64

    def get(self, module: nn.Module) -> Optional[Name]:
        entry = self._known.get(id(module))
        if entry is not None and entry[0]() is module:
            return entry[1]
        return None

    def _put(self, module: nn.Module, text: str) -> None:
        if self.get(module) is None:
            self._known[id(module)] = (weakref.ref(module), intern(text))

    def learn(self, root: nn.Module) -> None:
        """Names everything under @root. The first root's modules, and those of roots that
        hold it, go by their path alone; others begin with their root's class."""
        modules = list(root.named_modules())
        label = type(root).__name__
        is_first = not self._known or any(self.get(module) for _, module in modules)
        self._put(root, label)
        for path, module in modules:
            parts = plain_path(path)
            if parts and not is_first:
                parts.insert(0, label)
            self._put(module, ".".join(parts) or label)
        if len(self._known) > 2 * self._n_pruned:
            self._known = {key: entry for key, entry in self._known.items() if entry[0]() is not None}
            self._n_pruned = max(64, len(self._known))

    def find(self, module: nn.Module, stack: List[Tuple[nn.Module, Name]]) -> Name:
        self.learn(stack[0][0] if stack else module)
        name = self.get(module)
        if name is None:  # called by its parent without being registered there
            name = intern("%s.%s" % (stack[-1][1][1], type(module).__name__))
        return name


def _batch_of(args: Any) -> int:
    for arg in args:
        if isinstance(arg, torch.Tensor) and arg.dim() > 0:
            return int(arg.shape[0])
    return 0


class Modules:
    """The hooks. They change nothing of what the program does, and give up for good, in a
    sentence, where something unforeseen fails. @on_root is called with each module that is
    called outermost."""

    def __init__(
        self,
        marks: Marks,
        has_names: bool,
        on_failure: Callable[[str], None],
        on_root: Callable[[nn.Module], None],
    ) -> None:
        self._marks = marks
        self._wants_names = self._has_names = has_names
        self._on_failure = on_failure
        self._on_root = on_root
        self._told: Optional[Told] = None
        self._local = _Local()
        self._paths = _Paths()
        self._decoding: "weakref.WeakSet[nn.Module]" = weakref.WeakSet()  # token by token
        #: Called up to the end of the first step, and never with gradients.
        self._frozen: "weakref.WeakSet[nn.Module]" = weakref.WeakSet()
        self._learning: "weakref.WeakSet[nn.Module]" = weakref.WeakSet()  # ... with them
        self._trained: "weakref.WeakSet[nn.Module]" = weakref.WeakSet()  # ... and in training mode
        #: Gradients go back through them in evaluation mode too: adversarial examples are made so.
        self._attacked: "weakref.WeakSet[nn.Module]" = weakref.WeakSet()
        self._evaluated: Optional[nn.Module] = None  # what was called last, where it is evaluated with gradients
        self._owner: Optional[_State] = None  # of the training thread
        self._recomputing: Optional[_State] = None  # has opened the phase of that name
        self._handles: List[Any] = []
        self._leaves_out = False
        self._n_backwards = 0  # that run now, on whatever threads
        self._lock = threading.Lock()

    def install(self) -> None:
        self._handles = [
            nn_module.register_module_forward_pre_hook(self._before),
            nn_module.register_module_forward_hook(self._after, always_call=True),
        ]

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self.detach()

    def attach(self, told: Told) -> None:
        if self._wants_names:
            self._told = told

    def detach(self) -> None:
        if self._told is not None:
            self._told.set_module_finder(None)
            self._told = None

    def leave_out_names(self, leave_out: bool) -> None:
        """From the next outermost call on, or the one that begins, no module is told, or each is again."""
        self._leaves_out = leave_out

    def forget(self) -> None:
        """A step is over: its graph is gone."""
        if self._owner is not None:
            self._owner.forget()

    def _give_up(self, error: Exception) -> None:
        self.remove()
        self._on_failure(
            "modules and phases are no longer followed, a hook failed: %s: %s"
            % (type(error).__name__, error)
        )

    # -- forward -------------------------------------------------------------------------

    def _before(self, module: nn.Module, args: Any) -> None:
        if _is_compiling():
            return
        try:
            state = self._local.state
            stack = state.stack
            if not stack:
                self._begin_outermost(state, module, args)
                self._has_names = self._wants_names and not self._leaves_out
            name = _NO_NAME
            if self._has_names:
                name = self._paths.get(module) or self._paths.find(module, stack)
                if self._told is not None:
                    self._told.module_begin(name[0])
                if torch.is_grad_enabled():
                    state.change(name)
            stack.append((module, name))
        except Exception as error:
            self._give_up(error)

    def _begin_outermost(self, state: _State, module: nn.Module, args: Any) -> None:
        state.depth = None
        if _graph_task() != -1:
            if self._recomputing is None:
                self._recomputing = state
                state.depth = self._marks.open("recompute")
        elif self._marks.is_ours():
            self._owner = state
            self._on_root(module)
            if self._marks.is_between():
                return
            if torch.is_grad_enabled() and not self._is_evaluated(module):
                self._learning.add(module)
                self._frozen.discard(module)
                state.depth = self._marks.forward(id(module), _batch_of(args))
            elif module in self._decoding or (args and is_token(args[0], 2)):
                self._decoding.add(module)
                state.depth = self._marks.generation()
            else:
                if self._marks.n_done == 0 and module not in self._learning:
                    self._frozen.add(module)
                if module in self._frozen:
                    state.depth = self._marks.frozen_forward(id(module), module.parameters())
                else:
                    state.depth = self._marks.evaluation("eval with gradients" if torch.is_grad_enabled() else "")

    def _is_evaluated(self, module: nn.Module) -> bool:
        """Whether gradients are on and nobody asks for them: a module that was trained is in
        evaluation mode. A loss, which has no parameters, goes with the module before it."""
        if next(module.parameters(), None) is not None:
            if module.training:
                self._trained.add(module)
            is_evaluated = not module.training and module in self._trained and module not in self._attacked
            self._evaluated = module if is_evaluated else None
        return self._evaluated is not None

    def _after(self, module: nn.Module, args: Any, output: Any) -> None:
        if _is_compiling():
            return
        try:
            state = self._local.state
            stack = state.stack
            if not stack or stack[-1][0] is not module:
                if not any(entry[0] is module for entry in stack):
                    return
            while stack:
                ended, name = stack.pop()
                if self._told is not None and name is not _NO_NAME:
                    self._told.module_end()
                if ended is module:
                    break
            if self._has_names and torch.is_grad_enabled():
                state.change(stack[-1][1] if stack else _NO_NAME)
            if not stack:
                cache = None if state.depth is None else getattr(output, "past_key_values", None)
                if cache is not None and is_token(getattr(output, "logits", None), 3):
                    self._decoding.add(module)
                self._end_outermost(state)
        except Exception as error:
            self._give_up(error)

    def _end_outermost(self, state: _State) -> None:
        if self._recomputing is state:
            self._recomputing = None
        if state.depth is not None:
            self._marks.close(state.depth)
            state.depth = None

    # -- backward ------------------------------------------------------------------------

    def backward(self, change: int) -> None:
        """An outermost backward pass begins (1) or ends (-1). Only inside of one does the
        library ask for modules: each request would else wait for the interpreter."""
        with self._lock:
            if self._evaluated is not None:
                self._attacked.add(self._evaluated)
                self._evaluated = None
            self._n_backwards += change
            if self._told is not None:
                has_finder = self._has_names and self._n_backwards
                self._told.set_module_finder(self._find if has_finder else None)

    def nested_backward(self, change: int) -> None:
        """A backward pass inside a backward pass begins (1) or ends (-1) on this thread."""
        state = self._local.state
        state.n_nested += change
        if state.n_nested == 0:
            state.forget()

    def _find(self) -> Optional[int]:
        """The address of the name of the module whose node runs on this thread."""
        try:
            state = self._local.state
            if state.stack:
                return state.stack[-1][1][0]
            node = _current_node()
            if node is None:
                return None
            number = node._sequence_nr()
            if number >> 63:  # accumulates what the node before it made: of that module
                return state.last or None
            table = state if state.n_nested and state.sequence else self._owner
            if table is None:
                return None
            place = bisect_right(table.sequence, number) - 1
            state.last = table.names[place][0] if place >= 0 else 0
            return state.last or None
        except Exception:
            return None
