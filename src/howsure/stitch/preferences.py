"""Votes between two models' answers: strengths, ranks, tiers, how few votes the first place depends on, and votes on the capability scale."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from scipy.optimize import minimize
from scipy.special import ndtri

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of, plain
from howsure.stats._arrays import Floats, check_level
from howsure.stats.multiplicity import step_down_max
from howsure.stats.paired_comparisons import Strengths, bradley_terry, simulate_comparisons
from howsure.stats.replicates import probability_greater
from howsure.stitch.model.problem import linked
from howsure.stitch.scale import Scale
from howsure.stitch.summaries import rank_columns
from howsure.tables import Votes

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["Fragility", "JointScale", "VoteRanking", "join_votes", "simulate_votes", "votes"]

_DRAWS = 4000
_RIVALS = 5  # models that might take the first place
_MOST_DROPPED = 0.2  # share of the votes that is dropped at most
_ELO = 400 / math.log(10)
_FEWEST = 5  # models that a relation of votes and capabilities needs


@dataclass(frozen=True)
class Fragility:
    """How few votes the first place depends on.

    ``n_dropped`` of ``n_votes`` votes, the most influential ones, put ``rival`` first when they are dropped; None where no 20 % of the votes do.
    """

    leader: str
    rival: str | None
    n_dropped: int | None
    n_votes: int
    reason: str = ""

    @property
    def sentence(self) -> str:
        """The finding in words."""
        if self.n_dropped is None:
            return (
                self.reason
                or f"No {_MOST_DROPPED:.0%} of the {self.n_votes:,} votes changes the first place ({self.leader})."
            )
        return f"Dropping {self.n_dropped:,} of {self.n_votes:,} votes ({self.n_dropped / self.n_votes:.2%}) puts {self.rival} before {self.leader}."


@dataclass(frozen=True, eq=False, kw_only=True)
class VoteRanking(Result):
    """Models ranked by votes.

    Parameters
    ----------
    models : pl.DataFrame
        One row per model: rank, rank_low, rank_high, tier, model, strength (log odds against the average model) with interval and state, elo (1000 for the average model), comparison_from and comparison_to (bars that do not overlap differ), p_best, n_votes, win_rate (ties
        count one half).
    pairs : pl.DataFrame
        Each model with the next in rank: a, b, difference with interval, p_a_greater, p_adjusted (significance over all pairs).
    effects : pl.DataFrame
        Position, ties and covariates: effect, value with interval.
    fragility : Fragility
        How few votes the first place depends on.
    level : float
        Coverage of the intervals, between 0 and 1.
    n_voters : int
        Voters, the clusters of the intervals.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    joint : JointScale or None
        Votes and benchmarks together, where a scale was given.
    """

    name: ClassVar[str] = "votes"

    models: pl.DataFrame
    pairs: pl.DataFrame
    effects: pl.DataFrame
    fragility: Fragility
    level: float
    n_voters: int
    provenance: Provenance
    joint: JointScale | None = None

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Models (main), neighbours in rank, effects, and votes on the capability scale."""
        tables = {"votes": self.models, "vote_pairs": self.pairs, "vote_effects": self.effects}
        return tables | ({} if self.joint is None else {"joint": self.joint.models})

    def as_dict(self) -> dict[str, Any]:
        """The fragility, the number of voters, the tables and the provenance as plain JSON."""
        relation = {} if self.joint is None else {"relation": plain(self.joint.relation)}
        return {"fragility": plain(self.fragility), "n_voters": self.n_voters, **relation, **super().as_dict()}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import votes_section

        return [votes_section(self)]

    def charts(self) -> dict[str, Chart]:
        """The ranking with comparison bars, and votes against capability where a scale was given."""
        from howsure.stitch.charts import draw_joint, draw_votes

        drawn = {"votes": draw_votes(self)}
        return drawn if self.joint is None else drawn | {"joint": draw_joint(self)}


