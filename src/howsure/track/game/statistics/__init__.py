"""What can be tracked. Statistics of numbers have a file each, other states are in `worlds`.

A new one is a class (see `base`) and its name in `VARIANTS`. The size of a state is part of the variant's name: ``boxes-12`` has twelve boxes, ``boxes`` its
usual seven.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import cast

from howsure.errors import OptionError
from howsure.track.game.statistics.base import Statistic, Step, Update, shown

__all__ = ["VARIANTS", "Statistic", "Step", "Update", "shown", "statistic", "usual_name"]

_HOMES = {
    "median": "median:Tracker",
    "mode": "mode:Tracker",
    "inversions": "inversions:Tracker",
    "spread": "spread:Tracker",
    "lookback": "lookback:Tracker",
    "permutation": "worlds:Permutation",
    "boxes": "worlds:Boxes",
    "sums": "worlds:Sums",
    "automaton": "worlds:Automaton",
    "repl": "worlds:Repl",
    "ledger": "worlds:Ledger",
}
VARIANTS = tuple(_HOMES)
"""The original two first; then statistics whose explicit state is no help or cannot be written down; then states of other kinds."""


@cache
def statistic(name: str) -> type[Statistic]:
    """The statistic called `name`; calling it starts a new one.

    >>> median = statistic("median")()
    >>> for number in (9, 4):
    ...     median.update(number)
    >>> median.answer(), median.render()
    (6.5, '[4, 9]')
    >>> statistic("boxes-12").size
    12
    """
    word, _, size = name.partition("-")
    if word not in _HOMES:
        raise OptionError.unknown("variant", name, VARIANTS)
    module, _, kind = _HOMES[word].partition(":")
    whole = importlib.import_module(f"howsure.track.game.statistics.{module}")
    found = cast("type[Statistic]", getattr(whole, kind))
    least, most = found.sizes
    if size:
        if not most or not re.fullmatch(r"[1-9]\d{0,2}", size) or not least <= int(size) <= most:
            what = f"Give a size from {least} to {most}, as in {word}-{found.size}" if most else f"Write {word}"
            raise OptionError(f"There is no variant {name!r}. {what}.")
        found = type(found.__name__, (found,), {"size": int(size)})
    if most:  # a worked example of its own size, from a sequence that no game has
        found = type(
            found.__name__, (found,), {"example": tuple(found.updates(10**6, 3, 0, 0)), "__doc__": found.__doc__}
        )
    return found


def usual_name(name: str) -> str:
    """The variant's name without a size that is its usual one.

    >>> usual_name("boxes-7"), usual_name("boxes-8")
    ('boxes', 'boxes-8')
    """
    word = name.partition("-")[0]
    return word if statistic(name).size == statistic(word).size else name
