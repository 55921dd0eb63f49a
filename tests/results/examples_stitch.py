"""Examples of the capability scale's results."""

from functools import cache

from howsure.stitch import (
    BenchmarkGaps,
    CapabilityCoverage,
    DomainIndices,
    Exploration,
    Forecast,
    GrowthRates,
    HeldOutScores,
    HorizonMap,
    Lags,
    NextBenchmark,
    PlacedModels,
    Predictions,
    Progress,
    Robustness,
    Scale,
    ScaleCheck,
    ScaleUpdate,
    SimulatedScores,
    VoteRanking,
    check,
    coverage,
    domains,
    explore,
    fit,
    forecast,
    gaps,
    growth,
    lag,
    map_horizons,
    next_benchmark,
    predict,
    progress,
    robustness,
    score,
    simulate,
    simulate_votes,
    update,
    validate,
    votes,
)
from howsure.tables import Scores

from .registry import example


@example(SimulatedScores)
@cache
def simulated():
    return simulate(n_models=30, n_benchmarks=8, seed=1)


@example(Scale)
@cache
def scale():
    return fit(simulated().scores, n_replicates=20)


@example(Exploration)
def explored():
    return explore(simulated().scores)


@example(PlacedModels)
def placed():
    rows = simulated().scores.frame
    return score(scale(), Scores(rows.filter(rows["model"] == scale().models["model"][2])))


@example(NextBenchmark)
def next_one():
    return next_benchmark(scale(), scale().models["model"][0])


@example(Predictions)
def predicted():
    return predict(scale(), scale().models["model"].head(2).to_list())


@example(HeldOutScores)
def held_out():
    return validate(simulated().scores, folds=2)


@example(Forecast)
def forecasted():
    return forecast(scale(), cutoff="2025-01-01", n_simulations=9)


@example(Lags)
def lagged():
    return lag(scale(), by="organisation")


@example(DomainIndices)
def by_domain():
    names = scale().problem.benchmarks
    return domains(scale(), {"one": list(names[:4]), "two": {names[4]: 2.0, names[5]: 1.0}})


@example(ScaleUpdate)
def updated():
    rows = simulated().scores.frame
    early = rows.filter(rows["model"] != scale().models["model"][2])
    return update(fit(Scores(early), n_replicates=20), simulated().scores)


@example(VoteRanking)
def voted():
    top = scale().models.head(8)
    strengths = dict(zip(top["model"], (top["capability"] - top["capability"].mean()) * 0.7, strict=True))
    return votes(simulate_votes(strengths, 300, n_voters=15), scale(), covariates=["length"])


@example(BenchmarkGaps)
def gapped():
    return gaps(scale(), n_models=5)


@example(GrowthRates)
def grown():
    return growth(simulated().scores, n_replicates=20)


@example(Progress)
def separated():
    return progress(scale())


@example(HorizonMap)
def mapped():
    rows = scale().models.head(12).select("model", "capability").rows()
    return map_horizons(
        scale(), {name: 2.0 ** (c + 0.1 * (i % 3)) for i, (name, c) in enumerate(rows)}, n_replicates=50
    )


@example(Robustness)
def varied():
    return robustness(simulated().scores, n_replicates=4, folds=2)


@example(ScaleCheck)
def checked():
    return check(scale(), n_models=5)


@example(CapabilityCoverage)
def covered():
    return coverage(2, resamples=["errors"], n_replicates=20)
