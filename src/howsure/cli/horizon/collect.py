"""`howsure horizon collect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import Output, verb

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure horizon collect novice.html answers/ -o novices")
@verb
def collect(
    page: Annotated[
        Path, typer.Argument(help="The page that was answered, or the folder of pages.", show_default=False)
    ],
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Learners' files (.json), an export of `howsure serve` (.jsonl), or folders.", show_default=False
        ),
    ],
    output: Output,
    key: Annotated[
        Path | None, typer.Option(help="Key: the file of the page. [default: the one beside it]", show_default=False)
    ] = None,
) -> None:
    """Novices' files → a table of attempts, scored by the tasks themselves.

    Digests are verified; duplicates and files of other pages are refused, each with its reason. Writes attempts.csv and runs.jsonl (for the other verbs), learners.csv,
    review.csv (texts that somebody has to read) and novices.json.
    """
    from howsure.horizon.novices.answers import collect_novices

    found = collect_novices(page, files, key=key)
    output.console.notes(found.provenance.notes)
    rows = [
        (learner, f"{minutes:.1f}", tasks, attempts, None if success is None else f"{success:.0%}")
        for learner, minutes, tasks, attempts, success in found.learners.iter_rows()
    ]
    caption = f"{len(found.review)} texts must be read and scored by a person." if len(found.review) else ""
    title = f"{len(found.rows):,} attempts of {len(rows)} learner{'' if len(rows) == 1 else 's'}, {len(found.refused)} files refused"
    output.console.table(title, ("learner", "minutes", "tasks", "attempts", "right"), rows, caption)
    output.console.json(found.as_dict())
    if output.out:
        output.console.wrote(found.save(output.out))
