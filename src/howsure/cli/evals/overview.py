"""`howsure overview`, also `howsure LOGS`."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.evals.common import Choosing, Cluster
from howsure.cli.finish import finish
from howsure.cli.options import Inputs, Level, Output, Reading, Seed, verb
from howsure.cli.output import progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howsure.evals.overviews import AutomaticClaim

__all__ = ["app"]

app = typer.Typer()

_MOST_LINES, _WIDTH = 6, 110


@app.command(epilog="Example: howsure overview examples/evals/attempts.csv --cluster family")
@verb
def overview(
    inputs: Inputs,
    reading: Reading,
    choosing: Choosing,
    output: Output,
    by: Annotated[
        str | None,
        typer.Option(help="Groups: one claim per pair over all evals (all), or per eval (domain).", show_default=False),
    ] = None,
    cluster: Cluster = "task",
    level: Level = 0.95,
    target: Annotated[float, typer.Option("--power", help="Power: for the number of items needed.")] = 0.8,
    seed: Seed = 0,
) -> None:
    """What is in the logs, which differences they support, which they do not decide, and what to be careful about.

    howsure LOGS is short for howsure overview LOGS. Every pair of models is a claim; all are tested together (Holm), so the probability that any
    supported claim is wrong is at most 5 %. Writes overview.csv (the claims), contents.csv, warnings.csv, overview.json, the charts and a report.
    """
    from howsure.evals.overviews import overview as look

    attempts = choosing.apply(reading.attempts(inputs, output.console), output.console)
    with progress_bar("comparing", output.console) as progress:
        result = look(attempts, by=by, cluster=cluster, level=level, power=target, seed=seed, progress=progress)
    say = output.console.say
    say(_paragraph("What is in the logs", [result.holdings]))
    if result.claims:
        say(_paragraph(f"What they support ({result.tested})", [*result.standings, *_lines(result.supported)]))
        if result.undecided:
            say(_paragraph("What they do not decide, and what it would take", _lines(result.undecided)))
    else:
        lines = result.mean_lines[:_MOST_LINES]
        left = len(result.mean_lines) - len(lines)
        lines += [f"… and {left:,} more; -o writes all of them."] if left else []
        say(_paragraph("What they support: means only, because there is nothing to compare", lines))
    if result.warnings:
        say(_paragraph("Warnings", [f"{one.kind}: {one.text}" for one in result.warnings]))
    say(_paragraph("Next step", [result.next_step]))
    finish(result, output, "overview", "What may be claimed?")


def _lines(claims: Sequence[AutomaticClaim]) -> list[str]:
    """One line per claim, and how many are left."""
    lines = [f"{c.sentence} To decide: {c.to_decide}." if c.to_decide else c.sentence for c in claims[:_MOST_LINES]]
    left = len(claims) - len(lines)
    return [*lines, *([f"… and {left:,} more; -o writes all of them."] if left else [])] or ["No claim."]


def _paragraph(title: str, lines: Sequence[str]) -> str:
    wrapped = [textwrap.fill(line, _WIDTH, initial_indent="  ", subsequent_indent="    ") for line in lines]
    return "\n".join([title, *wrapped, ""])
