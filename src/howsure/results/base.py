"""What all results share: tables, JSON, saving, loading, a short repr and a table in notebooks."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import polars as pl

from howsure._version import __version__
from howsure.errors import InputError, OptionError, interruption_notes
from howsure.estimates import Estimate, State
from howsure.outside_text import html_table, json_text
from howsure.results.storage import ENDING, is_equal, read_value, write_value
from howsure.safe_io import write_atomic
from howsure.tables import Attempts, Table
from howsure.tables.frames import write_frame

if TYPE_CHECKING:
    import pandas as pd

    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Block, Section

__all__ = ["Provenance", "Result", "columns_of", "end_states", "plain", "readable", "write_json"]


# What made a result, and how values go to JSON.


@dataclass(frozen=True)
class Provenance:
    """Which input, settings, seed and version made a result, and what was noticed on the way."""

    settings: Mapping[str, Any]
    digest: str = ""
    seed: int | None = None
    notes: tuple[str, ...] = ()
    version: str = field(default=__version__)
    outcomes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """For each subject how many attempts had which outcome, where some have no score."""

    def __post_init__(self) -> None:
        notes = (*self.notes, *_few_replicates(self.settings), *interruption_notes())
        object.__setattr__(self, "notes", tuple(dict.fromkeys(notes)))

    @classmethod
    def of(cls, table: Table, *, seed: int | None = None, notes: Sequence[str] = (), **settings: Any) -> Provenance:
        """The provenance of a result made from `table`."""
        outcomes = table.outcomes if isinstance(table, Attempts) else {}
        return cls(settings, table.digest, seed, (*table.notes, *notes), outcomes=outcomes)


def _few_replicates(settings: Mapping[str, Any]) -> list[str]:
    """An interval needs at least one replicate beyond each of its ends."""
    n, level = settings.get("n_replicates"), settings.get("level", 0.95)
    if not isinstance(n, int) or not isinstance(level, float) or not 0 < level < 1:
        return []
    needed = math.ceil(round(2 / (1 - level), 6))
    if not 0 < n < needed:
        return []
    return [f"{n:,} replicates are too few for {level:.0%} intervals, which are too narrow: use at least {needed:,}."]


def columns_of(**estimates: Estimate) -> dict[str, Any]:
    """Estimates as columns of a table: ``name``, ``name_low``, ``name_high`` and ``name_state`` for each."""
    return {
        f"{name}{end}": found
        for name, one in estimates.items()
        for end, found in (("", one.value), ("_low", one.low), ("_high", one.high), ("_state", one.state))
    }


def end_states(**estimates: Estimate) -> dict[str, str]:
    """The states of both ends of estimates as columns: ``name_low_state`` and ``name_high_state``. The ends of an estimate without interval are ``undefined``, or as it is."""

    def state(one: Estimate, end: float | None, own: State) -> State:
        if end is not None or own != "ok":
            return own
        return one.state if one.state in ("unbounded", "too_few") else "undefined"

    return {
        f"{name}_{end}_state": state(one, getattr(one, end), getattr(one, f"{end}_state"))
        for name, one in estimates.items()
        for end in ("low", "high")
    }


_PLAIN = {str, int, float, bool}  # most values of a table: asked first


def plain(value: Any) -> Any:
    """A value as JSON knows it: estimates as objects, dates as text, numpy's scalars and arrays as numbers and lists."""
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, Estimate):
        return value.as_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in (f.name for f in dataclasses.fields(value))}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Path):
        return value.as_posix()
    return plain(value.tolist()) if hasattr(value, "tolist") else value


def write_json(value: Any, path: Path) -> Path:
    """Write a result as JSON; NaN and infinity are our mistake and raise."""
    return write_atomic(path, json_text(plain(value), indent=1) + "\n")


_ROWS_SHOWN = 20


