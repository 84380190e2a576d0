# SPDX-License-Identifier: Apache-2.0
"""What tessera.enable() sets up, and in which order it happens.

Hooks are in place at once. The library starts, and replaces PyTorch's allocator, at the
moment at which PyTorch initialises CUDA and not before: a process that never uses a
device (a launcher, a data loader's worker) then writes no trace, and one that forks
before it trains is not spoiled by an early CUDA context.
"""

import atexit
import os
import shlex
import sys
import time
from multiprocessing.util import Finalize
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import torch

from . import allocator, engine, generation, refused, statistics, streams, workers
from .further import Further
from .library import Library, LibraryError
from .marks import Finished, Marks
from .modules import Modules
from .optimizers import Optimizers
from .say import say
from .snapshots import History
from .tensors import Tensors

Value = Union[str, int, float]

#: More than a process uses.
MOST_DEVICES = 32

#: How the library's notice ends where the plan is of another run; what to type belongs there.
RECORD_IT = "Record this run and plan it."

#: For autograd's thread, which takes the interpreter's lock once more behind each backward pass. Where the
#: interpreter ends before, PyTorch calls std::terminate(): a script that is done would end with SIGABRT.
_AUTOGRAD_ENDS_S = 0.05

#: What a dry run adds to its trace, called at the end.
before_end: List[Callable[[Library], None]] = []


def _is_dry() -> bool:
    return os.environ.get("TESSERA_DRY_RUN", "0") not in ("", "0")


def _how_to_plan() -> str:
    """What to type for a plan of the program that runs."""
    if _is_dry():
        return "A plan of this run is written at its end."
    words = getattr(sys, "orig_argv", [sys.executable, *sys.argv])
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0] or "run"
    if int(os.environ.get("WORLD_SIZE", "1") or 1) > 1:
        name, words = name + "-%r", ["torchrun", "...", *sys.argv]
    return "For a plan of this run: tessera record -o %s.tsr -- %s, then tessera plan %s.tsr -o %s.tsp" % (
        name, shlex.join(words), name, name
    )


