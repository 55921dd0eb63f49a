"""`howsure track length`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.asking import AskingOptions, tell_errors
from howsure.cli.finish import write_all
from howsure.cli.options import Level, Output, Seed, verb
from howsure.cli.track.conditions import Variant

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure track length --model howsure/window-20 --variant ledger --longest 100 -o length")
@verb
def length(
    output: Output,
    asking: AskingOptions,
    model: Annotated[
        str, typer.Option(help="Model: PROVIDER/MODEL, as Inspect spells it; howsure/window-20 is a baseline.")
    ],
    variant: Variant = "median",
    calls: Annotated[int, typer.Option(min=1, max=100, help="Calls per run.")] = 10,
    searches: Annotated[
        int, typer.Option(min=1, help="Number of searches, which are independent and run at the same time.")
    ] = 4,
    longest: Annotated[int, typer.Option(min=2, help="Longest sequence, in turns.")] = 300,
    at: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Ask at this length, instead of searching; may be repeated.", show_default=False),
    ] = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """The length at which half of a model's last answers are correct, with few calls; the same command continues a search that was interrupted.

    Each call shows a whole sequence in one prompt and asks for the last answer only; its length is chosen from the outcomes before, or given with --at.

    Writes median_length.csv, trials.csv, with --at accuracy.csv, median_length.json, a chart and report.html; the model's logs are in DIR/logs.
    """
    from howsure.track.adaptive import find_median_length

    found = find_median_length(
        model,
        variant=variant,
        n_calls=calls,
        n_searches=searches,
        longest=longest,
        at=at or (),
        level=level,
        seed=seed,
        **asking.into(output),
    )
    tell_errors(found, output, f"{model} on {variant}: not every call was answered.")
    output.console.notes(found.provenance.notes)
    n_right = sum(one.is_right for one in found.trials)
    columns = ("model", "variant", f"median length [{level:.0%}]", "calls", "correct", "longest call")
    longest_call = max((one.length for one in found.trials), default=None)
    row = (found.model, found.variant, found.median, len(found.trials), n_right, longest_call)
    caption = "The number of turns after which half of the last answers are correct, above chance; credible interval."
    output.console.table("Median length", columns, [row], caption)
    if by_length := found.by_length():
        heads = ("length", "calls", f"correct last answers [{level:.0%}]")
        told = f"Guessing: {found.provenance.settings['chance']:.2g}."
        output.console.table("Correct last answers by length", heads, by_length, told)
    output.console.json(found.as_dict())
    if output.out:
        output.console.wrote(write_all(found, output, output.out / "report.html", "Median length"))
    if found.exit_code:
        raise SystemExit(found.exit_code)
