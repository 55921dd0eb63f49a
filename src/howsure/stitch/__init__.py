"""How capable is each model, how hard is each benchmark, on one scale, and where is the frontier going?

The verbs of ``howsure stitch`` are functions of the same names here: `explore`, `fit`, `score`, `next`, `forecast`, `progress`, `map`,
`robustness`, `check`, `simulate` and `coverage`::

    from howsure.stitch import fit
    scale = fit(scores, anchor="Winogrande", n_replicates=1000)
    scale.models, scale.benchmarks, scale.pairs(["o3", "gpt-5"])

    scale, presets, summaries             a fit, and what is reported of it
    cleaning, families, connectivity      from a table to the scores that are fitted
    solver/                               arrays, kernels, priors, refits
    exploration, placing                  before the fit; new models after it
    trends/, robust/                      forecasts; what the conclusions are sensitive to
    simulator, interval_coverage          simulated data sets; how often intervals contain the true value
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.stitch.cleaning import prepare_scores as prepare_scores
    from howsure.stitch.connectivity import find_parts as find_parts
    from howsure.stitch.exploration import Exploration as Exploration
    from howsure.stitch.exploration import explore as explore
    from howsure.stitch.interval_coverage import CapabilityCoverage as CapabilityCoverage
    from howsure.stitch.interval_coverage import coverage as coverage
    from howsure.stitch.placing import NextBenchmark as NextBenchmark
    from howsure.stitch.placing import PlacedModels as PlacedModels
    from howsure.stitch.placing import next_benchmark as next_benchmark
    from howsure.stitch.placing import score as score
    from howsure.stitch.presets import PRESETS as PRESETS
    from howsure.stitch.robust.analysis import Robustness as Robustness
    from howsure.stitch.robust.analysis import robustness as robustness
    from howsure.stitch.robust.crossvalidation import compare_models as compare_models
    from howsure.stitch.robust.inspection import Check as Check
    from howsure.stitch.robust.inspection import check as check
    from howsure.stitch.scale import Scale as Scale
    from howsure.stitch.scale import fit as fit
    from howsure.stitch.simulator import SimulatedScores as SimulatedScores
    from howsure.stitch.simulator import simulate as simulate
    from howsure.stitch.solver.problem import Problem as Problem
    from howsure.stitch.solver.replicates import RESAMPLES as RESAMPLES
    from howsure.stitch.solver.replicates import Replicates as Replicates
    from howsure.stitch.trends.frontier_forecast import Forecast as Forecast
    from howsure.stitch.trends.frontier_forecast import forecast as forecast
    from howsure.stitch.trends.horizon_map import HorizonMap as HorizonMap
    from howsure.stitch.trends.horizon_map import map_horizons as map_horizons
    from howsure.stitch.trends.scaling import Progress as Progress
    from howsure.stitch.trends.scaling import progress as progress

    next, map = next_benchmark, map_horizons  # noqa: A001

_HOMES = {
    "PRESETS": "presets",
    "RESAMPLES": "solver.replicates",
    "CapabilityCoverage": "interval_coverage",
    "Check": "robust.inspection",
    "Exploration": "exploration",
    "Forecast": "trends.frontier_forecast",
    "HorizonMap": "trends.horizon_map",
    "NextBenchmark": "placing",
    "PlacedModels": "placing",
    "Problem": "solver.problem",
    "Progress": "trends.scaling",
    "Replicates": "solver.replicates",
    "Robustness": "robust.analysis",
    "Scale": "scale",
    "SimulatedScores": "simulator",
    "check": "robust.inspection",
    "compare_models": "robust.crossvalidation",
    "coverage": "interval_coverage",
    "explore": "exploration",
    "find_parts": "connectivity",
    "fit": "scale",
    "forecast": "trends.frontier_forecast",
    "map": "trends.horizon_map:map_horizons",
    "map_horizons": "trends.horizon_map",
    "next": "placing:next_benchmark",
    "next_benchmark": "placing",
    "prepare_scores": "cleaning",
    "progress": "trends.scaling",
    "robustness": "robust.analysis",
    "score": "placing",
    "simulate": "simulator",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
