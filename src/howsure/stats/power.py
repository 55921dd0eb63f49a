"""Power of a comparison of two models, before it is run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import nctdtr, nctdtrinc, ndtri

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.stats._arrays import Floats, check_level, t_quantile

__all__ = ["PairedDesign", "Pilot", "items_needed", "minimum_detectable_effect", "power"]

_MOST_ITEMS = 10**9


@dataclass(frozen=True)
class PairedDesign:
    r"""Two models on the same items, each item tried several times: where the variance of their difference comes from.

    .. math:: se^2 = \frac{\omega^2 + \sigma_A^2 / K_A + \sigma_B^2 / K_B}{n} \, \big(1 + (m - 1)\rho\big)

    ``between`` ω² is the variance over items of the difference of the models' expected scores, ``within_a`` and ``within_b`` σ²
    the variance of one model's score from one try at an item to the next, ``epochs_a`` and ``epochs_b`` K the tries an item.
    Items come in clusters of ``cluster_size`` m on average, whose differences correlate by ``cluster_correlation`` ρ.
    Miller (2024), *Adding error bars to evals*.
    """

    between: float
    within_a: float
    within_b: float
    epochs_a: int = 1
    epochs_b: int = 1
    cluster_size: float = 1.0
    cluster_correlation: float = 0.0

    def __post_init__(self) -> None:
        if min(self.between, self.within_a, self.within_b) < 0:
            raise OptionError("A variance is below 0. Give variances from 0.")
        if min(self.epochs_a, self.epochs_b, self.cluster_size) < 1:
            raise OptionError("Epochs and cluster_size begin at 1.")
        if not 0 <= self.cluster_correlation <= 1:
            raise OptionError(f"cluster_correlation {self.cluster_correlation} is not between 0 and 1.")

    @classmethod
    def of_accuracies(
        cls,
        accuracy_a: float,
        accuracy_b: float,
        *,
        correlation: float = 0.5,
        share_between: float = 0.5,
        epochs: int = 1,
        cluster_size: float = 1.0,
        cluster_correlation: float = 0.0,
    ) -> PairedDesign:
        """The comparison of two accuracies of right-or-wrong answers.

        ``share_between`` is how much of p(1 − p) lies between items: 1 if a model always or never solves an item, 0 if all items
        are equally hard (`howsure.stats.coverage.split` measures it). ``correlation`` is that of the models' chances across
        items; 0 also stands for different items. ``epochs`` are tries of each model at each item.
        """
        for name, share in (("accuracy_a", accuracy_a), ("accuracy_b", accuracy_b), ("share_between", share_between)):
            if not 0 <= share <= 1:
                raise OptionError(f"{name} {share} is not between 0 and 1. Divide percentages by 100.")
        if not -1 <= correlation <= 1:
            raise OptionError(f"correlation {correlation} is not between −1 and 1.")
        a, b = accuracy_a * (1 - accuracy_a), accuracy_b * (1 - accuracy_b)
        between = share_between * (a + b - 2 * correlation * math.sqrt(a * b))
        within = 1 - share_between
        # equal models with correlation 1 leave a rounding error below 0
        return cls(max(between, 0.0), within * a, within * b, epochs, epochs, cluster_size, cluster_correlation)

    @property
    def variance(self) -> float:
        """Variance that one item brings to the mean difference, clustering included."""
        noise = self.within_a / self.epochs_a + self.within_b / self.epochs_b
        return (self.between + noise) * (1 + (self.cluster_size - 1) * self.cluster_correlation)

    def se(self, n_items: float) -> float:
        """Standard error of the mean difference over `n_items`."""
        return math.sqrt(self.variance / n_items)

    def df(self, n_items: float) -> float:
        """Degrees of freedom of a t test over clusters."""
        return max(n_items / self.cluster_size - 1, 1.0)


@dataclass(frozen=True)
class Pilot:
    r"""The variances of a comparison as a pilot estimates them, with their uncertainty.

    ``total`` is the variance over items of the difference of the two models' item means, ``within_a`` and ``within_b`` the
    variances from one attempt at an item to the next, each with its degrees of freedom; ``inverse_a`` and ``inverse_b`` are the
    means over items of 1/attempts in the pilot. The variance between items is what is left:

    .. math:: \omega^2 = V - \sigma_A^2 \overline{1/K_A} - \sigma_B^2 \overline{1/K_B}

    A small pilot cannot tell it from 0, and a plan that trusts the point estimate has too little power. So power is the
    mean over draws of the variances, V·df/χ² and so on (the generalised confidence distribution). ``epochs_a``, ``epochs_b``,
    ``cluster_size`` and ``cluster_correlation`` are as in `PairedDesign`; the correlation is taken as exact. With an ``assurance`` of 0.9 the
    variance is instead the value that 90 % of the draws do not exceed: the plan then reaches its power in about 90 % of pilots.
    """

    total: float
    within_a: float
    within_b: float
    df_total: float
    df_a: float
    df_b: float
    inverse_a: float
    inverse_b: float
    epochs_a: int = 1
    epochs_b: int = 1
    cluster_size: float = 1.0
    cluster_correlation: float = 0.0
    n_draws: int = 400
    seed: int = 0
    assurance: float | None = None

    @property
    def point(self) -> PairedDesign:
        """The point estimates."""
        between = self.total - self.within_a * self.inverse_a - self.within_b * self.inverse_b
        epochs, clusters = (self.epochs_a, self.epochs_b), (self.cluster_size, self.cluster_correlation)
        return PairedDesign(max(between, 0.0), self.within_a, self.within_b, *epochs, *clusters)

    def draws(self) -> tuple[Floats, Floats, Floats]:
        """Between items, within A, within B: plausible values, the same for the same seed."""
        between, within_a, within_b = self._raw_draws()
        return np.maximum(between, 0.0), within_a, within_b

    def _raw_draws(self) -> tuple[Floats, Floats, Floats]:
        rng = np.random.default_rng(self.seed)
        total, within_a, within_b = (
            variance * df / rng.chisquare(df, self.n_draws)
            for variance, df in (
                (self.total, self.df_total),
                (self.within_a, self.df_a),
                (self.within_b, self.df_b),
            )
        )
        return total - within_a * self.inverse_a - within_b * self.inverse_b, within_a, within_b

    def between(self, level: float = 0.95) -> Estimate:
        """The variance between items, with an interval; 0 where items differ less than repeats alone would make them."""
        low, high = np.quantile(self.draws()[0], [(1 - level) / 2, (1 + level) / 2])
        value = self.point.between
        return Estimate(value, min(float(low), value), max(float(high), value), level)

    def share_within(self, level: float = 0.95) -> Estimate:
        """The share of the variance of one attempt's difference that lies within items, with an interval."""
        between, within_a, within_b = self.draws()
        drawn = (within_a + within_b) / np.maximum(between + within_a + within_b, 1e-300)
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        point = self.point
        within, whole = point.within_a + point.within_b, point.within_a + point.within_b + point.between
        if not whole:
            return Estimate.without("undefined", "no score varies in the pilot", level=level)
        value = within / whole
        return Estimate(value, min(float(low), value), max(float(high), value), level)

    @cached_property
    def variances(self) -> Floats:
        """Draws of the variance that one item brings to the mean difference, clustering included; with an assurance, one value."""
        inflation = 1 + (self.cluster_size - 1) * self.cluster_correlation
        if self.assurance is None:
            between, within_a, within_b = self.draws()
            return (between + within_a / self.epochs_a + within_b / self.epochs_b) * inflation
        # draws below 0 stay: setting them to 0 would make the quantile cover far more often than it says
        between, within_a, within_b = self._raw_draws()
        noise = within_a / self.epochs_a + within_b / self.epochs_b
        quantile = np.quantile(between + noise, [self.assurance])
        return np.maximum(quantile, np.median(noise)) * inflation


