r"""An S-shaped curve: little happens at first, then much, then little again.

.. math:: P(n) = A - \frac{A - F}{1 + e^{k (n - m)}}

``floor`` F is where the curve comes from, ``asymptote`` A where it goes, ``midpoint`` m the attempt half-way, ``rate`` k how steep it is there.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from howsure.horizon.learning_curves.families.base import STEEPEST, Linear, first_crossing, rates
from howsure.horizon.learning_curves.kernels import EDGE, SIGMOID
from howsure.stats._arrays import Floats

__all__ = ["Logistic4"]

_FLATTEST = 0.05
_MOST_MIDPOINTS = 41


class Logistic4(Linear):
    """Four-parameter logistic curve, with its midpoint among the attempts observed."""

    name = "logistic4"
    parameters = ("floor", "asymptote", "rate", "midpoint")
    formula = "P(n) = A − (A − F) / (1 + e^(k(n − m)))"
    form = SIGMOID

    def distance(self, attempts: Floats) -> Floats:
        """The attempt itself."""
        return attempts

    def bounds(self, n_attempts: int) -> tuple[list[float], list[float]]:
        """Floor and asymptote from 0 to 1, the midpoint among the attempts."""
        return [EDGE, EDGE, np.log(_FLATTEST), 1], [1 - EDGE, 1 - EDGE, np.log(STEEPEST), max(n_attempts, 1)]

    def grid(self, n_attempts: int) -> Floats:
        """Steep curves have a hill between any two attempts: two midpoints for each."""
        midpoints = np.linspace(1, n_attempts, min(2 * n_attempts - 1, _MOST_MIDPOINTS))
        steepness = rates(2 * _FLATTEST, 0.8 * STEEPEST, 6)
        return np.ascontiguousarray(np.stack(np.meshgrid(steepness, midpoints, indexing="ij"), axis=-1))

    def natural(self, theta: Floats) -> Floats:
        """The rate instead of its logarithm."""
        return np.concatenate([theta[..., :2], np.exp(theta[..., 2:3]), theta[..., 3:]], axis=-1)

    def curve(self, parameters: Floats, attempts: Floats) -> Floats:
        """P at each of the attempts."""
        floor, asymptote, rate, midpoint = (parameters[..., i, None] for i in range(4))
        return np.asarray(asymptote - (asymptote - floor) * expit(-rate * (attempts - midpoint)))

    def reach(self, parameters: Floats, level: float) -> Floats:
        """Where n = m + log((level − F) / (A − level)) / k."""
        floor, asymptote, rate, midpoint = (parameters[..., i] for i in range(4))
        with np.errstate(all="ignore"):
            crossing = midpoint + np.log((level - floor) / (asymptote - level)) / rate
        crossing = np.where(asymptote > level, crossing, np.nan)
        return first_crossing(self.curve(parameters, np.ones(1))[..., 0], level, crossing)
