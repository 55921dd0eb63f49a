"""An automatic judge compared with people: does it agree with them as well as they agree with each other?

Ratings of people come as one row per item and one column per rater, with NaN for gaps; the judge's as one value per item.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtr

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats import replicates
from howsure.stats._arrays import Bools, Floats, Ints, check_level, cluster_sums, codes
from howsure.stats.components import ratings
from howsure.stats.correlation import KINDS, Kind, coefficient
from howsure.stats.means import clustered_mean, mean, share
from howsure.stats.multiplicity import holm

__all__ = [
    "AgainstRater",
    "AlternativeAnnotator",
    "EqualTerms",
    "JudgePair",
    "JudgeRow",
    "alternative_annotator_test",
    "compare_judges",
    "equal_terms",
    "panel_ratings",
    "power_of_replacement",
]

_MIN_ITEMS, _MIN_RATERS = 30, 3


@dataclass(frozen=True)
class EqualTerms:
    """How well the judge and each person agree with the other people.

    ``judge`` and ``people`` are means over raters, ``difference`` is judge − people. ``by_rater`` holds, for each rater that has
    enough company, the column, how well the judge agrees with the others, and how well that rater does.
    """

    judge: Estimate
    people: Estimate
    difference: Estimate
    by_rater: tuple[tuple[int, float, float], ...]
    kind: str
    n_items: int


def equal_terms(
    judge: ArrayLike,
    people: ArrayLike,
    kind: Kind | Literal["match"] = "pearson",
    *,
    clusters: Any = None,
    level: float = 0.95,
) -> EqualTerms:
    """The judge compared with people on equal terms: each rater in turn is left out, and both are compared with the rest.

    To compare the judge with the mean of all k raters, but each rater with that of the k − 1 others, would flatter the judge: its
    reference has less noise. Here both meet the same reference on the same items. ``kind`` is the correlation with the mean
    of the others, or ``match``: the share of others who gave the same value.

    The intervals come from a jackknife over items, or over ``clusters`` of items (one label per item) such as the responses to one
    prompt, with t on the number of clusters − 1 degrees of freedom. In 400 simulated studies of 20 prompts × 5 responses whose errors are
    correlated within a prompt, the interval over items contained the true difference in 79 %, the one over prompts in 93 %.
    """
    check_level(level)
    if kind not in (*KINDS, "match"):
        raise OptionError.unknown("measure", kind, (*KINDS, "match"))
    verdicts, table, labels = _judged(judge, people, clusters)
    n, k = table.shape
    if n < 5 or k < 2:
        nothing = Estimate.without(
            "too_few", f"{n} items rated by {k} people and the judge; 5 and 2 are needed", level=level
        )
        return EqualTerms(nothing, nothing, nothing, (), kind, n)
    found = _with_the_rest(verdicts, table, kind)
    is_known = ~np.isnan(found).any(axis=1)
    if not is_known.any():
        nothing = Estimate.without("undefined", "agreement is undefined for ratings that never vary", level=level)
        return EqualTerms(nothing, nothing, nothing, (), kind, n)
    parts = replicates.groups(n, labels)
    without = [_with_the_rest(np.delete(verdicts, p), np.delete(table, p, axis=0), kind)[is_known] for p in parts]
    (of_judge, of_people), left_out = found[is_known].mean(axis=0).tolist(), np.array(without).mean(axis=1)
    apart = left_out[:, 0] - left_out[:, 1]
    return EqualTerms(
        judge=replicates.estimate(of_judge, left_out[:, 0], level, least=-1.0, most=1.0),
        people=replicates.estimate(of_people, left_out[:, 1], level, least=-1.0, most=1.0),
        difference=replicates.estimate(of_judge - of_people, apart, level, least=-2.0, most=2.0),
        by_rater=tuple((int(j), float(found[j, 0]), float(found[j, 1])) for j in np.flatnonzero(is_known)),
        kind=kind,
        n_items=n,
    )


@dataclass(frozen=True)
class AgainstRater:
    """The judge against one rater: who represents the other raters better?

    ``advantage`` is the share of items on which the judge does at least as well, ``p`` the p-value of its being worse by ε,
    ``p_adjusted`` the same after Benjamini and Yekutieli (2001), ``is_beaten`` whether that is at most the false discovery rate.
    """

    rater: int
    n_items: int
    advantage: Estimate
    p: float
    p_adjusted: float
    is_beaten: bool


@dataclass(frozen=True)
class AlternativeAnnotator:
    """Whether a judge may stand in for a rater.

    ``winning_rate`` is the share of raters it beats; from one half on it ``may_replace`` them (None where too little is known).
    ``advantage`` is its mean probability to represent the others at least as well as a rater does.
    """

    winning_rate: Estimate
    advantage: Estimate
    may_replace: bool | None
    by_rater: tuple[AgainstRater, ...]
    measure: str
    epsilon: float


def alternative_annotator_test(
    judge: ArrayLike,
    people: ArrayLike,
    measure: Literal["closeness", "match"] = "closeness",
    *,
    epsilon: float = 0.2,
    false_discovery_rate: float = 0.05,
    clusters: Any = None,
    level: float = 0.95,
) -> AlternativeAnnotator:
    r"""The alternative-annotator test: is the judge a better rater than most raters, allowing for what a rater costs?

    .. math:: d_i = W^h_i - W^f_i, \qquad H_0: \bar d \ge \varepsilon, \qquad t = \frac{\bar d - \varepsilon}{s / \sqrt n}

    Rater h is left out. On each item, W^f is 1 if the judge is at least as close to the other raters as h is, W^h if h is at least
    as close as the judge; ``closeness`` is the root mean square distance to them, ``match`` the share of them with the same value, which
    is the measure for categories: their codes have no distances.
    ``epsilon`` ε is how much worse the judge may be for being cheaper: 0.2 where raters are experts, 0.15 where they are skilled, 0.1
    for crowd workers. Calderon, Reichart and Dror (2025), *The alternative annotator test for LLM-as-a-judge*.

    ``clusters`` (one label per item) are items that belong together: s/√n is then the standard error over clusters. Each rater needs 30
    items that another rater rated too, and three such raters are needed; fewer are a state.
    """
    check_level(level)
    if measure not in ("closeness", "match"):
        raise OptionError.unknown("measure", measure, ("closeness", "match"))
    verdicts, table, labels = _judged(judge, people, clusters)
    lost_by_judge, lost_by_rater = _losses(verdicts, table, measure)
    is_used = ~np.isnan(lost_by_rater)
    is_used[:, is_used.sum(axis=0) < _MIN_ITEMS] = False
    if is_used.any(axis=0).sum() < _MIN_RATERS:
        nothing = Estimate.without("too_few", _too_few_raters(table, lost_by_rater), level=level)
        return AlternativeAnnotator(nothing, nothing, None, (), measure, epsilon)
    slack = 1e-12 * (1 + np.abs(lost_by_rater))
    judge_wins, rater_wins = lost_by_judge <= lost_by_rater + slack, lost_by_rater <= lost_by_judge + slack
    by_rater = _against_raters(judge_wins, rater_wins, is_used, labels, epsilon, false_discovery_rate, level)
    winning_rate = float(np.mean([one.is_beaten for one in by_rater]))
    return AlternativeAnnotator(
        winning_rate=Estimate(winning_rate, level=level),
        advantage=_advantage(judge_wins, is_used, labels, level),
        may_replace=winning_rate >= 0.5,
        by_rater=by_rater,
        measure=measure,
        epsilon=epsilon,
    )


def _judged(judge: ArrayLike, people: ArrayLike, clusters: Any) -> tuple[Floats, Floats, Ints | None]:
    """The judge's values, the ratings and the clusters, for items that have both."""
    verdicts, table = np.asarray(judge, dtype=np.float64), ratings(people)
    if verdicts.shape != table.shape[:1]:
        raise InputError(
            f"Lengths differ: {verdicts.size:,} values of the judge, {len(table):,} items rated by people. Give one value per item, NaN where there is none."
        )
    if np.isinf(verdicts).any():
        raise InputError(f"judge: infinity at position {int(np.isinf(verdicts).argmax())}. Correct it, or write NaN.")
    is_both = ~np.isnan(verdicts) & ~np.isnan(table).all(axis=1)
    if clusters is None:
        return verdicts[is_both], table[is_both], None
    code = codes(clusters, "clusters")
    if len(code) != len(table):
        raise InputError(
            f"Lengths differ: {len(table):,} items, {len(code):,} cluster labels. Give one label per item."
        )
    return verdicts[is_both], table[is_both], codes(code[is_both], "clusters")


