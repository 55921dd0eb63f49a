"""`assay demo`: the tour."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Seed, verb
from assay.cli.output import Console, progress_bar

__all__ = ["app"]

app = typer.Typer()


@app.command()
@verb
def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the report and its tables.")] = Path("demo"),
    browse: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    seed: Seed = 0,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no notes.")] = False,
) -> None:
    """The tour: a simulated world with a known truth, every estimate beside it, in one report that opens offline."""
    from assay.demo import run_demo

    console = Console(is_quiet=quiet, is_json=json)
    with progress_bar("touring", console) as progress:
        made = run_demo(seed=seed, date=datetime.datetime.now(tz=datetime.UTC).date(), progress=progress)
        written = made.save(out)
    rows = [(row.subject, row.mean, f"{made.world.truth[row.subject]:.3f}") for row in made.summary.rows]
    caption = f"{made.n_covered} of {made.n_intervals} intervals in the report hold the planted truth."
    console.table("Mean score beside the planted truth", ("subject", "mean [95%]", "truth"), rows, caption)
    console.say(f"\nOpen {written[0]} in a browser.")
    console.wrote(written)
    console.json(
        {"covered": made.n_covered, "intervals": made.n_intervals, "written": written} | made.summary.as_dict()
    )
    if browse:
        typer.launch(str(written[0]))