def power(effect: float, n_items: float, design: PairedDesign | Pilot, *, level: float = 0.95) -> float:
    """The power of a two-sided t test at 1 − ``level``: the probability to detect a true difference of ``effect`` with ``n_items``.

    With a `Pilot`, the mean of that probability over the uncertainty of its variances.
    """
    check_level(level)
    _check_items(n_items)
    if isinstance(design, Pilot):
        return _expected_power(effect, n_items, design, level)
    se, df = design.se(n_items), design.df(n_items)
    if not se:
        return float(effect != 0)
    quantile, shift = t_quantile(level, df), abs(effect) / se
    # a finding on the wrong side: below 1e-8 from a shift of 5, where the series may also give NaN
    wrong = nctdtr(df, shift, -quantile) if shift < 5 else 0.0
    return float(1 - nctdtr(df, shift, quantile) + wrong)


def _expected_power(effect: float, n_items: float, pilot: Pilot, level: float) -> float:
    df = pilot.point.df(n_items)
    quantile, se = t_quantile(level, df), np.sqrt(pilot.variances / n_items)
    # beyond a shift of 30 a finding is certain, and the series of the noncentral t distribution may give NaN
    shift = np.divide(abs(effect), se, out=np.full(len(se), 30.0 if effect else 0.0), where=se > 0).clip(max=30.0)
    wrong = np.where(shift < 5, nctdtr(df, np.minimum(shift, 5.0), -quantile), 0.0)
    return float(np.mean(1 - nctdtr(df, shift, quantile) + wrong))


