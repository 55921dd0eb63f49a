"""`howsure explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.evals.items import Viewer
from howsure.cli.options import Inputs, Level, Reading, verb
from howsure.cli.output import Console

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="Example: howsure explore examples/evals/attempts.csv -o explorer.html")
@verb
def explore(
    inputs: Inputs,
    reading: Reading,
    out: Annotated[Path, typer.Option("-o", "--out", help="Output: the page.")] = Path("explorer.html"),
    is_opened: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    with_text: Annotated[
        bool, typer.Option("--with-text", help="Put questions, targets and answers into the page.")
    ] = False,
    viewer: Viewer = None,
    by: Annotated[
        str,
        typer.Option(
            help="Groups: model, prompt, model,prompt, … [default: all that vary, crossed]",
            show_default=False,
        ),
    ] = "",
    cluster: Annotated[
        str, typer.Option(help="Clusters: items with the same value are not independent (task, family or domain).")
    ] = "task",
    level: Level = 0.95,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Explorer",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no notes.")] = False,
) -> None:
    """One offline page with all attempts: a map of models by items, two models side by side, items, cost.

    Filters on any column recompute means, clustered intervals and paired differences in the browser: the same numbers as
    `howsure summary` and `howsure compare`. The page fetches and sends nothing. Texts go into it only with --with-text.
    """
    from howsure.evals.explorer import explore as build
    from howsure.evals.explorer import with_texts

    console = Console(is_quiet=quiet, is_json=False)
    attempts = reading.attempts(inputs, console)
    if with_text:
        attempts = with_texts(attempts, inputs)
    page = build(attempts, by=by, cluster=cluster, level=level, viewer=viewer, with_text=with_text, title=title)
    console.notes(page.notes[len(attempts.notes) :])
    path = page.save(out)
    console.wrote([path])
    if is_opened:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
