"""`howsure report`: saved results in one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import verb
from howsure.cli.output import Console

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure report attempts time -o report.html")
@verb
def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR",
            help="Folders that verbs of howsure wrote to with -o; subfolders are searched too.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Output: the page.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Results and their uncertainty",
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no notes.")] = False,
) -> None:
    """Saved results of any instruments, in one page that opens offline.

    The first page states the findings and the open questions in plain sentences. Each result is a section; settings, seeds and digests are at the
    end.
    """
    import datetime

    from howsure.reporting import find_reports, render, together
    from howsure.safe_io import write_atomic

    found = find_reports(folders)
    today = datetime.datetime.now(tz=datetime.UTC).date()
    page = together(found, date=today, title=title)
    written = write_atomic(out if out.suffix else out / "report.html", render(page))
    console = Console(is_quiet=quiet)
    console.say(f"{len(page.sections)} sections of {len(found)} results, {written.stat().st_size / 1e6:.1f} MB.")
    console.wrote([written])
    if show:
        import webbrowser

        webbrowser.open(written.resolve().as_uri())