def _with_the_rest(verdicts: Floats, table: Floats, kind: Kind | Literal["match"]) -> Floats:
    """For each rater left out (rows), how well the judge and that rater agree with the others; NaN where undefined."""
    if kind == "match":
        return np.column_stack([1 - _column_means(lost) for lost in _losses(verdicts, table, "match")])
    is_there = ~np.isnan(table)
    totals, counts = np.nansum(table, axis=1), is_there.sum(axis=1)
    found = np.empty((table.shape[1], 2))
    for rater in range(table.shape[1]):
        is_used = is_there[:, rater] & (counts > 1)
        own = table[is_used, rater]
        rest = (totals[is_used] - own) / (counts[is_used] - 1)
        found[rater] = [coefficient(scores, rest, kind) for scores in (verdicts[is_used], own)]
    return found


def _column_means(table: Floats) -> Floats:
    """Means of what is there, NaN for an empty column."""
    counts = (~np.isnan(table)).sum(axis=0)
    return np.where(counts > 0, np.nansum(table, axis=0) / np.maximum(counts, 1), np.nan)


def _losses(verdicts: Floats, table: Floats, measure: Literal["closeness", "match"]) -> tuple[Floats, Floats]:
    """How far the judge and each rater are from the other raters, by item and rater left out; NaN where nobody is left."""
    is_there = ~np.isnan(table)
    n_others = is_there.sum(axis=1, keepdims=True) - 1
    is_used = is_there & (n_others > 0)
    by_judge = _distances(verdicts[:, None], table, measure)
    all_by_judge = by_judge.sum(axis=1, keepdims=True) - by_judge
    all_by_rater = np.column_stack(
        [_distances(table[:, [rater]], table, measure).sum(axis=1) for rater in range(table.shape[1])]
    )
    share = np.where(is_used, 1 / np.maximum(n_others, 1), np.nan)
    return all_by_judge * share, all_by_rater * share


