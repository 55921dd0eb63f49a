"""Correlation of two scores: correlations with intervals, what noise hides of them, and what a sample can show."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, hyp2f1, stdtr

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.stats import replicates
from howsure.stats._arrays import Floats, Ints, aligned, check_level, normal_quantile, t_quantile
from howsure.stats.components import certain

__all__ = [
    "KINDS",
    "Correlation",
    "Kind",
    "coefficient",
    "correlation",
    "critical_r",
    "disattenuate",
    "power_of_correlation",
]

Kind = Literal["pearson", "spearman", "kendall"]
KINDS: tuple[Kind, ...] = ("pearson", "spearman", "kendall")
_SPENT = {"pearson": 3, "spearman": 3, "kendall": 4}
_FEWEST_CLUSTERS = 3
_EXACT_BELOW = 10  # pairs: 9 have 362,880 arrangements


@dataclass(frozen=True)
class Correlation:
    """A correlation, and the two-sided p-value of there being none (None where it is undefined)."""

    estimate: Estimate
    p: float | None
    n: int
    kind: Kind


def correlation(
    x: ArrayLike, y: ArrayLike, kind: Kind = "pearson", *, clusters: Any = None, level: float = 0.95
) -> Correlation:
    r"""The correlation of paired scores with an interval on Fisher's scale.

    .. math:: \tanh\big(\operatorname{artanh} r \pm z \, se\big), \qquad
              se^2 = \frac{1}{n - 3}, \quad \frac{1 + r^2/2}{n - 3}, \quad \frac{0.437}{n - 4}

    for ``pearson`` (Fisher 1921), ``spearman`` (Bonett and Wright 2000) and ``kendall``, which is τ_b (Fieller et al. 1957). Scores that
    never vary have no correlation; a perfect one has no interval, as no pair shows how far others may be off.

    The p-values of rank correlations are exact below 10 pairs: the share of all arrangements of ``y`` with a correlation at least as far
    from 0, ties included. Otherwise they are SciPy's, from t or from the normal distribution, and never below the exact p of a perfect correlation.

    ``clusters`` (one label per pair) are pairs that belong together. Interval and p-value then come from a jackknife over clusters on
    Fisher's scale, with t on the number of clusters − 1 degrees of freedom; with fewer than 3 clusters there is neither. A perfect correlation
    leaves the jackknife nothing to vary: its p-value is the exact one of as many pairs as there are clusters, 2/K!.
    """
    check_level(level)
    if kind not in KINDS:
        raise OptionError.unknown("correlation", kind, KINDS)
    x, y = aligned(x=x, y=y)
    n, needed = len(x), _SPENT[kind] + 1
    lacking = _lacking(x, y, level)
    if lacking:
        return Correlation(lacking, None, n, kind)
    value, p = coefficient(x, y, kind), _p_value(x, y, kind)
    if n < needed:
        reason = f"{n} pairs; an interval needs {needed}"
        return Correlation(Estimate.without("too_few", reason, value=value, level=level), p, n, kind)
    parts = None if clusters is None else replicates.groups(n, clusters)
    if parts is not None and len(parts) < _FEWEST_CLUSTERS:
        reason = f"{len(parts)} clusters; an interval needs {_FEWEST_CLUSTERS}"
        return Correlation(
            Estimate(value, level=level, reason=reason, low_state="too_few", high_state="too_few"), None, n, kind
        )
    if abs(value) == 1:
        if parts is not None:
            p = max(p, _p_of_perfect(np.arange(len(parts), dtype=np.float64)))
        return Correlation(
            certain(value, "no pair is off, so nothing tells how rarely one would be", level), p, n, kind
        )
    if parts is not None:
        return _over_clusters(x, y, kind, value, parts, level)
    far = normal_quantile(level) * _spread(value, n, kind)
    low, high = (math.tanh(math.atanh(value) + end) for end in (-far, far))
    return Correlation(Estimate(value, low, high, level), p, n, kind)


def coefficient(x: Floats, y: Floats, kind: Kind = "pearson") -> float:
    """The correlation alone, NaN where either never varies."""
    from scipy.stats import kendalltau, rankdata

    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    if kind == "kendall":
        value = float(kendalltau(x, y).statistic)
    else:
        x, y = (rankdata(x), rankdata(y)) if kind == "spearman" else (x, y)
        x, y = x - x.mean(), y - y.mean()
        value = float(x @ y) / math.sqrt(float(x @ x) * float(y @ y))
    # rounding keeps a perfect line from 1
    return math.copysign(1.0, value) if 1 - abs(value) < 1e-12 else value


def kendall_between_rows(ranks: Floats) -> Floats:
    """Kendall's τ-b of every two rows of ranks, over the columns that both have (NaN: not there); NaN where a row has no order there."""
    one, other = np.triu_indices(ranks.shape[1], 1)
    with np.errstate(invalid="ignore"):
        signs = np.sign(ranks[:, one] - ranks[:, other])
    is_there = (~np.isnan(signs)).astype(np.float64)
    signs = np.nan_to_num(signs)
    ordered = (signs**2) @ is_there.T  # pairs of columns that the first row orders and the second has
    total = np.sqrt(ordered * ordered.T)
    tau = np.divide(signs @ signs.T, total, out=np.full(total.shape, np.nan), where=total > 0)
    left, right = np.triu_indices(len(ranks), 1)
    return np.asarray(tau[left, right])


