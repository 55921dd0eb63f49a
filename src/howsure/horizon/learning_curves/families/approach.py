r"""Curves that approach an asymptote: exponentially, or by a power of the attempt.

.. math:: P(n) = A - (A - P_1) e^{-\lambda d(n)}, \qquad d(n) = n - 1 \text{ or } \log n

``first`` P₁ is success on the first attempt, ``asymptote`` A after endless practice, ``rate`` λ per attempt (exponential) or the
exponent (power: P = A − (A − P₁) n^−λ). Curves may also fall, where A is below P₁.
"""

from __future__ import annotations

import numpy as np

from howsure.horizon.learning_curves.families.base import FEWEST, STEEPEST, Linear, first_crossing, rates
from howsure.horizon.learning_curves.kernels import APPROACH, EDGE
from howsure.stats._arrays import Floats

__all__ = ["Exponential", "Power3", "to_base_rate"]


class _Approach(Linear):
    parameters = ("first", "asymptote", "rate")
    form = APPROACH

    def bounds(self, n_attempts: int) -> tuple[list[float], list[float]]:
        """P₁ and A from 0 to 1."""
        return [EDGE, EDGE, np.log(FEWEST)], [1 - EDGE, 1 - EDGE, np.log(STEEPEST)]

    def grid(self, n_attempts: int) -> Floats:
        """Rates from hardly any learning to all at once."""
        return rates(10 * FEWEST, 0.8 * STEEPEST).reshape(1, -1, 1)

    def natural(self, theta: Floats) -> Floats:
        """The rate instead of its logarithm."""
        return np.concatenate([theta[..., :2], np.exp(theta[..., 2:])], axis=-1)

    def curve(self, parameters: Floats, attempts: Floats) -> Floats:
        """P at each of the attempts."""
        first, asymptote, rate = (parameters[..., i, None] for i in range(3))
        return np.asarray(asymptote - (asymptote - first) * np.exp(-rate * self.distance(attempts)))

    def reach(self, parameters: Floats, level: float) -> Floats:
        """Where the distance is log((A − P₁) / (A − level)) / λ."""
        first, asymptote, rate = (parameters[..., i] for i in range(3))
        with np.errstate(all="ignore"):
            way = np.log((asymptote - first) / (asymptote - level)) / rate
        return first_crossing(first, level, self._attempt(np.where(asymptote > level, way, np.nan)))

    def _attempt(self, distance: Floats) -> Floats:
        raise NotImplementedError


class Exponential(_Approach):
    """Exponential approach: each attempt closes the same share of the gap that is left."""

    name = "exponential"
    formula = "P(n) = A − (A − P₁)·e^(−λ(n − 1))"

    def distance(self, attempts: Floats) -> Floats:
        """Attempts after the first."""
        return attempts - 1

    def _attempt(self, distance: Floats) -> Floats:
        return 1 + distance


class Power3(_Approach):
    """Power law with an asymptote: the gap shrinks by the same factor with each doubling of the attempts."""

    name = "power3"
    formula = "P(n) = A − (A − P₁)·n^(−λ)"

    def distance(self, attempts: Floats) -> Floats:
        """The logarithm of the attempt."""
        return np.log(attempts)

    def _attempt(self, distance: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(distance)


def to_base_rate(first: Floats | float, asymptote: Floats | float, rate: Floats | float) -> tuple[Floats, Floats]:
    r"""The same exponential curve as ``base_rate`` and ``learning_gain``, whose rate is the same.

    .. math:: P(n) = \text{base} + \text{gain} (1 - e^{-\lambda n})

    The base rate is P(0), before any attempt: it lies below success on the first attempt, and may be below 0.
    """
    base = asymptote - (np.asarray(asymptote) - first) * np.exp(rate)
    return base, asymptote - base
