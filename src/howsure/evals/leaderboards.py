"""Tiers and rank intervals instead of ranks: which models can be told apart, all pairs tested together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate, stated
from howsure.evals.item_means import ALL, Items, Ways, default_cluster
from howsure.evals.pairs import batches, tested_pairs
from howsure.evals.planning import items_to_decide
from howsure.evals.variants import averaged_factors, one_scorer
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Bools, Floats, Ints, normal_quantile
from howsure.stats.means import score_bounds
from howsure.stats.multiplicity import step_down_max
from howsure.tables import Attempts, Scores

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["Leaderboard", "Place", "Separation", "items_behind", "leaderboard"]

_BLOCK = 20_000_000  # numbers held in memory at a time
_MOST_DECIMALS = 6


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where one model stands.

    ``rank`` has the simultaneous interval (all models' true ranks are inside with the stated probability), ``rank_marginal`` the
    narrower one for a reader who looks at this model only.
    """

    subject: str
    tier: int
    mean: Estimate
    rank: Estimate
    rank_marginal: Estimate
    n_items: int


@dataclass(frozen=True, kw_only=True)
class Separation:
    """Two models, a with the better mean, and whether all tests together tell them apart."""

    a: str
    b: str
    difference: Estimate
    p_adjusted: float | None
    is_separated: bool
    items_needed: Estimate
    n_items: int


@dataclass(frozen=True, kw_only=True)
class Leaderboard(Result):
    """Models in tiers.

    Table ``leaderboard``: one row per model, the best mean first.

    =================  ==================================================================================================
    subject            the model
    tier               1: no model is significantly better; 2: a model of tier 1 is significantly better; and so on
    mean               mean of item means, or the published score, with its interval and state
    rank               rank by the mean, with the simultaneous interval of the true rank
    rank_marginal      the same with the interval for this model alone, which is narrower
    n_items            number of items
    =================  ==================================================================================================

    Table ``leaderboard_pairs``: one row per pair, a with the higher mean.

    =================  ==================================================================================================
    a, b               the two models
    difference         mean of a minus mean of b, with its own interval (not corrected for the number of pairs)
    p_adjusted         p-value, corrected for all pairs together
    is_separated       whether p_adjusted is below 1 − level
    items_needed       items that separate these two with the planned power, if the true difference is as observed; the interval
                       comes from the difference's, and is open where that contains 0
    n_items            number of items that both tried
    =================  ==================================================================================================

    Parameters
    ----------
    places : tuple[Place, ...]
        One entry per model.
    pairs : tuple[Separation, ...]
        One entry per pair of models.
    estimand : str
        What the means are means of.
    method : str
        How the ranks and tests were computed.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "leaderboard"
    places: tuple[Place, ...]
    pairs: tuple[Separation, ...]
    estimand: str
    method: str
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables ``leaderboard`` and ``leaderboard_pairs``."""
        places = [
            {"subject": p.subject, "tier": p.tier}
            | columns_of(mean=p.mean, rank=p.rank, rank_marginal=p.rank_marginal)
            | {"n_items": p.n_items}
            for p in self.places
        ]
        pairs = [
            {"a": p.a, "b": p.b}
            | columns_of(difference=p.difference)
            | {"p_adjusted": p.p_adjusted, "is_separated": p.is_separated}
            | columns_of(items_needed=p.items_needed)
            | {"n_items": p.n_items}
            for p in self.pairs
        ]
        return {
            "leaderboard": pl.DataFrame(places, infer_schema_length=None),
            "leaderboard_pairs": pl.DataFrame(pairs, infer_schema_length=None),
        }

    @property
    def first_from_second(self) -> Separation:
        """The pair of the two best means."""
        first, second = (place.subject for place in self.places[:2])
        return next(pair for pair in self.pairs if {pair.a, pair.b} == {first, second})

    @property
    def separation(self) -> str:
        """Whether the two highest means are separated, by which p-value, and the items that would separate them, in one sentence."""
        first, power = self.first_from_second, self.provenance.settings["power"]
        if first.p_adjusted is None:
            return f"{first.a} and {first.b}, first and second, could not be tested: {first.items_needed.reason}."
        needed = first.items_needed
        ends = ["∞" if end is None else f"{end:,.0f}" for end in (needed.low, needed.high)]
        items = needed if needed.value is None else f"{needed.value:,.0f} [{', '.join(ends)}]"
        return (
            f"{first.a} and {first.b}, first and second, are {'' if first.is_separated else 'not '}separated "
            f"({stated('p', first.p_adjusted)}, corrected for all pairs); items needed for {power:.0%} power: {items}."
        )

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.evals.sections import leaderboard_section

        return [leaderboard_section(self)]

    def charts(self) -> dict[str, Chart]:
        """``leaderboard``: means, one colour per tier; ``leaderboard_ranks``: rank intervals."""
        from howsure.evals.charts import draw_leaderboard, draw_ranks

        return {"leaderboard": draw_leaderboard(self), "leaderboard_ranks": draw_ranks(self)}


