r"""A look at the scale by eye: random models with their neighbours and raw scores; and what does not fit.

A score is compared with what all other scores say of it (leave-one-out prediction of the residual process). Its distance is in standard deviations of such scores,
:math:`t = z \sqrt{(\nu - 1) / (\nu - z^2)}` with the ν degrees of freedom of the benchmark's noise: without this, an outlier hides behind the noise that it adds itself.
A contaminated benchmark, or one that an organisation has tuned for, shows as scores that lie together above what is expected: organisations on benchmarks, and the date on benchmarks, are tested
for this beyond how much they usually differ.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import erfc, stdtr

from howsure.arguments import checked
from howsure.errors import OptionError
from howsure.results import Provenance, Result, plain
from howsure.stats._arrays import t_quantile
from howsure.stats.multiplicity import benjamini_hochberg
from howsure.stitch.model.curves import residual_frame
from howsure.stitch.model.problem import Bools, Floats, Ints, Prior, Problem, Rows
from howsure.stitch.model.residuals import PredictedScores, ResidualProcess, fit_residuals
from howsure.stitch.model.solver import fit as minimise
from howsure.stitch.scale import Scale, solve_again

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section

__all__ = ["ScaleCheck", "Surprises", "check", "surprises"]

THIRDS = ("upper third", "middle third", "lower third")
_SHARED = 3  # benchmarks that a neighbour should have in common with a model, so that the two can be compared by eye
_FAR = 3.0  # standard deviations
_LISTED = 10
_FALSE = 0.05  # false-discovery rate at which a group is named
_FEWEST_OF_A_GROUP, _FEWEST_DATED, _FEWEST_CORRELATED = 3, 8, 8
_FISHER = 1.96
_SATURATED = 0.95
_LEAST_LEFT = 0.5
_TOLERANCE, _MOST = 1e-8, 200


@dataclass(frozen=True, eq=False)
class Surprises:
    """What does not fit.

    ``residuals`` has every score with what all other scores say of it, the least likely first: model, benchmark, score, z (in standard deviations of
    such scores), p (two-sided), q (false-discovery rate, Benjamini–Hochberg), and the prediction with its interval (prediction_low, prediction_high), in which the scale's level of such scores lies.
    ``groups`` has the tests of differential functioning, the least likely first: kind (organisation or date), group, benchmark, n_models, effect (mean distance of the scores from what is expected;
    for the date per year) with its interval, p and q over all tests of the kind.
    ``benchmarks`` says whether scores rise with the capability that the other benchmarks show: benchmark, n_models, correlation with its interval, state (ok, reversed, unrelated,
    too_few) and cause.
    ``supports`` has for every model the score that its place depends on most: model, benchmark, rank, rank_without, capability,
    capability_without that score, the benchmarks being as they are; the model that moves most in rank first.
    ``n_far`` scores lie more than three standard deviations from their expected values; ``n_by_chance`` would if errors were normal.
    """

    residuals: pl.DataFrame
    supports: pl.DataFrame
    groups: pl.DataFrame
    benchmarks: pl.DataFrame
    n_far: int
    n_by_chance: float

    def words(self, n: int = 3) -> list[str]:
        """The strangest in words."""
        strange = self.residuals.head(n).rows(named=True)
        tuned = self.groups.filter(pl.col("q") < _FALSE).head(n).rows(named=True)
        astray = self.benchmarks.filter(pl.col("state").is_in(["reversed", "unrelated"])).rows(named=True)
        leaning = self.supports.head(n).filter(pl.col("rank") != pl.col("rank_without")).rows(named=True)
        return [
            f"{self.n_far} of {len(self.residuals):,} scores lie more than {_FAR:g} standard deviations from their expected values; {self.n_by_chance:.1f} are expected under the model.",
            *(
                f"{row['model']} scores {row['score']:.2f} on {row['benchmark']}, where {row['prediction']:.2f} is expected ({row['z']:+.1f} standard deviations)."
                for row in strange
            ),
            *(_told_group(row) for row in tuned),
            *(_told_benchmark(row) for row in astray),
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
        Their raw scores, beside what the other scores predict.
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
        """The sample (main), the raw scores of its models and their neighbours, all residuals, the score that each model's place depends on most, differential functioning, and benchmarks that order models differently."""
        return {
            "check": self.sample,
            "check_scores": self.scores,
            "check_residuals": self.surprises.residuals,
            "check_supports": self.surprises.supports,
            "check_groups": self.surprises.groups,
            "check_benchmarks": self.surprises.benchmarks,
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


@checked
def check(scale: Scale | str | os.PathLike[str], *, n_models: int = 20, seed: int = 0) -> ScaleCheck:
    """Random models with their neighbours on the scale and their raw scores; and scores that do not fit.

    Parameters
    ----------
    scale : Scale or path
        A finished scale.
    n_models : int
        How many models to draw.
    seed : int
        The same seed gives the same models.
    """
    scale = Scale.loaded(scale)
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
    """Scores far from what is expected, groups of them, benchmarks that order models differently, and models whose place depends on one score."""
    process = fit_residuals(solve_again(scale)[0])
    judged = _judged(scale, process.leave_one_out())
    n_far = int((judged["z"].abs() > _FAR).sum())
    by_chance = len(judged) * float(erfc(_FAR / np.sqrt(2)))
    strangest = judged.sort("p", pl.col("z").abs(), descending=[False, True], maintain_order=True)
    without = _without_each(scale, _weights(scale, _share(scale, residual_frame(scale))))
    return Surprises(
        strangest, _supports(scale, without), _groups(scale, process), _benchmarks(scale, without), n_far, by_chance
    )


def _judged(scale: Scale, found: PredictedScores) -> pl.DataFrame:
    problem, level = scale.problem, scale.level
    plain, degrees = (problem.score - found.mean) / np.sqrt(found.variance), found.degrees
    # the benchmark's noise without this score (externally studentised)
    z = plain * np.sqrt((degrees - 1) / np.maximum(degrees - plain**2, _LEAST_LEFT))
    p = 2 * stdtr(degrees - 1, -np.abs(z))
    reach = np.array([t_quantile(level, df) for df in degrees]) * np.sqrt(found.variance)
    return problem.to_frame().select(
        "model",
        "benchmark",
        "score",
        pl.Series("prediction", np.clip(found.mean, 0, 1)),
        pl.Series("z", z),
        pl.Series("p", p),
        pl.Series("q", benjamini_hochberg(p)),
        pl.Series("prediction_low", np.clip(found.mean - reach, 0, 1)),
        pl.Series("prediction_high", np.clip(found.mean + reach, 0, 1)),
    )


def _groups(scale: Scale, process: ResidualProcess) -> pl.DataFrame:
    """Organisations on benchmarks, and the date on benchmarks: how far their scores lie from what is expected, each kind with its own false-discovery rate."""
    problem, rows, sizes, labels = scale.problem, list[Ints](), list[Floats](), list[tuple[str, str | None, int]]()
    names = np.array([name or "" for name in problem.organisations], dtype=object)[problem.model]
    is_dated = ~np.isnat(problem.dates)[problem.model]
    for b in range(len(problem.benchmarks)):
        here = np.flatnonzero(problem.benchmark == b)
        for name in sorted(set(names[here]) - {""}):
            mine = here[names[here] == name]
            if len(mine) >= _FEWEST_OF_A_GROUP and len(here) - len(mine) >= _FEWEST_OF_A_GROUP:
                labels.append(("organisation", name, b))
                rows.append(mine)
                sizes.append(np.ones(len(mine)))
        dated = here[is_dated[here]]
        years = problem.years[problem.model[dated]]
        if len(dated) >= _FEWEST_DATED and np.ptp(years) > 0:
            labels.append(("date", None, b))
            rows.append(dated)
            sizes.append(years - years.mean())
    effect, se = process.effects(rows, sizes)
    at = np.array([b for *_, b in labels], dtype=np.int64)
    degrees = scale.noise.degrees[at].astype(np.float64)
    reach = np.array([t_quantile(scale.level, df) for df in degrees]) * se
    p = 2 * stdtr(degrees, -np.abs(effect / se))
    kinds = np.array([kind for kind, *_ in labels])
    q = np.ones(len(labels))
    for kind in np.unique(kinds):
        q[kinds == kind] = benjamini_hochberg(p[kinds == kind])
    columns = {
        "kind": kinds.tolist(),
        "group": pl.Series([group for _, group, _ in labels], dtype=pl.String),
        "benchmark": [problem.benchmarks[b] for b in at],
        "n_models": [len(some) for some in rows],
        "effect": effect,
        "effect_low": effect - reach,
        "effect_high": effect + reach,
        "p": p,
        "q": q,
    }
    return pl.DataFrame(columns).sort("p")


def _benchmarks(scale: Scale, without: Floats) -> pl.DataFrame:
    """Whether scores rise with the capability that the model's other scores show, and why not."""
    problem, found = scale.problem, []
    for b, name in enumerate(problem.benchmarks):
        here = problem.benchmark == b
        score, n = problem.score[here], int(here.sum())
        row: dict[str, Any] = {"benchmark": name, "n_models": n, "state": "too_few", "cause": None}
        row |= dict.fromkeys(("correlation", "correlation_low", "correlation_high"))
        if n >= _FEWEST_CORRELATED and np.ptp(score) > 0:
            r = float(np.corrcoef(without[here], score)[0, 1])
            low, high = np.tanh(np.arctanh(np.clip(r, -0.9999, 0.9999)) + np.array([-1, 1]) * _FISHER / np.sqrt(n - 3))
            row |= {"correlation": r, "correlation_low": float(low), "correlation_high": float(high)}
            row["state"] = "reversed" if high < 0 else "ok" if low > 0 else "unrelated"
            if row["state"] != "ok":
                row["cause"] = _cause(row["state"], score, problem, here)
        elif n >= _FEWEST_CORRELATED:
            row |= {"state": "unrelated", "cause": f"all its scores are {score[0]:g}"}
        found.append(row)
    kinds = {"benchmark": pl.String, "n_models": pl.Int64, "correlation": pl.Float64}
    kinds |= dict.fromkeys(("correlation_low", "correlation_high"), pl.Float64) | dict.fromkeys(("state", "cause"), pl.String)  # fmt: skip
    return pl.DataFrame(found, schema=kinds).sort("correlation", nulls_last=True)


def _cause(state: str, score: Floats, problem: Problem, here: Bools) -> str:
    """Why scores on a benchmark may not rise with capability."""
    b = int(problem.benchmark[here][0])
    place = (score - problem.floors[b]) / (problem.ceilings[b] - problem.floors[b])
    if state == "reversed":
        return "if a lower score is better there, give 1 − score; else its scores come from different settings, or it should be excluded"
    if np.mean(place > _SATURATED) > 0.5:
        return "most of its scores are at the ceiling"
    if np.mean(place < 1 - _SATURATED) > 0.5:
        return "most of its scores are at the floor"
    chance = float(np.mean(problem.keep(here).sampling_variance(np.clip(place, 0, 1)))) / float(score.var())
    if chance > 0.5:
        return f"{min(chance, 1):.0%} of the variance of its scores is the sampling error of its items"
    return "it measures something else, or its scores come from different settings"


def _share(scale: Scale, found: pl.DataFrame) -> Floats:
    """How far up from floor to ceiling each score is expected to be."""
    problem = scale.problem
    floor, ceiling = problem.floors[problem.benchmark], problem.ceilings[problem.benchmark]
    share: Floats = (found["expected"].to_numpy() - floor) / (ceiling - floor)
    return share


def _supports(scale: Scale, without: Floats) -> pl.DataFrame:
    capability, model, scores = scale.estimate.capability, scale.problem.model, scale.problem.to_frame()
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
            sampled=pl.lit(row["model"]), role=pl.lit(role), model="model", benchmark="benchmark", score="score", prediction="prediction"
        ).sort("benchmark")
        for row in sample.rows(named=True)
        for role in ("model", "above", "below")
        if row[role]
    ]  # fmt: skip
    return pl.concat(parts)


def _third(n: int) -> pl.Series:
    return pl.Series([THIRDS[3 * place // n] for place in range(n)])


def _told_group(row: Mapping[str, Any]) -> str:
    higher = "higher" if row["effect"] > 0 else "lower"
    sure = f"({row['effect']:+.2f} [{row['effect_low']:+.2f}, {row['effect_high']:+.2f}]"
    if row["kind"] == "organisation":
        return f"The {row['n_models']} models of {row['group']} score {higher} on {row['benchmark']} than their other scores say {sure}, false-discovery rate {row['q']:.1%})."
    return f"Later models score {higher} on {row['benchmark']} than their other scores say {sure} per year, false-discovery rate {row['q']:.1%})."


def _told_benchmark(row: Mapping[str, Any]) -> str:
    if row["correlation"] is None:
        return f"{row['benchmark']} says nothing about capability: {row['cause']}."
    does = "fall" if row["state"] == "reversed" else "do not significantly rise"
    return f"Scores on {row['benchmark']} {does} with the capability that other benchmarks show (r = {row['correlation']:.2f} over {row['n_models']} models): {row['cause']}."


def _nth(rank: int) -> str:
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending}"
