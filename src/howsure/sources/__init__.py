"""Foreign formats, one file each: what it is recognised by, and how it becomes a table.

A source is a module with

- ``ABOUT``: one line for people;
- ``OPTIONS``: the reading options it understands beside ``divide_by`` and ``progress``;
- ``recognise(path) -> str | None``: why this file is of this format, or None; looks at names and a few bytes only;
- ``read(paths, *, divide_by=1, progress=None, **options) -> Table``: everything it recognised, as one checked table
  whose ``notes`` say what was left out and why, and which tells `howsure.sources._reading` how many rows it saw and left out.
  An attempt without a score is a row: its ``outcome`` and ``reason``, or ``error`` and ``limit``, say what became of it;
- ``SUBFOLDERS`` (optional): names of folders that belong to a folder that it takes as a whole;
- ``HARNESS`` (optional): the outcomes without a score that the tool itself counts as ``wrong`` in its means; it excludes the others;
- ``LAYOUTS`` (optional): for each layout of the format the keys or columns by which it is known, to name the nearest format.

`SOURCES` lists them with the marks that a file must have for a source to be asked. Other packages add sources by an entry point in the group ``howsure.sources`` that names such a module; with
``TAKES_FOLDERS = True`` in it, it is asked about whole folders too.
"""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, cast

from howsure.errors import HowsureError, InputError, OptionError
from howsure.sources import _cache, _remote
from howsure.sources._reading import (
    Account,
    FileAccount,
    Progress,
    accounting,
    files_below,
    has_mark,
    head,
    keys,
    leave_out,
    unread,
)
from howsure.tables import TABLES, Attempts, Table
from howsure.tables.frames import expand
from howsure.tables.spellings import alike_note

__all__ = [
    "SOURCES",
    "WRITTEN",
    "Account",
    "Progress",
    "Recognised",
    "Source",
    "account",
    "convert",
    "formats",
    "read",
    "recognise",
    "source",
    "write_as",
]

SOURCES: dict[str, tuple[str, ...]] = {
    "inspect_logs": (".eval", ".json"),
    "every_eval_ever": ("evaluation_id",),
    "helm": ("/",),
    "lighteval": ("config_general", "metric"),
    "lm_eval": ("doc_id", "results", "configs", "versions", "n-shot", "group_subtasks"),
    "promptfoo": ("results",),
    "evalplus": ("base_status", "nfiles"),
    "swe_bench": ("resolved", "leaderboards"),
    "harbor": ("trial_name", "n_total_trials", "is_resolved"),
    "label_studio": ("lead_time", "from_name"),
    "argilla": ("responses",),
    "potato": (":::", "label_annotations"),
    "prodigy": ("_input_hash",),
    "mturk": ("hitid",),
    "deepeval": ("metricsdata", "metrics_data"),
    "inspect_frames": ("eval_id",),
    "inspect_scout": ("scanner_key",),
    "openai_evals": ("eval.run.output_item", "spec", "event_id"),
    "epoch": ("/", ".zip", "performance", "estimated_slope_scaled"),
    "metr": ("score_binarized", "n_successes", ".yaml", ".yml"),
    "arena_votes": ("model_a",),
    "hf_eval_results": (".yaml", ".yml"),
    "excel": (".xlsx", ".xlsm"),
    "files": ("",),
}
"""The formats in the order in which they are asked, each with its marks: an ending of the file's name, a word among its first bytes
(both in small letters), or ``/`` for a whole folder. A format none of whose marks is there is not asked; `files` takes what no other does."""

_WORTH_KEEPING = 0.2  # seconds of CPU; a reading that took less is not kept
_NAMED = 5  # files that are named one by one
_NEAR = 0.5  # share of a layout's keys that a near file has


class Source(Protocol):
    """What every module here offers."""

    ABOUT: str
    OPTIONS: frozenset[str]

    def recognise(self, path: Path) -> str | None:
        """Why this path is of this format, or None."""

    def read(
        self, paths: Sequence[Path], *, divide_by: float = 1, progress: Progress | None = None, **options: Any
    ) -> Table:
        """One checked table of all the paths."""


