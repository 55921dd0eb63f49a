"""Examples of horizon's results."""

import datetime
import functools

import polars as pl

from howsure.horizon import (
    AttemptHorizons,
    Attrition,
    HeldOutLearners,
    HeldOutRuns,
    HorizonComparison,
    HorizonTrend,
    LearningCurves,
    Novices,
    StudySize,
    TimeHorizons,
    attempt_horizons,
    compare_horizons,
    crossvalidate,
    crossvalidate_learners,
    fit_curves,
    fit_horizon_trend,
    size_study,
    time_horizons,
)
from howsure.horizon.simulator import draw_suite, simulate
from howsure.horizon.time_horizon.sensitivity import Sensitivity
from howsure.horizon.time_horizon.simulator import simulate_time
from howsure.results import Provenance

from .registry import example

MODELS = {"old": 4.0, "new": 16.0, "newest": 60.0, "perfect": 1e9}


@functools.cache
def simulated():
    return simulate(draw_suite(6, seed=1), n_learners=8, n_attempts=4, n_runs=3, seed=1)


@example(TimeHorizons)
@functools.cache
def time():
    return time_horizons(simulate_time(MODELS, n_families=8, seed=1).counts, n_replicates=30)


@example(HeldOutRuns)
def held_out():
    return crossvalidate(simulate_time(MODELS, n_families=8, seed=1).counts, folds=2)


@example(Sensitivity)
def sensitivity():
    return time().sensitivity


@example(HorizonComparison)
def comparison():
    return compare_horizons(time(), "new", "old")


@example(HorizonTrend)
def trend():
    releases = {model: datetime.date(2023 + place, 1, 1) for place, model in enumerate(MODELS)}
    return fit_horizon_trend(time(), releases)


@example(AttemptHorizons)
def attempts():
    return attempt_horizons(simulated().attempts, n_replicates=20)


@example(HeldOutLearners)
def learners():
    return crossvalidate_learners(simulated().attempts, folds=2, predictors=("constant", "BKT"))


@example(LearningCurves)
@functools.cache
def curves():
    return fit_curves(simulated().attempts, family="exponential", n_replicates=20)


@example(Attrition)
def attrition():
    return curves().attrition


@example(StudySize)
def size():
    return size_study(learners=(5,), tasks=(5, 8), n_attempts=4, n_runs=2, n_simulations=20)


@example(Novices)
def novices():
    people = simulated().attempts.frame.filter(kind="human")
    names = ("subject", "kind", "task", "attempt", "score", "family", "domain")
    rows = people.select(*names, seconds=pl.lit(None, pl.Float64), verification_type=pl.lit("automated"))
    learners = rows.group_by("subject", maintain_order=True).len("attempts").rename({"subject": "learner"})
    return Novices(rows=rows, learners=learners, review=rows.clear(), refused=(), provenance=Provenance({}))
