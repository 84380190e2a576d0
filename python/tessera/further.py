# SPDX-License-Identifier: Apache-2.0
"""A dry run that goes on once the steps of the plan are known: evaluations, other lengths
and the script's end belong to the verdict. Without stacks and names of modules, up to a
number of events or seconds, with a line of progress every two seconds."""

import ctypes
import threading
import time
from typing import Callable, Optional

from .library import Library
from .say import say

_PROGRESS_S = 2.0
#: A program that calls no module is told to end from another thread, after so long.
_PATIENCE_S = 4.0


class Further:
    """The limits; 0: there is none of that kind."""

    def __init__(self, events: int, seconds: float) -> None:
        self._events = events
        self._seconds = seconds
        self._began_s = 0.0
        self._library: Optional[Library] = None
        self._over = threading.Event()
        self._end: Callable[[], None] = lambda: None
        self._n_steps: Callable[[], int] = lambda: 0

    def attach(
        self, library: Library, n_steps: Callable[[], int], end: Callable[[], None]
    ) -> None:
        """Recording begins. @end raises in the thread that trains."""
        self._library = library
        self._n_steps = n_steps
        self._end = end
        self._began_s = time.monotonic()
        threading.Thread(target=self._watch, name="tessera", daemon=True).start()

    def detach(self) -> None:
        self._over.set()
        self._library = None

    def _n_events(self) -> int:
        return int(self._library.get_stats(0).n_events) if self._library is not None else 0

    def reached(self) -> str:
        """Which limit is reached, or ''."""
        if self._seconds and time.monotonic() - self._began_s >= self._seconds:
            return "seconds"
        return "events" if self._events and self._n_events() >= self._events else ""

    def plan_is_known(self) -> None:
        if self._library is not None:
            self._library.leave_out_stacks()

    def _watch(self) -> None:
        waited_s = 0.0
        while not self._over.wait(_PROGRESS_S) and self._library is not None:
            say(
                "%d steps, %s events in %.0f s"
                % (self._n_steps(), format(self._n_events(), ","), time.monotonic() - self._began_s)
            )
            waited_s = waited_s + _PROGRESS_S if self.reached() else 0.0
            if waited_s > _PATIENCE_S:
                self._end()


def raise_in(thread: int, error: type) -> None:
    """@error comes up in that thread, at its next line of Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