@dataclass(frozen=True)
class Recognised:
    """Which format a path is in, and why we think so."""

    path: Path
    source: str
    reason: str


def source(name: str) -> Source:
    """The source called `name`."""
    if name in SOURCES:
        return cast("Source", importlib.import_module(f"howsure.sources.{name}"))
    if name in _plugins():
        return cast("Source", _plugins()[name])
    raise OptionError.unknown("source", name, _names())


def recognise(path: Path) -> Recognised:
    """Which source takes this path, and why."""
    if not path.is_dir() and (taken := _recognised(path)):
        return taken
    if folder := path if path.is_dir() else _remote.unpacked(path):
        found = _Search()
        found.walk(folder)
        if not found.taken:
            raise InputError(f"{path}: no file in it is of a known format. {' '.join(found.notes())}".rstrip())
        taken = found.taken[0]
        reason = (
            taken.reason if taken.path == folder else f"it contains {taken.path.relative_to(folder)}: {taken.reason}"
        )
        return Recognised(path, taken.source, reason)
    if closed := _closed(path):
        raise InputError(f"{path}: {closed}.")
    raise InputError(
        f"{path}: not recognised as any of {', '.join(_names())}{_nearest(path) or '.'} Name the format with --source, or convert the file to csv."
    )


def read(
    paths: Any,
    *,
    source_name: str | None = None,
    divide_by: float = 1,
    progress: Progress | None = None,
    cache: bool = True,
    count: str | Mapping[str, str] | None = None,
    missing_score: float | None = None,
    **options: Any,
) -> Table:
    """Files, folders or globs in any format that Howsure knows, as one checked table.

    Parameters
    ----------
    paths : str, path, frame, or several of them
        Inputs of one kind; several are joined. Of a folder, all files that are recognised. Addresses such as ``s3://bucket/logs`` need
        fsspec. Frames may be those of Inspect's ``samples_df`` and ``evals_df``, or have a table's own columns.
    source_name : str, optional
        The format, one of `SOURCES`; without it, the format is recognised.
    divide_by : float, default 1
        Scores are divided by this number, which brings them to 0–1.
    progress : callable, optional
        Called with the amount that is done and the total amount.
    cache : bool, default True
        Keep readings of unchanged files that took long, without texts, in the user's cache folder.
    count : str or mapping, optional
        What attempts without a score count as in analyses: ``"errored=wrong,unscored=drop"``, or ``"harness"`` for what the tool's own means do. Without
        it, conclusions have to agree in all defensible ways.
    missing_score : float, optional
        What a missing score counts as where scores have no worst value.
    **options
        Further options of the format, such as ``scorer`` and ``family`` for Inspect logs, or ``table``, ``rename`` and ``fill`` for files.

    Returns
    -------
    Table
        `Attempts`, `Scores`, `Ratings` or `Votes`; its ``notes`` say what was not read and why.

    Raises
    ------
    InputError
        If a file is damaged or has wrong values; the message names file, line, column and value.
    """
    table, made = _read(paths, source_name, divide_by, progress, is_cached=cache, options=options)
    return with_count(table, [one.source for one in made.files if one.source], count, missing_score)


def with_count(
    table: Table, names: Iterable[str], count: str | Mapping[str, str] | None, missing_score: float | None
) -> Table:
    """The table, with what the user decided on attempts without a score; `names` are the sources that it comes from."""
    if count is None and missing_score is None:
        return table
    if not isinstance(table, Attempts):
        kind = type(table).__name__.lower()
        raise OptionError(
            f"--count and --missing-score are about attempts without a score; these are {kind}. Omit them."
        )
    rules = {name: dict(getattr(source(name), "HARNESS", {})) for name in dict.fromkeys(names)}
    harness = next(iter(rules.values()), {})
    if count == "harness" and any(one != harness for one in rules.values()):
        raise OptionError(
            f"--count harness: {' and '.join(rules)} count attempts without a score differently. Give rules, such as --count errored=wrong."
        )
    return table.counting(count, missing_score, harness=harness)


