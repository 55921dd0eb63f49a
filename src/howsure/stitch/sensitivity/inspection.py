"""A look at the scale by eye: random models with their neighbours and raw scores; and what surprises the machine itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import erfc, ndtri

from howsure.errors import OptionError
from howsure.results import Provenance, Result, plain
from howsure.stitch.model.curves import residual_frame
from howsure.stitch.model.kernels import fit as minimise
from howsure.stitch.model.layout import Floats, Prior, Rows
from howsure.stitch.scale import Scale

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section

__all__ = ["ScaleCheck", "Surprises", "check", "surprises"]

THIRDS = ("upper third", "middle third", "lower third")
_SHARED = 3  # benchmarks that a neighbour should have in common with a model, so that the two can be compared by eye
_FAR = 3.0  # standard deviations
_LISTED = 10
_TOLERANCE, _MOST = 1e-8, 200


@dataclass(frozen=True, eq=False)
class Surprises:
    """What does not fit.

    ``residuals`` has every score with what the scale expects of it, the strangest first: model, benchmark, score, expected, z (in standard deviations of
    such scores), and expected_low and expected_high, between which the scale's level of such scores lies.
    ``supports`` has for every model the score that its place depends on most: model, benchmark, rank, rank_without, capability,
    capability_without that score, the benchmarks being as they are; the model that moves most in rank first.
    ``n_far`` scores lie more than three standard deviations from their expected values; ``n_by_chance`` would if errors were normal.
    """

    residuals: pl.DataFrame
    supports: pl.DataFrame
    n_far: int
    n_by_chance: float

    def words(self, n: int = 3) -> list[str]:
        """The strangest in words."""
        strange = self.residuals.head(n).rows(named=True)
        leaning = self.supports.head(n).filter(pl.col("rank") != pl.col("rank_without")).rows(named=True)
        return [
            f"{self.n_far} of {len(self.residuals):,} scores lie more than {_FAR:g} standard deviations from their expected values; {self.n_by_chance:.1f} are expected by chance.",
            *(
                f"{row['model']} scores {row['score']:.2f} on {row['benchmark']}, where {row['expected']:.2f} is expected ({row['z']:+.1f} standard deviations)."
                for row in strange
            ),
            *(
                f"{row['model']} is {_nth(row['rank'])}; without its {row['score']:.2f} on {row['benchmark']} it would be {_nth(row['rank_without'])}."
                for row in leaning
            ),
        ]


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaleCheck(Result):
    """A sample of models for a person to check, best first, and the scores that the fit predicts badly.

    Parameters
    ----------
    sample : pl.DataFrame
        For each model, the nearest better and worse model with three common benchmarks, the number of common benchmarks, and on how many of them the model scores higher.
    scores : pl.DataFrame
        Their raw and expected scores.
    surprises : Surprises
        Scores far from what is expected.
    level : float
        Coverage of the intervals, between 0 and 1.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "check"

    sample: pl.DataFrame
    scores: pl.DataFrame
    surprises: Surprises
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The sample (main), the raw scores of its models and their neighbours, all residuals, and the score that each model's place depends on most."""
        return {
            "check": self.sample,
            "check_scores": self.scores,
            "check_residuals": self.surprises.residuals,
            "check_supports": self.surprises.supports,
        }

    def as_dict(self) -> dict[str, Any]:
        """What does not fit as sentences, the tables and the provenance as plain JSON."""
        return {"surprises": self.surprises.words(_LISTED), **super().as_dict()}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import check_section

        return [check_section(self)]

    def charts(self) -> dict[str, Chart]:
        """The sample on the scale, the strangest scores, and the models whose rank depends on one of theirs."""
        from howsure.stitch.sensitivity.charts import draw_residuals, draw_sample, draw_supports

        return {
            "check": draw_sample(self),
            "check_residuals": draw_residuals(self),
            "check_supports": draw_supports(self),
        }


