"""What people see: notes and progress on standard error, results on standard output."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from howsure.errors import interruption_notes
from howsure.outside_text import json_text, one_line, several_lines

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.cli.options import Output
    from howsure.reporting import Report
    from howsure.results import Result

__all__ = [
    "Console",
    "finish",
    "guard_streams",
    "print_error",
    "progress_bar",
    "save_charts",
    "write_all",
    "write_report",
]

has_written = False
"""Whether this command has written files, so that a closed standard output loses nothing."""

has_told_error = False
"""Whether this command has said what went wrong."""

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
        """What to know about the input or the result, on standard error; that it was interrupted is said when the command ends."""
        if not self.is_quiet:
            for note in (one for one in notes if one not in interruption_notes()):
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
    global has_told_error  # noqa: PLW0603
    has_told_error = True
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


# How every analysis ends: JSON for programs; tables, charts and a report where a folder was named.


def finish(result: Result, output: Output, name: str, title: str, more: Sequence[Path] = ()) -> None:
    """Print the result as JSON where that was asked for, and write its files where a folder was named; ``more`` are files already written."""
    if output.json:
        output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(write_all(result, output, output.out / f"{name}_report.html", title, more))


def write_all(result: Result, output: Output, page: Path, title: str, more: Sequence[Path] = ()) -> list[Path]:
    """The tables, the charts in the formats that were asked for, and the report, which is the file ``page``; and ``more``, already written."""
    import datetime

    from howsure.reporting import Report

    written = [*more, *result.save(page.parent), *save_charts(result.charts(), output, page.parent)]
    today = datetime.datetime.now(tz=datetime.UTC).date()
    report = Report(title, result.sections(), result.provenance, today, result.opening())
    return write_report(report, output, page, kind=type(result).__name__, written=written)


def write_report(report: Report, output: Output, page: Path, *, kind: str, written: Sequence[Path]) -> list[Path]:
    """The report as a page, if that was asked for, and its sections for `howsure report`, after the files ``written``.

    Removes what an earlier run of the same ``kind`` wrote and this one did not, so that no picture or page shows old numbers.
    """
    from howsure.reporting import render
    from howsure.reporting.store import ENDING, files_saved_with, save_sections
    from howsure.safe_io import write_atomic

    written = [*written, *([write_atomic(page, render(report))] if "html" in output.formats_asked else [])]
    sections = page.with_name(page.stem + ENDING)
    removed, kept = [], []
    for path in sorted({*files_saved_with(sections, kind)} - {*written, sections}):
        try:
            path.unlink(missing_ok=True)
            removed.append(path)
        except OSError:
            kept.append(path)
    told = {"removed": removed, "could not be removed": kept}
    output.console.notes(
        f"{what}: {', '.join(_in_short(files))}, from an earlier run" for what, files in told.items() if files
    )
    return [*written, save_sections(report, sections, kind=kind, files=written)]


def save_charts(charts: Mapping[str, Chart], output: Output, folder: Path) -> list[Path]:
    """Pictures of the charts in the formats that were asked for; none, and a note, where charts cannot be drawn."""
    from howsure.charts.export import save_chart
    from howsure.charts.pictures import can_draw

    if charts and not can_draw():
        output.console.notes(["no charts were drawn; to draw them: pip install 'howsure[charts]'"])
        return []
    endings = [ending for ending in output.formats_asked if ending != "html"]
    return [save_chart(chart, folder / f"{name}.{ending}") for ending in endings for name, chart in charts.items()]


# Standard output and standard error that cannot break a command.
#
# Whoever reads our output may leave early (``| head``), its disk may be full, it may be closed, or know only few letters.
# None of this may cost a finished computation: what cannot be written is dropped, the command goes on, saves its files,
# and the exit code says at the end whether something was lost.


_IN_ASCII = {
    "∞": "inf",
    "−": "-",
    "–": "-",
    "—": "-",
    "≥": ">=",
    "≤": "<=",
    "≈": "~",
    "≠": "!=",
    "×": "x",
    "±": "+/-",
    "·": ".",
    "→": "->",
    "√": "sqrt",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "─": "-",
    "━": "-",
    "│": "|",
}


def guard_streams() -> _Guarded | None:
    """Put guarded streams in place of standard output and standard error; returns the former.

    A closed stream is opened on the null device first, so that no file of ours gets its number.
    """
    is_closed = sys.stdout is None
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
            setattr(sys, name, open(number, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    codecs.register_error("howsure", _in_other_letters)
    sys.stderr, _ = _guard(sys.stderr)
    sys.stdout, guarded = _guard(sys.stdout)
    if guarded is not None:
        guarded.is_closed = is_closed
    sys.__stderr__, sys.__stdout__ = sys.stderr, sys.stdout  # type: ignore[misc,assignment]  # numba puts these back
    return guarded


class _Guarded(io.RawIOBase):
    """A stream whose writes always succeed; `failure` is what went wrong first, `is_closed` that nobody could read what was written."""

    is_closed = False
    has_output = False

    def __init__(self, stream: Any) -> None:
        self._stream = stream  # kept, since its end would close the raw stream
        self._raw = getattr(stream.buffer, "raw", stream.buffer)  # PYTHONUNBUFFERED leaves the buffer out
        self.failure: OSError | None = None

    def write(self, data: Any, /) -> int | None:
        self.has_output = True
        if self.failure is None:
            try:
                return int(self._raw.write(data) or 0)
            except OSError as error:
                self.failure = error
        return len(data)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return bool(self._raw.isatty())


def _guard(stream: TextIO) -> tuple[TextIO, _Guarded | None]:
    try:
        stream.fileno()
    except (AttributeError, OSError):  # not a stream of the system, as in a notebook
        return stream, None
    guarded = _Guarded(stream)
    is_live = stream.isatty() or stream is sys.stderr or bool(getattr(stream, "write_through", False))
    return io.TextIOWrapper(
        io.BufferedWriter(guarded), encoding=stream.encoding, errors="howsure", line_buffering=is_live
    ), guarded


def _in_other_letters(error: UnicodeError) -> tuple[str, int]:
    """What the stream's encoding lacks: known signs in ASCII, Greek letters by their names, all else as escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_in_ascii, error.object[error.start : error.end])), error.end


def _in_ascii(letter: str) -> str:
    if letter in _IN_ASCII:
        return _IN_ASCII[letter]
    *greek, name = unicodedata.name(letter, "").split(" LETTER ") if letter else ("",)
    if greek and greek[0].startswith("GREEK") and name.isalpha():
        return name.lower() if greek[0].endswith("SMALL") else name.capitalize()
    plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return plain or letter.encode("ascii", "backslashreplace").decode()
