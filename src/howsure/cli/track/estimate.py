"""`howsure track estimate`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.options import Output, verb
from howsure.cli.track.conditions import Conditions, NSamples, Solvers, Variants
from howsure.errors import OptionError

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
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
            help="Right turns that games last on average; may be repeated. [default: 10, 50, all]", show_default=False
        ),
    ] = None,
    input_price: Annotated[float | None, typer.Option(help="Of a million tokens read.", show_default=False)] = None,
    output_price: Annotated[float | None, typer.Option(help="Of a million tokens written.", show_default=False)] = None,
    cached_price: Annotated[
        float | None, typer.Option(help="Of a million tokens read again, where that is cheaper.", show_default=False)
    ] = None,
    extra_output: Annotated[float, typer.Option(help="Tokens written in a turn beside the answer (reasoning).")] = 0,
) -> None:
    """What a run would use and cost, before it is started. Nothing is asked.

    The conversation is read anew in each turn, so what is read grows with the square of the turns. Counted by a rule of thumb:
    expect to be off by a third.

    \b
    howsure track estimate --variant mode --input-price 2 --output-price 8
    """
    from howsure.track.costs import Prices, estimate_run

    if (input_price is None) != (output_price is None):
        raise OptionError("--input-price and --output-price go together; give both or none.")
    prices = None if input_price is None or output_price is None else Prices(input_price, output_price, cached_price)
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
    caption = f"{samples:,} games each. Repeated: read the turn before, which many providers charge less for."
    output.console.table("Tokens of a run", columns, rows, caption)
    output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(result.save(output.out))
