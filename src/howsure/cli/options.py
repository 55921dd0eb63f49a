"""Options that many verbs share, in groups, so that they are written once and mean the same everywhere.

A verb takes a group as one argument; `verb` spreads it into options for the command line::

    @app.command()
    @verb
    def summary(inputs: Inputs, reading: Reading, output: Output) -> None: ...
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import os
import re
import signal
import sys
import tempfile
import threading
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli import AFTER_A_STOP
from howsure.cli.output import Console, print_error, progress_bar
from howsure.errors import HowsureError, InputError, OptionError, interruption_notes, keep_finished, naming_options
from howsure.outside_text import one_line

if TYPE_CHECKING:
    from howsure.tables import Attempts, Scores, Table

__all__ = [
    "Epsilon",
    "Inputs",
    "ItemCluster",
    "LastAttempt",
    "Level",
    "Limits",
    "Output",
    "Printing",
    "RaterEffects",
    "Reading",
    "Scheduler",
    "Seed",
    "SuccessRates",
    "Threshold",
    "file_to_write",
    "folder_to_write",
    "numbers",
    "verb",
]

Inputs = Annotated[
    list[str],
    typer.Argument(help="Files, folders or globs of any format that `howsure convert` knows.", show_default=False),
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same numbers.")]
Level = Annotated[float, typer.Option(min=0.5, max=0.999, help="Coverage of the intervals.")]
Limits = Annotated[
    str,
    typer.Option(
        help="How to count runs that were cut at a limit: scored (as they are), drop, success, censored or bounds."
    ),
]
SuccessRates = Annotated[str, typer.Option(help="Success rates, between 0 and 1, with commas.")]
Threshold = Annotated[float | None, typer.Option(help="Smallest score that is a success.", show_default=False)]
LastAttempt = Annotated[
    int | None, typer.Option(min=2, help="Exclude novices' attempts after this one.", show_default=False)
]
Scheduler = Annotated[str | None, typer.Option(help="A Dask scheduler, as in tcp://host:8786.", show_default=False)]
RaterEffects = Annotated[
    str | None,
    typer.Option(
        help="Rater effects: sampled (from possible raters), fixed (exactly these) or unidentified. "
        "[default: sampled where raters share items]",
        show_default=False,
    ),
]
Epsilon = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="Margin of the alternative-annotator test: how much worse than a rater the judge may be, because it is cheaper.",
    ),
]
ItemCluster = Annotated[
    str | None,
    typer.Option(
        help="Clusters: column that groups correlated items, such as their prompt. [default: cluster, where there is one]",
        show_default=False,
    ),
]


_FORMATS = ("html", "png", "svg")


def _option(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="Reading", show_default=False)


@dataclass(frozen=True)
class Reading:
    """How the inputs are read."""

    source: Annotated[str | None, _option("The input's format, when it is not recognised.")] = None
    scorer: Annotated[str | None, _option("Inspect: which scorer, or scorer.key.")] = None
    family: Annotated[str | None, _option("Inspect: the metadata field that groups samples.")] = None
    metric: Annotated[str | None, _option("lm-eval, OpenAI evals: which metric.")] = None
    filter: Annotated[str | None, _option("lm-eval: which filter.")] = None
    table: Annotated[str | None, _option("Files, lm-eval: attempts, scores, ratings or votes.")] = None
    map: Annotated[
        list[str] | None,
        _option(
            "Files: Howsure's column = column of the file, e.g. subject=llm,score=acc; task=* for one column per task."
        ),
    ] = None
    set: Annotated[list[str] | None, _option("Files: one value for a whole column, e.g. kind=model.")] = None
    mapping: Annotated[Path | None, _option("Mapping of columns: a file kept by `howsure convert --save-mapping`.")] = (
        None
    )
    names: Annotated[
        Path | None, _option("File that says which names mean the same, as `howsure names --save` writes it.")
    ] = None
    percent: Annotated[bool, _option("Scores are percentages.", "--percent")] = False
    divide_by: Annotated[float | None, _option("Scores run from 0 to this number.")] = None
    count: Annotated[
        str | None,
        _option(
            "What attempts without a score count as, e.g. errored=wrong,unscored=drop; or harness: as the harness's own means count them. "
            "[default: all defensible ways, which must agree]"
        ),
    ] = None
    missing_score: Annotated[
        float | None, _option("What a missing score counts as where scores have no worst value.")
    ] = None
    decimal: Annotated[str | None, _option("Files: the decimal mark, where 1,234 could mean two numbers.")] = None
    lower_is_better: Annotated[
        bool, _option("Lower scores are better; scores outside 0–1 are analysed as they are.", "--lower-is-better")
    ] = False
    higher_is_better: Annotated[
        bool, _option("Higher scores are better; scores outside 0–1 are analysed as they are.", "--higher-is-better")
    ] = False
    strict: Annotated[bool, _option("Stop with an error: at a damaged file, instead of skipping it.", "--strict")] = (
        False
    )
    no_cache: Annotated[
        bool, _option("Do not use or write the cache of files that were read before.", "--no-cache")
    ] = False

    @property
    def scale(self) -> float:
        """What scores are divided by."""
        if self.percent and self.divide_by:
            raise OptionError("--percent is --divide-by 100; pass one of them.")
        if self.divide_by is not None and self.divide_by <= 0:
            raise OptionError(f"--divide-by {self.divide_by:g} is not above 0.")
        return 100.0 if self.percent else self.divide_by or 1.0

    @property
    def better(self) -> str | None:
        """Which scores are better, where it is said."""
        if self.lower_is_better and self.higher_is_better:
            raise OptionError("--lower-is-better and --higher-is-better contradict each other; pass one of them.")
        return "lower" if self.lower_is_better else "higher" if self.higher_is_better else None

    @property
    def options(self) -> dict[str, Any]:
        """What the source is told beside the scale."""
        names = ("scorer", "family", "metric", "filter", "table", "mapping", "decimal", "better", "strict")
        told = {name: getattr(self, name) for name in names}
        return told | {"rename": _pairs("--map", self.map), "fill": _pairs("--set", self.set)}

    def read(self, inputs: list[str], console: Console, wanted: str | None = None) -> Table:
        """The inputs as one checked table, the `wanted` one where they can be read so; its notes are told."""
        from howsure import sources

        with progress_bar("reading", console) as progress:
            table = sources.read(
                inputs,
                source_name=self.source,
                divide_by=self.scale,
                progress=progress,
                cache=not self.no_cache,
                wanted=wanted,
                **self.counting,
                **self.options,
            )
        return self._named(table, console)

    @property
    def counting(self) -> dict[str, Any]:
        """What is said of attempts without a score."""
        return {"count": self.count, "missing_score": self.missing_score}

    def counts(self, inputs: list[str], console: Console, scheduler: str | None) -> Table:
        """The attempts in the inputs as counts, counted here or on a cluster; the notes are told."""
        from howsure.sources.counting import count_attempts

        with progress_bar("counting", console) as progress:
            table = count_attempts(
                inputs,
                source_name=self.source,
                divide_by=self.scale,
                scheduler=scheduler,
                progress=progress,
                **self.options,
            )
        return self._named(table, console)

    def _named(self, table: Table, console: Console) -> Table:
        if self.names:
            from howsure.tables.spellings import load_names, rename_all

            table = rename_all(table, load_names(self.names))
        console.notes(table.notes)
        return table

    def attempts(self, inputs: Sequence[str], console: Console) -> Attempts:
        """The inputs as attempts."""
        from howsure.tables import Attempts

        table = self.read(list(inputs), console, "attempts")
        if not isinstance(table, Attempts):
            raise InputError(_wrong_table(inputs, table, "attempts, one row per try"))
        return table

    def scores(self, inputs: Sequence[str], console: Console) -> Scores:
        """The inputs as scores."""
        from howsure.tables import Scores

        table = self.read(list(inputs), console, "scores")
        if not isinstance(table, Scores):
            raise InputError(_wrong_table(inputs, table, "scores, one row per model and benchmark"))
        return table


@dataclass(frozen=True)
class Output:
    """Where the results go."""

    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Output: a folder for tables (csv), numbers (json), charts and a report.",
            show_default=False,
        ),
    ] = None
    formats: Annotated[
        str, typer.Option(help="With -o: html (the report), png and svg (pictures of the charts), joined by commas.")
    ] = "html,png"
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")] = False
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no notes.")] = False

    @functools.cached_property
    def console(self) -> Console:
        """Where people are told things."""
        return Console(self.quiet, self.json, self._files_before)

    @functools.cached_property
    def formats_asked(self) -> tuple[str, ...]:
        """What is written beside the tables."""
        asked = tuple(dict.fromkeys(part.strip().lower() for part in self.formats.split(",") if part.strip()))
        for one in asked:
            if one not in _FORMATS:
                raise OptionError.unknown("format", one, _FORMATS)
        return asked

    @functools.cached_property
    def _files_before(self) -> frozenset[Path]:
        """The files of the folder before the command wrote there."""
        return frozenset(self.out.iterdir()) if self.out and self.out.is_dir() else frozenset()

    def check(self) -> None:
        """Refuse unknown formats and a folder that cannot be written, before the work."""
        _ = self.formats_asked
        if self.out is not None:
            folder_to_write(self.out)
        _ = self._files_before


@dataclass(frozen=True)
class Printing:
    """What is printed by a verb that writes one file or folder of its own."""

    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")] = False
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no notes.")] = False

    @property
    def console(self) -> Console:
        """Where people are told things."""
        return Console(self.quiet, self.json)


def folder_to_write(out: Path, given: str = "") -> Path:
    """The folder `out`; refused before the work if nothing can be written there. `given` is what was typed, -o and the folder by default."""
    place = next(one for one in (out, *out.absolute().parents) if os.path.lexists(one))
    given = given or f"-o {out}"
    if not place.is_dir():
        raise OptionError(f"{given}: {place} is a file, not a folder. Name another folder.")
    try:
        with tempfile.TemporaryFile(dir=place):  # permissions do not say all: nobody can make a file in /proc
            pass
    except OSError:
        raise OptionError(f"{given}: {place} cannot be written. Name another folder.") from None
    return out


def file_to_write(out: Path, name: str) -> Path:
    """The file `out`, or the file `name` in it if it is a folder; refused before the work if it cannot be written."""
    is_folder = out.is_dir() or (not out.suffix and not os.path.lexists(out))
    target = out / name if is_folder else out
    if target.exists() and not target.is_file():
        raise OptionError(f"-o {out}: {target} is not a file. Name another one.")
    folder_to_write(target.parent, f"-o {out}")
    return target


def verb(function: Callable[..., None]) -> Callable[..., None]:
    """Spread option groups into options, and turn errors that a user can fix into one line and exit code 2."""
    hints = typing.get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}

    @functools.wraps(function)
    def call(**given: Any) -> None:
        numbers_given = {name: value for name, value in given.items() if isinstance(value, float)}
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
        _guarded(function, given, numbers_given)

    parameters = [p for name in inspect.signature(function).parameters for p in _spread(function, name, hints)]
    shared = [field.name for group in (Output, Reading) for field in dataclasses.fields(group)]
    parameters.sort(
        key=lambda p: (
            p.default is not inspect.Parameter.empty,
            (*shared, p.name).index(p.name) + 1 if p.name in shared else 0,
        )
    )
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    del call.__wrapped__
    return call


def _spread(function: Callable[..., None], name: str, hints: dict[str, Any]) -> list[inspect.Parameter]:
    hint = hints[name]
    if not dataclasses.is_dataclass(hint):
        given = inspect.signature(function).parameters[name]
        return [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=given.default, annotation=hint)]
    inner = typing.get_type_hints(hint, include_extras=True)
    return [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=inner[f.name])
        for f in dataclasses.fields(hint)
    ]


def _guarded(function: Callable[..., None], given: dict[str, Any], numbers_given: dict[str, float]) -> None:
    is_quiet = given.get("quiet") or any(getattr(value, "quiet", False) for value in given.values())
    _show_log("ERROR" if is_quiet else "INFO" if sys.stderr.isatty() else "WARNING")
    from howsure.safe_io import keeping

    inputs = [one for one in given.get("inputs") or () if Path(one).is_file()]
    with naming_options(), keep_finished(), keeping(inputs), _terminated_as_interrupted() as terminated:
        try:
            for name, number in numbers_given.items():
                if not math.isfinite(number):
                    raise OptionError(f"--{name.replace('_', '-')} {number} is not a number that can be used.")
            for group in given.values():
                if isinstance(group, Output):
                    group.check()
            function(**given)
        except HowsureError as error:
            print_error(str(error))
            raise SystemExit(2) from None
        except MemoryError as error:
            print_error(
                f"there is not enough memory ({error or 'out of memory'}). Use smaller settings, or read fewer files."
            )
            raise SystemExit(2) from None
        except KeyboardInterrupt as stop:
            print_error(f"{_stopped(stop, terminated)} {AFTER_A_STOP}")
            raise SystemExit(143 if terminated else 130) from None
        if interruption_notes():
            print_error(" ".join(interruption_notes()))
            raise SystemExit(143 if terminated else 130)


def _stopped(stop: KeyboardInterrupt, terminated: list[int]) -> str:
    """Why the command ended, as a sentence."""
    how = str(stop) or ("stopped by SIGTERM" if terminated else "stopped by Ctrl-C")
    return f"The command was {how}."


@contextmanager
def _terminated_as_interrupted() -> Iterator[list[int]]:
    """Within the block SIGTERM does what Ctrl-C does; the list holds it when it came."""
    came: list[int] = []

    def interrupt(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, before)


def _show_log(level: str) -> None:
    """What the library says while it works, as notes to whoever looks."""
    import logging

    class Note(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return f"note: {one_line(super().format(record))}"

    log, shown = logging.getLogger("howsure"), logging.StreamHandler()
    shown.setFormatter(Note())
    log.handlers = [shown]
    log.setLevel(level)


def numbers(option: str, text: str) -> list[float]:
    """The numbers that an option lists with commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"{option} {text}: write numbers with commas, as in {option} 0.5,0.8.") from None


def _wrong_table(inputs: Sequence[str], table: Table, needed: str) -> str:
    return f"{', '.join(inputs)}: contains {type(table).__name__.lower()}; this command needs {needed}."


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """Column and value of each ``a=b``; several may be in one argument, as in ``a=b,c=d``."""
    pairs = {}
    for text in [one for some in given or [] for one in re.split(r",(?=[a-z_]+=)", some)]:
        ours, equals, theirs = text.partition("=")
        if not equals or not ours or not theirs:
            raise OptionError(f"{option} {text}: write it as column=value, for example {option} score=accuracy.")
        pairs[ours] = theirs
    return pairs
