"""What people see: notes and progress on standard error, results on standard output."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from howsure.outside_text import json_text, one_line, several_lines

__all__ = ["Console", "print_error", "progress_bar"]

has_written = False
"""Whether this command has written files, so that a closed standard output loses nothing."""

_SECONDS_BEFORE_A_BAR = 0.7
_ANY = 10_000  # columns: as wide as a table would like to be


@dataclass(frozen=True)
class Console:
    """Prints for people, or JSON for programs."""

    is_quiet: bool = False
    is_json: bool = False
    files_before: frozenset[Path] = frozenset()

    def say(self, text: str) -> None:
        """A line of the result, for people."""
        if not self.is_json:
            print(several_lines(text))

    def notes(self, notes: Iterable[str]) -> None:
        """What to know about the input or the result, on standard error."""
        if not self.is_quiet:
            for note in notes:
                print(f"note: {one_line(note)}", file=sys.stderr)

    def wrote(self, paths: Sequence[Path]) -> None:
        """Which files are there now, and which of them replaced older ones."""
        global has_written  # noqa: PLW0603
        has_written = has_written or bool(paths)
        if not self.is_quiet and paths:
            folder = paths[0].parent
            replaced = [path.name for path in dict.fromkeys(paths) if path in self.files_before]
            told = f" (replaced: {', '.join(replaced)})" if replaced else ""
            told = " (all of them replaced older files)" if len(replaced) == len(set(paths)) else told
            print(one_line(f"wrote {folder}/: {', '.join(_in_short(paths))}{told}"), file=sys.stderr)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> None:
        """A table for people: figures to the right, and no column that says `all` in every row."""
        if self.is_json:
            return
        from rich.console import Console as Terminal

        given = [list(row) for row in rows]
        cells = [["" if cell is None else one_line(str(cell)) for cell in row] for row in given]
        told = [position for position in range(len(columns)) if {row[position] for row in cells} != {"all"}]
        terminal = Terminal(width=None if sys.stdout.isatty() else 160)

        def is_wide(drawn: Any) -> bool:
            return terminal.measure(drawn, options=terminal.options.update(width=_ANY)).maximum > terminal.width

        body = _drawn(columns, cells, told)
        if is_wide(body) and (reasons := _shorten(given, cells)):  # one long reason must not break up the whole table
            body, caption = _drawn(columns, cells, told), " ".join([*([caption] if caption else []), *reasons])
        if is_wide(body):
            body = _stacked([columns[position] for position in told], cells, told)
        terminal.print(
            f"[bold]{_escape(several_lines(title))}[/bold]",
            body,
            f"[dim]{_escape(several_lines(caption))}[/dim]",
            sep="\n",
            highlight=False,
        )

    def json(self, value: Any) -> None:
        """The result for programs."""
        from howsure.results import plain

        if self.is_json:
            is_ascii = not (sys.stdout.encoding or "ascii").lower().startswith("utf")
            print(json_text(plain(value), is_ascii=is_ascii, indent=1))


@contextmanager
def progress_bar(label: str, console: Console) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error that appears when work takes longer than a moment; silent where nobody looks."""
    if console.is_quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from time import monotonic

    from rich.console import Console as Terminal
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    bar = Progress(*columns, console=Terminal(stderr=True), transient=True)
    task = bar.add_task(label, total=None)
    started = monotonic()

    def update(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        if not bar.live.is_started and monotonic() - started > _SECONDS_BEFORE_A_BAR:
            bar.start()

    try:
        yield update
    finally:
        bar.stop()


_FIGURE = re.compile(r"[<>−-]? ?\d[\d,.]*(e[+-]?\d+)?%?( (\[.*\]|± [\d.]+))?")


def _is_figure(text: str) -> bool:
    return _FIGURE.fullmatch(text) is not None


def _drawn(columns: Sequence[str], cells: Sequence[Sequence[str]], told: Sequence[int]) -> Any:
    """The table with columns, as wide as its cells want."""
    import rich.box
    from rich.table import Table

    drawn = Table(box=rich.box.SIMPLE_HEAD)
    for position in told:
        name, column = one_line(columns[position]), [row[position] for row in cells if row[position]]
        drawn.add_column(
            _escape(name), justify="right" if column and all(map(_is_figure, column)) else "left", overflow="fold"
        )
    for row in cells:
        drawn.add_row(*(_escape(row[position]) for position in told))
    return drawn


def _shorten(given: Sequence[Sequence[Any]], cells: list[list[str]]) -> list[str]:
    """Leave of estimates without a number only their state; the reasons, once each, for the caption."""
    from howsure.estimates import Estimate

    reasons: dict[str, None] = {}
    for row, texts in zip(given, cells, strict=True):
        for position, cell in enumerate(row):
            if isinstance(cell, Estimate) and cell.value is None and cell.reason:
                texts[position] = cell.state.replace("_", " ")
                reasons[one_line(f"{texts[position].capitalize()}: {cell.reason}.")] = None
    return list(reasons)


def _stacked(names: Sequence[str], rows: Sequence[Sequence[str]], told: Sequence[int]) -> str:
    """A table too wide for the terminal: each row under its first cell, figure after figure."""
    blocks = []
    for row in rows:
        first, *rest = (_escape(row[position]) for position in told)
        figures = [
            f"  [dim]{_escape(one_line(name))}[/dim] {cell}" for name, cell in zip(names[1:], rest, strict=True) if cell
        ]
        blocks.append("\n".join([f"[bold]{first}[/bold]", *figures]))
    return "\n".join(["", *blocks, ""])


def print_error(message: str) -> None:
    """Why the command ends, on standard error: one line, or further lines that are indented."""
    first, *more = several_lines(message).splitlines() or [""]
    print("\n  ".join([f"howsure: {first}", *more]), file=sys.stderr)


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _in_short(paths: Sequence[Path]) -> list[str]:
    """The names; of more than ten in a row that differ in their numbers alone, the first and the last."""
    told: list[str] = []
    for _, same in groupby((path.name for path in paths), key=lambda name: re.sub(r"\d+", "0", name)):
        names = list(same)
        told += names if len(names) <= 10 else [f"{names[0]} … {names[-1]}"]
    return told
