"""`howsure gate`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.evals.common import Choosing, Cluster
from howsure.cli.finish import finish, save_charts
from howsure.cli.options import Output, Reading, Seed, verb
from howsure.cli.output import progress_bar
from howsure.errors import OptionError
from howsure.estimates import chance

if TYPE_CHECKING:
    from howsure.evals.gating import GateDecision

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="Example: howsure gate examples/ci/base.csv examples/ci/candidate.csv --margin 0.06")
@verb
def gate(
    reading: Reading,
    choosing: Choosing,
    output: Output,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BASE CANDIDATE", help="Two files or folders. With --coverage: item banks.", show_default=False
        ),
    ] = None,
    margin: Annotated[
        float, typer.Option(help="Margin: the largest drop of the mean score that is acceptable.")
    ] = 0.02,
    suite: Annotated[
        Path | None, typer.Option(help="YAML: which evals are judged, with margins of their own.", show_default=False)
    ] = None,
    level: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Coverage of the intervals: here of one-sided limits.")
    ] = 0.95,
    cluster: Cluster = "task",
    cannot_tell: Annotated[
        str | None,
        typer.Option(help="End with the exit code of ship or block where the data cannot tell.", show_default=False),
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the verdict as Markdown, for a pull request.", show_default=False)
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(help="Add the verdict to this file, or show it where no inputs are given.", show_default=False),
    ] = None,
    commit: Annotated[
        str | None, typer.Option(help="For the history. [default: GITHUB_SHA, or git's HEAD]", show_default=False)
    ] = None,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Measure how often the gate is wrong, on item banks (n, n_success).")
    ] = False,
    simulations: Annotated[
        int, typer.Option(min=10, help="Simulated data sets: pairs of models per row, with --coverage.")
    ] = 10_000,
    seed: Seed = 0,
) -> None:
    """Ship, block or cannot tell: may the candidate replace the base?

    Ship: the lower limit of the one-sided interval of candidate − base is above −margin, on every eval. Block: not ship, and the upper limit is
    below 0, on one eval (Holm-corrected). Otherwise the data cannot tell, and the output says what would decide.

    Exit codes: 0 ship, 1 block, 3 cannot tell, 2 an error that you can correct, 70 an unexpected error. Writes gate.csv, gate.json, the chart and a
    report; with --history also the trend over commits. Where GITHUB_STEP_SUMMARY is set, the Markdown is added to that file.
    """
    if cannot_tell not in (None, "ship", "block"):
        raise OptionError.unknown("way to end", str(cannot_tell), ("ship", "block"))
    if coverage:
        return _coverage(inputs or [], reading, output, simulations, level, seed, margin)
    if history and not inputs:
        return _show_history(history, output)
    if len(inputs or []) != 2:
        raise OptionError("Name two inputs: howsure gate BASE CANDIDATE.")
    from howsure.evals.gating import EXIT_CODES
    from howsure.evals.gating import gate as judge

    base, candidate = (choosing.apply(reading.attempts([one], output.console), output.console) for one in inputs or [])
    result = judge(base, candidate, margin=margin, suite=suite, level=level, cluster=cluster)
    told = {f"{side}: {note}" for side, one in (("base", base), ("candidate", candidate)) for note in one.notes}
    output.console.notes(note for note in result.provenance.notes if note not in told)
    _print(result, output, level)
    if markdown:
        from howsure.safe_io import write_atomic

        output.console.wrote([write_atomic(markdown, result.markdown())])
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(result.markdown() + "\n")
    if history:
        from howsure.evals.gating import append_history, read_history

        append_history(history, result, commit=commit or _commit())
        if output.out:
            output.console.wrote(save_charts(read_history(history).charts(), output, output.out))
    finish(result, output, "gate", "May the candidate replace the base?")
    is_open = result.verdict == "cannot tell" and cannot_tell is not None
    code = EXIT_CODES["ship" if cannot_tell == "ship" else "block"] if is_open else result.exit_code
    if is_open:
        output.console.notes([f"The data cannot tell; it ends as {cannot_tell}, as asked (--cannot-tell)."])
    if code:
        raise SystemExit(code)
    return None


def _print(result: GateDecision, output: Output, level: float) -> None:
    rows = [
        (
            row.eval,
            row.verdict,
            row.base.value if row.base.value is None else f"{row.base.value:.3f}",
            row.candidate.value if row.candidate.value is None else f"{row.candidate.value:.3f}",
            row.difference.against(-row.margin),
            f"{row.margin:g}",
            chance(row.p_ship),
            chance(row.p_block_adjusted),
            row.n_items,
            f"{row.n_gains} / {row.n_losses}",
            row.advice or row.reason,
        )
        for row in result.rows
    ]
    columns: tuple[str, ...] = ("eval", "verdict", "base", "candidate", "difference", "margin")
    columns = (*columns, "p (drop)", "p (no drop)", "items", "+ / −", "what would decide")
    caption = (
        f"Estimand: mean over items of candidate − base, every item counting once, with two one-sided limits of {level:.0%}. Ship: lower limit above "
        "−margin. Block: not ship, and upper limit below 0 after Holm correction. p (drop): of a drop of the margin or more; p (no drop): Holm-corrected; "
        "+ / −: items that became better and worse."
    )
    output.console.table("Gate", columns, rows, caption)
    output.console.say(result.sentence)


def _coverage(
    inputs: list[str], reading: Reading, output: Output, simulations: int, level: float, seed: int, margin: float
) -> None:
    import polars as pl

    from howsure.evals.gate_simulation import gate_coverage
    from howsure.tables import Attempts

    banks = [reading.attempts([one], output.console) for one in inputs]
    named = [  # a bank without a name is called like its file
        bank
        if bank.has("domain")
        else Attempts(bank.lazy.with_columns(pl.lit(Path(one).stem).alias("domain")), notes=bank.notes)
        for one, bank in zip(inputs, banks, strict=True)
    ]
    margins = sorted({margin, 0.05})
    with progress_bar("simulating", output.console) as progress:
        result = gate_coverage(
            named or None, n_simulations=simulations, level=level, seed=seed, margins=margins, progress=progress
        )
    rows = [
        (r.bank, f"{r.n_items} × {r.n_repeats}", f"{r.margin:g}", f"{r.false_ship:.3f}", f"{r.false_block:.3f}", f"{r.true_ship:.2f}", f"{r.cannot_tell:.2f}", f"{r.planned_drop:.3f}", f"{r.true_block:.2f}")
        for r in result.rows
    ]  # fmt: skip
    columns: tuple[str, ...] = (
        "bank",
        "items × repeats",
        "margin",
        "false ships",
        "false blocks",
        "A/A: ship",
        "A/A: cannot tell",
    )
    columns = (*columns, "planned drop", "blocks at it")
    caption = (
        f"{simulations:,} pairs per number, seed {seed}. False ships: at a true drop equal to the margin. False blocks: base and candidate are the same model "
        f"(A/A). Both shall be at most {1 - level:.0%} (Monte Carlo standard error {result.rows[0].monte_carlo_se:.4f}). Planned drop: what a plan with 80 % "
        "power gives, at least the margin."
    )
    output.console.table("How often is the gate wrong?", columns, rows, caption)
    output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(result.save(output.out))


def _show_history(path: Path, output: Output) -> None:
    from howsure.evals.gating import read_history

    result = read_history(path)
    rows = [(r.position, r.time, r.commit[:12], r.eval, r.verdict, r.candidate, r.difference) for r in result.rows]
    columns = ("run", "time", "commit", "eval", "verdict", "candidate", "candidate − base")
    output.console.table("History of the gate", columns, rows, f"The chain of {rows[-1][0]} runs is whole.")
    finish(result, output, "history", "How did the candidates develop?")


def _commit() -> str:
    """The commit that is judged, as far as the environment knows it."""
    if sha := os.environ.get("GITHUB_SHA"):
        return sha
    try:
        asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""
