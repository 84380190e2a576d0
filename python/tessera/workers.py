# SPDX-License-Identifier: Apache-2.0
"""Processes that a program starts by multiprocessing, in a dry run.

One that is ended once enough steps are seen never says what the one that started it may be
waiting for, a result in a queue, say. So that one ends as well, with status 0, and ends
what else it started.

It is told while the trace is still being recorded: a worker that came to the file between the
end of the trace and its own would record over it.
"""

import multiprocessing
import os
import signal
import threading
from typing import Any

from .marks import Finished

_SIGNAL = signal.SIGUSR2
#: For the parent, which may be in the midst of a call that no signal interrupts.
_MOST_WAIT_S = 5.0
#: Which process understands the signal: inherited by those that it starts.
_PARENT = "TESSERA_PARENT"
_inherited = os.environ.get(_PARENT)


def install() -> None:
    try:
        signal.signal(_SIGNAL, _end)
    except ValueError:  # not the main thread: nobody is told
        return
    os.environ[_PARENT] = str(os.getpid())


def end_parent() -> None:
    """Of a worker whose trace is closed next, come what may."""
    parent = multiprocessing.parent_process()
    if parent is None or str(parent.pid) not in (_inherited, os.environ.get(_PARENT)):
        return
    was_ended = threading.Event()
    try:
        signal.signal(signal.SIGTERM, lambda number, frame: was_ended.set())
        os.kill(parent.pid, _SIGNAL)
    except (ValueError, OSError):
        return  # not the main thread, which alone is safe from the signal; or it has ended
    was_ended.wait(_MOST_WAIT_S)  # with the other workers; this one still ends by itself


def _end(number: int, frame: Any) -> None:
    for worker in multiprocessing.active_children():
        worker.terminate()
    raise Finished()
