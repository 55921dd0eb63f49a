"""Few labels of people and the ratings of judges for all items: which items to label, how many, and the mean label of all.

A sample of the items is labelled, with known probabilities of inclusion. The ratings of one or more judges for all items make the mean label more
precise, and never bias it, whatever the judges are worth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats._arrays import Bools, Floats, Ints, check_level, codes, finite, t_quantile
from howsure.stats.components import certain

__all__ = [
    "LEAST_PROBABILITY",
    "JudgedMean",
    "LabelBudget",
    "budget_for",
    "draw_labels",
    "inclusion_probabilities",
    "judged_mean",
    "powered_scores",
    "strata_of",
]

LEAST_PROBABILITY = 0.05
"""No item is labelled with a smaller probability: its weight, one over the probability, would make the estimate hang on it."""

Items = Literal["sampled", "fixed"]


@dataclass(frozen=True)
class JudgedMean:
    """The mean label of all items, from few labels and the judges' ratings of all items.

    Parameters
    ----------
    estimate : Estimate
        The mean label with its interval.
    labels_alone : Estimate
        The same without the judges.
    slopes : tuple of float
        How much one unit of each judge's rating moves the predicted label.
    se, df : float, optional
        Standard error and degrees of freedom of ``estimate``.
    labels_saved : float, optional
        How many times more labels would be needed without the judges: the ratio of the two variances.
    n_labelled, n_items : int
        How many items were labelled, of how many.
    """

    estimate: Estimate
    labels_alone: Estimate
    slopes: tuple[float, ...]
    se: float | None
    df: float | None
    labels_saved: float | None
    n_labelled: int
    n_items: int


def judged_mean(
    labels: ArrayLike,
    judged: ArrayLike,
    *,
    probabilities: ArrayLike | None = None,
    strata: Any = None,
    clusters: Any = None,
    items: Items = "sampled",
    level: float = 0.95,
) -> JudgedMean:
    r"""The mean label of all N items, of which n were labelled with known probabilities π, made more precise by judges who rated all.

    .. math:: \hat\theta = \frac{1}{N} \sum_{i=1}^N m_i + \frac{1}{N} \sum_{i \in S} \frac{y_i - m_i}{\pi_i}, \qquad
              m_i = a_{h(i)} + \sum_j \lambda_j f_{ij}

    The predictions m are fitted to the labels by least squares with weights 1/π, one intercept per stratum h, so that the second sum is 0 and
    the estimate is the mean prediction. With equal probabilities, one judge and no strata it is the estimate of PPI++ with its best λ; with strata it
    is stratified prediction-powered inference; with unequal probabilities, active inference; with several judges, their best linear mix.

    .. math:: se^2 = \frac{\operatorname{var} m}{N} + \frac{1}{N^2} \sum_{i \in S} \frac{(y_i - m_i)^2}{\pi_i^2 (1 - \ell_i)^2}

    with the leverage ℓ of a labelled item (MacKinnon and White's HC3). The first term is absent where the items are fixed; the second then has the
    factor 1 − π. The interval is t with Welch and Satterthwaite's degrees of freedom, where labels count by
    :math:`(\sum \pi^{-2})^2 / \sum \pi^{-4}` minus the number of fitted coefficients. Where labels are 0 and 1 it is the exact (Clopper and Pearson) interval of a
    share with the effective number of labels :math:`\hat\theta (1 - \hat\theta) / se^2 \cdot (t_{n-1} / t_{df})^2` (Korn and Graubard 1998); so a share of 0 has an
    interval too.

    Parameters
    ----------
    labels : array, shape (N,)
        y, NaN where an item has no label.
    judged : array, shape (N,) or (N, n_judges)
        f, every judge's rating of every item.
    probabilities : array, shape (N,), optional
        π of every item, above 0 and at most 1; by default the share of labelled items, in its stratum where there are strata.
    strata : array, shape (N,), optional
        The stratum of every item, where a fixed number of labels was drawn in each.
    clusters : array, shape (N,), optional
        Items that belong together, such as answers to one prompt: the variance is then that of the sums over clusters of what their items add.
    items : {"sampled", "fixed"}
        Whether the N items are a sample of possible items, or the only ones of interest.
    level : float
        Coverage of the interval, between 0 and 1.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), *PPI++*; Zrnic and Candès (2024), *Active statistical inference*; Fisch and others (2024), *Stratified
    prediction-powered inference*; Korn and Graubard (1998), *Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data*; Särndal, Swensson and Wretman (1992), *Model assisted survey sampling*.
    """
    check_level(level)
    if items not in ("sampled", "fixed"):
        raise OptionError.unknown("kind of items", items, ("sampled", "fixed"))
    sample = _Sample.of(labels, judged, probabilities, strata, clusters)
    nothing = sample.lacks(level)
    n, size = int(sample.is_known.sum()), len(sample.is_known)
    if nothing is not None:
        return JudgedMean(nothing, nothing, (), None, None, None, n, size)
    with_judges, slopes = _fitted(sample, sample.judged, items)
    # strata may be made of the judges' ratings, so they too are a part of what the judges bring
    alone, _ = _fitted(replace(sample, strata=np.zeros_like(sample.strata)), sample.judged[:, :0], items)
    is_share = bool(np.isin(sample.labels[sample.is_known], (0.0, 1.0)).all())
    n_units = n if sample.clusters is None else len(np.unique(sample.clusters[sample.is_known]))
    trials = (n, n_units) if is_share else None
    sharpened, plain = (_around(one, level, trials) for one in (with_judges, alone))
    saved = (alone.se / with_judges.se) ** 2 if with_judges.se > 1e-12 else None
    return JudgedMean(sharpened, plain, slopes, with_judges.se, with_judges.df, saved, n, size)


def powered_scores(labels: ArrayLike, judged: ArrayLike, weights: ArrayLike) -> Floats:
    r"""One number per item whose weighted mean is the estimate of `judged_mean`, and whose bootstrap has its spread.

    .. math:: z_i = m_i + \frac{1_i}{\rho}\,(y_i - m_i), \qquad m_i = a + \lambda f_i

    with a and λ fitted to the labelled items by weighted least squares, as there, and ρ their share of the weights. z may leave 0–1.

    Parameters
    ----------
    labels : array
        y of all items, NaN where an item has no label; at least three have one.
    judged : array
        f, the judge's verdicts on the same items.
    weights : array
        How much each item counts, positive.
    """
    y, f, w = np.asarray(labels, np.float64), finite(judged, "judged"), finite(weights, "weights")
    is_known = ~np.isnan(y)
    if is_known.sum() < 3:
        raise InputError(f"{is_known.sum()} labelled items; 3 are needed.")
    x = np.column_stack([np.ones(len(f)), f])
    coefficients, _ = _least_squares(x[is_known], y[is_known], w[is_known])
    predicted = x @ coefficients
    share = w[is_known].sum() / w.sum()
    return np.asarray(predicted + np.where(is_known, (y - predicted) / share, 0.0))


def _least_squares(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Coefficients by weighted least squares, and the leverage of each row."""
    inverse = np.linalg.pinv((x * weights[:, None]).T @ x)
    coefficients = inverse @ (x * weights[:, None]).T @ y
    return coefficients, np.clip(weights * ((x @ inverse) * x).sum(axis=1), 0, 1 - 1e-6)


