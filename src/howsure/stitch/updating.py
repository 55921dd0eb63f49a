"""New scores for an old scale: what moved, and why."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from howsure.arguments import checked
from howsure.results import Provenance, Result, plain
from howsure.stitch.cleaning import listed
from howsure.stitch.placing import capabilities_on
from howsure.stitch.scale import LEAST_REFERENCE, Scale, fit
from howsure.tables import Scores

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["LEAST_CHANGE", "ScaleUpdate", "UpdateCounts", "update"]

LEAST_CHANGE = 0.005
"""A change of a capability that is shown: two digits show it."""

_SAME = 1e-9  # scores that differ by less are the same


@dataclass(frozen=True)
class UpdateCounts:
    """How many scores, models and benchmarks came, changed and went."""

    n_new_scores: int
    n_changed_scores: int
    n_removed_scores: int
    n_new_models: int
    n_removed_models: int
    n_new_benchmarks: int
    n_removed_benchmarks: int


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaleUpdate(Result):
    """An old scale beside a new one.

    Parameters
    ----------
    counts : UpdateCounts
        What came, changed and went.
    models : pl.DataFrame
        One row per model of either scale, the largest change first: model, before, capability (now) with its interval, change, by_own_scores, by_curves, rank_before, rank, is_outside (the old value is outside the
        new interval), n_new, n_changed, n_removed (of its scores), reason.
    scores : pl.DataFrame
        Scores that came, changed or went: model, benchmark, kind, before, score.
    benchmarks : pl.DataFrame
        One row per benchmark: benchmark, kind (new, removed, kept), difficulty_before, difficulty, slope_before, slope.
    scale : Scale
        The new scale.
    provenance : Provenance
        Settings, seed, digest of the new input, version and notes.
    """

    name: ClassVar[str] = "update"

    counts: UpdateCounts
    models: pl.DataFrame
    scores: pl.DataFrame
    benchmarks: pl.DataFrame
    scale: Scale
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Models (main), scores and benchmarks."""
        return {"update": self.models, "update_scores": self.scores, "update_benchmarks": self.benchmarks}

    def as_dict(self) -> dict[str, Any]:
        """The counts, the tables and the provenance as plain JSON."""
        return {**plain(self.counts), **super().as_dict()}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import scale_section, update_section

        return [update_section(self), scale_section(self.scale)]

    @property
    def moved(self) -> pl.DataFrame:
        """Models whose capability changed, the largest change first."""
        return self.models.filter(pl.col("change").abs() >= LEAST_CHANGE)

    def charts(self) -> dict[str, Chart]:
        """The largest changes, if there are any."""
        from howsure.stitch.charts import draw_update

        return {"update": draw_update(self)} if self.moved.height else {}


