"""Ctrl-C or SIGTERM during replicates: a command uses the finished ones, and its result says so.

In Python an interruption raises `howsure.compute.Stopped`, which carries the finished replicates. The command line asks
instead to keep them::

    with keep_finished():
        result = analyse(…)       # after Ctrl-C: a result from fewer replicates, with a note in its provenance
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["cut_short", "interruption_notes", "keep_finished", "still_wanted"]

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


def cut_short(n_done: int, n_wanted: int) -> bool:
    """Whether to go on with the replicates that are finished: someone asked to keep them, and they are enough.

    Enough are 100, or half of those that were wanted. The first interruption is heeded so, the second stops everything.
    """
    notes = _notes.get()
    if notes is None or notes or n_done < min(_FEWEST, n_wanted / 2):
        return False
    notes.append(f"Interrupted: {n_done:,} of {n_wanted:,} replicates were computed, and the intervals use only these.")
    return True


def still_wanted(n: int) -> int:
    """How many of `n` replicates to compute: few after an interruption, so that a command of several steps ends soon."""
    return min(n, _FEWEST) if _notes.get() else n


def interruption_notes() -> tuple[str, ...]:
    """What was cut short within the innermost `keep_finished`."""
    return tuple(_notes.get() or ())
