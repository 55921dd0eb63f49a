"""`howsure horizon attempts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import (
    Inputs,
    LastAttempt,
    Level,
    Output,
    Reading,
    Scheduler,
    Seed,
    SuccessRates,
    Threshold,
    numbers,
    verb,
)
from howsure.cli.output import Console, progress_bar
from howsure.estimates import chance

if TYPE_CHECKING:
    from howsure.horizon.attempt_horizon.horizons import AttemptHorizons, Horizon

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon attempts simulated/runs.jsonl --replicates 100 -o attempts")
@verb
def attempts(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    definition: Annotated[
        str, typer.Option(help="matching, regression or irt; several with commas; all.")
    ] = "matching",
    success_rates: SuccessRates = "0.5,0.8",
    replicates: Annotated[
        int, typer.Option(min=1, help="Replicates: bootstrap samples of families, tasks and learners.")
    ] = 1000,
    threshold: Threshold = None,
    last: LastAttempt = None,
    early_leavers: Annotated[
        str, typer.Option(help="Answers that early leavers did not give: predict (by the learning model) or ignore.")
    ] = "predict",
    level: Level = 0.95,
    seed: Seed = 0,
    scheduler: Scheduler = None,
) -> None:
    """How many attempts a novice would need to do as well as each model (NAME, Novelty Achievement MeasurE).

    RUNS contain novices (kind human, numbered attempts) and models at the same tasks. Writes horizons.csv, horizons.json, domains.csv,
    pairs.csv, tasks.csv, novices.csv, practice.csv (models with worked examples or feedback), the charts and attempts_report.html.
    """
    from howsure.horizon.attempt_horizon.definitions import DEFINITIONS
    from howsure.horizon.attempt_horizon.horizons import attempt_horizons

    runs = reading.attempts(inputs, output.console)
    with progress_bar("resampling", output.console) as progress:
        found = attempt_horizons(
            runs,
            definitions=DEFINITIONS if definition == "all" else definition.split(","),
            success_rates=numbers("--success-rates", success_rates),
            n_replicates=replicates,
            threshold=threshold,
            last=last,
            early_leavers=early_leavers,
            level=level,
            seed=seed,
            scheduler=scheduler,
            progress=progress,
        )
    output.console.notes(note for note in found.provenance.notes if note not in runs.notes)
    _tell(found, output.console)
    finish(found, output, "attempts", "Horizons in attempts")


def _tell(found: AttemptHorizons, console: Console) -> None:
    people = found.counts.novices
    title = f"Attempts that novices need: {len(people.learners):,} learners, {len(found.tasks):,} tasks"
    columns = ("model", "definition", "success rate", f"horizon [{found.level:.0%}]", "success", "tasks", "× first")
    console.table(title, columns, map(_row, found.rows), _CAPTION)
    if found.domains:
        first = found.rows[0]
        rows = [r for r in found.domains if (r.definition, r.success_rate) == (first.definition, first.success_rate)]
        cells = [(r.group, r.model, r.horizon, r.success, r.n_tasks) for r in rows]
        console.table(
            f"By group of tasks: {first.definition}, {first.success_rate:.0%}",
            ("tasks", "model", "horizon", "success", "n"),
            cells,
        )
    if found.practised:
        shown = [(model, kind, n, row.success, row.horizon) for model, kind, n, row in found.practised]
        title = "Learning of models: worked examples, or earlier attempts with feedback"
        console.table(title, ("model", "practice", "seen before", "success", "horizon"), shown)
    if found.pairs:
        pairs = [
            (p.a, p.b, p.definition, f"{p.success_rate:.0%}", p.ratio if p.ratio.value else "–", chance(p.p_a_greater))
            for p in found.pairs
        ]
        console.table("Pairs", ("A", "B", "definition", "success rate", "A / B", "P(A > B)"), pairs)


_CAPTION = "A model with horizon n succeeds as often as novices on their n-th attempt; × first: its success rate divided by that of novices on their first attempt."


def _row(row: Horizon) -> tuple[object, ...]:
    ratio = None if row.ratio_to_first is None else f"{row.ratio_to_first:.2f}"
    shown = row.horizon.state if row.horizon.value is None else row.horizon
    return row.model, row.definition, f"{row.success_rate:.0%}", shown, row.success, row.n_tasks, ratio
