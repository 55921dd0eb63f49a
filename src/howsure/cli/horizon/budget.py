"""`howsure horizon budget`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.horizon.time import TaskTable, with_task_table
from howsure.cli.options import Inputs, Level, Output, Reading, SuccessRates, Threshold, numbers, verb

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon budget examples/horizon/budget_runs.csv --unit tokens -o budget")
@verb
def budget(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    unit: Annotated[str, typer.Option(help="Unit of the budget: tokens, cost (dollars) or seconds.")] = "tokens",
    budgets: Annotated[
        str | None,
        typer.Option(help="Budgets per run, with commas. [default: eight round numbers]", show_default=False),
    ] = None,
    success_rates: SuccessRates = "0.5",
    minutes_noise: Annotated[
        float | None,
        typer.Option(min=0, help="Error of the human times: standard deviation in doublings.", show_default=False),
    ] = None,
    task_table: TaskTable = None,
    threshold: Threshold = None,
    level: Level = 0.95,
) -> None:
    """The time horizon of each model as a function of the budget of a run.

    RUNS need minutes (Inspect logs: the metadata field human_minutes or minutes), what each run spent, and limit where a limit cut it. A run that ended by itself
    with a wrong answer fails at every larger budget; a run that was cut is censored. Writes horizon_by_budget.csv, the chart and budget_report.html.
    """
    from howsure.horizon.time_horizon.budgets import budget_horizons
    from howsure.horizon.time_horizon.durations import told
    from howsure.horizon.time_horizon.sections import amount, row_estimate

    runs = reading.attempts(inputs, output.console)
    if task_table:
        runs = with_task_table(runs, task_table, output.console)
    found = budget_horizons(
        runs,
        unit=unit,
        budgets=numbers("--budgets", budgets) if budgets else (),
        success_rates=numbers("--success-rates", success_rates),
        minutes_noise=minutes_noise,
        threshold=threshold,
        level=level,
    )
    output.console.notes(note for note in found.provenance.notes if note not in runs.notes)
    rows = [
        (
            *(row["model"], amount(row["budget"], unit), f"{100 * row['success_rate']:g} %"),
            *(told(row_estimate(row, level)), f"{row['success']:.0%}", f"{row['share_unknown']:.0%}"),
        )
        for row in found.rows.sort("model", "success_rate", "budget").rows(named=True)
    ]
    caption = (
        f"{found.n_cut:,} of {found.n_runs:,} runs were cut at a limit. Unknown: runs that a smaller limit cut, in cells where none spent more; the "
        "estimate counts them as failures, the interval reaches to where all succeed."
    )
    columns = ("model", f"budget ({unit})", "success rate", f"horizon [{level:.0%}]", "success", "unknown")
    output.console.table("Time horizons by budget", columns, rows, caption)
    finish(found, output, "budget", "Time horizons by budget")