def disattenuate(correlation: Estimate, reliability: Estimate) -> Estimate:
    r"""The correlation there would be with scores without measurement error: :math:`r / \sqrt{\rho}`, within −1 and 1.

    ``reliability`` ρ is that of one of the two scores, such as ``icc_2_k`` of mean ratings; for noise in both, correct twice. The
    interval joins those of r and √ρ as Donner and Zou (2012) do for a ratio. Where the ratio passes 1 the value is 1, and
    ``reason`` tells the ratio: with few items that is an accident of sampling.
    """
    level = correlation.level
    if correlation.value is None or reliability.value is None:
        return correlation if correlation.value is None else reliability
    if reliability.value <= 0:
        return Estimate.without("undefined", "a score without reliability hides every correlation", level=level)
    ceiling = reliability.map(lambda number: math.sqrt(max(number, 0.0)))
    assert ceiling.value is not None
    ratio = correlation.value / ceiling.value
    reason = f"the ratio {ratio:.2f} passes the possible" if abs(ratio) > 1 else ""
    ends = [end for end in (correlation.low, correlation.high, ceiling.low, ceiling.high) if end is not None]
    if len(ends) < 4:
        return certain(_within(ratio), reason or correlation.reason or reliability.reason, level)
    low, high = _ratio_ends(correlation.value, ceiling.value, *ends)
    return Estimate(_within(ratio), _within(low), _within(high), level, reason=reason)


def critical_r(n: int, *, level: float = 0.95) -> float:
    r"""The smallest correlation that is statistically significant with ``n`` pairs in a two-sided test: :math:`t / \sqrt{t^2 + n - 2}`."""
    _check_pairs(n)
    quantile = t_quantile(level, n - 2)
    return quantile / math.sqrt(quantile**2 + n - 2)


def power_of_correlation(rho: float, n: int, *, at_least: float = 0.0, level: float = 0.95) -> float:
    r"""The probability that ``n`` pairs of normal scores with correlation ``rho`` show r ≥ ``at_least`` and differ from 0.

    .. math:: \int_c^1 f(r) \, dr, \qquad c = \max(r_{crit}, \text{at\_least})

    with the exact density of r (Hotelling 1953), integrated over arcsin r.
    """
    check_level(level)
    if not -1 < rho < 1:
        raise OptionError(f"rho {rho} is not between −1 and 1. Give the true correlation.")
    least = max(critical_r(n, level=level), at_least)
    if least >= 1:
        return 0.0
    from scipy.integrate import quad

    return float(quad(_density, math.asin(least), math.pi / 2, (rho, n), epsabs=1e-10)[0])


def _lacking(x: Floats, y: Floats, level: float) -> Estimate | None:
    if len(x) < 3:
        return Estimate.without("too_few", f"{len(x)} pairs; a correlation needs 3", level=level)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        constant = "x" if np.ptp(x) == 0 else "y"
        return Estimate.without("undefined", f"{constant} never varies", level=level)
    return None


def _p_value(x: Floats, y: Floats, kind: Kind) -> float:
    from scipy import stats

    if kind != "pearson" and len(x) < _EXACT_BELOW:
        return _exact_p(x, y, kind)
    test = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[kind]
    p = float(test(x, y).pvalue)
    return max(p, _p_of_perfect(y)) if abs(coefficient(x, y, kind)) == 1 else p


