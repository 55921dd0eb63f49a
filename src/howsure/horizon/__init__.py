"""How many attempts would a novice need to match a model, and how many minutes an expert?

The verbs of ``howsure horizon`` are functions of the same names here: `tasks`, `run`, `page`, `collect`, `simulate`, `curves`,
`attempts`, `size`, `time`, `trend` and `compare`.
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.horizon.attempt_horizon import AttemptHorizons as AttemptHorizons
    from howsure.horizon.attempt_horizon import attempt_horizons as attempt_horizons
    from howsure.horizon.attrition import Attrition as Attrition
    from howsure.horizon.attrition import measure_attrition as measure_attrition
    from howsure.horizon.horizon_comparison import HorizonComparison as HorizonComparison
    from howsure.horizon.horizon_comparison import compare_horizons as compare_horizons
    from howsure.horizon.horizon_trend import HorizonTrend as HorizonTrend
    from howsure.horizon.horizon_trend import fit_horizon_trend as fit_horizon_trend
    from howsure.horizon.inspect.run import run_tasks as run_tasks
    from howsure.horizon.learning_curves import Curves as Curves
    from howsure.horizon.learning_curves import fit_curves as fit_curves
    from howsure.horizon.novice_answers import Novices as Novices
    from howsure.horizon.novice_answers import collect_novices as collect_novices
    from howsure.horizon.novice_pages import make_pages as make_pages
    from howsure.horizon.published import dated_horizons as dated_horizons
    from howsure.horizon.simulator import simulate as simulate
    from howsure.horizon.study_size import StudySize as StudySize
    from howsure.horizon.study_size import size_study as size_study
    from howsure.horizon.task_bank import make_tasks as make_tasks
    from howsure.horizon.task_bank import read_tasks as read_tasks
    from howsure.horizon.task_bank import write_tasks as write_tasks
    from howsure.horizon.time_horizon import TimeHorizons as TimeHorizons
    from howsure.horizon.time_horizon import time_horizons as time_horizons

    tasks, run, page, collect = make_tasks, run_tasks, make_pages, collect_novices
    curves, attempts, size = fit_curves, attempt_horizons, size_study
    time, trend, compare = time_horizons, fit_horizon_trend, compare_horizons

_HOMES = {
    "AttemptHorizons": "attempt_horizon",
    "Attrition": "attrition",
    "Curves": "learning_curves",
    "HorizonComparison": "horizon_comparison",
    "HorizonTrend": "horizon_trend",
    "Novices": "novice_answers",
    "StudySize": "study_size",
    "TimeHorizons": "time_horizon",
    "attempt_horizons": "attempt_horizon",
    "attempts": "attempt_horizon:attempt_horizons",
    "collect": "novice_answers:collect_novices",
    "collect_novices": "novice_answers",
    "compare": "horizon_comparison:compare_horizons",
    "compare_horizons": "horizon_comparison",
    "curves": "learning_curves:fit_curves",
    "dated_horizons": "published",
    "fit_curves": "learning_curves",
    "fit_horizon_trend": "horizon_trend",
    "make_pages": "novice_pages",
    "make_tasks": "task_bank",
    "measure_attrition": "attrition",
    "page": "novice_pages:make_pages",
    "read_tasks": "task_bank",
    "run": "inspect.run:run_tasks",
    "run_tasks": "inspect.run",
    "simulate": "simulator",
    "size": "study_size:size_study",
    "size_study": "study_size",
    "tasks": "task_bank:make_tasks",
    "time": "time_horizon:time_horizons",
    "time_horizons": "time_horizon",
    "trend": "horizon_trend:fit_horizon_trend",
    "write_tasks": "task_bank",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