@dataclass(frozen=True, eq=False)
class JointScale:
    """Capabilities from benchmarks and votes together.

    Attributes
    ----------
    models : pl.DataFrame
        model, capability (benchmarks alone) with interval, strength (votes alone), joint with interval, source (both, benchmarks, votes).
    relation : dict
        Estimates: slope (log odds per unit of capability), intercept, spread (standard deviation of strengths around the line), correlation (of the two, corrected for their errors).
    """

    models: pl.DataFrame
    relation: dict[str, Estimate]

    def line(self, level: float) -> pl.DataFrame:
        """Strengths expected at the capabilities of models that are on both, and between which values this share of models lies there."""
        capability = self.models.filter(source="both")["capability"].to_numpy()
        start, slope, spread = (self.relation[name].value or 0.0 for name in ("intercept", "slope", "spread"))
        x = np.linspace(capability.min(), capability.max(), 20)
        middle, reach = start + slope * x, float(ndtri((1 + level) / 2)) * spread
        ends = {"strength_low": middle - reach, "strength_high": middle + reach}
        return pl.DataFrame({"capability": x, "strength": middle, **ends})


@checked
def votes(
    votes: Source | Votes,
    scale: Scale | str | os.PathLike[str] | None = None,
    *,
    position: bool = True,
    covariates: Sequence[str] = (),
    cluster: Literal["voter", "item", "none"] = "voter",
    both_bad: Literal["tie", "drop"] = "tie",
    level: float = 0.95,
    seed: int = 0,
) -> VoteRanking:
    """Models ranked by votes: Bradley–Terry with ties (Davidson), position and covariates, with voters as clusters.

    Ranks have intervals. A tier begins with the first model that is significantly worse than the head of the tier before, over all pairs of models (Westfall and Young). The fragility drops the
    votes with the largest influence on the difference between the first and each of the next models, and refits.

    Parameters
    ----------
    votes : Votes, frame or path
        One row per vote.
    scale : Scale or path, optional
        A capability scale: votes are then one more source of information about capability (`join_votes`).
    position : bool
        Whether to estimate the advantage of being shown as A.
    covariates : sequence of str
        Columns with differences between A and B, or stems: ``length`` takes ``length_a`` − ``length_b``. They are divided by their standard deviation; strengths are those at equal
        covariates.
    cluster : {"voter", "item", "none"}
        Votes that are not independent.
    both_bad : {"tie", "drop"}
        What a vote for neither is.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        The same seed gives the same numbers.
    """
    scale = None if scale is None else Scale.loaded(scale)
    check_level(level)
    table = Votes.of(votes)
    if cluster not in ("voter", "item", "none"):
        raise OptionError.unknown("cluster", cluster, ("voter", "item", "none"))
    if both_bad not in ("tie", "drop"):
        raise OptionError.unknown("treatment of both_bad", both_bad, ("tie", "drop"))
    frame, notes = table.frame, list(table.notes)
    n_bad = int((frame["outcome"] == "both_bad").sum())
    if n_bad:
        told = "are taken as ties" if both_bad == "tie" else "are excluded"
        notes.append(f"{n_bad:,} votes that both answers are bad {told}.")
        frame = (
            frame.with_columns(pl.col("outcome").replace("both_bad", "tie"))
            if both_bad == "tie"
            else frame.filter(pl.col("outcome") != "both_bad")
        )
    own = frame.filter(pl.col("a") == pl.col("b"))
    if len(own):
        notes.append(f"{len(own):,} votes compare a model with itself and are excluded.")
        frame = frame.filter(pl.col("a") != pl.col("b"))
    if frame.is_empty():
        raise InputError("No vote compares two models. A ranking needs votes between different ones.")
    given = {name: _covariate(frame, name) for name in covariates}
    labels = None if cluster == "none" else frame[cluster].to_list()
    found = bradley_terry(
        frame["a"].to_list(), frame["b"].to_list(), frame["outcome"].to_list(),
        clusters=labels, position=position, covariates=given, level=level,
    )  # fmt: skip
    notes += [
        f"{name} has no strength: {found.strength(name).reason}."
        for name, is_ok in zip(found.names, found.is_ok, strict=True)
        if not is_ok
    ]
    settings = {
        "position": position,
        "covariates": list(covariates),
        "cluster": cluster,
        "both_bad": both_bad,
        "level": level,
    }
    if scale is not None:
        settings["scale"] = scale.provenance.settings
    drawn = found.draws(_DRAWS, np.random.default_rng(seed))
    models, adjusted = _models(frame, found, drawn, level)
    effects = [{"effect": name, **columns_of(value=one), "reason": one.reason} for name, one in found.effects.items()]
    return VoteRanking(
        models=models,
        pairs=_pairs(models, found, drawn, adjusted),
        effects=pl.DataFrame(effects, schema_overrides={"reason": pl.String}, infer_schema_length=None)
        if effects
        else pl.DataFrame(schema={"effect": pl.String, "value": pl.Float64}),
        fragility=_fragility(found),
        level=level,
        n_voters=frame["voter"].n_unique(),
        provenance=Provenance(settings, table.digest, seed, tuple(notes)),
        joint=None if scale is None else join_votes(scale, found, level=level, seed=seed),
    )


