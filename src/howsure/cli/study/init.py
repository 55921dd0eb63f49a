"""`howsure study init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import Output, verb

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure study init --preset pairwise -o my-study")
@verb
def init(
    output: Output,
    preset: Annotated[str, typer.Option(help="Preset: persona, likert, pairwise, ranking or labels.")] = "persona",
) -> None:
    """Write a commented study to start from; it works at once.

    Writes study.yaml, its schema for editors, and words.yaml, with which the page's own words can be translated, into the folder
    (default: the current one). An existing study is never overwritten.
    """
    from howsure.study.presets import PRESETS
    from howsure.study.presets import init as start

    folder = output.out or Path()
    written = start(folder, preset)
    path = written[0]
    output.console.say(f"{preset}: {PRESETS[preset]}.")
    output.console.say(f"Next: howsure study check {path}; howsure study build {path} -o packet")
    output.console.json({"preset": preset, "written": [str(one) for one in written]})
    output.console.wrote(written)
