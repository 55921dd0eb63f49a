"""`howsure horizon benchmarks`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Level, Output, Reading, verb
from howsure.estimates import chance
from howsure.results.base import readable

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon benchmarks name examples/horizon/name_scores.csv -o benchmarks")
@verb
def benchmarks(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="ATTEMPTS", help="The folder that `howsure horizon attempts -o` wrote.", show_default=False
        ),
    ],
    scores: Annotated[
        list[str], typer.Argument(help="Scores of the same models on other benchmarks.", show_default=False)
    ],
    reading: Reading,
    output: Output,
    level: Level = 0.95,
) -> None:
    """Where NAME orders models otherwise than other benchmarks do, and in which domains.

    Writes benchmarks.csv (rank correlations, by domain), reversed_pairs.csv, benchmarks.json, the chart and benchmarks_report.html.
    """
    from howsure.horizon.attempt_horizon.benchmark_order import ALL, compare_benchmarks
    from howsure.horizon.attempt_horizon.horizons import AttemptHorizons

    found = compare_benchmarks(AttemptHorizons.load(folder), reading.scores(scores, output.console), level=level)
    output.console.notes(found.provenance.notes)
    whole = readable(found.agreement.filter(tasks=ALL).drop("tasks"))
    title = f"Order of models by NAME and by {len(whole)} other benchmark{'' if len(whole) == 1 else 's'}"
    output.console.table(
        title,
        ("benchmark", "models", f"Kendall's τ [{level:.0%}]"),
        whole.iter_rows(),
        "1: the same order. By domain of NAME: benchmarks.csv.",
    )
    rows = [
        (
            p["benchmark"],
            p["a"],
            p["b"],
            chance(p["p_a_greater"]),
            f"{p['score_a']:.3f}",
            f"{p['score_b']:.3f}",
            p["domains_a_ahead"],
            p["domains_b_ahead"],
        )
        for p in found.pairs.head(20).rows(named=True)
    ]
    columns = ("benchmark", "A", "B", "P(A > B) by NAME", "score A", "score B", "A ahead in", "B ahead in")
    output.console.table(
        f"Pairs in different order: {len(found.pairs)}",
        columns,
        rows,
        "NAME has A ahead, the benchmark B. A P(A > B) near 50 % is no disagreement.",
    )
    finish(found, output, "benchmarks", "NAME and other benchmarks")
