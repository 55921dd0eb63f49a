"""`howsure coverage`: how often does each kind of interval contain the true value?"""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.options import Level, Output, Seed, verb
from howsure.cli.output import progress_bar

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="Example: howsure coverage --simulations 20")
@verb
def coverage(
    output: Output,
    simulations: Annotated[int, typer.Option("-n", "--simulations", min=1, help="Simulated data sets per row.")] = 2000,
    level: Level = 0.95,
    seed: Seed = 0,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler that shares the work.", show_default=False)
    ] = None,
) -> None:
    """Measure by simulation how often each kind of interval contains the true value.

    Rows marked "avoid" show common mistakes. Writes coverage.csv and coverage.json.
    """
    from howsure.evals.interval_coverage import coverage as measure_coverage

    with progress_bar("simulating", output.console) as progress:
        result = measure_coverage(
            n_simulations=simulations, level=level, seed=seed, scheduler=scheduler, progress=progress
        )
    rows = [
        (row.method, row.design, f"{row.coverage:.3f} ± {row.monte_carlo_se:.3f}", f"{row.mean_width or 0:.3f}")
        for row in result.rows
    ]
    caption = f"{simulations:,} simulations per row, seed {seed}; ± is the Monte Carlo standard error."
    columns = ("interval", "design", "coverage", "mean width")
    output.console.table(f"Coverage of {level:.0%} intervals", columns, rows, caption)
    output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(result.save(output.out))
