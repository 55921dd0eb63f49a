"""How long games last when some of them are interrupted: correct answers on average, survival and hazard.

A game with k correct answers ends in turn k + 1 by the player's error, or is censored: all turns were right, or it was interrupted before the next answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howsure.estimates import Estimate
from howsure.stats._arrays import normal_quantile
from howsure.stats.means import mean, wilson
from howsure.stats.replicates import hierarchical_weights, replicate_interval
from howsure.stats.survival import (
    FrailtyFit,
    SurvivalCurve,
    bounded_mean,
    fit_frailty,
    incidence_values,
    kaplan_meier,
    likely_hazards,
    restricted_values,
)
from howsure.track.game.rules import Ending
from howsure.track.game.sequence import LENGTH, STANDARD, Setting
from howsure.track.game.simulated_players import expected_random
from howsure.track.samples import DIRECT, Samples

__all__ = [
    "GUESSING",
    "PEOPLE",
    "REPLICATES",
    "Baseline",
    "Board",
    "GameEnds",
    "Hazard",
    "Survival",
    "average_turns",
    "baselines",
    "boards",
    "mean_turns",
    "median_turns",
    "needs_assumption",
    "stddev_turns",
    "survival_of",
    "violation_rate",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

_STRETCHES = (1, 6, 11, 21, 51, 101, 201)  # first turns; the risk changes most at the start
_FEWEST = 5  # games that answered a turn; a curve of fewer is mostly chance
_FEWEST_SEQUENCES = 5  # resamples of fewer are mostly copies of each other
_MOST_ASSUMED = 0.05  # of an average may come from an assumed hazard before it is said
_EXTRAPOLATED = "extrapolated beyond"


@dataclass(frozen=True, eq=False)
class GameEnds:
    """Games of one player on one board: correct answers, whether an error ended them or they were interrupted, and which sequence was played."""

    turns: Ints
    is_error: Bools
    is_censored: Bools
    is_violation: Bools
    seeds: Ints
    length: int

    @classmethod
    def of(cls, games: pl.DataFrame, **taken_as: Ending) -> GameEnds:
        """Those of a frame of samples that say something; a game that was interrupted in its first turn does not.

        ``taken_as`` counts one ending as another, for bounds: ``limit="complete"`` takes games that reached a limit as complete.
        """
        ending = pl.col("ended_by").replace(taken_as)
        turns = pl.when(ending == "complete").then("length").otherwise("max_length")
        is_error = ending.is_in(["error", "no_answer"])
        told = games.select(
            "seed", turns.alias("turns"), is_error.alias("is_error"), (pl.col("violation") == 1).alias("is_violation")
        ).filter(pl.col("is_error") | (pl.col("turns") > 0))
        length, right, errors = int(games["length"][0]), told["turns"].to_numpy(), told["is_error"].to_numpy()
        is_censored = ~errors & (right < length)
        return cls(right, errors, is_censored, told["is_violation"].to_numpy(), told["seed"].to_numpy(), length)

    @property
    def n(self) -> int:
        """How many games say something."""
        return len(self.turns)

    @property
    def times(self) -> Ints:
        """As Kaplan and Meier count: a game that was interrupted after k correct answers was at risk of an error after k − 1, not after k."""
        return self.turns - self.is_censored

    @property
    def answered(self) -> Ints:
        """Turns with an answer."""
        return self.turns + self.is_error

    @property
    def reach(self) -> int:
        """Up to which turn the curve is well known: the length, or where games were interrupted the last turn that five (or half of fewer) games answered."""
        if not self.is_censored.any():
            return self.length
        at_risk, _ = self.table()
        return int(np.flatnonzero(at_risk >= max(1, min(_FEWEST, self.n // 2)))[-1]) + 1

    def table(self) -> tuple[Ints, Ints]:
        """How many games answered each turn, and how many erred in it."""
        at_risk = np.bincount(self.answered, minlength=self.length + 1)[::-1].cumsum()[::-1][1:]
        return at_risk, np.bincount(self.turns[self.is_error], minlength=self.length)

    def share_at(self, turn: int) -> float:
        """The share of games with at least so many correct answers."""
        at_risk, errors = (part[:turn] for part in self.table())
        return float(np.prod(1 - np.divide(errors, at_risk, out=np.zeros(turn), where=at_risk > 0)))

    def values(self, limit: int) -> Floats:
        """Pseudo-values of correct answers up to a limit (`howsure.stats.survival.restricted_values`)."""
        return restricted_values(self.times, self.is_error, limit)

    def values_at_most(self, turn: int) -> Floats:
        """Those over the whole length, if every game that lasts to a turn went on to the end."""
        return restricted_values(self.times, self.is_error, turn, tail=float(self.length - turn))

    @cached_property
    def hazard(self) -> FrailtyFit | None:
        """The hazard that continues the survival curve beyond the last turn that is well known; None where nothing lies beyond it, nobody lasted to it, or nobody erred."""
        at_risk, errors = self.table()
        is_needed = self.reach < self.length and self.share_at(self.reach) > 0 and errors.any()
        return fit_frailty(at_risk, errors) if is_needed else None

    def extended_values(self, transform: Callable[[Floats], Floats] = lambda turns: turns) -> Floats:
        r"""Pseudo-values of g(correct answers) over the whole length: the survival curve as far as it reaches, then a fitted hazard.

        .. math:: \hat\theta = \hat\theta_\tau + \sum_{t=\tau+1}^{L} S(t) \big(g(t) - g(t-1)\big)

        S is fitted to the errors in all turns (`howsure.stats.survival.fit_frailty`): the hazard may fall or rise, and sequences may differ in it. Beyond τ its own curve counts, not the
        share that Kaplan and Meier find at τ, which the last few games decide. Where no game was interrupted, the values are those of the games themselves.
        """
        reach, fit = self.reach, self.hazard
        values = restricted_values(self.times, self.is_error, reach, transform)
        if fit is None:
            return values
        total, slopes = fit.cumulative(np.arange(self.length + 1))
        later = np.exp(-total[reach + 1 :]) * np.diff(transform(np.arange(reach, self.length + 1, dtype=np.float64)))
        # each game's part in the score of the fit: the turns that were right, and the error
        own = -slopes[self.turns]
        last = self.turns[self.is_error]
        growth = np.clip(total[last + 1] - total[last], 1e-12, None)
        own[self.is_error] += (slopes[last + 1] - slopes[last]) / np.expm1(growth)[:, None]
        moved = (own - own.mean(axis=0)) @ fit.covariance @ (later @ -slopes[reach + 1 :])
        return np.asarray(values + later.sum() + self.n * moved)

    def average(self, level: float) -> Estimate:
        """The mean of `extended_values`, where a part of it lies beyond what is well known, with a profile likelihood interval (`howsure.stats.survival.likely_hazards`).

        All hazards in the region give an average; the interval has the smallest and the largest, moved by as much as the restricted mean differs from that of the fitted hazard.
        Games on one sequence count less by the design effect of the restricted mean.
        """
        assert self.hazard is not None
        known = self.values(self.reach)
        effect = max(mean(known, self.seeds, bounds=None).design_effect or 1.0, 1.0)
        region = likely_hazards(self.hazard, *self.table(), drop=effect * normal_quantile(level) ** 2 / 2)
        survival = np.exp(-region.cumulative(np.arange(1, self.length + 1))[0])
        # the first is the fitted hazard itself
        averages = survival.sum(axis=1) + known.mean() - survival[0, : self.reach].sum()
        low, high = (float(np.clip(end, 0.0, self.length)) for end in (averages.min(), averages.max()))
        most = known.mean() + self.share_at(self.reach) * (self.length - self.reach)
        value = min(float(averages[0]), float(most))
        return Estimate(value, min(low, value), max(high, value), level)


@dataclass(frozen=True)
class Hazard:
    """The probability of an error in one turn, given that all before were correct, from turn ``first`` to turn ``last``."""

    first: int
    last: int
    hazard: Estimate
    n_errors: int
    n_turns: int


@dataclass(frozen=True)
class Survival:
    """How long games last: ``curve`` gives the share with more than t correct answers.

    ``restricted_mean`` is the mean number of correct answers up to the turn ``reach``: the game's length, unless games were interrupted and hardly any is left beyond
    it.
    """

    curve: SurvivalCurve
    restricted_mean: Estimate
    reach: int
    hazards: tuple[Hazard, ...]

    def to_frame(self) -> pl.DataFrame:
        """The curve from its start: turns, survival with its interval, at_risk, errors."""
        start, curve = self.curve.at(0), self.curve
        known = pl.DataFrame(
            {
                "turns": curve.times.astype(int),
                "survival": curve.survival,
                "survival_low": curve.low,
                "survival_high": curve.high,
                "at_risk": curve.at_risk,
                "errors": curve.events,
            }
        )
        if curve.times[0] == 0:
            return known
        first = [[0], [start.value], [start.low], [start.high], [curve.n], [0]]
        return pl.concat([pl.DataFrame(first, schema=known.schema), known])


def survival_of(ends: GameEnds, *, level: float = 0.95) -> Survival:
    """Survival over the turns of games."""
    curve = kaplan_meier(ends.times, ends.is_error, level=level)
    reach = ends.reach
    return Survival(curve, mean_turns(ends, ends.values(reach), reach, level), reach, _hazards(ends, level))


def average_turns(games: pl.DataFrame, *, level: float = 0.95) -> tuple[Estimate, tuple[float, float] | None]:
    """Correct answers on average, and what the average is at least and at most where games were interrupted or ended without an answer.

    Interrupted games are censored. Where the curve then ends early, a fitted hazard continues it (`GameEnds.average`), if it has fallen to one half by then; where that
    adds more than 5 % to the average, ``reason`` says so, since the interval covers less than its level under a hazard of another form:
    read the restricted mean then. If not, or where games reached a limit of context or tokens, the average is not identified: its state is ``above_range``, its value and the
    interval's low end are those of the least it can be, the high end that of the most. The least: a game that reached a limit would have erred in the next turn,
    and none goes on beyond the last turn that is well known. The most: it would have been right to the end, as all games beyond that turn; and a game without an answer
    is censored instead of counted as an error.
    """
    ends = GameEnds.of(games)
    least, most = GameEnds.of(games, limit="error"), GameEnds.of(games, limit="complete")
    if not ends.n:
        reason = f"all {len(games):,} games were interrupted in the first turn" if len(games) else "no game was played"
        return Estimate.without("too_few", reason, level=level), None
    low = mean_turns(least, least.values(least.reach), least.reach, level)
    high = mean_turns(most, most.values_at_most(ends.reach), most.length, level)
    assert low.value is not None
    assert high.value is not None
    n_limits = int((games["ended_by"] == "limit").sum())
    if n_limits or (ends.reach < ends.length and ends.share_at(ends.reach) > 0.5):
        why = (
            f"{n_limits:,} of {len(games):,} games reached a limit"
            if n_limits
            else "more than half of the games were interrupted"
        )
        reason = f"{why}: the average is between {low.value:.4g} and {high.value:.4g}"
        average = Estimate(low.value, low.low, high.high, level, "above_range", reason)
    else:
        known = ends.values(ends.reach)
        average = ends.average(level) if ends.hazard else mean_turns(ends, known, ends.length, level)
        assumed = (average.value or 0.0) - float(known.mean())
        if average.value and assumed > _MOST_ASSUMED * average.value:
            reason = f"{assumed:.3g} of {average.value:.4g} turns on average are {_EXTRAPOLATED} turn {ends.reach}"
            average = replace(average, reason="; ".join(text for text in (average.reason, reason) if text))
    upper = GameEnds.of(games, limit="complete", no_answer="interrupted")
    bounds = low.value, float(upper.values_at_most(ends.reach).mean()) if upper.n else float(upper.length)
    is_point = bounds[1] - bounds[0] < 1e-9 * ends.length
    return average, None if is_point else bounds


def needs_assumption(average: Estimate) -> bool:
    """Whether an average of `average_turns` is not identified, or more than a small part of it is beyond the turns that were observed."""
    return average.state != "ok" or _EXTRAPOLATED in average.reason


def mean_turns(ends: GameEnds, values: Floats, limit: int, level: float) -> Estimate:
    """The mean of pseudo-values up to a limit, clustered by sequence.

    Where all games agree, nothing shows their spread. The interval is then that of games with a constant hazard, errors over turns (Wilson), as if each
    sequence had been played once.
    """
    n_clusters = len(np.unique(ends.seeds))
    if n_clusters < 2 or np.ptp(values) > 1e-9 * limit:
        return bounded_mean(values, ends.seeds, limit, level=level)
    weight = n_clusters / ends.n
    n_errors = weight * (ends.is_error & (ends.turns < limit)).sum()
    hazard = wilson(n_errors, weight * np.minimum(ends.answered, limit).sum(), level)
    assert hazard.low is not None
    assert hazard.high is not None
    low = ((1 - hazard.high) ** np.arange(1, limit + 1)).sum()
    high = min((1 - hazard.low) / hazard.low, limit) if hazard.low else limit
    return Estimate(float(values.mean()), min(float(low), values.mean()), max(high, values.mean()), level)


def violation_rate(ends: GameEnds, *, level: float = 0.95) -> Estimate:
    """The share of games that a malformed reply ends, under censoring (Aalen and Johansen); beyond what is well known, at most all that are left."""
    found = bounded_mean(incidence_values(ends.times, ends.is_error, ends.is_violation), ends.seeds, 1.0, level=level)
    unknown = ends.share_at(ends.reach) if ends.reach < ends.length else 0.0
    if not unknown or found.value is None or found.high is None:
        return found
    reason = f"a share of {unknown:.2f} is not known beyond turn {ends.reach}"
    return Estimate(found.value, found.low, min(found.high + unknown, 1.0), level, "above_range", reason)


def _hazards(ends: GameEnds, level: float) -> tuple[Hazard, ...]:
    """By stretches of turns that games answered."""
    at_risk, failed = ends.table()
    firsts = [first for first in _STRETCHES if first <= ends.length]
    lasts = [*(first - 1 for first in firsts[1:]), ends.length]
    found = []
    for first, last in zip(firsts, lasts, strict=True):
        n_errors, n_turns = int(failed[first - 1 : last].sum()), int(at_risk[first - 1 : last].sum())
        found.append(Hazard(first, last, wilson(n_errors, n_turns, level), n_errors, n_turns))
    return tuple(found)


# Spread and middle of the number of correct answers, with intervals that know which games share a sequence.


REPLICATES = 2000


def stddev_turns(ends: GameEnds, *, level: float, seed: int) -> Estimate:
    r"""The standard deviation, as the eval has always given it (divided by n), with a bootstrap-t interval of its logarithm.

    .. math:: se(\log s) = \frac{1}{2 s^2 n} \sqrt{\frac{G}{G-1} \sum_c \Big(\sum_{i \in c} (x_i - \bar x)^2 - s^2\Big)^2}

    over G sequences c. Where a few games last much longer than the rest, even 250 samples leave much open: a 95 % interval then holds
    in 86–96 % of cases (with 20 samples in 78–95 %), where percentile and BCa intervals hold in 72–92 %. No spread exceeds half the length.
    Under censoring x and its square are pseudo-values (`howsure.track.survival.GameEnds.extended_values`).
    """
    turns = ends.extended_values() if ends.n else np.zeros(0)
    centre_of = float(turns.mean()) if ends.n else 0.0
    squares = ends.extended_values(lambda value: (value - centre_of) ** 2) if ends.n else np.zeros(0)
    value = float(np.sqrt(max(squares.mean(), 0.0))) if ends.n else None
    clusters = np.unique(ends.seeds, return_inverse=True)[1]
    n_clusters = len(np.unique(clusters))
    if value is None or n_clusters < _FEWEST_SEQUENCES:
        return Estimate.without("too_few", _told_few(n_clusters), value=value, level=level)
    sums = np.array([np.bincount(clusters, part) for part in (np.ones(ends.n), turns - centre_of, squares)])
    ((centre,), (se,)) = _log_spread(sums, np.ones((1, n_clusters)))
    drawn, drawn_se = _log_spread(sums, _weights(np.arange(n_clusters), seed))
    if not (se and (drawn_se > 0).any()):
        return Estimate.without("undefined", "the games do not differ enough", value=value, level=level)
    scaled = np.divide(drawn - centre, drawn_se, out=np.full(len(drawn), np.nan), where=drawn_se > 0)
    found = replicate_interval(scaled, level)
    if found.state != "ok":
        return Estimate.without("undefined", found.reason(), value=value, level=level)
    low, high = (float(np.exp(centre - end * se)) if np.isfinite(end) else None for end in (found.high, found.low))
    most = ends.length / 2
    low = None if low is None else min(low, value)
    return Estimate(value, low, most if high is None else max(min(high, most), value), level)


def median_turns(ends: GameEnds, *, level: float, seed: int) -> Estimate:
    """The number of correct answers that half of the games do not exceed (Kaplan and Meier), with the percentile interval of resampled sequences.

    Of two in the middle it is their mean. Where more than half of the games are right as far as is known, it is above the range.
    """
    n_clusters = len(np.unique(ends.seeds))
    if not n_clusters:
        return Estimate.without("too_few", _told_few(0), level=level)
    ((value,), last) = _medians(ends, np.ones((1, ends.n))), float(ends.turns.max())
    is_beyond = not np.isfinite(value)
    reason = f"more than half of the games had no error up to turn {last:g}" if is_beyond else ""
    if n_clusters < _FEWEST_SEQUENCES:
        told = "; ".join(text for text in (reason, _told_few(n_clusters)) if text)
        return Estimate.without("too_few", told, value=last if is_beyond else float(value), level=level)
    found = replicate_interval(_medians(ends, _weights(ends.seeds, seed)), level)
    if not is_beyond:
        return found.estimate(float(value), level=level)
    low = float(found.low) if np.isfinite(found.low) else last
    low_state = "ok" if np.isfinite(found.low) else "above_range"
    return Estimate(last, low, None, level, "above_range", reason, low_state, "above_range")  # type: ignore[arg-type]


def _weights(labels: Ints, seed: int) -> Floats:
    return hierarchical_weights([labels], REPLICATES, np.random.default_rng(seed))


def _told_few(n_clusters: int) -> str:
    return (
        f"{n_clusters} sequences were played; an interval needs {_FEWEST_SEQUENCES}"
        if n_clusters
        else "no game was played"
    )


def _log_spread(sums: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Log s of each replicate and its standard error, from the sums of 1, x and x² in each sequence; 0 where there is no spread."""
    counts, first, second = sums
    total = weights @ counts
    mean = weights @ first / total
    variance = np.maximum(weights @ second / total - mean**2, 0.0)
    has_spread = variance > 1e-12 * second.sum() / counts.sum()
    variance = np.where(has_spread, variance, 1.0)
    excess = second - 2 * mean[:, None] * first + (mean**2 - variance)[:, None] * counts
    n_clusters = sums.shape[1]
    se = np.sqrt((weights * excess**2).sum(axis=1) * n_clusters / (n_clusters - 1)) / (2 * variance * total)
    return np.log(variance) / 2, np.where(has_spread, se, 0.0)