@dataclass(frozen=True)
class _Board:
    """What both kinds of input are brought to. ``pairs`` are positions; statistics and draws have one entry per pair. ``direction`` is −1 where lower is better.
    ``p_alone`` is the p-value of the only pair of two models: nothing is to be corrected.
    """

    names: Sequence[str]
    means: Sequence[Estimate]
    n_items: Sequence[int]
    pairs: Sequence[tuple[int, int]]
    differences: Sequence[Estimate]
    n_shared: Sequence[int]
    variance_per_item: Sequence[float]
    statistics: Floats
    draws: Floats
    estimand: str
    method: str
    notes: Sequence[str] = field(default_factory=list)
    direction: int = 1
    p_alone: float | None = None


@checked
def leaderboard(
    table: Attempts | Scores | Source,
    *,
    benchmark: str | None = None,
    n_items: int | None = None,
    cluster: str | None = None,
    level: float = 0.95,
    power: float = 0.8,
    n_replicates: int = 2000,
    seed: int = 0,
) -> Leaderboard:
    r"""Models in tiers, with intervals of their ranks and the items that would separate neighbours.

    All pairs are tested together. From attempts at one eval, the test of a pair flips the signs of whole clusters' differences, the same
    flips for all pairs; over several evals it is the t test of `compare`, which allows for what small evals do not show. The largest
    statistic of all pairs corrects for their number (`howsure.stats.step_down_max`). So
    the probability of any wrong order is at most 1 − ``level``. Then, at that level:

    - **Tier 1** are the models that no model is significantly better than: it contains the truly best model. Tier 2 are those of
      the rest that no model of the rest is significantly better than, and so on: no two models of one tier are separated.
    - **The rank interval** of a model runs from 1 + the number of models significantly better to M − the number significantly
      worse. The simultaneous intervals contain all true ranks together; the marginal one tests only the pairs with this model.
      Mogstad, Romano, Shaikh and Wilhelm (2024), *Inference for ranks*.

    From published scores the items of two models cannot be paired: the errors are taken as independent, which is cautious where
    models fail at the same items.

    Parameters
    ----------
    table : Attempts, Scores, frame or path
        One row per attempt, or published scores with one row per model and benchmark.
    benchmark : str, optional
        Scores: this benchmark only. Without it, the mean over the benchmarks that all models have, each counting once.
    n_items : int, optional
        Scores: number of items of the benchmark, where the table has neither ``n_items`` nor ``se``. Without it, the smallest
        number that gives all the rounded percentages (`items_behind`).
    cluster : {"task", "family", "domain"}, optional
        Attempts: items of one cluster are not independent: by default those of one family, where there are families, else each task is its own.
    level : float, default 0.95
        Coverage of the intervals; 1 − level is the probability of any wrong order.
    power : float, default 0.8
        Probability with which ``items_needed`` items detect the observed difference.
    n_replicates : int, default 2000
        Random sign flips (attempts) or draws of the scores' errors (scores).
    seed : int, default 0
        The same seed gives the same numbers.

    Returns
    -------
    Leaderboard
        Tables ``leaderboard`` and ``leaderboard_pairs``.

    Raises
    ------
    InputError
        If there are fewer than two models, or no eval or benchmark that all of them have.
    OptionError
        If the benchmark does not exist, or an option does not fit the kind of table.

    Examples
    --------
    >>> import howsure
    >>> howsure.leaderboard("examples/evals/attempts.csv", cluster="family").places[0].tier  # doctest: +SKIP
    1
    """
    if n_replicates < 100:
        raise OptionError(f"n_replicates {n_replicates} are too few for a p-value of 0.05. Give at least 100.")
    table = _table_of(table)
    if isinstance(table, Scores):
        boards = [_of_scores(table, benchmark, n_items, level, n_replicates, seed)]
    elif benchmark is not None or n_items is not None:
        raise OptionError("benchmark and n_items are for published scores; these are attempts.")
    else:
        one_scorer(table)
        cluster = default_cluster(table, cluster)
        boards = _of_attempts(table, cluster, level, n_replicates, seed)
    board = boards[0]  # the main policy; a difference is significant if it is so in all of them
    tested, n_models = np.isfinite(board.statistics), len(board.names)
    adjusted = _adjusted(boards, tested)
    is_better = np.zeros((n_models, n_models), dtype=np.bool_)  # [i, j]: i is significantly better than j
    for (i, j), p, statistic in zip(board.pairs, adjusted, board.statistics, strict=True):
        if p < 1 - level:
            is_better[(i, j) if board.direction * statistic > 0 else (j, i)] = True
    tiers, has_cycle = _tiers(is_better)
    values = np.array([-np.inf if mean.value is None else board.direction * mean.value for mean in board.means])
    order = sorted(range(n_models), key=lambda i: (-values[i], board.names[i]))
    ranks = [1 + int((values > value).sum()) for value in values]
    places = tuple(
        Place(
            subject=board.names[i],
            tier=tiers[i],
            mean=board.means[i],
            rank=_rank(ranks[i], is_better[:, i].sum(), is_better[i].sum(), n_models, level),
            rank_marginal=_marginal_rank(boards, tested, i, ranks[i], level),
            n_items=board.n_items[i],
        )
        for i in order
    )
    pairs, n_open = [], int((adjusted[tested] >= 1 - level).sum())
    for index, (i, j) in enumerate(board.pairs):
        is_swapped = order.index(i) > order.index(j)
        difference = -board.differences[index] if is_swapped else board.differences[index]
        a, b = (board.names[j], board.names[i]) if is_swapped else (board.names[i], board.names[j])
        pair = Separation(
            a=a,
            b=b,
            difference=difference,
            p_adjusted=float(adjusted[index]) if tested[index] else None,
            is_separated=bool(adjusted[index] < 1 - level),
            items_needed=items_to_decide(
                difference, board.variance_per_item[index], n_open=n_open, level=level, power=power
            ),
            n_items=board.n_shared[index],
        )
        pairs.append(((order.index(i), order.index(j))[:: -1 if is_swapped else 1], pair))
    notes = list(board.notes)
    if len(boards) > 1 and (
        n_turned := int(((_adjusted(boards[:1], tested) < 1 - level) & (adjusted >= 1 - level)).sum())
    ):
        pairs_are = "1 pair is" if n_turned == 1 else f"{n_turned:,} pairs are"
        notes.append(
            f"{pairs_are} separated only if attempts without a score, or items that one model lacks, do not count; they count as not separated. "
            "Run them again, or decide what they count as with count."
        )
    if not tested.all():
        few = f"{int((~tested).sum()):,} of {len(tested):,} pairs"
        notes.append(f"{few} share fewer than 2 items or clusters, and are not tested: they count as not separated.")
    if has_cycle:
        notes.append("Pairs on different items contradict each other, so that some models share a tier.")
    settings: dict[str, Any] = {"cluster": cluster, "level": level, "power": power, "n_replicates": n_replicates}
    if isinstance(table, Scores):
        settings |= {"benchmark": benchmark or "default", "n_items": n_items or "default"}
        settings.pop("cluster")
    return Leaderboard(
        places=places,
        pairs=tuple(pair for _, pair in sorted(pairs, key=lambda one: one[0])),
        estimand=board.estimand,
        method=board.method,
        provenance=Provenance.of(table, seed=seed, notes=notes, **settings),
    )


