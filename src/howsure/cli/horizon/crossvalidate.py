"""`howsure horizon crossvalidate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from howsure.cli.finish import finish
from howsure.cli.horizon.time import Covariates
from howsure.cli.options import Inputs, Level, Limits, Output, Reading, Seed, Threshold, verb
from howsure.cli.output import progress_bar
from howsure.errors import InputError

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon crossvalidate examples/horizon/time_counts.csv --folds 3")
@verb
def crossvalidate(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 5,
    threshold: Threshold = None,
    limits: Limits = "scored",
    covariate: Covariates = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """How well logistic, Weibull and spline curves and the joint model predict runs that they have not seen.

    Two kinds of folds: held-out cells (a model at a task that other models tried) and held-out families of tasks. A model that knows tasks wins on
    cells; what a horizon claims is tested by families.
    """
    from howsure.horizon.time_horizon.held_out import crossvalidate as run
    from howsure.tables import Attempts

    runs = reading.read(inputs, output.console)
    if not isinstance(runs, Attempts):
        raise InputError(f"{', '.join(inputs)}: contains {type(runs).__name__.lower()}; time horizons need attempts.")
    with progress_bar("fitting", output.console) as progress:
        found = run(
            runs, folds=folds, threshold=threshold, limits=limits, covariates=covariate or (), level=level, seed=seed,
            progress=progress,
        )  # fmt: skip
    title = f"Held-out log-loss per run ({found.n_runs:,} runs, {folds} folds)"
    rows = [
        (
            *(row["held_out"], row["predictor"], _with_ends(row, "log_loss")),
            *(f"{row[name]:.3f}" for name in ("expected", "observed", "calibration_slope")),
        )
        for row in found.scores.rows(named=True)
    ]
    columns = ("held out", "predictor", f"log-loss [{level:.0%}]", "expected", "observed", "calibration slope")
    output.console.table(
        title, columns, rows, "Expected and observed: mean success. Calibration slope: 1 is calibrated."
    )
    rows = [(row["held_out"], row["a"], _with_ends(row, "difference")) for row in found.differences.rows(named=True)]
    title = "Difference in log-loss per run from the logistic curve (negative: better)"
    output.console.table(title, ("held out", "predictor", f"difference [{level:.0%}]"), rows)
    of_joint = found.differences.filter(held_out="families", a="joint").rows(named=True)
    if of_joint:
        (row,) = of_joint
        is_better = row["difference_high"] is not None and row["difference_high"] < 0
        output.console.say(
            f"Runs at new families, which a horizon claims to predict: the joint model is {'better' if is_better else 'not clearly better'} than the logistic curve here "
            f"({_with_ends(row, 'difference')}). The default model of horizon time is logistic, whatever the data; the joint model becomes the default only if it predicts new families better."
        )
    finish(found, output, "crossvalidate", "Held-out runs")


def _with_ends(row: Mapping[str, Any], name: str) -> str:
    value, low, high = (row[name + end] for end in ("", "_low", "_high"))
    return f"{value:.4f}" if low is None or high is None else f"{value:.4f} [{low:.4f}, {high:.4f}]"