def _around(fit: _Fit, level: float, trials: tuple[int, int] | None) -> Estimate:
    """The interval of a mean; of a share where the labels (``trials``: how many, in how many clusters) are 0 and 1."""
    if trials is not None:
        share, n = min(max(fit.value, 0.0), 1.0), float(trials[1])
        if fit.se > 1e-12 and 0 < share < 1:
            shrunk = t_quantile(level, trials[0] - 1) / t_quantile(level, fit.df)
            n = share * (1 - share) / fit.se**2 * shrunk**2
        hits, tail = share * n, (1 - level) / 2
        low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
        high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
        return Estimate(share, min(low, share), max(high, share), level)
    if fit.se < 1e-12:
        return certain(fit.value, "nothing varies, so nothing tells how rarely it would", level)
    far = t_quantile(level, fit.df) * fit.se
    return Estimate(fit.value, fit.value - far, fit.value + far, level)


@dataclass(frozen=True)
class _Sample:
    """Checked arrays, one entry per item."""

    labels: Floats
    judged: Floats
    weights: Floats
    strata: Ints
    clusters: Ints | None
    is_known: Bools

    @classmethod
    def of(cls, labels: ArrayLike, judged: ArrayLike, probabilities: Any, strata: Any, clusters: Any) -> _Sample:
        y = np.asarray(labels, dtype=np.float64)
        f = np.asarray(judged, dtype=np.float64)
        f = f[:, None] if f.ndim == 1 else f
        if f.ndim != 2 or len(f) != len(y) or y.ndim != 1:
            raise InputError(f"Lengths differ: labels {y.shape}, judged {f.shape}. Give both for the same items.")
        if not np.isfinite(f).all():
            row, judge = np.argwhere(~np.isfinite(f))[0]
            raise InputError(f"judged: no rating of item {row} by judge {judge}. Every judge rates every item here.")
        if np.isinf(y).any():
            raise InputError("labels: infinity. Correct it, or write NaN for an item without a label.")
        is_known = ~np.isnan(y)
        stratum = np.zeros(len(y), dtype=np.int64) if strata is None else codes(strata, "strata")
        code = None if clusters is None else codes(clusters, "clusters")
        for name, other in (("strata", stratum), ("clusters", code)):
            if other is not None and len(other) != len(y):
                raise InputError(f"Lengths differ: {len(y):,} items, {len(other):,} {name}. Give one per item.")
        if probabilities is None:
            sizes, known = np.bincount(stratum), np.bincount(stratum, is_known)
            share = (known / np.maximum(sizes, 1))[stratum]
        else:
            share = finite(probabilities, "probabilities")
            if len(share) != len(y):
                raise InputError(f"Lengths differ: {len(y):,} items, {len(share):,} probabilities. Give one per item.")
            if ((share <= 0) | (share > 1)).any():
                wrong = share[(share <= 0) | (share > 1)][0]
                raise InputError(f"probabilities: {wrong:g} is not above 0 and at most 1.")
        weights = np.where(is_known, 1 / np.where(is_known, share, 1.0), 0.0)
        return cls(y, f, weights, stratum, code, is_known)

    def lacks(self, level: float) -> Estimate | None:
        """Why nothing can be estimated."""
        # 6 judges fitted to 15 labels explain too much of them: the interval covered 90 %
        n_judges = self.judged.shape[1]
        n, needed = int(self.is_known.sum()), max(n_judges + int(self.strata.max(initial=0)) + 3, 3 * n_judges + 1)
        per_stratum = np.bincount(self.strata, self.is_known)
        if n < needed:
            return Estimate.without("too_few", f"{n} labelled items; {needed} are needed", level=level)
        if (per_stratum < 2).any():
            few = int(per_stratum.min())
            return Estimate.without("too_few", f"a stratum has {few} labels; each needs 2", level=level)
        if self.clusters is not None and len(np.unique(self.clusters[self.is_known])) < needed:
            n = len(np.unique(self.clusters[self.is_known]))
            return Estimate.without("too_few", f"{n} clusters with labels; {needed} are needed", level=level)
        return None


