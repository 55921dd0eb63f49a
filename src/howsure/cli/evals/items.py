"""`howsure items`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Inputs, Level, Output, Reading, Seed, verb

__all__ = ["Viewer", "app"]

app = typer.Typer()

Viewer = Annotated[
    str | None,
    typer.Option(
        help="Address of `inspect view`, for links to transcripts: http://127.0.0.1:7575.", show_default=False
    ),
]
_SHOWN = 20


@app.command(epilog="Example: howsure items examples/evals/attempts.csv --a amber-2 --b amber-1 -o out")
@verb
def items(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    a: Annotated[str | None, typer.Option(help="The first of two: a model.", show_default=False)] = None,
    b: Annotated[
        str | None,
        typer.Option(help="The second of two: a model. [default: the two highest means]", show_default=False),
    ] = None,
    viewer: Viewer = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Every item: success by model, what changed between two models, and items whose key may be wrong.

    Prints the saturation of each eval, the flips between A and B, and the items that better models solve significantly less often.
    Writes items.csv (one row per item), item_scores.csv (per item and model, with links to transcripts), saturation.csv,
    items.json, the charts and a report.
    """
    from howsure.evals.item_table import items as describe
    from howsure.evals.sections import estimate_of

    attempts = reading.attempts(inputs, output.console)
    result = describe(attempts, a, b, viewer=viewer, level=level, seed=seed)
    output.console.notes(result.provenance.notes[len(attempts.notes) :])
    shares = ("never_solved", "always_solved", "informative")
    rows = [
        (
            row["eval"] or "all",
            row["n_items"],
            row["best_model"],
            *(estimate_of(row, name) for name in ("best", *shares)),
        )
        for row in result.evals.iter_rows(named=True)
    ]
    columns = ("eval", "items", "highest", f"its mean [{level:.0%}]", "never solved", "always solved", "informative")
    caption = "Informative: some attempts score above 0.5 and others do not. Only such items can tell models apart."
    output.console.table("Saturation", columns, rows, caption)
    only_a, only_b = result.flips
    is_several = len(result.evals) > 1  # items of one name may be in several evals
    flips = result.items.filter(result.items["flip"] != "")
    rows = [
        (
            row["flip"],
            *([row["eval"]] if is_several else []),
            row["task"],
            *(f"{row[side]:.3g}" for side in ("score_a", "score_b")),
            estimate_of(row, "difference"),
        )
        for row in flips.head(_SHOWN).iter_rows(named=True)
    ]
    caption = f"Only {result.a} (a) solves {only_a:,} items, only {result.b} (b) {only_b:,}."
    caption += f" The first {_SHOWN} are shown; items.csv (-o) has all." if len(flips) > _SHOWN else ""
    if rows:
        names = ("solved by", *(["eval"] if is_several else []), "item", "A", "B", f"A − B [{level:.0%}]")
        output.console.table("Flips", names, rows, caption)
    suspects = result.items.filter("is_suspect").sort("discrimination")
    rows = [
        (row["task"], estimate_of(row, "success"), estimate_of(row, "discrimination"), f"{row['p_adjusted']:.3f}")
        for row in suspects.head(_SHOWN).iter_rows(named=True)
    ]
    caption = f"{len(suspects):,} items that better models solve significantly less often (false discovery rate {1 - level:.0%})."
    if rows:
        output.console.table("Look at these keys", ("item", "success", "discrimination", "p, corrected"), rows, caption)
    finish(result, output, "items", "Which items?")