class Result:
    """Base of every result: a frozen dataclass that names itself and declares its tables.

    A subclass sets ``name`` (also the stem of its files) and defines `tables`; the first table is the main one. An estimate
    ``x`` takes the columns ``x``, ``x_low``, ``x_high`` and ``x_state`` (`howsure.results.columns_of`).

    >>> summary = howsure.summary(attempts)             # doctest: +SKIP
    >>> summary.to_frame()                              # doctest: +SKIP
    >>> summary.save("out")                             # doctest: +SKIP
    >>> Summary.load("out").equals(summary)             # doctest: +SKIP
    True
    """

    name: ClassVar[str]
    provenance: Provenance

    def __init_subclass__(cls, **options: Any) -> None:
        """Keep the short repr, where a dataclass would write one of its own, draw charts once, and give every estimate its state."""
        super().__init_subclass__(**options)
        cls.__repr__ = Result.__repr__  # type: ignore[method-assign]
        if "charts" in cls.__dict__:
            cls.charts = _drawn_once(cls.charts)  # type: ignore[method-assign,assignment]
        if "tables" in cls.__dict__:
            cls.tables = property(_with_states(cls.tables.fget))  # type: ignore[method-assign,assignment,attr-defined]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name, the main one first; ``NAME.csv`` is each table's file."""
        raise NotImplementedError

    def to_frame(self, table: str | None = None) -> pl.DataFrame:
        """One table as a polars frame.

        Parameters
        ----------
        table : str, optional
            Its name; without it, the main table.
        """
        tables = self.tables
        if table is None:
            return next(iter(tables.values()))
        if table not in tables:
            raise OptionError.unknown("table", table, tuple(tables))
        return tables[table]

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """One table as a pandas frame; see `to_frame`. Dates are datetime64, and numbers of which none is known are float."""
        import pandas as pd

        frame = self.to_frame(table)
        made = pd.DataFrame(frame.to_dict(as_series=False))
        kinds = {
            name: "datetime64[ns]" if dtype.is_temporal() else "float64"
            for name, dtype in frame.schema.items()
            if dtype in (pl.Date, pl.Datetime) or (dtype.is_numeric() and made[name].dtype == object)
        }
        return made.astype(kinds)

    def as_dict(self) -> dict[str, Any]:
        """The tables and the provenance as plain JSON values."""
        rows = {name: plain(frame.fill_nan(None).to_dicts()) for name, frame in self.tables.items()}
        return {**rows, "provenance": plain(self.provenance)}

    def charts(self) -> Mapping[str, Chart]:
        """The charts by name, the main one first; ``NAME.png`` is each chart's file."""
        return {}

    def sections(self) -> list[Section]:
        """What a report says about it: text, tables and charts under headings. By default all tables and charts."""
        from howsure.results.blocks import ChartBlock, Section, TableBlock

        tables = [TableBlock.of(frame, f"{name}.csv") for name, frame in self.tables.items()]
        return [Section(type(self).__name__, [*map(ChartBlock, self.charts().values()), *tables])]

    def opening(self) -> list[Block]:
        """What its report says before anything else; nothing by default."""
        return []

    def blocks(self) -> list[Block]:
        """The text, tables and charts of all `sections`, in their order."""
        return [block for section in self.sections() for block in section.blocks]

    def chart(self, name: str | None = None) -> Chart:
        """One chart.

        Parameters
        ----------
        name : str, optional
            Its name; without it, the main chart.
        """
        charts = self.charts()
        if not charts:
            raise OptionError(f"A {type(self).__name__} has no chart.")
        if name is None:
            return next(iter(charts.values()))
        if name not in charts:
            raise OptionError.unknown("chart", name, tuple(charts))
        return charts[name]

    def more_files(self) -> Mapping[str, pl.DataFrame | None]:
        """Tables that `save` writes in another form than csv, by file name; None where this result has none and an older file is removed."""
        return {}

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the tables as csv, the result as JSON, and a file that `load` reads, into a folder.

        Parameters
        ----------
        path : str or path
            The folder; it is made if it does not exist.

        Returns
        -------
        list of Path
            The files written.
        """
        folder, more = Path(path), self.more_files()
        for name in (name for name, frame in more.items() if frame is None):
            (folder / name).unlink(missing_ok=True)
        return [
            *(write_frame(frame, folder / name) for name, frame in more.items() if frame is not None),
            *(write_frame(frame, folder / f"{name}.csv") for name, frame in self.tables.items()),
            write_json(self.as_dict(), folder / f"{self.name}.json"),
            write_value(self, folder / f"{self.name}{ENDING}"),
        ]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The result that `save` wrote.

        Parameters
        ----------
        path : str or path
            The folder given to `save`, or the file in it that ends in ``.result.zip``.
        """
        where = Path(path)
        if where.is_dir():
            stem = getattr(cls, "name", "*")
            files = sorted(where.glob(f"{stem}{ENDING}"))
            if len(files) != 1:
                found = ", ".join(file.name for file in files) or "none"
                raise InputError(f"{where}: expected one file {stem}{ENDING}, found {found}. Name the file.")
            where = files[0]
        if not where.exists():
            raise InputError(f"{where}: no such file or folder.")
        if not where.name.endswith(ENDING):
            raise InputError(
                f"{where}: is no saved result. Give the folder that a command wrote with -o, or the file in it that ends in {ENDING}."
            )
        result = read_value(where)
        if not isinstance(result, cls):
            raise InputError(f"{where}: is a {type(result).__name__}, not a {cls.__name__}.")
        return result

    @classmethod
    def loaded(cls, given: Self | str | os.PathLike[str]) -> Self:
        """A result as it is, or the one that was saved to this folder: what functions that start from a result accept."""
        return cls.load(given) if isinstance(given, str | os.PathLike) else given

    def equals(self, other: object) -> bool:
        """Whether both have the same type and exactly the same values; NaN equals NaN."""
        return is_equal(self, other)

    def __repr__(self) -> str:
        """The type, the size of the main table and its first columns."""
        frame = self.to_frame()
        names = ", ".join(frame.columns[:6]) + (", …" if frame.width > 6 else "")
        rows = "row" if frame.height == 1 else "rows"
        return f"<{type(self).__name__}: {frame.height:,} {rows} ({names})>"

    def _repr_html_(self) -> str:
        """The main table, for notebooks: estimates with their intervals in one cell."""
        whole = self.to_frame()
        frame = readable(whole.head(_ROWS_SHOWN))
        return html_table(type(self).__name__, frame.columns, frame.iter_rows(), whole.height, ".to_frame()")


