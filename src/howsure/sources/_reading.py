"""What sources of attempts share while they read."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import polars as pl

from howsure.errors import InputError
from howsure.sources import Progress
from howsure.tables.frames import Part

__all__ = ["counted", "files_below", "number_attempts", "read_each", "uncollected", "unread"]

_SHOWN = 5  # files named one by one in a note; the rest are counted
_SHOWN_FOLDERS = {".eval_results"}  # hidden, but with results
_Read = TypeVar("_Read")


def counted(paths: Sequence[Path], progress: Progress | None) -> Iterator[Path]:
    """The paths one by one, each once however often it is named, with `progress` told after each."""
    once = dict.fromkeys(paths)
    for done, path in enumerate(once, 1):
        yield path
        if progress:
            progress(done, len(once))


def files_below(folder: Path, closed: list[OSError] | None = None) -> Iterator[Path]:
    """All files of a folder and of the folders in it, in the order of names, but for hidden ones, pipes and devices.

    A folder in it that cannot be read goes to ``closed``, or is refused where there is no such list.
    """

    def note(error: OSError) -> None:
        if closed is None or str(error.filename) == str(folder):
            _refuse(error)
        else:
            closed.append(error)

    for root, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith(".") or name in _SHOWN_FOLDERS)
        paths = (Path(root, name) for name in sorted(names) if not name.startswith("."))
        yield from (path for path in paths if path.is_file())


def read_each(
    paths: Sequence[Path], load: Callable[[Path], _Read], *, strict: bool, progress: Progress | None
) -> tuple[list[_Read], list[str]]:
    """What `load` makes of each file, and a note on those that are damaged: they are skipped, unless ``strict``.

    Raises the first file's fault when none can be read.
    """
    loaded: list[_Read] = []
    faults: dict[Path, InputError] = {}
    for path in counted(paths, progress):
        try:
            loaded.append(load(path))
        except InputError as error:
            if strict:
                raise
            faults[path] = error
    if faults and not loaded:
        first = next(iter(faults.values()))
        rest = f" (and {len(faults) - 1:,} other files cannot be read either)" if len(faults) > 1 else ""
        raise InputError(f"{first}{rest}") from None
    told = [f"{path.name} ({str(fault).removeprefix(f'{path}: ')})" for path, fault in faults.items()]
    return loaded, unread(told, "damaged; --strict stops instead")


@contextmanager
def uncollected() -> Iterator[None]:
    """Within the block, Python looks for no cycles among objects: reading makes millions of objects and no cycles, and looking takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def unread(names: Sequence[str], why: str) -> list[str]:
    """A note that counts and names files that were not read, or none where there are none."""
    if not names:
        return []
    count = "1 file was" if len(names) == 1 else f"{len(names):,} files were"
    rest = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return [f"{count} not read ({why}): {', '.join(names[:_SHOWN])}{rest}."]


def _refuse(error: OSError) -> None:
    raise InputError(f"{error.filename}: cannot be read ({error.strerror}).")


def number_attempts(parts: Sequence[Part], *, order: str | None = None) -> list[Part]:
    """The parts with a column ``attempt``: 1, 2, … for each subject and task across the files, by `order` or as they stand."""
    frames = [part.collect(part.rows) for part in parts]
    by = [pl.col(order)] if order else []
    rows = pl.concat([frame.select("subject", "task", *by) for frame in frames]).with_row_index("#row")
    attempt = pl.int_range(1, pl.len() + 1).over("subject", "task", order_by=[*by, pl.col("#row")]).alias("attempt")
    numbers = rows.select(attempt)["attempt"]
    starts = [0]
    for frame in frames:
        starts.append(starts[-1] + len(frame))
    return [
        replace(part, rows=frame.with_columns(numbers.slice(start, len(frame))).lazy())
        for part, frame, start in zip(parts, frames, starts, strict=False)
    ]
