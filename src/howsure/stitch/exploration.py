"""What a table of scores holds, before anything is fitted to it."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from howsure.arguments import checked
from howsure.results import Provenance, Result, plain
from howsure.stitch.model.problem import LinkedGroup, find_parts
from howsure.tables import Scores

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["Exploration", "Overview", "explore"]


@dataclass(frozen=True)
class Overview:
    """A table in numbers.

    ``n_pairs`` counts pairs of model and benchmark that have a score, ``coverage`` their share of all pairs, ``n_several`` those with more than
    one score. ``n_parts`` is 1 when scores link all models and benchmarks, as one scale needs.
    """

    n_scores: int
    n_models: int
    n_benchmarks: int
    n_pairs: int
    coverage: float
    n_several: int
    n_undated: int
    first_date: datetime.date | None
    last_date: datetime.date | None
    median_benchmarks_per_model: float
    median_models_per_benchmark: float
    n_parts: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Exploration(Result):
    """What a table of scores contains.

    Parameters
    ----------
    overview : Overview
        Counts.
    models : pl.DataFrame
        One row per model, sorted by its number of benchmarks.
    benchmarks : pl.DataFrame
        One row per benchmark, sorted by its number of models.
    least : pl.DataFrame
        Models and scores that remain for each minimum number of benchmarks per model.
    overlap : pl.DataFrame
        Number of models that two benchmarks share; both orders of a pair, and each benchmark with itself.
    months : pl.DataFrame
        Scores and models by month of the model's release.
    duplicates : pl.DataFrame
        Model–benchmark pairs with several scores, the largest range first.
    parts : pl.DataFrame
        Groups of models and benchmarks that are linked by scores, the largest first, and a score that would link each to the first.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "explore"

    overview: Overview
    models: pl.DataFrame
    benchmarks: pl.DataFrame
    least: pl.DataFrame
    overlap: pl.DataFrame
    months: pl.DataFrame
    duplicates: pl.DataFrame
    parts: pl.DataFrame
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Coverage of benchmarks (main) and models, what a minimum leaves, overlap as a matrix, months, duplicates, parts."""
        return {
            "coverage_benchmarks": self.benchmarks,
            "coverage_models": self.models,
            "coverage_least": self.least,
            "overlap": self.overlap.pivot("other", index="benchmark", values="n_models"),
            "months": self.months,
            "duplicates": self.duplicates,
            "parts": self.parts,
        }

    def as_dict(self) -> dict[str, Any]:
        """The overview, the tables and the provenance as plain JSON."""
        return plain(self.overview) | super().as_dict()  # type: ignore[no-any-return]

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import explore_section

        return [explore_section(self)]

    def charts(self) -> dict[str, Chart]:
        """Overlap, months and coverage, by file name; no months where no model has a date."""
        from howsure.stitch.charts import draw_coverage, draw_months, draw_overlap

        drawn = {"overlap": draw_overlap(self), "coverage": draw_coverage(self)}
        return drawn | ({"months": draw_months(self)} if len(self.months) else {})


@checked
def explore(scores: Source | Scores) -> Exploration:
    """Counts, coverage, overlap, release months, duplicates, and whether scores link all models and benchmarks.

    Parameters
    ----------
    scores : Scores, frame or path
        One row per model and benchmark.
    """
    scores = Scores.of(scores)
    frame = _with_dates(scores.frame)
    pairs = frame.group_by("model", "benchmark", maintain_order=True).agg(
        pl.len().alias("n_scores"), pl.col("score").min().alias("min"), pl.col("score").max().alias("max")
    )
    models, benchmarks = _models(frame), _benchmarks(frame)
    parts = _parts(pairs, models, benchmarks)
    return Exploration(
        overview=_overview(frame, pairs, models, benchmarks, len(parts)),
        models=models,
        benchmarks=benchmarks,
        least=_least(models),
        overlap=_overlap(pairs, benchmarks["benchmark"].to_list()),
        months=_months(frame),
        duplicates=_duplicates(pairs),
        parts=parts,
        provenance=Provenance.of(scores),
    )


def _with_dates(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with its optional date and source columns, empty where it has none."""
    empty = {"date": pl.Date, "benchmark_date": pl.Date, "organisation": pl.String}
    return frame.with_columns(
        pl.lit(None, kind).alias(name) for name, kind in empty.items() if name not in frame.columns
    )


def _models(frame: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.group_by("model")
        .agg(
            pl.col("benchmark").n_unique().alias("n_benchmarks"),
            pl.len().alias("n_scores"),
            pl.col("score").mean().alias("mean"),
            pl.col("date", "organisation").drop_nulls().first(),
        )
        .sort("n_benchmarks", "n_scores", "model", descending=[True, True, False])
    )


