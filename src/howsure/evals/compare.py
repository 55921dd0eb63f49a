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
from howsure.evals.summary import ALL, clusters_of, groups_of
from howsure.frames import write_frame
from howsure.results import Provenance, plain, write_json
from howsure.stats.means import Mean, paired_difference, unpaired_difference
from howsure.stats.multiplicity import benjamini_hochberg, holm
from howsure.stats.permutation import mcnemar, permutation, sign_flip
from howsure.tables import Attempts

if TYPE_CHECKING:
    import altair

__all__ = ["CORRECTIONS", "Comparison", "Difference", "Side", "compare"]

CORRECTIONS = {"holm": holm, "bh": benjamini_hochberg}


@dataclass(frozen=True)
class Difference:
    """How much better a is than b on one group of tasks, and how sure that is.

    ``p_better`` is the probability that a is truly better. ``from_repeats`` is the share of the squared standard error
    that comes from repeats of a task varying, which more repeats would remove; the rest comes from tasks differing.
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
    from_repeats: float | None
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
            row = {name: value for name, value in vars(pair).items() if name != "difference"}
            found = pair.difference
            ends = {"difference": found.value, "low": found.low, "high": found.high, "state": found.state}
            rows.append({name: row.pop(name) for name in ("a", "b", "task")} | ends | row)
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
    """Differences of subjects, paired by task: `a` with `b`, `a` with all others, or all pairs.

    Every task that both tried counts once, with the mean of its attempts. Where two subjects share fewer than two tasks, their means are
    compared unpaired, and ``test`` says so. The p-values of all pairs are corrected together.
    """
    if correction not in CORRECTIONS:
        raise OptionError.unknown("correction", correction, CORRECTIONS)
    sides = [
        Side.of(attempts, group, label, cluster=cluster)
        for group in groups_of(attempts, by)
        for label in _labels(attempts, group)
    ]
    wanted = [(side, pair) for side in sides for pair in _pairs(side.subjects, a, b)]
    if not wanted:
        raise InputError("There is only one subject to compare. Add the attempts of another.")
    found = []
    for done, (side, (first, second)) in enumerate(wanted, 1):
        found.append(_difference(side, first, second, level, seed))
        if progress:
            progress(done, len(wanted))
    settings: dict[str, Any] = {"by": by or "default", "cluster": cluster, "correction": correction, "level": level}
    return Comparison(_adjusted(found, correction), Provenance.of(attempts, seed=seed, **settings))


@dataclass(frozen=True)
class Side:
    """Task means of every subject on one group of tasks, and how much repeats of a task vary."""

    task: str
    subjects: tuple[str, ...]
    means: pl.DataFrame

    @classmethod
    def of(cls, attempts: Attempts, group: str = ALL, label: str = ALL, *, cluster: str = "task") -> Side:
        """The side of the tasks whose `group` is `label`."""
        score = pl.col("score")
        together = pl.col("task") if cluster == "none" else clusters_of(attempts, cluster, ALL)
        chosen = attempts.lazy if group == ALL else attempts.lazy.filter(pl.col(group) == label)
        means = (
            chosen.with_columns(together.alias("cluster"))
            .group_by("subject", "task")
            .agg(
                score.mean().alias("mean"),
                pl.len().cast(pl.Int64).alias("n"),
                (score.var(ddof=0) * pl.len()).alias("spread"),
                score.is_in([0.0, 1.0]).all().alias("is_binary"),
                pl.col("cluster").first(),
            )
        )
        frame = means.sort("subject", "task").collect(engine="streaming")
        return cls(label, tuple(frame["subject"].unique().sort()), frame)

    def only(self, subject: str) -> pl.DataFrame:
        """All tasks of one subject."""
        return self.means.filter(pl.col("subject") == subject)

    def paired(self, a: str, b: str) -> pl.DataFrame:
        """The tasks that both tried."""
        return self.only(a).join(self.only(b), on="task", suffix="_b").sort("task")

    def noise(self, a: str, b: str) -> tuple[float, float, float] | None:
        """Variance from one try at a task to the next of a and of b, pooled over tasks, and what it adds to the variance of
        the mean difference; None where no task was repeated.
        """
        shared = self.paired(a, b)
        within = []
        for suffix in ("", "_b"):
            repeats = int((shared[f"n{suffix}"] - 1).sum())
            if not repeats:
                return None
            within.append(float(shared[f"spread{suffix}"].sum()) / repeats)
        inverse = [float(np.sum(1 / shared[name].to_numpy())) for name in ("n", "n_b")]
        return within[0], within[1], (within[0] * inverse[0] + within[1] * inverse[1]) / len(shared) ** 2


def _labels(attempts: Attempts, group: str) -> list[str]:
    if group == ALL:
        return [ALL]
    return sorted(attempts.lazy.select(pl.col(group).drop_nulls().unique()).collect().to_series().to_list())


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


def _difference(side: Side, a: str, b: str, level: float, seed: int) -> Difference:
    shared = side.paired(a, b)
    first, second = side.only(a), side.only(b)
    n_unshared = len(first) + len(second) - 2 * len(shared)
    if len(shared) < 2:
        return _unpaired(side.task, first, second, level, seed)
    x, y, clusters = shared["mean"].to_numpy(), shared["mean_b"].to_numpy(), shared["cluster"].to_numpy()
    mean = paired_difference(x, y, clusters, level=level)
    p, test = _paired_test(shared, seed)
    noise = side.noise(a, b)
    repeats = min(1.0, noise[2] / mean.se**2) if noise and mean.se else None
    return Difference(
        a, b, side.task, mean.estimate, p, test, _p_better(mean), len(shared), mean.n_clusters, n_unshared, repeats
    )


def _unpaired(task: str, first: pl.DataFrame, second: pl.DataFrame, level: float, seed: int) -> Difference:
    x, y = first["mean"].to_numpy(), second["mean"].to_numpy()
    mean = unpaired_difference(x, y, first["cluster"].to_numpy(), second["cluster"].to_numpy(), level=level)
    p = permutation(x, y, seed=seed).p if mean.se is not None else None
    a, b = first["subject"][0], second["subject"][0]
    test = "permutation, unpaired"
    return Difference(a, b, task, mean.estimate, p, test, _p_better(mean), 0, mean.n_clusters, len(x) + len(y), None)


def _paired_test(shared: pl.DataFrame, seed: int) -> tuple[float, str]:
    """McNemar's exact test where every task is one right or wrong answer and its own cluster, else sign flips of clusters."""
    difference = shared["mean"].to_numpy() - shared["mean_b"].to_numpy()
    is_single = (shared["n"] == 1).all() and (shared["n_b"] == 1).all() and shared["cluster"].n_unique() == len(shared)
    if is_single and shared["is_binary"].all() and shared["is_binary_b"].all():
        return mcnemar(int(np.sum(difference > 0)), int(np.sum(difference < 0))).p, "McNemar"
    return sign_flip(difference, shared["cluster"].to_numpy(), seed=seed).p, "sign flip"


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
