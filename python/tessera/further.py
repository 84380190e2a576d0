# SPDX-License-Identifier: Apache-2.0
"""A dry run that goes on once some whole steps are known: evaluations, other lengths and the
script's end belong to the plan and the verdict. Without stacks and names of modules, but for
evaluations, up to a number of events or seconds, with a line of progress every two seconds.

A loop whose end hangs on a value of the device may never end where nothing is computed:
one that makes no step within the limit, or asks the device over and over without asking
for memory, is ended and its line is named."""

import ctypes
import os
import threading
import time
from typing import Callable, Optional

from .lacking import place_of
from .library import Library
from .say import say

_PROGRESS_S = 2.0
#: A program that calls no module is told to end from another thread, after so long.
_PATIENCE_S = 4.0
#: Of a program that does no step; also what the command line takes by default.
_MOST_EVENTS = 2000000
#: So long without an event, while the device is given this much to do (in its own time).
_IDLE_S = 60.0
_IDLE_DEVICE_NS = 1e9


class Further:
    """The limits; 0: there is none of that kind. Without @goes_on they are for a program
    that never comes to these steps, and its end is there."""

    @classmethod
    def of(cls, events: int, seconds: float) -> Optional["Further"]:
        if events or seconds:
            return cls(events, seconds)
        is_dry = os.environ.get("TESSERA_DRY_RUN", "0") not in ("", "0")
        return cls(_MOST_EVENTS, 0, goes_on=False) if is_dry else None

    def __init__(self, events: int, seconds: float, goes_on: bool = True) -> None:
        self.goes_on = goes_on
        self._events = events
        self._seconds = seconds
        self._began_s = 0.0
        self._library: Optional[Library] = None
        self._over = threading.Event()
        self._is_stuck = False
        self._device_ns: Optional[Callable[[], float]] = None
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
        self._device_ns = getattr(ctypes.CDLL(None), "nullcuda_now_ns", None)
        if self._device_ns is not None:
            setattr(self._device_ns, "restype", ctypes.c_double)
        threading.Thread(target=self._watch, name="tessera", daemon=True).start()

    def detach(self) -> None:
        self._over.set()
        self._library = None

    def _n_events(self) -> int:
        return int(self._library.get_stats(0).n_events) if self._library is not None else 0

    def reached(self) -> str:
        """Which limit is reached, or ''."""
        if self._is_stuck:
            return "values"
        if self._seconds and time.monotonic() - self._began_s >= self._seconds:
            return "seconds"
        return "events" if self._events and self._n_events() >= self._events else ""

    def tell(self, why: str, n_steps: int, thread: int) -> None:
        """Names the line, where it is what to look at."""
        if why == "values":
            say(
                "%sfor %.0f s the device was given work and asked for no memory: if this loop waits "
                "for a value of the device, which nothing computes here, it needs an end of its "
                "own, such as a greatest count; else say how long to go on (--for SECONDS)"
                % (place_of(thread), _IDLE_S)
            )
        elif not n_steps:
            say(
                "%sno optimizer stepped in %s events: if this loop waits for a value of the device, "
                "which nothing computes here, it needs an end of its own, such as a greatest "
                "length; else raise --events" % (place_of(thread), format(self._n_events(), ","))
            )

    def _watch(self) -> None:
        waited_s = 0.0
        idle_since = (-1, 0.0, 0.0)  # events, seconds, time of the device
        while not self._over.wait(_PROGRESS_S) and self._library is not None:
            n_steps = self._n_steps()
            progress = "%d step%s, %s events in %.0f s" % (
                n_steps,
                "" if n_steps == 1 else "s",
                format(self._n_events(), ","),
                time.monotonic() - self._began_s,
            )
            if self.goes_on:
                say(progress)
            now = (self._n_events(), time.monotonic(), self._device_ns() if self._device_ns else 0)
            if now[0] != idle_since[0]:
                idle_since = now
            is_idle = now[1] - idle_since[1] > _IDLE_S
            if is_idle and now[2] - idle_since[2] > _IDLE_DEVICE_NS and not self._seconds:
                self._is_stuck = True
                waited_s = _PATIENCE_S
            waited_s = waited_s + _PROGRESS_S if self.reached() else 0.0
            if waited_s > _PATIENCE_S:
                self._end()


def raise_in(thread: int, error: type) -> None:
    """@error comes up in that thread, at its next line of Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