def account(paths: Any, *, source_name: str | None = None, divide_by: float = 1, **options: Any) -> Account:
    """What became of every file and row: rows read = rows used + rows left out, by reason.

    Parameters
    ----------
    paths : str, path, frame, or several of them
        As in `read`.
    source_name : str, optional
        As in `read`.
    divide_by : float, default 1
        As in `read`.
    **options
        As in `read`.

    Returns
    -------
    Account
        The files with their formats, the numbers of rows, and the notes.
    """
    return _read(paths, source_name, divide_by, None, is_cached=False, options=options)[1]


def convert(
    paths: Any,
    out: str | Path,
    *,
    to: str | None = None,
    counts: bool = False,
    scheduler: str | None = None,
    **options: Any,
) -> Table:
    """Read files in any format that Howsure knows, write them as one checked table, and return it.

    Parameters
    ----------
    paths : str, path, or several of them
        As in `read`.
    out : str or path
        The file to write: csv, tsv, jsonl or parquet by its ending (text also with ``.gz``); with `to`, a folder.
    to : str, optional
        One of `WRITTEN`, such as ``every-eval-ever`` or ``label-studio``: write files of that format instead.
    counts : bool, default False
        Write attempts as counts, one row per subject, task and configuration, as `count_attempts` makes them.
    scheduler : str, optional
        With `counts`: address of a Dask scheduler whose workers count the files.
    **options
        As in `read`.
    """
    if scheduler and not counts:
        raise OptionError("scheduler counts attempts on a cluster; pass counts as well.")
    if (to is None or counts) and (options.get("count"), options.get("missing_score")) != (None, None):
        raise OptionError(KEPT_IN_TABLES)
    if counts:
        from howsure.sources.counting import count_attempts

        options.pop("cache", None)
        table: Table = count_attempts(paths, scheduler=scheduler, **options)
    else:
        table = read(paths, **options)
    if to is None:
        table.write(out)
    else:
        write_as(table, out, to)
    return table


KEPT_IN_TABLES = "A written table keeps attempts without a score, so --count and --missing-score change nothing. Give them to the analysis."

WRITTEN = ("every-eval-ever", "label-studio", "argilla", "potato", "prodigy", "mturk")
"""Formats that tables can be written in: the first takes attempts and scores, the others ratings."""


def write_as(table: Table, folder: str | Path, to: str) -> list[Path]:
    """Write a table in another tool's format.

    Parameters
    ----------
    table : Table
        Attempts or scores for ``every-eval-ever``, ratings for the rating tools.
    folder : str or path
        Where the files go.
    to : str
        One of `WRITTEN`.

    Returns
    -------
    list of Path
        The files.
    """
    name = to.replace("_", "-")
    if name not in WRITTEN:
        raise OptionError.unknown("format to write", to, WRITTEN)
    is_ratings = isinstance(table, TABLES["ratings"])
    if (name != "every-eval-ever") != is_ratings:
        needed = "attempts or scores" if name == "every-eval-ever" else "ratings"
        raise InputError(f"{name} takes {needed}; these are {type(table).__name__.lower()}.")
    module = importlib.import_module(f"howsure.sources.{name.replace('-', '_')}")
    files: list[Path] = module.write(table, Path(folder))
    return files


def formats() -> dict[str, str]:
    """What every source reads, in one line each."""
    return {name: source(name).ABOUT for name in _names()}


# which files are read by which source


