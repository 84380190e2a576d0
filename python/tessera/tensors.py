# SPDX-License-Identifier: Apache-2.0
"""Which tensor lies where: parameters, gradients, optimizers' state and buffers, by name.

Parameters and buffers are told where an outermost module is called for the first time, so
that a program which dies in its first step is told of, too. When an optimizer has stepped
gradients are there yet, and state already: then all is told, in the steps 1, 2, 4, 8 ...,
for what follows repeats; and again where the first of them lies elsewhere, as what waits
in the host's memory during a rollout does. Nothing is asked of the device, and no tensor is kept: what was
told is known by a weak reference to its storage (one to the tensor itself would make
torch.utils.swap_tensors, by which modules change place, refuse it).
"""

import weakref
from typing import Any, Callable, Dict, Optional, Protocol, Set, Tuple

import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

from .marks import Marks
from .modules import _is_compiling

#: As the library knows them.
PARAMETER, GRADIENT, STATE, BUFFER = 1, 2, 3, 4

#: Where the storage begins. It is not written to: a lazy copy stays lazy.
_address_of: Callable[[torch.Tensor], int] = getattr(
    torch._C, "_data_address", lambda tensor: tensor.untyped_storage().data_ptr()
)


class Told(Protocol):
    """What is told of tensors; library.Library is one."""

    def tensor(self, device: int, address: int, kind: int, name: str) -> None: ...

    def note(self, key: str, value: str) -> None: ...


def _first_state(optimizer: torch.optim.Optimizer) -> Any:
    for state in optimizer.state.values():
        for value in state.values() if isinstance(state, dict) else ():
            if getattr(value, "is_cuda", False):
                return value
    return None


