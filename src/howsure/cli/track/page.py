"""`howsure track page`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import verb
from howsure.cli.output import Console
from howsure.cli.track.conditions import Conditions, Variant

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure track page --games 3 -o play.html")
@verb
def page(
    conditions: Conditions,
    out: Annotated[Path, typer.Option("-o", "--out", help="Output: an HTML file.")] = Path("play.html"),
    variant: Variant = "median",
    games: Annotated[int, typer.Option(min=1, help="Games after the practice round.")] = 3,
    sequence: Annotated[int, typer.Option(min=0, help="Sequence: that of the first game; the next ones follow.")] = 0,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no notes.")] = False,
) -> None:
    """The same game as a page for a browser: one file that works offline. Send it to people; `howsure track collect` reads their answers.

    Writes the page.
    """
    from howsure.track.browser import make_page

    made = make_page(variant, n_games=games, first_seed=sequence, setting=conditions.setting)
    Console(is_quiet=quiet).wrote([made.save(out)])
