"""How often a planned study would meet its criteria: thousands of such studies, drawn and judged at once.

A study is drawn as normal scores: what one rater gives to one pair is the pair's fidelity, the rater's severity and noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import fdtri, stdtrit

from howsure.errors import OptionError
from howsure.stats._arrays import Bools, Floats, Ints, normal_quantile
from howsure.stats.correlation import critical_r
from howsure.stats.means import score_bounds
from howsure.study.planning.design import RatingDesign
from howsure.study.simulator import DOMAIN_SHARE, MODEL_MEAN, MODEL_SD, domain_levels
from howsure.study.verdict import CRITERIA, Criterion

__all__ = [
    "ALPHA",
    "COMBINED",
    "DIFFERENCE",
    "FIDELITY",
    "PEARSON",
    "STATISTICS",
    "Assumptions",
    "SimulatedStatistic",
    "SimulatedVerdicts",
    "VerdictRates",
    "draw_ratings",
    "simulate_verdicts",
    "statistics_of_studies",
    "who_rates",
]

STATISTICS = ALPHA, PEARSON, FIDELITY, DIFFERENCE, COMBINED = (
    "pfi.cronbach_alpha",
    "pearson",
    "pfi",
    "domain_difference",
    "pfi_combined",
)
"""The statistics of an analysis that a plan can foretell."""


@dataclass(frozen=True)
class Assumptions:
    """Assumed true values of pairs, raters and model scores.

    Parameters
    ----------
    icc : float
        Reliability of one rater's score, ICC(2,1).
    severity_share : float
        Share of its error that is rater bias (severity).
    fidelity : float
        Mean fidelity of the pairs.
    spread : float
        Standard deviation of fidelity over pairs.
    correlation : float
        Correlation of the model's scores with fidelity.
    has_domains : bool
        Whether half of the variance is between domains.
    """

    icc: float = 0.5
    severity_share: float = 0.2
    fidelity: float = 0.85
    spread: float = 0.1
    correlation: float = 0.9
    has_domains: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.icc < 1 or not 0 <= self.severity_share < 1:
            raise OptionError("icc must be between 0 and 1, and severity_share at least 0 and below 1.")
        if not -1 < self.correlation < 1:
            raise OptionError(f"correlation {self.correlation:g} is not between −1 and 1.")
        if self.spread <= 0 or not 0 <= self.fidelity <= 1:
            raise OptionError("fidelity must be between 0 and 1, and spread above 0.")

    @property
    def noise(self) -> float:
        """The variance of one rating's error."""
        return self.spread**2 * (1 - self.icc) / self.icc

    @property
    def consistency(self) -> float:
        """ICC(3,1): the reliability of one rater where severity does no harm, as in a correlation over pairs that all rate."""
        return self.spread**2 / (self.spread**2 + (1 - self.severity_share) * self.noise)


@dataclass(frozen=True)
class VerdictRates:
    """How often a criterion is met by the estimate alone (``met``), and passes or fails with its whole interval."""

    met: float
    passed: float
    failed: float

    @property
    def inconclusive(self) -> float:
        """How often the interval decides nothing."""
        return 1 - self.passed - self.failed


@dataclass(frozen=True)
class SimulatedVerdicts:
    """The chances of each criterion by name, and of all at once: all are met, all pass, at least one fails."""

    by_criterion: Mapping[str, VerdictRates]
    joint: VerdictRates


SimulatedStatistic = tuple[Floats, Floats, Floats]
"""Value, low and high in each study; infinite ends where nothing bounds it."""


