# SPDX-License-Identifier: Apache-2.0
"""Processes that a program starts by multiprocessing, in a dry run.

One that is ended once enough steps are seen never says what the one that started it may be
waiting for, a result in a queue, say. So that one ends as well, with status 0, and ends
what else it started.
"""

import multiprocessing
import os
import signal
from typing import Any

from .marks import Finished

_SIGNAL = signal.SIGUSR2
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
    """Of a worker whose trace is closed."""
    parent = multiprocessing.parent_process()
    if parent is not None and str(parent.pid) in (_inherited, os.environ.get(_PARENT)):
        try:
            os.kill(parent.pid, _SIGNAL)
        except OSError:
            pass  # it has ended


def _end(number: int, frame: Any) -> None:
    for worker in multiprocessing.active_children():
        worker.terminate()
    raise Finished()
