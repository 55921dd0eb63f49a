"""How often each interval contains the true value, by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtri

from howsure.compute import replicate
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats._arrays import Bools, Floats, Ints, aligned, check_level
from howsure.stats.means import Bounds, clopper_pearson, mean, paired_difference, unpaired_difference, wilson
from howsure.stats.reliability import cronbach_alpha, intraclass, krippendorff
from howsure.stats.replicates import basic, bca, hierarchical_weights, percentile
from howsure.stats.survival import kaplan_meier, restricted_mean
from howsure.stats.trends import Line, fit_line

__all__ = ["Case", "CoverageRow", "Draw", "VarianceSplit", "coverage_table", "split"]

_REPLICATES = 500

Draw = Callable[[np.random.Generator, float], tuple[Estimate, float]]
"""Draws a data set and gives an estimate at a level, and the true value."""
Case = tuple[str, str, Draw]
"""Method, design, and the function that draws."""


@dataclass(frozen=True)
class CoverageRow:
    """What one interval does in one design.

    ``coverage`` is the share of simulations in which it contains the true value and should be ``level``; ``monte_carlo_se`` is how far
    chance alone moves that share; ``mean_width`` is over the intervals with two ends, None where there is none.
    """

    method: str
    design: str
    level: float
    coverage: float
    monte_carlo_se: float
    mean_width: float | None


def coverage_table(
    n_simulations: int = 2000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    *,
    level: float = 0.95,
    scheduler: str | None = None,
    cases: Sequence[Case] | None = None,
) -> list[CoverageRow]:
    """The coverage of every interval of this package in designs that evals have, small ones above all.

    Some rows show what not to do: a t interval for right-or-wrong scores, clusters ignored, a percentile bootstrap over few items.
    ``progress`` is called with the number of finished simulations and their total. ``scheduler`` is the address of a Dask scheduler that shares the work.
    ``cases`` are the rows (method, design, function that draws an estimate and its true value); by default those of this module.
    """
    check_level(level)
    if n_simulations < 1:
        raise OptionError(f"{n_simulations} simulations show nothing. Give at least 1; 2000 leave an error of 0.005.")
    rows = []
    listed = list(_CASES if cases is None else cases)
    for number, (method, design, draw) in enumerate(listed):
        work = partial(_simulate, draw, level)
        drawn = replicate(
            work,
            n_simulations,
            seed=seed * len(listed) + number,
            batch=250,
            scheduler=scheduler,
            progress=None if progress is None else partial(_report, progress, number * n_simulations, len(listed)),
            keep=False,
            what=f"simulations of row {number + 1} of {len(listed)}",
        )
        rows.append(_row(method, design, drawn, level))
    return rows


def _report(progress: Callable[[int, int], None], before: int, n_rows: int, done: int, total: int) -> None:
    """Tell how many simulations of all rows are done."""
    progress(before + done, total * n_rows)


_Band = Callable[[Line, float, float], tuple[Floats, Floats]]


def _simulate(draw: Draw, level: float, rng: np.random.Generator, size: int) -> Floats:
    """Whether the interval contained the true value and how wide it was, NaN where an end is open."""
    drawn = [draw(rng, level) for _ in range(size)]
    widths = (math.nan if estimate.width is None else estimate.width for estimate, _ in drawn)
    return np.column_stack([[estimate.covers(truth) for estimate, truth in drawn], np.fromiter(widths, float)])


def _row(method: str, design: str, drawn: Floats, level: float) -> CoverageRow:
    coverage = float(drawn[:, 0].mean())
    widths = drawn[~np.isnan(drawn[:, 1]), 1]
    error = math.sqrt(coverage * (1 - coverage) / len(drawn))
    return CoverageRow(method, design, level, coverage, error, float(widths.mean()) if len(widths) else None)


def _binary(rng: np.random.Generator, level: float, *, n: int, accuracy: float) -> tuple[Estimate, float]:
    return mean(rng.random(n) < accuracy, level=level).estimate, accuracy


def _binary_t(rng: np.random.Generator, level: float, *, n: int, accuracy: float) -> tuple[Estimate, float]:
    """A plain t interval, with no interval where all scores agree: what a spreadsheet gives."""
    right = rng.random(n) < accuracy
    estimate = mean(right, level=level, bounds=None).estimate
    return (
        Estimate(estimate.value, estimate.value, estimate.value, level) if estimate.low is None else estimate
    ), accuracy


def _skewed(rng: np.random.Generator, level: float, *, n: int, sigma: float) -> tuple[Estimate, float]:
    """Lognormal scores without bounds, such as seconds and costs."""
    return mean(rng.lognormal(0, sigma, n), level=level, bounds=None).estimate, math.exp(sigma**2 / 2)


def _exact(rng: np.random.Generator, level: float, *, n: int, accuracy: float) -> tuple[Estimate, float]:
    return clopper_pearson(int(rng.binomial(n, accuracy)), n, level), accuracy


def _graded(rng: np.random.Generator, level: float, *, n: int) -> tuple[Estimate, float]:
    return mean(rng.beta(1, 2, n), level=level).estimate, 1 / 3


def _clusters(rng: np.random.Generator, sizes: Ints, correlation: float) -> tuple[Floats, Ints]:
    """Right-or-wrong scores with mean 0.7 and their clusters, whose chances vary by a beta distribution."""
    spread = (1 - correlation) / correlation
    chance = rng.beta(0.7 * spread, 0.3 * spread, len(sizes))
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    return (rng.random(len(cluster)) < chance[cluster]).astype(np.float64), cluster


def _clustered(
    rng: np.random.Generator, level: float, *, n: int, correlation: float, is_equal: bool = True
) -> tuple[Estimate, float]:
    sizes = np.full(n, 10) if is_equal else np.ceil(rng.lognormal(2, 1, n)).astype(np.int64)
    scores, cluster = _clusters(rng, sizes, correlation)
    return mean(scores, cluster, level=level).estimate, 0.7


def _clusters_ignored(rng: np.random.Generator, level: float, *, n: int, correlation: float) -> tuple[Estimate, float]:
    scores, _ = _clusters(rng, np.full(n, 10), correlation)
    return wilson(scores.sum(), len(scores), level), 0.7


def _paired(rng: np.random.Generator, level: float, *, n: int, only_a: float, only_b: float) -> tuple[Estimate, float]:
    chance = rng.random(n)
    a, b = (chance < only_a) * 1.0, (chance > 1 - only_b) * 1.0
    return paired_difference(a, b, level=level).estimate, only_a - only_b


def _unpaired(rng: np.random.Generator, level: float, *, n: int, bounds: Bounds) -> tuple[Estimate, float]:
    a, b = rng.random(n) < 0.9, rng.random(n) < 0.6
    return unpaired_difference(a, b, level=level, bounds=bounds).estimate, 0.3


def _bootstrapped(rng: np.random.Generator, level: float, *, n: int, kind: str) -> tuple[Estimate, float]:
    """The mean of skewed scores."""
    scores = rng.beta(1, 2, n)
    value = scores.mean()
    replicates = hierarchical_weights([np.arange(n)], _REPLICATES, rng) @ scores / n
    if kind == "percentile":
        low, high = percentile(replicates, level)
    elif kind == "basic":
        low, high = basic(replicates, value, level)
    else:
        low, high = bca(replicates, value, (scores.sum() - scores) / (n - 1), level)
    return Estimate(value, float(low), float(high), level), 1 / 3


def _bootstrapped_families(rng: np.random.Generator, level: float, *, n: int) -> tuple[Estimate, float]:
    scores, family = _clusters(rng, np.full(n, 10), 0.3)
    weights = hierarchical_weights([family, np.arange(len(family))], _REPLICATES, rng)
    low, high = percentile(weights @ scores / weights.sum(axis=1), level)
    return Estimate(scores.mean(), float(low), float(high), level), 0.7


def _lifetimes(rng: np.random.Generator, n: int) -> tuple[Floats, Bools]:
    """Exponential with mean 1, cut off at 1.5."""
    times = rng.exponential(1, n)
    return np.minimum(times, 1.5), times < 1.5


def _survival(rng: np.random.Generator, level: float, *, n: int) -> tuple[Estimate, float]:
    return kaplan_meier(*_lifetimes(rng, n), level=level).at(0.3), math.exp(-0.3)


def _median(rng: np.random.Generator, level: float, *, n: int) -> tuple[Estimate, float]:
    return kaplan_meier(*_lifetimes(rng, n), level=level).median(), math.log(2)


def _restricted(rng: np.random.Generator, level: float, *, n: int) -> tuple[Estimate, float]:
    return restricted_mean(*_lifetimes(rng, n), 1.5, level=level), 1 - math.exp(-1.5)


def _slope(rng: np.random.Generator, level: float, *, n: int) -> tuple[Estimate, float]:
    x = np.arange(n, dtype=np.float64)
    return fit_line(x, x + rng.normal(0, 1, n), level=level).slope, 1.0


def _line_ahead(rng: np.random.Generator, level: float, *, n: int) -> tuple[Estimate, float]:
    return _forecast(rng, level, n, Line.confidence)


def _point_ahead(rng: np.random.Generator, level: float, *, n: int, band: _Band) -> tuple[Estimate, float]:
    estimate, ahead = _forecast(rng, level, n, band)
    return estimate, ahead + rng.normal(0, 1)


def _forecast(rng: np.random.Generator, level: float, n: int, band: _Band) -> tuple[Estimate, float]:
    """A band one and a half times as far out as the data reach, and the true line's height there."""
    x, ahead = np.arange(n, dtype=np.float64), 1.5 * n
    line = fit_line(x, x + rng.normal(0, 1, n))
    low, high = band(line, ahead, level)
    return Estimate(float(line.predict(ahead)), float(low), float(high), level), ahead


