"""Learning curves: how novices' success at each task grows from attempt to attempt."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.compute import replicate
from howsure.errors import InputError
from howsure.estimates import Estimate, State
from howsure.horizon.learning_curves.attrition import Attrition, measure_attrition
from howsure.horizon.learning_curves.families import CONTEST, FAMILIES, family_of, to_base_rate
from howsure.horizon.learning_curves.novice_counts import NoviceCounts, novice_counts
from howsure.horizon.run_counts import check_success_rates
from howsure.results import Provenance, Result, columns_of, end_states, plain
from howsure.stats._arrays import Bools, Floats, Ints, check_level, normal_quantile
from howsure.stats.means import wilson
from howsure.stats.replicates import MOST_FAILED, Interval, expanded_level, replicate_interval
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = [
    "AUTO",
    "EASY",
    "FEWEST_LEARNERS",
    "HARD",
    "REASONS",
    "THIN",
    "Contest",
    "CurveReplicates",
    "LearnerEffect",
    "LearningCurves",
    "Support",
    "TaskCurve",
    "contest",
    "few",
    "fit_batch",
    "fit_curves",
    "interval",
    "reached",
    "refine_tasks",
    "resample",
    "whole_band",
]

AUTO = "auto"
_ONLY_FILES = ("curve_points", "families", "base_rates")
_PARAMETERS = ("first", "asymptote", "rate", "floor", "midpoint")


@dataclass(frozen=True)
class TaskCurve:
    """How novices learn one task.

    ``first`` is success on the first attempt as the curve has it, ``reach`` the attempt at which each level is reached, ``correlation`` how
    much alike two answers of one learner are. ``is_thin`` says that so few answered that a weak prior holds the curve.
    """

    task: str
    family: str
    parameters: Mapping[str, float]
    log_likelihood: float
    aic: float
    first: Estimate
    reach: Mapping[float, Estimate]
    correlation: Estimate
    n_learners: int
    n_answers: int
    last_attempt: int
    is_thin: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class LearningCurves(Result):
    """Novices' success rate as a function of the attempt, for each task.

    Parameters
    ----------
    rows : tuple[TaskCurve, ...]
        One entry per task.
    points : pl.DataFrame
        One row per task and attempt: the observed share with its interval (n, share, …), the curve with its pointwise interval (p, p_low, p_high) and with its simultaneous band (band, band_low, band_high).
    families : pl.DataFrame
        One row per task and curve family.
    attrition : Attrition
        Learners who leave early.
    correlation : Estimate
        Correlation of a learner's answers to one task.
    refinement : pl.DataFrame
        One row per task: keep, drop or unsure, with the reason and the numbers behind it.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "curves"

    rows: tuple[TaskCurve, ...]
    points: pl.DataFrame
    families: pl.DataFrame
    attrition: Attrition
    correlation: Estimate
    refinement: pl.DataFrame
    provenance: Provenance

    @property
    def level(self) -> float:
        """Coverage of the intervals."""
        return float(self.provenance.settings["level"])

    @property
    def wins(self) -> dict[str, float]:
        """The share of tasks on which each family has the smallest AIC, the most frequent first; only where families competed."""
        won = self.families.filter("is_best")["family"].value_counts(sort=True) if self._is_contest else None
        return {} if won is None else {name: count / len(self.rows) for name, count in won.iter_rows()}

    @property
    def win_shares(self) -> dict[str, Estimate]:
        """`wins` of every family that competed, with Wilson's interval, as if the tasks were a sample of such tasks."""
        n, wins = len(self.rows), self.wins
        return {name: wilson(round(wins.get(name, 0) * n), n, self.level) for name in CONTEST}

    @property
    def _is_contest(self) -> bool:
        return bool(self.provenance.settings["curve"] == AUTO)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``curves`` (one row per task), ``curve_points``, ``families``, ``base_rates`` where it was fitted, ``refinement`` (which tasks to keep), ``attrition`` and ``presence``."""
        rates = {"base_rates": self.base_rates()} if "exponential" in self.families["family"] else {}
        return {
            "curves": pl.DataFrame([_row(curve) for curve in self.rows], infer_schema_length=None),
            "curve_points": self.points,
            "families": self.families,
            **rates,
            "refinement": self.refinement,
            **self.attrition.tables,
        }

    def base_rates(self) -> pl.DataFrame:
        """The exponential curve of each task as base_rate, learning_gain and learning_rate, where it was fitted."""
        fitted = self.families.filter(pl.col("family") == "exponential")
        base, gain = to_base_rate(*(fitted[name].to_numpy() for name in ("first", "asymptote", "rate")))
        return fitted.select(
            "task", pl.Series("base_rate", base), pl.Series("learning_gain", gain), learning_rate="rate"
        )

    def as_dict(self) -> dict[str, Any]:
        """The curves, attrition, family wins and the correlation within learners, as plain JSON; points and families are left to their files."""
        kept = {name: value for name, value in super().as_dict().items() if name not in _ONLY_FILES}
        more = {"wins": self.wins, "learner_correlation": self.correlation, "warning": self.attrition.warning or None}
        return {**kept, **plain(more)}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.horizon.learning_curves.sections import curves_sections

        return curves_sections(self)

    def charts(self) -> dict[str, Chart]:
        """Curves, family wins and attrition, by file name."""
        from howsure.horizon.learning_curves.charts import draw_curves, draw_wins

        drawn: dict[str, Chart] = {"curves": draw_curves(self)}
        drawn |= {"family_wins": draw_wins(self)} if self._is_contest else {}
        return drawn | self.attrition.charts()


@checked
def fit_curves(
    attempts: Attempts | Source,
    *,
    curve: str = AUTO,
    success_rates: Sequence[float] = (0.5, 0.8),
    last: int | None = None,
    min_answers: int = 1,
    min_attempts: int = 2,
    min_first: int = 1,
    n_replicates: int = 500,
    level: float = 0.95,
    seed: int = 0,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> LearningCurves:
    """Fit a learning curve to each task that people tried, by binomial likelihood.

    Parameters
    ----------
    attempts : Attempts or frame
        Attempts of people (kind ``human``), numbered.
    curve : str
        ``auto`` takes the family with the smallest AIC for each task.
    success_rates : sequence of float
        The attempt at which the curve reaches each of these shares is estimated.
    last : int, optional
        Attempts after this one are excluded.
    min_answers, min_attempts, min_first : int
        Tasks with fewer than ``min_attempts`` attempts of ``min_answers`` answers each, or fewer than ``min_first`` first answers, are excluded.
    n_replicates : int
        Bootstrap replicates: learners are resampled, each with all their answers, and the chosen family is fitted again.
    level : float
        Coverage of the intervals.
    seed : int
        Of the replicates.
    workers : int, optional
        Threads; by default one per core.
    scheduler : str, optional
        A Dask scheduler, such as ``tcp://host:8786``.
    progress : callable, optional
        Called with the number of replicates that are done and their total.
    """
    attempts = Attempts.of(attempts)
    check_level(level)
    check_success_rates(success_rates)
    names = (*CONTEST, "isotonic") if curve == AUTO else (family_of(curve).name,)
    counts, notes = _covered(novice_counts(attempts, last=last), min_answers, min_attempts, min_first)
    found = contest(counts, names)
    curves = _evaluate(found, counts)
    effect = LearnerEffect.of(counts, curves)
    drawn = resample(
        counts,
        CONTEST if curve == AUTO else names,
        effect,
        success_rates,
        n_replicates,
        seed=seed,
        workers=workers,
        scheduler=scheduler,
        progress=progress,
    )
    attrition = measure_attrition(counts, level=level, seed=seed)
    settings = {
        "curve": curve,
        "success_rates": list(success_rates),
        "last": last,
        "n_replicates": n_replicates,
        "level": level,
    }
    covered = {"min_answers": min_answers, "min_attempts": min_attempts, "min_first": min_first}
    notes += [attrition.warning] if attrition.warning else []
    whole = np.ones((1, len(counts.learners)))
    alone, together = (part[0] for part in effect.correlations(whole))
    return LearningCurves(
        rows=_rows(counts, found, curves, alone, drawn, success_rates, level),
        points=_points(counts, curves, drawn, level),
        families=_families(counts, found),
        attrition=attrition,
        correlation=_estimate(together, drawn.overall, len(counts.learners), level),
        refinement=_refinement(counts, curves, drawn, level),
        provenance=Provenance.of(attempts, seed=seed, notes=notes, **settings, **covered),
    )


def _covered(counts: NoviceCounts, answers: int, attempts: int, first: int) -> tuple[NoviceCounts, list[str]]:
    kept = counts.covered(answers=answers, attempts=max(attempts, 2), first=first)
    if not kept.any():
        raise InputError(
            f"None of {len(counts.tasks):,} tasks has {max(attempts, 2)} attempts with {answers} answers and {first} first answers. "
            "Lower --min-attempts, --min-answers or --min-first, or add people who try a task again."
        )
    n_out = int((~kept).sum())
    told = [f"{n_out:,} of {len(kept):,} tasks have too few attempts or answers for a curve and are excluded."]
    return counts.of_tasks(kept), told if n_out else []


def _evaluate(found: Contest, counts: NoviceCounts) -> Floats:
    """P of each task's family at each attempt."""
    attempts = counts.attempts.astype(np.float64)
    return np.array(
        [family_of(name).curve(found.parameters[name][task], attempts) for task, name in enumerate(found.winners)]
    )