def _distances(one: Floats, table: Floats, measure: Literal["closeness", "match"]) -> Floats:
    """0 where either is missing, and to oneself."""
    gap = np.nan_to_num(one - table)
    return gap**2 if measure == "closeness" else (gap != 0).astype(np.float64)


def _too_few_raters(table: Floats, lost_by_rater: Floats) -> str:
    counts = (~np.isnan(lost_by_rater)).sum(axis=0)
    n_enough = int((counts >= _MIN_ITEMS).sum())
    return (
        f"{len(table)} items, {n_enough} raters with {_MIN_ITEMS} or more that another rated too; "
        f"{_MIN_RATERS} such raters are needed"
    )


def _against_raters(
    judge_wins: Bools,
    rater_wins: Bools,
    is_used: Bools,
    labels: Ints | None,
    epsilon: float,
    rate: float,
    level: float,
) -> tuple[AgainstRater, ...]:
    from scipy.stats import false_discovery_control

    columns = np.flatnonzero(is_used.any(axis=0))
    of_rater = {j: None if labels is None else labels[is_used[:, j]] for j in columns}
    behind = {j: 1.0 * rater_wins[is_used[:, j], j] - judge_wins[is_used[:, j], j] for j in columns}
    p = np.array([_p_not_worse(behind[j], of_rater[j], epsilon) for j in columns])
    adjusted = false_discovery_control(p, method="by")
    return tuple(
        AgainstRater(
            rater=int(j),
            n_items=int(is_used[:, j].sum()),
            advantage=share(judge_wins[is_used[:, j], j], of_rater[j], level=level),
            p=float(p[at]),
            p_adjusted=float(adjusted[at]),
            is_beaten=bool(adjusted[at] <= rate),
        )
        for at, j in enumerate(columns)
    )


def _p_not_worse(behind: Floats, labels: Ints | None, epsilon: float) -> float:
    """One-sided t test of the mean being ε or more; 1 where a single cluster tells nothing."""
    found = mean(behind, labels, bounds=None)
    gap = float(behind.mean()) - epsilon
    if found.se is None or found.df is None:
        return 1.0
    return float(stdtr(found.df, gap / found.se)) if found.se else float(gap >= 0)


def _advantage(judge_wins: Bools, is_used: Bools, labels: Ints | None, level: float) -> Estimate:
    """The mean over raters of the judge's share of wins, with raters of the same item (or cluster of items) as one cluster."""
    # each rater counts alike, however many items he rated
    weights = np.where(is_used, 1 / np.maximum(is_used.sum(axis=0), 1), 0.0)
    weights *= is_used.sum() / weights.sum()
    rows = is_used.any(axis=1)
    used = None if labels is None else labels[rows]
    totals, counts = (cluster_sums(table[rows].sum(axis=1), used)[0] for table in (weights * judge_wins, weights))
    return clustered_mean(totals, counts, level=level).estimate


