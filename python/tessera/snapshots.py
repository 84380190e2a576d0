# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.memory_snapshot() and _dump_snapshot(), answered from a recording.

PyTorch has no snapshot of an allocator that is not its own. The command exports what was
recorded so far as the pickle that PyTorch would have written, and that is read back. Where
the run is not recorded, a history that the program asks for is: in a folder for temporary
files, from the call on.
"""

import os
import pickle
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, Optional

from .library import Library, LibraryError

#: The command that started this program says where it is.
COMMAND = "TESSERA_COMMAND"


def _environment() -> Dict[str, str]:
    """Without what a dry run preloads: the export is no part of the program."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


#: Some 400 MB, which a history may fill before it begins anew where a step ends: PyTorch's
#: own is bounded by the host's memory, or by max_entries.
MOST_EVENTS = 10_000_000


def _read(library: Library) -> Dict[str, Any]:
    """What is recorded now. Raises LibraryError where the export fails."""
    trace = library.trace_path()
    command = os.environ.get(COMMAND) or shutil.which("tessera")
    if command is None:
        raise LibraryError("the command `tessera`, which makes snapshots of a trace, is not on PATH")
    library.flush()
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        written = Path(folder) / "snapshot.pickle"
        words = [command, "export", str(trace), "-t", "snapshot", "-o", str(written)]
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, env=_environment(),
            )
        except OSError as error:
            raise LibraryError("%s does not start: %s" % (command, error.strerror)) from None
        if done.returncode != 0:
            raise LibraryError(done.stderr.decode("utf-8", "replace").strip())
        with written.open("rb") as file:
            snapshot: Dict[str, Any] = pickle.load(file)
            return snapshot


class History:
    """What the program asks for by _record_memory_history()."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._folder: Optional[str] = None  #: of the trace that is this history's own
        self._pid = 0  #: of the process whose it is: a forked child leaves it alone
        self._stacks: Optional[bool] = None  #: None: no history is wanted

    def want(self, enabled: Any = "all", context: Any = "all", *_: Any, **__: Any) -> None:
        """The arguments are those of PyTorch's function, of the legacy one too."""
        self._stacks = bool(context) if enabled else None
        if self._stacks is None:
            self.end()
        else:
            self.begin()

    def begin(self) -> None:
        """Also once the library serves. Raises LibraryError where it can't be written."""
        if self._stacks is not None and self._library.is_serving() and not self._library.is_recording():
            self._record(self._stacks)

    def _record(self, stacks: bool) -> None:
        try:
            self._folder = tempfile.mkdtemp(prefix="tessera-history-")
        except OSError as error:
            raise LibraryError("no folder for it can be made: %s" % error) from None
        self._pid = os.getpid()
        try:
            self._library.record(os.path.join(self._folder, "history.tsr"), stacks)
        except LibraryError:
            self.end()
            raise

    def bound(self) -> None:
        """Called where a step ends. Raises LibraryError where it can't begin anew."""
        if self._folder is not None and self._library.get_stats(0).n_events > MOST_EVENTS:
            self.end()
            self.begin()

    def end(self) -> None:
        """Of this history; what the run itself records goes on."""
        if self._folder is not None and self._pid == os.getpid():
            self._library.stop()
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def read(self) -> Optional[Dict[str, Any]]:
        """With what is held now alone where nothing is recorded. None: nothing is served
        yet. Raises LibraryError."""
        if self._library.is_recording():
            return _read(self._library)
        if not self._library.is_serving():
            return None
        self._record(False)
        try:
            self._library.mark("snapshot")  # a trace has events
            return _read(self._library)
        finally:
            self.end()
