# SPDX-License-Identifier: Apache-2.0
"""Does something right after a module was imported, whoever imports it."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from typing import Any, Callable, Dict, List, Optional

from .say import say

Action = Callable[[], Any]


def _do(action: Action) -> None:
    try:
        action()
    except Exception as error:
        say("not enabled, a call failed: %s: %s" % (type(error).__name__, error))


class _Loader(importlib.abc.Loader):
    """The module's own loader, and the actions when it is through."""

    def __init__(self, loader: Any, actions: List[Action]) -> None:
        self._loader = loader
        self._actions = actions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self._loader.exec_module(module)
        for action in self._actions:
            _do(action)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds modules as everybody else does."""

    def __init__(self) -> None:
        self._actions: Dict[str, List[Action]] = {}

    def add(self, name: str, action: Action) -> None:
        self._actions.setdefault(name, []).append(action)

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        actions = self._actions.pop(name, None)
        if actions is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, actions)
        return spec


_finder = _Finder()


def after_import(name: str, action: Action) -> None:
    """Calls @action when module @name has been imported; at once if it was before. What
    fails in it is a sentence."""
    if name in sys.modules:
        _do(action)
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.add(name, action)