@dataclass(frozen=True)
class JudgeRow:
    """How well one of several judges agrees with people, on the items that all judges rated.

    Parameters
    ----------
    judge : int
        Its column.
    agreement : Estimate
        With all raters but one, each left out in turn, averaged.
    minus_people : Estimate
        The same minus the agreement of the rater who was left out.
    """

    judge: int
    agreement: Estimate
    minus_people: Estimate


@dataclass(frozen=True)
class JudgePair:
    """The difference of two judges' agreement with people, a − b, on the same items; ``p`` is two-sided, ``p_holm`` after Holm's correction."""

    a: int
    b: int
    difference: Estimate
    p: float | None
    p_holm: float | None


def compare_judges(
    judges: ArrayLike,
    people: ArrayLike,
    kind: Kind | Literal["match"] = "pearson",
    *,
    clusters: Any = None,
    level: float = 0.95,
) -> tuple[list[JudgeRow], list[JudgePair], int]:
    """Several judges against the same people on the same items, and all differences between judges; with the number of items.

    Each is compared with people on equal terms (`equal_terms`). Intervals and tests come from one jackknife over items, or over ``clusters``, so
    that differences are paired.

    Parameters
    ----------
    judges : array, items × judges
        NaN where a judge gave no rating; only items that all judges rated are used.
    people : array, items × raters
        NaN for gaps.
    kind : str
        A correlation, or ``match`` for categories.
    clusters : sequence, optional
        One label per item.
    level : float
        Coverage of the intervals, between 0 and 1.
    """
    check_level(level)
    table = np.asarray(judges, dtype=np.float64)
    is_whole = ~np.isnan(table).any(axis=1)
    _, given, labels = _judged(np.where(is_whole, table[:, 0], np.nan), people, clusters)
    is_used = is_whole & ~np.isnan(ratings(people)).all(axis=1)
    table = table[is_used]
    n, n_judges = table.shape

    def agreements(rows: Ints | None) -> Floats:
        kept = np.delete(table, rows, axis=0) if rows is not None else table
        of = np.delete(given, rows, axis=0) if rows is not None else given
        found = [_with_the_rest(kept[:, judge], of, kind) for judge in range(n_judges)]
        # a rater for whom something is undefined is left out for all judges
        is_known = ~np.isnan(np.array(found)).any(axis=(0, 2))
        if not is_known.any():
            return np.full(n_judges + 1, np.nan)
        return np.array([*(one[is_known, 0].mean() for one in found), found[0][is_known, 1].mean()])

    if n < 5 or given.shape[1] < 2:
        reason = f"{n} items rated by {given.shape[1]} people and all judges; 5 and 2 are needed"
        nothing = Estimate.without("too_few", reason, level=level)
        return [JudgeRow(judge, nothing, nothing) for judge in range(n_judges)], [], n
    whole = agreements(None)
    left = np.array([agreements(part) for part in replicates.groups(n, labels)])

    def told(values: Floats, least: float) -> Estimate:
        if math.isnan(values[0]):
            return Estimate.without("undefined", "agreement is undefined for ratings that never vary", level=level)
        return replicates.estimate(float(values[0]), values[1:], level, least=least, most=-least)

    every = np.vstack([whole, left])
    rows = [
        JudgeRow(judge, told(every[:, judge], -1.0), told(every[:, judge] - every[:, -1], -2.0))
        for judge in range(n_judges)
    ]
    pairs: list[JudgePair] = []
    for a in range(n_judges):
        for b in range(a + 1, n_judges):
            apart = told(every[:, a] - every[:, b], -2.0)
            p = None
            if apart.value is not None and apart.low is not None:
                g = len(left)
                spread = (left[:, a] - left[:, b]) - (left[:, a] - left[:, b]).mean()
                se = math.sqrt((g - 1) / g * float((spread**2).sum()))
                p = float(2 * stdtr(g - 1, -abs(apart.value) / se)) if se else None
            pairs.append(JudgePair(a, b, apart, p, p))
    adjusted = iter(holm([pair.p for pair in pairs if pair.p is not None]))
    return rows, [pair if pair.p is None else replace(pair, p_holm=float(next(adjusted))) for pair in pairs], n


