"""`howsure track human`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import verb
from howsure.cli.output import Console
from howsure.cli.track.conditions import Conditions, Variant

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure track human --name jo --variant mode")
@verb
def human(
    conditions: Conditions,
    name: Annotated[str, typer.Option(help="Who plays.")] = "me",
    variant: Variant = "median",
    out: Annotated[Path, typer.Option("-o", "--out", help="Output: a folder for the games.")] = Path("track-human"),
    sequence: Annotated[
        int | None,
        typer.Option(min=0, help="Sequence: which one. [default: the first not yet played]", show_default=False),
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no notes.")] = False,
) -> None:
    """Play the game yourself: type the number without brackets; q stops, and the same command continues from there.

    Writes samples.csv and attempts.csv, which keep the games of all who play in this folder.
    """
    from howsure.track.running.logs import FILE
    from howsure.track.terminal import play_human

    console = Console(is_quiet=quiet)
    samples = play_human(name, variant, out, setting=conditions.setting, seed=sequence)
    if samples is None:
        console.say("Stopped. The same command continues from here.")
        return
    last = samples.frame.row(-1, named=True)
    console.say(f"{last['max_length']} correct answers on the {last['variant']}, sequence {last['seed']}.")
    console.wrote([out / FILE, samples.attempts().write(out / "attempts.csv")])
