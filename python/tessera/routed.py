# SPDX-License-Identifier: Apache-2.0
"""Which expert each token goes to, where nothing is computed.

What topk(), max() or argmax() choose among a few columns inside a module is taken for
routing: the choice is drawn (skew.py), and the tensor of indices on the device is a Routed
one, which has its values on the host beside it. What PyTorch makes of such a tensor alone
(masks, counts, orders) is made of these values as well, so that every way to write a
mixture of experts finds tokens x k in all, and reads counts that sum up to them. The
device's own code runs with all of its temporary tensors.

Whole numbers that the program sends from the host have their values beside them as well: whether a
batch is padded, how much a mask selects, and how many graphs a batch has, is what its data say.

Where values are not known, all(), isfinite() and allclose() hold, isnan() and isinf() do not: a program
that asks them asks whether its data are as they should be (no padding, one document a row, only finite
numbers), and on data that are it goes on as that answer lets it.
"""

import functools
import warnings
import weakref
from typing import Any, Callable, List, Optional

import torch

from .skew import Skew

#: More columns are a vocabulary or the like, and longer values are not kept.
MAX_EXPERTS = 512
MAX_VALUES = 1 << 23

#: What gives values to the host that are no tensor.
_READS = ("item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__")
_CHOICES = ("topk", "max", "argmax")


_kept: List[Any] = []  # a library that is collected takes its functions with it


class Unknown(Exception):
    """Something that the host has no value of takes part."""


def _is_known(thing: Any) -> bool:
    return isinstance(thing, Routed) and thing.known is not None


def _to_host(thing: Any) -> Any:
    """@thing with known values in the place of tensors."""
    if _is_known(thing):
        return thing.known
    if isinstance(thing, torch.Tensor):
        if thing.is_cuda:
            raise Unknown
        return thing
    if isinstance(thing, (tuple, list)):
        return type(thing)(map(_to_host, thing))
    if isinstance(thing, torch.device) or (isinstance(thing, str) and thing.startswith("cuda")):
        return torch.device("cpu")
    return thing


def _guess(name: str, args: Any) -> Any:
    """A mask is made by scattering into zeros, and by comparing with the row of numbers."""
    values = list(args)
    if name in ("scatter", "scatter_") and not _is_known(values[0]):
        values[0] = torch.zeros(values[0].shape, dtype=values[0].dtype)
    if name in ("eq", "__eq__"):
        for place, value in enumerate(values):
            if isinstance(value, torch.Tensor) and not _is_known(value) and not value.is_floating_point():
                if 1 < value.numel() <= MAX_EXPERTS:
                    values[place] = torch.arange(value.numel()).reshape(value.shape)
    return values