def _rows(
    counts: NoviceCounts,
    found: Contest,
    curves: Floats,
    correlation: Floats,
    drawn: CurveReplicates,
    levels: Sequence[float],
    level: float,
) -> tuple[TaskCurve, ...]:
    rows, is_thin = [], Support.of(counts).is_thin
    for task, name in enumerate(found.winners):
        parameters, n_learners = found.parameters[name][task], int(counts.n_learners[task])
        last = int(np.flatnonzero(counts.trials[task])[-1]) + 1
        reach = FAMILIES[name].reach
        rows.append(
            TaskCurve(
                task=counts.tasks[task],
                family=name,
                parameters=dict(zip(FAMILIES[name].parameters, parameters.tolist(), strict=False)),
                log_likelihood=float(found.log_likelihood[found.winner[task], task]),
                aic=float(found.aic[found.winner[task], task]),
                first=_estimate(curves[task, 0], drawn.curves[:, task, 0], n_learners, level),
                reach={
                    target: reached(float(reach(parameters, target)), draws, target, last, n_learners, level)
                    for target, draws in zip(levels, drawn.reach[:, task].T, strict=True)
                },
                correlation=_estimate(correlation[task], drawn.correlation[:, task], n_learners, level),
                n_learners=n_learners,
                n_answers=int(counts.trials[task].sum()),
                last_attempt=last,
                is_thin=bool(is_thin[task]),
            )
        )
    return tuple(rows)


