"""When a live study may stop: criteria that are looked at after every rater, with errors that stay at their level over all looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Floats
from howsure.stats.reliability import choose_coefficient, reliability_table
from howsure.stats.sequences import mean_sequence
from howsure.study.agreement import matrix_of, read_ratings
from howsure.study.scoring.fidelity import is_pair
from howsure.study.scoring.stopping import rater_values
from howsure.study.verdict import Criteria, Verdict, criteria_of, judge_criterion
from howsure.tables import Ratings

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["STATISTICS_OF_STOPS", "StudyStop", "stop"]

STATISTICS_OF_STOPS = {
    "mean:DIMENSION[:SYSTEM]": "mean rating, of all systems or of one",
    "difference:DIMENSION:A:B": "mean rating of system A minus system B",
    "share:DIMENSION:CATEGORY[:SYSTEM]": "share of ratings that are this category",
    "reliability:DIMENSION": "reliability of the raters' mean, at planned looks only",
}
"""What a criterion may name as its statistic."""


@dataclass(frozen=True, kw_only=True)
class StudyStop(Result):
    """Whether the criteria of a live study are decided.

    Table ``criteria``: one row per criterion (criterion, statistic, requires, value with its interval, decision, looks, n_raters, reason). The interval of a mean, difference
    or share is a confidence sequence: it holds at all looks together. Table ``items``: one row per item (item, n_ratings, next), those that need a rating most first.

    Parameters
    ----------
    rows : pl.DataFrame
        Table ``criteria``.
    items : pl.DataFrame
        Table ``items``.
    is_decided : bool
        Whether every criterion is decided, so that the study may stop.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "study_stop"
    rows: pl.DataFrame
    items: pl.DataFrame
    is_decided: bool
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``criteria`` and ``items``."""
        return {"criteria": self.rows, "items": self.items}

    @property
    def sentence(self) -> str:
        """May the study stop?"""
        open_ones = self.rows.filter(pl.col("decision") == "inconclusive")["criterion"].to_list()
        if self.is_decided:
            return "Every criterion is decided: the study may stop."
        return f"Not decided: {', '.join(open_ones)}. Continue."

    def as_dict(self) -> dict[str, Any]:
        """The tables, and whether the study may stop."""
        return super().as_dict() | {"is_decided": self.is_decided, "sentence": self.sentence}


def stop(
    ratings: Ratings | Source,
    criteria: Criteria,
    *,
    n_planned: int,
    scale: tuple[float, float] | None = None,
    looks: Sequence[int] | None = None,
    n_per_item: int | None = None,
    level: float = 0.95,
) -> StudyStop:
    """Analyse a running study, and say which criteria are decided.

    Raters are the units, in the order of the table: each adds one number, such as the mean of their ratings. Means, differences and shares have a
    confidence sequence, so you may look after every rater and stop when all are decided: the probability of any wrong decision by a criterion is at most 1 − level, over all looks.
    They are about other raters and these items. A reliability has no such sequence: it is looked at only when the number of raters reaches one of the planned `looks`, at a level of
    1 − (1 − level)/(number of looks).

    Parameters
    ----------
    ratings : Ratings, frame or path
        All ratings so far.
    criteria : sequence of Criterion or str, or path
        Lines such as ``"mean:quality >= 3.5"``, or a YAML file of them; their statistics are named as in `STATISTICS_OF_STOPS`. At least one is needed.
    n_planned : int
        Largest planned number of raters.
    scale : (float, float), optional
        The lowest and highest possible rating; needed for means and differences.
    looks : sequence of int, optional
        Numbers of raters at which reliability is looked at; by default the planned number alone.
    n_per_item : int, optional
        Ratings that each item should get; items that have them are not next.
    level : float
        1 − the probability of a wrong decision, between 0 and 1.
    """
    wanted = criteria_of(criteria)
    table = read_ratings(ratings, categories=True)
    frame = table.frame.filter(is_pair())
    planned = sorted({*(looks or ()), n_planned})
    rows = []
    for one in wanted:
        what, *rest = one.statistic.split(":")
        if what == "reliability":
            estimate, n, note = _reliability(frame, rest, planned, level)
        else:
            values, bounds = _units(frame, what, rest, scale, one.statistic)
            n, note = len(values), ""
            estimate = mean_sequence(values, n_planned=n_planned, level=level, bounds=bounds).estimate
        decision: Verdict = judge_criterion(estimate, one.threshold, one.direction)
        rows.append(
            {
                "criterion": one.name,
                "statistic": one.statistic,
                "requires": str(one),
                **columns_of(value=estimate),
                "decision": decision,
                "looks": "any" if what != "reliability" else ", ".join(map(str, planned)),
                "n_raters": n,
                "reason": note or estimate.reason or None,
            }
        )
    counts = frame.group_by("item").agg(pl.col("rater").n_unique().alias("n_ratings")).sort("n_ratings", "item")
    enough = n_per_item if n_per_item is not None else int(counts["n_ratings"].max() or 0) + 1  # type: ignore[arg-type]
    items = counts.with_columns(pl.when(pl.col("n_ratings") < enough).then(pl.lit("yes")).otherwise(pl.lit("no")).alias("next"))  # fmt: skip
    decided = all(row["decision"] != "inconclusive" for row in rows)
    provenance = Provenance.of(
        table,
        criteria=[f"{one.name}: {one}" for one in wanted],
        n_planned=n_planned,
        scale=scale,
        looks=planned,
        n_per_item=n_per_item,
        level=level,
    )
    made = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"value": pl.Float64, "value_low": pl.Float64, "value_high": pl.Float64, "reason": pl.String})  # fmt: skip
    return StudyStop(rows=made, items=items, is_decided=decided, provenance=provenance)


def _units(
    frame: pl.DataFrame, what: str, rest: list[str], scale: tuple[float, float] | None, statistic: str
) -> tuple[Floats, tuple[float, float]]:
    """One number per rater in the order of their first rating, and its bounds."""
    sizes = {"mean": (1, 2), "difference": (3, 3), "share": (2, 3)}
    if what not in sizes or not sizes[what][0] <= len(rest) <= sizes[what][1]:
        raise OptionError(f"No statistic {statistic!r}. Write one of: {', '.join(STATISTICS_OF_STOPS)}.")
    dimension = rest[0]
    there = frame["dimension"].unique().sort().to_list()
    if dimension not in there:
        raise OptionError.unknown("dimension", dimension, there)
    part = frame.filter(pl.col("dimension") == dimension)
    systems = rest[1:] if what in ("mean", "difference") else rest[2:]
    if systems and "system" not in part.columns:
        raise InputError(f"{statistic}: the ratings have no column system.")
    for system in systems:
        if system not in set(part["system"]):
            raise OptionError.unknown("system", system, sorted(set(part["system"])))
    if what == "share":
        value = (pl.col("value").cast(pl.String) == rest[1]).cast(pl.Float64)
        bounds = (0.0, 1.0)
    else:
        if part["value"].dtype == pl.String:
            raise InputError(f"{statistic}: the ratings are text. Use share:{dimension}:CATEGORY.")
        if scale is None:
            raise OptionError(f"{statistic} needs the scale: the lowest and highest possible rating.")
        value, bounds = pl.col("value"), scale
    units = rater_values(part.with_columns(value=value), *systems)["value"].to_numpy()
    width = bounds[1] - bounds[0]
    return units, (-width, width) if what == "difference" else bounds


def _reliability(frame: pl.DataFrame, rest: list[str], looks: Sequence[int], level: float) -> tuple[Estimate, int, str]:
    """Reliability of the mean at the last planned look that was reached, at a level that allows for all looks."""
    there = frame["dimension"].unique().sort().to_list()
    if len(rest) != 1 or rest[0] not in there:
        raise OptionError.unknown("dimension", ":".join(rest), there)
    part = frame.filter(pl.col("dimension") == rest[0])
    raters = part["rater"].unique(maintain_order=True).to_list()
    reached = [look for look in looks if look <= len(raters)]
    at_look = 1 - (1 - level) / len(looks)
    if not reached:
        reason = f"the next planned look is at {looks[0]} raters"
        return Estimate.without("too_few", reason, level=at_look), len(raters), reason
    first = part.filter(pl.col("rater").is_in(raters[: reached[-1]]))
    matrix, *_ = matrix_of(first)
    choice = choose_coefficient("interval", "sampled")
    found = reliability_table(matrix, level=at_look)[choice.name]
    return (
        found,
        reached[-1],
        f"{choice.name} of the first {reached[-1]} raters, level {at_look:.3g} at each of {len(looks)} looks",
    )
