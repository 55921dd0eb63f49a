"""`howsure study estimate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import ItemCluster, Level, Output, verb

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    epilog="Example: howsure study estimate examples/study/bench/labels.csv examples/study/bench/judges.csv -o estimate"
)
@verb
def estimate(
    labels: Annotated[Path, typer.Argument(help="People's ratings of some items.", show_default=False)],
    judge: Annotated[list[Path], typer.Argument(help="Judges' ratings of all items.", show_default=False)],
    output: Output,
    drawn: Annotated[
        Path | None,
        typer.Option(help="labels.csv of `howsure study labels`: how the items were drawn.", show_default=False),
    ] = None,
    dimension: Annotated[str | None, typer.Option(help="Only this dimension.", show_default=False)] = None,
    cluster: ItemCluster = None,
    items: Annotated[
        str, typer.Option(help="Items: sampled (a sample of possible items) or fixed (the only ones of interest).")
    ] = "sampled",
    level: Level = 0.95,
) -> None:
    """The mean label of all items that the judges rated, of which people labelled some (prediction-powered inference).

    Numbers give means, text gives the share of each category; one row per system where there are systems. Writes estimates.csv, label_estimates.json and
    estimate_report.html.
    """
    from howsure.study.agreement import read_ratings
    from howsure.study.judging.labelling import estimate as compute
    from howsure.study.judging.sections import label_sections
    from howsure.tables import Ratings

    found = compute(
        Ratings.union([read_ratings(path, categories=True) for path in judge]),
        read_ratings(labels, categories=True),
        drawn=drawn,
        dimension=dimension,
        cluster=cluster,
        items=items,  # type: ignore[arg-type]  # checked there
        level=level,
    )
    output.console.notes(found.provenance.notes)
    from howsure.results.blocks import TableBlock

    for block in label_sections(found)[0].blocks:
        if isinstance(block, TableBlock):
            output.console.table(block.caption, block.columns, block.rows, f"Judges: {', '.join(found.judges)}.")
    finish(found, output, "estimate", "The mean label of all items")
