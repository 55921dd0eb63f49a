"""`howsure horizon forecast`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.horizon.trend import Horizons, Releases, Since, day, read_dates
from howsure.cli.options import Level, Output, Seed, verb

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon forecast examples/horizon/horizons.csv --reach 1month,1year")
@verb
def forecast(
    horizons: Horizons,
    output: Output,
    reach: Annotated[
        str,
        typer.Option(help="Lengths of working time with commas: 90 (minutes), 4h, 1day, 1week, 1month (167 h), 1year."),
    ] = "1month",
    releases: Releases = None,
    success_rate: Annotated[float, typer.Option(help="The success rate of the horizons, between 0 and 1.")] = 0.5,
    since: Since = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """When the horizon of the frontier reaches a length, averaged over shapes of growth by how well they predicted the past.

    Shapes: linear in the logarithm, with a break, accelerating, saturating. Writes horizon_forecast.csv, forecast_shapes.csv, forecast_backtest.csv, forecast_path.csv,
    the chart and forecast_report.html.
    """
    from howsure.horizon.time_horizon.durations import duration, told
    from howsure.horizon.time_horizon.forecasting import forecast_horizons, parse_length
    from howsure.horizon.time_horizon.sections import row_estimate, when

    found = forecast_horizons(
        horizons,
        read_dates(releases),
        targets=[parse_length(part) for part in reach.split(",")],
        success_rate=success_rate,
        since=day(since),
        level=level,
        seed=seed,
    )
    output.console.notes(found.provenance.notes)
    rows = [(duration(row["minutes"]), when(row)) for row in found.reached.rows(named=True)]
    title = f"When the {100 * success_rate:g} % horizon of the frontier reaches a length"
    output.console.table(title, ("length", f"date [{level:.0%}]"), rows)
    shapes = [
        (row["shape"], f"{row['weight']:.2f}", f"{row['log_density']:.2f}", f"{row['error']:.2f}", when(row))
        for row in found.shapes.rows(named=True)
    ]
    columns = (
        "shape",
        "weight",
        "log density",
        "error (doublings)",
        f"{duration(found.reached['minutes'][0])} reached",
    )
    caption = "Log density and root mean squared error of the next record, predicted from the models before it."
    output.console.table("Shapes of growth, weighed by their back-test", columns, shapes, caption)
    past = [
        (
            *(row["date"], row["n_before"], told(row_estimate(row, level, "predicted"))),
            *(duration(row["minutes"]), "yes" if row["is_covered"] else "no"),
        )
        for row in found.backtest.rows(named=True)
    ]
    output.console.table(
        "The back-test", ("record", "models before", f"predicted [{level:.0%}]", "came", "covered"), past
    )
    finish(found, output, "forecast", "When will time horizons reach a length?")
