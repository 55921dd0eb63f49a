"""`howsure horizon size`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Level, Output, Seed, numbers, verb
from howsure.cli.output import progress_bar

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon size --horizon 6 --learners 50,100 --tasks 100")
@verb
def size(
    output: Output,
    horizon: Annotated[float, typer.Option(min=1, help="The horizon that you expect, in attempts.")] = 3.0,
    width: Annotated[
        float, typer.Option(min=0.01, help="Half-width of the interval, relative to the horizon: 0.2 is ± 20 %.")
    ] = 0.2,
    learners: Annotated[str, typer.Option(help="Number of learners: all to try, with commas.")] = "10,20,30,50,100",
    tasks: Annotated[str, typer.Option(help="Number of tasks: all to try, with commas.")] = "20,50,100,200",
    tasks_per_learner: Annotated[
        int | None,
        typer.Option(min=1, help="Deal each novice this many of the tasks. [default: all]", show_default=False),
    ] = None,
    mastery: Annotated[
        int | None,
        typer.Option(min=1, help="Novices leave a task after so many successes in a row.", show_default=False),
    ] = None,
    attempts: Annotated[int, typer.Option(min=2, help="Attempts at each task, per novice.")] = 10,
    runs: Annotated[int, typer.Option(min=1, help="Runs per model and task.")] = 20,
    suite: Annotated[str, typer.Option("--difficulty", help="Difficulty of the tasks: mixed, easy or hard.")] = "mixed",
    sameness: Annotated[
        float, typer.Option(min=0.01, max=1, help="Similarity of the learners; 1: all the same.")
    ] = 0.85,
    simulations: Annotated[int, typer.Option(min=20, help="Simulated data sets: studies per size.")] = 200,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """How many learners and tasks a study needs, by simulation.

    Each learner tries each task, unless tasks are dealt out (--tasks-per-learner, as `howsure horizon page --learners` does). Writes size.csv, size.json, the chart and size_report.html.
    """
    from howsure.horizon.attempt_horizon.study_size import size_study

    with progress_bar("simulating", output.console) as progress:
        found = size_study(
            horizon=horizon,
            wanted=width,
            learners=[int(n) for n in numbers("--learners", learners)],
            tasks=[int(n) for n in numbers("--tasks", tasks)],
            tasks_per_learner=tasks_per_learner,
            mastery=mastery,
            n_attempts=attempts,
            n_runs=runs,
            suite=suite,
            sameness=sameness,
            n_simulations=simulations,
            level=level,
            seed=seed,
            progress=progress,
        )
    rows = [
        (
            d.n_tasks,
            d.n_learners,
            d.n_dealt,
            f"{d.n_answers:,}",
            None if d.half_width is None else f"± {d.half_width:.0%}",
        )
        for d in found.designs
    ]
    best = found.cheapest
    told = (
        f"The fewest answers for ± {width:.0%}: {best.n_learners} learners, each at {best.n_dealt} of {best.n_tasks} tasks."
        if best
        else f"None of these reaches ± {width:.0%}."
    )
    columns = ("tasks", "learners", "tasks per learner", "learners × tasks", "interval")
    output.console.table(f"Precision of a horizon of {horizon:g} attempts", columns, rows, told)
    finish(found, output, "size", "Size of a novice study")
