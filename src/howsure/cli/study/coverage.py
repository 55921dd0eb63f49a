"""`howsure study coverage`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Level, Output, Seed, verb
from howsure.cli.output import progress_bar

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog='Example: howsure study coverage --containing "mean label" --simulations 20')
@verb
def coverage(
    output: Output,
    containing: Annotated[
        str | None, typer.Option(help="Only rows that contain this text.", show_default=False)
    ] = None,
    simulations: Annotated[int, typer.Option("-n", "--simulations", min=1, help="Simulated data sets: per row.")] = 400,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """How often the intervals of rating studies contain the true value: labels and judges, systems, raters, categories, votes, live looks.

    A row marked "avoid" is a common mistake; one marked "fails" breaks an assumption of the model. Writes study_coverage.csv and study_coverage.json.
    """
    from howsure.study.interval_coverage import coverage as measure

    with progress_bar("simulating", output.console) as progress:
        found = measure(containing=containing, n_simulations=simulations, level=level, seed=seed, progress=progress)
    rows = [
        (row.method, row.design, f"{row.coverage:.3f} ± {row.monte_carlo_se:.3f}", f"{row.mean_width or 0:.3f}")
        for row in found.rows
    ]
    caption = f"{simulations:,} simulations per row, seed {seed}; ± is the Monte Carlo standard error."
    output.console.table(
        f"Coverage of {level:.0%} intervals", ("interval", "design", "coverage", "mean width"), rows, caption
    )
    finish(found, output, "coverage", "Coverage of the intervals of rating studies")
