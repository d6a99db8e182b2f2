"""Names that a package has, and loads when they are first used.

An ``import`` of the whole vocabulary costs more than trio itself. So the packages' front doors
know where each name lives and fetch it on use; type checkers see ordinary imports.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], tuple[str, ...]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for the front door of *package*.

    Args:
        package: its name.
        modules: for each module, the names that come from it, separated by white space.
    """
    where = {name: module for module, names in modules.items() for name in names.split()}
    everything = tuple(sorted(where))

    def fetch(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(where[name]), name)
        # The next use finds it without asking.
        setattr(sys.modules[package], name, value)
        return value

    return fetch, lambda: list(everything), everything