@dataclass
class _Search:
    """Files that a source takes, and files that none takes, with the reason."""

    taken: list[Recognised] = field(default_factory=list)
    unread: list[FileAccount] = field(default_factory=list)
    aside: list[Recognised] = field(default_factory=list)
    """Tables beside logs, which are read where no log can be."""
    root: Path = field(default_factory=Path)

    def walk(self, folder: Path) -> None:
        """Look into a folder: what takes folders takes it whole, else every file in it is recognised for itself."""
        self.root = folder
        wholes: dict[Path, Recognised | None] = {}
        taken: list[Recognised] = []
        tables: list[Recognised] = []
        loose: list[Recognised] = []  # .txt files and JSON objects, which may be notes and settings as well
        closed: list[OSError] = []
        for file in files_below(folder, closed):
            home = file.parent
            if home not in wholes:
                around = wholes.get(home.parent)
                is_part = around and home.name in getattr(source(around.source), "SUBFOLDERS", ())
                wholes[home] = around if is_part else _whole_folder(home)
                if not is_part and (whole := wholes[home]):
                    taken.append(whole)
            if wholes[home]:
                continue
            found = _recognised(file)
            if found is None:
                self.unread.append(
                    FileAccount(file, None, _closed(file) or f"not recognised{_nearest(file).rstrip('.')}")
                )
            elif found.source == "files" and (file.suffix.lower() in (".txt", ".md") or _is_object(file)):
                loose.append(found)
            elif found.source in ("excel", "files"):
                tables.append(found)
            else:
                taken.append(found)
        self.unread += [FileAccount(Path(one.filename), None, f"cannot be read: {one.strerror}") for one in closed]
        if taken or tables:
            self.unread += [
                FileAccount(
                    one.path, None, f"not recognised{_nearest(one.path).rstrip('.')}; name it to read it as a table"
                )
                for one in loose
            ]
        else:
            tables = loose
        if taken:
            self.aside += tables
            named = ", ".join(dict.fromkeys(one.source for one in taken))
            self.unread += [
                FileAccount(one.path, None, f"a table beside {named}; name it to read it") for one in tables
            ]
        self.taken += taken or tables

    @property
    def by_source(self) -> dict[str, list[Path]]:
        """The files that each source takes."""
        found: dict[str, list[Path]] = {}
        for one in self.taken:
            found.setdefault(one.source, []).append(one.path)
        return found

    @property
    def account(self) -> Account:
        """An account of the files, without rows."""
        return Account(files=[*(FileAccount(one.path, one.source, one.reason) for one in self.taken), *self.unread])

    def without_logs(self, error: InputError) -> _Search:
        """The tables beside logs, none of which can be read."""
        aside = {one.path for one in self.aside}
        told = str(error).removeprefix(f"{self.taken[0].path}: ").rstrip(".")
        failed = [FileAccount(one.path, None, told) for one in self.taken]
        rest = [one for one in self.unread if one.path not in aside]
        return _Search(taken=self.aside, unread=failed + rest, root=self.root)

    def notes(self) -> list[str]:
        """The files that were not read: how many, and the first five, by reason."""
        by_reason: dict[str, list[str]] = {}
        for one in self.unread:
            shown = one.path.relative_to(self.root) if one.path.is_relative_to(self.root) else one.path
            if one.path == self.root:  # "." says nothing
                shown = Path(one.path.resolve().name)
            by_reason.setdefault(one.reason, []).append(str(shown))
        return [note for reason, names in by_reason.items() for note in unread(names, reason)]


def _closed(path: Path) -> str:
    """Why a file cannot be opened, or nothing."""
    try:
        if path.is_file() or not path.exists():
            path.open("rb").close()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return ""


def _is_object(path: Path) -> bool:
    return path.suffix.lower() == ".json" and head(path).lstrip()[:1] == "{"


def _recognised(path: Path) -> Recognised | None:
    for name in _names():
        if has_mark(path, SOURCES.get(name, ("",))) and (reason := _asked(name, path)):
            return Recognised(path, name, reason)
    return None


def _asked(name: str, path: Path) -> str | None:
    """Whether a source takes a path. One of another package that fails is named: without it the file may be taken for something else."""
    if name in SOURCES:
        try:
            return source(name).recognise(path)
        except OSError:  # removed meanwhile, or closed to us
            return None
    try:
        return source(name).recognise(path)
    except Exception as error:  # noqa: BLE001 - whatever another package does wrong
        raise _fault_of(name, path, error) from None


def _fault_of(name: str, path: Path, error: Exception) -> InputError:
    told = " ".join(f"{type(error).__name__}: {error}".split())[:160]
    return InputError(
        f"{path}: the source {name!r}, which another package brought, failed ({told}). Update or remove that package, or name a "
        "format with --source."
    )