def _shared(rng: np.random.Generator, level: float, *, n: int, repeats: int) -> tuple[Estimate, float]:
    """Right-or-wrong scores, half of whose variance lies between items."""
    right = rng.binomial(repeats, rng.beta(0.5, 0.5, n))
    return split(np.full(n, repeats), right, right, level=level).share_between, 0.5


def _rated(rng: np.random.Generator, n: int, raters: int, severity: float) -> Floats:
    """Ratings of items that vary by 1, as much as one rating's noise, by raters whose severities vary by ``severity``."""
    return rng.normal(size=(n, 1)) + math.sqrt(severity) * rng.normal(size=raters) + rng.normal(size=(n, raters))


def _icc(
    rng: np.random.Generator, level: float, *, form: str, n: int, raters: int, severity: float
) -> tuple[Estimate, float]:
    return intraclass(_rated(rng, n, raters, severity), level=level)[form], 1 / (2 + severity)


def _alpha(rng: np.random.Generator, level: float, *, n: int, raters: int) -> tuple[Estimate, float]:
    return cronbach_alpha(_rated(rng, n, raters, 0.5), level=level), raters / (raters + 1)


def _krippendorff(rng: np.random.Generator, level: float, *, n: int, raters: int) -> tuple[Estimate, float]:
    return krippendorff(_rated(rng, n, raters, 0), level=level), 0.5


