"""How hard each task is for novices, and how models do on hard and easy ones: what the charts show."""

from __future__ import annotations

import numpy as np
import polars as pl

from howsure.horizon.attempt_horizon.common_tasks import SharedTasks
from howsure.horizon.attempt_horizon.definitions import regression
from howsure.horizon.attempt_horizon.estimator import HorizonEstimator, HorizonReplicates
from howsure.horizon.learning_curves.novice_counts import NoviceCounts
from howsure.stats.means import clustered_mean
from howsure.stats.proportions import wilson
from howsure.stats.replicates import replicate_interval

__all__ = ["novice_table", "rates_by_difficulty", "sample_curves", "success_table", "task_table"]

_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def novice_table(
    estimator: HorizonEstimator, drawn: HorizonReplicates, observed: NoviceCounts, level: float
) -> pl.DataFrame:
    """Novices' success over all tasks by attempt: attempt, success, success_low, success_high, answers (those that were given)."""
    found = replicate_interval(drawn.curves, level)
    low, high = np.clip([found.low, found.high], 0, 1)  # success that may be anything is 0 to 1
    curve = estimator.curve
    answers = observed.trials.sum(axis=0)[: len(curve)].astype(np.int64)
    success = {"success": curve, "success_low": low, "success_high": high}
    return pl.DataFrame({"attempt": np.arange(1, len(curve) + 1), **success, "answers": answers}).fill_nan(None)


def task_table(estimator: HorizonEstimator) -> pl.DataFrame:
    """A row a task: who tried it, how novices started, and the attempt ``half`` on which half of them succeed, or the edge it lies beyond."""
    novices = estimator.counts.novices
    places, last = regression.difficulties(estimator.drawn.successes, estimator.drawn.trials)
    states = np.select([np.isneginf(places[0]), np.isposinf(places[0])], ["below_range", "above_range"], "ok")
    found = {
        "n_learners": novices.n_learners,
        "n_attempts": np.exp2(last).round().astype(np.int64),
        "first": novices.successes[:, 0] / novices.trials[:, 0],
        "half": np.exp2(np.clip(places[0], 0, last)),
        "half_state": states,
    }
    return estimator.counts.tasks.with_columns(pl.Series(name, values) for name, values in found.items())


def success_table(counts: SharedTasks, tasks: pl.DataFrame) -> pl.DataFrame:
    """A row a model and task it tried: model, task, first (novices' success on attempt 1), success, runs."""
    row, column = np.nonzero(counts.n)
    won, n = counts.successes[row, column], counts.n[row, column]
    models = pl.Series("model", counts.models, pl.String)[row]
    columns = [pl.Series("success", won / n), pl.Series("runs", n.astype(np.int64)), pl.Series("won", won)]
    return pl.DataFrame([models]).hstack(tasks.select("task", "first", "half", "half_state")[column]).hstack(columns)


def rates_by_difficulty(counts: SharedTasks, tasks: pl.DataFrame, level: float) -> pl.DataFrame:
    """Success of each model, and of novices on attempt 1, on tasks of which half of the novices need about as many attempts.

    Columns: who, step, order, success, low, high, n_tasks. Intervals are clustered by task.
    """
    runs = success_table(counts, tasks).rename({"model": "who"})
    won, answers = pl.Series("won", counts.novices.successes[:, 0]), counts.novices.trials[:, 0].astype(np.int64)
    novices = tasks.select(
        pl.lit("novices, attempt 1").alias("who"), "half", "half_state", won, pl.Series("runs", answers)
    )
    rows = pl.concat([runs.select(novices.columns), novices])
    last = int(tasks["n_attempts"].to_numpy().max())
    places = [_step(half, state, last) for half, state in rows.select("half", "half_state").iter_rows()]
    rows = rows.with_columns(
        pl.Series("order", [place for place, _ in places]), pl.Series("step", [name for _, name in places])
    )
    found = []
    for (who, order, step), part in rows.sort("order").group_by("who", "order", "step", maintain_order=True):
        mean = clustered_mean(part["won"].to_numpy(), part["runs"].to_numpy(), level=level).estimate
        told = {"success": mean.value, "low": mean.low, "high": mean.high, "n_tasks": len(part)}
        found.append({"who": who, "order": order, "step": step} | told)
    return pl.DataFrame(found, infer_schema_length=None)


def sample_curves(counts: SharedTasks, tasks: pl.DataFrame, level: float, n: int = 4) -> pl.DataFrame:
    """Novices' success by attempt on `n` tasks from the easiest to the hardest: task, attempt, success, low, high."""
    order = np.argsort(-counts.novices.successes.sum(axis=1) / counts.novices.trials.sum(axis=1), kind="stable")
    chosen = order[np.unique(np.linspace(0, len(order) - 1, n).round().astype(int))]
    rows = []
    for place in chosen:
        for k in np.flatnonzero(counts.novices.trials[place]):
            one = wilson(counts.novices.successes[place, k], counts.novices.trials[place, k], level)
            row = {"task": tasks["task"][int(place)], "attempt": int(k) + 1, "success": one.value}
            rows.append(row | {"low": one.low, "high": one.high})
    return pl.DataFrame(rows)


def _step(half: float, state: str, last: int) -> tuple[int, str]:
    """The step of difficulty that a task is in: its place and its name."""
    if state == "below_range":
        return 0, "< 1"
    edges = [*(edge for edge in _STEPS if edge < last), float(last)]
    if state == "above_range":
        return len(edges), f"> {last}"
    place = max(1, int(np.searchsorted(edges, half)))
    return place, f"{edges[place - 1]:g}–{edges[place]:g}"