def _whole_folder(path: Path) -> Recognised | None:
    for name in _names():
        takes_folders = "/" in SOURCES[name] if name in SOURCES else getattr(source(name), "TAKES_FOLDERS", False)
        if takes_folders and (reason := _asked(name, path)):
            return Recognised(path, name, reason)
    return None


def _nearest(path: Path) -> str:
    """The known layout that shares most keys with a file, and which of its keys the file lacks."""
    there = set(keys(path)) if path.is_file() else set()
    layouts: list[tuple[str, str, frozenset[str]]] = [
        (name, layout, needed)
        for name in _names()
        for layout, needed in cast("Mapping[str, frozenset[str]]", getattr(source(name), "LAYOUTS", {})).items()
    ]
    if not there or not layouts:
        return ""
    name, layout, needed = max(layouts, key=lambda one: (len(one[2] & there) / len(one[2]), len(one[2])))
    if len(needed & there) / len(needed) < _NEAR:
        return ""
    missing = sorted(needed - there)
    return f"; closest to {name} ({layout})" + (f", but without {', '.join(missing)}" if missing else "") + "."


def _names() -> tuple[str, ...]:
    *known, last = SOURCES
    return (*known, *_plugins(), last)


@cache
def _plugins() -> dict[str, Any]:
    """Sources of other packages; one that cannot be imported is no reason to read nothing."""
    found: dict[str, Any] = {}
    for point in entry_points(group="howsure.sources"):
        try:
            module = point.load()
        except Exception:  # noqa: BLE001 - whatever another package does wrong
            continue
        if (
            point.name not in SOURCES
            and callable(getattr(module, "recognise", None))
            and callable(getattr(module, "read", None))
            and isinstance(getattr(module, "ABOUT", None), str)
            and isinstance(getattr(module, "OPTIONS", None), frozenset)
        ):
            found[point.name] = module
    return found


# reading


def files_of(folder: Path) -> list[Path]:
    """What is read of a folder: files, and folders that one source takes whole."""
    search = _Search()
    search.walk(folder)
    if not search.taken:
        raise InputError(f"{folder}: no file in it is of a known format. {' '.join(search.notes())}".rstrip())
    return [one.path for one in search.taken]


def read_part(
    place: str, kind: type[Table], *, source_name: str | None, divide_by: float, given: dict[str, Any]
) -> tuple[Table, Account]:
    """One file of several that are read apart: tables as `kind`, which may check less than a whole table does."""
    made = Account()
    path = _remote.fetched(place)[0] if is_address(place) else expand(place)[0]
    taken = source_name or recognise(path).source
    if taken == "files":
        with accounting(made):
            table = source(taken).read([path], divide_by=divide_by, kind=kind, **_understood(taken, given))
        return table, made
    return _read(path, source_name, divide_by, None, is_cached=False, options=given)


def _read(
    paths: Any,
    source_name: str | None,
    divide_by: float,
    progress: Progress | None,
    *,
    is_cached: bool,
    options: dict[str, Any],
) -> tuple[Table, Account]:
    given = {name: value for name, value in options.items() if value}
    listed = list(paths) if isinstance(paths, list | tuple) or _is_iterator(paths) else [paths]
    frames = [one for one in listed if not isinstance(one, str | Path)]
    if frames:
        return _of_frames(frames, given, divide_by)
    try:
        return _of_paths(listed, source_name, divide_by, progress, is_cached=is_cached, given=given)
    except HowsureError as error:
        if (told := _with_their_names(str(error))) != str(error):
            raise type(error)(told) from None
        raise


def is_address(path: str | Path) -> bool:
    """Whether this is an address such as ``s3://bucket/logs``."""
    return isinstance(path, str) and re.match("[^/]+://", path) is not None


def _with_their_names(text: str) -> str:
    """A text with the addresses and archives that the user named instead of the places of their copies."""
    for here, given in _remote.FETCHED.items():
        text = text.replace(here, given)
    return text


def _is_iterator(paths: Any) -> bool:
    return isinstance(paths, Iterable) and hasattr(paths, "__next__")


