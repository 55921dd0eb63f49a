"""An automatic judge beside people: does it agree with them as well as they do with one another?

Ratings of people come as one row per item and one column per rater, with NaN for gaps; the judge's as one value per item.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats import jackknife
from howsure.stats._arrays import Bools, Floats, Ints, check_level, cluster_sums, codes
from howsure.stats._ratings import ratings
from howsure.stats.correlation import KINDS, Kind, coefficient
from howsure.stats.means import clustered_mean, mean, share

__all__ = [
    "AgainstRater",
    "AlternativeAnnotator",
    "EqualTerms",
    "alternative_annotator_test",
    "equal_terms",
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
    parts = jackknife.groups(n, labels)
    without = [_with_the_rest(np.delete(verdicts, p), np.delete(table, p, axis=0), kind)[is_known] for p in parts]
    (of_judge, of_people), left_out = found[is_known].mean(axis=0).tolist(), np.array(without).mean(axis=1)
    apart = left_out[:, 0] - left_out[:, 1]
    return EqualTerms(
        judge=jackknife.estimate(of_judge, left_out[:, 0], level, least=-1.0, most=1.0),
        people=jackknife.estimate(of_people, left_out[:, 1], level, least=-1.0, most=1.0),
        difference=jackknife.estimate(of_judge - of_people, apart, level, least=-2.0, most=2.0),
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
    ``advantage`` is its mean chance to represent the others at least as well as a rater does.
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
