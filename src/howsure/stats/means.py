"""Means and differences of means over clusters, with intervals that keep their coverage near 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, gammaincinv, stdtr, stdtrit

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats._arrays import (
    Floats,
    aligned,
    check_level,
    cluster_sums,
    codes,
    finite,
    hall_quantile,
    hall_statistic,
    normal_quantile,
    t_quantile,
)

__all__ = [
    "Bounds",
    "Differences",
    "Mean",
    "clopper_pearson",
    "clustered_mean",
    "difference_bounds",
    "mean",
    "mean_bounds",
    "near_bound",
    "paired_difference",
    "paired_differences",
    "score_bounds",
    "share",
    "shared_difference",
    "unpaired_difference",
    "wilson",
]

Bounds = tuple[float, float] | None
_Ends = tuple[float, float]


@dataclass(frozen=True)
class Mean:
    """A mean or a difference of means, and what its interval depends on.

    ``se`` is the standard error over clusters, ``df`` its degrees of freedom: effective clusters − 1. ``n`` counts
    observations. ``se_independent`` is the standard error if all observations were independent. ``p_positive`` is the probability
    that the true value is above 0, by the distribution that gives the interval of a difference. ``skewness`` is that of the mean, where scores have no
    bounds: that of the clusters divided by the root of their number.
    """

    estimate: Estimate
    se: float | None
    n: int
    n_clusters: int
    df: float | None
    se_independent: float | None = None
    p_positive: float | None = None
    skewness: float = 0.0

    @property
    def design_effect(self) -> float | None:
        """How many times larger clustering makes the variance of the mean."""
        return (self.se / self.se_independent) ** 2 if self.se is not None and self.se_independent else None


def clustered_mean(
    totals: ArrayLike,
    counts: ArrayLike,
    *,
    squares: ArrayLike | None = None,
    level: float = 0.95,
    bounds: Bounds = (0.0, 1.0),
) -> Mean:
    r"""The mean of all observations, from the sum and the number of observations in each cluster.

    .. math:: \bar x = \frac{\sum_c t_c}{n}, \qquad
              se^2 = \frac{G}{G-1} \sum_c \frac{(t_c - n_c \bar x)^2}{n^2}, \qquad
              df = \min\Big(\frac{n^2}{\sum_c n_c^2} - 1, \; \frac{2(G - 1)}{\kappa - 1} + 2\Big), \qquad
              \kappa = \frac{G \sum_c u_c^4}{(\sum_c u_c^2)^2}, \quad u_c = t_c - n_c \bar x

    ``se`` equals Inspect's ``stderr(cluster=…)``, and its ``stderr()`` where every cluster has one observation. The clustered
    standard error of Miller (2024), *Adding error bars to evals*, lacks the factor G/(G − 1), which matters for few clusters.

    Within ``bounds`` the interval is Wilson's with effective size x̄(1 − x̄)/se² (on the unit scale) and a t quantile: it
    stays inside and covers better than x̄ ± t·se. The degrees of freedom count effective clusters, since with G − 1 coverage
    falls as low as 82 % where sizes differ much; and they fall with the kurtosis κ, since a variance that a few clusters carry
    is known badly (not with ``bounds=None``: Student's own interval). Two cases need no t quantile: 0/1 observations, one per cluster, give Wilson's interval, whose end next to
    a bound is Poisson's where at most 2 observations (3 of more than 50) differ from that bound (Brown, Cai and DasGupta 2001,
    section 4.1.1); where all clusters agree, each counts as one 0/1 trial. With ``bounds=None`` the interval is x̄ ± t·se.

    ``squares`` (sums of squares, one a cluster) add ``se_independent`` and ``design_effect``.
    """
    check_level(level)
    totals, counts = aligned(totals=totals, counts=counts)
    _check_clusters(totals, counts, bounds)
    sample = _Sample.of(totals, counts, is_bounded=bounds is not None)
    if sample.lack:
        return _too_few(sample, level)
    ends = _free(sample, level) if bounds is None else _bounded(sample, level, bounds)
    independent = None if squares is None else _se_independent(sample, finite(squares, "squares"))
    return Mean(
        _estimate(sample.value, ends, level),
        sample.se,
        sample.n,
        len(counts),
        sample.df,
        independent,
        skewness=sample.skewness,
    )


def mean(
    scores: ArrayLike,
    clusters: Any = None,
    *,
    strata: Any = None,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    bounds: Bounds = (0.0, 1.0),
) -> Mean:
    r"""The mean of scores, one entry per observation; ``clusters`` labels those that belong together.

    Without labels every score stands for itself. See `clustered_mean` for the interval. ``weights`` say how much an observation
    counts beside the others of its stratum. With ``strata`` the mean of the D strata's means is taken, each counting once:

    .. math:: \bar x = \frac{1}{D} \sum_s \bar x_s, \qquad
              se^2 = \sum_c \Big( \sum_{i \in c} w_i \sqrt{\tfrac{G_s}{G_s - 1}} \, (x_i - \bar x_s) \Big)^2, \quad
              w_i = \frac{1}{D n_s}

    Strata are fixed: that their means differ adds nothing to the error. A cluster may reach over several strata. A small stratum
    whose scores agree is not known exactly: for a stratum of single right-or-wrong answers, and for one without spread, the
    interval uses the variance with half a cluster added at either of the ``bounds``, as Jeffreys' prior does for a share. The degrees of freedom are Welch and Satterthwaite's over
    strata. Where one stratum has a single cluster and another has more, nothing shows the spread within the first, and the
    state is ``too_few``; where all have one, deviations are taken from the overall mean, which is cautious.
    """
    values = finite(scores, "scores")
    _check_within(values, bounds, "scores")
    if weights is None and strata is None:
        totals, counts = cluster_sums(values, clusters)
        squares = cluster_sums(values**2, clusters)[0]
        return clustered_mean(totals, counts, squares=squares, level=level, bounds=bounds)
    check_level(level)
    sample = _Sample.of_values(values, clusters, strata, weights, bounds)
    if sample.lack:
        return _too_few(sample, level)
    ends = _free(sample, level) if bounds is None else _bounded(sample, level, bounds)
    return Mean(
        _estimate(sample.value, ends, level),
        sample.se,
        sample.n,
        len(sample.counts),
        sample.df,
        skewness=sample.skewness,
    )


def share(is_hit: ArrayLike, clusters: Any = None, *, is_exact: bool = False, level: float = 0.95) -> Estimate:
    """The share of entries that are true: Wilson's interval (Clopper and Pearson's with ``is_exact``), or one over ``clusters``.

    ``clusters`` labels entries that belong together, one label per entry; see `clustered_mean` for that interval.
    """
    hits = np.asarray(is_hit, dtype=np.bool_)
    if clusters is None or not len(hits):
        interval = clopper_pearson if is_exact else wilson
        return interval(int(hits.sum()), len(hits), level)
    return mean(hits.astype(np.float64), clusters, level=level).estimate


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    clusters: Any = None,
    *,
    strata: Any = None,
    level: float = 0.95,
    bounds: Bounds = (0.0, 1.0),
) -> Mean:
    """The mean of a − b over pairs, with a t interval over clusters, cut at what ``bounds`` of the scores allow; without bounds, corrected for skewness.

    With ``strata`` it is the mean of the strata's mean differences, each counting once, with the variances described in `mean`.
    Where all clusters differ by the same d, the spread is 0 but the true value need not be d: a cluster that differs otherwise
    has at most the chance 1 − (1 − level)^(1/G) when G clusters show none, and it lies within the bounds. The interval
    reaches that far; without bounds there is none, and the state says so.
    """
    a, b = aligned(a=a, b=b)
    _check_within(a, bounds, "a")
    _check_within(b, bounds, "b")
    width = None if bounds is None else bounds[1] - bounds[0]
    return paired_differences((a - b)[:, None], clusters, strata=strata, level=level, width=width).means[0]


@dataclass(frozen=True)
class Differences:
    """Means of paired differences, one per column; see `paired_difference`."""

    value: Floats
    low: Floats
    high: Floats
    se: Floats
    df: Floats
    p_positive: Floats
    skewness: Floats
    n: int
    n_clusters: int
    level: float
    lack: str = ""

    @property
    def means(self) -> list[Mean]:
        """Each difference by itself; p_positive is NaN, and ends are too, where there is none."""
        if self.lack:
            values = self.value.tolist() if self.n_clusters else [None] * len(self.value)
            lacking = [Estimate.without("too_few", self.lack, value=value, level=self.level) for value in values]
            return [Mean(estimate, None, self.n, self.n_clusters, None) for estimate in lacking]
        columns = (self.value, self.low, self.high, self.se, self.df, self.p_positive, self.skewness)
        return [
            Mean(
                _estimate(value, None if np.isnan(low) else (low, high), self.level),
                se,
                self.n,
                self.n_clusters,
                df,
                p_positive=None if np.isnan(p) else p,
                skewness=skewness,
            )
            for value, low, high, se, df, p, skewness in zip(*(column.tolist() for column in columns), strict=True)
        ]


def paired_differences(
    differences: Floats, clusters: Any = None, *, strata: Any = None, level: float = 0.95, width: float | None = 1.0
) -> Differences:
    """The means of several paired differences over the same items, as `paired_difference` gives them.

    Parameters
    ----------
    differences : array, shape (n_items, n_pairs)
        One column per pair.
    clusters, strata : sequence of labels, optional
        One entry per item.
    level : float
        Coverage of the intervals.
    width : float, optional
        The largest possible difference; None where scores have no bounds.
    """
    check_level(level)
    bounds = None if width is None else (-width, width)
    sample = _Samples.of_values(differences, clusters, strata, bounds=bounds)
    (se, df), value = sample.spread, sample.value
    n_clusters, has_spread = len(sample.counts), se > 0
    quantile = stdtrit(df, (1 + level) / 2)
    skewness = sample.skewness
    low, high = (value - se * hall_quantile(end, skewness) for end in (quantile, -quantile))
    low, high = np.minimum(low, value), np.maximum(high, value)
    unseen = 1 - (1 - level) ** (1 / max(n_clusters, 1))  # clusters of another kind that were not seen, where all agree
    reach = np.inf if width is None else width
    ends = (np.nan, np.nan) if width is None else (value - unseen * (value + width), value + unseen * (width - value))
    low, high = (
        np.where(has_spread, np.maximum(low, -reach), ends[0]),
        np.where(has_spread, np.minimum(high, reach), ends[1]),
    )
    t = np.divide(value, se, out=np.zeros_like(value), where=has_spread)
    p = np.where(has_spread, stdtr(df, hall_statistic(t, skewness)), np.where(value == 0, 0.5, np.nan))
    return Differences(value, low, high, sample.se, sample.df, p, skewness, sample.n, n_clusters, level, sample.lack)


def unpaired_difference(
    a: ArrayLike,
    b: ArrayLike,
    clusters_a: Any = None,
    clusters_b: Any = None,
    *,
    strata_a: Any = None,
    strata_b: Any = None,
    level: float = 0.95,
    bounds: Bounds = (0.0, 1.0),
) -> Mean:
    r"""The difference of two independent means, a − b, each of them over strata where these are given; see `mean`.

    Within ``bounds`` the interval joins those of the two means, [l, u], by squares, so that it keeps its coverage near the bounds too:

    .. math:: \Big[d - \sqrt{(\bar a - l_a)^2 + (u_b - \bar b)^2},\;
                   d + \sqrt{(u_a - \bar a)^2 + (\bar b - l_b)^2}\Big]

    For 0/1 scores this is Newcombe's (1998) hybrid score interval. With ``bounds=None`` it is Welch's t interval, and with several
    strata Welch's t interval with the variances described in `mean`. ``df`` is Welch and Satterthwaite's in all cases.
    """
    check_level(level)
    a, b = finite(a, "a"), finite(b, "b")
    _check_within(a, bounds, "a")
    _check_within(b, bounds, "b")
    first = _Sample.of_values(a, clusters_a, strata_a, bounds=bounds)
    second = _Sample.of_values(b, clusters_b, strata_b, bounds=bounds)
    if first.lack or second.lack:
        return _too_few_to_compare(first, second, level)
    value, (se, df) = first.value - second.value, _joined((first.se, first.df), (second.se, second.df))
    spread = _joined(first.spread, second.spread)
    skewness = _skewness(np.concatenate([first.pulls, -second.pulls])) if bounds is None and se else 0.0
    ends = _around(value, *spread, level, skewness)
    if bounds is not None:
        is_smooth = first.smooth or second.smooth
        ends = _cut(ends, bounds[1] - bounds[0]) if is_smooth and ends else _hybrid(first, second, level, bounds)
    n_clusters, p_positive = len(first.counts) + len(second.counts), _p_positive(value, *spread, skewness)
    return Mean(_estimate(value, ends, level), se, first.n + second.n, n_clusters, df, p_positive=p_positive)


def shared_difference(
    a: ArrayLike,
    b: ArrayLike,
    clusters_a: Any,
    clusters_b: Any,
    *,
    level: float = 0.95,
    bounds: Bounds = (0.0, 1.0),
) -> Mean:
    r"""The difference of two means, a − b, whose clusters are shared in full, in part or not at all; a cluster may have any number of scores on either side.

    .. math:: se^2 = se_a^2 + se_b^2 - 2 r \, se_a \, se_b, \qquad
              r = \frac{\sum_c u_c v_c}{\sqrt{\sum_c u_c^2 \sum_c v_c^2}}

    u and v are the sums of a cluster's deviations from the mean of its side, 0 where a side lacks the cluster. Within ``bounds`` the interval joins those of the two means with r
    times 1 − 1/(number of shared clusters), since clusters that agree perfectly do not prove that all do (Newcombe 1998, method 10, does so for pairs of 0/1 scores); with r = 0 it is that of `unpaired_difference`. With ``bounds=None`` it is a t interval.
    """
    check_level(level)
    a, b = finite(a, "a"), finite(b, "b")
    n_shared, r, pulls = _correlation(a, b, clusters_a, clusters_b)
    if not n_shared:
        return unpaired_difference(a, b, clusters_a, clusters_b, level=level, bounds=bounds)
    _check_within(a, bounds, "a")
    _check_within(b, bounds, "b")
    first, second = (_Sample.of_values(*side, None, bounds=bounds) for side in ((a, clusters_a), (b, clusters_b)))
    if first.lack or second.lack:
        return _too_few_to_compare(first, second, level)
    value, df = first.value - second.value, min(first.df, second.df)
    se = float(np.sqrt(max(first.se**2 + second.se**2 - 2 * r * first.se * second.se, 0.0)))
    skewness = _skewness(pulls) if bounds is None and se else 0.0
    ends = (
        _around(value, se, df, level, skewness)
        if bounds is None
        else _hybrid(first, second, level, bounds, r * (1 - 1 / n_shared))
    )
    n_clusters = len(first.counts) + len(second.counts) - n_shared
    p_positive = _p_positive(value, se, df, skewness)
    return Mean(_estimate(value, ends, level), se, first.n + second.n, n_clusters, df, p_positive=p_positive)


def mean_bounds(values: Floats, level: float) -> tuple[Floats, Floats]:
    """The ends of `mean`, one per row of a table with one column per item, for scores from 0 to 1; for simulations."""
    n = values.shape[-1]
    share, se, df = _rows(values)
    is_counted = np.isin(values, (0.0, 1.0)).all(-1) | (se == 0)
    trials = np.divide(share * (1 - share), se**2, out=np.full_like(share, n), where=~is_counted)
    low, high = score_bounds(share, trials, np.where(is_counted, normal_quantile(level), stdtrit(df, (1 + level) / 2)))
    few = (np.minimum(share, 1 - share) * n).round() <= 3
    for row in np.flatnonzero(np.isin(values, (0.0, 1.0)).all(-1) & few):
        low[row], high[row] = near_bound(float(share[row]), n, level, float(low[row]), float(high[row]))
    return low, high


def difference_bounds(a: Floats, b: Floats, level: float) -> tuple[Floats, Floats]:
    """The ends of `paired_difference`, one per row of tables with one column per item, for scores from 0 to 1; for simulations."""
    value, se, df = _rows(a - b)
    reach = stdtrit(df, (1 + level) / 2) * se
    unseen = np.where(se > 0, 0.0, 1 - (1 - level) ** (1 / a.shape[-1]))
    low, high = value - reach - unseen * (value + 1), value + reach + unseen * (1 - value)
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def _rows(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, standard error and degrees of freedom of each row."""
    n = values.shape[-1]
    value = values.mean(-1)
    squares = (values - value[..., None]) ** 2
    total = squares.sum(-1)
    is_spread = np.sqrt(total / (n - 1) / n) > 1e-13 * np.abs(values).max(-1)
    kurtosis = n * np.divide((squares**2).sum(-1), total**2, out=np.ones_like(total), where=is_spread)
    df = np.clip(2 * (n - 1) / np.maximum(kurtosis - 1, 1e-9) + 2, 1.0, n - 1.0)
    return value, np.where(is_spread, np.sqrt(total / (n - 1) / n), 0.0), df


