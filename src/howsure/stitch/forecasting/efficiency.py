"""Capability, compute and time: everything that progress says is linear in the capabilities, and is kept so.

With weights w each number is θ = w·C, so its replicates are w·C_r, and what models of one family have in common is found by leaving families out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.stats._arrays import Bools, Floats, Ints, codes, normal_quantile, t_quantile
from howsure.stitch.forecasting.frontier import DAYS_A_YEAR
from howsure.stitch.model.problem import family_of

__all__ = [
    "Coefficients",
    "Computed",
    "as_published",
    "calendar_years",
    "explained",
    "jointly",
    "ratio",
    "refuse_too_little",
    "size_families",
    "two_stages",
]

_SIZE = re.compile(r"(?:[-_ ]a?|)(?:\d+x)?\d+(?:\.\d+)?[bm](?![a-z0-9])")  # 70b, 8x7b, 235b-a22b
_JOINT = re.compile(r"[-_ ]+")
_GAP_DAYS = 90  # models of one name that came further apart were not trained alike
_FEWEST = 5


@dataclass(frozen=True, eq=False)
class Computed:
    """Models with a date and known training compute.

    ``compute`` is its decimal logarithm; ``family`` labels models that were trained alike at different sizes; ``drawn`` holds capabilities in
    each replicate, one row each.
    """

    models: tuple[str, ...]
    days: Ints
    capability: Floats
    compute: Floats
    family: tuple[str, ...]
    drawn: Floats

    @cached_property
    def years(self) -> Floats:
        """Release dates as calendar years."""
        return calendar_years(self.days)

    def only(self, kept: Bools) -> Computed:
        """Some of the models."""
        names, families = (tuple(np.array(each, dtype=object)[kept]) for each in (self.models, self.family))
        rest = {name: getattr(self, name)[kept] for name in ("days", "capability", "compute")}
        return replace(self, models=names, family=families, drawn=self.drawn[:, kept], **rest)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Numbers that are linear in the capabilities, with their covariance and the degrees of freedom that it depends on."""

    value: Floats
    covariance: Floats
    df: float
    level: float

    def combined(self, weights: ArrayLike, constant: float = 0.0) -> Estimate:
        """A weighted sum of them, plus a constant, with its t interval."""
        w = np.asarray(weights, dtype=np.float64)
        value = float(w @ self.value) + constant
        reach = t_quantile(self.level, self.df) * float(np.sqrt(w @ self.covariance @ w))
        return Estimate(value, value - reach, value + reach, self.level)


def refuse_too_little(data: Computed) -> None:
    """Raise what is missing to tell compute and time apart."""
    n = len(data.models)
    if n < _FEWEST:
        raise InputError(
            f"{n} models have a date and known compute; separating scaling from algorithms needs {_FEWEST}. "
            "Add the column compute to the scores, or give a file with model and compute."
        )
    if np.linalg.matrix_rank(_design(data)) < 3:
        raise InputError(f"Date and compute of the {n} models are collinear, so their effects cannot be separated.")


def jointly(data: Computed, level: float, *, is_plain: bool = False) -> Coefficients:
    """Capability = a + k·log₁₀ compute + g·years: a at the mean compute and date, k, and g.

    ``is_plain`` takes models as independent and capabilities as known, as ordinary least squares does.
    """
    weights = _joint_weights(data)
    value = weights @ data.capability
    if is_plain:
        residual = data.capability - _design(data) @ value
        df = len(residual) - len(value)
        return Coefficients(value, residual @ residual / df * weights @ weights.T, df, level)
    without = _without_each_family(data, _joint_weights)
    return Coefficients(value, _jackknife(without) + _redrawn(weights, data.drawn), len(without) - 1, level)


def two_stages(data: Computed, level: float) -> Coefficients | None:
    r"""The slope k within families, and g from what it leaves; None when no two families have models of different compute.

    .. math:: k = \frac{\sum (L_i - \bar L_{f(i)})\, C_i}{\sum (L_i - \bar L_{f(i)})^2}, \qquad
              g = \frac{\sum (t_i - \bar t)\,(C_i - k L_i)}{\sum (t_i - \bar t)^2}

    Both are linear in C, so the second includes the uncertainty of the first: each family is left out of both stages at once.
    """
    families = codes(data.family, "family")
    telling = [f for f in range(families.max() + 1) if np.ptp(data.compute[families == f]) > 0]
    if len(telling) < 2:
        return None
    weights = _staged_weights(data)
    covariance = _jackknife(_without_each_family(data, _staged_weights)) + _redrawn(weights, data.drawn)
    return Coefficients(weights @ data.capability, covariance, len(telling) - 1, level)


