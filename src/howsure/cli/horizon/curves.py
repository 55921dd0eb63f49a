"""`howsure horizon curves`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import (
    Inputs,
    LastAttempt,
    Level,
    Output,
    Reading,
    Scheduler,
    Seed,
    SuccessRates,
    numbers,
    verb,
)
from howsure.cli.output import Console, progress_bar

if TYPE_CHECKING:
    from howsure.estimates import Estimate
    from howsure.horizon.learning_curves.curves import LearningCurves

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)

_SHOWN = 15


@app.command(epilog="Example: howsure horizon curves simulated/runs.jsonl --replicates 100 -o curves")
@verb
def curves(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    curve: Annotated[
        str,
        typer.Option(help="Form of the curves: auto, exponential, power, power3, logit-log, logistic4 or isotonic."),
    ] = "auto",
    success_rates: SuccessRates = "0.5,0.8",
    last: LastAttempt = None,
    min_answers: Annotated[
        int, typer.Option(min=1, help="Smallest number of answers for an attempt to be included.")
    ] = 1,
    min_attempts: Annotated[int, typer.Option(min=2, help="Exclude tasks with fewer included attempts.")] = 2,
    min_first: Annotated[int, typer.Option(min=1, help="Exclude tasks with fewer first answers.")] = 1,
    replicates: Annotated[int, typer.Option(min=20, help="Replicates: bootstrap samples of learners.")] = 500,
    level: Level = 0.95,
    seed: Seed = 0,
    scheduler: Scheduler = None,
) -> None:
    """How novices learn each task: curves with intervals, the attempts to reach success rates, and who leaves early.

    RUNS contain people (kind human) with numbered attempts. Writes curves.csv, curve_points.csv, families.csv, base_rates.csv,
    refinement.csv (tasks to keep or drop), attrition.csv, presence.csv, curves.json, the charts and curves_report.html.
    """
    from howsure.horizon.learning_curves.curves import fit_curves

    runs = reading.attempts(inputs, output.console)
    with progress_bar("resampling", output.console) as progress:
        found = fit_curves(
            runs,
            curve=curve,
            success_rates=numbers("--success-rates", success_rates),
            last=last,
            min_answers=min_answers,
            min_attempts=min_attempts,
            min_first=min_first,
            n_replicates=replicates,
            level=level,
            seed=seed,
            scheduler=scheduler,
            progress=progress,
        )
    output.console.notes(note for note in found.provenance.notes if note not in runs.notes)
    _tell(found, output.console)
    finish(found, output, "curves", "Learning curves")


def _tell(found: LearningCurves, console: Console) -> None:
    targets = list(found.rows[0].reach)
    columns = ("task", "curve", f"first [{found.level:.0%}]", *(f"to {target:.0%}" for target in targets), "learners")
    rows = [
        (r.task, r.family, r.first, *(_reached(r.reach[target]) for target in targets), r.n_learners)
        for r in found.rows[:_SHOWN]
    ]
    more = f" The first {_SHOWN} of {len(found.rows):,} tasks; all in curves.csv." if len(found.rows) > _SHOWN else ""
    console.table(
        "Attempts to reach a success rate",
        columns,
        rows,
        f"<1: before the first attempt. >: after the last one observed.{more}",
    )
    if found.wins:
        console.say("Smallest AIC: " + ", ".join(f"{name} {share:.0%}" for name, share in found.wins.items()) + ".")
    console.say(f"Correlation of a learner's answers to a task: {found.correlation}.")
    left = found.attrition.overall
    told = f"First attempt, early leavers − stayers: {left.difference} ({left.n_leavers:,} left early)."
    console.say(told if left.n_leavers else "No learner left early.")
    dropped = found.refinement.filter(verdict="drop")
    reasons = ", ".join(f"{reason} {n}" for reason, n in dropped["reason"].value_counts(sort=True).iter_rows())
    n_kept = found.refinement.filter(verdict="keep").height
    console.say(f"Keep {n_kept:,} of {len(found.refinement):,} tasks{f'; drop: {reasons}' if reasons else ''}.")


def _reached(found: Estimate) -> object:
    """An attempt, or that the level is there from the first, or never reached."""
    if found.state == found.high_state == "below_range":
        return "from the first"
    if found.state != "unbounded":
        return found
    mark = {"below_range": "<", "above_range": ">"}
    if found.low is None or found.low_state == "above_range":
        return "never"
    return f"never [{mark.get(found.low_state, '')}{found.low:.1f}, {mark.get(found.high_state, '')}{found.high:.1f}]"