def _estimate(value: float, draws: Floats, n_learners: int, level: float) -> Estimate:
    if np.isnan(value):
        return Estimate.without("undefined", "no learner answered twice with any doubt", level=level)
    if n_learners < FEWEST_LEARNERS:
        return Estimate.without("too_few", few(n_learners), value=float(value), level=level)
    return interval(draws, level, n_learners).estimate(float(value), level=level)


def _points(counts: NoviceCounts, curves: Floats, drawn: CurveReplicates, level: float) -> pl.DataFrame:
    """One row per task and attempt that was observed."""
    rows = []
    for task, name in enumerate(counts.tasks):
        n_learners, ends = int(counts.n_learners[task]), np.full((4, len(counts.attempts)), np.nan)
        if n_learners >= FEWEST_LEARNERS:
            draws = drawn.curves[:, task]
            found = interval(draws, level, n_learners)
            single = np.clip([found.low, found.high], 0, 1)  # success that may be anything is 0 to 1
            ends = np.array([*single, *whole_band(draws, level, n_learners)])
        for column in np.flatnonzero(counts.trials[task]):
            n = counts.trials[task, column]
            seen = wilson(counts.successes[task, column], n, level)
            observed = (int(n), seen.value, seen.low, seen.high)
            p, single_ends, band_ends = curves[task, column], ends[:2, column], ends[2:, column]
            rows.append((name, int(column) + 1, p, *single_ends, p, *band_ends, *observed))
    names = (
        *("task", "attempt", "p", "p_low", "p_high", "band", "band_low", "band_high"),
        *("n", "share", "share_low", "share_high"),
    )
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None).fill_nan(None)