def panel_ratings(
    judges: ArrayLike,
    people: ArrayLike,
    kind: Kind | Literal["match"] = "pearson",
    *,
    clusters: Any = None,
    n_folds: int = 5,
    seed: int = 0,
) -> tuple[Floats, Floats, Floats]:
    """What a panel of judges says of each item: with weights learned on other items, with equal weights; and the weights from all items.

    Numbers are fitted to people's means by least squares with weights that are not negative. Categories are chosen by weighted votes, a judge's
    weight being the log odds of its agreement with people. Items of one cluster stay in one fold. NaN where a judge gave no rating.

    Parameters
    ----------
    judges : array, items × judges
        Ratings.
    people : array, items × raters
        Ratings.
    kind : str
        ``match`` for categories.
    clusters : sequence, optional
        One label per item.
    n_folds : int
        Number of parts whose items are predicted from the others.
    seed : int
        The same seed makes the same folds.
    """
    table, given = np.asarray(judges, dtype=np.float64), ratings(people)
    is_whole = ~np.isnan(table).any(axis=1)
    is_known = is_whole & ~np.isnan(given).all(axis=1)
    code = np.arange(len(table)) if clusters is None else codes(clusters, "clusters")
    fold = np.random.default_rng(seed).permutation(int(code.max()) + 1)[code] % n_folds
    weighted, equal = np.full(len(table), np.nan), np.full(len(table), np.nan)
    fit, apply = (_vote_weights, _vote) if kind == "match" else (_mean_weights, _mix)
    for one in range(n_folds):
        train, test = is_known & (fold != one), is_whole & (fold == one)
        if train.sum() > table.shape[1] + 2 and test.any():
            weighted[test] = apply(table[test], fit(table[train], given[train]))
    if is_whole.any():
        n = table.shape[1]
        same = np.ones(n) if kind == "match" else np.append(np.full(n, 1 / n), 0.0)
        equal[is_whole] = apply(table[is_whole], same)
    final = (
        fit(table[is_known], given[is_known])
        if is_known.sum() > table.shape[1] + 2
        else np.full(table.shape[1], np.nan)
    )
    return weighted, equal, final[: table.shape[1]]


def _mean_weights(table: Floats, given: Floats) -> Floats:
    """Weights that are not negative, and an intercept."""
    from scipy.optimize import nnls

    target = np.nanmean(given, axis=1)
    centre, middle = table.mean(axis=0), float(target.mean())
    # a little ridge keeps judges that say the same from taking turns
    ridge = 0.1 * np.sqrt(max(float(table.var(axis=0).mean()), 1e-12) * len(table) * 0.05)
    n = table.shape[1]
    weights, _ = nnls(np.vstack([table - centre, ridge * np.eye(n)]), np.concatenate([target - middle, np.zeros(n)]))
    return np.append(weights, middle - float(centre @ weights))


def _mix(table: Floats, weights: Floats) -> Floats:
    return np.asarray(table @ weights[:-1] + weights[-1])


def _vote_weights(table: Floats, given: Floats) -> Floats:
    """Log odds of agreeing with a rater, against guessing among the categories; never negative."""
    q = len(np.unique(given[~np.isnan(given)]))
    same = np.array(
        [np.nanmean(np.where(np.isnan(given), np.nan, given == table[:, [j]])) for j in range(table.shape[1])]
    )
    safe = np.clip(same, 0.02, 0.98)
    return np.asarray(np.maximum(np.log(safe * max(q - 1, 1) / (1 - safe)), 0.01))


def _vote(table: Floats, weights: Floats) -> Floats:
    categories = np.unique(table)
    totals = np.column_stack([(table == one) @ weights for one in categories])
    return np.asarray(categories[totals.argmax(axis=1)])


