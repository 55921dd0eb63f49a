"""What a comparison of two models can show, before it is run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import nctdtr, nctdtrinc, ndtri

from howsure.errors import OptionError
from howsure.stats._arrays import check_level, t_quantile

__all__ = ["Comparison", "items_needed", "minimum_detectable_effect", "power"]


@dataclass(frozen=True)
class Comparison:
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
    ) -> Comparison:
        """The comparison of two accuracies of right-or-wrong answers.

        ``share_between`` is how much of p(1 − p) lies between items: 1 if a model always or never solves an item, 0 if all items
        are equally hard (`howsure.stats.variance.split` measures it). ``correlation`` is that of the models' chances across
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


def power(effect: float, n_items: float, comparison: Comparison, *, level: float = 0.95) -> float:
    """The chance that a two-sided t test at 1 − ``level`` finds a true difference of ``effect`` with ``n_items``."""
    check_level(level)
    _check_items(n_items)
    se, df = comparison.se(n_items), comparison.df(n_items)
    if not se:
        return float(effect != 0)
    quantile, shift = t_quantile(level, df), abs(effect) / se
    # a finding on the wrong side: below 1e-8 from a shift of 5, where the series may also give NaN
    wrong = nctdtr(df, shift, -quantile) if shift < 5 else 0.0
    return float(1 - nctdtr(df, shift, quantile) + wrong)


def minimum_detectable_effect(
    n_items: float, comparison: Comparison, *, power: float = 0.8, level: float = 0.95
) -> float:
    r"""The true difference that ``n_items`` find with the chance ``power``.

    For many items (z_{α/2} + z_β)·se, as in Miller (2024); for few, larger, by the noncentral t distribution.
    """
    check_level(level)
    _check_power(power, level)
    _check_items(n_items)
    df = comparison.df(n_items)
    # the chance of a finding on the wrong side is negligible at any power worth planning for
    return float(nctdtrinc(df, 1 - power, t_quantile(level, df))) * comparison.se(n_items)


def items_needed(effect: float, comparison: Comparison, *, power: float = 0.8, level: float = 0.95) -> int:
    r"""How many items find a true difference of ``effect`` with the chance ``power``.

    For many items (z_{α/2} + z_β)²·variance / effect², as in Miller (2024); for few, a few more.
    """
    check_level(level)
    _check_power(power, level)
    if not effect:
        raise OptionError("effect 0 takes endless items. Give the smallest difference that matters.")
    quantiles = float(ndtri((1 + level) / 2) + ndtri(power))
    n_items = max(2, math.ceil(quantiles**2 * comparison.variance / effect**2))
    while minimum_detectable_effect(n_items, comparison, power=power, level=level) > abs(effect):
        n_items += 1
    return n_items


def _check_items(n_items: float) -> None:
    if n_items < 2:
        raise OptionError(f"{n_items} items compare nothing. Give at least 2.")


def _check_power(power: float, level: float) -> None:
    if not 1 - level < power < 1:
        raise OptionError(f"power {power} is not between {1 - level:.3g} and 1. Write 0.8 for 80 %.")
