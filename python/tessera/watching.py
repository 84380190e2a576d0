# SPDX-License-Identifier: Apache-2.0
"""The operations of a program with several streams, shown to contract.py.

A dispatch mode sees them, but for one part: while one is on, autograd's engine adds gradients
up into new memory, where it would else do so in place (a residual network asked for 3 % more).
What is recorded would not be what the program does. So the mode is out while the engine runs,
and there a function mode, which changes nothing, puts it in around each operation that hooks and
functions of Python call. What the engine's own nodes do is not seen; the engine orders it by itself.
What functions of Python give as gradients is still added up in new memory, so that a dry run checks
only where that is asked for.
"""

import functools
import os
import re
import threading
from typing import Any, Callable, Dict, Iterable, Optional

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .contract import Contract

#: They take no more of a tensor than its shape.
_FACTORY = re.compile(r"new_|.*_like$")
#: They read a tensor, and give none.
_READS = ("_local_scalar_dense", "equal")
_NO_DISPATCH = torch._C._disabled_torch_dispatch_impl
#: What they do is done on streams of their own.
_COLLECTIVE = ("c10d", "_c10d_functional", "_c10d_functional_autograd")


class _Kind:
    """What an operator does to its arguments; @is_seen: there is anything to look at."""

    def __init__(self, operator: Any) -> None:
        schema = operator._schema
        space, _, name = schema.name.partition("::")
        infos = [argument.alias_info for argument in schema.arguments]
        self.viewed = {
            place
            for index, argument in enumerate(schema.arguments)
            if argument.alias_info is not None and not argument.alias_info.is_write
            for place in (index, argument.name)
        }
        self.resizes = name in ("resize_", "resize_as_", "set_")
        self.records = name == "record_stream"
        self.is_collective = space in _COLLECTIVE
        self.launches = any(info is not None and info.is_write for info in infos) or name in _READS
        self.uses = not _FACTORY.match(name) and not self.is_collective
        self.is_seen = self.launches or any(
            result.alias_info is None and "Tensor" in str(result.type) for result in schema.returns
        )


def _storages(things: Iterable[Any], device: int, found: Dict[int, Any]) -> Dict[int, Any]:
    """Of the tensors with memory on @device, added to @found."""
    for thing in things:
        if isinstance(thing, torch.Tensor):
            # Of an empty one nothing is used; a DTensor's parts come by alone.
            if thing.get_device() == device and thing.layout is torch.strided and thing.numel():
                if type(thing).__torch_dispatch__ is _NO_DISPATCH:
                    storage = thing.untyped_storage()
                    found[storage._cdata] = storage
        elif isinstance(thing, (list, tuple)):
            _storages(thing, device, found)
    return found


def _take_out() -> Optional["_Watcher"]:
    """The watcher, off the stack of modes, where it is the innermost of them."""
    n = torch._C._len_torch_dispatch_stack()
    watcher = torch._C._get_dispatch_stack_at(n - 1) if n else None
    if not isinstance(watcher, _Watcher):
        return None
    torch._C._pop_torch_dispatch_stack(None)
    return watcher


class _Watcher(TorchDispatchMode):
    """One for each thread."""

    supports_higher_order_operators = True

    def __init__(self, watch: "_Watch") -> None:
        super().__init__()
        self._watch = watch

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        is_foreign = any(kind.__torch_dispatch__ is not _NO_DISPATCH for kind in types)
        if is_foreign and torch._C._len_torch_dispatch_stack() == 0:
            return NotImplemented  # a DTensor, whose parts come by again
        result = func(*args, **kwargs)
        if not is_foreign and self._watch.contract is not None:
            self._watch.see(func, args, kwargs, result)
        return result


class _Carrier(TorchFunctionMode):
    """In the engine's runs: see above."""

    def __init__(self, watcher: _Watcher) -> None:
        super().__init__()
        self._watcher = watcher

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        torch._C._push_on_torch_dispatch_stack(self._watcher)
        try:
            return func(*args, **(kwargs or {}))
        finally:
            _take_out()


