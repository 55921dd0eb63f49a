"""`howsure horizon simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import Output, Seed, verb
from howsure.cli.output import Console
from howsure.errors import OptionError

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon simulate --n-tasks 20 -o simulated")
@verb
def simulate(
    output: Output,
    tasks: Annotated[
        Path | None,
        typer.Option(
            "--task-suite",
            help="Tasks that `howsure horizon tasks` wrote; without them, tasks are simulated.",
            show_default=False,
        ),
    ] = None,
    n_tasks: Annotated[int, typer.Option("--n-tasks", min=1, help="Number of tasks to simulate.")] = 100,
    suite: Annotated[str, typer.Option("--difficulty", help="Difficulty of the tasks: mixed, easy or hard.")] = "mixed",
    learners: Annotated[int, typer.Option(min=1, help="Number of learners.")] = 50,
    attempts: Annotated[int, typer.Option(min=1, help="Attempts at each task, per novice.")] = 10,
    runs: Annotated[int, typer.Option(min=1, help="Runs per model and task.")] = 20,
    like: Annotated[
        list[float] | None,
        typer.Option(
            "--novice-attempt",
            help="Instead of three models: one that does as well as novices on this attempt; may be repeated.",
            show_default=False,
        ),
    ] = None,
    sameness: Annotated[
        float, typer.Option(min=0.01, max=1, help="Similarity of the learners; 1: all the same.")
    ] = 0.85,
    tasks_per_learner: Annotated[
        int | None,
        typer.Option(min=1, help="Deal each novice this many of the tasks. [default: all]", show_default=False),
    ] = None,
    mastery: Annotated[
        int | None,
        typer.Option(min=1, help="Novices leave a task after so many successes in a row.", show_default=False),
    ] = None,
    rehearse: Annotated[
        Path | None,
        typer.Option(
            help="Fill in this page, or the pages of this folder, that `howsure horizon page` wrote; of the other options --learners (for a page for everyone), --sameness and --seed count.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Simulate novices who learn and models that do not, with known true values.

    By default the data set of NAME: 100 tasks × 50 learners × 10 attempts, and 3 models × 20 runs × 100 tasks. Writes runs.jsonl, suite.csv (the
    true curves) and truth.json. With --rehearse: the files that novices would send back, in answers/ for `howsure horizon collect`, and suite.csv.
    """
    from howsure.horizon import simulator

    if not output.out:
        raise OptionError("The runs need a folder: add -o DIR.")
    if rehearse:
        _rehearse(rehearse, output.out, output.console, n_learners=learners, sameness=sameness, seed=seed)
        return
    if any(attempt < 1 for attempt in like or ()):
        raise OptionError("--novice-attempt begins at 1.")
    if tasks:
        from howsure.horizon.task_bank import read_tasks

        chosen = simulator.suite_of(read_tasks(tasks), seed=seed)
    else:
        chosen = simulator.draw_suite(n_tasks, kind=suite, seed=seed)
    planted = {f"like-attempt-{attempt:g}": attempt for attempt in like or ()}
    world = simulator.simulate(
        chosen,
        true_horizons=planted,
        n_learners=learners,
        n_attempts=attempts,
        n_runs=runs,
        sameness=sameness,
        tasks_per_learner=tasks_per_learner,
        mastery=mastery,
        seed=seed,
    )
    rows = [
        (model, f"{horizon:.2f}", f"{success:.3f}")
        for (model, horizon), success in zip(world.truth.items(), world.chances.mean(axis=1), strict=True)
    ]
    caption = f"{int(world.tried.sum()):,} attempts of novices and {world.runs.size:,} runs of models."
    output.console.table("True values", ("model", "horizon", "success"), rows, caption)
    output.console.json({"horizon": {m: n if abs(n) < 1e300 else None for m, n in world.truth.items()}, "seed": seed})
    output.console.wrote(world.save(output.out))


def _rehearse(pages: Path, out: Path, console: Console, *, n_learners: int, sameness: float, seed: int) -> None:
    """The files that simulated novices would send back."""
    from howsure.horizon.novices.rehearsal import fill_in_pages
    from howsure.tables.frames import write_frame

    answers, curves = fill_in_pages(pages, out / "answers", n_learners=n_learners, sameness=sameness, seed=seed)
    console.say(
        f"{len(answers)} simulated novices answered. Next: howsure horizon collect {pages} {out / 'answers'} -o novices"
    )
    console.json({"answers": [path.name for path in answers], "seed": seed})
    console.wrote([write_frame(curves.frame, out / "suite.csv"), *answers[:1], *answers[1:][-1:]])
