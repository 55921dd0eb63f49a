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
    output: Output,
    reviews: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Its review.csv with a column score from 0 to 1; or, with --page, reviewers' files (.json, .jsonl) or folders.",
            show_default=False,
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            help="The reviewers' page: written if no REVIEWS are given, else the one that they answer. With --reviewers a folder.",
            show_default=False,
        ),
    ] = None,
    reviewers: Annotated[
        int | None,
        typer.Option(min=1, max=1_000, help="Write one page per reviewer, each in its own order.", show_default=False),
    ] = None,
    readings: Annotated[
        int | None,
        typer.Option(min=1, help="How many of the reviewers read each text. [default: all]", show_default=False),
    ] = None,
) -> None:
    """Texts that a person must score: a page for reviewers, and their scores → the table of attempts.

    FOLDER holds review.csv: texts without their writers' names. `howsure horizon review FOLDER --page review.html` writes a page on which people score them; `howsure horizon review
    FOLDER answers/ --page review.html -o scored` reads what comes back. Or reviewers fill in a column score of review.csv. Several scores of one text are averaged. Writes the same files as `run` or
    `collect`, with these scores.
    """
    from howsure.horizon.reviewing import add_reviews, write_review_pages

    if not reviews:
        if page is None:
            raise OptionError("Give the reviews, or --page review.html to write a page for reviewers.")
        output.console.wrote(write_review_pages(folder, page, n_reviewers=reviewers, n_readings=readings))
        return
    if reviewers or readings:
        raise OptionError("--reviewers and --readings are for writing pages; leave them out here.")
    if page is None and len(reviews) > 1:
        raise OptionError("Give one table of reviews, or the answers to a page with --page.")
    if not output.out:
        raise OptionError("The scored attempts need a folder: add -o DIR.")
    scored = add_reviews(folder, reviews if page else reviews[0], pages=page)
    output.console.notes(scored.provenance.notes)
    output.console.say(
        f"{len(scored.review)} texts still wait for a score. Attempts with a score: {len(scored.attempts):,}."
    )
    output.console.json(scored.as_dict())
    output.console.wrote(scored.save(output.out))