class _Watch:
    def __init__(self, contract: Contract) -> None:
        self.contract: Optional[Contract] = contract
        self._made = contract.made
        self._kinds: Dict[Any, Optional[_Kind]] = {}
        self._thread = threading.local()
        self._has_begun = False

    def give_up(self, error: Exception) -> None:
        self._stop("%s: %s" % (type(error).__name__, error))

    def _stop(self, why: str) -> None:
        if self.contract is not None:
            self.contract.why_not = why
        self.contract = None

    def watch_compile(self) -> None:
        """Dynamo compiles nothing where a mode is on, and a dry run lets it run for no other reason
        than that a program asks for another backend than inductor (lacking.py)."""
        compile_it: Any = torch.compile

        @functools.wraps(compile_it)
        def compile_unseen(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("backend", "inductor") != "inductor" and not kwargs.get("disable"):
                self._stop("torch.compile is at work")
                self.leave()
            return compile_it(*args, **kwargs)

        setattr(torch, "compile", compile_unseen)

    # -- when it begins -------------------------------------------------------------------

    def stream_made(self, stream: int) -> None:
        self._made.add(stream)
        self.enter()

    def enter(self, *ids: int) -> None:
        """In each thread that does something to a stream, unless a mode of the program's is at work."""
        if self.contract is None or not self._made or hasattr(self._thread, "watcher"):
            return
        try:
            if torch._C._len_torch_dispatch_stack() or torch._C._current_graph_task_id() != -1:
                return
            self._thread.watcher = _Watcher(self)
            if not self._has_begun:
                self._has_begun = True
                self.contract.begin()
                self._install()
            # Not by `with`: nobody asks whether a mode is on that changes nothing.
            torch._C._push_on_torch_dispatch_stack(self._thread.watcher)
        except Exception as error:
            self.give_up(error)

    def leave(self) -> None:
        """In the child of a fork, which has no device, and at the end."""
        _take_out()
        self.contract = None

    def _install(self) -> None:
        os.register_at_fork(after_in_child=self.leave)
        _watch_engine(self)
        resize: Any = torch.UntypedStorage.resize_

        def resize_and_see(storage: Any, size: int) -> Any:
            result = resize(storage, size)
            if self.contract is not None and storage.device.type == "cuda":
                stream = self._stream()
                self.contract.born(storage, stream, self.contract.launch(stream))
            return result

        setattr(torch.UntypedStorage, "resize_", resize_and_see)
        self._watch_query(torch.cuda.Event, "all_streams_wait_for_event", "cuda_event")
        self._watch_query(torch.cuda.Stream, "all_streams_wait_for_stream", "cuda_stream")

    def _watch_query(self, kind: Any, order: str, handle: str) -> None:
        """A host that saw that work is done goes on behind it."""
        query = kind.query

        def query_and_see(thing: Any) -> bool:
            is_done = bool(query(thing))
            if is_done and self.contract is not None and getattr(thing, handle):
                getattr(self.contract.syncs, order)(getattr(thing, handle))
            return is_done

        kind.query = query_and_see

    # -- what is seen ---------------------------------------------------------------------

    def _stream(self) -> int:
        return int(torch._C._cuda_getCurrentRawStream(torch._C._cuda_getDevice()))

    def _kind(self, operator: Any) -> Optional[_Kind]:
        kind = _Kind(operator) if hasattr(operator, "_schema") else None
        self._kinds[operator] = kind = kind if kind is not None and kind.is_seen else None
        return kind

    def see(self, operator: Any, args: Any, kwargs: Any, result: Any) -> None:
        try:
            kind = self._kinds[operator] if operator in self._kinds else self._kind(operator)
            if kind is not None:
                self._see(kind, args, kwargs, result)
        except Exception as error:
            self.give_up(error)

    def _see(self, kind: _Kind, args: Any, kwargs: Any, result: Any) -> None:
        contract: Any = self.contract
        device = torch._C._cuda_getDevice()
        contract.n_collectives += kind.is_collective
        viewed: Dict[int, Any] = {}
        if kind.viewed:
            given = [*enumerate(args), *kwargs.items()]
            storages = _storages((thing for name, thing in given if name not in kind.viewed), device, {})
            _storages((thing for name, thing in given if name in kind.viewed), device, viewed)
        else:
            storages = _storages(kwargs.values(), device, _storages(args, device, {}))
        if kind.records:
            for storage in storages.values():
                contract.recorded(storage)
            return
        made = _storages((result,), device, {})
        for key in (*storages, *viewed) if made else ():
            made.pop(key, None)
        if not made and not (kind.launches and storages):
            return
        stream = self._stream()
        if stream != 0 and torch._C._cuda_isCurrentStreamCapturing():
            return  # it is done when the graph runs, which nobody sees
        number = contract.launch(stream)
        if kind.resizes:
            made.update(storages)
        elif kind.uses:
            for storage in storages.values():
                contract.used(storage, stream, number)
        for storage in made.values():
            contract.born(storage, stream, number)


class _Engine:
    """PyTorch's, or what stands in its place, with the mode out while it runs."""

    def __init__(self, engine: Any, watch: _Watch) -> None:
        self._engine = engine
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def run_backward(self, *args: Any, **kwargs: Any) -> Any:
        watcher = _take_out()
        if watcher is None or self._watch.contract is None:
            return self._engine.run_backward(*args, **kwargs)  # given up: it stays out
        try:
            with _Carrier(watcher):
                return self._engine.run_backward(*args, **kwargs)
        finally:
            if self._watch.contract is not None:
                torch._C._push_on_torch_dispatch_stack(watcher)


def _watch_engine(watch: _Watch) -> None:
    variable: Any = torch.autograd.Variable
    variable._execution_engine = _Engine(variable._execution_engine, watch)


def install(contract: Contract) -> Callable[[], None]:
    """Returns what ends it. Raises what is missing in this PyTorch."""
    from torch.cuda import _gpu_trace

    for name in (
        "_len_torch_dispatch_stack",
        "_push_on_torch_dispatch_stack",
        "_pop_torch_dispatch_stack",
        "_get_dispatch_stack_at",
        "_cuda_getCurrentRawStream",
        "_cuda_getDevice",
        "_cuda_isCurrentStreamCapturing",
        "_current_graph_task_id",
    ):
        getattr(torch._C, name)
    watch = _Watch(contract)
    watch.watch_compile()
    _gpu_trace.register_callback_for_stream_creation(watch.stream_made)
    _gpu_trace.register_callback_for_event_record(watch.enter)
    _gpu_trace.register_callback_for_event_wait(watch.enter)
    return watch.leave