@dataclass(frozen=True)
class _Fit:
    value: float
    se: float
    df: float


def _fitted(sample: _Sample, judged: Floats, items: Items) -> tuple[_Fit, tuple[float, ...]]:
    """The mean prediction, its standard error and degrees of freedom, and the judges' slopes."""
    n_items = len(sample.labels)
    dummies = np.eye(int(sample.strata.max()) + 1)[sample.strata]
    x = np.column_stack([dummies, judged])
    known, w = sample.is_known, sample.weights[sample.is_known]
    coefficients, leverage = _least_squares(x[known], sample.labels[known], w)
    predicted = x @ coefficients
    rest = sample.labels[known] - predicted[known]
    value = float(predicted.mean())
    slopes = tuple(float(one) for one in coefficients[dummies.shape[1] :])
    freedom = float((w**2).sum() ** 2 / (w**4).sum()) - x.shape[1]
    # of the second term the weights are those of a sample of n_items
    grown = n_items / w.sum()
    if sample.clusters is not None:
        parts = (predicted - value) / n_items * (items == "sampled")
        parts[known] += grown * w * rest / (1 - leverage) / n_items
        sums = np.bincount(sample.clusters, parts)
        n_known = len(np.unique(sample.clusters[known]))
        variance = float((sums**2).sum()) * n_known / (n_known - 1)
        return _Fit(value, math.sqrt(variance), max(min(freedom, n_known - x.shape[1]), 1.0)), slopes
    of_items = float(predicted.var(ddof=1)) / n_items if items == "sampled" else 0.0
    kept = (1 - 1 / w) if items == "fixed" else 1.0
    of_labels = float((kept * (grown * w * rest / (1 - leverage)) ** 2).sum()) / n_items**2
    variance = of_items + of_labels
    spread = of_labels**2 / max(freedom, 1.0) + of_items**2 / (n_items - 1)
    return _Fit(value, math.sqrt(variance), variance**2 / spread if spread else max(freedom, 1.0)), slopes


