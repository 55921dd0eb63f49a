"""How many attempts would a novice need to match a model, and how many minutes an expert?"""

from typing import TYPE_CHECKING

from assay._lazy import lazily

if TYPE_CHECKING:
    from assay.horizon.attempts import AttemptHorizons as AttemptHorizons
    from assay.horizon.attempts import attempt_horizons as attempt_horizons
    from assay.horizon.attrition import measure_attrition as measure_attrition
    from assay.horizon.collect import collect_novices as collect_novices
    from assay.horizon.compare import compare_horizons as compare_horizons
    from assay.horizon.curves import Curves as Curves
    from assay.horizon.curves import fit_curves as fit_curves
    from assay.horizon.inspect.run import run_tasks as run_tasks
    from assay.horizon.page import make_pages as make_pages
    from assay.horizon.published import dated_horizons as dated_horizons
    from assay.horizon.size import size_study as size_study
    from assay.horizon.tasks import make_tasks as make_tasks
    from assay.horizon.tasks import read_tasks as read_tasks
    from assay.horizon.tasks import write_tasks as write_tasks
    from assay.horizon.time import TimeHorizons as TimeHorizons
    from assay.horizon.time import time_horizons as time_horizons
    from assay.horizon.trend import fit_horizon_trend as fit_horizon_trend

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