@dataclass(frozen=True)
class _Smooth:
    """Mean, standard error and degrees of freedom over strata, after half a cluster was added at either bound of a stratum."""

    value: Floats
    se: Floats
    df: Floats
    is_binary: Any


@dataclass(frozen=True)
class _Samples:
    """Sums over clusters, their mean and its standard error; one column per sample, all with the same clusters and strata.

    ``lack`` says why there is no standard error. ``smooth`` stands for samples over several strata with bounds.
    """

    totals: Floats
    counts: Floats
    value: Floats
    se: Floats
    df: Floats
    lack: str = ""
    smooth: _Smooth | None = None
    skewness: Any = None

    @classmethod
    def of(cls, totals: Floats, counts: Floats, *, is_bounded: bool) -> _Samples:
        """From totals, one row per cluster and one column per sample, and the number of observations in each cluster."""
        n, n_clusters = counts.sum(), len(counts)
        none = np.zeros(totals.shape[1])
        if n_clusters < 2:
            lack = "1 cluster; an interval needs 2" if n_clusters else "no observation; a mean needs 1, an interval 2"
            value = totals.sum(axis=0) / n if n_clusters else none
            return cls(totals, counts, value, none, none + 1.0, lack, skewness=none)
        value = totals.sum(axis=0) / n
        pulls = totals - counts[:, None] * value
        se = np.sqrt((pulls**2).sum(axis=0) * n_clusters / (n_clusters - 1)) / n
        # sums of equal scores differ by rounding: such a spread is none
        is_spread = se > 1e-13 * np.abs(totals / counts[:, None]).max(axis=0)
        df = np.full_like(value, max(n**2 / (counts**2).sum() - 1, 1.0))
        if is_bounded:
            df = np.where(is_spread, np.minimum(df, _df_of_spread(pulls)), df)
        skewness = none if is_bounded else np.where(is_spread, _skewness(pulls), 0.0)
        return cls(totals, counts, value, np.where(is_spread, se, 0.0), df, skewness=skewness)

    @classmethod
    def of_values(
        cls, values: Floats, clusters: Any, strata: Any, weights: ArrayLike | None = None, bounds: Bounds = None
    ) -> _Samples:
        """One row per observation and one column per sample; the weights in each stratum are brought to the same sum."""
        n = len(values)
        cluster = np.arange(n) if clusters is None else codes(clusters, "clusters")
        stratum = np.zeros(n, np.int64) if strata is None else codes(strata, "strata")
        weight = np.ones(n) if weights is None else finite(weights, "weights")
        if not (len(cluster) == len(stratum) == len(weight) == n):
            raise InputError("Lengths differ: clusters, strata and weights have one entry for each score.")
        if not n:
            return cls.of(np.empty((0, values.shape[1])), np.empty(0), is_bounded=False)
        n_strata = int(stratum.max()) + 1
        weight = weight * (n / n_strata / np.bincount(stratum, weight))[stratum]
        if np.allclose(weight, 1.0, rtol=1e-12, atol=0):
            weight = np.ones(n)
        n_all = int(cluster.max()) + 1
        counts = np.bincount(cluster, weight).astype(np.float64)
        weighed = weight[:, None] * values
        plain = cls.of(_sums(weighed, cluster, n_all), counts, is_bounded=bounds is not None)
        cells, cell_of = np.unique(stratum * n_all + cluster, return_inverse=True)
        cell_stratum = cells // n_all
        n_clusters = np.bincount(cell_stratum)
        if n_strata == 1 or n_clusters.max() == 1:
            return plain
        if few := int((n_clusters == 1).sum()):
            return replace(plain, lack=f"1 cluster in {few:,} of {n_strata:,} evals; an interval needs 2 in each")
        means = _sums(weighed, stratum, n_strata) * n_strata / n
        pull = (values - means[stratum]) * (weight * np.sqrt(n_clusters / (n_clusters - 1))[stratum])[:, None]
        pulls = _sums(pull, cluster, n_all)
        se = np.sqrt((pulls**2).sum(axis=0)) / n
        size = np.bincount(cell_of, weight)
        df_stratum = np.bincount(cell_stratum, size) ** 2 / np.bincount(cell_stratum, size**2) - 1
        variance = _sums(_sums(pull, cell_of, len(cells)) ** 2, cell_stratum, n_strata)
        largest = np.abs(values).max(axis=0)
        is_spread = se > 1e-13 * largest
        total = np.where(is_spread, variance.sum(axis=0), 1.0)
        df = total**2 / np.where(is_spread, (variance**2 / np.maximum(df_stratum, 1.0)[:, None]).sum(axis=0), 1.0)
        if bounds is not None:
            df = np.minimum(df, _df_of_spread(pulls))
        df = np.where(is_spread, np.maximum(np.minimum(df, plain.df), 1.0), plain.df)
        plain = replace(
            plain,
            se=np.where(is_spread, se, 0.0),
            df=df,
            skewness=np.where(is_spread, _skewness(pulls), 0.0) * (bounds is None),
        )
        if bounds is None:
            return plain
        joint = np.where(is_spread, (se * n) ** 2 / total, (counts**2).sum() / (size**2).sum())
        is_single = n_clusters == np.bincount(stratum)
        is_counted = _sums(~np.isin(values, (bounds[0], sum(bounds) / 2, bounds[1])) * 1.0, stratum, n_strata) == 0
        is_short = (is_single[:, None] & is_counted) | (variance <= (1e-13 * n * largest) ** 2)
        # half a cluster of the mean size at either bound
        extra = np.where(is_short, (n / n_strata / n_clusters)[:, None], 0.0)
        smoothed = (means * n / n_strata + extra * sum(bounds) / 2) / (n / n_strata + extra)
        cell_totals = _sums(weighed, cell_of, len(cells))
        squares = _sums((cell_totals - size[:, None] * smoothed[cell_stratum]) ** 2, cell_stratum, n_strata)
        for end in bounds:
            squares += (end - smoothed) ** 2 * extra**2 / 2
        squares *= np.where(is_short, 1.0, (n_clusters / (n_clusters - 1))[:, None])
        df = squares.sum(axis=0) ** 2 / (squares**2 / np.maximum(df_stratum[:, None] + is_short, 1.0)).sum(axis=0)
        # clusters that reach over strata may add to the variance of the mean
        joint_se = np.sqrt(squares.sum(axis=0) * np.maximum(joint, 1.0)) / n
        is_binary = is_single.all() & np.isin(values, bounds).all(axis=0)
        return replace(plain, smooth=_Smooth(smoothed.mean(axis=0), joint_se, df, is_binary))

    @property
    def spread(self) -> tuple[Floats, Floats]:
        """Standard errors and degrees of freedom that the intervals depend on."""
        return (self.smooth.se, self.smooth.df) if self.smooth else (self.se, self.df)

    @property
    def n(self) -> int:
        return round(float(self.counts.sum()))

    def one(self) -> _Sample:
        """The only sample."""
        smooth = self.smooth and _Smooth(
            *(getattr(self.smooth, name)[0] for name in ("value", "se", "df", "is_binary"))
        )
        value, se, df, skewness = (float(part[0]) for part in (self.value, self.se, self.df, self.skewness))
        return _Sample(self.totals[:, 0], self.counts, value, se, df, self.lack, smooth, skewness)


