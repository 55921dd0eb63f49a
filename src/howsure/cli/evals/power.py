"""`howsure power`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.evals.common import Cluster, decimals
from howsure.cli.finish import finish
from howsure.cli.options import Level, Output, Reading, verb

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="Example: howsure power --effect 0.05 --items 200")
@verb
def power(
    reading: Reading,
    output: Output,
    inputs: Annotated[
        list[str] | None, typer.Argument(help="A pilot with repeats, for the variances.", show_default=False)
    ] = None,
    effect: Annotated[float, typer.Option(help="The smallest true difference that matters.")] = 0.05,
    items: Annotated[
        int | None, typer.Option(min=2, help="Items at hand: what can they show?", show_default=False)
    ] = None,
    target: Annotated[
        float, typer.Option("--power", help="Probability with which the difference shall be detected.")
    ] = 0.8,
    level: Level = 0.95,
    accuracy: Annotated[float, typer.Option(help="Without a pilot: accuracy of the weaker model.")] = 0.7,
    correlation: Annotated[
        float, typer.Option(help="Without a pilot: correlation over items of the models' success probabilities.")
    ] = 0.5,
    share_between: Annotated[
        float, typer.Option(help="Without a pilot: share of a score's variance between items, not between repeats.")
    ] = 0.5,
    a: Annotated[str | None, typer.Option(help="With a pilot: this subject …", show_default=False)] = None,
    b: Annotated[str | None, typer.Option(help="… and this one.", show_default=False)] = None,
    cluster: Cluster = "task",
) -> None:
    """How many items and repeats are needed to detect a difference between two models.

    Plans a paired comparison on the same items, from assumptions or from a pilot run with repeats. Writes power.csv, power.json,
    the chart and a report.
    """
    from howsure.evals.planning import power as plan_power

    result = plan_power(
        reading.attempts(inputs, output.console) if inputs else None,
        effect=effect,
        n_items=items,
        power=target,
        level=level,
        accuracy=accuracy,
        correlation=correlation,
        share_between=share_between,
        a=a,
        b=b,
        cluster=cluster,
    )
    rows = [
        (r.epochs, f"{r.items_needed:,}", f"{r.attempts_needed:,}", decimals(r.detectable, 3), decimals(r.power, 2))
        for r in result.rows
    ]
    columns = ("attempts per item", "items needed", "attempts in total", "detectable", "power")
    title = f"To detect a true difference of {effect:g} with {target:.0%} power at the {level:.0%} level"
    caption = f"Last two columns: with {items:,} items." if items else "--items N adds what N items can show."
    caption = " ".join([caption, "Assumptions:", *result.assumptions])
    output.console.table(title, columns if items else columns[:3], [r if items else r[:3] for r in rows], caption)
    finish(result, output, "power", "How many items does an eval need?")
