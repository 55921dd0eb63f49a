"""`howsure horizon transfer`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Inputs, Level, Output, Reading, verb
from howsure.results.base import readable

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon transfer examples/horizon/name_attempts.csv -o transfer")
@verb
def transfer(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    skill: Annotated[str, typer.Option(help="Column with a task's skill, or several joined by + or ;.")] = "domain",
    order: Annotated[str, typer.Option(help="Column that says when a learner made the attempt.")] = "position",
    level: Level = 0.95,
) -> None:
    """Which practice carries over to which tasks: one model of learners, tasks and skills.

    RUNS contain people (kind human) at tasks of several skills, met in an order that does not depend on how well they do. Writes transfer.csv, own_practice.csv, transfer.json, the
    chart and transfer_report.html.
    """
    from howsure.horizon.learning_curves.transfer import measure_transfer

    found = measure_transfer(reading.attempts(inputs, output.console), skill=skill, order=order, level=level)
    shown = readable(found.effects.drop("reason"))
    columns = ("practised", "tasks", "learners with it", f"effect [{level:.0%}]", f"share carried [{level:.0%}]")
    caption = "Effect: log-odds of success per doubling of the attempts at other tasks of that skill. Share carried: that divided by the effect of a doubling of attempts at the task itself."
    output.console.table("Which practice carries over", columns, shown.iter_rows(), caption)
    finish(found, output, "transfer", "Transfer of practice")