def _sums(values: Any, codes_of: Any, n: int) -> Floats:
    """The sums of the rows with each code, for each column."""
    if values.shape[1] == 1:
        return np.bincount(codes_of, values[:, 0], n).astype(np.float64)[:, None]
    sums = np.zeros((n, values.shape[1]))
    order = np.argsort(codes_of, kind="stable")
    starts = np.flatnonzero(np.diff(codes_of[order], prepend=-1))
    sums[codes_of[order][starts]] = np.add.reduceat(values[order], starts, axis=0)
    return sums


@dataclass(frozen=True)
class _Sample:
    """One sample of `_Samples`."""

    totals: Floats
    counts: Floats
    value: float
    se: float
    df: float
    lack: str = ""
    smooth: _Smooth | None = None
    skewness: float = 0.0

    @classmethod
    def of(cls, totals: Floats, counts: Floats, *, is_bounded: bool) -> _Sample:
        return _Samples.of(totals[:, None], counts, is_bounded=is_bounded).one()

    @classmethod
    def of_values(
        cls, values: Floats, clusters: Any, strata: Any, weights: ArrayLike | None = None, bounds: Bounds = None
    ) -> _Sample:
        return _Samples.of_values(values[:, None], clusters, strata, weights, bounds).one()

    @property
    def spread(self) -> tuple[float, float]:
        """Standard error and degrees of freedom that the interval depends on."""
        return (float(self.smooth.se), float(self.smooth.df)) if self.smooth else (self.se, self.df)

    @property
    def n(self) -> int:
        return round(float(self.counts.sum()))

    @property
    def pulls(self) -> Floats:
        """What each cluster adds to the difference of the mean from its value."""
        return np.asarray((self.totals - self.counts * self.value) / self.counts.sum())