def join_votes(scale: Scale, strengths: Strengths, *, level: float = 0.95, seed: int = 0) -> JointScale:
    r"""Capabilities from benchmarks and votes together.

    .. math:: \theta_m = a + \lambda\, C_m + \delta_m, \qquad \delta_m \sim N(0, \tau^2)

    The strengths in votes θ are a line in capability C, with a spread τ: what voters like is not only capability. Both are known with errors, whose covariances come from the refits of the scale and
    from the voters. a, λ and τ are estimated by maximum likelihood, and their uncertainty is included. A capability from benchmarks is then updated by its votes: the smaller τ, the more
    votes say. A model without benchmarks gets the capability that its votes suggest. Intervals are in the unit of the scale and do not include that the unit itself is an estimate:
    refits are linked by the mean and the spread of the models that are on both.

    Parameters
    ----------
    scale : Scale
        With replicates.
    strengths : Strengths
        Of `howsure.stats.paired_comparisons.bradley_terry`; models are matched by name.
    level : float
        Coverage of the intervals.
    seed : int
        The same seed gives the same numbers.

    Raises
    ------
    InputError
        If fewer than 5 models are on both, or the scale has no replicates.
    """
    drawn = scale.usable_replicates
    if drawn is None:
        raise InputError(f"Votes cannot be joined: {scale.without_replicates}.")
    place = {name: i for i, name in enumerate(scale.problem.models)}
    at = {name: i for i, name in enumerate(strengths.names) if strengths.is_ok[i]}
    both = [name for name in at if name in place]
    if len(both) < _FEWEST:
        raise InputError(
            f"{len(both)} models are both on the scale and in the votes; {_FEWEST} are needed. Names must be equal, such as {scale.problem.models[0]!r}."
        )
    ours, theirs = [place[name] for name in both], [at[name] for name in both]
    value = scale.estimate.capability
    # a stretch of the whole scale and a smaller slope of the votes are the same: refits are put in the unit of the estimate
    filled = np.where(np.isnan(drawn.capability), value, drawn.capability)
    spread = np.cov(linked(filled, filled[:, ours], value[ours]).T)
    c, theta = value[ours], strengths.values[theirs]
    c_error, t_error = spread[np.ix_(ours, ours)], strengths.covariance[np.ix_(theirs, theirs)]
    best, draws = _vote_line(c, theta, c_error, t_error, seed)

    known = list(scale.problem.models)
    only = [name for name in at if name not in place]
    names = [*known, *only]
    wide = float(value.var() + np.diag(spread).mean())
    prior_mean = np.concatenate([value, np.full(len(only), value.mean())])
    prior = np.diag(np.concatenate([np.zeros(len(known)), np.full(len(only), wide)]))
    prior[: len(known), : len(known)] = spread
    seen = list(at.values())
    middle, sd = _updated(
        prior_mean,
        prior,
        [names.index(name) for name in at],
        strengths.values[seen],
        strengths.covariance[np.ix_(seen, seen)],
        draws,
    )
    reach = float(ndtri((1 + level) / 2)) * sd
    frame = pl.DataFrame(
        {
            "model": names,
            "joint": middle,
            "joint_low": middle - reach,
            "joint_high": middle + reach,
            "strength": [float(strengths.values[at[name]]) if name in at else None for name in names],
            "source": ["both" if name in at else "benchmarks" for name in known] + ["votes"] * len(only),
        }
    ).join(scale.models.select("model", "capability", "capability_low", "capability_high"), on="model", how="left")
    low, high = (1 - level) / 2, (1 + level) / 2
    tau, correlation = np.exp(draws[:, 2]), _correlations(draws, c, c_error)
    points = {
        "slope": (best[1], draws[:, 1]),
        "intercept": (best[0], draws[:, 0]),
        "spread": (float(np.exp(best[2])), tau),
        "correlation": (float(_correlations(best[None], c, c_error)[0]), correlation),
    }
    relation = {
        name: Estimate(
            float(point),
            min(float(np.quantile(some, low)), float(point)),
            max(float(np.quantile(some, high)), float(point)),
            level,
        )
        for name, (point, some) in points.items()
    }
    columns = (
        "model",
        "joint",
        "joint_low",
        "joint_high",
        "capability",
        "capability_low",
        "capability_high",
        "strength",
        "source",
    )
    return JointScale(frame.select(columns).sort("joint", "model", descending=[True, False]), relation)