def power_of_replacement(
    people: ArrayLike,
    measure: Literal["closeness", "match"] = "closeness",
    *,
    n_items: int | None = None,
    n_raters: int | None = None,
    clusters: Any = None,
    epsilon: float = 0.2,
    n_simulations: int = 200,
    seed: int = 0,
) -> Estimate:
    r"""How often a judge that is exactly as good as a rater passes the alternative-annotator test.

    Studies are simulated from the agreement of these raters; the judge is one more of them. With Wilson's interval for the number of simulations.

    Numbers have a Gaussian copula: rating r of item i is the quantile Φ(z) of all ratings given, with

    .. math:: z_{ir} = \sqrt{\rho_{item}}\,a_i + \sqrt{\rho_{rater}}\,b_r + \sqrt{1 - \rho_{item} - \rho_{rater}}\,e_{ir},

    where ρ_item and ρ_rater are such that two ratings of one item, and two of one rater, are as far apart as they were on average. Categories: an item has one of the categories
    given, and a rating is that category with a probability that makes two raters agree as often as they did, else any of the categories given.

    Parameters
    ----------
    people : array, items × raters
        A pilot: ratings with NaN for gaps; at least 5 items with two ratings.
    measure : {"closeness", "match"}
        As in `alternative_annotator_test`.
    n_items, n_raters : int, optional
        Size of a study in which everybody rates everything; by default the items, raters and gaps of the pilot.
    clusters : sequence, optional
        One label per item of the pilot; used where sizes are left out.
    epsilon : float
        As in `alternative_annotator_test`.
    n_simulations : int
        Simulated studies.
    seed : int
        The same seed gives the same number.
    """
    given = ratings(people)
    is_there = ~np.isnan(given)
    is_pilot = n_items is None and n_raters is None
    n, k = n_items or int(is_there.any(axis=1).sum()), n_raters or int(is_there.any(axis=0).sum())
    if n < _MIN_ITEMS or k < _MIN_RATERS:
        return Estimate.without("undefined", f"the test needs {_MIN_ITEMS} items and {_MIN_RATERS} raters")
    n_shared = int((is_there.sum(axis=1) > 1).sum())
    if n_shared < 5:
        return Estimate.without("too_few", f"{n_shared} items with two ratings; 5 are needed")
    rng = np.random.default_rng(seed)
    draw = _raters_like(given, measure, rng)
    is_rated = is_there if is_pilot else np.ones((n, k), dtype=bool)
    labels = clusters if is_pilot else None
    passed = 0
    for _ in range(n_simulations):
        drawn = draw(len(is_rated), is_rated.shape[1] + 1)
        raters = np.where(is_rated, drawn[:, 1:], np.nan)
        test = alternative_annotator_test(drawn[:, 0], raters, measure, epsilon=epsilon, clusters=labels)
        passed += bool(test.may_replace)
    return share(np.arange(n_simulations) < passed)


def _raters_like(
    given: Floats, measure: Literal["closeness", "match"], rng: np.random.Generator
) -> Callable[[int, int], Floats]:
    """Draws ratings (items, raters) of other raters who agree as these do, on other items."""
    pool = np.sort(given[~np.isnan(given)])
    if measure == "match":
        by_chance = float((pool[:, None] != pool).mean())
        known = math.sqrt(max(1 - _mean_distance(given, measure) / by_chance, 0.0)) if by_chance else 1.0
        return lambda n, k: np.where(rng.random((n, k)) < known, rng.choice(pool, (n, 1)), rng.choice(pool, (n, k)))

    def quantiles(z: Floats) -> Floats:
        return np.asarray(pool[np.minimum((ndtr(z) * len(pool)).astype(np.int64), len(pool) - 1)])

    first, second = rng.normal(size=(2, 20_000))
    grid = np.linspace(0, 1, 51)
    apart = [((quantiles(first) - quantiles(rho * first + math.sqrt(1 - rho**2) * second)) ** 2).mean() for rho in grid]
    # by correlation, from the least to the largest distance
    distances = np.maximum.accumulate(apart[::-1])
    of_item, of_rater = (np.interp(_mean_distance(one, measure), distances, grid[::-1]) for one in (given, given.T))
    of_rater = min(of_rater, 1 - of_item)
    scales = np.sqrt([of_item, of_rater, max(1 - of_item - of_rater, 0.0)])
    return lambda n, k: quantiles(
        sum(scale * rng.normal(size=size) for scale, size in zip(scales, ((n, 1), (1, k), (n, k)), strict=True))
    )


def _mean_distance(table: Floats, measure: Literal["closeness", "match"]) -> float:
    """Of two values of one row, over all such pairs."""
    rows = [row[~np.isnan(row)] for row in table]
    n_pairs = sum(len(row) * (len(row) - 1) for row in rows)
    if measure == "match":
        return sum(float((row[:, None] != row).sum()) for row in rows) / n_pairs
    return sum(2 * len(row) * len(row) * float(row.var()) for row in rows if len(row)) / n_pairs