def _of_paths(
    listed: Sequence[str | Path],
    source_name: str | None,
    divide_by: float,
    progress: Progress | None,
    *,
    is_cached: bool,
    given: dict[str, Any],
) -> tuple[Table, Account]:
    search = _Search()
    has_folder = False
    for pattern in listed:
        found = _remote.fetched(str(pattern)) if is_address(pattern) else expand(pattern)
        for path in found:
            if source_name:
                search.taken.append(Recognised(path, source_name, "as asked"))
            elif folder := path if path.is_dir() else None if _recognised(path) else _remote.unpacked(path):
                has_folder = True
                search.walk(folder)
            else:
                search.taken.append(recognise(path))
    if not search.taken:
        if not listed:
            raise InputError("No input was given.")
        raise InputError(f"{listed[0]}: no file in it is of a known format. {' '.join(search.notes())}".rstrip())
    _refuse_unused(given, search.by_source)
    name = (
        _cache.key(search.account.files, {**given, "divide_by": divide_by, "listed": list(map(str, listed))})
        if is_cached
        and "files" not in search.by_source
        and {*search.by_source} <= {*SOURCES}  # others' readers may have changed
        else None
    )
    if name and (kept := _cache.load(name)):
        return kept
    began = time.process_time()
    table, made = _of_search(search, given, divide_by, progress, is_lenient=has_folder)
    if name and time.process_time() - began > _WORTH_KEEPING:
        _cache.save(name, table, made)
    return table, made


def _of_search(
    search: _Search, given: dict[str, Any], divide_by: float, progress: Progress | None, *, is_lenient: bool
) -> tuple[Table, Account]:
    """One table of the files that were found; where no log can be read, of the tables beside them."""
    made = search.account
    with accounting(made):
        try:
            tables = _tables(search.by_source, given, divide_by, progress, made, is_lenient=is_lenient)
        except InputError as error:
            if search.aside and not given.get("strict"):
                return _of_search(search.without_logs(error), given, divide_by, progress, is_lenient=True)
            if not search.unread:
                raise
            raise InputError(" ".join([str(error), *search.notes()])) from None
        table = _joined(tables, given.get("table") or given.get("wanted"), is_lenient=is_lenient)
    notes = (*table.notes, *search.notes(), *alike_note(table))
    table.notes = tuple(dict.fromkeys(map(_with_their_names, notes)))
    made.files = [replace(one, path=Path(_with_their_names(str(one.path)))) for one in made.files]
    made.n_used, made.table, made.notes = len(table), type(table).__name__.lower(), table.notes
    return table, made


def _tables(
    by_source: Mapping[str, list[Path]],
    given: dict[str, Any],
    divide_by: float,
    progress: Progress | None,
    made: Account,
    *,
    is_lenient: bool,
) -> list[Table]:
    """What each source makes of its files. In a folder of several formats, one that cannot be read does not stop the others."""
    tables: list[Table] = []
    faults: list[HowsureError] = []
    n, done = sum(map(len, by_source.values())), 0

    def shown(so_far: int, _: int, before: int = 0) -> None:
        if progress:
            progress(before + so_far, n)

    for name, taken in by_source.items():
        before = done
        counted = progress if len(by_source) == 1 else lambda a, b, before=before: shown(a, b, before)
        seen, left = made.n_read, made.left_out.copy()
        kept, unread = list(taken), dict[Path, HowsureError]()

        def attempt(paths: list[Path], name: str = name, counted: Any = counted) -> Table:
            try:
                table = source(name).read(paths, divide_by=divide_by, progress=counted, **_understood(name, given))
            except Exception as error:
                if isinstance(error, OSError) and name in SOURCES:
                    where, why = error.filename or paths[0], error.strerror or error
                    raise InputError(f"{where}: cannot be read ({why}).") from None
                if name in SOURCES or isinstance(error, HowsureError):
                    raise
                raise _fault_of(name, paths[0], error) from None
            if not isinstance(table, Table):
                raise _fault_of(name, paths[0], TypeError(f"it gave {type(table).__name__}, not a table"))
            return table

        try:
            tables.append(attempt(kept))
        except InputError as error:
            if given.get("strict") or not is_lenient or len(by_source) == len(taken) == 1:
                raise
            kept, unread = _readable(taken, attempt)
            made.n_read, made.left_out = seen, left.copy()
            try:
                tables += [attempt(kept)] if kept and unread else []
            except InputError:
                kept = []
            if not unread or not kept:  # they can be read one by one, but not together
                unread, made.n_read, made.left_out = dict.fromkeys(taken, error), seen, left
            faults += dict.fromkeys(unread.values())
            made.files = [
                FileAccount(one.path, None, f"cannot be read ({unread[Path(one.path)]})")
                if one.source == name and Path(one.path) in unread
                else one
                for one in made.files
            ]
        done += len(taken)
    if not tables:
        said = list(dict.fromkeys(map(str, faults)))
        raise faults[0] if len(said) == 1 else InputError(f"No file could be read: {'; '.join(said[:_NAMED])}")
    if faults:
        said = [f"Not read: {error}" for error in faults[:_NAMED]]
        more = [f"{len(faults) - _NAMED:,} further files could not be read."] if len(faults) > _NAMED else []
        tables[-1].notes = (*tables[-1].notes, *said, *more)
    return tables


