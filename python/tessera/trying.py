# SPDX-License-Identifier: Apache-2.0
"""A change of the program, made from outside: `tessera dry-run --try` measures what it wins.

The script is as it was: what it calls does the other thing. The trace says what was changed
("tried"), or why nothing could be ("not_tried").
"""

import functools
import inspect
from typing import Any, Callable, Dict, List, Optional

import torch
from torch import nn
from torch.nn.modules import module as nn_module
from torch.optim import Optimizer
from torch.optim import optimizer as optim

from .library import Library
from .modules import plain_path
from .session import before_end

#: Smaller tensors of state keep their bytes (bitsandbytes).
_LEAST_8BIT = 4096

#: By change: to what it was done, and why not where it was to nothing.
_changed: Dict[str, List[str]] = {}
_why_not: Dict[str, str] = {}


def _did(change: str, what: str) -> None:
    if what not in _changed[change]:
        _changed[change].append(what)


def _patch(name: str, make: Callable[[Any], Any]) -> None:
    """The method @name of each class of torch.optim that has its own."""
    for kind in vars(torch.optim).values():
        if isinstance(kind, type) and issubclass(kind, Optimizer) and name in vars(kind):
            before = vars(kind)[name]
            after = make(before)
            if after is not before:
                setattr(kind, name, functools.wraps(before)(after))


def _give_option(change: str, options: Dict[str, Any]) -> None:
    """Optimizers are made with the first of @options, where they take it."""
    wanted = next(iter(options))
    setting = "%s=%s" % (wanted, options[wanted])
    _why_not[change] = "the program makes no optimizer of torch.optim that takes %s" % setting

    def make(initialise: Any) -> Any:
        signature = inspect.signature(initialise)

        def initialise_so(self: Any, *args: Any, **kwargs: Any) -> None:
            given = signature.bind(self, *args, **kwargs)
            if given.arguments.get(wanted) is options[wanted]:
                _why_not[change] = "%s has %s already" % (type(self).__name__, setting)
            else:
                _did(change, type(self).__name__)
            given.arguments.update(options)
            initialise(*given.args, **given.kwargs)

        return initialise_so if set(options) <= set(signature.parameters) else initialise

    _patch("__init__", make)


