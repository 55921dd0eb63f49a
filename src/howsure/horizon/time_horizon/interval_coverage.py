"""Simulated data sets that show how often the intervals of time horizons, their ratios and their trend contain the true value."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np

from howsure.estimates import Estimate
from howsure.horizon.run_counts import ENDINGS
from howsure.horizon.time_horizon.comparison import compare_horizons
from howsure.horizon.time_horizon.doubling import fit_horizon_trend
from howsure.horizon.time_horizon.horizons import time_horizons
from howsure.horizon.time_horizon.published import dated_horizons, from_intervals
from howsure.horizon.time_horizon.simulator import LASTING, SimulatedTimeRuns, simulate_limits, simulate_time

__all__ = ["draw_comparisons", "draw_limits", "draw_time_horizons", "draw_trends"]

_HORIZONS = {f"model-{k}": 2.0 ** (1 + k) for k in range(6)}
_RATES = (0.5, 0.8)
_HEAVY: dict[str, Any] = {"n_runs": 1, "n_tasks": 3, "slope": -0.6, "family_sd": 1.1, "task_sd": 1.6, "shortest": 0.125, "longest": 512}  # fmt: skip
"""Hard data: one run per task, and tasks whose difficulty varies more than their length says."""
_DOUBLING = 300.0  # days
_FIRST = datetime.date(2020, 1, 1)

Drawn = dict[str, list[tuple[Estimate, float]]]


def _time_horizons(design: Mapping[str, Any], level: float, seed: int) -> Drawn:
    """One data set: the 50 % and 80 % horizons of six models."""
    world = _heavy(design, seed)
    noise = design["minutes_noise"] or None
    found = time_horizons(
        world.counts, model=design["model"], minutes_noise=noise, n_replicates=250 if design["model"] == "joint" else 0, level=level,
        seed=seed, has_sensitivity=False,
    )  # fmt: skip
    return {
        f"{100 * rate:g} % horizon": [(found.minutes(m, rate), world.truth(m, rate)) for m in _HORIZONS]
        for rate in _RATES
    }


def _comparisons(design: Mapping[str, Any], level: float, seed: int) -> Drawn:
    """One data set: the ratios of neighbouring models and of models three doublings apart."""
    world = _heavy(design, seed)
    noise = design["minutes_noise"] or None
    found = time_horizons(
        world.counts, model=design["model"], minutes_noise=noise, n_replicates=250 if design["model"] == "joint" else 400,
        level=level, seed=seed, has_sensitivity=False,
    )  # fmt: skip
    drawn: Drawn = {}
    for k, apart in ((1, 1), (3, 1), (1, 3)):
        a, b = f"model-{k + apart}", f"model-{k}"
        for row in compare_horizons(found, a, b).rows:
            truth = world.truth(a, row.success_rate) / world.truth(b, row.success_rate)
            drawn.setdefault(f"ratio of {100 * row.success_rate:g} % horizons", []).append((row.ratio, truth))
    return drawn


def _limits(design: Mapping[str, Any], level: float, seed: int) -> Drawn:
    """One data set in which a limit cut 30 % of the runs: the horizons that the models have without a limit."""
    models = {"model-1": 8.0, "model-2": 40.0}
    world = simulate_time(models, n_families=40, n_tasks=2, n_runs=4, family_sd=0.5, task_sd=0.5, seed=seed)
    rows = simulate_limits(world, lasting=design["lasting"], seed=seed)
    found = time_horizons(rows, limits=design["limits"], n_replicates=0, level=level, has_sensitivity=False)
    return {f"{100 * rate:g} % horizon": [(found.minutes(m, rate), world.truth(m, rate)) for m in models] for rate in _RATES}  # fmt: skip


def _trends(design: Mapping[str, Any], level: float, seed: int) -> Drawn:
    """One data set: models on a trend with scatter, the frontier chosen by the estimates; from replicates and from intervals alone."""
    rng = np.random.default_rng(seed)
    days = np.sort(rng.integers(0, 2000, design["n_models"]))
    log2 = days / _DOUBLING + rng.normal(0, design["scatter"], len(days))
    models = {f"model-{k}": float(2**y) for k, y in enumerate(log2)}
    world = simulate_time(models, n_families=design["n_families"], n_runs=4, seed=seed)
    found = time_horizons(world.counts, n_replicates=200, level=level, seed=seed, has_sensitivity=False)
    releases = {m: _FIRST + datetime.timedelta(days=int(day)) for m, day in zip(models, days, strict=True)}
    dated = dated_horizons(found, releases)
    return {
        "doubling time (replicates)": [(fit_horizon_trend(dated, level=level).doubling, _DOUBLING)],
        "doubling time (intervals)": [(fit_horizon_trend(from_intervals(dated), level=level).doubling, _DOUBLING)],
    }


def _heavy(design: Mapping[str, Any], seed: int) -> SimulatedTimeRuns:
    return simulate_time(
        _HORIZONS, n_families=design["n_families"], minutes_noise=design["minutes_noise"], seed=seed, **_HEAVY
    )


_DESIGNS = [
    {"model": model, "n_families": n_families, "minutes_noise": noise}
    for model in ("logistic", "joint")
    for noise in (0, 1)
    for n_families in (15, 25, 50, 100)
]

draw_time_horizons = _time_horizons, _DESIGNS
draw_comparisons = _comparisons, _DESIGNS
draw_limits = _limits, [{"lasting": lasting, "limits": way} for lasting in LASTING for way in ENDINGS["limits"]]
draw_trends = (
    _trends,
    [
        {"n_models": n_models, "n_families": n_families, "scatter": scatter}
        for n_models in (8, 16)
        for n_families in (20, 50)
        for scatter in (0, 0.7)
    ],
)
