"""Reliability of ratings: intraclass correlations, alpha, and the effect of more raters.

Ratings come as one row per item and one column per rater, with NaN for gaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtri

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.stats import jackknife
from howsure.stats._arrays import Floats, check_level
from howsure.stats._ratings import certain, rated, ratings
from howsure.stats.agreement import METRICS, fleiss_kappa, gwet, krippendorff, percent_agreement
from howsure.stats.components import MeanSquares, mean_squares, one_way_squares, without_raters

__all__ = [
    "SCALES",
    "IccChoice",
    "Scale",
    "agreement_on_categories",
    "choose_coefficient",
    "choose_icc",
    "cronbach_alpha",
    "intraclass",
    "noise_ceiling",
    "over_clusters",
    "raters_needed",
    "reliability_table",
    "spearman_brown",
]

Scale = Literal["nominal", "ordinal", "interval"]
SCALES: tuple[Scale, ...] = ("nominal", "ordinal", "interval")
_DOMINANT = 0.8  # share of one category from which agreement by chance depends on it alone


def agreement_on_categories(
    matrix: ArrayLike, *, categories: ArrayLike | None = None, clusters: Any = None, level: float = 0.95
) -> dict[str, Estimate]:
    """The coefficients that use no order and no distance of categories: Krippendorff's alpha, Gwet's AC1, Fleiss' kappa, share of agreement.

    Parameters
    ----------
    matrix : array, items × raters
        Codes of categories, NaN where nobody rated.
    categories : array, optional
        All codes that raters could have given; by default those that they gave.
    clusters : sequence, optional
        One label per item; the intervals are then those of `over_clusters`.
    level : float
        Coverage of the intervals, between 0 and 1.
    """
    table = ratings(matrix)
    if clusters is not None:
        return over_clusters(
            partial(agreement_on_categories, categories=categories, level=level), table, clusters, level
        )
    agreed = percent_agreement(table, level=level)
    return {
        "krippendorff_nominal": krippendorff(table, "nominal", level=level),
        "gwet_ac1": gwet(table, categories=categories, level=level),
        "fleiss_kappa": fleiss_kappa(table, level=level),
        "percent_agreement": agreed if agreed.low is None else replace(agreed, low=max(agreed.low, 0.0)),
    }


def reliability_table(
    matrix: ArrayLike, *, categories: ArrayLike | None = None, clusters: Any = None, level: float = 0.95
) -> dict[str, Estimate]:
    """Every coefficient by its name: six intraclass correlations, alpha, Krippendorff's four and Gwet's three.

    ``categories`` are all values that raters could have given, for Gwet's coefficients; by default those that they gave.
    What a table cannot define is a state with its reason, so the names are always the same fourteen. With ``clusters``, one label per item, the
    intervals are those of `over_clusters`.
    """
    table = ratings(matrix)
    if clusters is not None:
        return over_clusters(partial(reliability_table, categories=categories, level=level), table, clusters, level)
    return {
        **intraclass(table, level=level),
        "cronbach_alpha": cronbach_alpha(table, level=level),
        **{f"krippendorff_{metric}": krippendorff(table, metric, level=level) for metric in METRICS},
        "gwet_ac1": gwet(table, categories=categories, level=level),
        "gwet_ac2_linear": gwet(table, "linear", categories=categories, level=level),
        "gwet_ac2_quadratic": gwet(table, "quadratic", categories=categories, level=level),
    }


def over_clusters(
    coefficients: Callable[[Floats], Mapping[str, Estimate]], table: Floats, clusters: Any, level: float = 0.95
) -> dict[str, Estimate]:
    """Coefficients of agreement with an interval for items that come in clusters: a jackknife over clusters of −log(1 − coefficient).

    Parameters
    ----------
    coefficients : callable
        Coefficients by name, none above 1, of a table.
    table : array, items × raters
        The ratings, NaN where nobody rated.
    clusters : sequence
        One label per item.
    level : float
        Coverage, between 0 and 1.

    Returns
    -------
    dict
        Each coefficient by name; one that has no interval without clusters has none here.
    """
    found, parts = coefficients(table), jackknife.groups(len(table), clusters)
    rest = [coefficients(np.delete(table, part, axis=0)) for part in parts]
    return {
        name: one
        if one.value is None or one.low is None
        else jackknife.estimate(_turned(one), [_turned(other[name]) for other in rest], level).map(
            lambda number: -math.expm1(-number)
        )
        for name, one in found.items()
    }


def _turned(coefficient: Estimate) -> float:
    return math.nan if coefficient.value is None or coefficient.value >= 1 else -math.log1p(-coefficient.value)


def intraclass(matrix: ArrayLike, *, level: float = 0.95) -> dict[str, Estimate]:
    r"""The six intraclass correlations of Shrout and Fleiss (1979), ``icc_1_1`` … ``icc_3_k``, with intervals from F.

    .. math:: ICC(\cdot, 1) = \frac{x}{1 + x}, \qquad ICC(\cdot, k) = \frac{k x}{1 + k x}, \qquad
              x_1 = \frac{\sigma^2_{item}}{\sigma^2_{within}}, \quad
              x_2 = \frac{\sigma^2_{item}}{\sigma^2_{rater} + \sigma^2_e}, \quad
              x_3 = \frac{\sigma^2_{item}}{\sigma^2_e}

    1: each item has its own raters, or nobody knows who rated it. 2: the same raters, a sample of those who might have rated;
    severity counts as error. 3: these raters and no others; severity does not count. 1 after the comma: one rater's word; k: the
    mean of all. `choose_icc` says which fits a design.

    The intervals of 1 and 3 are exact for normal ratings; that of 2 is Satterthwaite's approximation of Shrout and Fleiss, and
    McGraw and Wong (1996). For a full table the variances come from analysis of variance, may fall below 0 and make a
    coefficient negative. With gaps, 2 and 3 depend on REML and k is the effective number of ratings an item; their intervals
    then treat its components as if a full table of that size had given them.
    """
    check_level(level)
    table, is_there = rated(ratings(matrix))
    two_way = mean_squares(table, is_there)
    if isinstance(two_way, str) or not is_there.all():
        one_way = one_way_squares(table, is_there)
    else:
        one_way = without_raters(two_way)
    return {
        **_forms(1, one_way, _exact, level),
        **_forms(2, two_way, _approximate, level),
        **_forms(3, two_way, _exact, level),
    }


def cronbach_alpha(matrix: ArrayLike, *, level: float = 0.95) -> Estimate:
    r"""Cronbach's alpha of the raters' mean, with Feldt's (1965) interval.

    .. math:: \alpha = \frac{k}{k - 1} \Big(1 - \frac{\sum_j s_j^2}{s_{total}^2}\Big) = 1 - \frac{MS_e}{MS_{item}},
              \qquad 1 - (1 - \alpha) F_{1 - \gamma/2},\; 1 - (1 - \alpha) F_{\gamma/2}

    with F on n − 1 and (n − 1)(k − 1) degrees of freedom. Equals ICC(3, k). Only items that every rater rated count;
    ``reason`` tells when some were left out, and ``icc_3_k`` uses those too.
    """
    check_level(level)
    table, is_there = rated(ratings(matrix))
    is_full = is_there.all(axis=1)
    n_left = int(is_full.sum())
    note = "" if is_full.all() else f"{n_left} of {len(table)} items are rated by all"
    if n_left < 2 and note:
        return Estimate.without("too_few", f"{note}; 2 are needed, and icc_3_k uses gaps too", level=level)
    found = _forms(3, mean_squares(table[is_full], is_there[is_full]), _exact, level)["icc_3_k"]
    return replace(found, reason=found.reason or note)


def spearman_brown(reliability: float, times: float) -> float:
    r"""Reliability with ``times`` as many raters: :math:`\frac{m \rho}{1 + (m - 1) \rho}`."""
    if times <= 0:
        raise OptionError(f"{times} times as many raters are none. Give a factor above 0.")
    grown = 1 + (times - 1) * reliability
    if grown <= 0:
        raise OptionError(f"A reliability of {reliability:g} cannot be carried to {times:g} times the raters.")
    return times * reliability / grown


def raters_needed(single: Estimate, target: float) -> Estimate:
    r"""How many raters make their mean as reliable as ``target``: :math:`m = \frac{t (1 - \rho)}{(1 - t) \rho}`, rounded up.

    ``single`` is the reliability of one rater, such as ``icc_2_1``. Its high end gives the fewest, its low end the most; one at
    or below 0 leaves the number unbounded.
    """
    if not 0 < target < 1:
        raise OptionError(f"target {target} is not between 0 and 1. Give a reliability such as 0.8.")
    if single.value is None:
        return single
    value = _count_raters(single.value, target)
    if value is None:
        reason = "one rater alone shows no reliability, so no number is known to be enough"
        return Estimate.without("unbounded", reason, level=single.level)
    fewest = None if single.high is None else _count_raters(single.high, target)
    most = None if single.low is None else _count_raters(single.low, target)
    return Estimate(value, fewest, most, single.level, high_state="unbounded" if most is None else "ok")


def noise_ceiling(of_mean: Estimate) -> Estimate:
    r"""The highest correlation with the raters' mean that a perfect judge could be expected to reach: :math:`\sqrt{ICC(\cdot, k)}`.

    ``of_mean`` is the reliability of that mean, such as ``icc_2_k``. With reliability 0 there is no ceiling.
    """
    if of_mean.value is None:
        return of_mean
    if of_mean.value <= 0:
        return Estimate.without("undefined", "the mean rating shows no reliability", level=of_mean.level)
    return of_mean.map(lambda number: math.sqrt(max(number, 0.0)))


@dataclass(frozen=True)
class IccChoice:
    """Which coefficient to report: its name in `intraclass`, and why, in a sentence."""

    name: str
    sentence: str


def choose_icc(raters: Literal["unidentified", "sampled", "fixed"], *, is_mean_used: bool = True) -> IccChoice:
    """The intraclass correlation that fits a design.

    ``unidentified``: items have different raters, or it is unknown who gave which rating. ``sampled``: the same raters rate the
    items, and others might have. ``fixed``: these raters are the only ones of interest, and their severity does no harm.
    ``is_mean_used`` tells whether conclusions depend on the mean of the raters or on single ratings.
    """
    if raters not in _RATER_EFFECTS:
        raise OptionError.unknown("rater effects", raters, _RATER_EFFECTS)
    number, why = _RATER_EFFECTS[raters]
    letter, what = ("k", "the mean of all raters is used") if is_mean_used else ("1", "single ratings are used")
    return IccChoice(f"icc_{number}_{letter}", f"Report ICC({number},{letter}): {why}, and {what}.")


def choose_coefficient(
    scale: Scale,
    raters: Literal["unidentified", "sampled", "fixed"],
    *,
    commonest: float = 0.0,
    is_mean_used: bool = True,
) -> IccChoice:
    """The coefficient of agreement that fits the scale and the design, and why.

    Parameters
    ----------
    scale : {"nominal", "ordinal", "interval"}
        Categories without order; ordered categories; numbers whose means are used.
    raters : {"unidentified", "sampled", "fixed"}
        Who the raters are, as in `choose_icc`.
    commonest : float
        Share of the commonest category, 0–1.
    is_mean_used : bool
        Whether conclusions depend on the mean of the raters or on single ratings.
    """
    if scale not in SCALES:
        raise OptionError.unknown("scale", scale, SCALES)
    if scale == "interval":
        return choose_icc(raters, is_mean_used=is_mean_used)
    if raters not in _RATER_EFFECTS:
        raise OptionError.unknown("rater effects", raters, _RATER_EFFECTS)
    who = "any number of raters and gaps are allowed"
    if scale == "ordinal":
        why = "the categories have an order but no known distances, so no mean or variance of them is used"
        return IccChoice("krippendorff_ordinal", f"Report Krippendorff's alpha for ordinal data: {why}, and {who}.")
    if commonest >= _DOMINANT:
        why = f"the categories have no order, and {commonest:.0%} of the ratings are the same one, where alpha and kappa are low even if raters almost always agree"
        return IccChoice("gwet_ac1", f"Report Gwet's AC1, beside Krippendorff's alpha: {why}; {who}.")
    return IccChoice(
        "krippendorff_nominal",
        f"Report Krippendorff's alpha for nominal data: the categories have no order, and {who}.",
    )


_RATER_EFFECTS = {
    "unidentified": (1, "items have different or unidentified raters, so severity cannot be told from noise"),
    "sampled": (2, "the same raters, a sample of possible ones, rated the items, so differences in severity count as error"),
    "fixed": (3, "these raters are the only ones of interest, so only the order and distances they give to items count"),
}  # fmt: skip

_Signal = tuple[float, float, float]
"""How many times larger the variance of items is than that of one rating's error: value, low, high."""