def items_behind(scores: Sequence[float]) -> tuple[int, int]:
    """The smallest number of items that gives all of these rounded scores, and how many numbers up to the finest do.

    A score with k decimals in per cent is a count of successes divided by n, rounded. Every n above 10^(k + 2) gives any score,
    so this is a lower limit of n; intervals made with it are too wide rather than too narrow. It is wrong where a score is a mean
    over repeats or of partial credit.

    Parameters
    ----------
    scores : sequence of float
        Scores of several models on one benchmark, 0–1.

    Returns
    -------
    (int, int)
        The smallest number of items, and the number of candidates from it to 10^(k + 2).

    Examples
    --------
    >>> items_behind([0.433, 0.267, 0.967])
    (30, 261)
    """
    percent = [f"{100 * score:.{_MOST_DECIMALS}f}".rstrip("0") for score in scores]
    decimals = max(len(text.partition(".")[2]) for text in percent)
    finest = 10 ** min(decimals + 2, 6)
    n = np.arange(1, finest + 1)
    fits = np.ones(len(n), dtype=np.bool_)
    for score in scores:
        fits &= np.abs(np.round(score * n) / n - score) <= 0.5 * 10.0 ** -(decimals + 2) * (1 + 1e-9)
    return int(n[fits.argmax()]) if fits.any() else finest, max(int(fits.sum()), 1)