def minimum_detectable_effect(
    n_items: float, design: PairedDesign | Pilot, *, power: float = 0.8, level: float = 0.95
) -> float:
    r"""The true difference that is detected with probability ``power`` in ``n_items``.

    For many items (z_{α/2} + z_β)·se, as in Miller (2024); for few, larger, by the noncentral t distribution.
    """
    check_level(level)
    _check_power(power, level)
    _check_items(n_items)
    if isinstance(design, Pilot):
        from scipy.optimize import brentq

        widest = 40 * math.sqrt(float(design.variances.max()) / n_items)
        if not widest:
            return 0.0
        return float(
            brentq(lambda effect: _expected_power(effect, n_items, design, level) - power, 0.0, widest, rtol=1e-6)
        )
    df = design.df(n_items)
    # the chance of a finding on the wrong side is negligible at any power worth planning for
    return float(nctdtrinc(df, 1 - power, t_quantile(level, df))) * design.se(n_items)


def items_needed(effect: float, design: PairedDesign | Pilot, *, power: float = 0.8, level: float = 0.95) -> int:
    r"""The number of items with which a true difference of ``effect`` is detected with probability ``power``.

    For many items (z_{α/2} + z_β)²·variance / effect², as in Miller (2024); for few, a few more.
    """
    check_level(level)
    _check_power(power, level)
    if not effect:
        raise OptionError("effect 0 takes endless items. Give the smallest difference that matters.")
    if isinstance(design, Pilot):
        return _items_for_pilot(effect, design, power, level)
    quantiles = float(ndtri((1 + level) / 2) + ndtri(power))
    # with more items than this the root below would no longer change from one item to the next
    if not abs(effect) > quantiles * math.sqrt(design.variance / _MOST_ITEMS):
        raise OptionError(f"effect {effect:g} takes endless items. Give the smallest difference that matters.")
    n_items = max(2, math.ceil(quantiles**2 * design.variance / effect**2))
    while minimum_detectable_effect(n_items, design, power=power, level=level) > abs(effect):
        n_items += 1
    return n_items


def _items_for_pilot(effect: float, pilot: Pilot, power: float, level: float) -> int:
    """The smallest number of items whose expected power is enough, by halving an interval that holds it."""
    low, high = 1, 2
    while _expected_power(effect, high, pilot, level) < power:
        low, high = high, 2 * high
        if high > _MOST_ITEMS:
            raise OptionError(f"effect {effect:g} takes more than {_MOST_ITEMS:,} items. Give a larger one.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _expected_power(effect, middle, pilot, level) >= power else (middle, high)
    return high


def _check_items(n_items: float) -> None:
    if n_items < 2:
        raise OptionError(f"{n_items} items compare nothing. Give at least 2.")


def _check_power(power: float, level: float) -> None:
    if not 1 - level < power < 1:
        raise OptionError(f"power {power} is not between {1 - level:.3g} and 1. Write 0.8 for 80 %.")