_CASES: list[Case] = [
    ("mean of 0/1 (Wilson)", "5 items, accuracy 0.8", partial(_binary, n=5, accuracy=0.8)),
    ("mean of 0/1 (Wilson)", "30 items, accuracy 0.95", partial(_binary, n=30, accuracy=0.95)),
    ("mean of 0/1 (t): avoid", "30 items, accuracy 0.95", partial(_binary_t, n=30, accuracy=0.95)),
    ("proportion (Clopper–Pearson)", "10 items, accuracy 0.8", partial(_exact, n=10, accuracy=0.8)),
    ("mean of graded scores", "10 items", partial(_graded, n=10)),
    ("mean without bounds (t, Hall)", "30 items, lognormal, σ = 1", partial(_skewed, n=30, sigma=1.0)),
    ("mean without bounds (t, Hall)", "200 items, lognormal, σ = 1.5", partial(_skewed, n=200, sigma=1.5)),
    ("few heavy-tailed scores (t, Hall): avoid", "10 items, lognormal, σ = 1.5", partial(_skewed, n=10, sigma=1.5)),
    ("clustered mean", "5 clusters of 10, correlation 0.3", partial(_clustered, n=5, correlation=0.3)),
    ("clustered mean", "50 clusters of 10, correlation 0.3", partial(_clustered, n=50, correlation=0.3)),
    (
        "clustered mean",
        "20 clusters of very unequal size, correlation 0.3",
        partial(_clustered, n=20, correlation=0.3, is_equal=False),
    ),
    (
        "clusters ignored: avoid",
        "50 clusters of 10, correlation 0.3",
        partial(_clusters_ignored, n=50, correlation=0.3),
    ),
    ("paired difference", "10 items, 0.3 only a, 0.1 only b", partial(_paired, n=10, only_a=0.3, only_b=0.1)),
    ("paired difference", "30 items, 0.05 only a, 0.01 only b", partial(_paired, n=30, only_a=0.05, only_b=0.01)),
    ("unpaired difference", "10 and 10 items, 0.9 and 0.6", partial(_unpaired, n=10, bounds=(0.0, 1.0))),
    ("unpaired difference (Welch)", "10 and 10 items, 0.9 and 0.6", partial(_unpaired, n=10, bounds=None)),
    ("bootstrap, percentile: avoid", "5 items, graded", partial(_bootstrapped, n=5, kind="percentile")),
    ("bootstrap, percentile", "30 items, graded", partial(_bootstrapped, n=30, kind="percentile")),
    ("bootstrap, basic", "30 items, graded", partial(_bootstrapped, n=30, kind="basic")),
    ("bootstrap, BCa", "30 items, graded", partial(_bootstrapped, n=30, kind="bca")),
    ("bootstrap, families then items", "20 families of 10, correlation 0.3", partial(_bootstrapped_families, n=20)),
    ("survival at a time", "10 runs", partial(_survival, n=10)),
    ("median survival", "10 runs, cut off", partial(_median, n=10)),
    ("restricted mean survival", "10 runs, cut off", partial(_restricted, n=10)),
    ("slope of a trend", "5 points", partial(_slope, n=5)),
    ("confidence band", "12 points, the line ahead", partial(_line_ahead, n=12)),
    (
        "confidence band for a point: avoid",
        "12 points, a point ahead",
        partial(_point_ahead, n=12, band=Line.confidence),
    ),
    ("prediction band", "12 points, a point ahead", partial(_point_ahead, n=12, band=Line.prediction)),
    ("share of variance between items", "30 items, 5 repeats, 0/1", partial(_shared, n=30, repeats=5)),
    ("ICC(1,1) (F)", "5 items, 7 raters each", partial(_icc, form="icc_1_1", n=5, raters=7, severity=0)),
    (
        "ICC(2,1) (F, Satterthwaite)",
        "5 items, 7 raters, severity 0.5",
        partial(_icc, form="icc_2_1", n=5, raters=7, severity=0.5),
    ),
    ("Cronbach's alpha (Feldt)", "5 items, 7 raters, severity 0.5", partial(_alpha, n=5, raters=7)),
    ("Krippendorff's alpha (interval)", "5 items, 7 raters each", partial(_krippendorff, n=5, raters=7)),
]


