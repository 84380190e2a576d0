# SPDX-License-Identifier: Apache-2.0
"""What a CUDA that computes nothing has not, said in one sentence, and what is done without
it: models are not compiled, nor Triton's kernels.
"""

import ctypes
import functools
import importlib
import os
import re
import sys
import sysconfig
import traceback
from typing import Any, Optional, Union

import torch

from .imports import after_import
from .say import say

_LACKS = re.compile(
    r"the null CUDA has no (\w+)"
    r"|undefined symbol: (cu[A-Z]\w+)"
    r"|(?:NOT_SUPPORTED|NOT_INITIALIZED|not supported|Unknown \w+ error number),? when calling `(cu\w+)"
)
_PLACE = re.compile(r'File "([^"<]+)", line (\d+)')
_COMPILED = (
    "torch.compile runs eagerly in a dry run: a compiled program asks for other and mostly less "
    "memory, so that this verdict is on the safe side, and a plan is for the program without "
    "torch.compile (of the compiled one: tessera record on a GPU)"
)

_CONVOLVED = (
    "what cuDNN asks for beside the tensors of convolutions is guessed in a dry run (on a GPU a ResNet-50 "
    "reserved 9 % more), and a run there may decline this plan: make one from a recording on the GPU "
    "(tessera record -o run.tsr -- python ..., then tessera plan run.tsr)"
)


def is_the_programs(file: str) -> bool:
    package = os.path.dirname(os.path.abspath(__file__))
    libraries = ("/site-packages/", "/dist-packages/", package, sysconfig.get_path("stdlib"))
    return not any(library in file for library in libraries)


def shown(file: str, line: Union[str, int]) -> str:
    here = os.getcwd() + os.sep
    return "%s:%s" % (file[len(here) :] if file.startswith(here) else file, line)


def _place(text: str) -> str:
    """The last line of the program itself, as "train.py:12: "."""
    places = [place for place in _PLACE.findall(text) if is_the_programs(place[0])]
    if not places:
        return ""
    return shown(*places[-1]) + ": "


def place_of(thread: int) -> str:
    """The line that a thread runs now, as "train.py:12: "."""
    frame = sys._current_frames().get(thread)
    return _place("".join(traceback.format_stack(frame))) if frame is not None else ""


def sentence(error: BaseException) -> Optional[str]:
    """Of an error, or of a worker's whose text it has; None: it is about something else."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    found = _LACKS.findall(text)
    if not found:
        return None
    name = "".join(found[-1])
    whose = " (Triton asks for it)" if "/triton/" in text else ""
    return (
        "%sthe null CUDA, which computes nothing, has no %s%s: leave this part out of the dry "
        "run, or record the program on a GPU (tessera record -o run.tsr -- python ...)"
        % (_place(text), name, whose)
    )


#: Errors that no value on the GPU brings about.
_NOT_OF_VALUES = (ImportError, SyntaxError, NameError, AttributeError, TypeError, OSError, MemoryError)
_NOT_OF_VALUES_TEXT = re.compile(r"inplace operation|graph a second time|same (device|dtype)|does not require grad")


def sentence_of_values(error: BaseException) -> Optional[str]:
    """Of an error that may come of a value that the program read from the device; None: it read
    none, or it is another kind of error."""
    null: Any = ctypes.CDLL(None)
    if not isinstance(error, Exception) or isinstance(error, (*_NOT_OF_VALUES, torch.cuda.OutOfMemoryError)):
        return None
    if _NOT_OF_VALUES_TEXT.search(str(error)):
        return None
    if not hasattr(null, "nullcuda_made_up") or null.nullcuda_made_up() == 0:
        return None
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return (
        "%sa dry run computes nothing: what the program reads from the GPU (a loss, a count, a flag) is 0, 1 or drawn. "
        "If this error comes of such a value, put the line under `if \"TESSERA_DRY_RUN\" not in os.environ:`, or record "
        "the program on a GPU (tessera record -o run.tsr -- python ...)" % _place(text)
    )


def _tell_of_convolutions() -> None:
    """Once, before the first of them."""

    def before(module: Any, args: Any) -> None:
        if isinstance(module, torch.nn.modules.conv._ConvNd) and args and args[0].is_cuda:
            hook.remove()
            say(_CONVOLVED)

    hook = torch.nn.modules.module.register_module_forward_pre_hook(before)


def _launch_no_kernels() -> None:
    """A kernel of Triton works on memory that the program asked for before: it is neither
    compiled nor launched. Autotuning goes on, since its buffer is memory of the GPU."""
    function: Any = sys.modules["triton.runtime.jit"].JITFunction
    compile_and_launch = function.run

    @functools.wraps(compile_and_launch)
    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        if warmup:  # asks what was compiled
            return compile_and_launch(self, *args, grid=grid, warmup=warmup, **kwargs)
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)

    function.run = run


def install() -> None:
    """Graphs are not compiled by inductor, whose kernels nobody could load; of convolutions
    is said what nobody knows."""
    _tell_of_convolutions()
    after_import("triton.runtime.jit", _launch_no_kernels)
    compile_it: Any = torch.compile
    has_said = False

    def tell() -> None:
        nonlocal has_said
        if not has_said:
            has_said = True
            say(_COMPILED)

    @functools.wraps(compile_it)
    def run_eagerly(*args: Any, **kwargs: Any) -> Any:
        is_inductor = kwargs.get("backend", "inductor") == "inductor"
        dynamo: Any = importlib.import_module("torch._dynamo")
        if is_inductor and not kwargs.get("disable"):
            # Not by the argument `disable`: a compiled model keeps its _orig_mod so.
            dynamo.config.disable = True
        if dynamo.config.disable:
            kwargs["fullgraph"] = False  # it raises where nothing was compiled
        compiled = compile_it(*args, **kwargs)
        if not args or not is_inductor or kwargs.get("disable"):
            return compiled  # a decorator comes here again, with its function
        if isinstance(compiled, torch.nn.Module):
            tell()
            return compiled

        # Libraries decorate functions that a program may never call.
        @functools.wraps(compiled)
        def tell_and_run(*inputs: Any, **options: Any) -> Any:
            tell()
            return compiled(*inputs, **options)

        return tell_and_run

    setattr(torch, "compile", run_eagerly)
