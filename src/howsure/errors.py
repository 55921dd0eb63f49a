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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = [
    "HowsureError",
    "InputError",
    "MissingExtraError",
    "OptionError",
    "StateError",
    "closest",
    "cut_short",
    "interruption_notes",
    "keep_finished",
    "need",
    "still_wanted",
]


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
        near = closest(str(name), listed)
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


# Ctrl-C or SIGTERM during replicates: a command uses the finished ones, and its result says so.
#
# In Python an interruption raises `howsure.compute.Stopped`, which carries the finished replicates. The command line asks
# instead to keep them::
#
#     with keep_finished():
#         result = analyse(…)       # after Ctrl-C: a result from fewer replicates, with a note in its provenance


_FEWEST = 100  # replicates that still give an interval
_notes: ContextVar[list[str] | None] = ContextVar("interruptions", default=None)


@contextmanager
def keep_finished() -> Iterator[None]:
    """Within the block an interruption ends replicates early instead of losing them."""
    token = _notes.set([])
    try:
        yield
    finally:
        _notes.reset(token)


def cut_short(n_done: int, n_wanted: int, what: str = "replicates") -> bool:
    """Whether to go on with the replicates that are finished: someone asked to keep them, and they are enough.

    Enough are 100, or half of those that were wanted. The first interruption is heeded so, the second stops everything.
    """
    notes = _notes.get()
    if notes is None or notes or n_done < min(_FEWEST, n_wanted / 2):
        return False
    notes.append(f"Interrupted: {n_done:,} of {n_wanted:,} {what} were computed, and the intervals use only these.")
    return True


def still_wanted(n: int) -> int:
    """How many of `n` replicates to compute: few after an interruption, so that a command of several steps ends soon."""
    return min(n, _FEWEST) if _notes.get() else n


def interruption_notes() -> tuple[str, ...]:
    """What was cut short within the innermost `keep_finished`."""
    return tuple(_notes.get() or ())