def _benchmarks(frame: pl.DataFrame) -> pl.DataFrame:
    score = pl.col("score")
    return (
        frame.group_by("benchmark")
        .agg(
            pl.col("model").n_unique().alias("n_models"),
            pl.len().alias("n_scores"),
            score.mean().alias("mean"),
            score.min().alias("min"),
            score.max().alias("max"),
            pl.col("benchmark_date").drop_nulls().first().alias("date"),
            pl.col("date").min().alias("first_model"),
            pl.col("date").max().alias("last_model"),
        )
        .sort("n_models", "n_scores", "benchmark", descending=[True, True, False])
    )


def _overview(
    frame: pl.DataFrame, pairs: pl.DataFrame, models: pl.DataFrame, benchmarks: pl.DataFrame, n_parts: int
) -> Overview:
    n_models, n_benchmarks = len(models), len(benchmarks)
    return Overview(
        len(frame),
        n_models,
        n_benchmarks,
        len(pairs),
        len(pairs) / (n_models * n_benchmarks),
        int((pairs["n_scores"] > 1).sum()),
        int(models["date"].null_count()),
        models["date"].min(),  # type: ignore[arg-type]
        models["date"].max(),  # type: ignore[arg-type]
        _median(models["n_benchmarks"]),
        _median(benchmarks["n_models"]),
        n_parts,
    )


def _median(counts: pl.Series) -> float:
    return float(counts.cast(pl.Float64).median() or 0.0)  # type: ignore[arg-type]


def _least(models: pl.DataFrame) -> pl.DataFrame:
    """For each number of benchmarks, how many models have at least so many, and how many scores these are."""
    counted = (
        models.group_by("n_benchmarks").agg(pl.len().alias("n_models"), pl.col("n_scores").sum()).sort("n_benchmarks")
    )
    return counted.with_columns(pl.col("n_models", "n_scores").cum_sum(reverse=True)).rename(
        {"n_benchmarks": "at_least"}
    )


def _overlap(pairs: pl.DataFrame, order: Sequence[str]) -> pl.DataFrame:
    """Models that both benchmarks have: benchmark, other, n_models, in the order given."""
    mine = pairs.select("model", "benchmark")
    shared = mine.join(mine.rename({"benchmark": "other"}), on="model").group_by("benchmark", "other").len("n_models")
    every = pl.DataFrame({"benchmark": order}).join(pl.DataFrame({"other": order}), how="cross")
    counted = every.join(shared, on=("benchmark", "other"), how="left", maintain_order="left")
    return counted.with_columns(pl.col("n_models").fill_null(0).cast(pl.Int64))


def _months(frame: pl.DataFrame) -> pl.DataFrame:
    """Scores and models by the month of the model's release, months without any left in: month, n_scores, n_models."""
    dated = frame.drop_nulls("date").with_columns(pl.col("date").dt.truncate("1mo").alias("month"))
    if not len(dated):
        return pl.DataFrame(schema={"month": pl.Date, "n_scores": pl.UInt32, "n_models": pl.UInt32})
    counted = dated.group_by("month").agg(pl.len().alias("n_scores"), pl.col("model").n_unique().alias("n_models"))
    whole = counted.sort("month").upsample("month", every="1mo")
    return whole.with_columns(pl.col("n_scores", "n_models").fill_null(0))


def _duplicates(pairs: pl.DataFrame) -> pl.DataFrame:
    several = pairs.filter(pl.col("n_scores") > 1).with_columns(spread=pl.col("max") - pl.col("min"))
    return several.sort("spread", "model", "benchmark", descending=[True, False, False])


def _parts(pairs: pl.DataFrame, models: pl.DataFrame, benchmarks: pl.DataFrame) -> pl.DataFrame:
    """One row per part: n_models, n_benchmarks, models, benchmarks, and the score that would join it to the first part."""
    names = [frame[column].sort().to_list() for frame, column in ((models, "model"), (benchmarks, "benchmark"))]
    places = [{name: place for place, name in enumerate(listed)} for listed in names]
    indices = [
        pairs[column].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        for column, place in zip(("model", "benchmark"), places, strict=True)
    ]
    parts = find_parts(indices[0], indices[1], names[0], names[1])
    rows = [_part_row(part, parts[0], models, benchmarks) for part in parts]
    return pl.DataFrame(rows, schema_overrides={"would_join": pl.String})


def _part_row(part: LinkedGroup, first: LinkedGroup, models: pl.DataFrame, benchmarks: pl.DataFrame) -> dict[str, Any]:
    joins = None
    if part is not first:
        # the best covered of either side bring most
        model = models.filter(pl.col("model").is_in(list(part.models)))["model"][0]
        benchmark = benchmarks.filter(pl.col("benchmark").is_in(list(first.benchmarks)))["benchmark"][0]
        joins = f"{model} on {benchmark}"
    return {
        "n_models": len(part.models),
        "n_benchmarks": len(part.benchmarks),
        "models": ", ".join(part.models),
        "benchmarks": ", ".join(part.benchmarks),
        "would_join": joins,
    }