def _table_of(table: Attempts | Scores | Source) -> Attempts | Scores:
    if isinstance(table, Attempts | Scores):
        return table
    from howsure.sources import read

    found = read(table)
    if not isinstance(found, Attempts | Scores):
        raise InputError(f"A leaderboard needs attempts or scores; these are {type(found).__name__.lower()}.")
    return found


def _of_attempts(attempts: Attempts, cluster: str, level: float, n_replicates: int, seed: int) -> list[_Board]:
    """The board under each defensible policy for attempts without a score, the main one first; all have its models."""
    if cluster == "none":
        raise OptionError("cluster 'none' has no pairs of items to flip. Choose task, family or domain.")
    ways = Ways(attempts, ALL, cluster=cluster, factors=averaged_factors(attempts))
    (main,) = ways.main
    names = _enough(main.subjects)
    if main.frame.is_empty():
        raise InputError(f"No eval was tried by all {len(names)} models. Remove models or evals.")
    boards = [_board(items, names, level, n_replicates, seed) for items in ways.everywhere(main)]
    for index, (i, j) in enumerate(boards[0].pairs):
        if ways.is_open(main, names[i], names[j]):
            boards[0].statistics[index] = np.nan
    return boards


def _board(items: Items, names: Sequence[str], level: float, n_replicates: int, seed: int) -> _Board:
    pairs = list(itertools.combinations(range(len(names)), 2))
    n_clusters, is_several = items.frame["cluster"].n_unique(), len(items.evals) > 1
    statistics = np.full(len(pairs), np.nan)  # without shared items a pair has none
    reason = "fewer than 2 shared items; a difference needs 2"
    differences = [Estimate.without("too_few", reason, level=level)] * len(pairs)
    variances, n_shared, sums = [0.0] * len(pairs), [0] * len(pairs), np.zeros((n_clusters, len(pairs)))
    named = [(names[i], names[j]) for i, j in pairs]
    tested = tested_pairs(items, named, level)
    for place, pair in tested.items():
        differences[place], n_shared[place] = pair.mean.estimate, pair.n_items
        variances[place] = (pair.mean.se or 0.0) ** 2 * pair.n_items
        if is_several:  # the test of `compare`, as a normal deviate
            p = pair.mean.p_positive
            statistics[place] = np.nan if p is None else np.clip(ndtri(p), -38.0, 38.0)
    for batch in batches(items, named):
        own = [column for column, place in enumerate(batch.places.tolist()) if place in tested]
        if not own:
            continue
        parts = _parts_of_mean(batch.differences[:, own], batch.evals, batch.clusters)
        for column, place in enumerate(batch.places[own].tolist()):
            n_shared[place] = batch.n_items
            sums[: len(parts), place] = parts[:, column]
            if not is_several:  # a pair without any difference has the statistic 0
                length = float(np.sqrt((parts[:, column] ** 2).sum()))
                statistics[place] = parts[:, column].sum() / length if length else 0.0
    p_alone = tested[0].p if len(pairs) == 1 and 0 in tested else None
    lengths = np.sqrt((sums**2).sum(axis=0))
    units = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
    return _Board(
        names=names,
        means=[items.mean_of(name, level).estimate for name in names],
        n_items=[len(items.only(name)) for name in names],
        pairs=pairs,
        differences=differences,
        n_shared=n_shared,
        variance_per_item=variances,
        statistics=statistics,
        draws=_drawn(units, n_replicates, seed, is_normal=is_several),
        estimand=items.estimand,
        direction=-1 if items.is_lower_better else 1,
        p_alone=p_alone,
        method=(
            f"t over clusters ({items.cluster})" if is_several else f"sign flips of whole clusters ({items.cluster})"
        )
        + ", paired by item",
        notes=items.notes,
    )


