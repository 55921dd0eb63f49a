"""`howsure watch`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.options import Level, Output, verb

if TYPE_CHECKING:
    from howsure.evals.stopping import Watch

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="Example: howsure watch logs --target 0.7 --once")
@verb
def watch(
    output: Output,
    folder: Annotated[Path, typer.Argument(help="The folder in which Inspect writes its logs.", show_default=False)],
    target: Annotated[
        float | None, typer.Option(help="Is each mean above or below this target?", show_default=False)
    ] = None,
    margin: Annotated[float, typer.Option(min=0, help="Margin: smaller differences do not matter.")] = 0.0,
    precision: Annotated[
        float | None, typer.Option(help="Half the width at which a number is known well enough.", show_default=False)
    ] = None,
    scorer: Annotated[
        str | None, typer.Option(help="Inspect: which scorer, or scorer.key.", show_default=False)
    ] = None,
    level: Level = 0.95,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between looks.")] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Look once and end.")] = False,
) -> None:
    """Confidence sequences of evals while they run: look as often as you like.

    Each interval holds at all looks together, so an eval may be stopped as soon as its question is decided. A unit is an item
    with all its repeats; units count in an order that was random before the run, and a finished unit waits for those before it.
    Ends when no log is being written any more. With -o writes watch.csv and watch_differences.csv.
    """
    from howsure.evals.stopping import watch as look

    options: dict[str, Any] = {"target": target, "margin": margin, "precision": precision}
    result = look(folder, **options, level=level, scorer=scorer)
    if not once and not output.json:
        import time

        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(), auto_refresh=False, transient=True) as live:
            while result.is_running:
                live.update(_drawn(result, level), refresh=True)
                time.sleep(every)
                result = look(folder, **options, level=level, scorer=scorer)
    output.console.notes(result.provenance.notes)
    for title, columns, rows in _contents(result, level):
        output.console.table(title, columns, rows, _CAPTION)
    if output.json:
        output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(result.save(output.out))


_CAPTION = "Confidence sequences: they hold at all looks together. In order: finished units that wait for no other."


def _contents(result: Watch, level: float) -> list[tuple[str, tuple[str, ...], list[tuple[Any, ...]]]]:
    runs: list[tuple[Any, ...]] = [
        (
            r.task,
            r.model,
            r.status,
            r.mean,
            f"{r.n_units:,}",
            f"{r.n_finished:,}",
            f"{r.n_planned:,}",
            r.n_failed,
            r.answer,
        )
        for r in result.runs
    ]
    columns: tuple[str, ...] = (
        "eval",
        "model",
        "status",
        f"mean [{level:.0%}]",
        "in order",
        "finished",
        "planned",
        "failed",
        "answer",
    )
    tables = [("Means", columns, runs)]
    if result.pairs:
        pairs: list[tuple[Any, ...]] = [
            (p.task, p.a, p.b, p.difference.against(0), f"{p.n_units:,}", f"{p.n_planned:,}", p.answer)
            for p in result.pairs
        ]
        columns = ("eval", "A", "B", f"A − B [{level:.0%}]", "in order", "planned", "answer")
        tables.append(("Differences, paired by item", columns, pairs))
    return tables


def _drawn(result: Watch, level: float) -> Any:
    """The tables for a live display."""
    import rich.box
    from rich.console import Group
    from rich.markup import escape
    from rich.table import Table

    from howsure.outside_text import one_line

    drawn = []
    for title, columns, rows in _contents(result, level):
        table = Table(*(escape(name) for name in columns), title=title, box=rich.box.SIMPLE_HEAD, title_justify="left")
        for row in rows:
            table.add_row(*(escape(one_line(str(cell))) for cell in row))
        drawn.append(table)
    return Group(*drawn, f"[dim]{escape(_CAPTION)}[/dim]")
