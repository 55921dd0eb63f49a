"""`howsure horizon review`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import Output, verb
from howsure.errors import OptionError

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon review run reviewed.csv -o scored")
@verb
def review(
    folder: Annotated[
        Path,
        typer.Argument(
            help="The folder that `howsure horizon run` or `howsure horizon collect` wrote.", show_default=False
        ),
    ],
    reviews: Annotated[
        Path, typer.Argument(help="Its review.csv with a column score from 0 to 1.", show_default=False)
    ],
    output: Output,
) -> None:
    """Scores that people gave to texts → the table of attempts.

    FOLDER holds review.csv: texts without their writers' names. Reviewers fill in a column score; several rows of one item are averaged. Writes the same files as `run` or `collect`, with
    these scores.
    """
    from howsure.horizon.reviewing import add_reviews

    if not output.out:
        raise OptionError("The scored attempts need a folder: add -o DIR.")
    scored = add_reviews(folder, reviews)
    output.console.say(
        f"{len(scored.review)} texts still wait for a score. Attempts with a score: {len(scored.attempts):,}."
    )
    output.console.json(scored.as_dict())
    output.console.wrote(scored.save(output.out))
