"""`howsure power`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from howsure.cli.evals.common import Cluster, decimals
from howsure.cli.finish import finish
from howsure.cli.options import Level, Output, Reading, verb

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="Example: howsure power --effect 0.05 --n-items 200")
@verb
def power(
    reading: Reading,
    output: Output,
    inputs: Annotated[
        list[str] | None, typer.Argument(help="A pilot with repeats, for the variances.", show_default=False)
    ] = None,
    effect: Annotated[float, typer.Option(help="The smallest true difference that matters.")] = 0.05,
    items: Annotated[
        int | None,
        typer.Option(
            "--n-items",
            min=2,
            help="Number of items: those that you have; also prints the detectable difference and the power.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[float, typer.Option("--power", help="Power: the probability of detecting the difference.")] = 0.8,
    level: Level = 0.95,
    accuracy: Annotated[float, typer.Option(help="Without a pilot: accuracy of the weaker model.")] = 0.7,
    correlation: Annotated[
        float,
        typer.Option(help="Assumed correlation: of the models' success probabilities over items, without a pilot."),
    ] = 0.5,
    share_between: Annotated[
        float, typer.Option(help="Without a pilot: share of a score's variance between items, not between repeats.")
    ] = 0.5,
    a: Annotated[str | None, typer.Option(help="The first of two: a model of the pilot.", show_default=False)] = None,
    b: Annotated[str | None, typer.Option(help="The second of two: a model of the pilot.", show_default=False)] = None,
    cluster: Cluster = "task",
    assurance: Annotated[
        float, typer.Option(min=0.5, max=0.99, help="With a pilot: confidence with which the plan reaches its power.")
    ] = 0.9,
    tokens_per_item: Annotated[
        float | None,
        typer.Option(help="Tokens of one attempt at one item. [default: the pilot's]", show_default=False),
    ] = None,
    price: Annotated[
        float | None, typer.Option(help="Dollars per million tokens. [default: the pilot's cost]", show_default=False)
    ] = None,
) -> None:
    """How many items and repeats are needed to detect a difference between two models.

    Plans a paired comparison on the same items, from assumptions or from a pilot run with repeats. Writes power.csv, power.json,
    the chart and a report.
    """
    from howsure.evals.planning import power as plan_power

    pilot = reading.attempts(inputs, output.console) if inputs else None
    result = plan_power(
        pilot,
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
        assurance=assurance,
        tokens_per_item=tokens_per_item,
        price=price,
    )
    output.console.notes(result.provenance.notes[len(pilot.notes) if pilot else 0 :])
    columns: dict[str, list[Any]] = {
        "attempts per item": [row.epochs for row in result.rows],
        "items needed": [f"{row.items_needed:,}" for row in result.rows],
        "attempts in total": [f"{row.attempts_needed:,}" for row in result.rows],
        "tokens": [f"{row.tokens_needed:,.0f}" if row.tokens_needed else None for row in result.rows],
        "dollars": [None if row.cost_needed is None else f"{row.cost_needed:,.2f}" for row in result.rows],
        "detectable": [decimals(row.detectable, 3) for row in result.rows],
        "power": [decimals(row.power, 2) for row in result.rows],
    }
    shown = {name: cells for name, cells in columns.items() if any(cell is not None for cell in cells)}
    sure = f", with {assurance:.0%} confidence," if inputs else ""
    title = f"To detect a true difference of {effect:g} with {target:.0%} power{sure} at the {level:.0%} level"
    caption = f"Last two columns: with {items:,} items." if items else "--n-items N adds what N items can show."
    caption = " ".join([caption, "Assumptions:", *result.assumptions])
    output.console.table(title, tuple(shown), list(zip(*shown.values(), strict=True)), caption)
    finish(result, output, "power", "How many items does an eval need?")
