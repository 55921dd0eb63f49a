"""Three answers to "which attempt of a novice is this model worth?", one file each.

A definition is a module with

- ``horizons(drawn, model, levels)``: the horizon in attempts for each replicate and level, −∞ below the first attempt, ∞ above the last, NaN
  where there is none;
- ``last_attempt(drawn, model)``: how far it can see;
- ``UNDEFINED``: why there may be none.

All obey one law: an AI that behaves like a novice on attempt n has horizon n. And at a higher level the horizon is never larger.
"""

from __future__ import annotations

import importlib
from typing import NamedTuple, Protocol, cast

from howsure.errors import OptionError
from howsure.stats._arrays import Floats

__all__ = ["DEFINITIONS", "Definition", "Drawn", "Model", "definition"]

DEFINITIONS = ("matching", "regression", "irt")


class Drawn(NamedTuple):
    """Replicates of what novices did: ``successes`` of ``trials``, (replicates, tasks, attempts), and how much each task counts, (replicates, tasks)."""

    successes: Floats
    trials: Floats
    weights: Floats


class Model(NamedTuple):
    """A model's successes in n runs at each task; n is 0 where it never tried."""

    successes: Floats
    n: Floats


class Definition(Protocol):
    """What every module here offers."""

    UNDEFINED: str

    def last_attempt(self, drawn: Drawn, model: Model) -> float:
        """The largest horizon that can be told."""

    def horizons(self, drawn: Drawn, model: Model, levels: Floats) -> Floats:
        """The horizon in attempts, (replicates, levels)."""


def definition(name: str) -> Definition:
    """The definition called `name`."""
    if name not in DEFINITIONS:
        raise OptionError.unknown("definition", name, DEFINITIONS)
    return cast("Definition", importlib.import_module(f"howsure.horizon.attempt_horizon.definitions.{name}"))