def _drawn_once(draw: Callable[[Any], Mapping[str, Chart]]) -> Callable[[Any], Mapping[str, Chart]]:
    """The method `draw`, whose charts are kept: the files and the report show the same ones."""

    @functools.wraps(draw)
    def charts(self: Any) -> Mapping[str, Chart]:
        if "_charts" not in vars(self):
            object.__setattr__(self, "_charts", draw(self))  # results are frozen
        kept: Mapping[str, Chart] = vars(self)["_charts"]
        return kept

    return charts


def _with_states(tables: Callable[[Any], dict[str, pl.DataFrame]]) -> Callable[[Any], dict[str, pl.DataFrame]]:
    """The property `tables`, in which every estimate has its state, also where it only has a value or none."""

    @functools.wraps(tables)
    def complete(self: Any) -> dict[str, pl.DataFrame]:
        return {name: _stated(frame) for name, frame in tables(self).items()}

    return complete


def _stated(frame: pl.DataFrame) -> pl.DataFrame:
    """A table with ``x_state`` after each ``x_high`` that lacks it: ``ok`` where x is a number, else ``undefined``."""
    frame = frame.clone()  # columns are inserted in place
    names = frame.columns
    for name in names:
        stem = name.removesuffix("_high")
        if stem == name or stem not in names or f"{stem}_state" in names:
            continue
        value = pl.col(stem).fill_nan(None) if frame[stem].dtype.is_float() else pl.col(stem)
        state = pl.when(value.is_null()).then(pl.lit("undefined")).otherwise(pl.lit("ok")).alias(f"{stem}_state")
        frame = frame.insert_column(frame.get_column_index(name) + 1, frame.select(state).to_series())
    return frame


def readable(frame: pl.DataFrame) -> pl.DataFrame:
    """A table as text for people: ``x``, ``x_low``, ``x_high`` and ``x_state`` become one column ``x``, such as 0.78 [0.73, 0.83].

    Columns without any value, and states that are all ``ok``, are not shown.

    Parameters
    ----------
    frame : polars.DataFrame
        A table whose estimates follow the rule of `columns_of`.
    """
    estimates = [
        name
        for name in frame.columns
        if {f"{name}_low", f"{name}_high"} <= set(frame.columns) and not frame[name].dtype.is_temporal()
    ]
    ends = {f"{name}{end}" for name in estimates for end in ("_low", "_high", "_state", "_low_state", "_high_state")}
    shown = [name for name in frame.columns if name not in ends and _says_something(frame[name])]
    counts = {name for name in estimates if _is_whole(frame.select(name, f"{name}_low", f"{name}_high"))}
    rows = [
        [_cell(row, name, is_estimate=name in estimates, is_count=name in counts) for name in shown]
        for row in frame.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(shown, pl.String), orient="row")


def _says_something(column: pl.Series) -> bool:
    """Whether a column has a value, or, where it has states, one other than ok."""
    nothing = ("ok",) if column.name.endswith("_state") else ("",)
    return column.is_empty() or any(value is not None and value not in nothing for value in column)


def _is_whole(columns: pl.DataFrame) -> bool:
    """Whether all numbers are whole, as ranks are."""
    values = [value for row in columns.iter_rows() for value in row if value is not None]
    return all(isinstance(value, int) or float(value).is_integer() for value in values)


def _cell(row: Mapping[str, Any], name: str, *, is_estimate: bool, is_count: bool) -> str:
    value = row[name]
    if is_estimate:
        state: State = row.get(f"{name}_state") or ("undefined" if value is None else "ok")
        low_state: State = row.get(f"{name}_low_state") or "ok"
        high_state: State = row.get(f"{name}_high_state") or "ok"
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        estimate = Estimate(value, low, high, state=state, low_state=low_state, high_state=high_state)
        return estimate.text(0) if is_count else str(estimate)
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
