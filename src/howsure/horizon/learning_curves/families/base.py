"""What every family of learning curves does: fit, draw the curve, say when it reaches a level."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from howsure.stats._arrays import Floats

__all__ = ["FEWEST", "STEEPEST", "CurveFamily", "Fit", "Linear", "first_crossing", "rates"]

FEWEST, STEEPEST = 1e-3, 10.0
"""The bounds of a rate: with the first nothing is learned in a hundred attempts, with the last all in one."""

_GRID = 24


class _Care(NamedTuple):
    """How many hills of the likelihood are climbed, and how many nats a further step must be worth."""

    most_hills: int
    least_gain: float


_CAREFUL = _Care(4, 1e-10)
_ROUGH = _Care(2, 1e-5)


class Fit(NamedTuple):
    """Parameters of each row, and the log-likelihood at them; NaN where there was no answer."""

    parameters: Floats
    log_likelihood: Floats


class CurveFamily(ABC):
    """A family of curves P(n); ``parameters`` name what a fit gives for each task."""

    name: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]]
    formula: ClassVar[str]

    @abstractmethod
    def fit(self, successes: Floats, trials: Floats, *, is_rough: bool = False) -> Fit:
        """The maximum of the binomial likelihood for each row of successes and trials by attempt.

        ``is_rough`` is several times quicker and good for replicates: within 1e-5 nats of the maximum, but for a lower hill in 1 of 100.
        """

    @abstractmethod
    def curve(self, parameters: Floats, attempts: Floats) -> Floats:
        """P at each of the attempts, (…, attempts)."""

    @abstractmethod
    def reach(self, parameters: Floats, level: float) -> Floats:
        """The attempt at which P reaches `level`: −∞ where it is above at the first attempt, ∞ where it never does."""

    def n_parameters(self, parameters: Floats) -> Floats:
        """How many parameters AIC charges for each row."""
        return np.full(parameters.shape[:-1], float(len(self.parameters)))


class Linear(CurveFamily):
    """Families that `curve_kernels` fits, in θ; ``form`` says how P depends on it."""

    form: ClassVar[int]

    def fit(self, successes: Floats, trials: Floats, *, is_rough: bool = False) -> Fit:
        """The best of all hills of the likelihood."""
        from howsure.horizon.learning_curves.kernels import fit_many

        n_attempts = trials.shape[-1]
        low, high = (np.array(bound, dtype=np.float64) for bound in self.bounds(n_attempts))
        distance = self.distance(np.arange(1.0, n_attempts + 1))
        good, all_ = (np.ascontiguousarray(array, dtype=np.float64) for array in (successes, trials))
        grid = np.ascontiguousarray(self.grid(n_attempts)[:, :: 2 if is_rough else 1])
        most, least = _ROUGH if is_rough else _CAREFUL
        theta, value = fit_many(self.form, distance, good, all_, low, high, grid, most, least)
        return Fit(self.natural(theta), value)

    @abstractmethod
    def distance(self, attempts: Floats) -> Floats:
        """How far an attempt is from the first, on the family's own scale."""

    @abstractmethod
    def bounds(self, n_attempts: int) -> tuple[list[float], list[float]]:
        """The lowest and highest θ."""

    @abstractmethod
    def natural(self, theta: Floats) -> Floats:
        """Parameters as people know them, from θ."""

    def grid(self, n_attempts: int) -> Floats:
        """Shapes to search from; none where the likelihood is concave."""
        return np.zeros((1, 1, 0))


def rates(low: float, high: float, n: int = _GRID) -> Floats:
    """Logarithms of rates to search from."""
    return np.linspace(np.log(low), np.log(high), n)


def first_crossing(first: Floats, level: float, crossing: Floats) -> Floats:
    """The crossing, or −∞ where the curve begins above the level; where it is not a number the level is never reached."""
    reached = np.where(np.isnan(crossing), np.inf, crossing)
    told = np.where(first > level, -np.inf, np.where(first == level, 1.0, reached))
    return np.where(np.isnan(first), np.nan, told)
