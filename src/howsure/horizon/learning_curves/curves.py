"""Learning curves: how novices' success at each task grows from attempt to attempt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.horizon.learning_curves.attrition import Attrition, measure_attrition
from howsure.horizon.learning_curves.bands import FEWEST_LEARNERS, few, interval, reached, whole_band
from howsure.horizon.learning_curves.families import CONTEST, FAMILIES, family_of, to_base_rate
from howsure.horizon.learning_curves.fits import Contest, CurveReplicates, Support, contest, resample
from howsure.horizon.learning_curves.learner_effect import LearnerEffect
from howsure.horizon.learning_curves.novice_counts import NoviceCounts, novice_counts
from howsure.horizon.learning_curves.refinement import refine_tasks
from howsure.horizon.success_rates import check_success_rates
from howsure.results import Provenance, Result, columns_of, plain
from howsure.stats._arrays import Floats, check_level
from howsure.stats.proportions import wilson
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["AUTO", "LearningCurves", "TaskCurve", "fit_curves"]

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
        row |= columns_of(**{name: found})
        row |= {f"{name}_low_state": found.low_state, f"{name}_high_state": found.high_state}
    row |= columns_of(learner_correlation=curve.correlation)
    return row | {name: getattr(curve, name) for name in ("n_learners", "n_answers", "last_attempt", "is_thin")}