class Routed(torch.Tensor):
    """On the device, with its values on the host (None: they are not known any more)."""

    known: Optional[torch.Tensor] = None
    answer: Callable[[int], None]

    def __iter__(self) -> Any:
        return iter(self.unbind(0))

    def __deepcopy__(self, memo: Any) -> Any:
        return self.as_subclass(torch.Tensor).__deepcopy__(memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.as_subclass(torch.Tensor).__reduce_ex__(protocol)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.__name__
        is_inside = name.endswith("_") and not name.startswith("__")
        is_inside = is_inside or name.startswith("__i") and name not in ("__int__", "__index__", "__invert__")
        with torch._C.DisableTorchFunctionSubclass():
            if name == "masked_select" and _is_known(args[1]):
                cls.answer(int(args[1].known.expand(args[0].shape).count_nonzero()))
            result = func(*args, **kwargs)
            expected: Any = Unknown
            if "out" not in kwargs and _is_small(result):
                expected = _expect(func, name, args, kwargs)
            if expected is Unknown and (is_inside or name == "__setitem__") and isinstance(args[0], cls):
                args[0].known = None
            if expected is not Unknown and is_inside and type(result) is torch.Tensor:
                result.__class__ = cls  # type: ignore[assignment]
            return _with_values(name, result, expected)


def _expect(func: Any, name: str, args: Any, kwargs: Any) -> Any:
    try:
        named = {key: _to_host(value) for key, value in kwargs.items()}
        return func(*map(_to_host, _guess(name, args)), **named)
    except Exception:  # of the host's function too: the device's goes on alone
        return Unknown


def _is_small(result: Any) -> bool:
    if isinstance(result, torch.Tensor):
        return result.numel() <= MAX_VALUES
    return not isinstance(result, (tuple, list)) or all(map(_is_small, result))


def _with_values(name: str, result: Any, expected: Any) -> Any:
    if expected is Unknown:
        return result
    if name in _READS:
        return expected
    if isinstance(result, torch.Tensor) and isinstance(expected, torch.Tensor):
        return _with_value(result, expected)
    if isinstance(result, (tuple, list)) and isinstance(expected, (tuple, list)):
        pairs = [_with_values("", one, other) for one, other in zip(result, expected)]
        return type(result)(pairs)  # type: ignore[call-arg]
    return result


def _with_value(result: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    if not result.is_cuda:
        return expected.clone()
    if result.requires_grad:
        return result
    if result.shape != expected.shape:  # it depends on values
        result = expected.to(result.device)
    routed: Any = result if type(result) is Routed else result.as_subclass(Routed)
    routed.known = expected
    return routed  # type: ignore[no-any-return]


def _state(mask: Any) -> Any:
    return None if mask.is_inference() else mask._version


def found_before(mask: Any) -> Optional[int]:
    """How many nonzero() found of this mask, unless it was written since; None: nobody asked. One
    mask selects as much each time: a program takes boxes by it, and their numbers by where()."""
    state, found = getattr(mask, "_tessera_found", (None, None))
    return found if isinstance(mask, torch.Tensor) and state == _state(mask) else None


def _install_nonzero() -> None:
    """Counts what is not zero for where(), for indexing by a mask, and for the backward of
    that, which no function of Python's sees."""
    counts: Any = torch.library.get_kernel("aten::nonzero", "CUDA")
    library = torch.library.Library("aten", "IMPL")

    def nonzero(keys: Any, tensor: Any) -> Any:
        if _is_known(tensor):
            Routed.answer(int(tensor.known.count_nonzero()))
            return counts.call_boxed(keys, tensor)
        before = found_before(tensor)
        if before is not None:
            Routed.answer(before)
        result = counts.call_boxed(keys, tensor)
        tensor._tessera_found = (_state(tensor), result.shape[0])
        return result

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is replaced on purpose
        library.impl("nonzero", nonzero, "CUDA", with_keyset=True)
    _kept.append(library)


def _is_whole(tensor: torch.Tensor) -> bool:
    if tensor.dim() == 0 or tensor.is_floating_point() or tensor.is_complex():
        return False
    return tensor.numel() <= MAX_VALUES


def _sending(function: Any) -> Any:
    @functools.wraps(function)
    def sent(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        result = function(tensor, *args, **kwargs)
        if type(result) is torch.Tensor and result.is_cuda and tensor.device.type == "cpu" and _is_whole(tensor):
            return _with_value(result, tensor.to(result.dtype, copy=True))
        return result

    return sent


def _is_plain(data: Any) -> bool:
    """Values of the host, with no tensor of the device among them, which would be read for this."""
    if isinstance(data, (list, tuple)):
        return all(map(_is_plain, data))
    return isinstance(data, int) or type(data).__module__ == "numpy"


def _making(function: Any) -> Any:
    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        data = args[0] if args else kwargs.get("data")
        if type(result) is torch.Tensor and result.is_cuda and _is_whole(result) and _is_plain(data):
            return _with_value(result, function(data, dtype=result.dtype, device="cpu"))
        return result

    return made


def _holding(function: Any, is_true: bool = True) -> Any:
    @functools.wraps(function)
    def holds(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if type(result) is bool:
            return result or any(isinstance(arg, torch.Tensor) and arg.is_cuda for arg in args)
        if type(result) is torch.Tensor and result.is_cuda and "out" not in kwargs and _is_small(result):
            return _with_value(result, torch.full(result.shape, is_true, dtype=result.dtype))
        return result

    return holds


def replace(owner: Any, name: str, wrapper: Any) -> None:
    """Puts @wrapper in the place of a function, which scripted code goes on to know."""
    builtin = torch.jit._builtins._find_builtin(getattr(owner, name))
    if builtin is not None:
        torch.jit._builtins._register_builtin(wrapper, builtin)
    setattr(owner, name, wrapper)


class Router:
    """Draws the choices of each module, the same again where autograd recomputes."""

    def __init__(self, skew: Skew, answer: Callable[[int], None]) -> None:
        self._skew = skew
        self._modules: List[Any] = []
        Routed.answer = staticmethod(answer)  # type: ignore[method-assign, assignment]

    def install(self) -> None:
        for owner in (torch, torch.Tensor):
            for name in ("all", "isfinite", "allclose"):
                replace(owner, name, _holding(getattr(owner, name)))
            for name in ("isnan", "isinf"):
                replace(owner, name, _holding(getattr(owner, name), is_true=False))
        # What torch.distributions asks of parameters and samples.
        replace(torch, "_is_all_true", _holding(torch._is_all_true))
        for name in ("to", "cuda"):
            replace(torch.Tensor, name, _sending(getattr(torch.Tensor, name)))
        for name in ("tensor", "as_tensor"):
            replace(torch, name, _making(getattr(torch, name)))
        if not hasattr(torch.library, "get_kernel"):
            return  # PyTorch before 2.9
        _install_nonzero()
        for owner in (torch, torch.Tensor):
            for name in _CHOICES:
                replace(owner, name, self._choosing(name, getattr(owner, name)))

    def enter(self, module: Any) -> None:
        self._modules.append(weakref.ref(module))

    def leave(self, module: Any) -> None:
        while self._modules and self._modules.pop()() is not module:
            pass

    def _choosing(self, name: str, function: Any) -> Any:
        @functools.wraps(function)
        def chosen(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            indices = result if name == "argmax" else getattr(result, "indices", None)
            if not self._modules or type(indices) is not torch.Tensor or not indices.is_cuda:
                return result
            routed = self._draw(args[0] if args else kwargs["input"], indices, name == "topk")
            if routed is None or name == "argmax":
                return result if routed is None else routed
            return type(result)((result[0], routed))

        return chosen

    def _draw(self, scores: torch.Tensor, indices: torch.Tensor, has_places: bool) -> Any:
        """Of @indices over the last dimension of @scores: one a row, or several."""
        n_experts = scores.shape[-1] if scores.dim() > 1 else 0
        k = indices.shape[-1] if has_places and indices.dim() else 1
        rows = indices.shape[:-1] if has_places else indices.shape
        n_tokens = indices.numel() // max(k, 1)
        if not scores.is_floating_point():
            return None
        if not (2 <= n_experts <= MAX_EXPERTS and 1 <= k <= max(1, n_experts // 2)):
            return None
        if rows != scores.shape[:-1] or not 1 < n_tokens <= MAX_VALUES // k:
            return None
        module = self._modules[-1]()
        counts = self._skew.counts(module, n_experts, n_tokens * k, n_tokens)[0]
        # None has more than there are tokens, so that those of one token differ.
        experts = torch.repeat_interleave(torch.arange(n_experts), torch.tensor(counts))
        routed = indices.as_subclass(Routed)
        routed.known = experts.reshape(k, n_tokens).t().contiguous().reshape(indices.shape)
        return routed
