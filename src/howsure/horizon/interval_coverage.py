"""How often the intervals of horizons contain the true value, by simulation."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.horizon.attempt_horizon.definitions import DEFINITIONS
from howsure.horizon.attempt_horizon.estimator import HorizonEstimator
from howsure.horizon.learning_curves.learning_model import complete_novices
from howsure.horizon.run_counts import ENDINGS, count_table
from howsure.horizon.simulator import draw_suite, simulate
from howsure.horizon.time_horizon.comparison import compare_horizons
from howsure.horizon.time_horizon.doubling import fit_horizon_trend
from howsure.horizon.time_horizon.horizons import time_horizons
from howsure.horizon.time_horizon.published import dated_horizons, from_intervals
from howsure.horizon.time_horizon.simulator import LASTING, SimulatedTimeRuns, simulate_limits, simulate_time
from howsure.results import Provenance, Result
from howsure.stats._arrays import check_level

__all__ = [
    "DESIGNS",
    "HORIZONS",
    "TRUE_HORIZONS",
    "HorizonCoverage",
    "coverage",
    "draw_attempt_horizons",
    "draw_comparisons",
    "draw_domains",
    "draw_limits",
    "draw_time_horizons",
    "draw_trends",
    "simulate_study",
]


# How often the intervals of attempt horizons contain the true value: simulated studies in which learners see part of the tasks, or leave when they can do them.


TRUE_HORIZONS: Mapping[str, float] = {"1.5": 1.5, "3": 3.0, "6": 6.0}
"""Models that behave like novices on these attempts."""

DESIGNS: Sequence[Mapping[str, Any]] = (
    {"n_learners": 50, "n_tasks": 100},
    {"n_learners": 25, "n_tasks": 40},
    {"n_learners": 25, "n_tasks": 40, "tasks_per_learner": 8},
    {"n_learners": 25, "n_tasks": 40, "mastery": 3},
    {"n_learners": 25, "n_tasks": 40, "mastery": 2},
    {"n_learners": 25, "n_tasks": 40, "mastery": 1},
    {"n_learners": 25, "n_tasks": 40, "tasks_per_learner": 8, "mastery": 3},
)
"""Studies of 10 attempts: everybody at all tasks, tasks dealt out, and learners who leave a task after so many successes in a row."""

_N_REPLICATES = 200
_HALF = np.array([0.5])


def simulate_study(
    design: Mapping[str, Any], level: float, seed: int, *, definitions: Sequence[str] = DEFINITIONS
) -> dict[str, list[tuple[Estimate, float]]]:
    """The horizons that one simulated study estimates, each with its true value, by definition and true value.

    Parameters
    ----------
    design : mapping
        ``n_tasks``, and what `howsure.horizon.simulator.simulate` takes: n_learners, tasks_per_learner, mastery, sameness, ….
    level : float
        Nominal coverage, between 0 and 1.
    seed : int
        Of the study.
    definitions : sequence of str
        Any of ``matching``, ``regression`` and ``irt``.
    """
    chosen = dict(design)
    suite = draw_suite(chosen.pop("n_tasks"), kind=chosen.pop("suite", "mixed"), seed=seed)
    counts = simulate(suite, true_horizons=TRUE_HORIZONS, seed=seed, **chosen).counts
    completion = complete_novices(counts.novices)
    if completion:
        counts = replace(counts, novices=completion.table)
    estimator = HorizonEstimator(counts, tuple(definitions), _HALF, completion)
    drawn = estimator.replicates(_N_REPLICATES, seed=seed)
    return {
        f"{name}, true value {truth:g}": [(estimator.horizon(drawn, row, place, 0, level), truth)]
        for place, name in enumerate(definitions)
        for row, truth in enumerate(TRUE_HORIZONS.values())
    }


draw_attempt_horizons = (simulate_study, DESIGNS)
"""What a coverage table needs: the simulation of one study, and the designs."""


# Simulated data sets that show how often the intervals of time horizons, their ratios and their trend contain the true value.


_HORIZONS = {f"model-{k}": 2.0 ** (1 + k) for k in range(6)}
_RATES = (0.5, 0.8)
_HEAVY: dict[str, Any] = {"n_runs": 1, "n_tasks": 3, "slope": -0.6, "family_sd": 1.1, "task_sd": 1.6, "shortest": 0.125, "longest": 512}  # fmt: skip
"""Hard data: one run per task, and tasks whose difficulty varies more than their length says."""
_DOUBLING = 300.0  # days
_FIRST = datetime.date(2020, 1, 1)

Drawn = dict[str, list[tuple[Estimate, float]]]


_FEW: dict[str, dict[str, Any]] = {
    "7 families of 30 to 1 tasks": {"n_families": 7, "n_tasks": (30, 12, 8, 4, 2, 1, 1), "n_runs": 3},
    "10 families of 60 to 1 tasks": {"n_families": 10, "n_tasks": (60, 30, 10, 5, 2, 1, 1, 1, 1, 1), "n_runs": 3},
    "12 equal families": {"n_families": 12, "n_runs": 4},
    "30 families of one run": {"n_families": 30, "n_tasks": 1, "n_runs": 1},
    "20 families, weak models, steep curves": {"n_families": 20, "n_runs": 3, "slope": -2.0},
    "7 unequal families, weak models, steep curves": {"n_families": 7, "n_tasks": (30, 12, 8, 4, 2, 1, 1), "n_runs": 3, "slope": -2.0},
}  # fmt: skip
"""Data with few families, unequal ones, or few successes."""


def _time_horizons(design: Mapping[str, Any], level: float, seed: int) -> Drawn:
    """One data set: the 50 % and 80 % horizons of six models, or of two where families are few."""
    if "data" in design:
        models = {"weak": 0.5, "weaker": 2.0} if "weak" in design["data"] else {"short": 8.0, "long": 60.0}
        world, noise = simulate_time(models, seed=seed, **_FEW[design["data"]]), None
    else:
        models, world, noise = _HORIZONS, _heavy(design, seed), design["minutes_noise"] or None
    found = time_horizons(
        world.counts, method=design["model"], minutes_noise=noise, n_replicates=250 if design["model"] == "joint" else 0, level=level,
        seed=seed, has_sensitivity=False,
    )  # fmt: skip
    return {
        f"{100 * rate:g} % horizon": [(found.minutes(m, rate), world.truth(m, rate)) for m in found.models]
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


_DESIGNS: list[dict[str, Any]] = [
    {"model": model, "n_families": n_families, "minutes_noise": noise}
    for model in ("logistic", "joint")
    for noise in (0, 1)
    for n_families in (15, 25, 50, 100)
]

draw_time_horizons = (
    _time_horizons,
    [*_DESIGNS, *({"model": model, "data": data} for model in ("logistic", "joint") for data in _FEW)],
)
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

Simulation = Callable[[Mapping[str, Any], float, int], dict[str, list[tuple[Estimate, float]]]]
"""One simulated data set: (design, level, seed) → for each quantity the estimates with their true values."""

HORIZONS: dict[str, tuple[Simulation, Sequence[Mapping[str, Any]]]] = {
    "time": draw_time_horizons,
    "compare": draw_comparisons,
    "limits": draw_limits,
    "trend": draw_trends,
    "domains": draw_domains,
    "attempts": draw_attempt_horizons,
}
"""What is measured, by name: a function that simulates one data set of a design, and the designs. Another kind of horizon is one more entry."""


@dataclass(frozen=True, eq=False, kw_only=True)
class HorizonCoverage(Result):
    """Coverage of the intervals of horizons, in simulations.

    Parameters
    ----------
    rows : pl.DataFrame
        quantity, design, n_simulations, level, coverage (of the intervals that there are; should equal ``level``), monte_carlo_se, median_error (estimate divided by true value, in doublings: the
        bias), median_width (in doublings), share_open (intervals with an open end) and share_without (estimates without an interval, whose state says why).
    provenance : Provenance
        Settings, seed, version and notes.
    """

    name: ClassVar[str] = "horizon_coverage"

    rows: pl.DataFrame
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``horizon_coverage``: one row per quantity and design."""
        return {"horizon_coverage": self.rows}


