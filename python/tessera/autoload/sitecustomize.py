# SPDX-License-Identifier: Apache-2.0
"""With this folder on PYTHONPATH, `import torch` in any Python program enables Tessera as
the TESSERA_* variables ask. Another sitecustomize, if there is one, still runs."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any, Optional

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


class _Loader(importlib.abc.Loader):
    """PyTorch's own loader, and a word when it is through."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self._loader.exec_module(module)
        try:
            _tessera().enable_from_environment()
        except Exception as error:
            sys.stderr.write("tessera: not enabled: %s: %s\n" % (type(error).__name__, error))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds torch as everybody does, once."""

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def _run_other() -> None:
    """The sitecustomize that this one hides."""
    path = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        other = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(other)


if any(name.startswith("TESSERA_") for name in os.environ):
    sys.meta_path.insert(0, _Finder())
_run_other()