def _forms(
    number: int, squares: MeanSquares | str, signal: Callable[[MeanSquares, float], _Signal], level: float
) -> dict[str, Estimate]:
    """The coefficient of one rating and that of the mean."""
    names = f"icc_{number}_1", f"icc_{number}_k"
    if isinstance(squares, str):
        return dict.fromkeys(names, Estimate.without("too_few", squares, level=level))
    if not squares.item:
        reason = "the items' mean ratings are all equal, so there is nothing to agree on"
        return dict.fromkeys(names, Estimate.without("undefined", reason, level=level))
    if not (squares.error or (number == 2 and squares.rater)):
        reason = "raters never disagree" + (" but in severity" if number == 3 and squares.rater else "")
        return dict.fromkeys(names, certain(1.0, f"{reason}, so nothing tells how rarely they would", level))
    found = signal(squares, (1 - level) / 2)
    return {name: _share(found, size, level) for name, size in zip(names, (1.0, squares.per_item), strict=True)}


def _exact(squares: MeanSquares, tail: float) -> _Signal:
    """From the ratio of two mean squares, which F scales."""
    ratio, df = squares.item / squares.error, (squares.df_item, squares.df_error)
    ratios = ratio, ratio / fdtri(*df, 1 - tail), ratio / fdtri(*df, tail)
    value, low, high = ((one - 1) / squares.per_item for one in ratios)
    return value, low, high


