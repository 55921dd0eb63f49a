"""1000 bootstraps of the time horizons of 21 models, 24,000 runs, or of the runs in a file, against resampling runs and scikit-learn (at least 500×); the joint model of 20 × 300.

Both start from runs in memory and draw families, tasks and runs; the loop, as a script has it, draws row numbers with numpy and fits each model. A few of
its replicates are measured and scaled up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from howsure.horizon.run_counts import ModelCounts, model_counts
from howsure.horizon.time_horizon.curves import draw_curves, fit_curves, timed
from howsure.horizon.time_horizon.horizons import time_horizons
from howsure.horizon.time_horizon.simulator import simulate_time
from howsure.sources import read
from howsure.tables import Attempts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BOOTSTRAPS, MEASURED, ROUNDS, PENALTY = 1000, 3, 5, 1e-5
MODELS = {f"model-{i:02}": 2.0 ** (i / 2) for i in range(21)}


def measure(file: str = "") -> dict[str, float]:
    """CPU seconds of each way, of all cores together, and their ratio; the loop's fit to all runs must agree with ours."""
    counts = _read(file) if file else simulate_time(MODELS, n_families=72, n_tasks=2, n_runs=8, seed=0).counts
    runs = _runs(counts)
    attempts, rows = Attempts(runs), _Rows.of(runs)
    data = timed(counts, regularisation=PENALTY)
    base = fit_curves(data)
    apart = np.nanmax(np.abs(rows.fits(np.arange(len(runs)), tol=1e-9) - base.log2_minutes(0.5)))
    if apart > 0.001:
        raise AssertionError(f"horizons differ by {apart:.3f} doublings")
    grouping = _best(lambda: model_counts(attempts))
    ours = _best(lambda: draw_curves(data, base, BOOTSTRAPS))
    with threadpool_limits(1):
        loop = _best(lambda: rows.fits(rows.drawn(0)), MEASURED) * BOOTSTRAPS
    return {
        "runs": len(runs),
        "group_to_counts_seconds": grouping,
        "howsure_seconds": ours,
        "loop_seconds": loop,
        "ratio": loop / ours,
        "ratio_with_grouping": loop / (ours + grouping),
        "joint model, 20 × 300, seconds": _joint_seconds(),
    }


def _joint_seconds() -> float:
    """CPU seconds of the joint model with intervals for 20 models at 300 tasks (under 20); the first draws, in which kernels are compiled, do not count."""
    models = {f"model-{i:02}": 2.0 ** (i / 2) for i in range(20)}
    counts = simulate_time(models, n_families=100, n_tasks=3, n_runs=8, seed=0).counts
    time_horizons(simulate_time({"one": 8.0, "two": 16.0}, n_families=8, seed=0).counts, method="joint")
    begin = time.process_time()
    time_horizons(counts, method="joint")
    return time.process_time() - begin


def _best(way: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """The least CPU time of several rounds, of all cores together; the first, in which kernels are compiled, does not count."""
    way()
    seconds = []
    for _ in range(rounds):
        begin = time.process_time()
        way()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def _read(file: str) -> ModelCounts:
    found = read([file])
    assert isinstance(found, Attempts)
    return model_counts(found)


def _runs(counts: ModelCounts) -> pl.DataFrame:
    """One row a run."""
    rows = counts.to_frame().with_columns(attempt=pl.int_ranges(1, pl.col("n") + 1)).explode("attempt")
    return rows.select(
        pl.col("model").alias("subject"),
        pl.lit("model").alias("kind"),
        "task",
        "family",
        "minutes",
        "attempt",
        (pl.col("attempt") <= pl.col("successes")).cast(pl.Float64).alias("score"),
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Runs as arrays, and the row numbers of each family, task and model: what a script has before its loop."""

    x: Floats
    y: Floats
    weight: Floats
    model: Ints
    cells: list[list[list[Ints]]]

    @classmethod
    def of(cls, runs: pl.DataFrame) -> _Rows:
        numbered = runs.with_row_index("row").with_columns(
            size=pl.col("task").n_unique().over("subject", "family"),
            n=pl.len().over("subject", "task"),
            model=pl.col("subject").rank("dense").cast(pl.Int64) - 1,
        )
        cells = [
            [[one["row"].to_numpy().astype(np.int64) for one in task.partition_by("subject")] for task in family]
            for family in (part.partition_by("task") for part in numbered.partition_by("family"))
        ]
        weight = (1 / (numbered["n"] * numbered["size"].sqrt())).to_numpy()
        x = np.log2(runs["minutes"].to_numpy())
        return cls(x, runs["score"].to_numpy(), weight, numbered["model"].to_numpy(), cells)

    def fits(self, rows: Ints, tol: float = 1e-4) -> Floats:
        """log₂ of each model's horizon on these rows, with scikit-learn's default tolerance or a finer one."""
        by_model = [rows[self.model[rows] == m] for m in range(int(self.model.max()) + 1)]
        return np.array([_fit(self.x[own], self.y[own], self.weight[own], tol) for own in by_model])

    def drawn(self, seed: int) -> Ints:
        """Rows of a replicate: families, tasks in them, and runs of each model and task."""
        rng = np.random.default_rng(seed)
        families = [self.cells[f] for f in rng.integers(len(self.cells), size=len(self.cells))]
        tasks = [family[t] for family in families for t in rng.integers(len(family), size=len(family))]
        return np.concatenate([rows[rng.integers(len(rows), size=len(rows))] for task in tasks for rows in task])


def _fit(x: Floats, y: Floats, weight: Floats, tol: float) -> float:
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(y)) < 2:
        return np.nan  # no curve through successes or failures alone
    found = LogisticRegression(C=1 / PENALTY, tol=tol, max_iter=1000).fit(
        x[:, None], y, sample_weight=weight / weight.sum()
    )
    return float(-found.intercept_[0] / found.coef_[0, 0])