def _medians(ends: GameEnds, weights: Floats) -> Floats:
    """Medians of correct answers under weights; ∞ where the curve does not fall to one half. Complete games lasted longer than the length."""
    turns, place = np.unique(ends.times, return_inverse=True)
    leaving, erring = (np.zeros((ends.n, len(turns))) for _ in range(2))
    leaving[np.arange(ends.n), place] = 1
    erring[np.arange(ends.n), place] = ends.is_error
    at_risk = (weights @ leaving)[:, ::-1].cumsum(axis=1)[:, ::-1]
    hazard = np.divide(weights @ erring, at_risk, out=np.zeros_like(at_risk), where=at_risk > 0)
    # after the last game of a replicate nothing is known, and the curve stays where it was
    curve = np.cumprod(1 - hazard, axis=1)
    beyond = np.append(turns.astype(np.float64), np.inf)
    is_falling = hazard > 0
    low = _first(is_falling & (curve <= 0.5 + 1e-9), beyond)
    high = _first(is_falling & (curve < 0.5 - 1e-9), beyond)
    # one half is reached exactly: the middle lies between this turn and the next one with an error, or with a complete game
    both = (low + np.where(np.isfinite(high), high, np.where((ends.turns == ends.length).any(), ends.length, low))) / 2
    return np.where(np.isfinite(low), both, np.inf)