def _readable(
    taken: Sequence[Path], attempt: Callable[[list[Path]], Table]
) -> tuple[list[Path], dict[Path, HowsureError]]:
    """The files that can be read alone, and what is wrong with each of the others."""
    kept, unread = [], dict[Path, HowsureError]()
    for path in taken:
        try:
            attempt([path])
        except InputError as error:
            unread[path] = error
        else:
            kept.append(path)
    return kept, unread


def _of_frames(frames: Sequence[Any], given: dict[str, Any], divide_by: float) -> tuple[Table, Account]:
    """Frames in memory: Inspect's, or those with a table's own columns."""
    from howsure.sources import inspect_frames
    from howsure.tables.frames import parts_of

    held = [part.rows.collect() for frame in frames for part in parts_of(frame)]
    made = Account(files=[])
    with accounting(made):
        if all(inspect_frames.recognise_columns(frame.columns) for frame in held):
            table = inspect_frames.read_frames(held, divide_by=divide_by, **_understood("inspect_frames", given))
        else:
            from howsure.sources import files

            table = files.read(held, divide_by=divide_by, **_understood("files", given))
    table.notes = (*table.notes, *alike_note(table))
    made.n_used, made.table, made.notes = len(table), type(table).__name__.lower(), table.notes
    return table, made


def _understood(name: str, options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key in source(name).OPTIONS}


def _refuse_unused(options: dict[str, Any], names: Iterable[str]) -> None:
    for option in options.keys() - {
        "strict",
        "table",
        "wanted",
    }:  # hold for all; a source may have nothing to skip
        if not any(option in source(name).OPTIONS for name in names):
            raise OptionError(
                f"--{option.replace('_', '-')} does not apply to input of the format {' or '.join(names)}. Omit it."
            )


def _joined(tables: list[Table], wanted: str | None, *, is_lenient: bool) -> Table:
    """One table. Where a folder holds attempts and aggregates, the attempts are taken."""
    kinds = {type(table).__name__.lower(): type(table) for table in tables}
    if len(kinds) > 1 and not is_lenient:
        named = " and ".join(sorted(kind.__name__ for kind in kinds.values()))
        raise InputError(f"The inputs are of different kinds ({named}); read them apart.")
    chosen = wanted if wanted in kinds else next(name for name in (*TABLES, *kinds) if name in kinds)
    notes: list[str] = []
    for table in tables:
        if type(table) is not kinds[chosen]:
            name, n = type(table).__name__.lower(), len(table)
            leave_out(f"{name}, where {chosen} are read (--table {name} reads them)", n)
            notes.append(f"{n:,} {name} were not used, because {chosen} are there; --table {name} reads them instead.")
    joined = kinds[chosen].union([table for table in tables if type(table) is kinds[chosen]])
    joined.notes = (*joined.notes, *notes)
    return joined
