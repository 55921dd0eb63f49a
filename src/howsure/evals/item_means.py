"""Item means: every mean and every difference is computed from them, so that both are about the same quantity.

An item counts once, with the mean of its attempts. Where runs differ in other factors, such as the prompt or the judge, an item counts with the
mean of its cells (combinations of their values), each cell once: values of a factor are never repeats. Over several evals (domains), each eval
that all subjects tried counts once, with the mean of its items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import polars as pl
from scipy.special import fdtri

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.evals.variants import completed
from howsure.stats._arrays import Floats
from howsure.stats.fixed_items import fixed_mean
from howsure.stats.means import Bounds, Mean, mean, unpaired_difference
from howsure.tables import Attempts
from howsure.tables.outcomes import Policy

__all__ = [
    "ALL",
    "CLUSTERS",
    "GROUPS",
    "ITEMS",
    "MOST_MISSING",
    "WEIGHTS",
    "Items",
    "Noise",
    "Ways",
    "default_cluster",
    "grouping_notes",
    "groups_of",
    "item_weights",
    "items_of",
    "without_bounds",
]

ALL = "all"
GROUPS = ("all", "domain", "family", "task")
CLUSTERS = ("task", "family", "domain", "none")
ITEMS = ("sampled", "fixed")
WEIGHTS = ("evals", "items")

_NONE = "(none)"
_MOST_NAMED = 4
_FEW_FAMILIES = 5
_LARGE_EFFECT = 1.25  # of a column that groups items: a design effect above it is said
_SKEWED = 0.3  # skewness of a mean, which few means of scores with short tails have


@dataclass(frozen=True)
class Noise:
    """Variance from one attempt at an item to the next of two subjects, pooled over items, with its degrees of freedom.

    ``parts`` are what the subjects add to the variance of the mean difference, with degrees of freedom: one for each subject and
    eval, since one eval may be noisier than another.
    """

    within_a: float
    within_b: float
    df_a: int
    df_b: int
    parts: tuple[tuple[float, int], ...]

    def share(self, se: float, df: float, level: float) -> Estimate:
        r"""Share of the squared standard error that comes from repeats of an item, with an interval.

        The two variances are independent, so their ratio has about an F distribution, with Satterthwaite's degrees of freedom for
        the sum of the parts. Where items differed less than repeats alone would make them, the share is 1.
        """
        if not all(df for _, df in self.parts):
            return Estimate.without("too_few", "no item of one of the evals was repeated", level=level)
        total = sum(part for part, _ in self.parts)
        if not total:
            return Estimate.without(
                "undefined", "repeats of an item never differ, so their variance is not known", value=0.0, level=level
            )
        df_noise = total**2 / sum(part**2 / df for part, df in self.parts)
        ratio, tail = total / se**2, (1 - level) / 2
        low, high = (ratio / float(fdtri(df_noise, df, q)) for q in (1 - tail, tail))
        if low >= 1:
            reason = "items differ less than repeats alone would make them"
            return Estimate.without("undefined", reason, value=1.0, level=level)
        return Estimate(min(ratio, 1.0), low, min(high, 1.0), level)


@dataclass(frozen=True)
class Items:
    """Item means of every subject on one group of tasks.

    ``cells`` has one row for each subject, item and cell: subject, eval, task, cell, mean, n (attempts), spread (sum of squared deviations
    of the attempts from their mean), is_binary, is_free (scores of any size), is_lower (lower is better), cluster, family. ``factors`` are the columns whose
    values make the cells. ``excluded`` names the evals that not all subjects tried, ``lacking`` the subjects that lack one of them, ``apart`` those
    whose scores cannot be averaged with the others. ``items`` is ``sampled`` (intervals are about items like these) or ``fixed`` (about exactly these);
    ``weights`` is ``evals`` (every eval counts once) or ``items`` (every item counts once). ``absent`` says whether an item that only
    the other side of a pair has counts (``fill``, with the score ``fill``) or not (``drop``); ``dropped`` has the items and cells that a subject tried,
    but of which no attempt counts.
    """

    label: str
    subjects: tuple[str, ...]
    cells: pl.DataFrame
    cluster: str
    factors: tuple[str, ...] = ()
    absent: str = "drop"
    fill: float | None = 0.0
    dropped: pl.DataFrame | None = None
    excluded: tuple[str, ...] = ()
    items: str = "sampled"
    weights: str = "evals"
    apart: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row for each subject and item, over the cells that all subjects have (their own, where none is shared).

        ``n`` − 1 is the number of repeats within cells, and ``spread`` their sum of squares, scaled so that spread/(n − 1)/n is the variance of the
        mean from repeats. ``n_attempts`` counts attempts, ``n_cells`` cells.
        """
        if not self.factors:
            return self.cells.with_columns(n_attempts=pl.col("n"), n_cells=pl.lit(1, pl.Int64))
        return _over_cells(
            self.cells
            if self.shared_cells is None
            else self.cells.join(self.shared_cells, on=["eval", "cell"], how="semi", maintain_order="left")
        )

    @cached_property
    def shared_cells(self) -> pl.DataFrame | None:
        """The cells of each eval that all of its subjects have; None where an eval has none, or where there are no factors."""
        if not self.factors:
            return None
        n_of_eval = self.cells.group_by("eval").agg(pl.col("subject").n_unique().alias("of"))
        cells = (
            self.cells.group_by("eval", "cell").agg(pl.col("subject").n_unique().alias("n")).join(n_of_eval, on="eval")
        )
        shared = cells.filter(pl.col("n") == pl.col("of")).select("eval", "cell")
        return shared if shared["eval"].n_unique() == len(n_of_eval) else None

    @cached_property
    def tried(self) -> pl.DataFrame:
        """The items that each subject tried, whether or not an attempt counts."""
        parts = [self.cells, *([] if self.dropped is None else [self.dropped])]
        return pl.concat([one.select("subject", "eval", "task") for one in parts]).unique()

    def notes_of_clusters(self, level: float) -> list[str]:
        """What to say where few families decide the interval, or where a column groups items that resemble each other."""
        if self.cluster != "family" or self.frame.is_empty():
            return []
        sizes = (
            self.frame.group_by("subject", "cluster")
            .len()
            .group_by("subject")
            .agg((pl.col("len").sum() ** 2 / (pl.col("len") ** 2).sum()).alias("n"))
        )
        n = float(sizes["n"].min() or 0.0)  # type: ignore[arg-type]
        if n >= _FEW_FAMILIES:
            return []
        by_task = replace(
            self, cluster="task", cells=self.cells.with_columns(cluster=pl.concat_str("eval", "task", separator="\x1f"))
        )
        shown = [f"{name} {by_task.mean_of(name, level).estimate}" for name in self.subjects[:_MOST_NAMED]]
        return [
            f"{self.label}: there are only {n:.2g} effective families, and the intervals are over families. If items of one family were independent, the "
            f"intervals would be: {'; '.join(shown)}."
        ]

    @cached_property
    def bounds(self) -> Bounds:
        """The lowest and highest possible score; None where scores are of any size."""
        return None if self.cells["is_free"].any() else (0.0, 1.0)

    @cached_property
    def is_lower_better(self) -> bool:
        """Whether lower scores are better."""
        return not self.cells.is_empty() and bool(self.cells["is_lower"].all())

    @cached_property
    def evals(self) -> list[str]:
        """The evals that are included."""
        return self.frame["eval"].unique().sort().to_list()

    @property
    def estimand(self) -> str:
        """What the mean of this group is a mean of."""
        return self.estimand_of(self.frame["eval"].n_unique())

    def estimand_of(self, n: int) -> str:
        """What the mean of items of `n` evals is a mean of; of shared items, fewer evals may be left."""
        what = "mean of item means"
        if n > 1:
            what = f"mean of {n} evals' means of item means" if self.weights == "evals" else f"{what} of {n} evals"
        what = what if self.items == "sampled" else f"{what}, over exactly these items"
        what += f", for exactly these {self.cells_text}" if self.factors else ""
        return f"{what} (lower is better)" if self.is_lower_better else what

    @cached_property
    def cells_text(self) -> str:
        """The factors whose values make the cells, with the number of their values, such as "6 prompts and 3 judges"."""
        counts = [
            (name, self.cells.select(pl.col("cell").struct.field(name).n_unique()).item()) for name in self.factors
        ]
        return " and ".join(f"{n:,} {name}{'s' * (n > 1)}" for name, n in counts)

    @property
    def notes(self) -> list[str]:
        """What is excluded and why, and where subjects tried different items."""
        notes = self._notes_of_cells()
        n = len(self.subjects)
        everyone = "both subjects" if n == 2 else f"all {n} subjects"
        if self.excluded:
            which = "1 eval is" if len(self.excluded) == 1 else f"{len(self.excluded)} evals are"
            lacking = f" (but by all except {_some(self.lacking)})" if len(self.lacking) <= min(3, n // 2) else ""
            notes.append(
                f"{self.label}: {which} excluded, because not tried by {everyone}{lacking}: {_some(self.excluded)}."
            )
        if self.apart:
            which = "1 eval is" if len(self.apart) == 1 else f"{len(self.apart)} evals are"
            notes.append(
                f"{self.label}: {which} excluded, because scores of any size, or of which lower are better, have no common mean with "
                f"others: {_some(self.apart)}."
            )
        n_clusters = self.frame.group_by("subject", "eval").agg(pl.col("cluster").n_unique())
        single = n_clusters.filter(pl.col("cluster") == 1)["eval"].unique().sort().to_list()
        if self.weights == "evals" and 0 < len(single) < len(self.evals):
            which = "1 eval has" if len(single) == 1 else f"{len(single)} evals have"
            notes.append(
                f"{self.label}: {which} a single cluster ({_some(single)}), so the mean over evals has no interval. Add items, or leave such "
                "evals out."
            )
        if self.label == ALL and _NONE in self.evals:
            unnamed = self.frame.filter(pl.col("eval") == _NONE).select("task").n_unique()
            notes.append(
                f"{self.label}: {_items(unnamed)} without a domain, and count as one eval called {_NONE}. Fill the domain in, or leave "
                "these rows out."
            )
        per_task = self.frame.group_by("task").agg(pl.col("eval").n_unique()).filter(pl.col("eval") > 1)
        if len(per_task):
            notes.append(
                f"{self.label}: {_items(len(per_task))} in several domains, and count as a different item in each: "
                f"{_some(per_task['task'].sort().to_list())}."
            )
        if self.items == "fixed" and (once := self.frame.filter(pl.col("n") == 1).select("eval", "task").n_unique()):
            notes.append(
                f"{self.label}: {once:,} of {self.frame.select('eval', 'task').n_unique():,} items have a single attempt, so their variance "
                "within items is not identified; the variance between items is used instead, and the intervals are conservative."
            )
        per_item = self.tried.group_by("eval", "task").len()
        if partial := int((per_item["len"] < len(self.subjects)).sum()):
            notes.append(
                f"{self.label}: {partial:,} of {len(per_item):,} items were not tried by {everyone}. "
                "A mean is over a subject's own items, a difference over those that both tried."
            )
        return notes

    def _notes_of_cells(self) -> list[str]:
        """Which cells do not count because not all subjects have them."""
        if not self.factors or self.label not in (ALL, *self.evals):
            return []
        if self.shared_cells is None:
            return [
                f"{self.label}: the models share no combination of {' and '.join(self.factors)}, so each has the mean over its own."
            ]
        n, n_shared = self.cells.select("eval", "cell").n_unique(), len(self.shared_cells)
        if n == n_shared:
            return []
        return [
            f"{self.label}: {n - n_shared:,} of {n:,} combinations of {' and '.join(self.factors)} are excluded, because not all models have them."
        ]

    def only(self, subject: str) -> pl.DataFrame:
        """All items of one subject."""
        return self._by_subject.get(subject, self.frame.clear())

    @cached_property
    def _by_subject(self) -> dict[str, pl.DataFrame]:
        """Parted once: many pairs are compared."""
        return {str(subject): part for (subject,), part in self.frame.group_by("subject", maintain_order=True)}

    @cached_property
    def _cells_by_subject(self) -> dict[str, pl.DataFrame]:
        return {str(subject): part for (subject,), part in self.cells.group_by("subject", maintain_order=True)}

    def paired(self, a: str, b: str, other: Items | None = None) -> pl.DataFrame:
        """The items that both tried, over the cells that both have; with ``absent`` also those of which one side is absent.

        With `other`, b is taken from there: the same items, where attempts without a score count as something else.
        """
        other = other or self
        first, second = self._side(a), other._side(b)
        keys = ["eval", "task", *(["cell"] if self.factors else [])]
        is_filled = self.absent == other.absent == "fill" and None not in (self.fill, other.fill)
        both = first.join(second, on=keys, suffix="_b", how="full" if is_filled else "inner", coalesce=True)
        if is_filled:
            both = self._with_absent(both, other, a, b, keys)
        elif self.factors and both.is_empty() and self.shared_cells is None:  # no cell in common: each side has its own
            return self.only(a).join(other.only(b), on=["eval", "task"], suffix="_b").sort("eval", "task")
        return (_over_cells(both, ("", "_b")) if self.factors else both).sort("eval", "task")

    def _side(self, subject: str) -> pl.DataFrame:
        """What is paired of one subject: its cells where there are factors, else its items."""
        return self._cells_by_subject.get(subject, self.cells.clear()) if self.factors else self.only(subject)

    def _with_absent(self, both: pl.DataFrame, other: Items, a: str, b: str, keys: Sequence[str]) -> pl.DataFrame:
        """Items and cells that one side lacks count as one attempt with the score `fill`, in evals that both tried."""
        for side, subject in ((self, a), (other, b)):
            if side.dropped is not None:  # tried, so not absent
                both = both.join(side.dropped.filter(pl.col("subject") == subject), on=keys, how="anti")
        evals = set(self.only(a)["eval"]) & set(other.only(b)["eval"])
        columns: list[pl.Expr] = []
        for end, opposite, fill in (("", "_b", self.fill), ("_b", "", other.fill)):
            empty: dict[str, Any] = {
                "mean": fill,
                "n": 1,
                "spread": 0.0,
                "is_binary": True,
                "n_attempts": 0,
                "n_cells": 1,
            }
            columns += [
                pl.col(f"{name}{end}").fill_null(value)
                for name, value in empty.items()
                if f"{name}{end}" in both.columns
            ]
            columns += [
                pl.col(f"{name}{end}").fill_null(pl.col(f"{name}{opposite}"))
                for name in ("is_free", "is_lower", "family", "cluster")
            ]
        return both.filter(pl.col("eval").is_in(evals)).with_columns(columns)

    @cached_property
    def unfilled(self) -> Items:
        """The same, where an item that one side of a pair lacks does not count."""
        return replace(self, absent="drop")

    @cached_property
    def filled(self) -> Items:
        """The same, where an item that one side of a pair lacks counts as wrong."""
        return replace(self, absent="fill")

    def mean_of(self, subject: str, level: float) -> Mean:
        """The mean of one subject, with its interval over clusters and the error if all attempts were independent."""
        own = self.only(subject)
        if own.is_empty():
            reason = f"no eval was tried by all {len(self.subjects)} subjects"
            return Mean(Estimate.without("undefined", reason, level=level), None, 0, 0, None)
        values, evals, n = own["mean"].to_numpy(), self._strata(own), own["n"].to_numpy()
        if self.items == "fixed" and self.bounds is None:
            return without_bounds(float(item_weights(own, self.weights) @ values), len(own), level)
        if self.items == "fixed":
            found = fixed_mean(values, n, own["spread"].to_numpy(), strata=evals, level=level)
        elif self.cluster == "none":
            n = own["n_attempts"].to_numpy()
            scores, item = _single_scores(own), np.repeat(np.arange(len(own)), n)
            strata = None if evals is None else evals[item]
            found = mean(scores, strata=strata, weights=1 / n[item], level=level, bounds=self.bounds)
        else:
            found = mean(values, own["cluster"].to_numpy(), strata=evals, level=level, bounds=self.bounds)
        return replace(found, se_independent=_se_independent(own, self.weights))

    def notes_of_skewness(self, level: float) -> list[str]:
        """What to say where scores without bounds are so skewed that intervals are too short."""
        if self.bounds is not None or self.cluster == "none":
            return []
        skewed = [name for name in self.subjects if abs(self.mean_of(name, level).skewness) > _SKEWED]
        if not skewed:
            return []
        return [
            f"{self.label}: a few large scores dominate the mean of {_some(skewed)}. The interval is corrected for skewness, but with scores like these it contains "
            "the true mean less often than stated (see 'mean without bounds' in howsure coverage). Add items, or compare shares above a threshold."
        ]

    def mean_of_pair(self, shared: pl.DataFrame, end: str, level: float) -> Estimate:
        """The mean of one side over `paired` items; ``end`` is that of its columns."""
        return mean(
            shared[f"mean{end}"].to_numpy(),
            shared["cluster"].to_numpy(),
            strata=self._strata(shared),
            level=level,
            bounds=self.bounds,
        ).estimate

    def _strata(self, frame: pl.DataFrame) -> np.ndarray | None:
        """What counts once: the evals, or with weights by items nothing but the items."""
        return frame["eval"].to_numpy() if self.weights == "evals" else None

    def unpaired_of(self, a: str, b: str, level: float) -> Mean:
        """The difference of the means of two subjects that share no items."""
        first, second = self.only(a), self.only(b)
        return unpaired_difference(
            first["mean"].to_numpy(),
            second["mean"].to_numpy(),
            first["cluster"].to_numpy(),
            second["cluster"].to_numpy(),
            strata_a=self._strata(first),
            strata_b=self._strata(second),
            level=level,
            bounds=self.bounds,
        )


class Ways:
    """The same items under every defensible policy for attempts without a score, and if all of these were wrong or right.

    ``main`` are the groups of items under the main policy. Absent items, which one side of a pair lacks, are found pair by pair.
    """

    def __init__(self, attempts: Attempts, by: str | None, **options: Any) -> None:
        self._attempts, self._options = attempts, {"by": by, **options}
        self.policies = attempts.policies
        self.main = list(items_of(attempts, policy=self.policies[0], **self._options))

    @cached_property
    def _under(self) -> list[tuple[Policy, dict[str, Items]]]:
        main = (self.policies[0], {one.label: one for one in self.main})
        return [main, *((policy, self._made(policy)) for policy in self.policies[1:])]

    @cached_property
    def _ends(self) -> tuple[dict[str, Items], dict[str, Items]]:
        worst, best = (self._made(Policy().extreme(rule)) for rule in ("wrong", "right"))
        return worst, best

    def _made(self, policy: Policy) -> dict[str, Items]:
        return {one.label: one for one in items_of(self._attempts, policy=policy, **self._options)}

    def _n_absent(self, items: Items, a: str, b: str) -> int:
        """How many items (or cells of items) one of the two lacks; none where they have fewer than two in common, so that they were not meant to be paired."""
        if (
            len(items.tried) == items.tried.select("eval", "task").n_unique() * len(items.subjects)
            and not items.factors
        ):
            return 0
        n_shared = len(items.unfilled.paired(a, b))
        if n_shared < 2:
            return 0
        if items.fill is None:
            return len(items.only(a)) + len(items.only(b)) - 2 * n_shared
        return len(items.filled.paired(a, b)) - n_shared

    def n_missing_of(self, items: Items, subject: str) -> int:
        """How many attempts of a subject at these items have no score."""
        if not self._attempts.outcomes:
            return 0
        found = self._missing.filter(pl.col("subject") == subject).join(items.tried, on=["eval", "task"], how="semi")
        return int(found["n"].sum())

    @cached_property
    def _missing(self) -> pl.DataFrame:
        """How many attempts of each subject at each item have no score."""
        domain = pl.col("domain").fill_null(_NONE) if self._attempts.has("domain") else pl.lit("")
        n = pl.col("n").fill_null(1).sum() if self._attempts.has("n") else pl.len()
        rows = self._attempts.lazy.filter(pl.col("score").is_null()).group_by("subject", domain.alias("eval"), "task")
        return rows.agg(n.cast(pl.Int64).alias("n")).collect(engine="streaming")

    def n_missing(self, items: Items, a: str, b: str) -> int:
        """How many attempts of the two at these items have no score, and items that one of them lacks."""
        return self.n_missing_of(items, a) + self.n_missing_of(items, b) + self._n_absent(items, a, b)

    def of_one(self, items: Items) -> list[tuple[Policy, Items]]:
        """The same group of items under each defensible policy, for the means of single subjects."""
        return [(policy, groups[items.label]) for policy, groups in self._under if items.label in groups]

    def ends_of(self, items: Items, subject: str) -> tuple[float | None, float | None]:
        """The mean of a subject if all that is missing were wrong, and if it were right."""
        sides = [groups.get(items.label) for groups in self._ends]
        if any(side is None or side.fill is None for side in sides):
            return None, None
        own = [side.only(subject) for side in sides if side is not None]
        ends = [float(item_weights(one, items.weights) @ one["mean"].to_numpy()) for one in own]
        return min(ends), max(ends)

    def of(self, items: Items, a: str, b: str) -> list[tuple[Policy, Items]]:
        """The same group of items under each policy that is defensible for these two."""
        found = [(policy, groups[items.label]) for policy, groups in self._under if items.label in groups]
        if not self._n_absent(items, a, b):
            return found
        rules = self._attempts.count.rules
        fixed = (rules["absent"],) if "absent" in rules else ("drop", "wrong")
        return [
            (Policy({**policy.rules, "absent": rule}), one.unfilled if rule == "drop" else one.filled)
            for policy, one in found
            for rule in fixed
        ]

    def everywhere(self, items: Items) -> list[Items]:
        """The same group of items under each defensible policy, for all models together; absence is one of them where some lack items of others."""
        found = [groups[items.label] for _, groups in self._under if items.label in groups]
        lacks = len(items.tried) < items.tried.select("eval", "task").n_unique() * len(items.subjects)
        if not lacks or "absent" in self._attempts.count.rules or items.fill is None:
            return found
        return [one for way in found for one in (way, way.filled)]

    def is_open(self, items: Items, a: str, b: str) -> bool:
        """Whether more than 1 % is missing and scores have no worst value, so that nothing can be concluded."""
        if items.fill is not None:
            return False
        n = sum(int(items.only(name)["n_attempts"].sum()) for name in (a, b))
        n_missing = self.n_missing(items, a, b)
        return n_missing > MOST_MISSING * (n + n_missing)

    def bounds(self, items: Items, a: str, b: str) -> tuple[float | None, float | None]:
        """The mean difference if all that is missing were wrong for a and right for b, and the reverse."""
        worst, best = (groups.get(items.label) for groups in self._ends)
        if items.fill is None or worst is None or best is None or best.fill is None:
            return None, None
        ends = [
            float(item_weights(shared, items.weights) @ (shared["mean"] - shared["mean_b"]).to_numpy())
            for shared in (worst.paired(a, b, best), best.paired(a, b, worst))
        ]
        return min(ends), max(ends)


MOST_MISSING = 0.01
"""The largest share of attempts without a score from which something may be concluded where scores have no worst value."""


def default_cluster(attempts: Attempts, cluster: str | None) -> str:
    """The cluster that was asked for; without one, the family where items have several, and else the task."""
    if cluster is not None:
        if cluster not in CLUSTERS:
            raise OptionError.unknown("cluster", cluster, CLUSTERS)
        return cluster
    if not attempts.has("family"):
        return "task"
    n_families = attempts.lazy.select(pl.col("family").drop_nulls().n_unique()).collect(engine="streaming").item()
    return "family" if n_families > 1 else "task"


def items_of(
    attempts: Attempts,
    by: str | None,
    *,
    cluster: str | None = None,
    subjects: Sequence[str] | None = None,
    items: str = "sampled",
    weights: str = "evals",
    factors: Sequence[str] = (),
    policy: Policy | None = None,
) -> Iterator[Items]:
    """The item means of each group of tasks, all or those of `subjects`, in one streaming pass.

    Tasks that ask the same (``item_digest``), such as one question under two configurations of an eval, and the families they
    are in, are one cluster. Families of one name in different evals are different clusters and different groups. ``factors`` are columns whose
    values make the cells of an item; ``policy`` says what attempts without a score count as, by default the main policy.
    """
    groups, cluster = groups_of(attempts, by), default_cluster(attempts, cluster)
    if cluster not in ("none", "task") and not attempts.has(cluster):
        _no_column(cluster)
    if items not in ITEMS:
        raise OptionError.unknown("kind of items", items, ITEMS)
    if weights not in WEIGHTS:
        raise OptionError.unknown("weights", weights, WEIGHTS)
    policy = attempts.policies[0] if policy is None else policy
    keeps_scores = cluster == "none" or "task" in groups
    frame = _item_frame(
        completed(attempts, policy), cluster, keeps_scores=keeps_scores, subjects=subjects, factors=factors
    )
    is_dropped = pl.col("n") == 0
    dropped, frame = (
        frame.filter(is_dropped).select("subject", "eval", "task", *(["cell"] if factors else [])),
        frame.filter(~is_dropped),
    )
    fill = _end_of_scale(attempts, frame, policy.of("absent"))
    more: dict[str, Any] = {
        "items": items,
        "weights": weights,
        "factors": tuple(factors),
        "dropped": None if dropped.is_empty() else dropped,
    }
    absent = policy.rules.get("absent") or attempts.count.rules.get("absent", "drop")
    more |= {"absent": "drop" if absent == "drop" else "fill", "fill": fill}
    for group in groups:
        # repeats of one task are all that its mean can vary over
        within = "none" if group == "task" and cluster == "task" else cluster
        for label, part in _parts(frame, group):
            shared = _shared(label, part, within, frame["subject"].unique().sort().to_list(), is_all=group == ALL)
            yield replace(shared, **more)


def _end_of_scale(attempts: Attempts, frame: pl.DataFrame, rule: str) -> float | None:
    """The worst score there can be (with the rule ``right``, the best); None where scores are of any size or of both directions."""
    if rule != "right" and attempts.count.missing_score is not None:
        return attempts.count.missing_score
    is_free, is_lower, is_higher = (
        bool(one.any()) for one in (frame["is_free"], frame["is_lower"], ~frame["is_lower"])
    )
    return None if is_free or (is_lower and is_higher) else float(is_lower != (rule == "right"))


def grouping_notes(attempts: Attempts, groups: Sequence[Items]) -> list[str]:
    """Columns that group items which resemble each other, although each item is taken as independent.

    Parameters
    ----------
    attempts : Attempts
        The attempts.
    groups : sequence of Items
        Their items, clustered by task.
    """
    schema = attempts.lazy.collect_schema()
    candidates = [name for name in attempts.config if not schema[name].is_nested() and not schema[name].is_float()]
    if not candidates or not groups or groups[0].cluster != "task":
        return []
    domain = pl.col("domain").fill_null(_NONE) if attempts.has("domain") else pl.lit("")
    rows = attempts.lazy.group_by(domain.alias("eval"), "task").agg(
        *(pl.col(name).n_unique().alias(f"#{name}") for name in candidates),
        *(pl.col(name).first() for name in candidates),
    )
    labels = rows.collect(engine="streaming")
    notes = []
    for name in candidates:
        of_task = labels.select("eval", "task", pl.col(name).cast(pl.String).alias("cluster")).drop_nulls()
        if (labels[f"#{name}"] > 1).any() or not 1 < of_task["cluster"].n_unique() <= len(of_task) / 2:
            continue
        effects = []
        for group in groups:
            grouped = group.frame.drop("cluster").join(of_task, on=["eval", "task"], how="inner")
            if grouped["cluster"].n_unique() < _FEW_FAMILIES:
                continue
            for (_,), own in grouped.group_by("subject"):
                values = own["mean"].to_numpy()
                found = mean(values, own["cluster"].to_numpy(), bounds=None)
                alone = float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0
                effects += [found.se**2 / alone] if found.se and alone else []
        if effects and (effect := float(np.median(effects))) > _LARGE_EFFECT:
            notes.append(
                f"Items with the same {name} resemble each other: the variance of a mean is {effect:.2g} times as large as the intervals assume. "
                f"If these items belong together, read {name} as the family (map family={name})."
            )
    return notes


def groups_of(attempts: Attempts, by: str | None) -> list[str]:
    """The columns whose values make the rows; ``all`` stands for no column."""
    if by is not None:
        if by not in GROUPS:
            raise OptionError.unknown("grouping", by, GROUPS)
        if by != ALL and not attempts.has(by):
            _no_column(by)
        return [by]
    if not attempts.has("domain"):
        return [ALL]
    n_domains = attempts.lazy.select(pl.col("domain").n_unique()).collect().item()
    return [ALL, "domain"] if n_domains > 1 else ["domain"]


def _item_frame(
    attempts: Attempts, cluster: str, *, keeps_scores: bool, subjects: Sequence[str] | None, factors: Sequence[str]
) -> pl.DataFrame:
    score = pl.col("score")
    domain = pl.col("domain").fill_null(_NONE) if attempts.has("domain") else pl.lit("")
    family = pl.col("family") if attempts.has("family") else pl.lit(None, pl.String)
    rows = attempts.lazy.with_columns(domain.alias("eval"), family.alias("family"))
    if subjects is not None:
        rows = rows.filter(pl.col("subject").is_in(list(subjects)))
    # joined by +: pl.format panics on the empty parts that a filter leaves in a stream
    item = pl.col("eval") + "\x1f" + pl.col("task")
    own = {"family": (pl.col("eval") + "\x1e" + pl.col("family")).fill_null(item), "domain": pl.col("eval")}
    rows = rows.with_columns(own.get(cluster, item).alias("cluster"))
    sums = attempts.sums()
    is_free = (pl.col("scale") == "free").fill_null(False) if attempts.has("scale") else pl.lit(False)
    is_lower = (pl.col("better") == "lower").fill_null(False) if attempts.has("better") else pl.lit(False)
    is_binary = (score.is_in([0.0, 1.0]) | score.is_null()) & ~is_free
    if attempts.has("n"):
        is_binary |= pl.col("n_success").is_not_null()
    if factors:
        rows = rows.with_columns(
            pl.struct(pl.col(name).cast(pl.String).fill_null(_NONE) for name in factors).alias("cell")
        )
    keys = ["subject", "eval", "task", *(["cell"] if factors else [])]
    grouped = rows.group_by(keys).agg(
        *(sums[name].alias(f"#{name}") for name in ("mean", "n", "spread")),
        is_binary.all().alias("is_binary"),
        is_free.any().alias("is_free"),
        is_lower.any().alias("is_lower"),
        pl.col("family").first(),
        pl.col("cluster").first(),
        *([pl.struct("score", attempts.n.alias("n")).alias("scores")] if keeps_scores else []),
    )
    grouped = grouped.rename({"#mean": "mean", "#n": "n", "#spread": "spread"})
    frame = grouped.collect(engine="streaming").sort(keys)
    if not attempts.has("item_digest"):
        return frame
    links = rows.select("cluster", "item_digest").drop_nulls().unique().collect(engine="streaming")
    return frame.with_columns(pl.col("cluster").replace(_joined(links)))


def _over_cells(frame: pl.DataFrame, ends: Sequence[str] = ("",)) -> pl.DataFrame:
    """Each item with the mean of its cells, for the columns with each of the `ends`; see `Items.frame`."""
    picked = []
    for end in ends:
        mean, n, spread = (pl.col(f"{name}{end}") for name in ("mean", "n", "spread"))
        n_repeats = n.sum() - pl.len() + 1
        picked += [
            mean.mean().alias(f"mean{end}"),
            n_repeats.cast(pl.Int64).alias(f"n{end}"),
            (spread.sum() * n_repeats * (1 / n).sum() / pl.len() ** 2).alias(f"spread{end}"),
            (pl.col(f"is_binary{end}").all() & (pl.len() == 1)).alias(f"is_binary{end}"),
            *(pl.col(f"{name}{end}").any() for name in ("is_free", "is_lower")),
            *(pl.col(f"{name}{end}").first() for name in ("family", "cluster")),
            n.sum().cast(pl.Int64).alias(f"n_attempts{end}"),
            pl.len().cast(pl.Int64).alias(f"n_cells{end}"),
            *([pl.col(f"scores{end}").explode()] if f"scores{end}" in frame.columns else []),
        ]
    keys = ["subject", "eval", "task"] if ends == ("",) else ["eval", "task"]
    return frame.group_by(keys, maintain_order=True).agg(picked)


def _joined(links: pl.DataFrame) -> dict[str, str]:
    """For clusters that share an item with another, the first of those that are connected."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    several = links.filter(pl.len().over("item_digest") > 1).sort("cluster")
    if several.is_empty():
        return {}
    names, cluster = np.unique(several["cluster"].to_numpy(), return_inverse=True)
    items, item = np.unique(several["item_digest"].to_numpy(), return_inverse=True)
    size = len(names) + len(items)
    graph = coo_array((np.ones(len(several)), (cluster, len(names) + item)), shape=(size, size))
    part = connected_components(graph, directed=False)[1][: len(names)]
    first: dict[int, str] = {}
    return {str(name): first.setdefault(int(one), str(name)) for name, one in zip(names, part, strict=True)}


def _parts(frame: pl.DataFrame, group: str) -> Iterator[tuple[str, pl.DataFrame]]:
    if group == ALL:
        yield ALL, frame
        return
    column = pl.col("eval" if group == "domain" else group).fill_null(_NONE)
    if group != "domain":  # one name in several evals stands for several groups
        is_single = pl.col("eval").n_unique().over(column) == 1
        column = pl.when(is_single).then(column).otherwise(pl.format("{}/{}", "eval", column))
    labelled = frame.with_columns(column.alias("label")).sort("label", maintain_order=True)
    for (label,), part in labelled.group_by("label", maintain_order=True):
        yield str(label), part.drop("label")


def _shared(label: str, frame: pl.DataFrame, cluster: str, subjects: Sequence[str], *, is_all: bool) -> Items:
    """The items of the evals that all subjects tried; of one eval or group, those of whoever tried it."""
    if not is_all or frame["eval"].n_unique() == 1:
        there = frame["subject"].unique().sort().to_list()
        return Items(label, tuple(there), frame, cluster)
    shares = frame.filter(~(pl.col("is_free") | pl.col("is_lower")))
    apart = sorted(set(frame["eval"]) - set(shares["eval"]))
    tried = shares.group_by("eval").agg(pl.col("subject").n_unique().alias("n")).sort("eval")
    excluded = tried.filter(pl.col("n") < len(subjects))["eval"].to_list()
    is_excluded = pl.col("eval").is_in(excluded)
    had = shares.filter(is_excluded).group_by("subject").agg(pl.col("eval").n_unique().alias("n"))
    lacking = sorted(set(subjects) - set(had.filter(pl.col("n") == len(excluded))["subject"])) if excluded else []
    return Items(
        label,
        tuple(subjects),
        shares.filter(~is_excluded),
        cluster,
        excluded=tuple(excluded),
        apart=tuple(apart),
        lacking=tuple(lacking),
    )


def without_bounds(value: float, n: int, level: float) -> Mean:
    """A mean or difference of scores of any size over exactly these items, which has no interval."""
    reason = "scores of any size have no interval over exactly these items; use --items sampled"
    return Mean(Estimate.without("undefined", reason, value=value, level=level), None, n, n, None)


def _single_scores(own: pl.DataFrame) -> Floats:
    """The score of every attempt, item after item; a row that counts attempts becomes as many ones and zeros."""
    rows = own["scores"].explode().struct.unnest()
    scores, n = rows["score"].to_numpy(), rows["n"].to_numpy()
    if (n == 1).all():
        return np.asarray(scores, dtype=np.float64)
    ones = np.where(n == 1, 1, np.round(scores * n).astype(np.int64))
    each = np.column_stack([np.where(n == 1, scores, 1.0), np.zeros(len(n))]).ravel()
    return np.repeat(each, np.column_stack([ones, n - ones]).ravel())


def item_weights(frame: pl.DataFrame, weights: str = "evals") -> Floats:
    """How much each item counts in the mean; they sum to 1."""
    if weights == "items":
        return np.full(len(frame), 1 / max(len(frame), 1))
    in_eval = frame.select(pl.len().over("eval")).to_series().to_numpy()
    return np.asarray(1 / in_eval / frame["eval"].n_unique(), dtype=np.float64)


def _se_independent(own: pl.DataFrame, counting: str) -> float:
    """The standard error of the mean if all attempts were independent draws around it."""
    weights, n, means = item_weights(own, counting), own["n_attempts"].to_numpy(), own["mean"].to_numpy()
    n_attempts = int(n.sum())
    if n_attempts < 2:
        return 0.0
    value = float(weights @ means)
    around = own["spread"].to_numpy() / n + (means - value) ** 2
    variance = float(weights @ around) * n_attempts / (n_attempts - 1)
    return float(np.sqrt(variance * (weights**2 / n).sum())) if variance > 1e-13 else 0.0


def _items(n: int) -> str:
    return "1 task is" if n == 1 else f"{n:,} tasks are"


def _some(names: Sequence[str]) -> str:
    rest = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + rest


def _no_column(name: str) -> NoReturn:
    raise OptionError(f"These attempts have no column {name!r}. Choose another, or add the column to the input.")
