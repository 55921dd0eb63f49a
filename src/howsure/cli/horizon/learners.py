"""`howsure horizon learners`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Inputs, LastAttempt, Level, Output, Reading, Seed, verb
from howsure.cli.output import progress_bar

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon learners simulated/runs.jsonl --folds 2 --last 4")
@verb
def learners(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 5,
    predictors: Annotated[
        str | None, typer.Option(help="Models to compare, with commas; by default all.", show_default=False)
    ] = None,
    last: LastAttempt = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """How well models of learning predict learners whom they have not seen: a constant, AFM, PFA, BKT and ours, on identical folds.

    RUNS contain people (kind human) with numbered attempts. Each answer of a held-out learner is predicted from that learner's earlier answers. Writes
    learners.csv, learners.json, the chart and learners_report.html.
    """
    from howsure.horizon.learning_curves.held_out_learners import PREDICTORS, crossvalidate_learners

    runs = reading.attempts(inputs, output.console)
    with progress_bar("fitting", output.console) as progress:
        found = crossvalidate_learners(
            runs,
            folds=folds,
            predictors=tuple(PREDICTORS) if predictors is None else predictors.split(","),
            last=last,
            level=level,
            seed=seed,
            progress=progress,
        )
    rows = [
        (
            row["predictor"],
            f"{row['log_loss']:.4f} [{row['log_loss_low']:.4f}, {row['log_loss_high']:.4f}]",
            "" if row["difference_low"] is None else _signed(row),
            f"{row['calibration_slope']:.2f}",
        )
        for row in found.scores.sort("log_loss").rows(named=True)
    ]
    output.console.table(
        f"Held-out learners: {found.n_answers:,} answers of {found.n_learners:,} learners to {found.n_tasks:,} tasks",
        ("model", f"log-loss per answer [{level:.0%}]", "minus PFA + learner", "calibration"),
        rows,
        f"{folds} folds of learners. Calibration: slope of the answers over the predicted log-odds; below 1: too extreme.",
    )
    if found.best_curve:
        output.console.say(f"Best of the learning model's curves: {found.best_curve}.")
    finish(found, output, "learners", "Held-out learners")


def _signed(row: dict[str, float]) -> str:
    value, low, high = (row[f"difference{end}"] for end in ("", "_low", "_high"))
    return f"{value:+.4f} [{low:+.4f}, {high:+.4f}]"
