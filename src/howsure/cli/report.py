"""`howsure report`: saved results in one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import Printing, file_to_write, verb

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
    printing: Printing,
    out: Annotated[Path, typer.Option("-o", "--out", help="Output: the page, or a folder for it.")] = Path(
        "report.html"
    ),
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Results and their uncertainty",
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Saved results of any instruments, in one page that opens offline.

    The first page states the findings and the open questions in plain sentences. Each result is a section; settings, seeds and digests are at the
    end.
    """
    import datetime

    from howsure.reporting import find_reports, render, together
    from howsure.safe_io import write_atomic

    target = file_to_write(out, "report.html")
    found = find_reports(folders)
    today = datetime.datetime.now(tz=datetime.UTC).date()
    page = together(found, date=today, title=title)
    written = write_atomic(target, render(page))
    results = f"{len(found)} result" + ("" if len(found) == 1 else "s")
    printing.console.say(f"{len(page.sections)} sections of {results}, {written.stat().st_size / 1e6:.1f} MB.")
    printing.console.json(
        {"written": [written], "results": list(found), "sections": [section.title for section in page.sections]}
    )
    printing.console.wrote([written])
    if show:
        import webbrowser

        webbrowser.open(written.resolve().as_uri())
