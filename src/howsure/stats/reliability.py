"""Reliability of ratings: intraclass correlations, alpha, and the effect of more raters.

Ratings come as one row per item and one column per rater, with NaN for gaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtri

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats import replicates
from howsure.stats._arrays import Bools, Floats, Ints, check_level, finite, t_quantile
from howsure.stats.components import MeanSquares, certain, mean_squares, one_way_squares, rated, ratings, without_raters

__all__ = [
    "METRICS",
    "SCALES",
    "IccChoice",
    "Metric",
    "Scale",
    "Weights",
    "agreement_on_categories",
    "choose_coefficient",
    "choose_icc",
    "cohen_kappa",
    "cronbach_alpha",
    "fleiss_kappa",
    "gwet",
    "intraclass",
    "krippendorff",
    "noise_ceiling",
    "over_clusters",
    "percent_agreement",
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
    found, parts = coefficients(table), replicates.groups(len(table), clusters)
    rest = [coefficients(np.delete(table, part, axis=0)) for part in parts]
    return {
        name: one
        if one.value is None or one.low is None
        else replicates.estimate(_turned(one), [_turned(other[name]) for other in rest], level).map(
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


# How far raters agree beyond chance: Krippendorff's alpha, Gwet's coefficients, the kappas of Fleiss and Cohen.
#
# Ratings come as one row per item and one column per rater, with NaN for gaps. All intervals speak of other items rated by these raters.


Metric = Literal["nominal", "ordinal", "interval", "ratio"]
Weights = Literal["identity", "linear", "quadratic"]
METRICS: tuple[Metric, ...] = ("nominal", "ordinal", "interval", "ratio")

_MOST_CATEGORIES = 2000  # beyond, ratings are measurements, and a table of all pairs fills the memory
_BLOCK = 2_000_000  # distances held at a time


def krippendorff(matrix: ArrayLike, metric: Metric = "interval", *, level: float = 0.95) -> Estimate:
    r"""Krippendorff's alpha: 1 for perfect agreement, 0 for what chance would give, below 0 for systematic disagreement.

    .. math:: \alpha = 1 - \frac{D_o}{D_e}, \qquad
              D_o = \frac{1}{N} \sum_u \frac{1}{m_u - 1} \sum_{i \ne j \in u} \delta^2(x_i, x_j), \qquad
              D_e = \frac{1}{N (N - 1)} \sum_{i \ne j} \delta^2(x_i, x_j)

    over the N ratings of items with two or more. ``metric`` says how far apart two ratings are: ``nominal`` the same or not;
    ``ordinal`` by their mean ranks among all ratings; ``interval`` by difference; ``ratio`` by difference over sum, for values from 0.
    Krippendorff (2011), *Computing Krippendorff's alpha-reliability*.

    Each end of the interval is the farther one of two. One comes from F, by the one-way model of which α is the intraclass
    correlation: right for few items with errors near normal. The other is α ± t·se with a jackknife over items: right for many
    items, whatever the errors. In simulations of 5 to 100 items it holds 92–99 %; bootstraps over items hold 60–75 % at 5
    items and 85–92 % at 12. Where nearly all ratings pile up at one end of the scale it may fall to 80 %, as they do.
    """
    check_level(level)
    if metric not in METRICS:
        raise OptionError.unknown("metric", metric, METRICS)
    table = ratings(matrix)
    table = table[(~np.isnan(table)).sum(axis=1) > 1]
    if len(table) < 2:
        return Estimate.without("too_few", f"{len(table)} items with 2 ratings or more; 2 are needed", level=level)
    least, most = float(np.nanmin(table)), float(np.nanmax(table))
    if least == most:
        return Estimate.without("undefined", "all ratings are equal, so chance would agree as well", level=level)
    if metric == "ratio" and least < 0:
        reason = f"the ratio metric needs ratings from 0, and the lowest is {least:g}"
        return Estimate.without("undefined", reason, level=level)
    value, left_out = _ordinal_alpha(table) if metric == "ordinal" else _alpha(table, metric)
    return _alpha_estimate(value, left_out, table, _dimension(table) if metric == "nominal" else 1.0, level)


def gwet(
    matrix: ArrayLike, weights: Weights = "identity", *, categories: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    r"""Gwet's AC1, or AC2 with ``linear`` or ``quadratic`` weights: agreement that skewed categories do not deflate.

    .. math:: AC = \frac{p_a - p_e}{1 - p_e}, \qquad p_e = \frac{\sum_{kl} w_{kl}}{q (q - 1)} \sum_k \pi_k (1 - \pi_k)

    p_a is the weighted agreement of two raters on an item, π_k the share of category k, q the number of categories: those used,
    or all of ``categories`` if some went unused. Weights are 1 − |k − l|/range, or with squares. The interval is Gwet's (2008),
    from his variance over items with t on n − 1 degrees of freedom, cut at 1; in simulations of 5 to 30 items it holds 89–96 %.
    """
    return _chance_corrected(matrix, weights, categories, level, _gwet_chance)


def fleiss_kappa(
    matrix: ArrayLike, weights: Weights = "identity", *, categories: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    r"""Fleiss' kappa for any number of raters: as `gwet`, with chance :math:`p_e = \sum_{kl} w_{kl} \pi_k \pi_l`."""
    return _chance_corrected(matrix, weights, categories, level, _fleiss_chance)