def _refinement(counts: NoviceCounts, curves: Floats, drawn: CurveReplicates, level: float) -> pl.DataFrame:
    """Which tasks to keep, from the replicates of their curves."""
    last = np.array([int(np.flatnonzero(row)[-1]) for row in counts.trials])
    ends, rises = np.empty((2, *curves.shape)), np.empty((2, len(last)))
    for t, n in enumerate(counts.n_learners):
        found = interval(drawn.curves[:, t], level, max(int(n), 2))
        rise = interval(drawn.curves[:, t, last[t]] - drawn.curves[:, t, 0], level, max(int(n), 2))
        ends[:, t], rises[:, t] = (found.low, found.high), (float(rise.low), float(rise.high))
    return refine_tasks(counts, curves, ends, rises, level)


def _families(counts: NoviceCounts, found: Contest) -> pl.DataFrame:
    """Every family on every task: its parameters, how well it fits, and how far behind the best it is."""
    rows = []
    best = found.aic[found.winner, np.arange(len(counts.tasks))]
    for task, name in enumerate(counts.tasks):
        for place, family in enumerate(found.families):
            values = found.parameters[family][task]
            fitted = dict(zip(FAMILIES[family].parameters, values.tolist(), strict=False))
            rows.append(
                {"task": name, "family": family}
                | {parameter: fitted.get(parameter) for parameter in _PARAMETERS}
                | {"n_parameters": int(FAMILIES[family].n_parameters(values))}
                | {"log_likelihood": found.log_likelihood[place, task], "aic": found.aic[place, task]}
                | {"behind": found.aic[place, task] - best[task], "is_best": bool(found.winner[task] == place)}
            )
    kinds = dict.fromkeys(_PARAMETERS, pl.Float64)
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=kinds)


def _row(curve: TaskCurve) -> dict[str, Any]:
    row: dict[str, Any] = {"task": curve.task, "family": curve.family}
    row |= {name: curve.parameters.get(name) for name in _PARAMETERS}
    row |= columns_of(first=curve.first)
    row |= {"log_likelihood": curve.log_likelihood, "aic": curve.aic}
    for target, found in curve.reach.items():
        name = f"n{100 * target:g}"
        row |= columns_of(**{name: found}) | end_states(**{name: found})
    row |= columns_of(learner_correlation=curve.correlation)
    return row | {name: getattr(curve, name) for name in ("n_learners", "n_answers", "last_attempt", "is_thin")}


# Fits of learning curves to many tasks and replicates at once, and which family suits a task best.


THIN = 100
"""Tasks with fewer answers are thin: they get one imaginary learner who does as everybody does on all tasks."""