def check(scale: Scale, *, n_models: int = 20, seed: int = 0) -> ScaleCheck:
    """Models drawn at random, each beside its neighbours on the scale, with what they really scored; and what does not fit.

    Parameters
    ----------
    scale : Scale
        A finished scale.
    n_models : int
        How many models to draw.
    seed : int
        The same seed gives the same models.
    """
    if n_models < 1:
        raise OptionError(f"n_models is {n_models}; draw at least 1 model.")
    found = surprises(scale)
    names = scale.models.sort("model")["model"].to_numpy()
    drawn = set(np.random.default_rng(seed).choice(names, min(n_models, len(names)), replace=False))
    ranked = scale.models.with_columns(third=_third(len(names)))
    chosen = ranked.filter(pl.col("model").is_in(drawn))
    has = {str(model): part for (model,), part in found.residuals.group_by("model")}
    beside = [_beside(ranked["model"].to_list(), model, has) for model in chosen["model"]]
    sample = chosen.select(
        "model",
        "rank",
        "third",
        "capability",
        "capability_low",
        "capability_high",
        "capability_state",
        "n_benchmarks",
        "date",
        "organisation",
    )
    sample = sample.hstack(pl.DataFrame(beside, schema=_NEIGHBOURS))
    made = Provenance({"n_models": n_models, "fit": plain(scale.provenance.settings)}, scale.provenance.digest, seed)
    return ScaleCheck(sample=sample, scores=_raw(sample, has), surprises=found, level=scale.level, provenance=made)


def surprises(scale: Scale) -> Surprises:
    """Scores far from what is expected, and models whose place depends on one score."""
    found = residual_frame(scale)
    problem, share = scale.problem, _share(scale, found)
    sd = np.sqrt(scale.noise.of(share, problem.benchmark, problem.sampling_variance(share)))
    reach = float(ndtri((1 + scale.level) / 2)) * pl.Series(sd)
    expected = pl.col("expected")
    judged = found.select(
        "model",
        "benchmark",
        "score",
        "expected",
        (pl.col("residual") / pl.Series(sd)).alias("z"),
        (expected - reach).clip(lower_bound=0).alias("expected_low"),
        (expected + reach).clip(upper_bound=1).alias("expected_high"),
    )
    n_far = int((judged["z"].abs() > _FAR).sum())
    by_chance = len(judged) * float(erfc(_FAR / np.sqrt(2)))
    strangest = judged.sort(pl.col("z").abs(), descending=True, maintain_order=True)
    return Surprises(strangest, _supports(scale, found), n_far, by_chance)


def _share(scale: Scale, found: pl.DataFrame) -> Floats:
    """How far up from floor to ceiling each score is expected to be."""
    problem = scale.problem
    floor, ceiling = problem.floors[problem.benchmark], problem.ceilings[problem.benchmark]
    share: Floats = (found["expected"].to_numpy() - floor) / (ceiling - floor)
    return share


def _supports(scale: Scale, scores: pl.DataFrame) -> pl.DataFrame:
    capability, without = scale.estimate.capability, _without_each(scale, _weights(scale, _share(scale, scores)))
    model = scale.problem.model
    order = np.sort(capability)
    # the model itself is among those that are better than it would be, when it falls
    n_better = len(order) - np.searchsorted(order, without, side="right") - (capability[model] > without)
    rank = dict(scale.models.select("model", "rank").iter_rows())
    moves = scores.select("model", "benchmark", "score").with_columns(
        rank=pl.col("model").replace_strict(rank, return_dtype=pl.Int64),
        rank_without=pl.Series(n_better + 1, dtype=pl.Int64),
        capability=pl.Series(capability[model]),
        capability_without=pl.Series(without),
    )
    moved = (pl.col("rank") - pl.col("rank_without")).abs(), (pl.col("capability") - pl.col("capability_without")).abs()
    ranked = moves.sort(*moved, descending=True, maintain_order=True)
    return ranked.unique("model", keep="first", maintain_order=True)