def simulate_verdicts(
    design: RatingDesign,
    assumptions: Assumptions,
    criteria: Sequence[Criterion] = CRITERIA,
    *,
    is_empty: bool = False,
    n_simulations: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> SimulatedVerdicts:
    """The chances of the criteria in simulated studies. ``is_empty``: pairs do not differ, so raters share nothing but noise.

    For a correlation to be met it must also differ from 0.
    """
    if design.pairs < 3 or design.raters < 2:
        raise OptionError(f"{design}: a study needs 3 pairs for a correlation and 2 raters for their agreement.")
    rng = np.random.default_rng(seed)
    scores, model = draw_ratings(design, assumptions, n_simulations, rng, is_empty=is_empty)
    found = statistics_of_studies(scores, model, design.domain, who=who_rates(design), level=level)
    critical = critical_r(design.pairs, level=level)
    met, passed, failed = zip(*(_judged(one, found, critical) for one in criteria), strict=True)
    chances = [VerdictRates(*(float(one.mean()) for one in three)) for three in zip(met, passed, failed, strict=True)]
    joint = np.logical_and.reduce(met), np.logical_and.reduce(passed), np.logical_or.reduce(failed)
    names = [one.name for one in criteria]
    return SimulatedVerdicts(
        dict(zip(names, chances, strict=True)), VerdictRates(*(float(one.mean()) for one in joint))
    )


def _judged(
    criterion: Criterion, found: Mapping[str, SimulatedStatistic], critical: float
) -> tuple[Bools, Bools, Bools]:
    """Whether each study meets a criterion by the estimate, passes it, fails it; as `judge_criterion` has it of one."""
    if criterion.statistic not in found:
        raise OptionError.unknown("statistic that a plan can predict", criterion.statistic, STATISTICS)
    value, low, high = found[criterion.statistic]
    least = criterion.threshold
    if criterion.direction == "at_most":
        return value <= least, high <= least, low > least
    bar = max(least, critical) if criterion.statistic == PEARSON else least
    return value >= bar, low >= least, high < least


def draw_ratings(
    design: RatingDesign, assumptions: Assumptions, n: int, rng: np.random.Generator, *, is_empty: bool = False
) -> tuple[Floats, Floats]:
    """Scores of ``n`` studies by pair and rating, and the model's score of each pair in standard deviations.

    Where a rater rates every pair, ratings are in the order of raters; in blocks, `who_rates` says who gave them.
    """
    share = DOMAIN_SHARE if assumptions.has_domains else 0.0
    own = rng.standard_normal((n, design.pairs))
    standing = math.sqrt(share) * domain_levels(design.domain) + math.sqrt(1 - share) * own
    rest = rng.standard_normal((n, design.pairs))
    model = assumptions.correlation * standing + math.sqrt(1 - assumptions.correlation**2) * rest
    pairs = assumptions.fidelity + (0.0 if is_empty else assumptions.spread) * standing
    who = who_rates(design)
    drawn = rng.standard_normal((n, 1, design.raters) if who is None else (n, design.n_raters))
    severity = math.sqrt(assumptions.severity_share * assumptions.noise) * (drawn if who is None else drawn[:, who])
    error = math.sqrt((1 - assumptions.severity_share) * assumptions.noise) * rng.standard_normal(
        (n, design.pairs, design.raters)
    )
    return pairs[:, :, None] + severity + error, model


@cache
def who_rates(design: RatingDesign) -> Ints | None:
    """The rater of each pair's first, second, … rating in a design with blocks; None where every rater rates every pair."""
    if design.is_crossed:
        return None
    by_pair: list[list[int]] = [[] for _ in range(design.pairs)]
    for rater, block in enumerate(design.blocks()):
        for pair in block:
            by_pair[pair].append(rater)
    return np.array([raters[: design.raters] for raters in by_pair])


def statistics_of_studies(
    scores: Floats, model: Floats, domain: Ints, *, who: Ints | None = None, level: float = 0.95
) -> dict[str, SimulatedStatistic]:
    """What an analysis would find in each study: each of `STATISTICS` by name. ``who`` says who gave each rating, in blocks."""
    means = scores.mean(axis=2)
    joined = (scores + (MODEL_MEAN + MODEL_SD * model)[:, :, None]) / 2
    if who is not None:
        everything, ends = np.zeros(len(domain), dtype=np.int64), np.full(len(domain), -1)
        ends[domain == 0], ends[domain == domain.max()] = 0, 1
        in_blocks = (
            _one_way_reliability(scores, level),
            _correlation(means, model, level),
            _within_scale(*_clustered(scores, who, everything), level),
            _far_apart(*_clustered(scores, who, ends), level),
            _within_scale(*_clustered(joined, who, everything), level),
        )
        return dict(zip(STATISTICS, in_blocks, strict=True))
    found = (
        _alpha(scores, level),
        _correlation(means, model, level),
        _mean(scores, level),
        _difference(scores[:, domain == 0], scores[:, domain == domain.max()], level),
        _mean(joined, level),
    )
    return dict(zip(STATISTICS, found, strict=True))


def _mean_squares(scores: Floats) -> tuple[Floats, Floats, Floats]:
    """Of pairs, raters and error in each study."""
    _, n, k = scores.shape
    by_pair, by_rater = scores.mean(axis=2), scores.mean(axis=1)
    item, rater = k * by_pair.var(axis=1, ddof=1), n * by_rater.var(axis=1, ddof=1)
    total = scores.var(axis=(1, 2)) * n * k
    return item, rater, (total - (n - 1) * item - (k - 1) * rater) / ((n - 1) * (k - 1))


def _alpha(scores: Floats, level: float) -> SimulatedStatistic:
    """Cronbach's alpha with Feldt's interval."""
    _, n, k = scores.shape
    item, _, error = _mean_squares(scores)
    df, ratio = (n - 1, (n - 1) * (k - 1)), error / item
    low, high = (1 - ratio * fdtri(*df, tail) for tail in ((1 + level) / 2, (1 - level) / 2))
    return 1 - ratio, low, high


def _correlation(means: Floats, model: Floats, level: float) -> SimulatedStatistic:
    """Pearson's r with Fisher's interval."""
    n = means.shape[1]
    x, y = means - means.mean(axis=1, keepdims=True), model - model.mean(axis=1, keepdims=True)
    r = (x * y).sum(axis=1) / np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    if n < 4:
        return _open(r)
    far = normal_quantile(level) / math.sqrt(n - 3)
    return r, np.tanh(np.arctanh(r) - far), np.tanh(np.arctanh(r) + far)


def _mean(scores: Floats, level: float) -> SimulatedStatistic:
    """The mean over pairs and raters that both stand for others, within 0 and 1, as `crossed_mean` has it of one study."""
    _, n, k = scores.shape
    item, rater, error = _mean_squares(scores)
    parts = [(item, n - 1, 1 / (n * k)), (rater, k - 1, 1 / (n * k))]
    se, df = _combined(parts, (error, (n - 1) * (k - 1), 1 / (n * k)))
    return _within_scale(scores.mean(axis=(1, 2)), se, df, level)


def _within_scale(mean: Floats, se: Floats, df: Floats | float, level: float) -> SimulatedStatistic:
    """A mean with a score interval that stays between 0 and 1."""
    share = np.clip(mean, 1e-9, 1 - 1e-9)
    low, high = score_bounds(share, share * (1 - share) / se**2, stdtrit(df, (1 + level) / 2))
    return mean, low, high


def _far_apart(value: Floats, se: Floats, df: Floats | float, level: float) -> SimulatedStatistic:
    """A difference with its t interval."""
    if np.any(np.asarray(df) < 1):
        return _open(value)
    far = stdtrit(df, (1 + level) / 2) * se
    return value, value - far, value + far


def _clustered(scores: Floats, who: Ints, group: Ints) -> tuple[Floats, Floats, float]:
    """The mean of group 0 minus that of group 1 (or the mean, with one group), its standard error and degrees of freedom.

    Errors are clustered by pair and by rater: squared sums over pairs, plus those over raters, minus those of single ratings.
    """
    _, n_pairs, k = scores.shape
    weights, means = np.zeros(n_pairs), np.zeros((len(scores), n_pairs))
    value = np.zeros(len(scores))
    for number, sign in ((0, 1.0), (1, -1.0)):
        is_in = group == number
        if is_in.any():
            mean = scores[:, is_in].mean(axis=(1, 2))
            weights[is_in] = sign / (is_in.sum() * k)
            means[:, is_in] = mean[:, None]
            value = value + sign * mean
    parts = (scores - means[:, :, None]) * weights[None, :, None]
    n_raters, n_used = int(who.max()) + 1, int((weights != 0).sum())
    n_groups = len({*group.tolist()} & {0, 1})
    is_of = np.zeros((n_pairs * k, n_raters))
    is_of[np.arange(n_pairs * k), who.ravel()] = 1.0
    by_pair = (parts.sum(axis=2) ** 2).sum(axis=1) * n_used / max(n_used - n_groups, 1)
    by_rater = ((parts.reshape(len(parts), -1) @ is_of) ** 2).sum(axis=1) * n_raters / (n_raters - 1)
    alone = (parts**2).sum(axis=(1, 2))
    return value, np.sqrt(np.maximum(by_pair + by_rater - alone, by_pair)), min(n_used - n_groups, n_raters - 1)


def _one_way_reliability(scores: Floats, level: float) -> SimulatedStatistic:
    """Reliability of a pair's mean when other raters rate other pairs: ICC(1,k) with its F interval."""
    _, n, k = scores.shape
    item = k * scores.mean(axis=2).var(axis=1, ddof=1)
    ratio = scores.var(axis=2, ddof=1).mean(axis=1) / item
    low, high = (1 - ratio * fdtri(n - 1, n * (k - 1), tail) for tail in ((1 + level) / 2, (1 - level) / 2))
    return 1 - ratio, low, high


def _difference(first: Floats, last: Floats, level: float) -> SimulatedStatistic:
    """By how much the first domain is above the last, as `crossed_difference` has it of one study."""
    value = first.mean(axis=(1, 2)) - last.mean(axis=(1, 2))
    n_first, n_last, k = first.shape[1], last.shape[1], first.shape[2]
    if min(n_first, n_last) < 2:
        return _open(value)
    squares = [_mean_squares(group) for group in (first, last)]
    weights = np.array([n_first - 1, n_last - 1]) / (n_first + n_last - 2)
    item, error = (sum(w * group[place] for w, group in zip(weights, squares, strict=True)) for place in (0, 2))
    h, df = 1 / n_first + 1 / n_last, n_first + n_last - 2
    rater = (first.mean(axis=1) - last.mean(axis=1)).var(axis=1, ddof=1) / h
    se, df_all = _combined([(item, df, h / k), (rater, k - 1, h / k)], (error, df * (k - 1), h / k))
    return _far_apart(value, se, df_all, level)


def _open(value: Floats) -> SimulatedStatistic:
    """A statistic that nothing bounds."""
    return value, np.full_like(value, -np.inf), np.full_like(value, np.inf)


_Part = tuple[Floats, int, float]
"""A mean square of each study, its degrees of freedom, and its factor in the variance."""


def _combined(parts: Sequence[_Part], error: _Part) -> tuple[Floats, Floats]:
    """Standard errors and Satterthwaite's degrees of freedom; a part that is less than error alone would give adds nothing."""
    used = [np.where(square > error[0], factor, 0.0) for square, _, factor in parts]
    terms = [share * square for share, (square, _, _) in zip(used, parts, strict=True)]
    terms.append((error[2] - sum(used)) * error[0])
    variance = np.sum(terms, axis=0)
    spread = sum(term**2 / df for term, (_, df, _) in zip(terms, [*parts, error], strict=True))
    return np.sqrt(variance), np.maximum(variance**2 / spread, 1.0)