def fit_batch(family: str, successes: Floats, trials: Floats) -> Floats:
    """Parameters of the family's best curve for each row of successes and trials by attempt: (…, attempts) → (…, parameters).

    Every row is searched anew, so that a replicate does not depend on where others ended. NaN where a row has no trial.
    """
    shape = np.broadcast_shapes(successes.shape, trials.shape)
    rows = [np.broadcast_to(array, shape).reshape(-1, shape[-1]) for array in (successes, trials)]
    found = family_of(family).fit(*rows).parameters
    return found.reshape(*shape[:-1], found.shape[-1])


@dataclass(frozen=True, eq=False)
class Support:
    """What is added to the counts of thin tasks: a weak prior, in the form of answers."""

    successes: Floats
    trials: Floats
    is_thin: Bools

    @classmethod
    def of(cls, counts: NoviceCounts) -> Support:
        """One answer at each attempt that the task has, with the success of all tasks together."""
        share = (counts.successes.sum(axis=0) + 0.5) / (counts.trials.sum(axis=0) + 1)
        is_thin = counts.trials.sum(axis=1) < THIN
        trials = (is_thin[:, None] & (counts.trials > 0)).astype(np.float64)
        return cls(trials * share, trials, is_thin)


@dataclass(frozen=True, eq=False)
class Contest:
    """Every family on every task: parameters by family, log-likelihood and AIC (families, tasks), and the winner among those that compete."""

    families: tuple[str, ...]
    parameters: dict[str, Floats]
    log_likelihood: Floats
    aic: Floats
    winner: Ints

    @property
    def winners(self) -> list[str]:
        """The name of each task's best family."""
        return [self.families[index] for index in self.winner]


def contest(counts: NoviceCounts, families: Sequence[str] = (*CONTEST, "isotonic")) -> Contest:
    """Fit every family to every task; the smallest AIC among those of `CONTEST` wins, or the only family."""
    support = Support.of(counts)
    successes, trials = counts.successes + support.successes, counts.trials + support.trials
    parameters, heights, charged = {}, [], []
    for name in families:
        fit = family_of(name).fit(successes, trials)
        parameters[name] = fit.parameters
        heights.append(fit.log_likelihood)
        charged.append(family_of(name).n_parameters(fit.parameters))
    aic = 2 * np.array(charged) - 2 * np.array(heights)
    competes = np.array([name in CONTEST or len(families) == 1 for name in families])
    winner = np.where(competes[:, None], aic, np.inf).argmin(axis=0)
    return Contest(tuple(families), parameters, np.array(heights), aic, winner)


@dataclass(frozen=True, eq=False)
class CurveReplicates:
    """What refits to redrawn learners give: P (replicates, tasks, attempts), the attempt at which levels are reached
    (replicates, tasks, levels), and the correlation of a learner's answers on each task, and on all.
    """

    curves: Floats
    reach: Floats
    correlation: Floats
    overall: Floats