# The variance of scores, split into a part between items and a part between repeats of the same item.


@dataclass(frozen=True)
class VarianceSplit:
    """The variance of one score at a random item, split.

    ``between`` items, ``within`` them from repeat to repeat, ``total`` their sum; None where nothing tells them apart.
    ``share_between`` is the intraclass correlation. ``is_truncated`` says that items differed less than repeats alone would
    make them: the estimate of ``between`` fell below 0 and was set to 0.
    """

    between: float | None
    within: float | None
    total: float | None
    share_between: Estimate
    is_truncated: bool
    n_items: int
    n: int

    def se_if_epochs(self, k: int) -> float | None:
        """Standard error of the mean over these items if each were tried ``k`` times."""
        if k < 1:
            raise OptionError(f"{k} epochs are none. Give at least 1.")
        if self.between is None or self.within is None:
            return None
        return math.sqrt((self.between + self.within / k) / self.n_items)


def split(n: ArrayLike, total: ArrayLike, squares: ArrayLike, *, level: float = 0.95) -> VarianceSplit:
    r"""Between and within items, from the number, the sum and the sum of squares of each item's scores.

    .. math:: \sigma^2_{within} = MSW, \qquad \sigma^2_{between} = \frac{MSB - MSW}{n_0}, \qquad
              n_0 = \frac{N - \sum_i n_i^2 / N}{k - 1}

    One-way analysis of variance for unequal numbers of repeats (Searle, Casella and McCulloch 1992, section 3.6). The interval
    of the share comes from the F distribution with n₀ for the number of repeats: exact for equal repeats of normal
    scores, approximate otherwise.
    """
    check_level(level)
    n, total, squares = aligned(n=n, total=total, squares=squares)
    if (n < 1).any():
        raise InputError("n: an item without a score. Remove it.")
    n_items, n_scores = len(n), int(n.sum())
    if n_items < 2 or n_scores == n_items:
        reason = f"{n_items} items, {n_scores} scores; 2 items and a repeat tell them apart"
        return VarianceSplit(
            None, None, None, Estimate.without("too_few", reason, level=level), False, n_items, n_scores
        )
    ms_between, ms_within = _mean_squares(n, total, squares)
    repeats = (n_scores - (n**2).sum() / n_scores) / (n_items - 1)
    raw = float((ms_between - ms_within) / repeats)
    between = max(raw, 0.0)
    share = _share(ms_between, ms_within, repeats, n_items - 1, n_scores - n_items, level)
    return VarianceSplit(between, ms_within, between + ms_within, share, raw < 0, n_items, n_scores)


