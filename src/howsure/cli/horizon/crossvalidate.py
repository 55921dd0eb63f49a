"""`howsure horizon crossvalidate`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Inputs, Level, Limits, Output, Reading, Seed, Threshold, verb
from howsure.cli.output import progress_bar
from howsure.errors import InputError

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon crossvalidate examples/horizon/time_counts.csv --folds 3")
@verb
def crossvalidate(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 5,
    threshold: Threshold = None,
    limits: Limits = "scored",
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """How well the logistic and the joint model predict runs that they have not seen.

    Two kinds of folds: held-out cells (a model at a task that other models tried) and held-out families of tasks. A model that knows tasks wins on
    cells; what a horizon claims is tested by families.
    """
    from howsure.horizon.time_horizon.held_out import crossvalidate as run
    from howsure.tables import Attempts

    runs = reading.read(inputs, output.console)
    if not isinstance(runs, Attempts):
        raise InputError(f"{', '.join(inputs)}: contains {type(runs).__name__.lower()}; time horizons need attempts.")
    with progress_bar("fitting", output.console) as progress:
        found = run(runs, folds=folds, threshold=threshold, limits=limits, level=level, seed=seed, progress=progress)
    for title, table in (
        (f"Held-out log-loss per run ({found.n_runs:,} runs, {folds} folds)", found.scores),
        ("Difference in log-loss per run (negative: better than the logistic curve)", found.differences),
    ):
        rows = [[f"{value:.4f}" if isinstance(value, float) else value for value in row] for row in table.rows()]
        output.console.table(title, table.columns, rows)
    finish(found, output, "crossvalidate", "Held-out runs")
