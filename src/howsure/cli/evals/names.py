"""`howsure names`: spellings of one model or benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import Inputs, Output, Reading, verb

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="Example: howsure names examples/evals/attempts.csv --save names.yaml")
@verb
def names(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    save: Annotated[
        Path | None,
        typer.Option(help="Write the proposals to this file, to be edited and used with --names.", show_default=False),
    ] = None,
) -> None:
    """Names of models and benchmarks that may be the same, with the reasons.

    Nothing is merged. --save writes the proposals as YAML; delete the lines that are wrong, and pass the file as --names to any verb.
    """
    from howsure.evals.name_proposals import names as propose_names
    from howsure.tables.spellings import NameFile

    merges = propose_names([reading.read([one], output.console) for one in inputs])
    rows = [(merge.kind, merge.name, merge.into, merge.reason, f"{merge.rows:,}") for merge in merges]
    if rows:
        caption = "Proposals: nothing was merged."
        output.console.table(
            "Names that may be the same", ("what", "name", "may be", "differs in", "rows"), rows, caption
        )
    else:
        output.console.say("No two names look like spellings of one.")
    if save:
        output.console.wrote([NameFile.of(merges).save(save)])
    output.console.json(merges)
