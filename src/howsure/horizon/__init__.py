"""How many attempts would a novice need to match a model, and how many minutes an expert?"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.horizon.attempts import AttemptHorizons as AttemptHorizons
    from howsure.horizon.attempts import attempt_horizons as attempt_horizons
    from howsure.horizon.attrition import measure_attrition as measure_attrition
    from howsure.horizon.collect import collect_novices as collect_novices
    from howsure.horizon.compare import compare_horizons as compare_horizons
    from howsure.horizon.curves import Curves as Curves
    from howsure.horizon.curves import fit_curves as fit_curves
    from howsure.horizon.inspect.run import run_tasks as run_tasks
    from howsure.horizon.page import make_pages as make_pages
    from howsure.horizon.published import dated_horizons as dated_horizons
    from howsure.horizon.size import size_study as size_study
    from howsure.horizon.tasks import make_tasks as make_tasks
    from howsure.horizon.tasks import read_tasks as read_tasks
    from howsure.horizon.tasks import write_tasks as write_tasks
    from howsure.horizon.time import TimeHorizons as TimeHorizons
    from howsure.horizon.time import time_horizons as time_horizons
    from howsure.horizon.trend import fit_horizon_trend as fit_horizon_trend

_HOMES = {
    "AttemptHorizons": "attempts",
    "Curves": "curves",
    "TimeHorizons": "time",
    "attempt_horizons": "attempts",
    "collect_novices": "collect",
    "compare_horizons": "compare",
    "dated_horizons": "published",
    "fit_curves": "curves",
    "fit_horizon_trend": "trend",
    "make_pages": "page",
    "make_tasks": "tasks",
    "measure_attrition": "attrition",
    "read_tasks": "tasks",
    "run_tasks": "inspect.run",
    "size_study": "size",
    "time_horizons": "time",
    "write_tasks": "tasks",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
