"""`howsure horizon compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Output, verb

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon compare time amber-2 amber-1")
@verb
def compare(
    folder: Annotated[
        Path,
        typer.Argument(metavar="TIME", help="The folder that `howsure horizon time -o` wrote.", show_default=False),
    ],
    a: Annotated[str, typer.Argument(metavar="A", help="A model.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="Another model.", show_default=False)],
    output: Output,
) -> None:
    """The ratio of A's time horizon to B's, and the probability that A's is longer.

    Both are fitted to the same tasks in every replicate. Writes compare.csv, horizon_compare.json, the charts and compare_report.html.
    """
    from howsure.estimates import chance
    from howsure.horizon.time_horizon.comparison import compare_horizons
    from howsure.horizon.time_horizon.durations import times, told
    from howsure.horizon.time_horizon.horizons import TimeHorizons

    horizons = TimeHorizons.load(folder)
    found = compare_horizons(horizons, a, b)
    output.console.notes(note for note in found.provenance.notes if note not in horizons.provenance.notes)
    rows = [
        (
            f"{100 * row.success_rate:g} %",
            *(told(row.a), told(row.b), told(row.ratio, times)),
            *(chance(row.p_a_greater), row.n_undefined),
        )
        for row in found.rows
    ]
    columns = ("success rate", a, b, f"ratio [{horizons.level:.0%}]", f"P({a} longer)", "replicates without ratio")
    output.console.table(f"{a} compared with {b}", columns, rows, f"{found.n_shared_tasks:,} tasks that both tried.")
    finish(found, output, "compare", f"Time horizons: {a} compared with {b}")