def ratio(of: Coefficients, over: ArrayLike, under: ArrayLike, constant: float = 0.0) -> Estimate:
    r"""A ratio of two combinations with Fieller's interval: all r for which over − r·under may be 0.

    ``constant`` is added to the upper one. Where the lower one may be 0 the interval has an open end, or none.
    """
    w, u = np.asarray(over, dtype=np.float64), np.asarray(under, dtype=np.float64)
    top, bottom = float(w @ of.value) + constant, float(u @ of.value)
    if not bottom:
        return Estimate.without("undefined", "the denominator is 0", level=of.level)
    q = t_quantile(of.level, of.df) ** 2
    a = bottom**2 - q * float(u @ of.covariance @ u)
    b = top * bottom - q * float(w @ of.covariance @ u)
    c = top**2 - q * float(w @ of.covariance @ w)
    value = top / bottom
    if a <= 0:
        reason = "the denominator may be 0"
        return Estimate(value, level=of.level, reason=reason, low_state="unbounded", high_state="unbounded")
    root = np.sqrt(max(0.0, b * b - a * c))
    return Estimate(value, (b - root) / a, (b + root) / a, of.level)


def as_published(of: Coefficients) -> Estimate:
    """The ratio g/k with a normal interval that takes the two as independent, which they are not: it is too narrow."""
    _, k, g = of.value
    _, k_variance, g_variance = np.diag(of.covariance)
    reach = normal_quantile(of.level) * abs(g / k) * np.sqrt(g_variance / g**2 + k_variance / k**2)
    return Estimate(g / k, g / k - reach, g / k + reach, of.level)


def size_families(names: Sequence[str], days: Ints) -> tuple[str, ...]:
    """Names without size, effort, kind and date; those that came more than 90 days after the one before are another family.

    >>> size_families(["Llama 2-7B", "Llama-2-70b-hf", "Llama-3.1-8B"], np.array([0, 0, 371]))
    ('llama2', 'llama2', 'llama3.1')
    """
    stems = np.array([_JOINT.sub("", _SIZE.sub("", family_of(name))) for name in names], dtype=object)
    told = stems.copy()
    for stem in set(stems):
        members = np.flatnonzero(stems == stem)
        members = members[np.argsort(days[members], kind="stable")]
        wave = np.cumsum(np.diff(days[members], prepend=days[members[0]]) > _GAP_DAYS)
        told[members] = [f"{stem} ({number + 1})" if number else stem for number in wave]
    return tuple(told)


def calendar_years(days: Ints) -> Floats:
    """Days from 1970 as year + day of the year / 365.25."""
    dates = pl.Series(days).cast(pl.Int32).cast(pl.Date)
    return (dates.dt.year() + dates.dt.ordinal_day() / DAYS_A_YEAR).to_numpy().astype(np.float64)


def explained(data: Computed, of: Coefficients) -> float:
    """The share of the capabilities' variance that compute and time explain jointly."""
    residual, around = data.capability - _design(data) @ of.value, data.capability - data.capability.mean()
    return float(1 - residual @ residual / (around @ around))


def _design(data: Computed) -> Floats:
    compute, years = data.compute - data.compute.mean(), data.years - data.years.mean()
    return np.column_stack([np.ones(len(years)), compute, years])


def _joint_weights(data: Computed) -> Floats:
    return np.asarray(np.linalg.pinv(_design(data)))


def _staged_weights(data: Computed) -> Floats:
    families = codes(data.family, "family")
    mean = np.bincount(families, data.compute) / np.bincount(families)
    within = data.compute - mean[families]
    scaling = within / (within @ within)
    time = data.years - data.years.mean()
    trend = time / (time @ time)
    return np.vstack([scaling, trend - (trend @ data.compute) * scaling])


def _without_each_family(data: Computed, weigh: Callable[[Computed], Floats]) -> list[Floats]:
    families = codes(data.family, "family")
    left = [data.only(families != family) for family in range(families.max() + 1)]
    for name, rest in zip(sorted(set(data.family)), left, strict=True):
        if not len(rest.models) or np.linalg.matrix_rank(_design(rest)) < 3:
            raise InputError(f"Without {name} compute and time cannot be separated. Add models of other families.")
    return [np.asarray(weigh(rest) @ rest.capability) for rest in left]


def _jackknife(without: Sequence[Floats]) -> Floats:
    """Covariance from estimates that each leave one family out."""
    apart = np.array(without) - np.mean(without, axis=0)
    return np.asarray((len(apart) - 1) / len(apart) * apart.T @ apart)


def _redrawn(weights: Floats, drawn: Floats) -> Floats:
    """Covariance over replicates."""
    return np.cov(weights @ drawn.T) if len(drawn) > 1 else np.zeros((len(weights), len(weights)))