def resample(
    counts: NoviceCounts,
    families: Sequence[str],
    effect: LearnerEffect,
    levels: Sequence[float],
    n: int,
    *,
    seed: int,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CurveReplicates:
    """Draw learners with replacement, all their courses with them, and refit each task, `n` times.

    Of several families each replicate takes its own best: an interval that kept to the first winner would not know that another sample
    might have chosen another.
    """
    work = partial(_draw, counts, Support.of(counts), tuple(families), effect, tuple(levels))
    found = replicate(work, n, seed=seed, workers=workers, scheduler=scheduler, progress=progress)
    return CurveReplicates(*found)


def _draw(
    counts: NoviceCounts,
    support: Support,
    families: Sequence[str],
    effect: LearnerEffect,
    levels: Sequence[float],
    rng: np.random.Generator,
    size: int,
) -> tuple[Floats, ...]:
    weights = counts.draw_learners(size, rng)
    successes, trials = counts.weighted(weights)
    is_there = trials.any(axis=-1, keepdims=True)
    successes += support.successes * is_there
    trials += support.trials * is_there
    rows = (size * len(counts.tasks), -1)
    curves, reach = _best(families, successes.reshape(rows), trials.reshape(rows), levels)
    return curves.reshape(trials.shape), reach.reshape(*trials.shape[:2], -1), *effect.correlations(weights)


def _best(families: Sequence[str], successes: Floats, trials: Floats, levels: Sequence[float]) -> tuple[Floats, Floats]:
    """P at each attempt and where the levels are reached, for the family with the smallest AIC in each row.

    No curve that rises or falls throughout fits better than the best monotone one, so a family is only fitted where that bound lets it win.
    """
    attempts = np.arange(1.0, trials.shape[1] + 1)
    curves, reach = np.full(trials.shape, np.nan), np.full((len(trials), len(levels)), np.nan)
    ceiling = _monotone_height(successes, trials) if len(families) > 1 else np.full(len(trials), np.inf)
    best = np.full(len(trials), np.inf)
    for family in map(family_of, families):
        rows = np.flatnonzero(2 * len(family.parameters) - 2 * ceiling < best)
        fit = family.fit(successes[rows], trials[rows], is_rough=True)
        aic = 2 * family.n_parameters(fit.parameters) - 2 * fit.log_likelihood
        is_better = aic < best[rows]
        rows, parameters = rows[is_better], fit.parameters[is_better]
        best[rows] = aic[is_better]
        curves[rows] = family.curve(parameters, attempts)
        for place, level in enumerate(levels):
            reach[rows, place] = family.reach(parameters, level)
    return curves, reach


def _monotone_height(successes: Floats, trials: Floats) -> Floats:
    """The log-likelihood of the best curve that never falls, or that never rises; ∞ where there is no answer."""
    isotonic = family_of("isotonic")
    rising = isotonic.fit(successes, trials).log_likelihood
    falling = isotonic.fit(successes[:, ::-1], trials[:, ::-1]).log_likelihood
    return np.nan_to_num(np.maximum(rising, falling), nan=np.inf)


# Intervals of curves and of the attempts at which they reach a level, from refits to redrawn learners.


FEWEST_LEARNERS = 5
"""Resamples of fewer are mostly copies of each other."""


def interval(draws: Floats, level: float, n: int) -> Interval:
    """The middle ``level`` of the replicates (axis 0), made wider for few learners; those that had no data failed."""
    return replicate_interval(draws, expanded_level(level, n - 1))


def whole_band(draws: Floats, level: float, n: int) -> tuple[Floats, Floats]:
    """A band that holds ``level`` of the replicates' curves from end to end: draws (replicates, attempts) → (attempts,) each.

    At each attempt the k smallest and largest values are cut off, the same k throughout, the largest that leaves enough whole curves inside
    (Besag and others 1995). Made wider for few learners, as `interval`. A failed replicate lies in no band: too many of them leave it open (0 to 1), more
    than 10 % leave none (NaN).
    """
    curves = draws[~np.isnan(draws[:, 0])]
    ordered, size, n_failed = np.sort(curves, axis=0), len(curves), len(draws) - len(curves)
    if n_failed > MOST_FAILED * len(draws):
        return np.full(draws.shape[1], np.nan), np.full(draws.shape[1], np.nan)
    places = [
        np.searchsorted(column, ours, side)
        for side in ("right", "left")
        for column, ours in zip(ordered.T, curves.T, strict=True)
    ]
    below, above = np.split(np.array(places), 2)
    depth = np.sort(np.r_[np.zeros(n_failed, dtype=np.int64), np.minimum(below, size - above).min(axis=0)])
    cut = int(depth[math.floor((1 - expanded_level(level, n - 1)) * len(draws))])
    return (ordered[cut - 1], ordered[size - cut]) if cut else (np.zeros(draws.shape[1]), np.ones(draws.shape[1]))


def reached(value: float, draws: Floats, target: float, last: int, n: int, level: float) -> Estimate:
    """The attempt at which a level is reached, within 1 and the ``last`` attempt observed; beyond, a state.

    ``value`` and ``draws`` are as `Family.reach` gives them: −∞ above the level at the first attempt, ∞ never.
    """
    number, state = (None, "unbounded") if value == math.inf else _within(value, last)
    reason = {
        "below_range": f"success is above {target:.0%} at the first attempt",
        "above_range": f"success reaches {target:.0%} after the last attempt observed, if the fitted curve continues",
        "unbounded": f"the curve levels off below {target:.0%}",
    }.get(state, "")
    if state == "undefined":
        return Estimate.without("undefined", "there is no curve", level=level)
    if n < FEWEST_LEARNERS:
        return Estimate(number, None, None, level, state, reason or few(n))
    found = interval(draws, level, n)
    (low, low_state), (high, high_state) = (_within(float(end), last) for end in (found.low, found.high))
    reason = "; ".join(text for text in (reason, found.reason()) if text)
    ends: dict[str, State] = {"low_state": low_state, "high_state": high_state}
    return Estimate(number, low, high, level, state, reason, **ends)


def few(n: int) -> str:
    """Why there is no interval."""
    return f"{n} learners; an interval needs {FEWEST_LEARNERS}"


def _within(value: float, last: int) -> tuple[float | None, State]:
    if math.isnan(value):
        return None, "undefined"
    return (1.0, "below_range") if value < 1 else (float(last), "above_range") if value > last else (value, "ok")


# Which tasks of a suite to keep: judged by what novices did, with the reason in one word.


EASY, HARD = 0.9, 0.1
"""A task is too easy if success on the first attempt is surely above the first, too hard if success on the last one is surely below the second."""

REASONS = {
    "": "keep",
    "too easy": f"success on the first attempt is above {EASY:.0%}, over the whole interval",
    "too hard": f"success on the last attempt is below {HARD:.0%}, over the whole interval",
    "not learned": "success does not rise from the first to the last attempt by 10 points, over the whole interval",
    "ambiguous": "learners who are better at the other tasks are worse at this one, over the whole interval: look for a wrong key or an unclear text",
    "too few": f"fewer than {FEWEST_LEARNERS} learners",
}
"""Why a task is dropped; the empty reason keeps it."""

_LEAST_RISE = 0.1


def refine_tasks(counts: NoviceCounts, curves: Floats, ends: Floats, rise: Floats, level: float) -> pl.DataFrame:
    """One row per task: task, verdict (keep, drop, unsure), reason, first and last success, rise, discrimination with its interval.

    Parameters
    ----------
    counts : NoviceCounts
        What novices did.
    curves : array, shape (tasks, attempts)
        Success at each attempt.
    ends : array, shape (2, tasks, attempts)
        Its interval.
    rise : array, shape (2, tasks)
        The interval of the rise from the first to the last attempt that was observed.
    level : float
        Coverage of the interval of the discrimination: the correlation, over learners, of success at this task and at the others, beyond what task and attempt explain.
    """
    last = np.array([int(np.flatnonzero(row)[-1]) for row in counts.trials])
    place = np.arange(len(counts.tasks))
    found, low, high = _discrimination(counts, curves, level)
    rows = []
    for t, name in enumerate(counts.tasks):
        reason = (
            "too few"
            if counts.n_learners[t] < FEWEST_LEARNERS
            else "too easy"
            if ends[0, t, 0] > EASY
            else "too hard"
            if ends[1, t, last[t]] < HARD
            else "ambiguous"
            if high[t] < 0
            else "not learned"
            if rise[1, t] < _LEAST_RISE
            else ""
        )
        verdict = "keep" if not reason else "unsure" if reason == "too few" else "drop"
        rows.append((name, verdict, reason, found[t], low[t], high[t]))
    names = ("task", "verdict", "reason", "discrimination", "discrimination_low", "discrimination_high")
    frame = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None).fill_nan(None)
    success = {"first": curves[:, 0], "last": curves[place, last], "rise": curves[place, last] - curves[:, 0]}
    return frame.with_columns(pl.Series(column, values) for column, values in success.items())


