"""`howsure convert`: logs of any evaluation harness as one of Howsure's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.options import Output, Reading, Scheduler, folder_to_write, verb
from howsure.cli.output import Console, print_error, progress_bar
from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.sources import Recognised

__all__ = ["app"]

app = typer.Typer()

GUESSED = ("rename", "fill", "table", "mapping", "decimal", "better")


@app.command(epilog="Example: howsure convert examples/evals/attempts.csv attempts.parquet")
@verb
def convert(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="IN... OUT",
            help="Inputs, and as the last argument the output file; with --check there is no output file.",
            show_default=False,
        ),
    ],
    reading: Reading,
    output: Output,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing: print how every file and row of the inputs was used.")
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(
            help="Write another tool's format into the folder OUT: every-eval-ever; ratings: label-studio, argilla, potato, prodigy, mturk.",
            show_default=False,
        ),
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch Epoch's public benchmark tables; name only OUT.")
    ] = False,
    url: Annotated[
        str | None, typer.Option(help="Web address: with --download, where to fetch from.", show_default=False)
    ] = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="Write attempts as counts: one row per subject, task and configuration.")
    ] = False,
    scheduler: Scheduler = None,
    save_mapping: Annotated[
        Path | None,
        typer.Option(help="Write --table, --map, --set and the scale to this file, for --mapping.", show_default=False),
    ] = None,
) -> None:
    """Turn eval logs of any harness into one of Howsure's tables.

    The format is recognised from the content, and the command says how. OUT ends in .csv, .tsv, .jsonl or .parquet (text also in .gz).

    `howsure formats` lists the formats. With --check all arguments are inputs, and a balance is printed: rows read = rows used +
    rows excluded, by reason, and all files that were not read. The exit code is 1 if rows are not accounted for.

    With --counts each file is counted separately, with little memory; --scheduler counts the files on a Dask cluster, with the same numbers.
    """
    from howsure import sources

    if scheduler and not counts:
        raise OptionError("--scheduler counts attempts on a cluster; pass --counts as well.")
    if output.out:
        raise OptionError(
            f"convert writes what is named last: omit -o, as in howsure convert IN {output.out}/table.csv."
        )
    if (to is None or counts) and (reading.count, reading.missing_score) != (None, None):
        raise OptionError(sources.KEPT_IN_TABLES)
    if check:
        _check(paths, reading, output.console)
        return
    *inputs, target = paths
    if not inputs and not download:
        raise OptionError("Name what to read and then the file to write: howsure convert IN OUT.")
    _check_output(Path(target), is_folder=to is not None)
    if download:
        inputs = [str(_fetch(url, output.console)), *inputs]
    found = [] if reading.source else _recognised(inputs)
    output.console.notes(f"{one.path}: {one.source}, because {one.reason}" for one in found)
    table = reading.counts(inputs, output.console, scheduler) if counts else reading.read(inputs, output.console)
    if to:
        written: Any = sources.write_as(table, target, to)
        output.console.say(f"{target}: {len(written)} files with {table!r}")
    else:
        written = table.write(target)
        output.console.say(f"{written}: {table!r}")
    if save_mapping:
        _keep_mapping(save_mapping, inputs, reading)
    output.console.json(
        {"written": written, "table": type(table).__name__.lower(), "rows": len(table), "digest": table.digest}
        | {"recognised": found, "notes": table.notes}
    )


def _check_output(target: Path, *, is_folder: bool) -> None:
    """Refuse before the work what cannot be written after it."""
    from howsure.tables.frames import format_to_write

    if not is_folder and target.is_dir():
        raise OptionError(f"{target}: is a folder. Name a file in it, such as {target / 'table.csv'}.")
    if not is_folder:
        format_to_write(target)
    folder_to_write(target if is_folder else target.parent, str(target))


def _recognised(inputs: Sequence[str]) -> list[Recognised]:
    """Which source takes each local input, and why."""
    from howsure import sources
    from howsure.tables.frames import expand

    return [sources.recognise(path) for name in inputs if "://" not in name for path in expand(name)]


def _check(inputs: Sequence[str], reading: Reading, console: Console) -> None:
    from howsure import sources

    made = sources.account(inputs, source_name=reading.source, divide_by=reading.scale, **reading.options)
    by_source = Counter(one.source or "not read" for one in made.files)
    console.table("Files", ("source", "files"), [(name, f"{n:,}") for name, n in by_source.most_common()])
    rows = [("read", f"{made.n_read:,}"), ("used", f"{made.n_used:,}")]
    rows += [(f"excluded: {reason}", f"{n:,}") for reason, n in sorted(made.left_out.items())]
    if made.n_unexplained:
        rows.append(("unexplained", f"{made.n_unexplained:,}"))
    total = f"{made.n_read:,} read = {made.n_used:,} used + {made.n_left_out:,} excluded"
    console.table(f"Rows ({made.table})", ("rows", "number"), rows, total if not made.n_unexplained else "")
    for note in made.notes:
        console.say(f"- {note}")
    console.json(made.as_dict())
    if made.n_unexplained:
        print_error(
            f"{made.n_unexplained:,} rows are not accounted for: this is an error in Howsure. Please report it."
        )
        raise SystemExit(1)


@app.command(epilog="Example: howsure formats")
@verb
def formats(output: Output) -> None:
    """Formats that Howsure reads; they are recognised by content.

    The table in the documentation (docs/formats.md) says for each format who wrote the file that tests it, and how many rows of it are read.
    """
    from howsure import sources
    from howsure.results import write_json

    rows = sources.formats()
    output.console.table("Formats", ("source", "reads"), rows.items(), "Recognised by content, in this order.")
    output.console.json(rows)
    if output.out:
        output.console.wrote([write_json(rows, output.out / "formats.json")])


def _fetch(url: str | None, console: Console) -> Path:
    from howsure.sources import download, epoch

    with progress_bar("fetching", console) as progress:
        return download.fetch(url or epoch.PUBLIC_URL, progress=progress)


def _keep_mapping(path: Path, inputs: list[str], reading: Reading) -> None:
    """Write down how the files were read, what was guessed included."""
    from howsure.sources.files import guess, save_mapping

    given = {name: value for name, value in reading.options.items() if value and name in GUESSED}
    first = guess(inputs, divide_by=reading.scale, **given)
    save_mapping(
        path,
        table=first.table.__name__.lower(),
        rename=first.rename,
        fill=first.fill,
        divide_by=first.divide_by,
        decimal=reading.decimal,
        better=reading.better,
    )
