"""`howsure horizon failures`."""

from __future__ import annotations

import polars as pl
import typer

from howsure.cli.finish import finish
from howsure.cli.options import Inputs, Level, Output, Reading, verb
from howsure.results.base import readable

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon failures examples/horizon/name_attempts.csv -o failures")
@verb
def failures(inputs: Inputs, reading: Reading, output: Output, level: Level = 0.95) -> None:
    """What went wrong: how often each mode of failure occurs among the wrong answers of models and of novices.

    RUNS are tables of attempts that `howsure horizon run` and `howsure horizon collect` wrote. Writes failures.csv, wrong_answers.csv (the most frequent ones, where answers were
    kept), failures.json, the chart and failures_report.html.
    """
    from howsure.horizon.failure_modes import ALL, MODES, NOVICES, compare_failures

    found = compare_failures(reading.attempts(inputs, output.console), level=level)
    shown = readable(found.modes.filter(pl.col("domain") == ALL).drop("domain"))
    caption = "Share of the wrong answers; difference: model minus novices. Modes: " + "; ".join(
        f"{mode}: {what}" for mode, what in MODES.items()
    )
    columns = ("who", "mode", "wrong answers", f"share [{level:.0%}]", f"difference [{level:.0%}]")
    rows = [(who, *cells, "" if who == NOVICES else gap) for who, *cells, gap in shown.iter_rows()]
    output.console.table("What went wrong", columns, rows, caption)
    finish(found, output, "failures", "Modes of failure")