class Tensors:
    """What modules and optimizers hook calls. Nothing of what the program does changes; where
    something unforeseen fails it gives up for good, in a sentence. Modules are asked as
    nn.Module has it: what a program puts in its place may do anything."""

    def __init__(self, marks: Marks, on_failure: Callable[[str], None]) -> None:
        self._marks = marks
        self._on_failure = on_failure
        self._told: Optional[Told] = None
        #: Modules that are called outermost, with what their parameters' names begin with.
        self._roots: Dict[int, Tuple["weakref.ref[nn.Module]", str]] = {}
        self._n_called: Dict[str, int] = {}  # roots with parameters, by class
        #: By kind, address and offset in the storage.
        self._known: Dict[Tuple[int, int, int], StorageWeakRef] = {}
        self._n_pruned = 1024
        self._number = 0  # of the step that is being told, counted from 1
        self._names: Dict[int, str] = {}  # of that step: by id of the parameter
        self._stepped: Set[int] = set()  # ids of its optimizers
        self._largest_state = 0  # bytes of a tensor, by which the optimizer is named that counts

    def attach(self, told: Told) -> None:
        self._told = told

    def detach(self) -> None:
        self._told = None

    def _give_up(self, error: Exception) -> None:
        self._told = None
        self._on_failure(
            "which tensor lies where is no longer recorded, a hook failed: %s: %s"
            % (type(error).__name__, error)
        )

    def called(self, root: nn.Module) -> None:
        """An outermost module is called."""
        entry = self._roots.get(id(root))
        is_known = entry is not None and entry[0]() is root
        try:
            if is_known and not self._has_moved(PARAMETER, next(nn.Module.parameters(root), None)):
                return
            prefix = entry[1] if is_known and entry else self._prefix(root)
            self._roots[id(root)] = (weakref.ref(root), prefix)
            if self._told is not None:
                self._tell_module(root, prefix, {})
        except Exception as error:
            self._give_up(error)

    def _prefix(self, root: nn.Module) -> str:
        """The first root's parameters go by their own names, others' begin with its class."""
        if next(nn.Module.parameters(root), None) is None:
            return ""
        label = type(root).__name__
        is_first = not self._n_called
        count = self._n_called[label] = self._n_called.get(label, 0) + 1
        return "" if is_first else label if count == 1 else "%s %d" % (label, count)

    def stepped(self, optimizer: torch.optim.Optimizer) -> None:
        """@optimizer has stepped."""
        number = self._marks.n_done + 1
        if self._told is None or _is_compiling():
            return
        try:
            if number & (number - 1) and not self._has_moved(STATE, _first_state(optimizer)):
                return
            is_first = number != self._number
            if is_first:
                self._number = number
                self._tell_modules()
            if id(optimizer) not in self._stepped:
                self._stepped.add(id(optimizer))
                self._tell_optimizer(optimizer, is_first)
        except Exception as error:
            self._give_up(error)

    def _tell_modules(self) -> None:
        self._stepped.clear()
        self._names = {}
        if len(self._known) > 2 * self._n_pruned:
            self._known = {key: ref for key, ref in self._known.items() if not ref.expired()}
            self._n_pruned = max(1024, len(self._known))
        for key, (ref, prefix) in list(self._roots.items()):
            root = ref()
            if root is None:
                del self._roots[key]
            else:
                self._tell_module(root, prefix, self._names)

    def _tell_module(self, root: nn.Module, prefix: str, names: Dict[int, str]) -> None:
        for name, parameter in nn.Module.named_parameters(root, prefix):
            # What torch.func puts there may be computed from others: no parameter, and PyTorch
            # warns of who asks for its gradient. A module on "meta" is the shape of others.
            if id(parameter) not in names and parameter.is_cuda and parameter.is_leaf:
                names[id(parameter)] = name
                self._tell(PARAMETER, name, parameter)
                self._tell(GRADIENT, name, parameter.grad)
                self._tell(GRADIENT, name, getattr(parameter, "main_grad", None))  # Megatron's
        for name, buffer in nn.Module.named_buffers(root, prefix):
            self._tell(BUFFER, name, buffer)

    def _tell_optimizer(self, optimizer: torch.optim.Optimizer, is_first: bool) -> None:
        """@is_first: gradients of modules' parameters were told just now."""
        names = self._names
        label = type(optimizer).__name__
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        # An optimizer that steps nothing of the modules steps copies, in another precision.
        is_of_copies = names and not any(id(parameter) in names for parameter in parameters)
        kind = STATE if is_of_copies else PARAMETER
        for place, parameter in enumerate(parameters):
            if id(parameter) not in names:
                names[id(parameter)] = "parameter %d of %s" % (place, label)
                self._tell(kind, names[id(parameter)], parameter)
            elif is_first:
                continue
            self._tell(GRADIENT, names[id(parameter)], parameter.grad)
        largest: Any = None
        for parameter, state in optimizer.state.items():
            name = names.get(id(parameter), label)
            for key, value in state.items() if isinstance(state, dict) else ():
                self._tell(STATE, "%s of %s" % (key, name), value)
                if isinstance(value, torch.Tensor) and (largest is None or value.numel() > largest.numel()):
                    largest = value
        n_bytes = 0 if largest is None else largest.numel() * largest.element_size()
        if largest is not None and n_bytes >= self._largest_state and self._told is not None:
            self._largest_state = n_bytes
            self._told.note("state_item_bytes", str(largest.element_size()))
            classes = (one.__name__ for one in type(optimizer).__mro__ if one.__module__.startswith("torch.optim"))
            self._told.note("optimizer", next(classes, label))

    def _has_moved(self, kind: int, tensor: Any) -> bool:
        """Whether @tensor, of one storage on a CUDA device, lies where nothing was told of."""
        is_plain = getattr(tensor, "is_cuda", False) and not hasattr(tensor, "__tensor_flatten__")
        if self._told is None or not is_plain or not tensor.is_leaf:
            return False
        try:
            address = _address_of(tensor)
        except NotImplementedError:  # torch.func wraps tensors in such that have no storage
            return False
        ref = self._known.get((kind, address, tensor.storage_offset()))
        return address != 0 and (ref is None or ref.expired())

    def _tell(self, kind: int, name: str, tensor: Any) -> None:
        """@tensor may be anything; one of no CUDA device, or whose storage can't be had, is left
        out. One that is made of others, as a DTensor is of its shard, lies where these lie."""
        try:
            if self._told is None or not getattr(tensor, "is_cuda", False):
                return
            flatten = getattr(tensor, "__tensor_flatten__", None)
            if flatten is not None:
                for part in flatten()[0]:
                    self._tell(kind, name, getattr(tensor, part))
                return
            if tensor.layout is torch.sparse_coo:
                tensor = tensor._values()  # indices are the batch's own memory, mostly
            address = _address_of(tensor)
            key = (kind, address, tensor.storage_offset())
            ref = self._known.get(key)
            if address and (ref is None or ref.expired()):
                self._known[key] = StorageWeakRef(tensor.untyped_storage())
                self._told.tensor(tensor.get_device(), address, kind, name)
        except Exception:
            return
