"""Success along the length of tasks: each model's curve with its band, and what was seen in steps of length."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit

from howsure.horizon.time import TimeHorizons
from howsure.horizon.time_kernels import FITTED
from howsure.stats._arrays import Floats

__all__ = ["success_bins", "success_paths"]

_STEPS = 40


def success_paths(found: TimeHorizons) -> pl.DataFrame:
    """Each fitted curve over the lengths of all tasks: model, minutes, success, low, high.

    The band is the middle of the replicates' curves at each length, of those that have one.
    """
    x = np.linspace(found.data.x.min(), found.data.x.max(), _STEPS)
    rows = [_path(found, m, x) for m in range(len(found.models)) if found.curves.outcome[m] == FITTED]
    kinds = {"model": pl.String, **dict.fromkeys(("minutes", "success", "low", "high"), pl.Float64)}
    return pl.concat([pl.DataFrame(schema=kinds), *rows])


def success_bins(found: TimeHorizons, doublings: float = 1.5) -> pl.DataFrame:
    """Weighted success of each model in steps of length: model, minutes (the step's middle), success, n_runs, n_tasks."""
    data, n = found.data, found.data.counts.n
    step = np.floor((data.x - data.x.min()) / doublings).astype(np.int64)
    member = np.eye(step.max() + 1)[step]
    weight, good = data.weight @ member, (data.weight * data.rates) @ member
    m, b = np.nonzero(weight)
    return pl.DataFrame(
        {
            "model": pl.Series(found.models, dtype=pl.String)[m],
            "minutes": np.exp2(data.x.min() + (b + 0.5) * doublings),
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
        "success": expit(own.intercept + own.slope * x),
    }
    drawn = None if found.drawn is None else found.drawn.of(model)
    known = np.isfinite([] if drawn is None else drawn.slope)
    if drawn is None or not known.any():
        return pl.DataFrame(columns | dict.fromkeys(("low", "high"), pl.Series([None] * len(x), dtype=pl.Float64)))
    paths = expit(drawn.intercept[known, None] + drawn.slope[known, None] * x)
    tail = (1 - found.level) / 2
    low, high = np.quantile(paths, [tail, 1 - tail], axis=0)
    return pl.DataFrame(columns | {"low": low, "high": high})
