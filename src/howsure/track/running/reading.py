"""Games from wherever they lie: Inspect logs, samples.csv files, and folders that hold them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from howsure.errors import InputError
from howsure.running import locked
from howsure.sources import inspect_logs
from howsure.track.running.logs import samples_from_logs
from howsure.track.samples import Samples, load_samples

__all__ = ["FILE", "kept_in", "locked", "read_samples"]

FILE = "samples.csv"


def read_samples(paths: Sequence[str | os.PathLike[str]]) -> Samples:
    """All games in these files, folders and subfolders. Where a folder has logs and a samples.csv made from them, the logs are read.

    Parameters
    ----------
    paths : Sequence[str or path]
        Files and folders.
    """
    if not paths:
        raise InputError("No input was given: name a log, a samples.csv or a folder that contains them.")
    given = [Path(path) for path in paths]
    logs = [path for path in given if path.is_file() and inspect_logs.recognise(path)]
    # all logs at once, because several may be tries at the same run
    together = [samples_from_logs(logs)] if logs else []
    return Samples.union([*together, *(_read(path) for path in given if path not in logs)])


def kept_in(folder: Path) -> Samples | None:
    """The games in a folder's samples.csv, if it has one."""
    path = folder / FILE
    return load_samples(path) if path.exists() else None


def _read(path: Path) -> Samples:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder.")
    if path.is_file():
        return load_samples(path)
    # people's games, from `track collect`, lie in a folder of their own beside the logs
    files = sorted(path.rglob(FILE))
    kept = Samples.union([load_samples(file) for file in files]) if files else None
    if inspect_logs.recognise(path):
        return samples_from_logs([path]).over(kept)
    if kept is None:
        raise InputError(f"{path}: contains no Inspect log and no {FILE}. Name the folder of a run.")
    return kept