def percent_agreement(
    matrix: ArrayLike, weights: Weights = "identity", *, categories: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """How often two raters agree on an item, chance included: as `gwet`, with no chance taken off."""
    return _chance_corrected(matrix, weights, categories, level, _no_chance)


def cohen_kappa(
    matrix: ArrayLike, weights: Weights = "identity", *, categories: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    r"""Cohen's kappa of two raters, each with shares of their own: :math:`p_e = \sum_{kl} w_{kl} \pi_{1k} \pi_{2l}`.

    Only items that both rated count. The interval is by the same linearised variance as `gwet`'s.
    """
    table = ratings(matrix)
    if table.shape[1] != 2:
        raise InputError(f"{table.shape[1]} raters: Cohen's kappa compares 2. Use fleiss_kappa or give two columns.")
    both = table[~np.isnan(table).any(axis=1)]
    return _chance_corrected(both, weights, categories, level, _cohen_chance)


def _alpha(table: Floats, metric: Metric) -> tuple[float, Floats]:
    """Alpha, and without each item in turn, for distances that do not depend on the other ratings."""
    is_there = ~np.isnan(table)
    counts, pairs = is_there.sum(axis=1), _pair_sums(table, metric)
    values, codes = np.unique(table[is_there], return_inverse=True)
    to_all = np.zeros(table.shape)
    to_all[is_there] = _sum_to_all(values, np.bincount(codes), metric)[codes]
    expected = to_all.sum(axis=1)
    observed, n = pairs / (counts - 1), int(counts.sum())
    # leaving out an item takes its distances to all ratings off twice, and puts those to itself back
    total = float(expected.sum())
    rest = total - 2 * expected + pairs
    rest[rest < 1e-12 * total] = np.nan
    left_out = 1 - (n - counts - 1) * (observed.sum() - observed) / rest
    return 1 - (n - 1) * float(observed.sum()) / total, left_out


def _pair_sums(table: Floats, metric: Metric) -> Floats:
    """For each item the distances of all ordered pairs of its ratings."""
    is_there = ~np.isnan(table)
    values, codes = np.unique(table[is_there], return_inverse=True)
    if len(values) <= table.shape[1]:  # few values: how often an item has each of them is enough
        places = np.nonzero(is_there)[0] * len(values) + codes
        tallies = np.bincount(places, minlength=len(table) * len(values)).reshape(len(table), -1)
        return np.asarray(((tallies @ _distance(values[:, None], values, metric)) * tallies).sum(axis=1))
    sums = np.zeros(len(table))
    for one in range(table.shape[1] - 1):
        sums += np.nansum(_distance(table[:, one, None], table[:, one + 1 :], metric), axis=1)
    return 2 * sums


def _sum_to_all(values: Floats, tallies: Ints, metric: Metric) -> Floats:
    """For each value the distances to all ratings, where ``tallies`` counts each value's."""
    step = max(1, _BLOCK // len(values))
    blocks = (values[start : start + step, None] for start in range(0, len(values), step))
    return np.concatenate([_distance(block, values, metric) @ tallies for block in blocks])


def _distance(a: Floats, b: Floats, metric: Metric) -> Floats:
    """Squared distances; NaN where either is missing."""
    difference = a - b
    if metric == "nominal":
        return np.where(np.isnan(difference), np.nan, difference != 0)
    if metric == "ratio":
        total = a + b
        # two zeros are equal
        difference = np.divide(difference, total, out=np.zeros_like(difference), where=total != 0)
    return np.asarray(difference**2)


def _ordinal_alpha(table: Floats) -> tuple[float, Floats]:
    """Alpha of mean ranks, and without groups of items in turn: ranks among the remaining ratings."""
    is_there = ~np.isnan(table)
    codes = np.zeros(table.shape, dtype=np.int64)
    values, codes[is_there] = np.unique(table[is_there], return_inverse=True)
    n_items, n_values = len(table), len(values)
    parts = [np.array([], dtype=np.int64), *replicates.groups(n_items)]
    step = max(1, _BLOCK // max(table.size, n_values))
    alphas = [_ranked_alphas(codes, is_there, n_values, parts[at : at + step]) for at in range(0, len(parts), step)]
    found = np.concatenate(alphas)
    return float(found[0]), found[1:]


def _ranked_alphas(codes: Ints, is_there: Bools, n_values: int, parts: list[Ints]) -> Floats:
    """Alpha without each of some parts of the items; NaN where all that is left is equal."""
    is_kept = np.ones((len(parts), len(codes)), dtype=bool)
    taken = np.empty((len(parts), n_values))
    for at, part in enumerate(parts):
        is_kept[at, part] = False
        taken[at] = np.bincount(codes[part][is_there[part]], minlength=n_values)
    tallies = np.bincount(codes[is_there], minlength=n_values) - taken
    n = tallies.sum(axis=1, keepdims=True)
    ranks = np.cumsum(tallies, axis=1) - (tallies + n) / 2
    expected = 2 * n[:, 0] * (tallies * ranks**2).sum(axis=1)
    rated_ranks, counts = ranks[:, codes] * is_there, is_there.sum(axis=1)
    pairs = 2 * (counts * (rated_ranks**2).sum(axis=2) - rated_ranks.sum(axis=2) ** 2)
    observed = (pairs / (counts - 1) * is_kept).sum(axis=1)
    return np.asarray(1 - (n[:, 0] - 1) * observed / np.where(expected > 0, expected, np.nan))


def _dimension(table: Floats) -> float:
    """Along how many directions categories vary: q − 1 if all q are as frequent, less otherwise (Box 1954)."""
    share = np.unique(table[~np.isnan(table)], return_counts=True)[1] / (~np.isnan(table)).sum()
    two = float((share**2).sum())
    return (1 - two) ** 2 / (two - 2 * float((share**3).sum()) + two**2)


def _alpha_estimate(value: float, left_out: Floats, table: Floats, dimension: float, level: float) -> Estimate:
    if math.isclose(value, 1.0, abs_tol=1e-12):
        return certain(1.0, "raters never disagree, so nothing tells how rarely they would", level)
    if np.isnan(left_out).any():
        reason = "without one item all ratings would be equal, so nothing tells how sure this is"
        return certain(value, reason, level)
    far = replicates.reach(left_out, level)
    low, high = _f_ends(value, (~np.isnan(table)).sum(axis=1), dimension, level)
    return Estimate(value, max(min(value - far, low), -1.0), min(max(value + far, high), 1.0), level)


def _f_ends(alpha: float, counts: Ints, dimension: float, level: float) -> tuple[float, float]:
    """The interval of the intraclass correlation of one-way ratings that have this alpha.

    1 − α is the mean square within items over that of all ratings, so α tells the ratio of between to within.
    """
    n, n_ratings = len(counts), int(counts.sum())
    size = (n_ratings - float(counts @ counts) / n_ratings) / (n - 1)
    ratio = max(((n_ratings - 1) / (1 - alpha) - (n_ratings - n)) / (n - 1), 0.0)
    df, tail = (dimension * (n - 1), dimension * (n_ratings - n)), (1 - level) / 2
    low, high = (ratio / fdtri(*df, share) for share in (1 - tail, tail))
    return float((low - 1) / (low + size - 1)), float((high - 1) / (high + size - 1))


class _Tallies(NamedTuple):
    """Ratings as categories: ``shares`` of each item's ratings in each, ``counts`` of its ratings, ``codes`` of each, −1 for a gap."""

    shares: Floats
    counts: Ints
    codes: Ints
    weights: Floats


_Chance = Callable[[_Tallies], tuple[float, Floats]]
"""Agreement by chance, and the part in it that each item has."""


def _chance_corrected(
    matrix: ArrayLike, weights: Weights, categories: ArrayLike | None, level: float, chance: _Chance
) -> Estimate:
    r"""(p_a − p_e)/(1 − p_e) with the variance of its linear form over items, Gwet (2014), chapter 5.

    .. math:: \kappa_i^* = \frac{n}{n'} \frac{p_{a|i} - p_e}{1 - p_e} - 2 (1 - \kappa) \frac{p_{e|i} - p_e}{1 - p_e},
              \qquad v = \frac{1}{n (n - 1)} \sum_i (\kappa_i^* - \kappa)^2

    over all n items, where the first term is 0 for those that are not among the n' with two ratings or more.
    """
    check_level(level)
    table, is_there = rated(ratings(matrix))
    is_pair = is_there.sum(axis=1) > 1
    n, n_pairs = len(is_pair), int(is_pair.sum())
    if n < 2 or not n_pairs:
        reason = f"{n} items, {n_pairs} with 2 ratings or more; 2 and 1 are needed"
        return Estimate.without("too_few", reason, level=level)
    tallies = _tally(table, is_there, weights, categories)
    if isinstance(tallies, str):
        return Estimate.without("undefined", tallies, level=level)
    expected, expected_by_item = chance(tallies)
    if expected >= 1:
        return Estimate.without("undefined", "all ratings are equal, so chance would agree as well", level=level)
    agreed = _agreed(tallies, is_pair)
    value = float((agreed[is_pair].mean() - expected) / (1 - expected))
    scores = np.where(is_pair, n / n_pairs * (agreed - expected) / (1 - expected), 0.0)
    scores -= 2 * (1 - value) * (expected_by_item - expected) / (1 - expected)
    se = math.sqrt(float(((scores - value) ** 2).sum()) / (n * (n - 1)))
    if se < 1e-12:
        return certain(value, "items never differ in agreement, so nothing tells how rarely they would", level)
    far = t_quantile(level, n - 1) * se
    return Estimate(value, value - far, min(value + far, 1.0), level)


def _tally(table: Floats, is_there: Bools, weights: Weights, categories: ArrayLike | None) -> _Tallies | str:
    """The ratings as categories, or why they are none."""
    values = np.unique(table[is_there] if categories is None else finite(categories, "categories"))
    if len(values) == 1:
        return "one category, which chance would give as well; name all categories that raters could choose"
    if len(values) > _MOST_CATEGORIES:
        return f"{len(values):,} distinct ratings are measurements, not categories"
    codes = np.where(is_there, np.searchsorted(values, np.where(is_there, table, values[:1])), -1)
    _check_categories(table, codes, values)
    shares = np.zeros((len(table), len(values)))
    counts = is_there.sum(axis=1)
    np.add.at(shares, (np.nonzero(is_there)[0], codes[is_there]), 1.0)
    return _Tallies(shares / counts[:, None], counts, codes, _weigh(values, weights))


def _check_categories(table: Floats, codes: Ints, values: Floats) -> None:
    is_strange = (codes >= 0) & (values[np.minimum(codes, len(values) - 1)] != table)
    if is_strange.any():
        strange = table[is_strange][0]
        raise InputError(
            f"A rating of {strange:g} is none of the categories {', '.join(f'{v:g}' for v in values[:12])}."
        )


def _weigh(values: Floats, weights: Weights) -> Floats:
    """How much two categories count as agreement."""
    if weights == "identity":
        return np.eye(len(values))
    if weights not in ("linear", "quadratic"):
        raise OptionError.unknown("kind of weights", weights, ("identity", "linear", "quadratic"))
    gap = np.abs(values[:, None] - values) / np.ptp(values)
    return np.asarray(1 - gap ** (2 if weights == "quadratic" else 1))


def _agreed(tallies: _Tallies, is_pair: Bools) -> Floats:
    """For each item the agreement of two of its raters drawn without replacement."""
    counts = np.where(is_pair, tallies.counts, 2)
    drawn = ((tallies.shares @ tallies.weights) * tallies.shares).sum(axis=1)
    return np.asarray((counts * drawn - 1) / (counts - 1))


def _gwet_chance(tallies: _Tallies) -> tuple[float, Floats]:
    q = len(tallies.weights)
    scale = tallies.weights.sum() / (q * (q - 1))
    unlike = 1 - tallies.shares.mean(axis=0)
    by_item = scale * tallies.shares @ unlike
    return float(by_item.mean()), by_item


def _fleiss_chance(tallies: _Tallies) -> tuple[float, Floats]:
    by_item = tallies.shares @ (tallies.weights @ tallies.shares.mean(axis=0))
    return float(by_item.mean()), by_item


def _no_chance(tallies: _Tallies) -> tuple[float, Floats]:
    return 0.0, np.zeros(len(tallies.counts))


def _cohen_chance(tallies: _Tallies) -> tuple[float, Floats]:
    first, second = np.eye(len(tallies.weights))[tallies.codes.T]
    to_second, to_first = (tallies.weights @ one.mean(axis=0) for one in (second, first))
    by_item = (first @ to_second + second @ to_first) / 2
    return float(by_item.mean()), by_item
