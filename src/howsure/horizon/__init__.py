"""How many attempts would a novice need to match a model, and how many minutes an expert?

The verbs of ``howsure horizon`` are functions of the same names here: `tasks`, `run`, `page`, `collect`, `review`, `simulate`, `curves`,
`learners`, `attempts`, `failures`, `benchmarks`, `transfer`, `size`, `time`, `budget`, `baselines`, `trend`, `forecast`, `crossvalidate`, `compare` and `coverage`.
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.horizon.asking.task_runs import TaskRun as TaskRun
    from howsure.horizon.asking.task_runs import run_tasks as run_tasks
    from howsure.horizon.attempt_horizon.benchmark_order import BenchmarkOrder as BenchmarkOrder
    from howsure.horizon.attempt_horizon.benchmark_order import compare_benchmarks as compare_benchmarks
    from howsure.horizon.attempt_horizon.horizons import AttemptHorizons as AttemptHorizons
    from howsure.horizon.attempt_horizon.horizons import attempt_horizons as attempt_horizons
    from howsure.horizon.attempt_horizon.study_size import StudySize as StudySize
    from howsure.horizon.attempt_horizon.study_size import size_study as size_study
    from howsure.horizon.failure_modes import FailureModes as FailureModes
    from howsure.horizon.failure_modes import compare_failures as compare_failures
    from howsure.horizon.interval_coverage import HorizonCoverage as HorizonCoverage
    from howsure.horizon.interval_coverage import coverage as coverage
    from howsure.horizon.learning_curves.attrition import Attrition as Attrition
    from howsure.horizon.learning_curves.attrition import measure_attrition as measure_attrition
    from howsure.horizon.learning_curves.curves import LearningCurves as LearningCurves
    from howsure.horizon.learning_curves.curves import fit_curves as fit_curves
    from howsure.horizon.learning_curves.held_out_learners import HeldOutLearners as HeldOutLearners
    from howsure.horizon.learning_curves.held_out_learners import crossvalidate_learners as crossvalidate_learners
    from howsure.horizon.learning_curves.transfer import SkillTransfer as SkillTransfer
    from howsure.horizon.learning_curves.transfer import measure_transfer as measure_transfer
    from howsure.horizon.novices.answers import Novices as Novices
    from howsure.horizon.novices.answers import collect_novices as collect_novices
    from howsure.horizon.novices.pages import NovicePages as NovicePages
    from howsure.horizon.novices.pages import make_pages as make_pages
    from howsure.horizon.novices.rehearsal import fill_in_pages as fill_in_pages
    from howsure.horizon.reviewing import add_reviews as add_reviews
    from howsure.horizon.reviewing import write_review_pages as write_review_pages
    from howsure.horizon.simulator import SimulatedRuns as SimulatedRuns
    from howsure.horizon.simulator import simulate as simulate
    from howsure.horizon.task_bank import make_tasks as make_tasks
    from howsure.horizon.task_bank import read_tasks as read_tasks
    from howsure.horizon.task_bank import write_tasks as write_tasks
    from howsure.horizon.time_horizon.budgets import BudgetHorizons as BudgetHorizons
    from howsure.horizon.time_horizon.budgets import budget_horizons as budget_horizons
    from howsure.horizon.time_horizon.comparison import HorizonComparison as HorizonComparison
    from howsure.horizon.time_horizon.comparison import compare_horizons as compare_horizons
    from howsure.horizon.time_horizon.doubling import HorizonTrend as HorizonTrend
    from howsure.horizon.time_horizon.doubling import fit_horizon_trend as fit_horizon_trend
    from howsure.horizon.time_horizon.forecasting import HorizonForecast as HorizonForecast
    from howsure.horizon.time_horizon.forecasting import forecast_horizons as forecast_horizons
    from howsure.horizon.time_horizon.held_out import HeldOutRuns as HeldOutRuns
    from howsure.horizon.time_horizon.held_out import crossvalidate as crossvalidate
    from howsure.horizon.time_horizon.horizons import TimeHorizons as TimeHorizons
    from howsure.horizon.time_horizon.horizons import time_horizons as time_horizons
    from howsure.horizon.time_horizon.people_times import BaselinePlan as BaselinePlan
    from howsure.horizon.time_horizon.people_times import human_times as human_times
    from howsure.horizon.time_horizon.people_times import plan_baselines as plan_baselines
    from howsure.horizon.time_horizon.published import dated_horizons as dated_horizons

    tasks, run, page, collect = make_tasks, run_tasks, make_pages, collect_novices
    time, budget, baselines, compare = time_horizons, budget_horizons, plan_baselines, compare_horizons
    trend, forecast = fit_horizon_trend, forecast_horizons
    curves, learners, attempts, size = fit_curves, crossvalidate_learners, attempt_horizons, size_study
    failures, benchmarks, review, transfer = compare_failures, compare_benchmarks, add_reviews, measure_transfer

_HOMES = {
    "AttemptHorizons": "attempt_horizon.horizons",
    "Attrition": "learning_curves.attrition",
    "BaselinePlan": "time_horizon.people_times",
    "BenchmarkOrder": "attempt_horizon.benchmark_order",
    "BudgetHorizons": "time_horizon.budgets",
    "FailureModes": "failure_modes",
    "LearningCurves": "learning_curves.curves",
    "HeldOutLearners": "learning_curves.held_out_learners",
    "HeldOutRuns": "time_horizon.held_out",
    "HorizonComparison": "time_horizon.comparison",
    "HorizonCoverage": "interval_coverage",
    "HorizonForecast": "time_horizon.forecasting",
    "HorizonTrend": "time_horizon.doubling",
    "NovicePages": "novices.pages",
    "Novices": "novices.answers",
    "SimulatedRuns": "simulator",
    "SkillTransfer": "learning_curves.transfer",
    "StudySize": "attempt_horizon.study_size",
    "TaskRun": "asking.task_runs",
    "TimeHorizons": "time_horizon.horizons",
    "add_reviews": "reviewing",
    "attempt_horizons": "attempt_horizon.horizons",
    "attempts": "attempt_horizon.horizons:attempt_horizons",
    "baselines": "time_horizon.people_times:plan_baselines",
    "benchmarks": "attempt_horizon.benchmark_order:compare_benchmarks",
    "budget": "time_horizon.budgets:budget_horizons",
    "budget_horizons": "time_horizon.budgets",
    "collect": "novices.answers:collect_novices",
    "collect_novices": "novices.answers",
    "compare_benchmarks": "attempt_horizon.benchmark_order",
    "compare_failures": "failure_modes",
    "compare": "time_horizon.comparison:compare_horizons",
    "compare_horizons": "time_horizon.comparison",
    "coverage": "interval_coverage",
    "crossvalidate": "time_horizon.held_out",
    "crossvalidate_learners": "learning_curves.held_out_learners",
    "curves": "learning_curves.curves:fit_curves",
    "dated_horizons": "time_horizon.published",
    "failures": "failure_modes:compare_failures",
    "fill_in_pages": "novices.rehearsal",
    "fit_curves": "learning_curves.curves",
    "fit_horizon_trend": "time_horizon.doubling",
    "forecast": "time_horizon.forecasting:forecast_horizons",
    "forecast_horizons": "time_horizon.forecasting",
    "human_times": "time_horizon.people_times",
    "learners": "learning_curves.held_out_learners:crossvalidate_learners",
    "make_pages": "novices.pages",
    "make_tasks": "task_bank",
    "measure_attrition": "learning_curves.attrition",
    "measure_transfer": "learning_curves.transfer",
    "page": "novices.pages:make_pages",
    "plan_baselines": "time_horizon.people_times",
    "read_tasks": "task_bank",
    "review": "reviewing:add_reviews",
    "run": "asking.task_runs:run_tasks",
    "run_tasks": "asking.task_runs",
    "simulate": "simulator",
    "size": "attempt_horizon.study_size:size_study",
    "size_study": "attempt_horizon.study_size",
    "tasks": "task_bank:make_tasks",
    "time": "time_horizon.horizons:time_horizons",
    "time_horizons": "time_horizon.horizons",
    "transfer": "learning_curves.transfer:measure_transfer",
    "trend": "time_horizon.doubling:fit_horizon_trend",
    "write_review_pages": "reviewing",
    "write_tasks": "task_bank",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
