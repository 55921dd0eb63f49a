"""`howsure track estimate`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.asking import prices_of
from howsure.cli.options import Output, verb
from howsure.cli.track.conditions import Conditions, NSamples, Solvers, Variants

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure track estimate --variant mode --samples 100")
@verb
def estimate(
    output: Output,
    conditions: Conditions,
    variant: Variants = ["median", "mode"],  # noqa: B006
    solver: Solvers = ["direct", "explicit"],  # noqa: B006
    samples: NSamples = 250,
    turns: Annotated[
        list[float] | None,
        typer.Option(
            help="Correct answers before the first error, on average; may be repeated. [default: 10, 50, all]",
            show_default=False,
        ),
    ] = None,
    input_price: Annotated[
        float | None, typer.Option(help="Price per million input tokens.", show_default=False)
    ] = None,
    output_price: Annotated[
        float | None, typer.Option(help="Price per million output tokens.", show_default=False)
    ] = None,
    cached_price: Annotated[
        float | None,
        typer.Option(help="Price per million cached input tokens, where that is lower.", show_default=False),
    ] = None,
    extra_output: Annotated[
        float, typer.Option(help="Output tokens per turn in addition to the answer (reasoning).")
    ] = 0,
) -> None:
    """Tokens and cost of a run, before it is started. No model is called.

    The conversation is read again in each turn, so the tokens read grow with the square of the number of turns. Tokens are counted by a
    rule of thumb: expect an error of up to a third.

    Writes estimate.csv and estimate.json.
    """
    from howsure.track.running.costs import estimate_run

    prices = prices_of(input_price, output_price, cached_price)
    result = estimate_run(
        variant,
        solver,
        turns=turns,
        n_samples=samples,
        setting=conditions.setting,
        extra_output=extra_output,
        prices=prices,
    )
    rows = [
        (
            e.variant,
            e.solver,
            f"{e.turns:g}",
            *(f"{count:,}" for count in (e.input_tokens, e.repeated_tokens, e.output_tokens)),
            *([f"{e.cost(prices):,.2f}"] if prices else []),
        )
        for e in result.rows
    ]
    columns = ("variant", "solver", "correct turns", "input", "of it repeated", "output", *(["cost"] if prices else []))
    caption = f"{samples:,} games each. Repeated: the same as in the turn before; many providers charge less for it."
    output.console.table("Tokens of a run", columns, rows, caption)
    output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(result.save(output.out))