def _updated(
    mean: Floats, prior: Floats, voted: list[int], theta: Floats, error: Floats, draws: Floats
) -> tuple[Floats, Floats]:
    """Capabilities and their standard deviations given the votes, over draws of the relation."""
    middles, variances = [], []
    for start, slope, log_spread in draws:
        total = slope**2 * prior[np.ix_(voted, voted)] + error + np.exp(2 * log_spread) * np.eye(len(voted))
        gain = np.linalg.solve(total, slope * prior[voted]).T
        middles.append(mean + gain @ (theta - start - slope * mean[voted]))
        variances.append(np.diag(prior) - np.einsum("ij,ij->i", gain, slope * prior[:, voted]))
    return np.mean(middles, axis=0), np.sqrt(np.mean(variances, axis=0) + np.var(middles, axis=0))


@checked
def simulate_votes(
    strengths: Mapping[str, float],
    n_votes: int = 1000,
    *,
    n_voters: int = 50,
    tie: float | None = -0.5,
    position: float = 0.2,
    length: float = 0.3,
    voter_sd: float = 0.3,
    seed: int = 0,
) -> Votes:
    """Votes between models of given strengths.

    Parameters
    ----------
    strengths : mapping of str to float
        True strengths in log odds.
    n_votes, n_voters : int
        Votes, and voters who give them.
    tie : float, optional
        log ν of Davidson's model; None for no ties.
    position : float
        Advantage of A.
    length : float
        Effect of one standard deviation of the difference of log lengths (columns length_a, length_b).
    voter_sd : float
        Standard deviation of a voter's own strengths around the true ones.
    seed : int
        The same seed gives the same votes.
    """
    names, rng = list(strengths), np.random.default_rng(seed)
    options: dict[str, Any] = {
        "tie": tie,
        "position": position,
        "covariate": length,
        "n_voters": n_voters,
        "voter_sd": voter_sd,
    }
    drawn = simulate_comparisons(list(strengths.values()), n_votes, rng, **options)
    usual = rng.normal(6, 0.5, n_votes)
    return Votes(
        pl.DataFrame(
            {
                "voter": [f"voter {i + 1}" for i in drawn.voter],
                "item": [f"prompt {i + 1}" for i in rng.integers(max(n_votes // 4, 1), size=n_votes)],
                "a": [names[i] for i in drawn.a],
                "b": [names[i] for i in drawn.b],
                "outcome": drawn.outcome,
                "length_a": (usual + drawn.covariate / 2).round(3),
                "length_b": (usual - drawn.covariate / 2).round(3),
            }
        )
    )


def _covariate(frame: pl.DataFrame, name: str) -> Floats:
    """A column of differences, or the difference of its two halves, divided by its standard deviation."""
    if name in frame.columns:
        values = frame[name]
    elif {f"{name}_a", f"{name}_b"} <= set(frame.columns):
        values = frame[f"{name}_a"].cast(pl.Float64, strict=False) - frame[f"{name}_b"].cast(pl.Float64, strict=False)
    else:
        known = [one for one in frame.columns if one not in {column.name for column in Votes.columns}]
        raise OptionError.unknown(
            "covariate", name, [*known, *sorted({one[:-2] for one in known if one.endswith("_a")})]
        )
    numbers = values.cast(pl.Float64, strict=False)
    if numbers.null_count():
        raise InputError(
            f"{name}: {numbers.null_count():,} of {len(numbers):,} votes have no number there. Fill them in, or exclude these votes."
        )
    found = numbers.to_numpy()
    sd = float(found.std())
    if not sd:
        raise InputError(f"{name} never varies, so it explains nothing. Remove it.")
    return np.asarray(found / sd)


def _models(
    frame: pl.DataFrame, found: Strengths, drawn: Floats, level: float
) -> tuple[pl.DataFrame, dict[tuple[int, int], float]]:
    """The ranking, and adjusted p-values of all pairs of models with a strength."""
    estimates = [found.strength(name) for name in found.names]
    beyond = np.array(
        [
            {"above_range": np.inf, "below_range": -np.inf}.get(e.state, np.nan if e.value is None else e.value)
            for e in estimates
        ]
    )
    is_known = ~np.isnan(beyond)
    ranks = rank_columns(np.where(is_known, beyond, -np.inf), drawn, level)
    low, high = found.comparison_intervals()
    n_votes, points = np.zeros(len(found.names)), np.zeros(len(found.names))
    place = {name: i for i, name in enumerate(found.names)}
    for side, win in (("a", "a"), ("b", "b")):
        scored = pl.when(pl.col("outcome") == win).then(1.0).when(pl.col("outcome") == "tie").then(0.5).otherwise(0.0)
        for name, n, total in frame.group_by(side).agg(pl.len(), scored.sum().alias("points")).rows():
            n_votes[place[name]] += n
            points[place[name]] += total
    rows = [
        {
            "model": name,
            **columns_of(strength=estimate),
            "elo": None if estimate.value is None else 1000 + _ELO * estimate.value,
            "n_votes": int(n_votes[i]),
            "win_rate": float(points[i] / n_votes[i]),
        }
        for i, (name, estimate) in enumerate(zip(found.names, estimates, strict=True))
    ]
    table = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.Series("comparison_from", low).fill_nan(None),
        pl.Series("comparison_to", high).fill_nan(None),
        *(
            pl.Series(name, np.where(is_known, values, np.nan), dtype=pl.Float64).fill_nan(None)
            for name, values in ranks.items()
        ),
    )
    adjusted = _adjusted(found)
    tiers = _tiers(found, beyond, adjusted)
    table = table.with_columns(pl.Series("tier", tiers, dtype=pl.Int64), pl.col("rank").cast(pl.Int64))
    order = [
        *(
            "rank",
            "rank_low",
            "rank_high",
            "tier",
            "model",
            "strength",
            "strength_low",
            "strength_high",
            "strength_state",
        ),
        *("elo", "comparison_from", "comparison_to", "p_best", "n_votes", "win_rate"),
    ]
    return table.select(order).sort("rank", "model", nulls_last=True), adjusted


def _adjusted(found: Strengths) -> dict[tuple[int, int], float]:
    """P-values of all pairs, adjusted by the maximum of their statistics under no difference at all."""
    ok = np.flatnonzero(found.is_ok)
    if len(ok) < 2 or not np.isfinite(found.covariance[np.ix_(ok, ok)]).all():
        return {}
    first, second = np.triu_indices(len(ok), 1)
    covariance = found.covariance[np.ix_(ok, ok)]
    se = np.sqrt(
        np.maximum(covariance[first, first] + covariance[second, second] - 2 * covariance[first, second], 1e-300)
    )
    statistics = (found.values[ok][first] - found.values[ok][second]) / se
    p = step_down_max(statistics, found.null_statistics(2000, np.random.default_rng(0)).astype(np.float32))
    return {(int(ok[i]), int(ok[j])): float(one) for i, j, one in zip(first, second, p, strict=True)}


def _tiers(found: Strengths, beyond: Floats, adjusted: Mapping[tuple[int, int], float]) -> list[int | None]:
    """1 for the first tier; a model that is significantly worse than a tier's head begins the next."""
    tiers: list[int | None] = [None] * len(beyond)
    tier, head = 0, -1
    for i in np.argsort(-np.where(np.isnan(beyond), -np.inf, beyond), kind="stable").tolist():
        if np.isnan(beyond[i]):
            continue
        if head < 0:
            tier, head = 1, i
        elif math.isinf(beyond[i]) or math.isinf(beyond[head]):
            is_same = beyond[i] == beyond[head]
            tier, head = (tier, head) if is_same else (tier + 1, i)
        elif adjusted.get((min(i, head), max(i, head)), 1.0) <= 1 - found.level + 1e-12:
            tier, head = tier + 1, i
        tiers[i] = tier
    return tiers


def _pairs(
    models: pl.DataFrame, found: Strengths, drawn: Floats, adjusted: Mapping[tuple[int, int], float]
) -> pl.DataFrame:
    """Each model with the next in rank."""
    names = models.drop_nulls("rank")["model"].to_list()
    place = {name: i for i, name in enumerate(found.names)}
    rows = []
    for a, b in itertools.pairwise(names):
        i, j = place[a], place[b]
        p = float(probability_greater(drawn[:, i], drawn[:, j]))
        rows.append(
            {
                "a": a,
                "b": b,
                **columns_of(difference=found.difference(a, b)),
                "p_a_greater": None if math.isnan(p) else p,
                "p_adjusted": adjusted.get((min(i, j), max(i, j))),
            }
        )
    schema = {
        "a": pl.String,
        "b": pl.String,
        "difference": pl.Float64,
        "p_a_greater": pl.Float64,
        "p_adjusted": pl.Float64,
    }
    return (
        pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None) if rows else pl.DataFrame(schema=schema)
    )


def _fragility(found: Strengths) -> Fragility:
    """The fewest votes, in the order of their influence, whose removal changes the first place."""
    order = [i for i in np.argsort(-np.where(np.isnan(found.values), -np.inf, found.values)).tolist() if found.is_ok[i]]
    above = [name for name, state in zip(found.names, found.states, strict=True) if state == "above_range"]
    if above or len(order) < 2:
        leader = above[0] if above else (found.names[order[0]] if order else found.names[0])
        return Fragility(
            leader, None, None, found.n, "The first place has no finite strength, so its fragility is not defined."
        )
    leader = order[0]
    best: tuple[int, int] | None = None
    for rival in order[1 : 1 + _RIVALS]:
        influence = found.influence(found.names[leader], found.names[rival])
        worst = np.argsort(influence)
        most = min(int(_MOST_DROPPED * found.n), int((influence < 0).sum()), found.n - 1)
        if best is not None:
            most = min(most, best[0] - 1)
        if most < 1 or not _overtakes(found, leader, rival, worst[:most]):
            continue
        low, high = 0, most
        # the linear guess first: it halves most of the search
        guess = (
            int(np.searchsorted(np.cumsum(-influence[worst[:most]]), found.values[leader] - found.values[rival])) + 1
        )
        while high - low > 1:
            middle = guess if low < guess < high else (low + high) // 2
            guess = -1
            low, high = (low, middle) if _overtakes(found, leader, rival, worst[:middle]) else (middle, high)
        best = (high, rival)
    if best is None:
        return Fragility(found.names[leader], None, None, found.n)
    return Fragility(found.names[leader], found.names[best[1]], best[0], found.n)


def _overtakes(found: Strengths, leader: int, rival: int, dropped: Any) -> bool:
    weights = np.ones(found.n)
    weights[dropped] = 0
    refit = found.replicates(weights)[0]
    return bool(refit[rival] > refit[leader])


def _vote_line(c: Floats, theta: Floats, c_error: Floats, t_error: Floats, seed: int) -> tuple[Floats, Floats]:
    """Intercept, slope and log spread of the strengths in votes as a line in capability: the best ones, and 200 draws."""

    def loss(p: Floats) -> float:
        root = np.linalg.cholesky(p[1] ** 2 * c_error + t_error + np.exp(2 * p[2]) * np.eye(len(c)))
        left = np.linalg.solve(root, theta - p[0] - p[1] * c)
        # the scale of τ is unknown: a weak prior keeps it off 0
        return float(np.log(np.diag(root)).sum() + left @ left / 2 + 0.5 * (p[2] - np.log(theta.std() + 1e-6)) ** 2 / 4)

    slope = float(np.polyfit(c, theta, 1)[0])
    start = np.array([theta.mean() - slope * c.mean(), slope, np.log(theta.std() / 2 + 1e-6)])
    best = minimize(loss, start, method="BFGS").x
    rng = np.random.default_rng(seed)
    # its curvature by finite differences, so that the draws do not depend on how BFGS went
    curvature = _curvature(loss, best)
    values, vectors = np.linalg.eigh(curvature)
    draws = best + (rng.standard_normal((200, 3)) / np.sqrt(np.maximum(values, 1e-3))) @ vectors.T
    return best, draws


def _curvature(loss: Any, at: Floats, step: float = 1e-3) -> Floats:
    n = len(at)
    found = np.empty((n, n))
    unit = np.eye(n) * step
    for i in range(n):
        for j in range(n):
            found[i, j] = (
                loss(at + unit[i] + unit[j])
                - loss(at + unit[i] - unit[j])
                - loss(at - unit[i] + unit[j])
                + loss(at - unit[i] - unit[j])
            ) / (4 * step**2)
    return (found + found.T) / 2


def _correlations(parameters: Floats, c: Floats, c_error: Floats) -> Floats:
    """Of true strengths and true capabilities."""
    variance = float(c.var(ddof=1) + np.diag(c_error).mean())
    explained = parameters[:, 1] * math.sqrt(variance)
    return np.asarray(explained / np.sqrt(explained**2 + np.exp(2 * parameters[:, 2])))