def _skewness(deviations: Floats) -> Any:
    """Skewness of sums of deviations along the first axis: theirs, divided by the root of their number."""
    squares = (deviations**2).sum(axis=0)
    return np.divide((deviations**3).sum(axis=0), squares**1.5, out=np.zeros_like(squares), where=squares > 0)


def _df_of_spread(deviations: Floats) -> Any:
    """Degrees of freedom of a variance whose squared deviations have this kurtosis; normal ones give one more than their number."""
    squares = deviations**2
    total = squares.sum(axis=0) ** 2
    kurtosis = np.divide(len(squares) * (squares**2).sum(axis=0), total, out=np.full_like(total, 1.0), where=total > 0)
    return 2 * (len(squares) - 1) / np.maximum(kurtosis - 1, 1e-9) + 2


def _check_clusters(totals: Floats, counts: Floats, bounds: Bounds) -> None:
    if (counts <= 0).any():
        raise InputError(
            f"counts: {counts.min():g} at position {counts.argmin()}. Remove clusters without observations."
        )
    _check_within(totals / counts, bounds, "totals / counts")


def _check_within(values: Floats, bounds: Bounds, name: str) -> None:
    if bounds is None:
        return
    low, high = bounds
    if not low < high:
        raise OptionError(f"bounds {bounds} leave no room. Give (lowest, highest) possible score.")
    slack = 1e-9 * (high - low)
    outside = (values < low - slack) | (values > high + slack)
    if outside.any():
        first = int(np.argmax(outside))
        raise InputError(
            f"{name}: {values[first]:g} at position {first} is not between {low:g} and {high:g}. Rescale, or pass the bounds that hold (None for none)."
        )


