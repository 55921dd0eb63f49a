"""Families of learning curves: one file per form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import expit, logit, xlog1py, xlogy

from howsure.compiled import kernel
from howsure.errors import OptionError
from howsure.horizon.learning_curves.kernels import APPROACH, EDGE, FAILURE, ODDS, SIGMOID
from howsure.stats._arrays import Floats

__all__ = [
    "CONTEST",
    "FAMILIES",
    "FEWEST",
    "STEEPEST",
    "CurveFamily",
    "Exponential",
    "Fit",
    "Isotonic",
    "Linear",
    "Logistic4",
    "LogitLog",
    "Power3",
    "PowerLaw",
    "family_of",
    "first_crossing",
    "rates",
    "to_base_rate",
]


# What every family of learning curves does: fit, draw the curve, say when it reaches a level.


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


# Curves that approach an asymptote: exponentially, or by a power of the attempt.
#
# .. math:: P(n) = A - (A - P_1) e^{-\lambda d(n)}, \qquad d(n) = n - 1 \text{ or } \log n
#
# ``first`` P₁ is success on the first attempt, ``asymptote`` A after endless practice, ``rate`` λ per attempt (exponential) or the
# exponent (power: P = A − (A − P₁) n^−λ). Curves may also fall, where A is below P₁.


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


# Whatever rises: the success rates, attempt by attempt, that fit best among those that never fall.


class Isotonic(CurveFamily):
    """One level an attempt, none below the one before; between attempts the curve runs straight over log n, and stays level after the last.

    AIC charges one parameter for each distinct level, which is the expected number of degrees of freedom (Meyer and Woodroofe 2000).
    """

    name = "isotonic"
    parameters = ()
    formula = "P(1) ≤ P(2) ≤ …"

    def fit(self, successes: Floats, trials: Floats, *, is_rough: bool = False) -> Fit:
        """Pool neighbours that fall."""
        good, all_ = (np.ascontiguousarray(array, dtype=np.float64) for array in (successes, trials))
        levels = _pool(good, all_)
        terms = xlogy(good, levels) + xlog1py(all_ - good, -levels)
        return Fit(levels, np.where(np.isnan(levels[:, 0]), np.nan, np.nansum(terms, axis=1)))

    def curve(self, parameters: Floats, attempts: Floats) -> Floats:
        """P at each of the attempts."""
        knots, places = np.log(np.arange(1.0, parameters.shape[-1] + 1)), np.log(attempts)
        right = np.clip(np.searchsorted(knots, places), 1, max(len(knots) - 1, 1))
        if len(knots) == 1:
            return np.repeat(parameters, len(places), axis=-1)
        part = np.clip((places - knots[right - 1]) / (knots[right] - knots[right - 1]), 0, 1)
        return np.asarray(parameters[..., right - 1] * (1 - part) + parameters[..., right] * part)

    def reach(self, parameters: Floats, level: float) -> Floats:
        """Between the last attempt below the level and the first at it."""
        knots = np.log(np.arange(1.0, parameters.shape[-1] + 1))
        is_there = parameters >= level
        right = np.maximum(is_there.argmax(axis=-1), 1) if len(knots) > 1 else np.zeros(parameters.shape[:-1], np.int64)
        left = np.maximum(right - 1, 0)
        low, high = (np.take_along_axis(parameters, place[..., None], axis=-1)[..., 0] for place in (left, right))
        with np.errstate(all="ignore"):
            way = np.where(high > low, (level - low) / (high - low), 0.0)
        crossing = np.exp(knots[left] + way * (knots[right] - knots[left]))
        return first_crossing(parameters[..., 0], level, np.where(is_there.any(axis=-1), crossing, np.nan))

    def n_parameters(self, parameters: Floats) -> Floats:
        """Distinct levels."""
        return np.asarray(1.0 + (np.diff(parameters, axis=-1) > 0).sum(axis=-1))


@kernel
def _pool(successes: Floats, trials: Floats) -> Floats:
    """The shares, attempt by attempt, that fit best and never fall, for each row: neighbours that fall are pooled.

    Attempts without trials have the level of the one before.
    """
    levels = np.full(trials.shape, np.nan)
    good, all_, size = np.empty(trials.shape[1]), np.empty(trials.shape[1]), np.empty(trials.shape[1], np.int64)
    for row in range(len(trials)):
        if trials[row].sum() == 0.0:
            continue
        n = 0
        for k in range(trials.shape[1]):
            good[n], all_[n], size[n] = successes[row, k], trials[row, k], 1
            while n > 0 and good[n - 1] * all_[n] >= good[n] * all_[n - 1]:
                good[n - 1] += good[n]
                all_[n - 1] += all_[n]
                size[n - 1] += size[n]
                n -= 1
            n += 1
        k = 0
        for block in range(n):
            levels[row, k : k + size[block]] = good[block] / all_[block]
            k += size[block]
    return levels


# An S-shaped curve: little happens at first, then much, then little again.
#
# .. math:: P(n) = A - \frac{A - F}{1 + e^{k (n - m)}}
#
# ``floor`` F is where the curve comes from, ``asymptote`` A where it goes, ``midpoint`` m the attempt half-way, ``rate`` k how steep it is there.


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


# Curves of two parameters: success on the first attempt, and how fast it grows with log n.
#
# .. math:: 1 - P(n) = (1 - P_1) n^{-\beta}, \qquad \operatorname{logit} P(n) = \operatorname{logit} P_1 + \gamma \log n
#
# ``first`` is P₁ in both; ``rate`` is β (power: failures fall by a power of the attempt) or γ (logit-log: the odds grow by one).


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


CONTEST = ("power", "logit-log", "exponential", "power3", "logistic4")
"""Those that compete by AIC, the quickest to fit first. The isotonic curve does not: how many parameters it has depends on the data, and it says nothing beyond them."""

FAMILIES: Mapping[str, CurveFamily] = {
    family.name: family for family in (Exponential(), PowerLaw(), Power3(), LogitLog(), Logistic4(), Isotonic())
}


def family_of(name: str) -> CurveFamily:
    """The family called `name`."""
    if name not in FAMILIES:
        raise OptionError.unknown("curve", name, FAMILIES)
    return FAMILIES[name]
