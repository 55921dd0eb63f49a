"""Examples of horizon's results."""

import datetime
import functools
from pathlib import Path

import polars as pl

from howsure.horizon import (
    AttemptHorizons,
    Attrition,
    BaselinePlan,
    BenchmarkOrder,
    BudgetHorizons,
    FailureModes,
    HeldOutLearners,
    HeldOutRuns,
    HorizonComparison,
    HorizonCoverage,
    HorizonForecast,
    HorizonTrend,
    LearningCurves,
    NovicePages,
    Novices,
    SimulatedRuns,
    SkillTransfer,
    StudySize,
    TaskRun,
    TimeHorizons,
    attempt_horizons,
    budget_horizons,
    compare_benchmarks,
    compare_failures,
    compare_horizons,
    coverage,
    crossvalidate,
    crossvalidate_learners,
    fit_curves,
    fit_horizon_trend,
    forecast_horizons,
    make_pages,
    make_tasks,
    measure_transfer,
    plan_baselines,
    size_study,
    time_horizons,
)
from howsure.horizon.asking.replies import REPLIES
from howsure.horizon.novices.answers import review_table
from howsure.horizon.simulator import draw_suite, simulate
from howsure.horizon.time_horizon.sensitivity import Sensitivity
from howsure.horizon.time_horizon.simulator import simulate_people, simulate_spending, simulate_time
from howsure.results import Provenance

from .registry import example

FRONTIER = {"first": 2.0, "second": 6.0, "third": 12.0, "fourth": 30.0, "fifth": 90.0}
MODELS = {"old": 4.0, "new": 16.0, "newest": 60.0, "perfect": 1e9}


@functools.cache
def simulated():
    return simulate(draw_suite(6, seed=1), n_learners=8, n_attempts=4, n_runs=3, seed=1)


example(SimulatedRuns)(simulated)


@example(NovicePages)
def novice_pages():
    return make_pages(make_tasks(2, domains=["pattern_recognition"]), n_tasks=1, n_attempts=2, n_learners=2)


@example(TaskRun)
def task_run():
    about = {"model": "m", "task": "sums/1", "domain": "sums", "verification_type": "automated", "shots": 0}
    rows = [about | {"attempt": k, "seed": k, "score": score} for k, score in enumerate((1.0, 0.0, None), 1)]
    replies = pl.DataFrame(rows, schema=REPLIES).with_columns(
        failure=pl.when(pl.col("score").is_null()).then(pl.lit("api"))
    )
    return TaskRun(
        status="incomplete",
        replies=replies,
        review=review_table([], "secret"),
        secret="secret",
        logs=(Path("logs/one.eval"),),
        errors={"the server is busy": 1},
        provenance=Provenance({"model": "m"}),
    )


@example(BenchmarkOrder)
def benchmarks():
    found = attempt_horizons(simulated().attempts, n_replicates=20)
    rows = [(model, "other", score) for model, score in zip(simulated().models, (0.2, 0.9, 0.4), strict=True)]
    return compare_benchmarks(found, pl.DataFrame(rows, schema=["model", "benchmark", "score"], orient="row"))


@example(FailureModes)
def failures():
    wrong = pl.when(pl.col("score") == 0).then(pl.lit("near miss"))
    return compare_failures(simulated().attempts.frame.with_columns(mode=wrong, answer=pl.lit("7")))


@example(SkillTransfer)
def transfer():
    rows = simulate(draw_suite(10, seed=1), n_learners=12, n_attempts=3, n_runs=1, seed=1).attempts.frame
    order = pl.struct("subject", "task").hash(1) % 1000
    return measure_transfer(rows.with_columns(position=order.cast(pl.Int64)))


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
    return fit_curves(simulated().attempts, curve="exponential", n_replicates=20)


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
    empty = rows.clear()
    return Novices(rows=rows, learners=learners, review=empty, pending=empty, refused=(), provenance=Provenance({}))


@example(BudgetHorizons)
def budgets():
    world = simulate_time({"old": 4.0, "new": 60.0}, n_families=8, n_runs=3, seed=1)
    return budget_horizons(simulate_spending(world, limit=1e5, seed=1))


@example(BaselinePlan)
def baselines():
    world = simulate_time({"old": 4.0, "new": 60.0}, n_families=8, n_runs=3, seed=1)
    people = simulate_people(world.counts.tasks, n_people=5, seed=1)
    runs = simulate_spending(world, seed=1).with_columns(kind=pl.lit("model")).drop("tokens", "limit")
    return plan_baselines(pl.concat([runs, people], how="diagonal"), n_people=5)


@example(HorizonForecast)
def forecast():
    releases = {model: datetime.date(2023 + place, 1, 1) for place, model in enumerate(FRONTIER)}
    return forecast_horizons(
        time_horizons(simulate_time(FRONTIER, n_families=8, seed=1).counts, n_replicates=30), releases
    )


@example(HorizonCoverage)
def horizon_coverage():
    return coverage("trend", n_simulations=2)
