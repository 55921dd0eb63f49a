"""`howsure demo`: the tour."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.options import Level, Seed, folder_to_write, verb
from howsure.cli.output import Console, progress_bar
from howsure.errors import OptionError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure demo -o demo")
@verb
def demo(
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Output: a folder for the report and its tables. [default: demo]")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    seed: Seed = 0,
    level: Level = 0.9,
    epoch: Annotated[
        Path | None,
        typer.Option(help="Epoch's tables, a folder or its zip, for the capability scale.", show_default=False),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Without Inspect, and with fewer bootstrap replicates.")
    ] = False,
    tours: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Instead of the report: run N tours with different seeds and print how often the intervals contain the true value.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no notes.")] = False,
) -> None:
    """A tour on simulated data: every estimate beside its true value, in one report that opens offline.

    Writes report.html, true_values.csv (every estimate with its true value) and a folder of tables for each instrument.
    """
    console = Console(is_quiet=quiet, is_json=json)
    if out or not tours:
        folder_to_write(out or Path("demo"))
    if tours:
        if epoch or quick or show:
            raise OptionError(
                "--tours can be combined with --seed, --level and -o only; omit --epoch, --quick and --open."
            )
        _cover(tours, seed, level, out, console)
    else:
        _tour(out or Path("demo"), seed, level, epoch, console, is_quick=quick, is_shown=show)


def _tour(
    out: Path, seed: int, level: float, epoch: Path | None, console: Console, *, is_quick: bool, is_shown: bool
) -> None:
    from howsure.tour.making import run_demo

    today = datetime.datetime.now(tz=datetime.UTC).date()
    with progress_bar("touring", console) as progress:
        made = run_demo(seed=seed, level=level, date=today, epoch=epoch, quick=is_quick, progress=progress)
        written = made.save(out)
    caption = f"{made.n_covered} of {made.n_intervals} intervals contain the true value; about {level:.0%} should."
    _tell(made.hits, caption, console)
    console.say(f"\nOpen {written[0]} in a browser.")
    console.wrote([path for path in written if path.parent == out])
    console.json(made.as_dict() | {"written": written})
    if is_shown:
        import webbrowser

        webbrowser.open(written[0].resolve().as_uri())


def _cover(n: int, seed: int, level: float, out: Path | None, console: Console) -> None:
    from howsure.tour.coverage import cover

    with progress_bar("touring", console) as progress:
        found = cover(n, seed=seed, level=level, progress=progress)
    if found.n_tours > 1:
        _tell(found.by_figure(), f"Each statistic, over {n} tours.", console)
    caption = f"{n} tours, seeds {seed} to {seed + n - 1}; ± is the Monte Carlo standard error of the share."
    _tell(found.by_instrument(), caption, console)
    console.json(found.as_dict())
    if out:
        console.wrote(found.save(out))


def _tell(hits: pl.DataFrame, caption: str, console: Console) -> None:
    rows = [
        (row["instrument"], row.get("statistic"), row["held"], row["intervals"], _share(row["share"], row.get("se")))
        for row in hits.to_dicts()
    ]
    columns = ("instrument", "statistic", "contain the true value", "of", "share")
    kept = [place for place in range(len(columns)) if any(row[place] is not None for row in rows)]
    console.table(
        "How many intervals contain the true value",
        [columns[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        caption,
    )


def _share(share: float, se: float | None) -> str:
    return f"{share:.3f}" if se is None else f"{share:.3f} ± {se:.3f}"
