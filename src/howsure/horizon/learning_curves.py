"""Learning curves: how novices' success at each task grows from attempt to attempt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.frames import write_frame
from howsure.horizon.attrition import Attrition, measure_attrition
from howsure.horizon.curve_bands import FEWEST_LEARNERS, few, interval, reached, whole_band
from howsure.horizon.curve_families import CONTEST, FAMILIES, family_of, to_base_rate
from howsure.horizon.curve_fits import Contest, Replicates, Support, contest, resample
from howsure.horizon.learner_effect import LearnerEffect
from howsure.horizon.novices import NoviceCounts, novice_counts
from howsure.horizon.success_rates import check_success_rates
from howsure.results import Provenance, plain, write_json
from howsure.stats._arrays import Floats, check_level
from howsure.stats.proportions import wilson
from howsure.tables import Attempts

if TYPE_CHECKING:
    from altair.typing import ChartType

__all__ = ["AUTO", "Curves", "TaskCurve", "fit_curves"]

AUTO = "auto"
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


@dataclass(frozen=True)
class Curves:
    """The curves of all tasks, and what made them.

    ``points`` has a row a task and attempt: what was observed (n, share with interval), and the curve (p) with the interval at that
    attempt (low, high) and the band for the curve as a whole (band_low, band_high). ``families`` has every family on every task.
    """

    rows: tuple[TaskCurve, ...]
    points: pl.DataFrame
    families: pl.DataFrame
    attrition: Attrition
    correlation: Estimate
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
    def _is_contest(self) -> bool:
        return bool(self.provenance.settings["family"] == AUTO)

    def to_frame(self) -> pl.DataFrame:
        """One row a task: family, parameters, fit, first, n50, n80, … with their ends and states, and counts."""
        return pl.DataFrame([_row(curve) for curve in self.rows], infer_schema_length=None)

    def base_rates(self) -> pl.DataFrame:
        """The exponential curve of each task as base_rate, learning_gain and learning_rate, where it was fitted."""
        fitted = self.families.filter(pl.col("family") == "exponential")
        base, gain = to_base_rate(*(fitted[name].to_numpy() for name in ("first", "asymptote", "rate")))
        return fitted.select(
            "task", pl.Series("base_rate", base), pl.Series("learning_gain", gain), learning_rate="rate"
        )

    def as_dict(self) -> dict[str, Any]:
        """The whole result as plain JSON."""
        return {
            "curves": plain(self.to_frame().to_dicts()),
            "wins": self.wins,
            "learner_correlation": self.correlation.as_dict(),
            "attrition": self.attrition.as_dict(),
            "provenance": plain(self.provenance),
        }

    def charts(self) -> dict[str, ChartType]:
        """Curves, family wins and attrition, by file name."""
        from howsure.horizon.charts_curves import draw_attrition, draw_curves, draw_wins

        drawn: dict[str, ChartType] = {"curves": draw_curves(self)}
        drawn |= {"family_wins": draw_wins(self)} if self._is_contest else {}
        return drawn | {"attrition": draw_attrition(self.attrition)}

    def save(self, folder: Path) -> list[Path]:
        """Write curves.csv, curve_points.csv, families.csv, base_rates.csv, attrition.csv, presence.csv and curves.json."""
        tables = {"curves": self.to_frame(), "curve_points": self.points, "families": self.families}
        tables |= {"base_rates": self.base_rates()} if "exponential" in self.families["family"] else {}
        tables |= {"attrition": self.attrition.to_frame(), "presence": self.attrition.presence}
        written = [write_frame(frame, folder / f"{name}.csv") for name, frame in tables.items()]
        return [*written, write_json(self.as_dict(), folder / "curves.json")]


def fit_curves(
    attempts: Attempts,
    *,
    family: str = AUTO,
    success_rates: Sequence[float] = (0.5, 0.8),
    last: int | None = None,
    min_answers: int = 1,
    min_attempts: int = 2,
    min_first: int = 1,
    replicates: int = 500,
    level: float = 0.95,
    seed: int = 0,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Curves:
    """Fit a learning curve to each task that people tried, by binomial likelihood; ``auto`` takes the family with the smallest AIC.

    Attempts after ``last`` are left out, and so are tasks with fewer than ``min_attempts`` attempts of ``min_answers`` answers each, or
    fewer than ``min_first`` first answers. Intervals come from ``replicates`` resamples of learners, each with all that learner's
    answers, and refits of the chosen family.
    """
    check_level(level)
    check_success_rates(success_rates)
    names = (*CONTEST, "isotonic") if family == AUTO else (family_of(family).name,)
    counts, notes = _covered(novice_counts(attempts, last=last), min_answers, min_attempts, min_first)
    found = contest(counts, names)
    curves = _evaluate(found, counts)
    effect = LearnerEffect.of(counts, curves)
    drawn = resample(
        counts,
        CONTEST if family == AUTO else names,
        effect,
        success_rates,
        replicates,
        seed=seed,
        workers=workers,
        cluster=cluster,
        progress=progress,
    )
    attrition = measure_attrition(counts, level=level, seed=seed)
    settings = {
        "family": family,
        "success_rates": list(success_rates),
        "last": last,
        "replicates": replicates,
        "level": level,
    }
    covered = {"min_answers": min_answers, "min_attempts": min_attempts, "min_first": min_first}
    notes += [attrition.warning] if attrition.warning else []
    whole = np.ones((1, len(counts.learners)))
    alone, together = (part[0] for part in effect.correlations(whole))
    return Curves(
        rows=_rows(counts, found, curves, alone, drawn, success_rates, level),
        points=_points(counts, curves, drawn, level),
        families=_families(counts, found),
        attrition=attrition,
        correlation=_estimate(together, drawn.overall, len(counts.learners), level),
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
    told = [f"{n_out:,} of {len(kept):,} tasks have too few attempts or answers for a curve and are left out."]
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
    drawn: Replicates,
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


def _points(counts: NoviceCounts, curves: Floats, drawn: Replicates, level: float) -> pl.DataFrame:
    """One row a task and attempt that was observed."""
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
            rows.append((name, int(column) + 1, curves[task, column], *ends[:, column], *observed))
    names = ("task", "attempt", "p", "low", "high", "band_low", "band_high", "n", "share", "share_low", "share_high")
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None).fill_nan(None)


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
    row |= {"first": curve.first.value, "first_low": curve.first.low, "first_high": curve.first.high}
    row |= {"log_likelihood": curve.log_likelihood, "aic": curve.aic}
    for target, found in curve.reach.items():
        name = f"n{100 * target:g}"
        row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high, f"{name}_state": found.state}
        row |= {f"{name}_low_state": found.low_state, f"{name}_high_state": found.high_state}
    held = curve.correlation
    row |= {"learner_correlation": held.value, "correlation_low": held.low, "correlation_high": held.high}
    return row | {name: getattr(curve, name) for name in ("n_learners", "n_answers", "last_attempt", "is_thin")}