@checked
def coverage(
    of: str = "time",
    *,
    containing: str | None = None,
    n_simulations: int = 200,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> HorizonCoverage:
    """How often intervals of horizons contain the true value, in simulated data sets.

    Parameters
    ----------
    of : str
        A key of `HORIZONS`: ``time``, ``compare`` (ratios of two time horizons), ``limits`` (runs cut at a limit, as each of `ENDINGS`), ``trend`` (doubling times), ``domains`` (growth by domain and its differences), ``attempts``.
    containing : str, optional
        Only designs whose description contains this text, such as ``"model joint, families 25"``.
    n_simulations : int
        Simulated data sets per design; several models in one data set share its tasks.
    level : float
        Nominal coverage, between 0 and 1.
    seed : int
        The same seed gives the same numbers.
    progress : callable, optional
        Called with the number of data sets done and their total.

    Returns
    -------
    HorizonCoverage
        Its Monte Carlo standard errors count data sets, not intervals. Data sets that the analysis refuses, such as a frontier with models of two dates, have no interval; a note counts them.

    Examples
    --------
    >>> found = coverage("compare", n_simulations=2)
    >>> found.rows["level"].unique().to_list()
    [0.95]
    """
    check_level(level)
    if of not in HORIZONS:
        raise OptionError.unknown("horizon to simulate", of, HORIZONS)
    if n_simulations < 2:
        raise OptionError(f"n_simulations is {n_simulations}; give at least 2.")
    simulate, every = HORIZONS[of]
    designs = [design for design in every if (containing or "") in _description(design)]
    if not designs:
        raise OptionError(f"No design contains {containing!r}. The designs are: {'; '.join(map(_description, every))}.")
    rows, done, refused = [], 0, []
    for design in designs:
        drawn: dict[str, list[list[tuple[Estimate, float]]]] = {}
        for k in range(n_simulations):
            try:
                for quantity, pairs in simulate(design, level, seed + k).items():
                    drawn.setdefault(quantity, []).append(pairs)
            except InputError as error:
                refused.append(str(error))
            done += 1
            if progress:
                progress(done, n_simulations * len(designs))
        rows += [_row(quantity, design, level, sets) for quantity, sets in drawn.items()]
    settings = {"of": of, "containing": containing, "n_simulations": n_simulations, "level": level}
    notes = [f"{len(refused)} of {done:,} data sets were refused, as in: {refused[0]}"] if refused else []
    return HorizonCoverage(
        rows=pl.DataFrame(rows, schema_overrides=dict.fromkeys(_SHARES, pl.Float64), infer_schema_length=None),
        provenance=Provenance(settings, seed=seed, notes=tuple(notes)),
    )


_SHARES = ("coverage", "monte_carlo_se", "median_error", "median_width", "share_open", "share_without")


def _row(
    quantity: str, design: Mapping[str, Any], level: float, sets: Sequence[Sequence[tuple[Estimate, float]]]
) -> dict[str, Any]:
    with_interval = [[(one, truth) for one, truth in pairs if _has_interval(one)] for pairs in sets]
    held = np.array([np.mean([one.covers(truth) for one, truth in pairs]) for pairs in with_interval if pairs])
    found = [one for pairs in with_interval for one, _ in pairs]
    n_all = sum(map(len, sets))
    widths = [np.log2(one.high / one.low) for one in found if one.low and one.high and one.low > 0]
    # beyond the range an estimate errs by an unknown amount to that side, which a median can take
    beyond = {"above_range": np.inf, "unbounded": np.inf, "below_range": -np.inf}
    errors = [
        np.log2(one.value / truth)
        if one.state == "ok" and one.value and one.value > 0
        else beyond.get(one.state, np.nan)
        for pairs in sets
        for one, truth in pairs
    ]
    bias = float(np.nanmedian(errors)) if not np.isnan(errors).all() else np.nan
    return {
        "quantity": quantity,
        "design": _description(design),
        "n_simulations": len(sets),
        "level": level,
        "coverage": float(held.mean()) if len(held) else None,
        "monte_carlo_se": float(held.std(ddof=1) / np.sqrt(len(held))) if len(held) > 1 else None,
        "median_error": bias if np.isfinite(bias) else None,
        "median_width": float(np.median(widths)) if widths else None,
        "share_open": float(np.mean([one.low is None or one.high is None for one in found])) if found else None,
        "share_without": 1 - len(found) / n_all if n_all else None,
    }


def _has_interval(one: Estimate) -> bool:
    """Whether an estimate has an interval, which may be open: without one, it would contain any true value."""
    ends = {one.low_state if one.low is None else "number", one.high_state if one.high is None else "number"}
    return ends != {"ok"} and not {"too_few", "undefined"} & ends


def _description(design: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.removeprefix('n_').replace('_', ' ')} {value}" for name, value in design.items())