def strata_of(judged: ArrayLike, n_strata: int = 4) -> Ints:
    """Strata of about equal size by a judge's rating; equal ratings share a stratum, so there may be fewer.

    Parameters
    ----------
    judged : array
        One rating per item.
    n_strata : int
        How many, at least 1.
    """
    f = finite(judged, "judged")
    if n_strata < 1:
        raise OptionError(f"{n_strata} strata are none. Give at least 1.")
    edges = np.unique(np.quantile(f, np.arange(1, n_strata) / n_strata)) if n_strata > 1 else np.array([])
    return np.unique(np.searchsorted(edges, f, side="left"), return_inverse=True)[1].astype(np.int64)


def inclusion_probabilities(
    errors: ArrayLike, n_labels: float, *, costs: ArrayLike | None = None, least: float = LEAST_PROBABILITY
) -> Floats:
    r"""With which probability to label each item, so that about `n_labels` are labelled and the error is smallest.

    .. math:: \pi_i \propto \frac{\sigma_i}{\sqrt{c_i}}, \qquad \pi_{least} \le \pi_i \le 1

    The best probabilities are proportional to how far the judge's prediction is expected to be off, over the root of what a label costs (Neyman 1934).

    Parameters
    ----------
    errors : array
        σ, the expected size of (label − prediction) of each item, not negative.
    n_labels : float
        Expected number of labels.
    costs : array, optional
        c, what a label of each item costs; equal by default.
    least : float
        The smallest probability, 0.05 by default.
    """
    sizes = finite(errors, "errors")
    n = len(sizes)
    if (sizes < 0).any():
        raise InputError("errors: a size below 0. Give how far each prediction is expected to be off.")
    if not 0 < least <= 1:
        raise OptionError(f"least {least:g} is not above 0 and at most 1.")
    if not least * n <= n_labels <= n:
        raise OptionError(
            f"{n_labels:g} labels of {n:,} items: at least {least:g} of the items, {math.ceil(least * n):,}, and at most all can be labelled."
        )
    wanted = sizes / np.sqrt(np.ones(n) if costs is None else finite(costs, "costs"))
    wanted = wanted if wanted.max(initial=0) > 0 else np.ones(n)
    low, high = 0.0, 1.0
    while np.clip(high * wanted, least, 1).sum() < n_labels and high < 1e18:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        is_more = np.clip(middle * wanted, least, 1).sum() < n_labels
        low, high = (middle, high) if is_more else (low, middle)
    return np.asarray(np.clip(high * wanted, least, 1.0))