@checked
def update(
    old: Scale | str | os.PathLike[str],
    scores: Source | Scores,
    *,
    n_replicates: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> ScaleUpdate:
    """Fit new scores with the settings of an old scale, and say what changed and why.

    A change of a capability has two parts. ``by_own_scores`` is the effect of the model's own new, changed and removed scores with the old curves: the model is placed with
    its new scores on the old scale. ``by_curves`` is the rest: benchmarks became easier or harder through the scores of other models, or new benchmarks came.

    Parameters
    ----------
    old : Scale or path
        The scale so far; its preset, anchor and other settings are used again.
    scores : Scores, frame or path
        The whole new table, for example a newer zip.
    n_replicates : int, optional
        Refits for the intervals; as many as the old scale has by default.
    seed : int
        The same seed gives the same numbers.
    progress : callable, optional
        Is called with the number of refits done and their total.
    """
    old = Scale.loaded(old)
    table = Scores.of(scores)
    options, lost = _options(old, table)
    drawn = (len(old.replicates) if old.replicates is not None else 0) if n_replicates is None else n_replicates
    new = fit(table, **options, n_replicates=drawn, seed=seed, progress=progress)
    changed = _changes(old, new)
    models = _models(old, new, changed)
    benchmarks = _benchmarks(old, new)
    counted = dict(changed["kind"].value_counts().iter_rows())
    kinds = dict(benchmarks["kind"].value_counts().iter_rows())
    counts = UpdateCounts(
        n_new_scores=counted.get("new", 0),
        n_changed_scores=counted.get("changed", 0),
        n_removed_scores=counted.get("removed", 0),
        n_new_models=int(models["before"].is_null().sum()),
        n_removed_models=int(models["capability"].is_null().sum()),
        n_new_benchmarks=kinds.get("new", 0),
        n_removed_benchmarks=kinds.get("removed", 0),
    )
    settings = {"old_digest": old.provenance.digest, "scale": new.provenance.settings}
    notes = (*new.provenance.notes, *lost)
    return ScaleUpdate(
        counts=counts,
        models=models,
        scores=changed,
        benchmarks=benchmarks,
        scale=new,
        provenance=Provenance(settings, new.provenance.digest, seed, notes),
    )


def _options(old: Scale, table: Scores) -> tuple[dict[str, Any], list[str]]:
    """The old scale's settings for a new fit; what no longer fits is left to the default, with a note."""
    told, notes = old.provenance.settings, []
    names = (
        "preset",
        "min_benchmarks",
        "since",
        "duplicates",
        "include",
        "exclude",
        "floors",
        "keep_overlaps",
        "ridge",
        "dimensions",
        "resample",
    )
    options = {name: told[name] for name in names if name in told}
    there = {*table.frame["model"].unique(), *table.frame["benchmark"].unique()}
    for name in ("include", "exclude"):
        gone = [entry for entry in options.get(name, ()) if entry.partition("@")[0] not in there]
        options[name] = tuple(entry for entry in options.get(name, ()) if entry not in gone)
        notes += [f"No longer in the table, so not asked for ({name}): {listed(gone)}."] if gone else []
    if told.get("anchor") in there:
        options |= {name: told[name] for name in ("anchor", "anchor_difficulty", "anchor_slope")}
    elif "anchor" in told:
        notes.append(
            f"The anchor {told['anchor']} is no longer in the table; the benchmark that most models have takes its place."
        )
    if "anchor_models" in told:
        options["anchor_models"] = told["anchor_models"]
    reference = told.get("reference", "none")
    if not isinstance(reference, str):  # by name: the values that the models have on the old scale give the unit
        gone = [name for name in reference if name not in there]
        reference = old if len(reference) - len(gone) >= LEAST_REFERENCE else "none"
        if reference == "none":
            notes.append(
                f"{len(gone)} of the models that fix the unit are no longer in the table; the anchor is used instead."
            )
    return options | {"level": old.level, "reference": reference}, notes


def _changes(old: Scale, new: Scale) -> pl.DataFrame:
    """New, changed and removed scores."""
    key = ["model", "benchmark"]
    before, now = (one.problem.to_frame().select(*key, "score") for one in (old, new))
    both = now.join(before.rename({"score": "before"}), on=key, how="full", coalesce=True)
    kind = (
        pl.when(pl.col("before").is_null())
        .then(pl.lit("new"))
        .when(pl.col("score").is_null())
        .then(pl.lit("removed"))
        .when((pl.col("score") - pl.col("before")).abs() > _SAME)
        .then(pl.lit("changed"))
    )
    return both.select(*key, kind.alias("kind"), "before", "score").drop_nulls("kind").sort(*key)


def _models(old: Scale, new: Scale, changed: pl.DataFrame) -> pl.DataFrame:
    count = [(pl.col("kind") == kind).sum().cast(pl.Int64).alias(f"n_{kind}") for kind in ("new", "changed", "removed")]
    of_model = changed.group_by("model").agg(count)
    before = old.models.select("model", pl.col("capability").alias("before"), pl.col("rank").alias("rank_before"))
    now = new.models.select("model", "capability", "capability_low", "capability_high", "capability_state", "rank")
    # the old curves with the new scores, of models that are on both scales
    known = new.problem.to_frame().filter(
        pl.col("model").is_in(before["model"].implode()), pl.col("benchmark").is_in(list(old.problem.benchmarks))
    )
    placed = capabilities_on(old, Scores(known)) if len(known) else {}
    was = capabilities_on(old, Scores(old.problem.to_frame())) if len(known) else {}
    joined = (
        now.join(before, on="model", how="full", coalesce=True)
        .join(of_model, on="model", how="left")
        .with_columns(
            pl.col("n_new", "n_changed", "n_removed").fill_null(0),
            pl.col("model").replace_strict(placed, default=None, return_dtype=pl.Float64).alias("on_old"),
            pl.col("model").replace_strict(was, default=None, return_dtype=pl.Float64).alias("as_was"),
        )
    )
    has_own = pl.sum_horizontal("n_new", "n_changed", "n_removed") > 0
    change = pl.col("capability") - pl.col("before")
    # both placed with frozen curves, so that only the scores differ
    own = pl.when(has_own).then(pl.col("on_old") - pl.col("as_was")).when(change.is_not_null()).then(0.0)
    outside = ~pl.col("before").is_between(pl.col("capability_low"), pl.col("capability_high"))
    frame = joined.with_columns(change.alias("change"), own.alias("by_own_scores"), outside.alias("is_outside"))
    frame = frame.with_columns(by_curves=pl.col("change") - pl.col("by_own_scores"))
    names = [
        *("model", "before", "capability", "capability_low", "capability_high", "capability_state", "change"),
        *("by_own_scores", "by_curves", "rank_before", "rank", "is_outside", "n_new", "n_changed", "n_removed"),
    ]
    frame = frame.select(names).sort(pl.col("change").abs(), "model", descending=[True, False], nulls_last=True)
    return frame.with_columns(pl.Series("reason", [_reason(row) for row in frame.rows(named=True)], dtype=pl.String))


def _reason(row: dict[str, Any]) -> str:
    if row["before"] is None:
        return "new on the scale"
    if row["capability"] is None:
        return "no longer on the scale"
    own = [f"{row[f'n_{kind}']} {kind}" for kind in ("new", "changed", "removed") if row[f"n_{kind}"]]
    if not own:
        return "only the curves moved"
    mostly = (
        "mostly its own scores"
        if abs(row["by_own_scores"] or 0.0) > abs(row["by_curves"] or 0.0)
        else "mostly the curves"
    )
    return f"{mostly} ({', '.join(own)})"


def _benchmarks(old: Scale, new: Scale) -> pl.DataFrame:
    columns = ("benchmark", "difficulty", "slope")
    before = old.benchmarks.select(columns).rename({"difficulty": "difficulty_before", "slope": "slope_before"})
    both = new.benchmarks.select(columns).join(before, on="benchmark", how="full", coalesce=True)
    kind = (
        pl.when(pl.col("difficulty_before").is_null())
        .then(pl.lit("new"))
        .when(pl.col("difficulty").is_null())
        .then(pl.lit("removed"))
        .otherwise(pl.lit("kept"))
    )
    moved = (pl.col("difficulty") - pl.col("difficulty_before")).abs()
    frame = both.select("benchmark", kind.alias("kind"), "difficulty_before", "difficulty", "slope_before", "slope")
    return frame.sort(moved, "benchmark", descending=[True, False], nulls_last=True)