class Session:
    """One per process; @options are keys of tessera_configure()."""

    def __init__(
        self,
        options: Dict[str, Value],
        has_modules: bool,
        stop_after: Optional[Tuple[int, int]],
        further: Optional[Further] = None,
    ):
        self._options = options
        self.library: Optional[Library] = None
        self._rank = 0  #: where the environment does not say it
        self._pid = 0  #: of the process whose memory is served
        self._is_attached = False
        self._history: Optional[History] = None
        self._further = further
        self.marks = Marks(stop_after, "plan" in options, self._on_step, further, self._on_names)
        self.tensors = Tensors(self.marks, say)
        # Names are for the trace; to follow a plan, none is asked for.
        has_names = has_modules and "record" in options
        self.modules = Modules(self.marks, has_names, say, self.tensors.called)
        self._optimizers = Optimizers(self.marks, self.tensors.stepped)

    def install_hooks(self) -> None:
        self.modules.install()
        self._optimizers.install()
        self._remove_engine = engine.install(self.marks, self.modules)
        self._remove_generation = generation.follow(self.marks)

    def remove_hooks(self) -> None:
        self.modules.remove()
        self._optimizers.remove()
        self._remove_engine()
        self._remove_generation()

    def prepare(self, library: Library) -> None:
        """The library is configured, and starts when CUDA does. Raises LibraryError."""
        for key, value in self._options.items():
            library.configure(key, value)
        library.configure("torch", torch.__version__)
        self.library = library
        self._history = history = History(library)
        self._restore_refused = refused.install(history)
        streams.install(library)
        initialise: Any = torch._C._cuda_init

        def start_and_initialise() -> None:
            setattr(torch._C, "_cuda_init", initialise)
            try:
                self._start(library, history)
            except Exception as error:
                self._restore_refused()
                say("not started, a call failed: %s: %s" % (type(error).__name__, error))
            initialise()

        setattr(torch._C, "_cuda_init", start_and_initialise)

    def _tell_rank(self, library: Library) -> None:
        """Where the environment does not say it, torch.distributed may."""
        distributed = torch.distributed
        if "RANK" in os.environ or "rank" in self._options:
            return
        if distributed.is_available() and distributed.is_initialized():
            self._rank = distributed.get_rank()
            library.configure("rank", self._rank)
            library.configure("world", distributed.get_world_size())

    def _start(self, library: Library, history: History) -> None:
        self._pid = os.getpid()
        try:
            self._tell_rank(library)
            library.start()
            if "record" in self._options and not library.is_recording():
                self.marks.go_on()  # another process records, and may need this one
            try:
                allocator.install(library)
            except LibraryError:
                library.stop()
                raise
        except LibraryError as error:
            self.library = None
            self._restore_refused()
            say("%s; PyTorch's own allocator stays" % str(error).rstrip("."))
            return
        statistics.install(library)
        self._keep_history(history.begin)  # the program may have asked for it before
        self.attach(library)
        atexit.register(self.close)
        Finalize(None, self.close, exitpriority=0)  # for a forked worker, whose end is none

    def _keep_history(self, keep: Callable[[], None]) -> None:
        """Training goes on without."""
        try:
            keep()
        except LibraryError as error:
            say("torch.cuda.memory keeps no history: %s" % error)

    def attach(self, library: Library) -> None:
        self._is_attached = True
        self.marks.attach(library)
        headroom = os.environ.get("TESSERA_HEADROOM")
        if headroom is not None:  # of a dry run: what its answer leaves to CUDA
            library.note("headroom_bytes", headroom)
        self.modules.attach(library)
        if "record" in self._options:
            self.tensors.attach(library)
        if self._further is not None and library.is_recording():
            marks = self.marks
            self._further.attach(library, lambda: marks.n_done, marks.raise_from_outside)
        self._say_notices()

    def _say_notices(self) -> None:
        if self.library is not None:
            for notice in self.library.take_notices():
                say(notice.replace(RECORD_IT, _how_to_plan()))

    def _on_step(self) -> None:
        self.modules.forget()
        if self._is_attached:
            if self._history is not None:
                self._keep_history(self._history.bound)
            self._say_notices()

    def _on_names(self, has_names: bool) -> None:
        if self.library is not None:
            self.library.leave_out_stacks(not has_names)
        self.modules.leave_out_names(not has_names)

    def _is_first(self) -> bool:
        """Of many ranks, and their workers, one speaks for all."""
        rank = self._options.get("rank", os.environ.get("RANK", self._rank))
        return str(rank) == "0" and os.getpid() == self._pid

    def _say_followed(self, library: Library) -> None:
        """What became of the plan, on the device that was used."""
        for device in range(MOST_DEVICES):
            stats = library.get_stats(device)
            n_asked = stats.hits + stats.misses
            if n_asked == 0 and not stats.plan_is_declined:
                continue
            said = "was declined"
            if not stats.plan_is_declined:
                said = "was followed by {:,} of {:,} requests".format(stats.hits, n_asked)
            if stats.barriers:
                said += ", with {:,} waits of one stream for another".format(stats.barriers)
            reserved, allocated = (peak / 2**30 for peak in statistics.peaks(library, device))
            say(
                "plan %s %s; at most %.2f GiB reserved, %.2f allocated"
                % (os.path.basename(str(self._options["plan"])), said, reserved, allocated)
            )
            return

    def close(self) -> None:
        """The trace is closed; memory goes on being served, which can't be undone."""
        self.marks.detach()
        self.modules.detach()
        self.tensors.detach()
        if self._further is not None:
            self._further.detach()
        if self.library is not None and self._is_attached:
            self._is_attached = False
            if self.library.is_recording():
                for end in before_end:
                    end(self.library)
            if self._history is not None:
                self._history.end()
            if Finished.was_raised:
                workers.end_parent()
            self.library.stop()
            self._say_notices()
            if "plan" in self._options and not _is_dry() and self._is_first():  # a dry run answers for itself
                self._say_followed(self.library)
            time.sleep(_AUTOGRAD_ENDS_S)