def _first(is_there: NDArray[np.bool_], turns: Floats) -> Floats:
    return np.asarray(turns[np.where(is_there.any(axis=1), is_there.argmax(axis=1), len(turns) - 1)])


# What to compare with: guessing (exactly), the players that need no model, and people.


GUESSING, PEOPLE = "random (exact)", "people"


@dataclass(frozen=True)
class Board:
    """What is played: results on different boards cannot be compared."""

    variant: str
    setting: str
    length: int

    @property
    def title(self) -> str:
        """The board in words."""
        conditions = [f"{self.length} numbers"] if self.length != LENGTH else []
        conditions += [self.setting] if self.setting != STANDARD else []
        return ", ".join([self.variant, *conditions])


@dataclass(frozen=True)
class Baseline:
    """An average number of correct answers to compare with.

    For guessing it is exact, and the interval is where the average of one run of ``random`` would lie; for others it is measured.
    """

    board: Board
    name: str
    average: Estimate


def boards(samples: Samples) -> list[Board]:
    """What was played, in the order of the samples."""
    return [
        Board(*row) for row in samples.frame.select("variant", "setting", "length").unique(maintain_order=True).rows()
    ]


def baselines(samples: Samples, *, level: float = 0.95) -> tuple[Baseline, ...]:
    """Guessing, baselines and people on every board that was played."""
    found: list[Baseline] = []
    for board in boards(samples):
        games = samples.frame.filter(**vars(board))
        found.append(Baseline(board, GUESSING, _guessing(board, games["seed"].unique().sort().to_list(), level)))
        players = games.filter(pl.col("kind") == "baseline", pl.col("solver") == DIRECT)
        for (name,), part in players.group_by("model", maintain_order=True):
            found.append(Baseline(board, str(name), average_turns(part, level=level)[0]))
        people = games.filter(pl.col("kind") == "human")
        if len(people):
            # two people on one sequence differ more than one person on two
            if people["model"].n_unique() > 1:
                people = people.with_columns(pl.col("model").rank("dense").cast(pl.Int64).alias("seed"))
            found.append(Baseline(board, PEOPLE, average_turns(people, level=level)[0]))
    return tuple(found)


def _guessing(board: Board, seeds: list[int], level: float) -> Estimate:
    exact = expected_random(board.variant, seeds, Setting.of(board.setting, board.length))
    reach = normal_quantile(level) * exact.run_sd
    return Estimate(exact.average, max(exact.average - reach, 0.0), exact.average + reach, level)
