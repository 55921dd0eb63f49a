"""Simulated data sets: scores drawn from capabilities, difficulties and slopes that are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import betaincinv, expit, ndtr

from howsure.arguments import checked
from howsure.errors import OptionError
from howsure.results import Provenance, Result
from howsure.stitch.model.problem import Bools, Floats, Ints, Problem, find_parts
from howsure.tables import Scores

__all__ = ["DEPARTURES", "PER_LOG10_FLOP", "PER_YEAR", "SimulatedScores", "simulate"]

PER_YEAR = 0.9
"""Capability gained per year at the same training compute."""
PER_LOG10_FLOP = 0.6
"""Capability gained by ten times the training compute."""

DEPARTURES = {
    "second dimension": "models differ in a second trait of standard deviation 1 (half of its variance shared by a family), on which benchmarks load with a standard deviation of 0.35, as on a real table",
    "asymmetric curves": "curves rise slowly and saturate fast (complementary log-log)",
    "contamination": "3 % of the scores are raised by 0.2",
    "heavy tails": "5 % of the scores have three times the noise",
    "unknown floors": "the score of guessing is missing in the table",
    "organisations alike": "errors of an organisation's models on one benchmark correlate by 0.3, beyond those of a family",
    "unpublished scores": "models have no scores where less than a tenth of the way from floor to ceiling is expected of them, and half of the scores more than one standard deviation below expectation are missing",
}
"""Ways in which simulated scores can break the assumptions of the fit."""

FIRST_DAY = np.datetime64("2023-01-01")
ORGANISATIONS = ("Amber", "Basalt", "Cobalt", "Dune", "Ember", "Flint")
_FLOP_AT_FIRST, _FLOP_PER_YEAR, _FLOP_SD = 23.5, 0.5, 0.4  # log10
_CAPABILITY_SD = 0.5
_LOG_SLOPE_SD = 0.45
_NOISE_SD = (0.03, 0.12)  # least and most, half-way up a benchmark's curve
_CAN_BE_GUESSED, _GUESSING = 0.25, 0.25  # share of benchmarks, and the score of guessing on them
_LOADING_SD = 0.35  # as large as on the real table of November 2025
_CONTAMINATED, _RAISED = 0.03, 0.2
_NOISY, _TIMES, _MOST_NOISE = 0.05, 3.0, 0.4
_ORGANISATIONS_ALIKE = 0.3
_LEAST_TESTED, _UNPUBLISHED = 0.1, 0.5
_LEAST_SHARE = 1e-9
_LEAST_BENCHMARKS = 4
_TRIES = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedScores(Result):
    """Simulated scores and their true parameters. Compare differences, or anchor both sides in the same way: the scale is arbitrary.

    Parameters
    ----------
    scores : Scores
        The scores.
    models : pl.DataFrame
        model, capability, date, family, organisation, compute, and trait in two dimensions.
    benchmarks : pl.DataFrame
        benchmark, difficulty, slope, noise_sd, floor, date, and loading in two dimensions.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "simulated_scores"

    scores: Scores
    models: pl.DataFrame
    benchmarks: pl.DataFrame
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The scores (main), and the true values of models and benchmarks."""
        return {"scores": self.scores.frame, "true_models": self.models, "true_benchmarks": self.benchmarks}


@checked
def simulate(
    *,
    n_models: int = 80,
    n_benchmarks: int = 24,
    years: float = 3.0,
    density: float = 0.4,
    correlation: float = 0.45,
    like: Problem | None = None,
    departure: str | None = None,
    seed: int = 0,
) -> SimulatedScores:
    r"""Scores of models that get better over time on benchmarks that get harder.

    .. math:: \frac{y - f_b}{1 - f_b} \sim \mathrm{Beta} \text{ with mean } p = \sigma(a_b (C_m - D_b)) \text{ and variance } 4 p (1 - p)\, v_b

    Capability grows with training compute and, at the same compute, with time. Families have up to four models. A model is mostly tested on
    benchmarks of its time, and on at least four.

    Parameters
    ----------
    n_models, n_benchmarks : int
        How many.
    years : float
        The time over which models are released.
    density : float
        Share of all pairs of model and benchmark that have a score.
    correlation : float
        Correlation of the errors of a family's models on one benchmark.
    like : Problem, optional
        Dates, families and missing scores of a real table (`howsure.stitch.prepare_scores`) instead.
    departure : str, optional
        An assumption that does not hold, one of `DEPARTURES`.
    seed : int
        The same seed gives the same scores.
    """
    if departure is not None and departure not in DEPARTURES:
        raise OptionError.unknown("departure from the model", departure, DEPARTURES)
    rng = np.random.default_rng(seed)
    if like is not None:
        models = _models(rng, like.years, like.family, np.array(like.models))
        benchmarks = _benchmarks_like(rng, like, models)
        model, benchmark = like.model, like.benchmark
    else:
        models = _new_models(rng, n_models, years)
        benchmarks = _new_benchmarks(rng, n_benchmarks, years)
        model, benchmark = _linked_pairs(rng, models, benchmarks, density)
    if departure == "second dimension":
        models, benchmarks = _with_trait(rng, models, benchmarks)
    score, is_there = _draw_scores(rng, models, benchmarks, model, benchmark, correlation, departure)
    known = benchmarks.select("benchmark", "floor", benchmark_date="date")
    if departure == "unknown floors":
        known = known.drop("floor")
    pairs = models.drop("capability", "trait", strict=False)[model].hstack(known[benchmark])
    settings: dict[str, Any] = {"n_models": len(models), "n_benchmarks": len(benchmarks), "correlation": correlation}
    settings |= {} if departure is None else {"departure": departure}
    own = {} if like is not None else {"years": years, "density": density}
    return SimulatedScores(
        scores=Scores(pairs.with_columns(score=score).filter(is_there)),
        models=models,
        benchmarks=benchmarks,
        provenance=Provenance({**settings, **own}, seed=seed),
    )


def _new_models(rng: np.random.Generator, n: int, years: float) -> pl.DataFrame:
    """Families of one to four models, released within four months of each other."""
    family = np.repeat(np.arange(n), rng.integers(1, 5, n))[:n]
    released = rng.uniform(0, years, n)[family] + rng.uniform(0, 1 / 3, n)
    maker = rng.integers(0, len(ORGANISATIONS), n)[family]
    version = np.arange(n) - np.searchsorted(family, family)
    names = [f"{ORGANISATIONS[o].lower()}-{f + 1}.{v}" for o, f, v in zip(maker, family, version, strict=True)]
    return _models(rng, released, family, np.array(names), np.array(ORGANISATIONS)[maker])


def _models(
    rng: np.random.Generator, released: Floats, family: Ints, names: np.ndarray, makers: np.ndarray | None = None
) -> pl.DataFrame:
    """Capabilities and what is known of the models; half of what time and compute leave open is shared by a family."""
    n, n_families = len(names), family.max() + 1
    flop = _FLOP_AT_FIRST + _FLOP_PER_YEAR * released + _FLOP_SD * rng.standard_normal(n_families)[family]
    rest = rng.standard_normal(n_families)[family] + rng.standard_normal(n)
    capability = PER_YEAR * released + PER_LOG10_FLOP * (flop - _FLOP_AT_FIRST) + _CAPABILITY_SD * rest / np.sqrt(2)
    return pl.DataFrame(
        {
            "model": names,
            "capability": capability,
            "date": FIRST_DAY + np.round(released * 365.25).astype("timedelta64[D]"),
            "family": [f"family {f + 1}" for f in family],
            "organisation": np.array(ORGANISATIONS)[family % len(ORGANISATIONS)] if makers is None else makers,
            "compute": 10**flop,
        }
    )


def _new_benchmarks(rng: np.random.Generator, n: int, years: float) -> pl.DataFrame:
    """A benchmark is published a little beyond the models of its time, from two years before the first of them."""
    released = rng.uniform(-2, years, n)
    a_year = PER_YEAR + PER_LOG10_FLOP * _FLOP_PER_YEAR
    difficulty = a_year * released + rng.normal(0.5, 0.7, n)
    return _benchmarks(rng, [f"bench-{k + 1:02}" for k in range(n)], difficulty, released)


def _benchmarks_like(rng: np.random.Generator, like: Problem, models: pl.DataFrame) -> pl.DataFrame:
    """A benchmark lies among the models that were tested on it."""
    n = like.n_by_benchmark
    middle = np.bincount(like.benchmark, models["capability"].to_numpy()[like.model], minlength=len(n)) / np.maximum(
        n, 1
    )
    return _benchmarks(rng, list(like.benchmarks), middle + rng.normal(0, 0.7, len(n)), np.zeros(len(n)))


def _benchmarks(rng: np.random.Generator, names: list[str], difficulty: Floats, released: Floats) -> pl.DataFrame:
    n = len(names)
    return pl.DataFrame(
        {
            "benchmark": names,
            "difficulty": difficulty,
            "slope": np.exp(rng.normal(0, _LOG_SLOPE_SD, n)),
            "noise_sd": rng.uniform(*_NOISE_SD, n),
            "floor": np.where(rng.random(n) < _CAN_BE_GUESSED, _GUESSING, 0.0),
            "date": FIRST_DAY + np.round(released * 365.25).astype("timedelta64[D]"),
        }
    )


def _linked_pairs(
    rng: np.random.Generator, models: pl.DataFrame, benchmarks: pl.DataFrame, density: float
) -> tuple[Ints, Ints]:
    """Which model is tested on which benchmark, drawn until all are linked."""
    if not 0 < density <= 1:
        raise OptionError(f"density is {density:g}; give the share of pairs that have a score, above 0 and up to 1.")
    for _ in range(_TRIES):
        model, benchmark = _draw_pairs(rng, models, benchmarks, density)
        if len(find_parts(model, benchmark, models["model"].to_list(), benchmarks["benchmark"].to_list())) == 1:
            return model, benchmark
    raise OptionError(f"At density {density:g} the models and benchmarks are not linked by scores; raise it.")


def _draw_pairs(
    rng: np.random.Generator, models: pl.DataFrame, benchmarks: pl.DataFrame, density: float
) -> tuple[Ints, Ints]:
    """Popular benchmarks that were new when the model was are the likeliest."""
    n_models, n_benchmarks = len(models), len(benchmarks)
    age = (
        (models["date"].to_numpy()[:, None] - benchmarks["date"].to_numpy()[None])
        .astype("timedelta64[D]")
        .astype(float)
    )
    liking = rng.normal(0, 0.7, n_benchmarks) - np.abs(age / 365.25 - 0.7)
    liking = liking + rng.gumbel(size=(n_models, n_benchmarks))
    least = min(_LEAST_BENCHMARKS, n_benchmarks)
    count = np.clip(np.round(rng.gamma(4, density * n_benchmarks / 4, n_models)), least, n_benchmarks)
    order = np.argsort(np.argsort(-liking, axis=1), axis=1)
    model, benchmark = np.nonzero(order < count[:, None])
    return model.astype(np.int64), benchmark.astype(np.int64)


def _with_trait(
    rng: np.random.Generator, models: pl.DataFrame, benchmarks: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    family = models["family"].rank("dense").to_numpy().astype(np.int64) - 1
    trait = (rng.standard_normal(family.max() + 1)[family] + rng.standard_normal(len(models))) / np.sqrt(2)
    loading = rng.normal(0, _LOADING_SD, len(benchmarks))
    return models.with_columns(trait=trait), benchmarks.with_columns(loading=loading)


def _draw_scores(
    rng: np.random.Generator, models: pl.DataFrame, benchmarks: pl.DataFrame, m: Ints, b: Ints, correlation: float,
    departure: str | None,
) -> tuple[Floats, Bools]:  # fmt: skip
    """Beta scores whose errors are shared within a family on a benchmark, by a normal copula; and which of them are published."""
    capability = models["capability"].to_numpy()
    difficulty, slope, noise, floor = (benchmarks[c].to_numpy() for c in ("difficulty", "slope", "noise_sd", "floor"))
    eta = slope[b] * (capability[m] - difficulty[b])
    if departure == "second dimension":
        eta = eta + benchmarks["loading"].to_numpy()[b] * models["trait"].to_numpy()[m]
    share = -np.expm1(-np.log(2) * np.exp(eta)) if departure == "asymmetric curves" else expit(eta)
    share = np.clip(share, _LEAST_SHARE, 1 - _LEAST_SHARE)
    family = models["family"].rank("dense").to_numpy().astype(np.int64)
    cell = np.unique(family[m] * len(benchmarks) + b, return_inverse=True)[1]
    shared, own = rng.standard_normal(cell.max() + 1)[cell], rng.standard_normal(len(m))
    error = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    if departure == "organisations alike":
        maker = models["organisation"].rank("dense").to_numpy().astype(np.int64)[m] * len(benchmarks) + b
        theirs = rng.standard_normal(maker.max() + 1)[maker]
        error = np.sqrt(_ORGANISATIONS_ALIKE) * theirs + np.sqrt(1 - _ORGANISATIONS_ALIKE) * error
    noise = noise[b]
    if departure == "heavy tails":
        noise = np.where(rng.random(len(m)) < _NOISY, np.minimum(_TIMES * noise, _MOST_NOISE), noise)
    size = 1 / (4 * noise**2) - 1
    drawn = betaincinv(share * size, (1 - share) * size, ndtr(error))
    score = np.asarray(np.round(floor[b] + (1 - floor[b]) * drawn, 4), np.float64)
    if departure == "contamination":
        score = np.where(rng.random(len(m)) < _CONTAMINATED, np.minimum(score + _RAISED, 1.0), score)
    is_there = np.ones(len(m), dtype=bool)
    if departure == "unpublished scores":
        is_there = (share >= _LEAST_TESTED) & ((error > -1) | (rng.random(len(m)) >= _UNPUBLISHED))
    return score, is_there
