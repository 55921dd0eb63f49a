"""Differences of many pairs at once: pairs over the same items are computed together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import bdtr

from howsure.estimates import Estimate
from howsure.evals.item_means import Items, Noise, without_bounds
from howsure.stats._arrays import Bools, Floats, Ints
from howsure.stats.fixed_items import fixed_difference
from howsure.stats.means import Mean, paired_differences
from howsure.stats.permutation import sign_flips

__all__ = [
    "PairBatch",
    "TestedPair",
    "batch_of",
    "batches",
    "cluster_totals",
    "difference_of",
    "noises",
    "share_of",
    "tested_pairs",
    "two_sided",
    "weights_of",
]

_SIDE = ("mean", "n", "spread", "is_binary")


@dataclass(frozen=True)
class PairBatch:
    """Pairs over the same items; the sides have one row per item and one column per pair.

    ``places`` are the positions of the pairs in the list that was asked for. ``n_unshared`` counts the items that only one of the two has.
    """

    places: Ints
    mean: tuple[Floats, Floats]
    n: tuple[Floats, Floats]
    spread: tuple[Floats, Floats]
    is_binary: tuple[Bools, Bools]
    evals: Ints
    clusters: Ints
    n_unshared: Ints

    @property
    def differences(self) -> Floats:
        """The difference of each pair at each item."""
        return self.mean[0] - self.mean[1]

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.evals)

    @property
    def n_evals(self) -> int:
        """The number of evals that the items are from."""
        return len(np.unique(self.evals))


@dataclass(frozen=True)
class TestedPair:
    """One pair: its mean difference, the p-value of no difference and the test, and the share of repeats in the squared standard error."""

    __test__ = False  # pytest would collect a class of this name

    mean: Mean
    p: float | None
    test: str
    n_items: int
    n_evals: int
    n_unshared: int
    noise: Noise | None


def batches(items: Items, pairs: Sequence[tuple[str, str]]) -> Iterator[PairBatch]:
    """The pairs in batches over the same items, as `Items.paired` pairs them.

    Parameters
    ----------
    items : Items
        The items of all subjects.
    pairs : sequence of (str, str)
        Names of subjects.
    """
    place_of = {name: place for place, name in enumerate(items.subjects)}
    known = {pair: place for place, pair in enumerate(pairs) if set(pair) <= place_of.keys()}
    if not _is_simple(items):
        for (a, b), place in known.items():
            yield _single(items, a, b, place)
        return
    grid = _Grid(items)
    first, second = (np.array([place_of[pair[side]] for pair in known], dtype=np.int64) for side in (0, 1))
    shared = grid.has[:, first] & grid.has[:, second]
    patterns, group = np.unique(np.packbits(shared, axis=0), axis=1, return_inverse=True)
    places = np.array(list(known.values()), dtype=np.int64)
    n_unshared = grid.has.sum(axis=0)[first] + grid.has.sum(axis=0)[second] - 2 * shared.sum(axis=0)
    for number in range(patterns.shape[1]):
        own = np.flatnonzero(group.ravel() == number)
        rows = np.flatnonzero(shared[:, own[0]])
        sides = [
            [part[np.ix_(rows, one[own])] for part in (grid.mean, grid.n, grid.spread, grid.is_binary)]
            for one in (first, second)
        ]
        mean, n, spread, is_binary = zip(*sides, strict=True)
        yield PairBatch(places[own], mean, n, spread, is_binary, grid.evals[rows], grid.clusters[rows], n_unshared[own])


def _is_simple(items: Items) -> bool:
    """Whether the pairs of items are those of their means: not where pairs share other cells than all subjects do, or where absent items count."""
    if items.absent == "fill" and items.fill is not None:
        n_items = items.tried.select("eval", "task").n_unique()
        if len(items.tried) < n_items * len(items.subjects):
            return False
    if not items.factors:
        return True
    return items.shared_cells is not None and len(items.cells) == len(items.frame) * (
        len(items.shared_cells) / max(len(items.evals), 1)
    )


class _Grid:
    """Item means as arrays, one row per item and one column per subject."""

    def __init__(self, items: Items) -> None:
        frame = items.frame
        labels = frame.select("eval", "task", "cluster").unique(["eval", "task"], keep="first").sort("eval", "task")
        labels = labels.with_row_index("#item")
        item = frame.select("eval", "task").join(labels, on=["eval", "task"], how="left", maintain_order="left")[
            "#item"
        ]
        place = {name: number for number, name in enumerate(items.subjects)}
        subject = frame["subject"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        shape = (len(labels), len(items.subjects))
        self.has = np.zeros(shape, dtype=np.bool_)
        self.has[item.to_numpy(), subject] = True
        self.mean, self.n, self.spread = (np.full(shape, np.nan) for _ in range(3))
        self.is_binary = np.zeros(shape, dtype=np.bool_)
        for name in _SIDE:
            getattr(self, name)[item.to_numpy(), subject] = frame[name].to_numpy()
        self.evals, self.clusters = (
            labels[name].rank("dense").cast(pl.Int64).to_numpy() - 1 for name in ("eval", "cluster")
        )


def _single(items: Items, a: str, b: str, place: int) -> PairBatch:
    """One pair by itself."""
    shared = items.paired(a, b)
    n_unshared = max(len(items.only(a)) + len(items.only(b)) - 2 * len(shared), 0)  # absent items that count are shared
    return batch_of(shared, place, n_unshared, items.frame)


def batch_of(
    shared: pl.DataFrame, place: int = 0, n_unshared: int = 0, everything: pl.DataFrame | None = None
) -> PairBatch:
    """One pair over the items that `Items.paired` gave.

    Parameters
    ----------
    shared : polars.DataFrame
        The items.
    place : int
        The position of the pair in a list.
    n_unshared : int
        Items that only one of the two has.
    everything : polars.DataFrame, optional
        The items of all subjects, so that evals and clusters have the same numbers in all batches.
    """
    mean, n, spread = (
        tuple(shared[f"{name}{end}"].cast(pl.Float64).to_numpy()[:, None] for end in ("", "_b"))
        for name in ("mean", "n", "spread")
    )
    is_binary = tuple(shared[f"is_binary{end}"].to_numpy()[:, None] for end in ("", "_b"))
    evals, clusters = (shared[name].rank("dense").cast(pl.Int64).to_numpy() - 1 for name in ("eval", "cluster"))
    return PairBatch(np.array([place]), mean, n, spread, is_binary, evals, clusters, np.array([n_unshared]))  # type: ignore[arg-type]


def difference_of(items: Items, shared: pl.DataFrame, level: float) -> Mean:
    """The mean difference over the items that `Items.paired` gave.

    Parameters
    ----------
    items : Items
        What the items are.
    shared : polars.DataFrame
        The items.
    level : float
        Coverage of the interval.
    """
    return _means(items, batch_of(shared), level)[0]


def tested_pairs(items: Items, pairs: Sequence[tuple[str, str]], level: float) -> dict[int, TestedPair]:
    """Every pair that shares at least two items, or all its items, by its place in the list.

    In one eval of sampled items the test is McNemar's exact one where every item is one right or wrong answer and its own cluster; else sign flips of
    clusters. Over several evals, and for fixed items, p comes from the distribution that gives the interval, which allows for what small evals do not
    show.

    Parameters
    ----------
    items : Items
        The items of all subjects.
    pairs : sequence of (str, str)
        Names of subjects.
    level : float
        Coverage of the intervals.
    """
    found: dict[int, TestedPair] = {}
    for batch in batches(items, pairs):
        if not batch.n_items or (batch.n_items < 2 and batch.n_unshared.any()):
            continue
        means = _means(items, batch, level)
        p_values, tests = _p_values(items, batch, means)
        noise = noises(items, batch)
        for column, place in enumerate(batch.places.tolist()):
            found[place] = TestedPair(
                means[column],
                p_values[column],
                tests[column],
                batch.n_items,
                batch.n_evals,
                int(batch.n_unshared[column]),
                noise[column],
            )
    return found


def _means(items: Items, batch: PairBatch, level: float) -> list[Mean]:
    strata = batch.evals if items.weights == "evals" else None
    if items.items == "fixed" and items.bounds is None:
        return [
            without_bounds(float(weights_of(items, batch) @ one), batch.n_items, level) for one in batch.differences.T
        ]
    if items.items == "fixed":
        first, second = zip(batch.mean, batch.n, batch.spread, strict=True)

        def side(parts: tuple[Floats, Floats, Floats], column: int) -> tuple[Floats, Floats, Floats]:
            mean, n, spread = (part[:, column] for part in parts)
            return mean, n, spread

        return [
            fixed_difference(side(first, column), side(second, column), strata=strata, level=level)
            for column in range(len(batch.places))
        ]
    width = None if items.bounds is None else 1.0
    return paired_differences(batch.differences, batch.clusters, strata=strata, level=level, width=width).means


def _p_values(items: Items, batch: PairBatch, means: Sequence[Mean]) -> tuple[list[float | None], list[str]]:
    n_pairs = len(means)
    p: list[float | None] = [two_sided(one.p_positive) for one in means]
    tests = ["t"] * n_pairs
    if batch.n_evals != 1 or items.items != "sampled" or batch.n_items < 2:
        return p, tests
    differences = batch.differences
    is_single = ((batch.n[0] == 1) & (batch.n[1] == 1) & batch.is_binary[0] & batch.is_binary[1]).all(axis=0)
    is_single &= len(np.unique(batch.clusters)) == batch.n_items
    fewer = np.minimum((differences > 0).sum(axis=0), (differences < 0).sum(axis=0))
    n_flips = (differences != 0).sum(axis=0)
    exact = np.where(n_flips > 0, np.minimum(2 * bdtr(fewer, np.maximum(n_flips, 1), 0.5), 1.0), 1.0)
    flipped = np.ones(n_pairs)
    if not is_single.all():
        flipped[~is_single] = sign_flips(cluster_totals(differences[:, ~is_single], batch.clusters))
    tests = np.where(is_single, "McNemar", "sign flip").tolist()
    return np.where(is_single, exact, flipped).tolist(), tests


def cluster_totals(values: Floats, clusters: Ints) -> Floats:
    """The sum of each cluster's rows, for each column.

    Parameters
    ----------
    values : array, shape (n_items, n_pairs)
        One column per pair.
    clusters : array of int
        The cluster of each item.
    """
    if len(np.unique(clusters)) == len(values):
        return values
    totals = np.zeros((int(clusters.max()) + 1, values.shape[1]))
    np.add.at(totals, clusters, values)
    return totals


def two_sided(p_a_greater: float | None) -> float | None:
    """The two-sided p-value that belongs to a probability of being above 0."""
    return None if p_a_greater is None else 2 * min(p_a_greater, 1 - p_a_greater)


def weights_of(items: Items, batch: PairBatch) -> Floats:
    """How much each item counts in a difference; they sum to 1.

    Parameters
    ----------
    items : Items
        What the items are.
    batch : PairBatch
        The items of some pairs.
    """
    names, evals = np.unique(batch.evals, return_inverse=True)
    if items.weights == "items":
        return np.full(batch.n_items, 1 / max(batch.n_items, 1))
    return np.asarray(1 / np.bincount(evals)[evals] / len(names), dtype=np.float64)


def noises(items: Items, batch: PairBatch) -> list[Noise | None]:
    """How much repeats of an item vary, for each pair; None where no item was repeated by both.

    Parameters
    ----------
    items : Items
        What the items are.
    batch : PairBatch
        The pairs.
    """
    n_pairs = len(batch.places)
    names, evals = np.unique(batch.evals, return_inverse=True)
    weights = weights_of(items, batch)
    member = np.eye(len(names))[evals].T
    sides = []
    for n, spread in zip(batch.n, batch.spread, strict=True):
        df, total = member @ (n - 1), member @ spread
        sides.append((df, total, member @ ((weights**2)[:, None] / n)))
    found: list[Noise | None] = []
    for column in range(n_pairs):
        parts, pooled = [], []
        for df, total, weight in sides:
            own = df[:, column].round().astype(int)
            pooled.append((float(total[:, column].sum()), int(own.sum())))
            parts += [
                (float(total[e, column] / max(own[e], 1) * weight[e, column]), int(own[e])) for e in range(len(names))
            ]
        if any(df == 0 for _, df in pooled):
            found.append(None)
            continue
        (total_a, df_a), (total_b, df_b) = pooled
        found.append(Noise(total_a / df_a, total_b / df_b, df_a, df_b, tuple(parts)))
    return found


def share_of(items: Items, pair: TestedPair, level: float) -> Estimate:
    """The share of repeats in the squared standard error of a pair.

    Parameters
    ----------
    items : Items
        The items.
    pair : TestedPair
        The pair.
    level : float
        Coverage of the interval.
    """
    if items.items == "fixed":
        return Estimate.without(
            "undefined", "with fixed items, all of the standard error comes from repeats", level=level
        )
    if pair.noise and pair.mean.se and pair.mean.df:
        return pair.noise.share(pair.mean.se, pair.mean.df, level)
    if pair.noise:
        return Estimate.without("undefined", "the difference is the same for all items", level=level)
    return Estimate.without("too_few", "no item was repeated by both", level=level)
