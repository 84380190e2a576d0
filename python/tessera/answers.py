# SPDX-License-Identifier: Apache-2.0
"""Sizes that depend on data, under a CUDA that computes nothing.

nonzero(), where(condition) and masked_select() read a count from the device, which would
always be 0. The null CUDA is told before each what to answer, so that PyTorch's own code
with its temporary tensors runs with a count from skew.py. Inside a module of experts
(Hugging Face's, "eager"), the counts are how many tokens each expert gets. In other modules, what routes tokens
is drawn as well, and masks from the host are known (routed.py). Indexing by any other mask, x[mask],
goes on finding nothing: a __getitem__ of our own would make of every tensor a sequence, which PyTorch's
constructors treat otherwise.
"""

import ctypes
import functools
import sys
from typing import Any, Callable, List, Optional

import torch
from torch.nn.modules import module as nn_module

from . import generation
from .imports import after_import
from .routed import MAX_VALUES, Routed, Router, found_before, replace
from .skew import Skew

_COUNT_BYTES = 4
_OPTIMIZERS = "/torch/optim/"
_FLAG_BYTES, _INDEX_BYTES = 1, 8


class Answers:
    """Installed for good; nothing of it is used on a real device."""

    def __init__(self, null: Any) -> None:
        self._tell = null.nullcuda_answer
        self._tell.restype = None
        self._tell.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        self.skew = Skew()
        self._router = Router(self.skew, self.answer)
        #: What the next masked_select() is to find, where somebody knows.
        self.n_selected: Optional[int] = None
        self._hits: List[int] = []  # tokens of each expert that has any
        self._experts: Optional[torch.nn.Module] = None

    def answer(self, value: int, n_bytes: int = _COUNT_BYTES) -> None:
        self._tell(value.to_bytes(n_bytes, "little", signed=True), n_bytes)

    def _answer_loop(self, n_indices: int) -> None:
        """What a loop over experts reads beside counts: whether it is at its end, and the
        index of the expert. 0 is right for the first and harmless for the second, but
        memory that held a batch of tokens before would give one of those."""
        for _ in range(n_indices):
            self.answer(0, _INDEX_BYTES)
        if self._hits:
            self.answer(0, _FLAG_BYTES)
            self.answer(0, _INDEX_BYTES)

    def install(self) -> None:
        for owner in (torch, torch.Tensor):
            self._wrap(owner, "nonzero", self._nonzero)
            self._wrap(owner, "masked_select", self._masked_select)
        self._wrap(torch, "where", self._where)
        replace(torch, "ctc_loss", _with_lengths(torch.ctc_loss))
        self._install_counts()
        self._router.install()
        nn_module.register_module_forward_pre_hook(self._before)
        nn_module.register_module_forward_hook(self._after, always_call=True)

    def _install_counts(self) -> None:
        """What PyTorch's optimizers read from the device is how many steps they have done, where their
        state was loaded there: torch.load(..., map_location="cuda"). They divide by that or by what is
        left of one, as NAdam: a half is neither. Batch norms that average divide by a count."""
        item: Any = torch.Tensor.item
        to_float: Any = torch.Tensor.__float__

        @functools.wraps(item)
        def answered(tensor: torch.Tensor) -> Any:
            value = item(tensor)
            is_unknown = type(value) is float and value == 0.0 and tensor.is_cuda
            asks = is_unknown and _OPTIMIZERS in sys._getframe(1).f_code.co_filename
            return 0.5 if asks else value

        @functools.wraps(to_float)
        def answered_float(tensor: torch.Tensor) -> Any:
            # A warning about a gradient that is lost would name this line, not the program's.
            value = to_float(tensor.detach() if tensor.requires_grad else tensor)
            is_count = value == 0.0 and tensor.is_cuda and not tensor.is_floating_point()
            return 1.0 if is_count else value

        replace(torch.Tensor, "item", answered)
        replace(torch.Tensor, "__float__", answered_float)

    def _wrap(self, owner: Any, name: str, count: Callable[..., Optional[int]]) -> None:
        function = getattr(owner, name)

        @functools.wraps(function)
        def answered(*args: Any, **kwargs: Any) -> Any:
            is_routed = any(isinstance(arg, Routed) and arg.known is not None for arg in args)
            is_routed = is_routed or any(found_before(arg) is not None for arg in args)
            found = None if is_routed else count(*args, **kwargs)
            if found is not None:
                self.answer(found)
            return function(*args, **kwargs)

        replace(owner, name, answered)

    # -- what each call is to find, or None where it reads no count -----------------------

    def _nonzero(self, tensor: Any, **kwargs: Any) -> Optional[int]:
        if not tensor.is_cuda:
            return None
        if self._experts is not None:
            self._answer_loop(0)
            return len(self._hits)
        return self.skew.part("nonzero", tensor.numel())

    def _where(self, condition: Any, *args: Any, **kwargs: Any) -> Optional[int]:
        if args or kwargs or not condition.is_cuda:
            return None
        if self._experts is not None and self._hits:
            count = self._hits.pop(0)
            self._answer_loop(2)
            return count
        return self.skew.part("where", condition.numel())

    def _masked_select(self, tensor: Any, mask: Any, **kwargs: Any) -> Optional[int]:
        if not tensor.is_cuda:
            return None
        if self.n_selected is not None:
            return self.n_selected
        return self.skew.part("masked_select", mask.numel())

    # -- modules of experts ---------------------------------------------------------------

    def _before(self, module: torch.nn.Module, args: Any) -> Any:
        self._router.enter(module)
        if type(module).__name__.endswith("Experts") and len(args) > 1:
            n_experts, chosen = getattr(module, "num_experts", None), args[1]
            if isinstance(n_experts, int) and isinstance(chosen, torch.Tensor):
                if chosen.is_cuda and chosen.dim() == 2:
                    return self._enter_experts(module, n_experts, args)
        return None

    def _enter_experts(self, module: torch.nn.Module, n_experts: int, args: Any) -> Any:
        """Values of what was routed need nobody's help, but for those that are too many."""
        chosen = args[1]
        if isinstance(chosen, Routed) and chosen.numel() * n_experts <= MAX_VALUES:
            return None
        rows = self.skew.counts(module, n_experts, chosen.numel(), chosen.shape[0])
        self._hits = [count for count in rows[0] if count]
        self._experts = module
        return (args[0], chosen.as_subclass(torch.Tensor)) + args[2:]

    def _after(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        self._router.leave(module)
        if module is self._experts:
            self._experts = None
            self._hits = []


def _with_lengths(function: Any) -> Any:
    """CTC's loss, which reads the targets' lengths and refuses those that do not add up to the
    targets: where nobody knows them, each has an equal part."""

    def read(lengths: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        known = getattr(lengths, "known", None)
        values = lengths.cpu() if known is None else known
        is_one_list, n = targets.dim() == 1, max(lengths.numel(), 1)
        if int(values.sum()) == targets.numel() if is_one_list else bool(values.any()):
            return values
        equal = [(targets.numel() + i) // n for i in range(n)]
        return torch.tensor(equal if is_one_list else [targets.shape[1]] * n, dtype=lengths.dtype, device="cpu")

    @functools.wraps(function)
    def ctc_loss(scores: Any, targets: Any, n_inputs: Any, n_targets: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(n_targets, torch.Tensor) and isinstance(n_inputs, torch.Tensor) and n_targets.is_cuda:
            n_inputs, n_targets = n_inputs.cpu(), read(n_targets, targets)
        return function(scores, targets, n_inputs, n_targets, *args, **kwargs)

    return ctc_loss


def install() -> None:
    """Where the null CUDA is loaded."""
    null: Any = ctypes.CDLL(None)
    if not hasattr(null, "nullcuda_answer"):
        return
    answers = Answers(null)
    answers.install()

    def install_megatron() -> None:
        from .megatron import install as install_dispatcher

        install_dispatcher(answers)

    after_import(
        "transformers.generation.utils", lambda: generation.install(answers.answer)
    )
    after_import("megatron.core.transformer.moe.token_dispatcher", install_megatron)
