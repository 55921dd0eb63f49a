"""Differences between subjects, paired by item."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.evals.item_means import ALL, Items, items_of
from howsure.results import Provenance, Result, columns_of
from howsure.stats.multiplicity import benjamini_hochberg, holm
from howsure.stats.permutation import mcnemar, permutation, sign_flip
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.tables.frames import Source

__all__ = ["CORRECTIONS", "Comparison", "Difference", "compare"]

CORRECTIONS = {"holm": holm, "bh": benjamini_hochberg}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How much higher the mean score of a is than that of b on one group of tasks.

    ``p_a_greater`` is the probability that the true difference is above 0. ``within_item_share`` is the share of the squared
    standard error that comes from variation between repeats of an item, which more repeats would remove; the rest comes from
    variation between items. ``estimand`` says what the difference is a mean of.
    """

    a: str
    b: str
    task: str
    difference: Estimate
    p: float | None
    p_adjusted: float | None = None
    test: str
    p_a_greater: float | None
    n_items: int
    n_clusters: int
    n_unshared: int
    within_item_share: Estimate
    estimand: str


@dataclass(frozen=True, kw_only=True)
class Comparison(Result):
    """Differences of pairs of subjects.

    Table ``compare``: one row per pair and group of tasks.

    =====================  ==============================================================================================
    a, b                   the two subjects
    task                   the group of tasks: a domain (the eval), a family, a task, or ``all``
    difference             mean of a minus mean of b, with difference_low, difference_high and difference_state
    p, p_adjusted          p-value of no difference, and corrected for the number of pairs
    test                   the test that gave it
    p_a_greater            probability that the true difference is above 0
    n_items                number of items that both tried
    n_clusters             number of independent clusters
    n_unshared             number of items that only one of them tried
    within_item_share      share of the squared standard error from repeats of an item, with its interval and state
    estimand               what the difference is a mean of
    =====================  ==============================================================================================

    Parameters
    ----------
    pairs : tuple[Difference, ...]
        One entry per pair and group of tasks.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "compare"
    pairs: tuple[Difference, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``compare``."""
        rows = [
            {"a": d.a, "b": d.b, "task": d.task}
            | columns_of(difference=d.difference)
            | {"p": d.p, "p_adjusted": d.p_adjusted, "test": d.test, "p_a_greater": d.p_a_greater}
            | {"n_items": d.n_items, "n_clusters": d.n_clusters, "n_unshared": d.n_unshared}
            | columns_of(within_item_share=d.within_item_share)
            | {"estimand": d.estimand}
            for d in self.pairs
        ]
        return {"compare": pl.DataFrame(rows, infer_schema_length=None)}

    def charts(self) -> dict[str, Chart]:
        """One chart, ``compare``: differences with intervals."""
        from howsure.evals.charts import draw_comparison

        return {"compare": draw_comparison(self)}


