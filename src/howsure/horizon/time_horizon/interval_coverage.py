"""Simulated data sets that show how often the intervals of time horizons, their ratios and their trend contain the true value."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from howsure.estimates import Estimate
from howsure.horizon.run_counts import ENDINGS, count_table
from howsure.horizon.time_horizon.comparison import compare_horizons
from howsure.horizon.time_horizon.doubling import fit_horizon_trend
from howsure.horizon.time_horizon.horizons import time_horizons
from howsure.horizon.time_horizon.published import dated_horizons, from_intervals
from howsure.horizon.time_horizon.simulator import LASTING, SimulatedTimeRuns, simulate_limits, simulate_time

__all__ = ["draw_comparisons", "draw_domains", "draw_limits", "draw_time_horizons", "draw_trends"]

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
        world.counts, method=design["model"], minutes_noise=noise, n_replicates=250 if design["model"] == "joint" else 0, level=level,
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
        world.counts, method=design["model"], minutes_noise=noise, n_replicates=250 if design["model"] == "joint" else 400,
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


def _domains(design: Mapping[str, Any], level: float, seed: int) -> Drawn:
    """One data set with two domains, of which the second grows half as fast: growth of each, and the difference, in doublings per year.

    A model's scatter around the trend is partly common to both domains.
    """
    rng = np.random.default_rng(seed)
    days = np.sort(rng.integers(0, 2000, design["n_models"]))
    common = rng.normal(0, design["scatter"], len(days))
    growth, parts = {"a": 365.25 / _DOUBLING, "b": 365.25 / (2 * _DOUBLING)}, []
    for k, (domain, per_year) in enumerate(growth.items()):
        log2 = days * per_year / 365.25 + common + rng.normal(0, design["scatter"] / 2, len(days))
        models = {f"model-{m}": float(2**y) for m, y in enumerate(log2)}
        own = simulate_time(models, n_families=25, n_tasks=3, n_runs=4, seed=2 * seed + k)
        named = own.counts.to_frame().with_columns(
            pl.lit(domain).alias("domain"), *(pl.format("{}-{}", pl.lit(domain), name).alias(name) for name in ("task", "family"))
        )  # fmt: skip
        parts.append(named)
    found = time_horizons(
        count_table(pl.concat(parts)), n_replicates=200, level=level, seed=seed, has_sensitivity=False
    )
    releases = {f"model-{m}": _FIRST + datetime.timedelta(days=int(day)) for m, day in enumerate(days)}
    trend = fit_horizon_trend(found, releases, by="domain", level=level)
    assert trend.domains is not None
    assert trend.differences is not None
    rows = trend.domains.rows(named=True)
    gap = trend.differences.row(0, named=True)
    return {
        "growth of a domain": [(_estimate(row, "per_year", level), growth[row["domain"]]) for row in rows],
        "difference of two domains": [(_estimate(gap, "difference", level), growth["a"] - growth["b"])],
    }


def _estimate(row: Mapping[str, Any], name: str, level: float) -> Estimate:
    if row[f"{name}_low"] is None:
        return Estimate.without("undefined", "no interval", level=level)
    return Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"], level)


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
draw_domains = _domains, [{"n_models": n_models, "scatter": scatter} for n_models in (8, 16) for scatter in (0, 0.7)]
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
