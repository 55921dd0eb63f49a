"""Public names that are imported when they are first asked for, so that a package costs nothing to import."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["lazily"]


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's ``__getattr__``: name → the module that holds it, as ``module`` or, under another name there, ``module:name``.

    A name without one (``""``) is a module itself.
    """

    def find(name: str) -> Any:
        if name not in homes:
            import difflib

            like = difflib.get_close_matches(name, homes, n=1)
            hint = f". Did you mean {like[0]!r}?" if like else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        home = homes[name]
        if not home:
            return importlib.import_module(f"{package}.{name}")
        module, _, known_as = home.partition(":")
        return getattr(importlib.import_module(f"{package}.{module}"), known_as or name)

    return find
