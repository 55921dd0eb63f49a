"""`howsure horizon time`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import (
    Inputs,
    Level,
    Limits,
    Output,
    Reading,
    Scheduler,
    Seed,
    SuccessRates,
    Threshold,
    numbers,
    verb,
)
from howsure.cli.output import Console, progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howsure.horizon.time_horizon.horizons import ModelFit, TimeHorizons
    from howsure.tables import Attempts

__all__ = ["Covariates", "TaskTable", "app", "with_task_table"]

TaskTable = Annotated[
    Path | None,
    typer.Option(help="Table with task and minutes (and family, domain), joined to the runs.", show_default=False),
]

Covariates = Annotated[
    list[str] | None,
    typer.Option(
        "--covariate",
        help="Covariate: a column that describes tasks by a number, such as messiness (joint method); may be repeated.",
        show_default=False,
    ),
]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon time examples/horizon/time_counts.csv --success-rates 0.5,0.8 -o time")
@verb
def time(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    success_rates: SuccessRates = "0.5,0.8",
    method: Annotated[
        str,
        typer.Option(
            help="Method: logistic (one curve per model, as METR) or joint (effects of tasks and families, errors of human times)."
        ),
    ] = "logistic",
    minutes_noise: Annotated[
        float | None,
        typer.Option(min=0, help="Error of the human times: standard deviation in doublings.", show_default=False),
    ] = None,
    estimate_noise: Annotated[
        float | None,
        typer.Option(min=0, help="The same for times that human_source calls an estimate.", show_default=False),
    ] = None,
    human_times: Annotated[
        str, typer.Option(help="Lengths of tasks: stated (column minutes) or people (their timed attempts).")
    ] = "stated",
    ceiling: Annotated[
        bool, typer.Option("--ceiling", help="Let success at short tasks stay below 1 (joint).")
    ] = False,
    covariate: Covariates = None,
    limits: Limits = "scored",
    flags: Annotated[str, typer.Option(help="Runs that were flagged: scored, drop or failure.")] = "scored",
    minutes_policy: Annotated[
        str, typer.Option(help="Where rows of a task disagree on minutes: median, first or geometric-mean.")
    ] = "median",
    task_table: TaskTable = None,
    weights: Annotated[
        str,
        typer.Option(
            help="Weights: of the runs, invsqrt (a family counts with the square root of its size), equal (every run), task (every task)."
        ),
    ] = "invsqrt",
    regularisation: Annotated[float, typer.Option(min=0, help="Penalty on the squared slope.")] = 1e-5,
    replicates: Annotated[
        int, typer.Option(min=0, help="Replicates: bootstrap samples, or draws of the joint method.")
    ] = 1000,
    resample: Annotated[
        str,
        typer.Option(
            help="What is resampled: families (intervals from a test over families) or hierarchy (percentiles over families, tasks and runs, as METR)."
        ),
    ] = "families",
    kinds: Annotated[
        str, typer.Option(help="Whose runs: model, human, or both with a comma, as in human,model.")
    ] = "model",
    threshold: Threshold = None,
    censored: Annotated[
        Path | None,
        typer.Option(
            help="Tasks, one per line, whose minutes are a lower bound. [default: the longest tenth]",
            show_default=False,
        ),
    ] = None,
    level: Level = 0.95,
    seed: Seed = 0,
    scheduler: Scheduler = None,
) -> None:
    """The length of tasks, in an expert's minutes, at which each model succeeds half of the time.

    RUNS need the column minutes; counts of successes (n_successes, n_runs) for each model and task do as well. Writes time_horizons.csv, time_horizons.json,
    task_counts.csv, sensitivity.csv, replicates.parquet, the charts and time_report.html.
    """
    from howsure.horizon.time_horizon.horizons import time_horizons

    runs = reading.attempts(inputs, output.console)
    if task_table:
        runs = with_task_table(runs, task_table, output.console, covariate or ())
    with progress_bar("refitting", output.console) as progress:
        found = time_horizons(
            runs,
            success_rates=numbers("--success-rates", success_rates),
            method=method,
            minutes_noise=minutes_noise,
            estimate_noise=estimate_noise,
            human_times=human_times,
            has_ceiling=ceiling,
            covariates=covariate or (),
            limits=limits,
            flags=flags,
            minutes_policy=minutes_policy,
            weights=weights,
            regularisation=regularisation,
            n_replicates=replicates,
            resample=resample,
            level=level,
            seed=seed,
            kinds=[name.strip() for name in kinds.split(",")],
            threshold=threshold,
            censored=_lines(censored),
            scheduler=scheduler,
            progress=progress,
        )
    output.console.notes(note for note in found.provenance.notes if note not in runs.notes)
    _tell(found, output.console)
    finish(found, output, "time", "Time horizons")


def with_task_table(runs: Attempts, path: Path, console: Console, covariates: Sequence[str] = ()) -> Attempts:
    """The runs with minutes, family and domain from a table of tasks."""
    from howsure.horizon.run_counts import join_tasks
    from howsure.tables.frames import parts_of

    parts = [part.parsed() for part in parts_of(path)]
    joined = join_tasks(runs, parts[0].collect(parts[0].rows), str(path), covariates=covariates)
    console.notes(note for note in joined.notes if note not in runs.notes)
    return joined


def _tell(found: TimeHorizons, console: Console) -> None:
    from howsure.horizon.time_horizon.durations import told

    rows = [(fit.model, *map(told, fit.horizons.values()), *_counts(fit)) for fit in found.ranked]
    columns = (
        "model",
        *(f"{100 * rate:g} % [{found.level:.0%}]" for rate in found.success_rates),
        "runs",
        "tasks",
        "success",
    )
    console.table("Time horizons", columns, rows, "Expert time.")
    if "covariates" in found.tables:
        from howsure.horizon.time_horizon.sections import COVARIATES, covariate_rows

        console.table("What makes tasks harder or easier", *covariate_rows(found), COVARIATES)
    if found.data.cut is not None:
        from howsure.horizon.time_horizon.sections import BOUNDS, bounds_rows

        told_columns, told_rows = bounds_rows(found)
        console.table("Shortest and longest horizon that cut runs allow", told_columns, told_rows, BOUNDS)
    _tell_influence(found, console)


def _tell_influence(found: TimeHorizons, console: Console) -> None:
    """What the regularisation and the minutes do to the horizons at the first success rate."""
    from howsure.horizon.time_horizon.durations import times

    rate = found.success_rates[0]
    shown = [row for row in found.sensitivity.rows if row.success_rate == rate and row.ratio is not None]
    settings = list(dict.fromkeys((row.factor, row.setting) for row in shown))
    rows = []
    for factor, setting in settings:
        ratios = sorted(row.ratio or 1.0 for row in shown if (row.factor, row.setting) == (factor, setting))
        rows.append((factor, setting, *(times(ratios[place]) for place in (0, len(ratios) // 2, -1))))
    caption = f"Noise: error of the human times, in doublings. Censored: minutes of {len(found.sensitivity.censored)} tasks as a lower bound."
    columns = ("factor", "setting", "least", "middle model", "most")
    console.table(
        f"The {100 * rate:g} % horizon under other settings, as a multiple of the reported one", columns, rows, caption
    )


def _lines(path: Path | None) -> list[str]:
    if path is None:
        return []
    from howsure.safe_io import read_bytes

    return [line.strip() for line in read_bytes(path).decode(errors="replace").splitlines() if line.strip()]


def _counts(fit: ModelFit) -> tuple[object, ...]:
    return fit.n_runs, fit.n_tasks, f"{fit.success:.0%}"
