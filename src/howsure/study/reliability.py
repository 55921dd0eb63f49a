"""How well raters agree: every coefficient of a table of ratings, and which one to report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.frames import parts_of, write_frame
from howsure.results import Provenance, plain, write_json
from howsure.stats import jackknife
from howsure.stats._arrays import Floats
from howsure.stats.reliability import choose_icc, intraclass, noise_ceiling, reliability_table
from howsure.tables import Ratings

__all__ = ["DESIGNS", "NoiseCeiling", "Reliability", "assess", "noise_ceiling_of", "read_ratings"]

DESIGNS = ("unidentified", "sampled", "fixed")
_NUMBER = r"^[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True)
class Reliability:
    """All coefficients by name, and which one fits the design.

    ``report`` names the coefficient, ``sentence`` says why.
    """

    coefficients: Mapping[str, Estimate]
    report: str
    sentence: str
    n_items: int
    n_raters: int
    n_missing: int
    provenance: Provenance

    def to_frame(self) -> pl.DataFrame:
        """One row a coefficient: coefficient, value, low, high, state."""
        rows = [
            {"coefficient": name, "value": e.value, "low": e.low, "high": e.high, "state": e.state}
            for name, e in self.coefficients.items()
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def as_dict(self) -> dict[str, Any]:
        """The coefficients by name as plain JSON, with the advice and what made them beside them."""
        told = {"report": self.report, "sentence": self.sentence, "provenance": self.provenance}
        counts = {"n_items": self.n_items, "n_raters": self.n_raters, "n_missing": self.n_missing}
        made: dict[str, Any] = plain({**self.coefficients, **counts, **told})
        return made

    def save(self, folder: Path) -> list[Path]:
        """Write reliability.csv and reliability.json."""
        return [
            write_frame(self.to_frame(), folder / "reliability.csv"),
            write_json(self.as_dict(), folder / "reliability.json"),
        ]


def assess(
    ratings: Ratings, *, dimension: str | None = None, design: str = "sampled", level: float = 0.95
) -> Reliability:
    """Every coefficient for one dimension of these ratings.

    ``design`` says who the raters are: ``sampled`` (the same people rate all items and stand for others), ``fixed`` (just these people), or
    ``unidentified`` (other people for each item).
    """
    if design not in DESIGNS:
        raise OptionError.unknown("design", design, DESIGNS)
    frame = _one_dimension(ratings, dimension)
    matrix = _matrix(frame)
    choice = choose_icc(design)  # type: ignore[arg-type]
    made = Provenance.of(ratings, dimension=frame["dimension"][0], design=design, level=level)
    n_items, n_raters = matrix.shape
    missing = int(np.isnan(matrix).sum())
    return Reliability(
        reliability_table(matrix, level=level), choice.name, choice.sentence, n_items, n_raters, missing, made
    )


@dataclass(frozen=True)
class NoiseCeiling:
    """The correlation that a perfect score could be expected to reach with these raters' mean, and the reliability it is the root of.

    ``coefficient`` names that reliability (``icc_1_k``, ``icc_2_k`` or ``icc_3_k``).
    """

    ceiling: Estimate
    reliability: Estimate
    coefficient: str


def noise_ceiling_of(table: Floats, design: str, *, clusters: Any = None, level: float = 0.95) -> NoiseCeiling:
    r"""The noise ceiling :math:`\sqrt{ICC(\cdot, k)}` of the items that a correlation is computed over.

    Parameters
    ----------
    table : array, items × raters
        Just the items of the correlation, NaN where nobody rated: reliability depends on how much the items differ.
    design : str
        Who the raters are, as in `assess`. Where everybody rated everything, rater bias (severity) moves all items alike and lowers no
        correlation, so ``icc_3_k`` is used; with gaps it is ``icc_2_k`` for sampled raters.
    clusters : sequence, optional
        One label per item: the interval is then a jackknife over clusters of −log(1 − ICC).
    level : float
        Coverage of the interval, 0.95 by default.
    """
    used = table[:, ~np.isnan(table).all(axis=0)]
    if design == "unidentified":
        name = "icc_1_k"
    else:
        name = "icc_3_k" if design == "fixed" or not np.isnan(used).any() else "icc_2_k"
    reliability = intraclass(used, level=level)[name]
    if clusters is not None and reliability.low is not None and reliability.value is not None:
        left_out = [
            _turned(intraclass(np.delete(used, part, axis=0))[name]) for part in jackknife.groups(len(used), clusters)
        ]
        reliability = jackknife.estimate(_turned(reliability), left_out, level).map(lambda number: -math.expm1(-number))
    return NoiseCeiling(noise_ceiling(reliability), reliability, name)


def _turned(reliability: Estimate) -> float:
    return math.nan if reliability.value is None or reliability.value >= 1 else -math.log1p(-reliability.value)


def read_ratings(path: str | Path) -> Ratings:
    """Ratings in long form (rater, item, dimension, value), or a table with one row an item and one column a rater.

    In the wide form a first column whose values are not all numbers, or that is called item, names the items; gaps are allowed.
    """
    (part,) = parts_of(path)
    frame = part.collect(part.rows)
    if {"rater", "item", "value"} <= set(frame.columns):
        return Ratings(path) if "dimension" in frame.columns else Ratings(path, fill={"dimension": "rating"})
    return _from_wide(frame, path)


def _from_wide(frame: pl.DataFrame, path: str | Path) -> Ratings:
    first = frame.columns[0]
    text = frame[first].cast(pl.String).drop_nulls()
    is_named = first.casefold() in ("item", "id") or not text.str.contains(_NUMBER).all()
    named = frame if is_named else frame.with_row_index("item", offset=1)
    item = first if is_named else "item"
    raters = [name for name in named.columns if name != item]
    if len(raters) < 2:
        raise InputError(
            f"{path}: {len(raters)} column of ratings. Give one row an item and one column a rater, at least 2."
        )
    long = named.unpivot(index=item, on=raters, variable_name="rater", value_name="value").rename({item: "item"})
    filled = long.filter(pl.col("value").cast(pl.String).fill_null("").str.strip_chars() != "")
    return Ratings(filled.with_columns(pl.lit("rating").alias("dimension")))


def _one_dimension(ratings: Ratings, dimension: str | None) -> pl.DataFrame:
    there = ratings.frame["dimension"].unique().sort().to_list()
    if dimension is None and len(there) > 1:
        raise OptionError(f"There are {len(there)} dimensions. Choose one with --dimension: {', '.join(there[:8])}.")
    if dimension is not None and dimension not in there:
        raise OptionError.unknown("dimension", dimension, there)
    return ratings.frame.filter(pl.col("dimension") == (dimension or there[0]))


def _matrix(frame: pl.DataFrame) -> NDArray[np.float64]:
    """Items by raters, NaN where nothing was said."""
    wide = frame.pivot(on="rater", index="item", values="value").drop("item")
    return wide.cast(pl.Float64).fill_null(float("nan")).to_numpy()
