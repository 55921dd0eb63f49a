"""Strengths of things that were compared with one another: Bradley–Terry with ties, position and covariates, and Plackett–Luce for rankings.

Both are sequences of choices from a set of alternatives, with

.. math:: P(\\text{alternative } s) \\propto e^{u_s}, \\qquad
          u_s = \\frac{1}{|s|} \\sum_{i \\in s} \\theta_i + \\delta_{|s|} + x_s'\\beta

An alternative s is one item, or several that are tied. The log-likelihood is concave; Newton's method finds its maximum. Strengths θ are log odds and
add up to 0. `choice_models` maximises it. Each likelihood has its simulator here: `simulate_comparisons`, `simulate_rankings`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import expit

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate, State
from howsure.stats._arrays import Bools, Floats, Ints, check_level, codes, finite, normal_quantile, t_quantile
from howsure.stats.choice_models import (
    JACKKNIFED,
    MOST_SIMULATED,
    ChoiceData,
    covariance_of,
    pinned_curvature,
    reached,
    simulate_statistics,
    solve,
)
from howsure.stats.multiplicity import comparison_intervals

__all__ = [
    "Comparisons",
    "Strengths",
    "bradley_terry",
    "plackett_luce",
    "simulate_comparisons",
    "simulate_rankings",
]

_FAR = 12.0  # log odds that no finite maximum reaches with fewer than exp(12) comparisons
_MOST_ALTERNATIVES = 20_000  # of one choice with ties
_MOST_TIED = 10  # items whose orders are averaged


@dataclass(frozen=True, kw_only=True, eq=False)
class Strengths:
    """Fitted strengths with their uncertainty.

    Attributes
    ----------
    names : tuple of str
        The items.
    values : array
        Their strengths in log odds, with mean 0 over the items whose state is ``ok``; NaN elsewhere.
    states : tuple of str
        ``ok``; ``above_range`` (never lost or tied against the linked items), ``below_range`` (never won or tied), ``unbounded`` (a covariate explains every
        outcome), ``undefined`` (nothing links it with the others).
    covariance : array
        Of the strengths; NaN where there is none.
    effects : dict
        Estimates of ``position`` (log odds in favour of what was shown first), ``tie`` or ``tie of 3`` (log δ; Davidson's ν is its exponential), and each covariate.
    log_likelihood : float
        At the maximum.
    n : int
        Comparisons or rankings.
    n_clusters : int or None
        Clusters of the covariance, the fewer of two crossed kinds; None for the covariance of the likelihood.
    df : float
        Degrees of freedom of the t quantile: clusters less 1, Satterthwaite's for two crossed kinds, infinite for the covariance of the likelihood.
    level : float
        Coverage of the intervals.
    choices : ChoiceData
        What was fitted.
    clusters : tuple of arrays
        The number of each observation's cluster, for each kind of clusters.
    """

    names: tuple[str, ...]
    values: Floats
    states: tuple[State, ...]
    covariance: Floats
    effects: dict[str, Estimate]
    log_likelihood: float
    n: int
    n_clusters: int | None
    df: float
    level: float
    choices: ChoiceData = field(repr=False)
    clusters: tuple[Ints, ...] = field(repr=False)

    @cached_property
    def is_ok(self) -> Bools:
        """Which items have a strength."""
        return np.array([state == "ok" for state in self.states])

    def strength(self, name: str) -> Estimate:
        """Log odds of an item against the mean of all items, with an interval."""
        at = self._at(name)
        if self.states[at] != "ok":
            return Estimate.without(self.states[at], _REASONS[self.states[at]], level=self.level)
        return self._estimate(float(self.values[at]), float(self.covariance[at, at]))

    def difference(self, a: str, b: str) -> Estimate:
        """Log odds of a against b. Beyond the range where one always won, undefined where nothing links them."""
        i, j = self._at(a), self._at(b)
        if i == j:
            raise OptionError(f"{a!r} cannot be compared with itself. Give two items.")
        if self.is_ok[i] and self.is_ok[j]:
            c = self.covariance
            return self._estimate(float(self.values[i] - self.values[j]), float(c[i, i] + c[j, j] - 2 * c[i, j]))
        graph = self.choices.graph(self.choices.weights)
        is_above, is_below = (bool(reached(graph, start)[to]) for start, to in ((j, i), (i, j)))
        state: State = "undefined"
        if is_above != is_below:
            state = "above_range" if is_above else "below_range"
        return Estimate.without(state, _REASONS[state], level=self.level)

    def probability(self, a: str, b: str) -> Estimate:
        """P(a is preferred to b), ties aside, at equal position and covariates."""
        return self.difference(a, b).map(lambda odds: float(expit(odds)))

    def comparison_intervals(self) -> tuple[Floats, Floats]:
        """Bars of the items: those that do not overlap differ significantly, one pair at a time; NaN where there is no strength."""
        ends = np.full((2, len(self.names)), np.nan)
        ok = self.is_ok
        if ok.sum() > 1 and np.isfinite(self.covariance[np.ix_(ok, ok)]).all():
            bars = comparison_intervals(self.values[ok], self.covariance[np.ix_(ok, ok)], self.level, self.df)
            ends[:, ok] = bars.low, bars.high
        return ends[0], ends[1]

    def draws(self, n_replicates: int, rng: np.random.Generator) -> Floats:
        """Strengths drawn from their t distribution, one row each; items beyond the range are ±inf, undefined ones NaN."""
        drawn = np.tile(self._beyond(), (n_replicates, 1))
        ok = self.is_ok
        if not ok.any():
            return drawn
        drawn[:, ok] = self.values[ok] + self._noise(n_replicates, rng)
        return drawn

    def null_statistics(self, n_replicates: int, rng: np.random.Generator) -> Floats:
        """Differences over their standard errors in data sets in which no items differ: (n_replicates, pairs of items with a strength, in the order of ``numpy.triu_indices``).

        With up to 200 clusters of one kind they are simulated with the sizes of these clusters (`howsure.stats.choice_models.simulate_statistics`); otherwise, and in a very large table, they are drawn from the t distribution.
        """
        ok = self.is_ok
        covariance = self.covariance[np.ix_(ok, ok)]
        n_clusters = self.n_clusters or math.inf
        is_small = n_clusters <= JACKKNIFED and n_clusters * self.choices.design.shape[1] ** 2 <= MOST_SIMULATED
        if len(self.clusters) == 1 and is_small:
            solved = solve(self.choices, self.choices.weights)
            return simulate_statistics(self.choices, solved, self.clusters[0], covariance, n_replicates, rng)
        first, second = np.triu_indices(len(covariance), 1)
        variance = covariance[first, first] + covariance[second, second] - 2 * covariance[first, second]
        noise = self._noise(n_replicates, rng)
        return np.asarray((noise[:, first] - noise[:, second]) / np.sqrt(np.maximum(variance, 1e-300)))

    def replicates(self, weights: ArrayLike) -> Floats:
        """Strengths of refits with other weights, one row each: (n_replicates, n_items).

        Parameters
        ----------
        weights : array, shape (n_replicates, n)
            Weights of the comparisons or rankings, such as those of a bootstrap over voters (`howsure.stats.replicates.hierarchical_weights`).

        Returns
        -------
        array
            ±inf where an item always won or always lost in a replicate, NaN where nothing links it.
        """
        table = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        if table.shape[1] != self.n:
            raise InputError(f"weights: {table.shape[1]:,} columns where {self.n:,} comparisons were made.")
        return np.array([solve(self.choices, row * self.choices.weights).beyond for row in table])

    def influence(self, a: str, b: str) -> Floats:
        """About how much the difference of two strengths would change if each observation were dropped: one Newton step.

        Parameters
        ----------
        a, b : str
            Two items whose state is ``ok``.

        Returns
        -------
        array, shape (n,)
            Change of the strength of a less that of b, in the order of the comparisons or rankings.
        """
        i, j = self._at(a), self._at(b)
        if not (self.is_ok[i] and self.is_ok[j]):
            raise OptionError(f"{a} and {b} need strengths; one of them has a state in place of a number.")
        choices, solved = self.choices, solve(self.choices, self.choices.weights)
        contrast = np.zeros(choices.design.shape[1])
        contrast[i], contrast[j] = 1.0, -1.0
        direction = np.zeros_like(contrast)
        pinned = pinned_curvature(solved.hessian, solved.is_live, len(self.names))
        direction[solved.is_live] = np.linalg.solve(pinned, contrast[solved.is_live])
        utility = np.asarray(choices.matrix @ direction)
        middle = np.bincount(choices.stage, solved.shares * utility, len(choices.starts))
        moved = choices.share * (utility[choices.chosen] - middle[choices.stage[choices.chosen]])
        moved[solved.shares[choices.chosen] == 0] = 0.0
        total = np.bincount(choices.source, moved * choices.weights[choices.source], self.n)
        return np.asarray(-total, dtype=np.float64)

    def _noise(self, n_replicates: int, rng: np.random.Generator) -> Floats:
        """Errors of the strengths of items that have one, drawn from their t distribution."""
        ok = self.is_ok
        values, vectors = np.linalg.eigh(self.covariance[np.ix_(ok, ok)])
        noise = rng.standard_normal((n_replicates, int(ok.sum()))) @ (vectors * np.sqrt(np.maximum(values, 0))).T
        if math.isfinite(self.df):
            noise *= np.sqrt(self.df / rng.chisquare(self.df, n_replicates))[:, None]
        return np.asarray(noise)

    def _beyond(self) -> Floats:
        ends = {"above_range": np.inf, "below_range": -np.inf}
        return np.array([ends.get(state, value) for state, value in zip(self.states, self.values, strict=True)])

    def _at(self, name: str) -> int:
        if name not in self.names:
            raise OptionError.unknown("item", name, self.names)
        return self.names.index(name)

    def _estimate(self, value: float, variance: float) -> Estimate:
        return _with_interval(value, variance, self.df, self.level)


def bradley_terry(
    a: Sequence[str] | ArrayLike,
    b: Sequence[str] | ArrayLike,
    outcome: Sequence[str] | ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: Any = None,
    crossed: Any = None,
    position: bool = False,
    covariates: Mapping[str, ArrayLike] | None = None,
    level: float = 0.95,
) -> Strengths:
    r"""Strengths from comparisons of two items, with ties (Bradley and Terry 1952, Davidson 1970).

    .. math:: P(a) : P(b) : P(\text{tie}) = e^{\eta/2} : e^{-\eta/2} : \nu, \qquad
              \eta = \theta_a - \theta_b + \gamma + \sum_j \beta_j x_j

    Parameters
    ----------
    a, b : sequence of str
        The two items of each comparison; a was shown first.
    outcome : sequence of {"a", "b", "tie"}
        Which one was preferred.
    weights : array, optional
        How often each comparison counts; 1 by default.
    clusters : array of labels, optional
        Comparisons that are not independent, such as those of one voter. The covariance is then that of a jackknife over clusters (one Newton step; for more
        than 200 clusters the sandwich formula), and intervals use t with one degree of freedom less than clusters. Without, comparisons are independent.
    crossed : array of labels, optional
        A second kind of clusters, such as the items that voters judged. Intervals are then for other voters *and* other items:
        :math:`V = V_o + (V_{voters} - V_o)_+ + (V_{items} - V_o)_+`, where :math:`V_o` takes comparisons as independent and + leaves out negative directions
        (Cameron, Gelbach and Miller 2011); t with Satterthwaite's degrees of freedom.
    position : bool, default False
        Whether to estimate γ, the advantage of being shown first.
    covariates : mapping of str to array, optional
        Differences between a and b of what may sway a comparison, such as the difference of the log lengths. Strengths are those at equal covariates.
    level : float, default 0.95
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    Strengths
        Items that only won or only lost have a state in place of a number, and so have those that no comparison links with the others.

    Raises
    ------
    InputError
        If lengths differ, an item is compared with itself or an outcome is unknown.

    Examples
    --------
    >>> fit = bradley_terry(["x"] * 6, ["y"] * 6, ["a", "a", "a", "b", "tie", "tie"])
    >>> round(float(fit.difference("x", "y").value), 4), round(float(fit.effects["tie"].value), 4)
    (1.0986, 0.1438)
    """
    check_level(level)
    first, second, won = (np.asarray(labels, dtype=str) for labels in (a, b, outcome))
    if not len(first) or not len(first) == len(second) == len(won):
        raise InputError(
            f"Lengths differ or are 0: a {len(first):,}, b {len(second):,}, outcome {len(won):,}. Give one comparison per entry."
        )
    unknown = ~np.isin(won, ("a", "b", "tie"))
    if unknown.any():
        raise InputError(f"outcome: {won[unknown][0]!r} at position {int(np.argmax(unknown))} is not one of a, b, tie.")
    if (first == second).any():
        at = int(np.argmax(first == second))
        raise InputError(f"{first[at]!r} is compared with itself at position {at}. Remove comparisons of one item.")
    names = sorted({*first.tolist(), *second.tolist()})
    place = {name: i for i, name in enumerate(names)}
    left, right = (np.array([place[name] for name in side.tolist()], dtype=np.int64) for side in (first, second))
    extra = {"position": np.ones(len(first))} if position else {}
    for name, values in (covariates or {}).items():
        extra[name] = finite(values, name)
        if len(extra[name]) != len(first):
            raise InputError(
                f"{name}: {len(extra[name]):,} values for {len(first):,} comparisons. Give one per comparison."
            )
    choices = _pair_choices(tuple(names), left, right, won, extra, _checked_weights(weights, len(first)))
    return _fit(choices, level, [clusters, crossed])


def plackett_luce(
    ranks: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    ties: Literal["grouped", "broken"] = "grouped",
    weights: ArrayLike | None = None,
    clusters: Any = None,
    crossed: Any = None,
    level: float = 0.95,
) -> Strengths:
    r"""Strengths from rankings: full or partial, with ties (Plackett 1975, Luce 1959; ties as in Turner et al. 2020).

    .. math:: P(i_1 \succ i_2 \succ \dots) = \prod_j \frac{e^{\theta_{i_j}}}{\sum_{l \in A_j} e^{\theta_l}}

    A_j are the items that are not ranked before the j-th. With two items per ranking it is the Bradley–Terry model.

    Parameters
    ----------
    ranks : array, shape (n_rankings, n_items)
        1 is the best; equal ranks are ties. NaN: not presented. inf: presented and not ranked, so below all that are ranked.
    names : sequence of str, optional
        The items; "1", "2", … by default.
    ties : {"grouped", "broken"}
        ``grouped``: a tie of m items is an outcome of its own, with a parameter δ_m for each size of tie (Davidson's model for m = 2). ``broken``: all orders of
        the tied items are taken with equal weight; differences between items that are often tied are then shrunk towards 0.
    weights : array, optional
        How often each ranking counts; 1 by default.
    clusters, crossed : array of labels, optional
        Rankings that are not independent, such as those of one person and those of one item; see `bradley_terry`.
    level : float, default 0.95
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    Strengths

    Examples
    --------
    >>> nan = float("nan")
    >>> fit = plackett_luce([[1, 2, nan, nan], [2, nan, 1, nan], [1, nan, nan, 2], [2, 1, nan, nan], [nan, 1, 2, nan]], names="ABCD")
    >>> round(float(fit.difference("B", "A").value), 4), fit.strength("D").state
    (0.8392, 'below_range')
    """
    check_level(level)
    table = np.asarray(ranks, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2 or not len(table):
        raise InputError(f"ranks: shape {table.shape} where (n_rankings, n_items) is needed, with at least 2 items.")
    if np.isneginf(table).any():
        raise InputError("ranks: −inf is no rank. 1 is the best, inf is presented and not ranked.")
    if ties not in ("grouped", "broken"):
        raise OptionError.unknown("treatment of ties", ties, ("grouped", "broken"))
    labels = tuple(str(name) for name in (names if names is not None else range(1, table.shape[1] + 1)))
    if len(set(labels)) != table.shape[1]:
        raise InputError(
            f"names: {len(set(labels))} different ones for {table.shape[1]} columns of ranks. Give one name per column."
        )
    choices = _ranking_choices(labels, table, ties, _checked_weights(weights, len(table)))
    return _fit(choices, level, [clusters, crossed])


class Comparisons(NamedTuple):
    """Simulated comparisons: ``a`` was shown first."""

    a: Ints
    b: Ints
    outcome: list[str]
    voter: Ints
    covariate: Floats
    item: Ints


def simulate_comparisons(
    strengths: ArrayLike,
    n: int,
    rng: np.random.Generator,
    *,
    tie: float | None = None,
    position: float = 0.0,
    covariate: float = 0.0,
    n_voters: int = 1,
    voter_sd: float = 0.0,
    n_items: int = 1,
    item_sd: float = 0.0,
) -> Comparisons:
    """Comparisons of random pairs by random voters, as the model says.

    Parameters
    ----------
    strengths : array
        True strengths in log odds.
    n : int
        Comparisons.
    rng : numpy.random.Generator
        Source of the random numbers.
    tie : float, optional
        log ν; no ties by default.
    position : float
        Advantage of being shown first.
    covariate : float
        Effect of a standard normal covariate.
    n_voters, voter_sd : int, float
        Voters, and the standard deviation of each voter's own strengths around the true ones.
    n_items, item_sd : int, float
        The same for what is judged, such as the prompts that were answered.
    """
    theta = finite(strengths, "strengths")
    first = rng.integers(len(theta), size=n)
    second = (first + rng.integers(1, len(theta), size=n)) % len(theta)
    voter = rng.integers(n_voters, size=n)
    own = theta + voter_sd * rng.standard_normal((n_voters, len(theta)))
    x = rng.standard_normal(n)
    eta = own[voter, first] - own[voter, second] + position + covariate * x
    item = np.zeros(n, dtype=np.int64)
    if item_sd:
        item = rng.integers(n_items, size=n)
        of_item = item_sd * rng.standard_normal((n_items, len(theta)))
        eta += of_item[item, first] - of_item[item, second]
    odds = np.exp(np.column_stack([eta / 2, -eta / 2, np.full(n, -np.inf if tie is None else tie)]))
    drawn = (rng.random(n)[:, None] > np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)[:, :2]).sum(axis=1)
    return Comparisons(first, second, [("a", "b", "tie")[one] for one in drawn], voter, x, item)


def simulate_rankings(
    strengths: ArrayLike,
    n: int,
    rng: np.random.Generator,
    *,
    n_presented: int | None = None,
    n_ranked: int | None = None,
    tie: float | None = None,
) -> Floats:
    """Ranks as the model says, for `plackett_luce`: NaN where not presented, inf where not ranked.

    Parameters
    ----------
    strengths : array
        True strengths in log odds.
    n : int
        Rankings.
    rng : numpy.random.Generator
        Source of the random numbers.
    n_presented, n_ranked : int, optional
        Items of a ranking, drawn at random, and how many of them get a rank; all by default.
    tie : float, optional
        log δ₂ of ties of two items; no ties by default.
    """
    theta = finite(strengths, "strengths")
    shown = len(theta) if n_presented is None else n_presented
    ranks = np.full((n, len(theta)), np.nan)
    for row in ranks:
        left = list(rng.choice(len(theta), shown, replace=False))
        row[left] = np.inf
        rank = 1
        while left and rank <= (n_ranked or shown):
            sets = [(one,) for one in left] + (list(combinations(left, 2)) if tie is not None else [])
            utility = np.array([theta[list(s)].mean() + (0.0 if len(s) == 1 else tie or 0.0) for s in sets])
            odds = np.exp(utility - utility.max())
            chosen = sets[rng.choice(len(sets), p=odds / odds.sum())]
            row[list(chosen)] = rank
            rank += len(chosen)
            left = [one for one in left if one not in chosen]
    return ranks


def _pair_choices(
    names: tuple[str, ...],
    left: Ints,
    right: Ints,
    won: np.ndarray,
    extra: Mapping[str, Floats],
    weights: Floats,
) -> ChoiceData:
    """One stage for each ordered pair with the same covariates."""
    k, is_tie = len(names), won == "tie"
    has_ties = bool(is_tie[weights > 0].any())
    width = 3 if has_ties else 2
    varying = [name for name in extra if name != "position"]
    if varying:
        key = np.column_stack([left * k + right, *(extra[name] for name in varying)])
        _, where, stage = np.unique(key, axis=0, return_index=True, return_inverse=True)
    else:
        _, where, stage = np.unique(left * k + right, return_index=True, return_inverse=True)
    n_stages, stage = len(where), stage.ravel()
    top = width * np.arange(n_stages)
    row, column, value = [top, top + 1], [left[where], right[where]], [np.ones(n_stages)] * 2
    for number, name in enumerate(extra):
        x = extra[name][where] / 2
        row, column = [*row, top, top + 1], [*column, *[np.full(n_stages, k + number)] * 2]
        value = [*value, x, -x]
    if has_ties:
        at = [left[where], right[where], np.full(n_stages, k + len(extra))]
        row, column = [*row, *[top + 2] * 3], [*column, *at]
        value = [*value, *[np.full(n_stages, 0.5)] * 2, np.ones(n_stages)]
    # θ_a, θ_b and, for a tie, their mean: (θ_a + θ_b)/2 less than in the formula, which changes no probability
    shape = (width * n_stages, k + len(extra) + has_ties)
    design = sparse.csr_matrix((np.concatenate(value), (np.concatenate(row), np.concatenate(column))), shape=shape)
    n = np.arange(len(left))
    outcome = np.where(is_tie, 2, np.where(won == "a", 0, 1))
    winner, loser = np.where(won == "b", right, left), np.where(won == "b", left, right)
    return ChoiceData(
        names=names,
        extras=(*extra, *(["tie"] if has_ties else [])),
        ties={"tie": top + 2} if has_ties else {},
        design=design,
        stage=np.repeat(np.arange(n_stages), width),
        starts=top,
        chosen=top[stage] + np.minimum(outcome, width - 1),
        share=np.ones(len(left)),
        source=n,
        better=np.concatenate([winner, loser[is_tie]]),
        worse=np.concatenate([loser, winner[is_tie]]),
        by=np.concatenate([n, n[is_tie]]),
        weights=weights,
    )


def _ranking_choices(names: tuple[str, ...], ranks: Floats, ties: str, weights: Floats) -> ChoiceData:
    """One stage for each set from which items were chosen."""
    picked: list[tuple[frozenset[int], tuple[int, ...], float, int]] = []
    beats: list[tuple[int, int, int]] = []
    for source, row in enumerate(ranks):
        left = [int(i) for i in np.flatnonzero(~np.isnan(row))]
        for rank in np.unique(row[np.isfinite(row)]):
            group = tuple(i for i in left if row[i] == rank)
            rest = [i for i in left if i not in group]
            if len(group) > 1 and ties == "broken":
                picked += [(*one, source) for one in _orders(group, rest)]
            else:
                picked.append((frozenset(left), group, 1.0, source))
            beats += [(i, j, source) for i in group for j in rest]
            beats += [(i, j, source) for i in group for j in group if i != j]
            left = rest
    sizes = sorted({len(group) for _, group, _, source in picked if weights[source] > 0 and len(group) > 1})
    places: dict[frozenset[int], tuple[int, dict[tuple[int, ...], int]]] = {}
    sets: list[tuple[int, ...]] = []
    stages: list[int] = []
    for among, *_ in picked:
        if among in places or len(among) < 2:
            continue
        n_sets = sum(math.comb(len(among), size) for size in (1, *sizes))
        if n_sets > _MOST_ALTERNATIVES:
            raise InputError(
                f"Ties of up to {sizes[-1]} among {len(among)} items give {n_sets:,} possible outcomes. Use ties='broken'."
            )
        start, ordered = len(sets), sorted(among)
        own = [one for size in (1, *sizes) for one in combinations(ordered, size)]
        sets += own
        places[among] = (start, {one: start + i for i, one in enumerate(own)})
        stages += [len(places) - 1] * len(own)
    seen = [one for one in picked if len(one[0]) > 1 and tuple(sorted(one[1])) in places[one[0]][1]]
    if not seen:
        raise InputError("No ranking has two items. A ranking of one item says nothing.")
    length = np.array([len(one) for one in sets])
    row = np.repeat(np.arange(len(sets)), length)
    column = np.concatenate([np.array(one) for one in sets])
    value = np.repeat(1 / length, length)
    parameters = {f"tie of {size}" if size > 2 else "tie": np.flatnonzero(length == size) for size in sizes}
    for number, members in enumerate(parameters.values()):
        row, value = np.concatenate([row, members]), np.concatenate([value, np.ones(len(members))])
        column = np.concatenate([column, np.full(len(members), len(names) + number)])
    better, worse, by = (np.array([one[i] for one in beats], dtype=np.int64) for i in range(3))
    return ChoiceData(
        names=names,
        extras=tuple(parameters),
        ties=parameters,
        design=sparse.csr_matrix((value, (row, column)), shape=(len(sets), len(names) + len(parameters))),
        stage=np.array(stages, dtype=np.int64),
        starts=np.array([start for start, _ in places.values()], dtype=np.int64),
        chosen=np.array([places[among][1][tuple(sorted(group))] for among, group, _, _ in seen], dtype=np.int64),
        share=np.array([one[2] for one in seen]),
        source=np.array([one[3] for one in seen], dtype=np.int64),
        better=better,
        worse=worse,
        by=by,
        weights=weights,
    )


def _orders(group: tuple[int, ...], rest: list[int]) -> list[tuple[frozenset[int], tuple[int, ...], float]]:
    """The choices of all orders of tied items, with the share of orders in which each happens."""
    m = len(group)
    if m > _MOST_TIED:
        raise InputError(
            f"{m} items share a rank; orders of at most {_MOST_TIED} are averaged. Give items at the end the rank inf."
        )
    found: list[tuple[frozenset[int], tuple[int, ...], float]] = []
    for taken in range(m):
        share = math.factorial(taken) * math.factorial(m - taken - 1) / math.factorial(m)
        for before in combinations(group, taken):
            left = [i for i in group if i not in before]
            found += [(frozenset([*left, *rest]), (one,), share) for one in left]
    return found


def _checked_weights(weights: ArrayLike | None, n: int) -> Floats:
    if weights is None:
        return np.ones(n)
    values = finite(weights, "weights")
    if len(values) != n or (values < 0).any() or not values.any():
        raise InputError(f"weights: {n:,} numbers from 0 on are needed, not all 0; {len(values):,} were given.")
    return values


_REASONS: dict[str, str] = {
    "above_range": "it was always preferred, so nothing limits its strength from above",
    "below_range": "it was never preferred, so nothing limits its strength from below",
    "unbounded": "a covariate or the position explains every outcome",
    "undefined": "no comparisons link it with the others in both directions",
}


def _fit(choices: ChoiceData, level: float, clusterings: Sequence[Any]) -> Strengths:
    kinds = []
    for labels in clusterings:
        if labels is None:
            continue
        code, n = codes(labels, "clusters"), len(choices.weights)
        if len(code) != n:
            raise InputError(
                f"Lengths differ: {n:,} observations, {len(code):,} cluster labels. Give one label for each."
            )
        # clusters without weight do not count
        kinds.append(np.searchsorted(np.unique(code[choices.weights > 0]), code))
    solved = solve(choices, choices.weights)
    k = len(choices.names)
    live = solved.is_live[:k]
    is_far = bool(np.abs(solved.parameters).max(initial=0.0) > _FAR) or not solved.converged
    n_clusters = min((int(kind[choices.weights > 0].max()) + 1 for kind in kinds), default=None)
    covariance, df = covariance_of(choices, solved, kinds)
    states: list[State] = [
        "ok" if is_one else "undefined" if math.isnan(end) else "above_range" if end > 0 else "below_range"
        for end, is_one in zip(solved.beyond.tolist(), live, strict=True)
    ]
    values = np.where(live, solved.parameters[:k], np.nan)
    if is_far:  # without a finite maximum no number is to be read
        states = ["unbounded" if state == "ok" else state for state in states]
        values = np.full(k, np.nan)
    outside = np.array([state != "ok" for state in states])
    inner = covariance[:k, :k].copy()
    inner[outside] = np.nan
    inner[:, outside] = np.nan
    effects = {}
    for number, name in enumerate(choices.extras, start=k):
        if not solved.is_live[number]:
            reason = "the strengths explain it as well, or it never varies"
            effects[name] = Estimate.without("undefined", reason, level=level)
        elif is_far:
            effects[name] = Estimate.without("unbounded", _REASONS["unbounded"], level=level)
        else:
            effects[name] = _with_interval(
                float(solved.parameters[number]), float(covariance[number, number]), df, level
            )
    return Strengths(
        names=choices.names,
        values=values,
        states=tuple(states),
        covariance=inner,
        effects=effects,
        log_likelihood=solved.log_likelihood,
        n=len(choices.weights),
        n_clusters=n_clusters,
        df=df,
        level=level,
        choices=choices,
        clusters=tuple(kinds),
    )


def _with_interval(value: float, variance: float, df: float, level: float) -> Estimate:
    if not math.isfinite(variance) or df < 1:
        return Estimate(
            value,
            level=level,
            reason="one cluster; an interval needs two",
            low_state="too_few",
            high_state="too_few",
        )
    quantile = normal_quantile(level) if math.isinf(df) else t_quantile(level, df)
    reach = quantile * math.sqrt(max(variance, 0.0))
    return Estimate(value, value - reach, value + reach, level)
