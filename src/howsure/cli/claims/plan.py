"""`howsure claims plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.claims.check import ClaimsFile, Most, Replicates
from howsure.cli.options import Level, Seed, verb
from howsure.cli.output import Console

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure claims plan examples/claims/claims.yaml --out plan.json")
@verb
def plan(
    claims: ClaimsFile,
    out: Annotated[Path, typer.Option("-o", "--out", help="Output: the file of the plan.", show_default=False)],
    replicates: Replicates = 1000,
    most: Most = 500,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Fix claims, choices and settings before the data are seen: writes them with their hash.

    Publish the hash, or commit the file. `howsure claims check --planned FILE` says whether all was done as planned.
    """
    from howsure.claims.certificates import plan as make_plan
    from howsure.results import write_json

    made = make_plan(claims, n_replicates=replicates, most=most, level=level, seed=seed)
    console = Console()
    for claim in made["sentences"]:
        console.say(claim)
    console.say(f"Plan {made['hash']}, written {made['written']}.")
    console.wrote([write_json(made, out)])
