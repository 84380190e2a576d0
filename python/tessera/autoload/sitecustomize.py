# SPDX-License-Identifier: Apache-2.0
"""With this folder on PYTHONPATH, `import torch` in any Python program enables Tessera as
the TESSERA_* variables ask. Another sitecustomize, if there is one, still runs."""

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
_PACKAGE = _HERE.parent


def _tessera() -> Any:
    """This very package, whatever else is called tessera where the program runs."""
    module: Any = sys.modules.get("tessera")
    if module is None:
        spec: Any = importlib.util.spec_from_file_location(
            "tessera", str(_PACKAGE / "__init__.py"), submodule_search_locations=[str(_PACKAGE)]
        )
        module = sys.modules["tessera"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def _run_other() -> None:
    """The sitecustomize that this one hides."""
    path = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        other = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(other)


try:
    if any(name.startswith("TESSERA_") for name in os.environ):
        _tessera().enable_on_import()
except Exception as error:
    sys.stderr.write("tessera: not enabled: %s: %s\n" % (type(error).__name__, error))
_run_other()
