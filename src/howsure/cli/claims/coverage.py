"""`howsure claims coverage`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Output, Seed, verb
from howsure.cli.output import progress_bar

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure claims coverage --simulations 4")
@verb
def coverage(
    output: Output,
    simulations: Annotated[int, typer.Option(min=2, help="Simulated data sets: per cause.")] = 200,
    seed: Seed = 0,
) -> None:
    """How often is the choice that matters named first, and how often are the verdicts right, on simulated runs?

    In each simulated data set one choice matters: runs cut at a limit, the source of human times, or the weights.
    """
    from howsure.claims.simulator import claim_errors

    with progress_bar("simulating", output.console) as progress:
        found = claim_errors(simulations, seed=seed, progress=progress)
    rows = [(r.cause, r.what, r.share, r.n_simulations, f"{r.goal:g}") for r in found.rows]
    caption = f"{simulations:,} simulated data sets per cause, seed {seed}; intervals: 95 %, Wilson."
    output.console.table(
        "How often are the verdicts right?", ("cause", "question", "share", "data sets", "goal"), rows, caption
    )
    finish(found, output, "claim_errors", "How often are the verdicts right?")