def draw_labels(
    probabilities: ArrayLike, *, strata: Any = None, n_labels: int | None = None, seed: int = 0
) -> tuple[Bools, Floats]:
    """Which items to label, and the probability with which each was drawn.

    Parameters
    ----------
    probabilities : array
        Of each item, as `inclusion_probabilities` gives them.
    strata : array, optional
        With strata a fixed number is drawn in each: the sum of its probabilities, rounded, and at least 2.
    n_labels : int, optional
        Without strata, draw exactly this many by systematic sampling in random order, which keeps the probabilities; by default each item is
        drawn on its own.
    seed : int
        The same seed draws the same items.
    """
    share = finite(probabilities, "probabilities")
    rng = np.random.default_rng(seed)
    if strata is not None:
        stratum = codes(strata, "strata")
        is_drawn, used = np.zeros(len(share), dtype=np.bool_), np.empty(len(share))
        for one in range(int(stratum.max()) + 1):
            places = np.flatnonzero(stratum == one)
            n = int(np.clip(round(float(share[places].sum())), min(2, len(places)), len(places)))
            is_drawn[rng.choice(places, n, replace=False)] = True
            used[places] = n / len(places)
        return is_drawn, used
    if n_labels is None:
        return rng.random(len(share)) < share, share
    share = np.clip(share * n_labels / share.sum(), 0, 1)
    order = rng.permutation(len(share))
    reached = np.cumsum(share[order]) + rng.random()
    is_drawn = np.zeros(len(share), dtype=np.bool_)
    is_drawn[order] = np.floor(reached) > np.floor(reached - share[order])
    return is_drawn, share


@dataclass(frozen=True)
class LabelBudget:
    """How many labels and how many judged items reach a precision at the smallest cost.

    Parameters
    ----------
    n_labels : int
        Labels of people.
    n_judged : int
        Items that the judge rates, labelled ones included.
    cost : float
        Cost of both.
    n_labels_alone : int
        Labels that reach the same precision without the judge.
    cost_alone : float
        Their cost.
    """

    n_labels: int
    n_judged: int
    cost: float
    n_labels_alone: int
    cost_alone: float

    @property
    def is_judge_worth_it(self) -> bool:
        """Whether the judge makes the precision cheaper."""
        return self.cost < self.cost_alone


def budget_for(
    half_width: float,
    *,
    sd: float,
    correlation: float,
    cost_label: float,
    cost_judge: float,
    n_items: int | None = None,
    level: float = 0.95,
) -> LabelBudget:
    r"""The cheapest numbers of labels n and judged items N whose interval reaches `half_width` to each side.

    .. math:: n \, c_h + N c_j \to \min, \qquad \sigma^2 \Big( \frac{1 - \rho^2}{n} + \frac{\rho^2}{N} \Big) = se^2

    .. math:: n = \frac{\sigma^2}{se^2} \Big( 1 - \rho^2 + \sqrt{\rho^2 (1 - \rho^2) \, c_j / c_h} \Big), \qquad
              N = \frac{\sigma^2}{se^2} \Big( \rho^2 + \sqrt{\rho^2 (1 - \rho^2) \, c_h / c_j} \Big)

    Parameters
    ----------
    half_width : float
        Half the width of the interval, in units of the label.
    sd : float
        σ, standard deviation of labels between items.
    correlation : float
        ρ of label and judge's rating, between −1 and 1.
    cost_label, cost_judge : float
        What one label and one rating of the judge cost, in the same currency.
    n_items : int, optional
        There are no more items than this.
    level : float
        Coverage of the interval.
    """
    check_level(level)
    if min(half_width, sd, cost_label) <= 0 or cost_judge < 0 or not -1 < correlation < 1:
        raise OptionError(
            "half_width, sd and cost_label must be above 0, cost_judge at least 0 and correlation between −1 and 1."
        )
    shared = correlation**2
    quantile = t_quantile(level, 1e9)
    n = n_judged = alone = 0
    for _ in range(6):  # t needs the numbers, and they need t
        needed = (sd * quantile / half_width) ** 2
        alone = max(3, math.ceil(needed))
        both = math.sqrt(shared * (1 - shared))
        n_judged = (
            math.ceil(needed * (shared + both * math.sqrt(cost_label / cost_judge)))
            if cost_judge
            else (n_items or 10**9)
        )
        n_judged = min(n_judged, n_items) if n_items else n_judged
        left = 1 / needed - shared / n_judged
        n = math.ceil((1 - shared) / left) if left > 0 else alone
        n = max(4, n)
        n_judged = max(n_judged, n)
        quantile = t_quantile(level, max(n - 2, 2))
    return LabelBudget(n, n_judged, n * cost_label + n_judged * cost_judge, alone, alone * cost_label)
