"""Success along the length of tasks: each model's curve with its band, and what was seen in steps of length."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from howsure.horizon.time_horizon.horizons import TimeHorizons
from howsure.horizon.time_horizon.kernels import FITTED, NO_FAILURE, NO_SUCCESS
from howsure.stats._arrays import Floats
from howsure.stats.replicates import replicate_interval

__all__ = ["success_bins", "success_paths"]

_STEPS = 40


def success_paths(found: TimeHorizons) -> pl.DataFrame:
    """Each fitted curve over the lengths of all tasks: model, minutes, success, low, high.

    The band is the middle of the replicates' curves at each length.
    """
    x = np.linspace(found.data.x.min(), found.data.x.max(), _STEPS)
    rows = [_path(found, m, x) for m in range(len(found.models)) if found.curves.outcome[m] == FITTED]
    kinds = {"model": pl.String, **dict.fromkeys(("minutes", "success", "low", "high"), pl.Float64)}
    return pl.concat([pl.DataFrame(schema=kinds), *rows])


def success_bins(found: TimeHorizons, doublings: float = 1.5) -> pl.DataFrame:
    """Weighted success of each model in steps of length: model, minutes (the mean length of its tasks), success, n_runs, n_tasks."""
    data, n = found.data, found.data.counts.n
    step = np.floor((data.x - data.x.min()) / doublings).astype(np.int64)
    member = np.eye(step.max() + 1)[step]
    weight, good = data.weight @ member, (data.weight * data.rates) @ member
    m, b = np.nonzero(weight)
    return pl.DataFrame(
        {
            "model": pl.Series(found.models, dtype=pl.String)[m],
            "minutes": np.exp2(((data.weight * data.x) @ member)[m, b] / weight[m, b]),
            "success": good[m, b] / weight[m, b],
            "n_runs": (n @ member).astype(np.int64)[m, b],
            "n_tasks": ((n > 0) @ member).astype(np.int64)[m, b],
        }
    )


def _path(found: TimeHorizons, model: int, x: Floats) -> pl.DataFrame:
    own = found.curves.of(model)
    columns: dict[str, Any] = {
        "model": pl.Series([found.models[model]] * len(x)),
        "minutes": np.exp2(x),
        "success": own.success(x),
    }
    if found.drawn is None:
        return pl.DataFrame(columns | dict.fromkeys(("low", "high"), pl.Series([None] * len(x), dtype=pl.Float64)))
    drawn = found.drawn.of(model)
    paths = drawn.success(x)
    paths[drawn.outcome == NO_SUCCESS], paths[drawn.outcome == NO_FAILURE] = 0, 1
    band = replicate_interval(paths, found.middle)
    ends = {"low": np.clip(band.low, 0, 1), "high": np.clip(band.high, 0, 1)}  # success that may be anything is 0 to 1
    return pl.DataFrame(columns | ends).with_columns(pl.col("low", "high").fill_nan(None))