def _zero_grad(change: str) -> None:
    _why_not[change] = "no optimizer of PyTorch stepped"

    def zero(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        _did(change, type(optimizer).__name__)
        optimizer.zero_grad(set_to_none=True)

    optim.register_optimizer_step_post_hook(zero)


def _other_state(change: str, dtype: Optional[torch.dtype], least: int = 1) -> None:
    """State is made as @dtype; None: on the host. What else it looks like is learnt from a step of
    a stand-in that has no memory; the step itself asks for none, as a kernel that works in place.
    An optimizer of sparse gradients stays as it is."""
    size = 0 if dtype is None else torch.empty(0, dtype=dtype, device="cpu").element_size()
    _why_not[change] = "no optimizer of torch.optim has state of more than %d byte each" % size

    def is_wide(value: torch.Tensor) -> bool:
        return value.is_floating_point() and value.element_size() > size and value.numel() >= least

    def make_state(step: Any, optimizer: Any, group: Any, parameter: Any) -> Any:
        local = getattr(parameter, "_local_tensor", parameter)  # a DTensor's shard
        stand_in = nn.Parameter(torch.empty_like(local, device="meta"))
        stand_in.grad = torch.empty_like(stand_in)
        plain = {"params": [stand_in], "fused": False, "foreach": False, "capturable": False}
        groups, optimizer.param_groups = optimizer.param_groups, [{**group, **plain}]
        step(optimizer)
        optimizer.param_groups = groups
        state = optimizer.state.pop(stand_in, {})
        for key, value in state.items():
            if isinstance(value, torch.Tensor) and value.is_meta and not is_wide(value):
                state[key] = torch.zeros_like(value, device=local.device)
        return state

    def narrow(optimizer: Any, state: Any, device: torch.device) -> None:
        for key, value in state.items():
            if isinstance(value, torch.Tensor) and value.device.type != "cpu" and is_wide(value):
                # Untouched, so that the host's pages are not taken either.
                state[key] = torch.empty_like(value, dtype=dtype, device="cpu" if dtype is None else device)
                _did(change, type(optimizer).__name__)

    def make(step: Any) -> Any:
        def step_narrow(self: Any, closure: Any = None) -> Any:
            parameters = [parameter for group in self.param_groups for parameter in group["params"]]
            if any(parameter.grad is not None and parameter.grad.is_sparse for parameter in parameters):
                return step(self, closure)
            with torch.enable_grad():
                loss = closure() if closure is not None else None
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        if not self.state.get(parameter):
                            self.state[parameter] = make_state(step, self, group, parameter)
                        narrow(self, self.state[parameter], parameter.device)
            return loss

        return step_narrow

    def make_early(initialise: Any) -> Any:
        def initialise_narrow(self: Any, *args: Any, **kwargs: Any) -> None:
            initialise(self, *args, **kwargs)
            for parameter, state in self.state.items():  # Adagrad's is there before the first step
                narrow(self, state, parameter.device)

        return initialise_narrow

    _patch("step", make)
    _patch("__init__", make_early)


def _checkpointed(forward: Callable[..., Any]) -> Callable[..., Any]:
    from torch.utils.checkpoint import checkpoint

    @functools.wraps(forward)
    def made_again(*args: Any, **kwargs: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*args, **kwargs)
        return checkpoint(forward, *args, use_reentrant=False, **kwargs)

    return made_again


def _own_switch(module: Any) -> Optional[Callable[[], Any]]:
    """By which a model of transformers or diffusers makes its blocks again."""
    if hasattr(module, "gradient_checkpointing_enable") and getattr(module, "supports_gradient_checkpointing", True):
        options = {"gradient_checkpointing_kwargs": {"use_reentrant": False}}
        return functools.partial(module.gradient_checkpointing_enable, **options)
    has_switch = hasattr(module, "enable_gradient_checkpointing")
    return module.enable_gradient_checkpointing if has_switch and module._supports_gradient_checkpointing else None


def _checkpoint(change: str, asked: Optional[str]) -> None:
    """Modules of the list @asked ("blocks.*"), or of the one with most parameters, are made again
    in the backward pass. Models of transformers and diffusers do so themselves."""
    seen = set()
    _why_not[change] = "no %s were called with gradients" % (asked or "modules of a list")

    def n_parameters(modules: List[nn.Module]) -> int:
        return sum(one.numel() for module in modules for one in module.parameters())

    def look(root: nn.Module, args: Any) -> None:
        if id(root) in seen or not torch.is_grad_enabled():
            return
        lists: Dict[str, List[nn.Module]] = {}
        for path, module in root.named_modules():
            seen.add(id(module))
            *outer, last = plain_path(path) or [""]
            if last.isdigit():
                lists.setdefault(".".join([*outer, "*"]), []).append(module)
        name = asked or max(lists, key=lambda one: n_parameters(lists[one]), default="")
        label = type(root).__name__ + "."  # which names of a second root begin with
        modules = lists.get(name) or lists.get(name[len(label):] if name.startswith(label) else "")
        for module in root.modules() if modules else ():
            enable = _own_switch(module)
            if enable is not None:
                if getattr(module, "is_gradient_checkpointing", False):
                    _why_not[change] = "%s does so already" % type(module).__name__
                    return
                enable()
                modules = []
                break
        for module in modules or ():
            setattr(module, "forward", _checkpointed(module.forward))
        if modules is not None:
            _did(change, name)

    nn_module.register_module_forward_pre_hook(look)


def _tell(library: Library) -> None:
    for change, what in _changed.items():
        if not what:
            library.note("not_tried", "%s: %s" % (change, _why_not[change]))
            return
    said = ["%s of %s" % (change, ", ".join(what)) for change, what in _changed.items()]
    library.note("tried", "; ".join(said))


def install(changes: str, modules: Optional[str]) -> None:
    """@changes: "fused+zero-grad"; @modules: which checkpointing is about."""
    makers: Dict[str, Callable[[str], None]] = {
        "fused": lambda change: _give_option(change, {"fused": True, "foreach": None}),
        "foreach-off": lambda change: _give_option(change, {"foreach": False, "fused": None}),
        "zero-grad": _zero_grad,
        "checkpointing": lambda change: _checkpoint(change, modules),
        "bf16-optimizer": lambda change: _other_state(change, torch.bfloat16, 2),
        "8-bit": lambda change: _other_state(change, torch.int8, _LEAST_8BIT),
        "offload": lambda change: _other_state(change, None),
    }
    for change in changes.split("+"):
        _changed[change] = []
        makers[change](change)
    before_end.append(_tell)
