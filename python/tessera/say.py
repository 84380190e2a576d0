# SPDX-License-Identifier: Apache-2.0
"""One sentence for the person who runs the training, on stderr."""

import os
import sys

_is_quiet = False


def be_quiet(is_quiet: bool) -> None:
    """From here on nothing is said, or, by ``False``, everything again."""
    global _is_quiet
    _is_quiet = is_quiet


def say(sentence: str) -> None:
    """Print ``tessera: SENTENCE``. A closed stderr is nobody's business."""
    if _is_quiet or os.environ.get("TESSERA_QUIET", "0") not in ("", "0"):
        return
    try:
        sys.stderr.write("tessera: %s\n" % sentence)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass
