"""`howsure track report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.finish import write_all
from howsure.cli.options import Level, Output, Seed, verb
from howsure.cli.track.printing import print_result

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure track report runs -o report")
@verb
def report(
    inputs: Annotated[
        list[Path],
        typer.Argument(help="Inspect logs, samples.csv files, or folders that contain them.", show_default=False),
    ],
    output: Output,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """The six metrics with intervals, survival curves, the gain from showing the state, kinds of errors, tokens.

    Writes track.csv, samples.csv, survival.csv, hazard.csv, differences.csv, attempts.csv, track.json, the charts, and report.html.
    """
    from howsure.track.results import report_games

    results = report_games(inputs, level=level, seed=seed)
    print_result(results, output)
    if output.out:
        attempts = results.samples.attempts().write(output.out / "attempts.csv")
        output.console.wrote([attempts, *write_all(results, output, output.out / "report.html", "Track the Stat")])