def _mean_squares(n: Floats, total: Floats, squares: Floats) -> tuple[float, float]:
    """Variation of item means around the grand mean and of scores around item means, by degree of freedom."""
    means, grand = total / n, total.sum() / n.sum()
    between = (n * (means - grand) ** 2).sum() / (len(n) - 1)
    around = squares - total * means
    if (around < -1e-9 * (1 + squares)).any():
        raise InputError("squares: less than total²/n somewhere, which no scores give. Give sums of squared scores.")
    # what rounding leaves of equal scores is no variance
    spread = around[around > 1e-12 * squares].sum()
    return float(between), float(spread / (n.sum() - len(n)))


def _share(between: float, within: float, repeats: float, df_between: int, df_within: int, level: float) -> Estimate:
    if not within:
        state = (
            "scores never vary"
            if not between
            else "repeats never differ, so the probability of a difference is not known"
        )
        value = 1.0 if between else None
        return Estimate.without("undefined", state, value=value, level=level)
    ratio, tail = between / within, (1 - level) / 2
    value = _correlation(ratio, repeats)
    low = _correlation(ratio / fdtri(df_between, df_within, 1 - tail), repeats)
    high = _correlation(ratio / fdtri(df_between, df_within, tail), repeats)
    return Estimate(value, low, high, level)


def _correlation(ratio: float, repeats: float) -> float:
    """Intraclass correlation at a ratio of mean squares, from 0."""
    return float(max((ratio - 1) / (ratio + repeats - 1), 0.0))
