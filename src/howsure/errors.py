"""What can go wrong in a way that a user can fix.

::

    HowsureError              shown in one line by the command line, exit code 2
    ├─ InputError           a file or table is not what it should be
    ├─ OptionError          an argument does not fit
    ├─ StateError           an estimate without a number was used as a number
    └─ MissingExtraError    an optional package is needed

Everything else is our own mistake and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["HowsureError", "InputError", "MissingExtraError", "OptionError", "StateError", "closest", "need"]


class HowsureError(Exception):
    """A problem that the user can fix; its text says what, where and how."""


class InputError(HowsureError):
    """A file or table that is not what it should be."""


class OptionError(HowsureError):
    """An argument that does not fit."""

    @classmethod
    def unknown(cls, what: str, name: str, choices: Iterable[str]) -> OptionError:
        """No `what` called `name`: the choices, closest first when one is near."""
        listed = list(choices)
        near = closest(name, listed)
        hint = f" Did you mean {near!r}?" if near else ""
        shown = ", ".join(listed[:12]) + (f", … ({len(listed)} in all)" if len(listed) > 12 else "")
        return cls(f"No {what} called {name!r}.{hint} Choose from: {shown}.")


class StateError(HowsureError, ValueError):
    """An estimate whose state is not ``ok`` was used as a number."""


class MissingExtraError(HowsureError):
    """An optional package is not installed."""


def closest(name: str, choices: Sequence[str], *, cutoff: float = 0.6) -> str | None:
    """The choice that looks most like `name`, or None when none is near: at least `cutoff` alike, from 0 to 1."""
    by_folded = {choice.casefold(): choice for choice in choices}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=cutoff)
    return by_folded[near[0]] if near else None


def need(package: str, extra: str, purpose: str) -> None:
    """Raise the install line unless `package` can be imported."""
    import importlib.util

    try:
        is_there = importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # found, but cannot be loaded
        is_there = False
    if not is_there:
        raise MissingExtraError(f"{purpose} needs the package {package!r}: pip install 'howsure[{extra}]'")
