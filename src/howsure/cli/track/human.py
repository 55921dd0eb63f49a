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


@app.command()
@verb
def human(
    conditions: Conditions,
    name: Annotated[str, typer.Option(help="Who plays.")] = "me",
    variant: Variant = "median",
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the games.")] = Path("track-human"),
    sequence: Annotated[
        int | None, typer.Option(min=0, help="Which sequence. [default: the first not yet played]", show_default=False)
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notes.")] = False,
) -> None:
    """Play it yourself: type the number, no brackets needed; q stops, and the same command goes on from there.

    Writes samples.csv and attempts.csv, which keep the games of everybody who plays in this folder.

    \b
    howsure track human --name jo --variant mode
    """
    from howsure.track.reading import FILE
    from howsure.track.terminal import play_human

    console = Console(is_quiet=quiet)
    samples = play_human(name, variant, out, setting=conditions.setting, seed=sequence)
    if samples is None:
        console.say("Stopped. The same command continues from here.")
        return
    last = samples.frame.row(-1, named=True)
    console.say(f"{last['max_length']} correct answers on the {last['variant']}, sequence {last['seed']}.")
    console.wrote([out / FILE, samples.attempts().write(out / "attempts.csv")])