def _parts_of_mean(differences: Floats, evals: Ints, clusters: Ints) -> Floats:
    """What each cluster adds to mean differences; over several evals, to their errors: the deviations from each eval's own mean.

    Where every eval is one cluster, deviations are from the overall mean, as in `howsure.stats.mean`.
    """
    names, evals = np.unique(evals, return_inverse=True)
    n = np.bincount(evals)
    parts = differences / n[evals][:, None] / len(names)
    if len(names) > 1:
        by_eval = np.eye(len(names))[evals].T @ differences / n[:, None]
        is_one_each = len(np.unique(evals * (clusters.max() + 1) + clusters)) == len(names)
        own = by_eval.sum(axis=0) / len(names) if is_one_each else by_eval[evals]
        parts = parts - own / n[evals][:, None] / len(names)
    totals = np.zeros((int(clusters.max()) + 1, differences.shape[1]))
    np.add.at(totals, clusters, parts)
    return totals


def _drawn(units: Floats, n_replicates: int, seed: int, *, is_normal: bool) -> Floats:
    """The statistics of all pairs after each cluster was multiplied by a random sign (or normal number), the same for all pairs."""
    rng = np.random.default_rng(seed)
    step = max(1, _BLOCK // len(units))
    blocks = [min(step, n_replicates - start) for start in range(0, n_replicates, step)]

    def multipliers(n: int) -> Any:
        size = (n, len(units))
        return rng.standard_normal(size) if is_normal else 2.0 * rng.integers(0, 2, size, dtype=np.int8) - 1

    drawn: Any = np.concatenate([multipliers(n) @ units for n in blocks], dtype=np.float32)
    # differences that agree within every eval show no correlation with those of other pairs
    alone = np.flatnonzero(~units.any(axis=0) & is_normal)
    drawn[:, alone] = rng.standard_normal((n_replicates, len(alone)))
    return np.asarray(drawn)


def _of_scores(
    scores: Scores, benchmark: str | None, n_items: int | None, level: float, n_replicates: int, seed: int
) -> _Board:
    frame, notes = scores.frame, []
    there = frame["benchmark"].unique().sort().to_list()
    if benchmark is not None:
        if benchmark not in there:
            raise OptionError.unknown("benchmark", benchmark, there)
        frame = frame.filter(pl.col("benchmark") == benchmark)
    names = _enough(frame["model"].unique().sort().to_list())
    if repeated := len(frame) - frame.select("model", "benchmark").n_unique():
        notes.append(f"{repeated:,} further scores of a model on the same benchmark: the mean of its scores is used.")
    optional = [
        pl.col(name).mean() if name in frame.columns else pl.lit(None, pl.Float64).alias(name)
        for name in ("se", "n_items")
    ]
    frame = frame.group_by("benchmark", "model").agg(pl.col("score").mean(), *optional).sort("benchmark", "model")
    complete = frame.filter(pl.len().over("benchmark") == len(names))["benchmark"].unique().sort().to_list()
    if not complete:
        raise InputError(
            f"No benchmark has scores of all {len(names)} models. Name one with benchmark, or remove models."
        )
    if n_left := frame["benchmark"].n_unique() - len(complete):
        notes.append(f"{n_left:,} benchmarks are excluded, because not all {len(names)} models have a score there.")
    share, variance, total = (np.zeros(len(names)) for _ in range(3))
    for one in complete:
        rows = frame.filter(pl.col("benchmark") == one)
        score = rows["score"].to_numpy()
        n, told = _sizes(one, rows, n_items)
        notes += told
        # a success and a failure added: the variance of a score of 0 or 1 is not 0
        smooth = (score * n + 1) / (n + 2)
        published = rows["se"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        variance += np.where(np.isnan(published), smooth * (1 - smooth) / (n + 2), published**2) / len(complete) ** 2
        share += score / len(complete)
        total += n
    quantile, se = normal_quantile(level), np.sqrt(variance)
    has_se = frame.filter(pl.col("benchmark").is_in(complete))["se"].is_not_null().any()
    if len(complete) == 1 and not has_se:
        lows, highs = score_bounds(share, total, quantile)
    else:
        lows, highs = np.clip(share - quantile * se, 0, share), np.clip(share + quantile * se, share, 1)
    pairs = list(itertools.combinations(range(len(names)), 2))
    first, second = np.array(pairs).T
    spread = np.sqrt(variance[first] + variance[second])
    statistics = np.divide(share[first] - share[second], spread, out=np.zeros(len(pairs)), where=spread > 0)
    errors = np.random.default_rng(seed).standard_normal((n_replicates, len(names))) * se
    draws = (errors[:, first] - errors[:, second]) / np.where(spread > 0, spread, 1.0)
    # Newcombe's interval joins those of the two scores by squares
    below = (share - lows)[first] ** 2 + (highs - share)[second] ** 2
    above = (highs - share)[first] ** 2 + (share - lows)[second] ** 2
    difference = share[first] - share[second]
    return _Board(
        names=names,
        means=[Estimate(*one, level=level) for one in zip(share, lows, highs, strict=True)],
        n_items=[round(n) for n in total],
        pairs=pairs,
        differences=[
            Estimate(d, max(d - math.sqrt(lo), -1.0), min(d + math.sqrt(hi), 1.0), level=level)
            for d, lo, hi in zip(difference, below, above, strict=True)
        ],
        n_shared=[round(min(total[i], total[j])) for i, j in pairs],
        variance_per_item=(spread**2 * np.minimum(total[first], total[second])).tolist(),
        statistics=statistics,
        draws=draws.astype(np.float32),
        p_alone=2 * float(ndtr(-abs(statistics[0]))) if len(pairs) == 1 else None,
        estimand=f"published score on {complete[0]}"
        if len(complete) == 1
        else f"mean of {len(complete)} published scores",
        method="published scores as independent estimates: their items cannot be paired",
        notes=notes,
    )


def _sizes(benchmark: str, rows: pl.DataFrame, n_items: int | None) -> tuple[Floats, list[str]]:
    """The number of items behind each score of one benchmark, and where it comes from if it was not published."""
    told = rows["n_items"].cast(pl.Float64)
    known = told.drop_nulls().unique().to_list()
    if told.null_count() and len(known) != 1 and n_items is None and rows["se"].null_count():
        n, n_candidates = items_behind(rows["score"].to_list())
        note = (
            f"{benchmark}: the number of items is not given. {n:,} is the smallest that gives all {len(rows)} rounded scores"
            + (f" ({n_candidates - 1:,} larger ones do too)" if n_candidates > 1 else "")
            + "; more items would make the intervals narrower. Give n_items if it is known."
        )
        return np.full(len(rows), float(n)), [note]
    return told.fill_null(float(n_items or (known[0] if known else 1))).to_numpy(), []


def _enough(names: Sequence[str]) -> list[str]:
    if len(names) < 2:
        raise InputError("A leaderboard needs at least two models. Add the results of another.")
    return list(names)


def _adjusted(boards: Sequence[_Board], is_used: Bools) -> Floats:
    """P-values corrected for the pairs that are used together; 1 for others. The largest under all policies, 1 where their signs differ."""
    main, largest = boards[0], np.zeros(len(boards[0].pairs))
    for board in boards:
        adjusted, own = np.ones(len(board.pairs)), is_used & np.isfinite(board.statistics)
        if board.p_alone is not None and own.any():
            adjusted[:] = board.p_alone
        elif own.any():
            adjusted[own] = step_down_max(board.statistics[own], board.draws[:, own])
        largest = np.maximum(largest, np.where(main.statistics * board.statistics < 0, 1.0, adjusted))
    return largest


def _marginal_rank(boards: Sequence[_Board], tested: Bools, i: int, rank: int, level: float) -> Estimate:
    """The rank of one model with the interval from the tests of its own pairs only."""
    board = boards[0]
    adjusted = _adjusted(boards, tested & np.array([i in pair for pair in board.pairs]))
    signs = np.array([(pair[0] == i) - (pair[1] == i) for pair in board.pairs])
    won = board.direction * np.nan_to_num(board.statistics) * signs
    is_significant = adjusted < 1 - level
    worse, better = (is_significant & (won > 0)).sum(), (is_significant & (won < 0)).sum()
    return _rank(rank, better, worse, len(board.names), level)


def _rank(rank: int, n_better: int, n_worse: int, n_models: int, level: float) -> Estimate:
    low, high = 1 + int(n_better), n_models - int(n_worse)
    return Estimate(min(max(rank, low), high), low, high, level=level)


def _tiers(is_better: Bools) -> tuple[list[int], bool]:
    """The layers of "significantly better": those whom nobody left is better than, then the same of the rest."""
    tiers, has_cycle, tier = np.zeros(len(is_better), dtype=np.int64), False, 0
    while (left := tiers == 0).any():
        tier += 1
        is_top = left & ~is_better[left].any(axis=0)
        if not is_top.any():  # each of the rest is worse than another of them: possible on different items only
            is_top, has_cycle = left, True
        tiers[is_top] = tier
    return tiers.tolist(), has_cycle
