"""`howsure horizon trend`."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Level, Output, verb
from howsure.errors import OptionError

__all__ = ["Horizons", "Releases", "Since", "app", "day", "read_dates"]

Horizons = Annotated[
    Path,
    typer.Argument(
        metavar="HORIZONS",
        help="The folder that `howsure horizon time -o` wrote, a table (model, minutes, released), or METR's published YAML.",
        show_default=False,
    ),
]
Releases = Annotated[
    Path | None,
    typer.Option(help="Table with the columns model and released, where HORIZONS has no dates.", show_default=False),
]
Since = Annotated[str | None, typer.Option(help="Exclude older models, as in 2023-01-01.", show_default=False)]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon trend time --releases examples/horizon/releases.csv")
@verb
def trend(
    horizons: Horizons,
    output: Output,
    releases: Releases = None,
    success_rate: Annotated[float, typer.Option(help="The success rate of the horizons, between 0 and 1.")] = 0.5,
    since: Since = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Groups: domain for also the trend of each domain and their differences.", show_default=False
        ),
    ] = None,
    level: Level = 0.95,
) -> None:
    """How fast horizons double: a line through the models that had the longest horizon on the day of their release.

    Writes trend.csv, trend_line.csv, trend.json, the chart and trend_report.html; with --by domain also trend_domains.csv and trend_differences.csv.
    """
    from howsure.horizon.time_horizon.doubling import fit_horizon_trend
    from howsure.horizon.time_horizon.durations import duration

    found = fit_horizon_trend(
        horizons, read_dates(releases), success_rate=success_rate, since=day(since), by=by, level=level
    )
    output.console.notes(found.provenance.notes)
    rows = [
        (row["model"], row["released"], duration(row["minutes"]))
        for row in found.models.filter("is_used").rows(named=True)
    ]
    output.console.table("The frontier at release", ("model", "released", f"{100 * success_rate:g} % horizon"), rows)
    after = f" from {since} on" if since else ""
    output.console.say(
        f"The {100 * success_rate:g} % horizon of the frontier{after} doubles in {found.doubling_text} ({level:.0%} interval; {found.line.n} models, R² {found.line.r2 or 0:.3f})."
    )
    if found.domains is not None:
        from howsure.horizon.time_horizon.sections import domain_tables

        for title, columns, told, caption in domain_tables(found):
            output.console.table(title, columns, told, caption)
    finish(found, output, "trend", "How fast time horizons double")


def read_dates(path: Path | None) -> dict[str, datetime.date] | None:
    """Release dates by model from a file; none without one."""
    from howsure.horizon.time_horizon.published import read_releases

    return read_releases(path) if path else None


def day(text: str | None) -> datetime.date | None:
    """The date of `--since`."""
    try:
        return datetime.date.fromisoformat(text) if text else None
    except ValueError:
        raise OptionError(f"--since {text}: not a date. Write it as 2023-01-31.") from None
