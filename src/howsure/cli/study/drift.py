"""`howsure study drift`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Level, Output, Seed, verb
from howsure.estimates import Estimate

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    epilog="Example: howsure study drift examples/study/bench/anchors-1.csv examples/study/bench/anchors-2.csv examples/study/bench/anchors-3.csv"
)
@verb
def drift(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Ratings of the same anchor items, one file per run, oldest first.", show_default=False),
    ],
    output: Output,
    baseline: Annotated[int, typer.Option(min=1, help="How many of the first runs are the baseline.")] = 1,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Has a judge changed on frozen anchor items? Run it after every run: the alarm is valid however often you look.

    Exit code 1: alarm. Writes drift.csv, evidence.csv and drift.json.
    """
    from howsure.study.judging.bench import drift as watch

    found = watch(list(runs), n_baseline=baseline, level=level, seed=seed)
    rows = [
        (row["judge"], row["dimension"], Estimate(row["shift"], row["shift_low"], row["shift_high"], state=row["shift_state"]), f"{row['evidence']:.3g}", f"run {row['alarm_at'] + baseline}" if row["alarm_at"] else "none", row["n_items"])
        for row in found.rows.iter_rows(named=True)
    ]  # fmt: skip
    caption = f"Evidence: the capital of a gambler who bets on a change; an alarm at {found.rows['evidence_needed'][0]:.0f}. Without a change the probability of any alarm is at most {1 - level:.2g}, over all looks, judges and dimensions together."
    columns = ("judge", "dimension", "later runs − baseline", "evidence", "alarm", "items")
    output.console.table(f"Drift over {len(runs)} runs", columns, rows, caption)
    finish(found, output, "drift", "Drift of judges")
    if any(row["alarm"] == "yes" for row in found.rows.iter_rows(named=True)):
        raise SystemExit(1)
