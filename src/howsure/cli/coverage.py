"""`howsure coverage`: how often does each kind of interval contain the true value?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.options import Level, Output, Scheduler, Seed, verb
from howsure.cli.output import progress_bar

if TYPE_CHECKING:
    from howsure.results import Result

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="Example: howsure coverage --simulations 20")
@verb
def coverage(
    output: Output,
    simulations: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--simulations",
            min=1,
            help="Simulated data sets: per row. [default: 2000; with --real 600, with --sequences 100 per pair]",
            show_default=False,
        ),
    ] = None,
    real: Annotated[
        Path | None,
        typer.Option(
            help="Folder of real item banks (csv: model, example_id, count, correct): draw evals from them.",
            show_default=False,
        ),
    ] = None,
    sequences: Annotated[
        Path | None,
        typer.Option(
            help="Folder of real item banks: error rates and savings of evals with early stopping.",
            show_default=False,
        ),
    ] = None,
    level: Level = 0.95,
    seed: Seed = 0,
    scheduler: Scheduler = None,
) -> None:
    """Measure by simulation how often each kind of interval contains the true value.

    Rows marked "avoid" show common mistakes. Writes coverage.csv and coverage.json. With --real, evals are drawn from real item
    banks, in which every model's success rate at every item is nearly known; writes coverage_real.csv. With --sequences,
    real models are compared in evals with a look after every item; writes sequences.csv.
    """
    if sequences is not None:
        _sequences(sequences, output, simulations or 100, level, seed)
        return
    if real is not None:
        _on_banks(real, output, simulations or 600, level, seed)
        return
    from howsure.evals.interval_coverage import coverage as measure_coverage

    with progress_bar("simulating", output.console) as progress:
        result = measure_coverage(
            n_simulations=simulations or 2000, level=level, seed=seed, scheduler=scheduler, progress=progress
        )
    rows = [
        (row.method, row.design, f"{row.coverage:.3f} ± {row.monte_carlo_se:.3f}", f"{row.mean_width or 0:.3f}")
        for row in result.rows
    ]
    caption = f"{simulations or 2000:,} simulations per row, seed {seed}; ± is the Monte Carlo standard error."
    columns = ("interval", "design", "coverage", "mean width")
    output.console.table(f"Coverage of {level:.0%} intervals", columns, rows, caption)
    _finish(result, output)


def _on_banks(folder: Path, output: Output, simulations: int, level: float, seed: int) -> None:
    from howsure.evals.real_banks import coverage_on_banks

    with progress_bar("simulating", output.console) as progress:
        result = coverage_on_banks(folder, n_simulations=simulations, level=level, seed=seed, progress=progress)
    rows = [
        (
            *(r.bank, r.quantity, r.items, r.success, r.n_items, r.n_repeats, r.n_subjects),
            *(f"{r.coverage:.3f} ± {r.monte_carlo_se:.3f}", f"{r.mean_width:.3f}"),
        )
        for r in result.rows
    ]
    columns = (
        "bank",
        "quantity",
        "items",
        "success",
        "n items",
        "repeats",
        "models or pairs",
        "coverage",
        "mean width",
    )
    caption = (
        f"{simulations:,} evals per model or pair and design, items drawn with replacement, seed {seed}; ± is the Monte Carlo standard "
        "error. Fixed items with 1 repeat: the variance within items is not identified, and the interval is conservative."
    )
    output.console.table(f"Coverage of {level:.0%} intervals in evals from real item banks", columns, rows, caption)
    _finish(result, output)


def _sequences(folder: Path, output: Output, simulations: int, level: float, seed: int) -> None:
    from howsure.evals.real_banks import sequences_on_banks

    with progress_bar("simulating", output.console) as progress:
        result = sequences_on_banks(folder, n_simulations=simulations, level=level, seed=seed, progress=progress)
    rows = [
        (
            *(r.bank, f"{r.ratio:g}", r.n_pairs, f"{r.n_items_fixed:,.0f}", f"{r.power_fixed:.2f}", f"{r.power:.2f}"),
            *(f"{r.median_saving:.0%}", f"{r.error:.3f} ± {r.monte_carlo_se:.3f}"),
        )
        for r in result.rows
    ]
    columns = ("bank", "true / planned difference", "pairs", "items, fixed size", "power, fixed", "power, sequence")
    caption = (
        f"{simulations:,} evals per pair, seed {seed}. Fixed size: 80 % power at the planned difference, one look. Sequence: looked at after "
        "every item, at most 1.65 times as long. Error: the sequence excludes the true difference at any look."
    )
    title = f"Evals with early stopping, at the {level:.0%} level"
    output.console.table(title, (*columns, "median saving of samples", "error"), rows, caption)
    _finish(result, output)


def _finish(result: Result, output: Output) -> None:
    output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(result.save(output.out))
