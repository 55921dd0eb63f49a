"""`howsure horizon coverage`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Level, Output, Seed, verb
from howsure.cli.output import progress_bar

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon coverage --of compare --simulations 2")
@verb
def coverage(
    output: Output,
    of: Annotated[
        str,
        typer.Option(
            help="What is simulated: time, compare (ratios), limits (cut runs), trend (doubling times), domains (trends) or attempts."
        ),
    ] = "time",
    containing: Annotated[
        str | None, typer.Option(help="Only rows that contain this text: designs.", show_default=False)
    ] = None,
    simulations: Annotated[int, typer.Option(min=2, help="Simulated data sets: per design.")] = 200,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Measure by simulation how often the intervals of horizons contain the true value.

    Time horizons: 15 to 100 families, one run per task, tasks whose difficulty varies much, human times that are exact or have an error of one doubling
    of known size. The true value is the length at which the average over all tasks of that true length equals the success rate.
    Limits: a limit cut 30 % of the runs; failures last longer, successes do, or neither, and cut runs count in each of the ways of --limits. The true value is the horizon without a limit.
    Attempts: models as good as novices on attempts 1.5, 3 and 6; everybody at all tasks, tasks dealt out, and learners who leave a task when they can do it. Writes horizon_coverage.csv.
    """
    from howsure.horizon.interval_coverage import coverage as measure

    with progress_bar("simulating", output.console) as progress:
        found = measure(of, containing=containing, n_simulations=simulations, level=level, seed=seed, progress=progress)
    output.console.notes(found.provenance.notes)
    rows = [
        (
            *(row["quantity"], row["design"], f"{row['coverage']:.3f} ± {row['monte_carlo_se']:.3f}"),
            "" if row["median_error"] is None else f"{row['median_error']:+.2f}",
            *("" if row["median_width"] is None else f"{row['median_width']:.2f}", f"{row['share_open']:.0%}"),
        )
        for row in found.rows.rows(named=True)
    ]
    caption = (
        f"{simulations:,} simulated data sets per design, seed {seed}; ± is the Monte Carlo standard error. Bias: median of estimate divided by true value, in "
        "doublings. Width: of the intervals with two ends, median in doublings. Open: intervals with an open end."
    )
    columns = ("quantity", "design", "coverage", "bias", "width", "open")
    output.console.table(f"Coverage of {level:.0%} intervals", columns, rows, caption)
    finish(found, output, "coverage", "How often do intervals of horizons contain the true value?")
