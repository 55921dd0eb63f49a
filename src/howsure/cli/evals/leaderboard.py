"""`howsure leaderboard`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.evals.common import Cluster
from howsure.cli.finish import finish
from howsure.cli.options import Inputs, Level, Output, Reading, Seed, verb

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="Example: howsure leaderboard examples/evals/attempts.csv --cluster family")
@verb
def leaderboard(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    benchmark: Annotated[
        str | None, typer.Option(help="Benchmark: only this one of published scores.", show_default=False)
    ] = None,
    n_items: Annotated[
        int | None,
        typer.Option(min=1, help="Number of items: of the benchmark, for published scores.", show_default=False),
    ] = None,
    cluster: Cluster = "task",
    level: Level = 0.95,
    target: Annotated[float, typer.Option("--power", help="Power: for the number of items needed.")] = 0.8,
    replicates: Annotated[
        int, typer.Option(min=100, help="Replicates: random sign flips, or draws of the scores' errors.")
    ] = 2000,
    seed: Seed = 0,
) -> None:
    """Models in tiers, with intervals of their ranks, and the items that would separate neighbours.

    All pairs are tested together, so the probability of any wrong order is at most 5 %. Tier 1 are the models that no model is
    significantly better than: it contains the best one. Takes attempts, or published scores (model, benchmark, score): without
    the number of items, the smallest number that gives the rounded percentages is used, and a note says so. Writes leaderboard.csv,
    leaderboard_pairs.csv, leaderboard.json, the charts and a report.
    """
    from howsure.evals.leaderboards import leaderboard as rank
    from howsure.evals.sections import rank_text

    table = reading.read(inputs, output.console)
    result = rank(
        table,
        benchmark=benchmark,
        n_items=n_items,
        cluster=cluster,
        level=level,
        power=target,
        n_replicates=replicates,
        seed=seed,
    )
    output.console.notes(result.provenance.notes[len(table.notes) :])
    rows = [
        (p.tier, p.subject, p.mean, rank_text(p.rank), rank_text(p.rank_marginal), f"{p.n_items:,}")
        for p in result.places
    ]
    columns = ("tier", "model", f"mean [{level:.0%}]", "rank, all together", "rank, this model alone", "items")
    caption = (
        f"Tier 1 contains the best model with {level:.0%} confidence. {result.separation} "
        f"Test: {result.method}. Shown: {result.estimand}."
    )
    output.console.table("Leaderboard", columns, rows, caption)
    finish(result, output, "leaderboard", "Which models can be told apart?")
