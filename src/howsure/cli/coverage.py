"""`howsure coverage`: does it hold what it promises?"""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.options import Level, Output, Seed, verb
from howsure.cli.output import progress_bar

__all__ = ["app"]

app = typer.Typer()


@app.command()
@verb
def coverage(
    output: Output,
    simulations: Annotated[
        int, typer.Option("-n", "--simulations", min=1, help="Simulated data sets for each row.")
    ] = 2000,
    level: Level = 0.95,
    seed: Seed = 0,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler that shares the work.", show_default=False)
    ] = None,
) -> None:
    """Measure how often each kind of interval covers the truth, by simulation.

    Rows marked "avoid" show what many scripts do. Writes coverage.csv and coverage.json.
    """
    import polars as pl

    from howsure.frames import write_frame
    from howsure.results import write_json
    from howsure.stats.coverage import coverage_table

    with progress_bar("simulating", output.console) as progress:
        rows = coverage_table(simulations, seed, progress, level=level, cluster=cluster)
    cells = [
        (row.method, row.design, f"{row.coverage:.3f} ± {row.monte_carlo_se:.3f}", f"{row.mean_width or 0:.3f}")
        for row in rows
    ]
    caption = f"{simulations:,} simulations a row, seed {seed}; ± is the simulation's own standard error."
    output.console.table(
        f"Coverage of {level:.0%} intervals", ("interval", "design", "coverage", "mean width"), cells, caption
    )
    output.console.json({"rows": rows, "seed": seed, "simulations": simulations})
    if output.out:
        frame = pl.DataFrame([vars(row) for row in rows])
        written = write_frame(frame, output.out / "coverage.csv"), write_json(rows, output.out / "coverage.json")
        output.console.wrote(written)