def _too_few(sample: _Sample, level: float) -> Mean:
    """Without a second cluster nothing shows how much clusters differ."""
    value = sample.value if len(sample.counts) else None
    estimate = Estimate.without("too_few", sample.lack, value=value, level=level)
    return Mean(estimate, None, sample.n, len(sample.counts), None)


def _too_few_to_compare(first: _Sample, second: _Sample, level: float) -> Mean:
    n_clusters = [len(side.counts) for side in (first, second)]
    reason = f"{n_clusters[0]} and {n_clusters[1]} clusters; an interval needs 2 on each side"
    if min(n_clusters) > 1:
        reason = first.lack or second.lack
    value = first.value - second.value if all(n_clusters) else None
    estimate = Estimate.without("too_few", reason, value=value, level=level)
    return Mean(estimate, None, first.n + second.n, sum(n_clusters), None)


def _estimate(value: float, ends: _Ends | None, level: float) -> Estimate:
    if ends is None:
        reason = "all clusters agree, and without bounds that says nothing of the error; give the bounds of the scores"
        return Estimate.without("undefined", reason, value=value, level=level)
    return Estimate(value, *ends, level=level)


def _free(sample: _Sample, level: float) -> _Ends | None:
    """Student's limits corrected for skewness; nothing where there is no spread."""
    return _around(sample.value, sample.se, sample.df, level, sample.skewness)


