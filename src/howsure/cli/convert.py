"""`howsure convert`: logs of any evaluation harness as one of Howsure's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from howsure.cli.options import Output, Reading, verb
from howsure.cli.output import Console, progress_bar
from howsure.errors import OptionError

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="Example: howsure convert examples/evals/attempts.csv attempts.parquet")
@verb
def convert(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="IN... OUT", help="What to read, and last the file to write.", show_default=False),
    ],
    reading: Reading,
    output: Output,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch Epoch's public benchmark tables; name only OUT.")
    ] = False,
    url: Annotated[str | None, typer.Option(help="With --download: fetch from here.", show_default=False)] = None,
    save_mapping: Annotated[
        Path | None,
        typer.Option(help="Write --table, --map, --set and the scale to this file, for --mapping.", show_default=False),
    ] = None,
) -> None:
    """Turn eval logs of any harness into one of Howsure's tables.

    The format is recognised, and the command says why. OUT ends in .csv, .tsv, .jsonl or .parquet (text also in .gz).

    It knows Inspect logs (.eval, .json, folders), lm-evaluation-harness results and samples, OpenAI evals, Epoch's
    benchmark tables, METR runs and counts, and any csv, tsv, jsonl or parquet file.
    """
    from howsure import sources
    from howsure.tables.frames import expand

    *inputs, target = paths
    if download:
        inputs = [str(_fetch(url, output.console)), *inputs]
    if not inputs:
        raise OptionError("Name what to read and then the file to write: howsure convert IN OUT.")
    found = [sources.recognise(path) for name in inputs for path in expand(name)] if not reading.source else []
    output.console.notes(f"{one.path}: {one.source}, because {one.reason}" for one in found)
    table = reading.read(inputs, output.console)
    written = table.write(target)
    if save_mapping:
        _keep_mapping(save_mapping, reading, type(table).__name__.lower())
    output.console.say(f"{written}: {table!r}")
    output.console.json(
        {"written": written, "table": type(table).__name__.lower(), "rows": len(table), "digest": table.digest}
        | {"recognised": found, "notes": table.notes}
    )


def _fetch(url: str | None, console: Console) -> Path:
    from howsure.sources import download, epoch

    with progress_bar("fetching", console) as progress:
        return download.fetch(url or epoch.PUBLIC_URL, progress=progress)


def _keep_mapping(path: Path, reading: Reading, table: str) -> None:
    from howsure.sources.files import save_mapping

    options: dict[str, Any] = reading.options
    save_mapping(path, table=table, rename=options["rename"], fill=options["fill"], divide_by=reading.scale)
