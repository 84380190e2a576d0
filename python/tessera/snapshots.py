# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.memory_snapshot() and _dump_snapshot(), answered from the recording.

PyTorch has no snapshot of an allocator that is not its own. The command exports what was
recorded so far as the pickle that PyTorch would have written, and that is read back.
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


def read(library: Library) -> Optional[Dict[str, Any]]:
    """None: nothing is recorded here. Raises LibraryError where the export fails."""
    trace = library.trace_path()
    if trace is None:
        return None
    command = os.environ.get(COMMAND) or shutil.which("tessera")
    if command is None:
        raise LibraryError("the command `tessera`, which makes snapshots of a trace, is not on PATH")
    library.flush()
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        written = Path(folder) / "snapshot.pickle"
        words = [command, "export", trace, "-t", "snapshot", "-o", str(written)]
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