def _around(value: float, se: float, df: float, level: float, skewness: float = 0.0) -> _Ends | None:
    """Value ± t standard errors, corrected for skewness; nothing where there is no spread."""
    quantile = t_quantile(level, df)
    low, high = (value - se * float(hall_quantile(end, skewness)) for end in (quantile, -quantile))
    return (min(low, value), max(high, value)) if se else None


def _bounded(sample: _Sample, level: float, bounds: tuple[float, float]) -> _Ends:
    """Score interval with an effective number of trials."""
    low, width = bounds[0], bounds[1] - bounds[0]
    share, se = min(max((sample.value - low) / width, 0.0), 1.0), sample.se / width
    if sample.smooth:
        expected, (se, df) = float(sample.smooth.value - low) / width, sample.spread
        n_effective = expected * (1 - expected) * (width / se) ** 2
        quantile = normal_quantile(level) if sample.smooth.is_binary else t_quantile(level, df)
    elif not se or share in (0.0, 1.0) or _is_binary(sample, bounds):
        n_effective, quantile = float(len(sample.counts)), normal_quantile(level)
    else:
        n_effective, quantile = share * (1 - share) / se**2, t_quantile(level, sample.df)
    below, above = (float(end) for end in score_bounds(share, n_effective, quantile))
    if not sample.smooth and _is_binary(sample, bounds):
        below, above = near_bound(share, len(sample.counts), level, below, above)
    return low + width * below, low + width * above


