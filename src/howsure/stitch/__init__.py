"""How capable is each model, how hard is each benchmark, on one scale, and where is the frontier going?

The verbs of ``howsure stitch`` are functions of the same names here: `explore`, `fit`, `score`, `next`, `predict`, `forecast`, `lag`, `progress`, `growth`, `gaps`, `domains`,
`update`, `votes`, `all`, `map`,
`robustness`, `validate`, `traits`, `check`, `simulate` and `coverage`::

    from howsure.stitch import fit
    scale = fit(scores, anchor="Winogrande", n_replicates=1000)
    scale.models, scale.benchmarks, scale.pairs(["o3", "gpt-5"])

    cleaning, exploration                 the table of scores before the fit
    model/                                problem (arrays, anchors), solver, fits (the published and the default one), residuals, replicates
    scale, summaries, placing             a fit and its tables; new models on it
    prediction                            scores that are not there
    baskets, updating, preferences        indices of domains; a newer table; votes on the same scale
    benchmark_gaps, growth_rates          which benchmarks are missing; growth under different rules
    whole_run                             every analysis of a table at once
    forecasting/, sensitivity/            where the frontier goes; what the conclusions depend on
    simulator, interval_coverage          simulated data sets; how often intervals contain the true value
    charts, sections                      how it is shown
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.stitch.baskets import DomainIndices as DomainIndices
    from howsure.stitch.baskets import domains as domains
    from howsure.stitch.benchmark_gaps import BenchmarkGaps as BenchmarkGaps
    from howsure.stitch.benchmark_gaps import gaps as gaps
    from howsure.stitch.cleaning import prepare_scores as prepare_scores
    from howsure.stitch.exploration import Exploration as Exploration
    from howsure.stitch.exploration import explore as explore
    from howsure.stitch.forecasting.frontier_forecast import Forecast as Forecast
    from howsure.stitch.forecasting.frontier_forecast import forecast as forecast
    from howsure.stitch.forecasting.horizon_map import HorizonMap as HorizonMap
    from howsure.stitch.forecasting.horizon_map import map_horizons as map_horizons
    from howsure.stitch.forecasting.lags import Lags as Lags
    from howsure.stitch.forecasting.lags import lag as lag
    from howsure.stitch.forecasting.scaling import Progress as Progress
    from howsure.stitch.forecasting.scaling import progress as progress
    from howsure.stitch.growth_rates import GrowthRates as GrowthRates
    from howsure.stitch.growth_rates import growth as growth
    from howsure.stitch.interval_coverage import CapabilityCoverage as CapabilityCoverage
    from howsure.stitch.interval_coverage import coverage as coverage
    from howsure.stitch.model.problem import Problem as Problem
    from howsure.stitch.model.problem import find_parts as find_parts
    from howsure.stitch.model.replicates import PRESETS as PRESETS
    from howsure.stitch.model.replicates import RESAMPLES as RESAMPLES
    from howsure.stitch.model.replicates import ScaleReplicates as ScaleReplicates
    from howsure.stitch.placing import NextBenchmark as NextBenchmark
    from howsure.stitch.placing import PlacedModels as PlacedModels
    from howsure.stitch.placing import next_benchmark as next_benchmark
    from howsure.stitch.placing import score as score
    from howsure.stitch.prediction import Predictions as Predictions
    from howsure.stitch.prediction import predict as predict
    from howsure.stitch.preferences import VoteRanking as VoteRanking
    from howsure.stitch.preferences import simulate_votes as simulate_votes
    from howsure.stitch.preferences import votes as votes
    from howsure.stitch.scale import Scale as Scale
    from howsure.stitch.scale import fit as fit
    from howsure.stitch.sensitivity.analysis import Robustness as Robustness
    from howsure.stitch.sensitivity.analysis import robustness as robustness
    from howsure.stitch.sensitivity.crossvalidation import compare_models as compare_models
    from howsure.stitch.sensitivity.heldout import HeldOutScores as HeldOutScores
    from howsure.stitch.sensitivity.heldout import validate as validate
    from howsure.stitch.sensitivity.inspection import ScaleCheck as ScaleCheck
    from howsure.stitch.sensitivity.inspection import check as check
    from howsure.stitch.sensitivity.second_trait import SecondTrait as SecondTrait
    from howsure.stitch.sensitivity.second_trait import traits as traits
    from howsure.stitch.simulator import SimulatedScores as SimulatedScores
    from howsure.stitch.simulator import simulate as simulate
    from howsure.stitch.updating import ScaleUpdate as ScaleUpdate
    from howsure.stitch.updating import update as update
    from howsure.stitch.whole_run import run_all as run_all

    next, map, all = next_benchmark, map_horizons, run_all  # noqa: A001

_HOMES = {
    "PRESETS": "model.replicates",
    "RESAMPLES": "model.replicates",
    "CapabilityCoverage": "interval_coverage",
    "ScaleCheck": "sensitivity.inspection",
    "Exploration": "exploration",
    "Forecast": "forecasting.frontier_forecast",
    "HorizonMap": "forecasting.horizon_map",
    "Lags": "forecasting.lags",
    "NextBenchmark": "placing",
    "PlacedModels": "placing",
    "HeldOutScores": "sensitivity.heldout",
    "Predictions": "prediction",
    "Problem": "model.problem",
    "Progress": "forecasting.scaling",
    "ScaleReplicates": "model.replicates",
    "Robustness": "sensitivity.analysis",
    "Scale": "scale",
    "SecondTrait": "sensitivity.second_trait",
    "SimulatedScores": "simulator",
    "DomainIndices": "baskets",
    "domains": "baskets",
    "ScaleUpdate": "updating",
    "update": "updating",
    "VoteRanking": "preferences",
    "votes": "preferences",
    "simulate_votes": "preferences",
    "BenchmarkGaps": "benchmark_gaps",
    "gaps": "benchmark_gaps",
    "GrowthRates": "growth_rates",
    "growth": "growth_rates",
    "run_all": "whole_run",
    "all": "whole_run:run_all",
    "check": "sensitivity.inspection",
    "compare_models": "sensitivity.crossvalidation",
    "coverage": "interval_coverage",
    "explore": "exploration",
    "find_parts": "model.problem",
    "fit": "scale",
    "forecast": "forecasting.frontier_forecast",
    "lag": "forecasting.lags",
    "map": "forecasting.horizon_map:map_horizons",
    "map_horizons": "forecasting.horizon_map",
    "next": "placing:next_benchmark",
    "next_benchmark": "placing",
    "predict": "prediction",
    "prepare_scores": "cleaning",
    "progress": "forecasting.scaling",
    "robustness": "sensitivity.analysis",
    "score": "placing",
    "simulate": "simulator",
    "traits": "sensitivity.second_trait",
    "validate": "sensitivity.heldout",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
