"""Attempts at evals as scores with standard errors, and with them a place on the capability scale."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.evals.summaries import ALL, groups_of, summary
from howsure.stitch.placing import PlacedModels, match_benchmarks, score
from howsure.stitch.scale import Scale
from howsure.tables import Attempts, Scores
from howsure.tables.spellings import fold_name

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["place_attempts", "scores_of"]


@checked
def scores_of(
    attempts: Source | Attempts, *, benchmark: str | None = None, by: str | None = None, cluster: str = "task"
) -> Scores:
    """Each model's mean score with its cluster-robust standard error, as scores of a benchmark. People and baselines are excluded.

    Parameters
    ----------
    attempts : Attempts, or what makes one (a frame or a file)
        Attempts at evals.
    benchmark : str, optional
        Name of the benchmark. With several groups the names read ``benchmark/group``. Without it, each group is a benchmark.
    by : str, optional
        Column that groups the attempts into benchmarks; without it, ``domain``.
    cluster : str
        Column of the clusters, or ``none``.
    """
    attempts = Attempts.of(attempts).counted
    of_models = attempts.lazy.filter(pl.col("kind") == "model")
    if of_models.head(1).collect().is_empty():
        raise InputError("No attempt is a model's (kind = model), so there is no model to score.")
    models = attempts.derive(of_models)
    group = by or groups_of(models, None)[-1]
    if group == ALL and benchmark is None:
        raise OptionError("The attempts name no domain. Say what the benchmark is called (--benchmark NAME).")
    means = summary(models, by=group, cluster=cluster)
    is_one = len({row.task for row in means.rows}) == 1
    rows = [
        {"model": row.subject, "benchmark": _called(benchmark, row.task, is_one=is_one), "score": row.mean.value}
        | {"se": row.se or None, "n_items": row.n_clusters}
        for row in means.rows
        if row.mean.value is not None
    ]
    frame = pl.DataFrame(rows, schema_overrides={"se": pl.Float64}, infer_schema_length=None)
    told = f"Scores are means of item means, with standard errors clustered by {cluster}."
    return Scores(_dated(frame, models), notes=(*attempts.notes, told))


@checked
def place_attempts(
    scale: Scale | str | os.PathLike[str],
    attempts: Source | Attempts,
    *,
    benchmark: str | None = None,
    cluster: str = "task",
    seed: int = 0,
) -> PlacedModels:
    """The models of a run on a finished capability scale, with all benchmarks fixed: one row per model, the most capable first.

    Parameters
    ----------
    scale : Scale or path
        What `howsure.stitch.fit` returned.
    attempts : Attempts, or what makes one (a frame or a file)
        Attempts at a benchmark that is on the scale.
    benchmark : str, optional
        Name of that benchmark: if the scale has it, all attempts count as attempts at it, whatever their domain; see `scores_of` else.
    cluster : str
        Column of the clusters, or ``none``.
    seed : int
        Seed of the intervals.
    """
    scale = Scale.loaded(scale)
    attempts = Attempts.of(attempts).counted
    folded = {fold_name(name) for name in scale.problem.benchmarks}
    is_whole = benchmark is not None and fold_name(benchmark) in folded
    if is_whole and attempts.has("domain") and cluster != "domain":  # else every domain would have the same weight
        attempts = attempts.derive(attempts.lazy.drop("domain"))
    scores = scores_of(attempts, benchmark=benchmark, by=ALL if is_whole else None, cluster=cluster)
    found = set(match_benchmarks(scale, scores).frame["benchmark"])
    if not found & set(scale.problem.benchmarks):
        known = ", ".join(scale.problem.benchmarks[:3])
        raise InputError(
            f"None of the benchmarks of these attempts ({', '.join(sorted(found)[:3])}) is on the scale, which has {known}, …. "
            "Say with --benchmark which of these the attempts belong to, or fit a scale that includes them."
        )
    return score(scale, scores, seed=seed)


def _called(benchmark: str | None, group: str, *, is_one: bool) -> str:
    if benchmark is None:
        return group
    return benchmark if is_one else f"{benchmark}/{group}"


def _dated(scores: pl.DataFrame, attempts: Attempts) -> pl.DataFrame:
    if not attempts.has("date"):
        return scores
    released = attempts.lazy.group_by("subject").agg(pl.col("date").min()).collect()
    return scores.join(released, left_on="model", right_on="subject", how="left", maintain_order="left")
