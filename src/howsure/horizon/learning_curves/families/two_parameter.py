r"""Curves of two parameters: success on the first attempt, and how fast it grows with log n.

.. math:: 1 - P(n) = (1 - P_1) n^{-\beta}, \qquad \operatorname{logit} P(n) = \operatorname{logit} P_1 + \gamma \log n

``first`` is P₁ in both; ``rate`` is β (power: failures fall by a power of the attempt) or γ (logit-log: the odds grow by one).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from howsure.horizon.learning_curves.families.base import STEEPEST, Linear, first_crossing
from howsure.horizon.learning_curves.kernels import FAILURE, ODDS
from howsure.stats._arrays import Floats

__all__ = ["LogitLog", "PowerLaw"]

_CERTAIN = 20.0  # e^−20: chances beyond it are 0 or 1


class _TwoParameters(Linear):
    parameters = ("first", "rate")

    def distance(self, attempts: Floats) -> Floats:
        """The logarithm of the attempt."""
        return np.log(attempts)


class PowerLaw(_TwoParameters):
    """Power law of practice: failures fall by the same factor with each doubling of the attempts, down to none."""

    name = "power"
    formula = "P(n) = 1 − (1 − P₁)·n^(−β)"
    form = FAILURE

    def bounds(self, n_attempts: int) -> tuple[list[float], list[float]]:
        """Failures never grow."""
        return [-_CERTAIN, 0.0], [0.0, STEEPEST]

    def natural(self, theta: Floats) -> Floats:
        """P₁ from log(1 − P₁)."""
        return np.stack([-np.expm1(theta[..., 0]), theta[..., 1]], axis=-1)

    def curve(self, parameters: Floats, attempts: Floats) -> Floats:
        """P at each of the attempts."""
        first, rate = parameters[..., 0, None], parameters[..., 1, None]
        return np.asarray(1 - (1 - first) * np.exp(-rate * np.log(attempts)))

    def reach(self, parameters: Floats, level: float) -> Floats:
        """Where n = ((1 − P₁) / (1 − level))^(1/β)."""
        first, rate = parameters[..., 0], parameters[..., 1]
        with np.errstate(all="ignore"):
            crossing = np.exp(np.log((1 - first) / (1 - level)) / rate)
        return first_crossing(first, level, crossing)


class LogitLog(_TwoParameters):
    """Log-odds of success grow in proportion to log n; they may also fall."""

    name = "logit-log"
    formula = "logit P(n) = logit P₁ + γ·log n"
    form = ODDS

    def bounds(self, n_attempts: int) -> tuple[list[float], list[float]]:
        """As far as chances differ from 0 and 1."""
        return [-_CERTAIN, -_CERTAIN], [_CERTAIN, _CERTAIN]

    def natural(self, theta: Floats) -> Floats:
        """P₁ from its log-odds."""
        return np.stack([expit(theta[..., 0]), theta[..., 1]], axis=-1)

    def curve(self, parameters: Floats, attempts: Floats) -> Floats:
        """P at each of the attempts."""
        first, rate = parameters[..., 0, None], parameters[..., 1, None]
        return np.asarray(expit(logit(first) + rate * np.log(attempts)))

    def reach(self, parameters: Floats, level: float) -> Floats:
        """Where log n = (logit level − logit P₁) / γ."""
        first, rate = parameters[..., 0], parameters[..., 1]
        with np.errstate(all="ignore"):
            crossing = np.exp((logit(level) - logit(first)) / np.where(rate > 0, rate, np.nan))
        return first_crossing(first, level, crossing)