def compare(
    attempts: Attempts | Source,
    a: str | None = None,
    b: str | None = None,
    *,
    by: str | None = ALL,
    cluster: str = "task",
    correction: str = "holm",
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Differences between subjects, paired by item: `a` with `b`, `a` with all others, or all pairs.

    Every item that both tried counts once, with the mean of its attempts; over several evals, every eval that all compared
    subjects tried counts once. So a difference equals that of two means of `summary` where both tried the same items.
    Where two subjects share fewer than two items, their means are compared unpaired, and ``test`` says so.

    Parameters
    ----------
    attempts : Attempts, frame or path
        One row per attempt: an `Attempts` table, a polars, pandas or pyarrow frame with its columns, or a file.
    a, b : str, optional
        The subjects. With one of them: its differences to all others. Without: all pairs.
    by : {"all", "domain", "family", "task"}, default "all"
        One comparison per pair and value of this column.
    cluster : {"task", "family", "domain", "none"}, default "task"
        Items of one cluster are not independent. Tasks with the same content (``item_digest``) are one cluster.
    correction : {"holm", "bh"}, default "holm"
        Correction of the p-values of all pairs together: Holm, or Benjamini–Hochberg.
    level : float, default 0.95
        Coverage of the intervals, between 0 and 1.
    seed : int, default 0
        For the random sign flips or permutations of the test. The same seed gives the same numbers.
    progress : callable, optional
        Called with the number of finished pairs and of all pairs.

    Returns
    -------
    Comparison
        Pairs with `Estimate` objects, and the table ``compare``.

    Raises
    ------
    InputError
        If there are not two subjects with attempts to compare.
    OptionError
        If a subject, column or correction does not exist.

    Examples
    --------
    >>> import howsure
    >>> howsure.compare("examples/evals/attempts.csv", "amber-2", "amber-1").pairs[0].difference  # doctest: +SKIP
    """
    attempts = Attempts.of(attempts)
    if correction not in CORRECTIONS:
        raise OptionError.unknown("correction", correction, CORRECTIONS)
    there = attempts.lazy.select(pl.col("subject").unique().sort()).collect()["subject"].to_list()
    compared = {name for pair in _pairs(there, a, b) for name in pair}
    if not compared:
        raise InputError("There is only one subject to compare. Add the attempts of another.")
    groups = list(items_of(attempts, by, cluster=cluster, subjects=sorted(compared)))
    wanted = [
        (items, pair)
        for items in groups
        for pair in _pairs(there, a, b)
        if items.label == ALL or set(pair) <= set(items.subjects)
    ]
    if not wanted:
        raise InputError(f"No {by} was tried by two of the subjects, so there is nothing to compare.")
    found = []
    for done, (items, (first, second)) in enumerate(wanted, 1):
        found.append(_difference(items, first, second, level, seed))
        if progress:
            progress(done, len(wanted))
    settings: dict[str, Any] = {"by": by or "default", "cluster": cluster, "correction": correction, "level": level}
    notes = [note for items in groups if items.label == ALL or by == "domain" for note in items.notes]
    provenance = Provenance.of(attempts, seed=seed, notes=notes, **settings)
    return Comparison(pairs=_adjusted(found, correction), provenance=provenance)


def _pairs(subjects: Sequence[str], a: str | None, b: str | None) -> list[tuple[str, str]]:
    for name in (a, b):
        if name is not None and name not in subjects:
            raise OptionError.unknown("subject", name, subjects)
    if a is not None and a == b:
        raise OptionError(f"a and b are both {a!r}. Name two subjects.")
    if a is None and b is None:
        return list(itertools.combinations(subjects, 2))
    if a is not None and b is not None:
        return [(a, b)]
    return [(a or other, b or other) for other in subjects if other != (a or b)]


def _difference(items: Items, a: str, b: str, level: float, seed: int) -> Difference:
    shared = items.paired(a, b)
    n_unshared = len(items.only(a)) + len(items.only(b)) - 2 * len(shared)
    if len(shared) < 2:
        return _unpaired(items, a, b, level, seed)
    mean = items.difference_of(shared, level)
    # over several evals p comes from the distribution that gives the interval, which allows for what small evals do not show
    is_single = shared["eval"].n_unique() == 1
    p, test = _paired_test(shared, seed) if is_single else (_two_sided(mean.p_positive), "t")
    noise = items.noise(shared)
    if noise and mean.se and mean.df:
        share = noise.share(mean.se, mean.df, level)
    elif noise:
        share = Estimate.without("undefined", "the difference is the same for all items", level=level)
    else:
        share = Estimate.without("too_few", "no item was repeated by both", level=level)
    return Difference(
        a=a,
        b=b,
        task=items.label,
        difference=mean.estimate,
        p=p,
        test=test,
        p_a_greater=mean.p_positive,
        n_items=len(shared),
        n_clusters=mean.n_clusters,
        n_unshared=n_unshared,
        within_item_share=share,
        estimand=items.estimand,
    )


def _unpaired(items: Items, a: str, b: str, level: float, seed: int) -> Difference:
    x, y = (items.only(subject)["mean"].to_numpy() for subject in (a, b))
    pair = Difference(
        a=a,
        b=b,
        task=items.label,
        difference=Estimate.without(
            "undefined", f"no eval was tried by all {len(items.subjects)} subjects; name two to compare", level=level
        ),
        p=None,
        test="none",
        p_a_greater=None,
        n_items=0,
        n_clusters=0,
        n_unshared=len(x) + len(y),
        within_item_share=Estimate.without("undefined", "they share fewer than two items", level=level),
        estimand=items.estimand,
    )
    if not len(x) or not len(y):
        return pair
    mean = items.unpaired_of(a, b, level)
    greater = mean.p_positive
    if len(items.evals) == 1:
        p, test = permutation(x, y, seed=seed).p if mean.se is not None else None, "permutation, unpaired"
    else:  # whose items count unequally, so that they cannot change sides
        p, test = _two_sided(greater), "t, unpaired"
    return replace(pair, difference=mean.estimate, p=p, test=test, p_a_greater=greater, n_clusters=mean.n_clusters)


def _paired_test(shared: pl.DataFrame, seed: int) -> tuple[float, str]:
    """In one eval: McNemar's exact test where every item is one right or wrong answer and its own cluster; else sign flips of
    clusters.
    """
    difference = shared["mean"].to_numpy() - shared["mean_b"].to_numpy()
    is_single = (shared["n"] == 1).all() and (shared["n_b"] == 1).all() and shared["cluster"].n_unique() == len(shared)
    if is_single and shared["is_binary"].all() and shared["is_binary_b"].all():
        return mcnemar(int(np.sum(difference > 0)), int(np.sum(difference < 0))).p, "McNemar"
    return sign_flip(difference, shared["cluster"].to_numpy(), seed=seed).p, "sign flip"


def _two_sided(p_a_greater: float | None) -> float | None:
    return None if p_a_greater is None else 2 * min(p_a_greater, 1 - p_a_greater)


def _adjusted(found: Sequence[Difference], correction: str) -> tuple[Difference, ...]:
    p_by_index = {index: pair.p for index, pair in enumerate(found) if pair.p is not None}
    if p_by_index:
        adjusted = CORRECTIONS[correction](list(p_by_index.values()))
        p_by_index = dict(zip(p_by_index, adjusted.tolist(), strict=True))
    return tuple(replace(pair, p_adjusted=p_by_index.get(index)) for index, pair in enumerate(found))
