"""`howsure horizon baselines`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.horizon.time import TaskTable, with_task_table
from howsure.cli.options import Inputs, Level, Output, Reading, SuccessRates, Threshold, numbers, verb

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon baselines examples/horizon/baseline_runs.csv --people 20")
@verb
def baselines(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    people: Annotated[int, typer.Option(min=1, help="How many more times can be measured.")] = 20,
    minutes_noise: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Error of the human times: standard deviation in doublings, where no two people did the same task.",
            show_default=False,
        ),
    ] = None,
    success_rates: SuccessRates = "0.5,0.8",
    task_table: TaskTable = None,
    threshold: Threshold = None,
    level: Level = 0.95,
) -> None:
    """How long people took, how much they differ, and whose time at which task to measure next.

    Rows of kind human with seconds are baselines: a score of 1 is a success after that time, everything less was given up then. Writes baseline_plan.csv,
    baseline_steps.csv, human_times.csv and baselines_report.html.
    """
    from howsure.horizon.time_horizon.durations import duration, told
    from howsure.horizon.time_horizon.people_times import plan_baselines
    from howsure.horizon.time_horizon.sections import row_estimate

    runs = reading.attempts(inputs, output.console)
    if task_table:
        runs = with_task_table(runs, task_table, output.console)
    found = plan_baselines(
        runs,
        n_people=people,
        minutes_noise=minutes_noise,
        success_rates=numbers("--success-rates", success_rates),
        level=level,
        threshold=threshold,
    )
    output.console.notes(note for note in found.provenance.notes if note not in runs.notes)
    if len(found.times):
        rows = [
            (
                row["task"],
                row["n_people"],
                row["n_gave_up"],
                told(row_estimate(row, level)),
                "" if row["noise"] is None else f"{row['noise']:.2f}",
            )
            for row in found.times.head(30).rows(named=True)
        ]
        columns = ("task", "people", "gave up", f"human time [{level:.0%}]", "error (doublings)")
        shown = f"{len(rows)} of {len(found.times)} tasks. " if len(rows) < len(found.times) else ""
        caption = f"{shown}One person's time differs from the task's by {found.spread} doublings (standard deviation)."
        output.console.table("Human times", columns, rows, caption)
    steps = [
        (row["n_more"], f"{row['sd_noise']:.3f}", f"{row['sd_all']:.3f}", f"{row['factor']:.3f}")
        for row in found.steps.rows(named=True)
    ]
    caption = "Standard deviation of log2 horizons, mean over models and success rates."
    output.console.table(
        "More human times", ("more", "from human times", "all errors", "interval, relative to now"), steps, caption
    )
    where = [
        (row["task"], duration(row["minutes"]), row["n_people"], row["n_more"], f"{row['share']:.0%}")
        for row in found.tasks.head(20).rows(named=True)
    ]
    caption = "Share of the variance from human times that these people remove."
    output.console.table("Where to measure", ("task", "minutes", "times so far", "more", "share"), where, caption)
    finish(found, output, "baselines", "Human times and what to measure next")