def _discrimination(counts: NoviceCounts, curves: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """The correlation of each task with the rest, with Fisher's interval over learners; NaN where fewer than 5 learners tried others too."""
    row = np.repeat(np.arange(len(counts.length)), counts.length)
    attempt = np.arange(len(counts.scores)) - counts.offset[row]
    beyond = counts.scores - curves[counts.task[row], attempt]
    total, n = np.bincount(row, beyond, len(counts.length)), counts.length
    of_learner, answers = np.bincount(counts.learner, total), np.bincount(counts.learner, n)
    rest_n = answers[counts.learner] - n
    here, rest = total / n, (of_learner[counts.learner] - total) / np.maximum(rest_n, 1)
    found = np.full((3, len(counts.tasks)), np.nan)
    reach = normal_quantile(level)
    for t in range(len(counts.tasks)):
        mine = np.arange(counts.start[t], counts.start[t + 1])
        mine = mine[rest_n[mine] > 0]
        if len(mine) < FEWEST_LEARNERS or not here[mine].std() or not rest[mine].std():
            continue
        r = float(np.corrcoef(here[mine], rest[mine])[0, 1])
        z, error = np.arctanh(np.clip(r, -0.999, 0.999)), reach / np.sqrt(max(len(mine) - 3, 1))
        found[:, t] = r, np.tanh(z - error), np.tanh(z + error)
    return found[0], found[1], found[2]


# How much alike the answers of one learner are, beyond what the task and the attempt explain.


_LEAST_VARIANCE = 1e-3  # where hardly anybody fails, one failure would outweigh all else


@dataclass(frozen=True, eq=False)
class LearnerEffect:
    r"""The mean correlation of two answers of one learner to one task (an intraclass correlation), ready to be reweighted.

    .. math:: \rho = \frac{\sum_c \big[(\sum_i r_i)^2 - \sum_i r_i^2\big] / \sum_c n_c (n_c - 1)}{\sum_c \sum_i r_i^2 / \sum_c n_c},
              \qquad r_i = \frac{y_i - P(n_i)}{\sqrt{P(n_i)(1 - P(n_i))}}

    over courses c, each one learner's n_c answers to a task. 0 means that learners do not differ; the design effect of a learner's n answers is 1 + (n − 1)ρ.
    """

    counts: NoviceCounts
    products: Floats
    pairs: Floats
    squares: Floats

    @classmethod
    def of(cls, counts: NoviceCounts, curves: Floats) -> LearnerEffect:
        """From the curves' values, (tasks, attempts)."""
        row = np.repeat(np.arange(len(counts.length)), counts.length)
        attempt = np.arange(len(counts.scores)) - counts.offset[row]
        expected = curves[counts.task[row], attempt]
        residual = (counts.scores - expected) / np.sqrt(np.maximum(expected * (1 - expected), _LEAST_VARIANCE))
        total, squares = (
            np.bincount(row, values, len(counts.length)).astype(np.float64) for values in (residual, residual**2)
        )
        return cls(counts, total**2 - squares, counts.length * (counts.length - 1.0), squares)

    def correlations(self, weights: Floats) -> tuple[Floats, Floats]:
        """ρ of each task, (replicates, tasks), and over all tasks; NaN where no learner answered twice."""
        by_course = weights[:, self.counts.learner]
        parts = (self.products, self.pairs, self.squares, self.counts.length.astype(np.float64))
        sums = [np.add.reduceat(by_course * part, self.counts.start[:-1], axis=1) for part in parts]
        return _ratio(*sums), _ratio(*(part.sum(axis=1) for part in sums))


def _ratio(products: Floats, pairs: Floats, squares: Floats, answers: Floats) -> Floats:
    with np.errstate(all="ignore"):
        found = products * answers / (pairs * squares)
    return np.where((pairs > 0) & (squares > 0), found, np.nan)
