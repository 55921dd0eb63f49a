"""`howsure track collect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import Level, Output, Seed, verb
from howsure.cli.track.printing import print_result

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure track collect play.html answers/ -o people")
@verb
def collect(
    played: Annotated[Path, typer.Argument(metavar="PAGE", help="The page that was played.", show_default=False)],
    results: Annotated[
        list[Path], typer.Argument(help="The files that people sent back, or folders of them.", show_default=False)
    ],
    output: Output,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Turn the files that players sent back into samples.csv and attempts.csv, judged again number by number."""
    from howsure.people import read_page
    from howsure.track.browser import collect_page
    from howsure.track.results import measure
    from howsure.track.running.logs import FILE, kept_in, locked

    samples = collect_page(read_page(played), results)
    written: list[Path] = []
    with locked(output.out):
        kept = samples.over(kept_in(output.out) if output.out else None)
        if output.out:
            written = [kept.write(output.out / FILE), kept.attempts().write(output.out / "attempts.csv")]
    print_result(measure(kept, level=level, seed=seed), output)
    output.console.wrote(written)
