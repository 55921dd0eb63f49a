"""`howsure study reliability`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import ItemCluster, Level, Output, verb

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure study reliability examples/study/ratings.csv --dimension voice")
@verb
def reliability(
    table: Annotated[
        Path,
        typer.Argument(
            help="One row per item and one column per rater (gaps allowed), or long form.", show_default=False
        ),
    ],
    output: Output,
    dimension: Annotated[str | None, typer.Option(help="Only this dimension (long form).", show_default=False)] = None,
    rater_effects: Annotated[
        str,
        typer.Option(help="Rater effects: sampled (from possible raters), fixed (exactly these) or unidentified."),
    ] = "sampled",
    scale: Annotated[
        str | None,
        typer.Option(
            help="Scale of the values: nominal, ordinal or interval. [default: nominal for text, interval for numbers]",
            show_default=False,
        ),
    ] = None,
    cluster: ItemCluster = None,
    level: Level = 0.95,
) -> None:
    """Every coefficient of agreement of a table of ratings, with intervals, and which one to report.

    Values may be numbers or text. Which coefficient to report follows from the scale and from who the raters are. Pairs that were shown again are excluded. Writes reliability.csv and reliability.json.
    """
    from howsure.study.agreement import read_ratings
    from howsure.study.agreement import reliability as compute

    found = compute(
        read_ratings(table, categories=True, dimension=dimension),
        dimension=dimension,
        rater_effects=rater_effects,
        scale=scale,  # type: ignore[arg-type]  # checked there
        cluster=cluster,
        level=level,
    )
    output.console.notes(found.provenance.notes)
    rows = [
        (name, estimate, "report this" if name == found.report else "") for name, estimate in found.coefficients.items()
    ]
    gaps = f", {found.n_missing} gaps" if found.n_missing else ""
    title = f"Agreement of {found.n_raters} raters on {found.n_items} items{gaps}"
    output.console.table(title, ("coefficient", f"value [{level:.0%}]", ""), rows, found.sentence)
    output.console.json(found.as_dict())
    if output.out:
        output.console.wrote(found.save(output.out))
