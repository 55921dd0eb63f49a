"""NAME beside other benchmarks: where the order of models differs, and in which domains of NAME."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError
from howsure.horizon.attempt_horizon.horizons import AttemptHorizons
from howsure.results import Provenance, Result, columns_of
from howsure.stats.correlation import correlation
from howsure.tables import Scores

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.tables.frames import Source

__all__ = ["BenchmarkOrder", "compare_benchmarks"]

ALL = "all tasks"
_FEWEST = 3  # models in common: two have one order, which agrees or not
_SURE = 0.95  # P(A > B) from which NAME's order of two models is taken as known


@dataclass(frozen=True, kw_only=True, eq=False)
class BenchmarkOrder(Result):
    """How far NAME and other benchmarks order models alike.

    Parameters
    ----------
    agreement : polars.DataFrame
        One row per benchmark and group of NAME's tasks (all, then each domain): n_models, the estimate kendall (rank correlation of the models' success on these tasks with the benchmark's scores; 1: the same order).
    pairs : polars.DataFrame
        Pairs of models in different order: benchmark, a (ahead by NAME), b, p_a_greater by NAME, whether that is_sure (at least 95 %), the benchmark's scores, and the domains of NAME in which a or b is ahead.
    level : float
        Coverage of the intervals.
    provenance : Provenance
        Settings, digest of the scores, version and notes.
    """

    name: ClassVar[str] = "benchmarks"

    agreement: pl.DataFrame
    pairs: pl.DataFrame
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``benchmarks`` (one row per benchmark and group of tasks) and ``reversed_pairs``."""
        return {"benchmarks": self.agreement, "reversed_pairs": self.pairs}

    def charts(self) -> dict[str, Chart]:
        """Rank correlations of each benchmark with NAME, by domain."""
        from howsure.charts import Caption, Field, heat_map

        rows = self.agreement.drop_nulls("kendall")
        if rows.is_empty():
            return {}
        chart = heat_map(
            rows,
            title="Do other benchmarks order models as NAME does?",
            caption=Caption(rows["benchmark"].n_unique(), "benchmarks", self.level, "Fisher's, models as a sample"),
            x=Field("tasks", "Tasks of NAME"),
            y=Field("benchmark", "Benchmark"),
            value=Field("kendall", "Kendall's τ", domain=(-1, 1)),
            low="kendall_low",
            high="kendall_high",
            midpoint=0,
        )
        return {"benchmarks": chart}


@checked
def compare_benchmarks(
    horizons: AttemptHorizons | str | os.PathLike[str], scores: Scores | Source, *, level: float = 0.95
) -> BenchmarkOrder:
    """Where NAME's order of models differs from that of other benchmarks, and in which domains.

    On the same tasks the order of horizons is the order of success rates, so models beyond the novices' attempts are included.

    Parameters
    ----------
    horizons : AttemptHorizons or path
        What `howsure horizon attempts` found.
    scores : Scores or frame
        Scores of the same models on other benchmarks; several of one model on a benchmark are averaged.
    level : float
        Coverage of the intervals.
    """
    horizons = AttemptHorizons.loaded(horizons)
    table = Scores.of(scores)
    success = _success(horizons)
    others = table.frame.group_by("benchmark", "model").agg(pl.col("score").mean()).sort("benchmark", "model")
    others = others.filter(pl.col("model").is_in(list(success[ALL])))
    counts = others.group_by("benchmark", maintain_order=True).len()
    kept = counts.filter(pl.col("len") >= _FEWEST)["benchmark"].to_list()
    if not kept:
        raise InputError(
            f"No benchmark has scores of at least {_FEWEST} of the models with a horizon ({', '.join(success[ALL])}). Names must be the same in both tables."
        )
    notes = (
        (f"{len(counts) - len(kept)} benchmarks with fewer than {_FEWEST} of the models were excluded.",)
        if len(kept) < len(counts)
        else ()
    )
    rows: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for benchmark in kept:
        score = dict(others.filter(pl.col("benchmark") == benchmark).select("model", "score").iter_rows())
        for group, by_model in success.items():
            shared = [model for model in score if model in by_model]
            found = correlation([by_model[m] for m in shared], [score[m] for m in shared], "kendall", level=level)
            rows.append(
                {"benchmark": benchmark, "tasks": group, "n_models": len(shared)} | columns_of(kendall=found.estimate)
            )
        pairs += _reversed(horizons, success, benchmark, score)
    names = {"benchmark": pl.String, "a": pl.String, "b": pl.String, "p_a_greater": pl.Float64, "is_sure": pl.Boolean}
    names |= {"score_a": pl.Float64, "score_b": pl.Float64, "domains_a_ahead": pl.String, "domains_b_ahead": pl.String}
    return BenchmarkOrder(
        agreement=pl.DataFrame(rows, infer_schema_length=None),
        pairs=pl.DataFrame(pairs, schema=names),
        level=level,
        provenance=Provenance({"level": level}, table.digest, notes=(*table.notes, *notes)),
    )


def _success(horizons: AttemptHorizons) -> dict[str, dict[str, float]]:
    """Each model's mean success over all tasks, then on each domain's."""
    first = horizons.rows[0]
    found: dict[str, dict[str, float]] = {ALL: {}}
    for row in (*horizons.rows, *horizons.domains):
        if (row.definition, row.success_rate) == (
            first.definition,
            first.success_rate,
        ) and row.success.value is not None:
            group = ALL if row in horizons.rows else row.group
            found.setdefault(group, {})[row.model] = row.success.value
    return found


def _reversed(
    horizons: AttemptHorizons, success: dict[str, dict[str, float]], benchmark: str, score: dict[str, float]
) -> list[dict[str, Any]]:
    first = horizons.rows[0]
    chance = {
        (p.a, p.b): p.p_a_greater
        for p in horizons.pairs
        if (p.definition, p.success_rate) == (first.definition, first.success_rate)
    }
    rows = []
    for one, two in itertools.combinations(score, 2):
        a, b = sorted((one, two), key=lambda model: -success[ALL][model])
        if success[ALL][a] == success[ALL][b] or score[a] >= score[b]:
            continue
        p = chance.get((a, b))
        if p is None and (other := chance.get((b, a))) is not None:
            p = 1 - other
        gaps = {g: by[a] - by[b] for g, by in success.items() if g != ALL and a in by and b in by}
        ahead, behind = ([g for g, gap in gaps.items() if sign * gap > 0] for sign in (1, -1))
        about = {"benchmark": benchmark, "a": a, "b": b, "p_a_greater": p, "is_sure": p is not None and p >= _SURE}
        told = {"domains_a_ahead": ", ".join(ahead), "domains_b_ahead": ", ".join(behind)}
        rows.append({**about, "score_a": score[a], "score_b": score[b], **told})
    return sorted(rows, key=lambda row: -(row["p_a_greater"] or 0))
