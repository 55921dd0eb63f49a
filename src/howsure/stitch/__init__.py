"""How able is each model, how hard each benchmark, on one scale, and where is it going?

::

    from howsure.stitch import fit
    scale = fit(scores, anchor="Winogrande", bootstrap=1000)
    scale.models, scale.benchmarks, scale.pairs(["o3", "gpt-5"])

    scale, presets, summaries, store      a fit, and what is reported of it
    cleaning, families, connectivity      from a table to the scores that are fitted
    solver/                               arrays, kernels, priors, refits
    exploration, placing                  before the fit; new models after it
    trends/, robust/                      where it goes; what it rests on
    simulate, coverage                    how good it is
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.stitch.cleaning import pose as pose
    from howsure.stitch.connectivity import find_parts as find_parts
    from howsure.stitch.coverage import coverage_table as coverage_table
    from howsure.stitch.exploration import explore as explore
    from howsure.stitch.placing import next_benchmark as next_benchmark
    from howsure.stitch.placing import place as place
    from howsure.stitch.presets import PRESETS as PRESETS
    from howsure.stitch.robust.check import check as check
    from howsure.stitch.robust.crossvalidation import compare_models as compare_models
    from howsure.stitch.robust.robustness import robustness as robustness
    from howsure.stitch.scale import Scale as Scale
    from howsure.stitch.scale import fit as fit
    from howsure.stitch.simulate import World as World
    from howsure.stitch.solver.problem import Problem as Problem
    from howsure.stitch.solver.replicates import RESAMPLES as RESAMPLES
    from howsure.stitch.solver.replicates import Replicates as Replicates
    from howsure.stitch.trends.forecast import forecast as forecast
    from howsure.stitch.trends.horizon_map import map_horizons as map_horizons
    from howsure.stitch.trends.progress import progress as progress

_HOMES = {
    "PRESETS": "presets",
    "RESAMPLES": "solver.replicates",
    "Problem": "solver.problem",
    "Replicates": "solver.replicates",
    "Scale": "scale",
    "World": "simulate",
    "check": "robust.check",
    "compare_models": "robust.crossvalidation",
    "coverage_table": "coverage",
    "explore": "exploration",
    "find_parts": "connectivity",
    "fit": "scale",
    "forecast": "trends.forecast",
    "map_horizons": "trends.horizon_map",
    "next_benchmark": "placing",
    "place": "placing",
    "pose": "cleaning",
    "progress": "trends.progress",
    "robustness": "robust.robustness",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
