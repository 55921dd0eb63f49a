"""The statistics that can be tracked, one file each.

A statistic is a module here, named as in the answer's brackets, with a class ``Tracker`` (see `base`). A new one is one new file and its name in `VARIANTS`.
"""

from __future__ import annotations

import importlib
from typing import cast

from howsure.errors import OptionError
from howsure.track.game.statistics.base import Statistic, shown

__all__ = ["VARIANTS", "Statistic", "shown", "statistic"]

VARIANTS = ("median", "mode", "recall", "inversions", "spread")
"""The original two first; then those whose explicit state is no help or cannot be written down."""


def statistic(name: str) -> type[Statistic]:
    """The statistic called `name`; calling it starts a new one.

    >>> median = statistic("median")()
    >>> for number in (9, 4):
    ...     median.update(number)
    >>> median.answer(), median.render()
    (6.5, '[4, 9]')
    """
    if name not in VARIANTS:
        raise OptionError.unknown("variant", name, VARIANTS)
    return cast("type[Statistic]", importlib.import_module(f"howsure.track.game.statistics.{name}").Tracker)
