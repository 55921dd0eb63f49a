"""Differences between subjects, paired by task."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.evals.items import ALL, Items, item_weights, items_of
from howsure.frames import write_frame
from howsure.results import Provenance, plain, write_json
from howsure.stats.means import Mean
from howsure.stats.multiplicity import benjamini_hochberg, holm
from howsure.stats.permutation import mcnemar, permutation, sign_flip
from howsure.tables import Attempts

if TYPE_CHECKING:
    import altair

__all__ = ["CORRECTIONS", "Comparison", "Difference", "compare"]

CORRECTIONS = {"holm": holm, "bh": benjamini_hochberg}


@dataclass(frozen=True)
class Difference:
    """How much better a is than b on one group of tasks, and how sure that is.

    ``p_better`` is the probability that a is truly better. ``from_repeats`` is the share of the squared standard error
    that comes from repeats of an item varying, which more repeats would remove; the rest comes from items differing.
    ``estimand`` says what the difference is a mean of.
    """

    a: str
    b: str
    task: str
    difference: Estimate
    p: float | None
    test: str
    p_better: float | None
    n_tasks: int
    n_clusters: int
    n_unshared: int
    from_repeats: Estimate | None
    estimand: str
    p_adjusted: float | None = None


@dataclass(frozen=True)
class Comparison:
    """All pairs that were asked for, and what made them."""

    pairs: tuple[Difference, ...]
    provenance: Provenance

    def to_frame(self) -> pl.DataFrame:
        """One row a pair and group: a, b, task, difference, low, high, p, p_adjusted, test, p_better, counts, state."""
        rows = []
        for pair in self.pairs:
            row = {name: value for name, value in vars(pair).items() if name not in ("difference", "from_repeats")}
            found, repeats = pair.difference, pair.from_repeats
            ends = {"difference": found.value, "low": found.low, "high": found.high, "state": found.state}
            names = ("from_repeats", "from_repeats_low", "from_repeats_high")
            split = (repeats.value, repeats.low, repeats.high) if repeats else (None, None, None)
            rows.append(
                {name: row.pop(name) for name in ("a", "b", "task")} | ends | row | dict(zip(names, split, strict=True))
            )
        return pl.DataFrame(rows, infer_schema_length=None)

    def as_dict(self) -> dict[str, Any]:
        """The whole result as plain JSON."""
        return {"pairs": plain(self.to_frame().to_dicts()), "provenance": plain(self.provenance)}

    def chart(self) -> altair.LayerChart:
        """Differences with intervals."""
        from howsure.evals.charts import draw_comparison

        return draw_comparison(self)

    def charts(self) -> dict[str, altair.LayerChart]:
        """The same by its file name."""
        return {"compare": self.chart()}

    def save(self, folder: Path) -> list[Path]:
        """Write compare.csv and compare.json."""
        return [
            write_frame(self.to_frame(), folder / "compare.csv"),
            write_json(self.as_dict(), folder / "compare.json"),
        ]


def compare(
    attempts: Attempts,
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
    """Differences of subjects, paired by item: `a` with `b`, `a` with all others, or all pairs.

    Every item that both tried counts once, with the mean of its attempts; over several evals, every eval that all compared
    subjects tried counts once. So a difference equals that of two means of `summarise` where both tried the same items.
    Where two subjects share fewer than two items, their means are compared unpaired, and ``test`` says so. The p-values of
    all pairs are corrected together.
    """
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
    return Comparison(_adjusted(found, correction), Provenance.of(attempts, seed=seed, notes=notes, **settings))


def _pairs(subjects: Sequence[str], a: str | None, b: str | None) -> list[tuple[str, str]]:
    for name in (a, b):
        if name is not None and name not in subjects:
            raise OptionError.unknown("subject", name, subjects)
    if a is not None and a == b:
        raise OptionError(f"--a and --b are both {a!r}. Name two subjects.")
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
    p, test = _paired_test(shared, seed)
    noise = items.noise(shared)
    repeats = noise.share(mean.se, mean.df, level) if noise and mean.se and mean.df else None
    counts = len(shared), mean.n_clusters, n_unshared
    return Difference(a, b, items.label, mean.estimate, p, test, _p_better(mean), *counts, repeats, items.estimand)


def _unpaired(items: Items, a: str, b: str, level: float, seed: int) -> Difference:
    x, y = (items.only(subject)["mean"].to_numpy() for subject in (a, b))
    if not len(x) or not len(y):
        reason = f"no eval was tried by all {len(items.subjects)} subjects; name two to compare"
        none = Estimate.without("undefined", reason, level=level)
        return Difference(a, b, items.label, none, None, "none", None, 0, 0, len(x) + len(y), None, items.estimand)
    mean = items.unpaired_of(a, b, level)
    better = _p_better(mean)
    if len(items.evals) == 1:
        p, test = permutation(x, y, seed=seed).p if mean.se is not None else None, "permutation, unpaired"
    else:  # whose items count unequally, so that they cannot change sides
        p, test = None if better is None else 2 * min(better, 1 - better), "t, unpaired"
    counts = 0, mean.n_clusters, len(x) + len(y)
    return Difference(a, b, items.label, mean.estimate, p, test, better, *counts, None, items.estimand)


def _paired_test(shared: pl.DataFrame, seed: int) -> tuple[float, str]:
    """McNemar's exact test where every item is one right or wrong answer, its own cluster, and counts as much as the others; else
    sign flips of clusters.
    """
    weights = item_weights(shared) * len(shared)
    difference = shared["mean"].to_numpy() - shared["mean_b"].to_numpy()
    is_single = (shared["n"] == 1).all() and (shared["n_b"] == 1).all() and shared["cluster"].n_unique() == len(shared)
    if is_single and shared["is_binary"].all() and shared["is_binary_b"].all() and np.allclose(weights, 1):
        return mcnemar(int(np.sum(difference > 0)), int(np.sum(difference < 0))).p, "McNemar"
    return sign_flip(difference * weights, shared["cluster"].to_numpy(), seed=seed).p, "sign flip"


def _p_better(mean: Mean) -> float | None:
    """Probability that the difference is above 0, by the t distribution that its interval rests on."""
    from scipy.special import stdtr

    if mean.se is None or mean.df is None or mean.estimate.value is None:
        return None
    if not mean.se:
        return 0.5 if not mean.estimate.value else None
    return float(stdtr(mean.df, mean.estimate.value / mean.se))


def _adjusted(found: Sequence[Difference], correction: str) -> tuple[Difference, ...]:
    p_by_index = {index: pair.p for index, pair in enumerate(found) if pair.p is not None}
    if p_by_index:
        adjusted = CORRECTIONS[correction](list(p_by_index.values()))
        p_by_index = dict(zip(p_by_index, adjusted.tolist(), strict=True))
    return tuple(replace(pair, p_adjusted=p_by_index.get(index)) for index, pair in enumerate(found))