def _approximate(squares: MeanSquares, tail: float) -> _Signal:
    """From the mean square of items over a mixture of two others, whose degrees of freedom are Satterthwaite's."""
    k, n = squares.per_item, squares.per_rater
    noise = k * (squares.rater / n + squares.error * (1 - 1 / n))
    value = (squares.item - squares.error) / noise
    raters, errors = k * value / n * squares.rater, (1 + k * value * (1 - 1 / n)) * squares.error
    df = max(squares.item**2 / (raters**2 / squares.df_rater + errors**2 / squares.df_error), 1.0)
    low = squares.item / fdtri(squares.df_item, df, 1 - tail)
    high = squares.item * fdtri(df, squares.df_item, 1 - tail)
    return value, (low - squares.error) / noise, (high - squares.error) / noise


def _share(signal: _Signal, size: float, level: float) -> Estimate:
    """The share of variance that items have in the mean of ``size`` ratings."""
    value, low, high = (size * one / (1 + size * one) if size * one > -1 else None for one in signal)
    if value is None:
        return Estimate.without("undefined", "the items' means differ far less than noise would make them", level=level)
    return Estimate(value, low, high, level, low_state="unbounded" if low is None else "ok")


def _count_raters(single: float, target: float) -> int | None:
    if single <= 0:
        return None
    # 3 raters for exactly 0.75 from 0.5 shall stay 3
    return max(1, math.ceil(round(target * (1 - single) / ((1 - target) * single), 9)))