def _is_binary(sample: _Sample, bounds: tuple[float, float]) -> bool:
    """Whether each cluster is one observation at a bound: then the mean alone tells the variance."""
    is_at_bound = (sample.totals == bounds[0]) | (sample.totals == bounds[1])
    return bool((sample.counts == 1).all() and is_at_bound.all())


def _se_independent(sample: _Sample, squares: Floats) -> float:
    """The standard error that ignores clusters: sd/√n."""
    if len(squares) != len(sample.counts):
        raise InputError(
            f"Lengths differ: {len(sample.counts):,} counts, {len(squares):,} squares. Give one a cluster."
        )
    deviations = squares.sum() - sample.n * sample.value**2
    is_spread = deviations > 1e-13 * squares.sum()
    return float(np.sqrt(deviations / (sample.n - 1) / sample.n)) if is_spread else 0.0


def _cut(ends: _Ends, width: float) -> _Ends:
    return max(ends[0], -width), min(ends[1], width)


def _p_positive(value: float, se: float, df: float, skewness: float = 0.0) -> float | None:
    """Probability that the true value is above 0, by the distribution that gives the interval."""
    if not se:
        return None if value else 0.5
    return float(stdtr(df, hall_statistic(value / se, skewness)))


def _joined(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """Standard error of a difference, with Welch and Satterthwaite's df; the smaller one where neither side varies."""
    (se_a, df_a), (se_b, df_b) = first, second
    se = float(np.hypot(se_a, se_b))
    return se, se**4 / (se_a**4 / df_a + se_b**4 / df_b) if se else min(df_a, df_b)


def _hybrid(
    first: _Sample, second: _Sample, level: float, bounds: tuple[float, float], correlation: float = 0.0
) -> _Ends:
    (low_a, high_a), (low_b, high_b) = _bounded(first, level, bounds), _bounded(second, level, bounds)
    a, b = first.value, second.value

    def joined(one: float, other: float) -> float:
        return float(np.sqrt(max(one**2 + other**2 - 2 * correlation * one * other, 0.0)))

    return a - b - joined(a - low_a, high_b - b), a - b + joined(high_a - a, b - low_b)


def _correlation(a: Floats, b: Floats, clusters_a: Any, clusters_b: Any) -> tuple[int, float, Floats]:
    """How many clusters both sides have, the correlation of their means, and what each cluster adds to the difference."""
    labels = codes([*clusters_a, *clusters_b], "clusters")
    of_a, of_b = labels[: len(a)], labels[len(a) :]
    if len(of_b) != len(b) or not len(a) or not len(b):
        return 0, 0.0, np.empty(0)
    n_clusters = int(labels.max()) + 1
    u, v = (np.bincount(of, x - x.mean(), n_clusters) for of, x in ((of_a, a), (of_b, b)))
    squares = float((u**2).sum() * (v**2).sum())
    n_shared = len(np.intersect1d(of_a, of_b))
    r = float((u * v).sum()) / np.sqrt(squares) if squares > 0 else 0.0
    return n_shared, r, u / len(a) - v / len(b)


# Intervals for a share of successes.


def wilson(successes: float, n: float, level: float = 0.95) -> Estimate:
    r"""A share of successes with Wilson's score interval: close to its level on average, also at 0 and n.

    .. math:: \frac{\hat p + z^2/2n \pm z\sqrt{\hat p(1-\hat p)/n + z^2/4n^2}}{1 + z^2/n}

    Wilson (1927). For small n its coverage swings around the level; `clopper_pearson` never falls below it.
    """
    quantile = normal_quantile(level)
    if n == 0:
        return _no_trial(level)
    share = _share(successes, n)
    low, high = score_bounds(share, n, quantile)
    return Estimate(share, float(low), float(high), level)


def clopper_pearson(successes: float, n: float, level: float = 0.95) -> Estimate:
    r"""A share of successes with the exact interval: covers at least at its level, often well above.

    Its ends are the α/2 quantile of Beta(x, n − x + 1) and the 1 − α/2 quantile of Beta(x + 1, n − x) for x successes.
    Clopper and Pearson (1934).
    """
    check_level(level)
    if n == 0:
        return _no_trial(level)
    share, tail = _share(successes, n), (1 - level) / 2
    low = betaincinv(successes, n - successes + 1, tail) if successes > 0 else 0.0
    high = betaincinv(successes + 1, n - successes, 1 - tail) if successes < n else 1.0
    return Estimate(share, float(low), float(high), level)


def score_bounds(share: float | Floats, n: float | Floats, quantile: float | Floats) -> tuple[Floats, Floats]:
    """Ends of the score interval for a share of n (effective) trials, entry by entry."""
    stretch = np.square(quantile) / n
    centre = share + stretch / 2
    reach = np.sqrt(stretch * (share * (1 - np.asarray(share)) + stretch / 4))
    return np.clip((centre - reach) / (1 + stretch), 0, share), np.clip((centre + reach) / (1 + stretch), share, 1)


def near_bound(share: float, n: int, level: float, low: float, high: float) -> tuple[float, float]:
    r"""Wilson's interval [low, high] with the end next to 0 or 1 replaced where 1 or 2 trials (3 of more than 50) differ from it.

    .. math:: low = \tfrac{1}{2} \chi^2_{2x,\,1-level} / n \quad \text{for } x \text{ successes}, \qquad
              high = 1 - \tfrac{1}{2} \chi^2_{2(n-x),\,1-level} / n \quad \text{for } n - x \text{ failures}

    There Wilson's own end leaves out shares that give such counts often: with 30 trials, true shares near 0.02 are covered in
    90 % of samples. Brown, Cai and DasGupta (2001), *Interval estimation for a binomial proportion*, section 4.1.1.
    """
    few = 3 if n > 50 else 2
    for_low, for_high = round(share * n), n - round(share * n)
    if 0 < for_low <= few:
        low = min(low, float(gammaincinv(for_low, 1 - level)) / n)
    if 0 < for_high <= few:
        high = max(high, 1 - float(gammaincinv(for_high, 1 - level)) / n)
    return low, high


def _share(successes: float, n: float) -> float:
    if not (n > 0 and 0 <= successes <= n):
        raise InputError(f"{successes} successes of {n} trials are not a share. Give 0 ≤ successes ≤ n.")
    return successes / n


def _no_trial(level: float) -> Estimate:
    return Estimate.without("too_few", "no trial; one defines a share", level=level)