def _exact_p(x: Floats, y: Floats, kind: Kind) -> float:
    """The share of all arrangements of y whose rank correlation with x is at least as far from 0."""
    from scipy.stats import rankdata

    orders = _orders(len(x))
    if kind == "kendall":
        signs = [np.sign(np.subtract.outer(scores, scores)).astype(np.int8) for scores in (x, y)]
        pairs = itertools.combinations(range(len(x)), 2)
        found = sum(int(signs[0][i, j]) * signs[1][orders[:, i], orders[:, j]].astype(np.float64) for i, j in pairs)
    else:
        ranks = [rankdata(scores) for scores in (x, y)]
        found = (ranks[1] - ranks[1].mean())[orders] @ (ranks[0] - ranks[0].mean())
    # the first arrangement is the one observed
    far = np.abs(np.asarray(found))
    return float((far >= far[0] - 1e-9 * (1 + far[0])).mean())


@functools.cache
def _orders(n: int) -> NDArray[np.int8]:
    """All arrangements of 0 … n − 1, one per row, the first in order."""
    flat = itertools.chain.from_iterable(itertools.permutations(range(n)))
    return np.fromiter(flat, dtype=np.int8).reshape(-1, n)


def _p_of_perfect(y: Floats) -> float:
    """The two-sided exact p of a perfect correlation: the arrangements that leave y as it is, twice, of all."""
    ties = np.unique(y, return_counts=True)[1]
    return 2 * math.exp(float(gammaln(ties + 1.0).sum() - gammaln(len(y) + 1.0)))


def _over_clusters(x: Floats, y: Floats, kind: Kind, value: float, parts: list[Ints], level: float) -> Correlation:
    left_out = np.array([coefficient(np.delete(x, part), np.delete(y, part), kind) for part in parts])
    with np.errstate(divide="ignore"):
        turned = np.arctanh(left_out)
    found = replicates.estimate(math.atanh(value), np.where(np.isfinite(turned), turned, np.nan), level)
    if found.value is None or found.low is None:
        return Correlation(found.map(math.tanh), None, len(x), kind)
    df = len(left_out) - 1
    se = (found.value - found.low) / t_quantile(level, df)
    p = 2 * float(stdtr(df, -abs(found.value) / se))
    return Correlation(found.map(math.tanh), p, len(x), kind)


def _spread(value: float, n: int, kind: Kind) -> float:
    """The standard error on Fisher's scale."""
    factor = {"pearson": 1.0, "spearman": 1 + value**2 / 2, "kendall": 0.437}[kind]
    return math.sqrt(factor / (n - _SPENT[kind]))


def _ratio_ends(top: float, bottom: float, low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """Ends of top/bottom from [low, high] and [least, most], which begins at 0 or above; infinite where it may be 0."""
    if top < 0:
        ends = _ratio_ends(-top, bottom, -high, -low, least, most)
        return -ends[1], -ends[0]
    product = top * bottom
    below, above = low * (2 * top - low), high * (2 * top - high)
    small, large = least * (2 * bottom - least), most * (2 * bottom - most)
    open_below = product**2 < below * large
    # as usually written, (product − root)/large, it would fail where large is 0
    down = -math.inf if open_below else below / (product + math.sqrt(product**2 - below * large))
    return down, (product + math.sqrt(product**2 - above * small)) / small if small else math.inf


def _within(value: float) -> float:
    return min(max(value, -1.0), 1.0)


def _density(angle: float, rho: float, n: int) -> float:
    """Density of arcsin r."""
    r = math.sin(angle)
    scale = math.log(n - 2) + gammaln(n - 1) - gammaln(n - 0.5) - 0.5 * math.log(2 * math.pi)
    shape = (n - 1) / 2 * math.log1p(-(rho**2)) + (1.5 - n) * math.log1p(-rho * r)
    return float(math.exp(scale + shape) * math.cos(angle) ** (n - 3) * hyp2f1(0.5, 0.5, n - 0.5, (1 + rho * r) / 2))


def _check_pairs(n: int) -> None:
    if n < 3:
        raise OptionError(f"{n} pairs show no correlation. Give at least 3.")
