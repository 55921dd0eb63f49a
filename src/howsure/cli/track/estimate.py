"""`howsure track estimate`."""

from __future__ import annotations

from typing import Annotated, Any

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
    from howsure.track.costs import Prices, estimate_tokens

    if (input_price is None) != (output_price is None):
        raise OptionError("--input-price and --output-price go together; give both or none.")
    prices = None if input_price is None or output_price is None else Prices(input_price, output_price, cached_price)
    lasts = turns or sorted({min(10.0, conditions.length), min(50.0, conditions.length), float(conditions.length)})
    shared: dict[str, Any] = {"n_samples": samples, "setting": conditions.setting, "extra_output": extra_output}
    found = [estimate_tokens(v, s, turns=t, **shared) for v in variant for s in solver for t in lasts]
    costs = [one.cost(prices) if prices else None for one in found]
    rows = [
        (
            e.variant,
            e.solver,
            f"{e.turns:g}",
            f"{e.input_tokens:,}",
            f"{e.repeated_tokens:,}",
            f"{e.output_tokens:,}",
            _money(cost),
        )
        for e, cost in zip(found, costs, strict=True)
    ]
    columns = ("variant", "solver", "right turns", "input", "of it repeated", "output", "cost")
    caption = f"{samples:,} games each. Repeated: read the turn before, which many providers charge less for."
    output.console.table(
        "Tokens of a run", columns if prices else columns[:-1], [r if prices else r[:-1] for r in rows], caption
    )
    told = [vars(e) | {"total_tokens": e.total_tokens, "cost": cost} for e, cost in zip(found, costs, strict=True)]
    output.console.json(told)
    if output.out:
        import polars as pl

        from howsure.frames import write_frame

        output.console.wrote([write_frame(pl.DataFrame(told, infer_schema_length=None), output.out / "estimate.csv")])


def _money(cost: float | None) -> str | None:
    return None if cost is None else f"{cost:,.2f}"