def _without_each(scale: Scale, weights: Floats) -> Floats:
    """For every score the capability of its model without it, with all benchmarks as they are."""
    problem, of = scale.problem, scale.estimate
    rows = problem.rows(1 if of.trait is None else 2)
    others = [np.setdiff1d(np.arange(*rows.start[[m, m + 1]]), i) for i, m in enumerate(problem.model)]
    index = np.concatenate(others).astype(np.int64)
    start = np.cumsum([0, *map(len, others)])
    left = Rows(start, rows.benchmark[index], rows.score[index], rows.floor, rows.span, rows.dimensions)
    theta, prior = _frozen(scale, left)
    return minimise(left, weights[index], theta, prior, _TOLERANCE, _MOST).theta[left.layout.capability]


def _weights(scale: Scale, share: Floats) -> Floats:
    problem = scale.problem
    if scale.is_by_noise:
        return 1 / scale.noise.of(share, problem.benchmark, problem.sampling_variance(share))
    return 1 / (problem.ceilings - problem.floors)[problem.benchmark] ** 2


def _frozen(scale: Scale, rows: Rows) -> tuple[Floats, Prior]:
    """The fit as it is, one model a score, and a prior that holds the benchmarks where they are."""
    problem, of, at = scale.problem, scale.estimate, rows.layout
    theta, mean, precision = np.zeros(at.size), np.zeros(at.size), np.zeros(at.size)
    theta[at.capability], precision[at.capability] = of.capability[problem.model], scale.prior.precision
    theta[at.difficulty], theta[at.log_slope] = of.difficulty, np.log(of.slope)
    means = [scale.prior.mean(None if np.isnat(date) else date.item()) for date in problem.dates]
    mean[at.capability] = np.array(means)[problem.model]
    low, high = np.full(at.size, -np.inf), np.full(at.size, np.inf)
    for part in (at.difficulty, at.log_slope):
        low[part] = high[part] = theta[part]
    if of.trait is not None and of.loading is not None:
        theta[at.trait], precision[at.trait] = of.trait[problem.model], 1.0
        theta[at.loading] = low[at.loading] = high[at.loading] = of.loading
    return theta, Prior(mean, precision, low, high, False)


_NEIGHBOURS = {
    "above": pl.String,
    "shared_above": pl.Int64,
    "more_than_above": pl.Int64,
    "below": pl.String,
    "shared_below": pl.Int64,
    "more_than_below": pl.Int64,
}


def _beside(ranked: list[str], model: str, has: dict[str, pl.DataFrame]) -> dict[str, Any]:
    place, row = ranked.index(model), dict[str, Any]()
    for side, others in (("above", ranked[:place][::-1]), ("below", ranked[place + 1 :])):
        shared = {name: has[model].join(has[name], on="benchmark", suffix="_other") for name in others[:_NEAR]}
        near = next((name for name in shared if len(shared[name]) >= _SHARED), None)
        both = shared[near] if near else None
        row[side] = near
        row[f"shared_{side}"] = None if both is None else len(both)
        row[f"more_than_{side}"] = None if both is None else int((both["score"] > both["score_other"]).sum())
    return row


_NEAR = 15  # ranks away in which a neighbour is sought


def _raw(sample: pl.DataFrame, has: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """The scores of the sampled models and of their neighbours, each said whom it is beside."""
    parts = [
        has[row[role]].select(
            sampled=pl.lit(row["model"]), role=pl.lit(role), model="model", benchmark="benchmark", score="score", expected="expected"
        ).sort("benchmark")
        for row in sample.rows(named=True)
        for role in ("model", "above", "below")
        if row[role]
    ]  # fmt: skip
    return pl.concat(parts)


def _third(n: int) -> pl.Series:
    return pl.Series([THIRDS[3 * place // n] for place in range(n)])


def _nth(rank: int) -> str:
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending}"
