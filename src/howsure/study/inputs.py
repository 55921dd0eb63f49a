"""What the functions of a study are given: arguments of the right type, and files that lie beside others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from howsure.errors import OptionError
from howsure.tables.frames import as_list

__all__ = ["PATH", "check_type", "files_beside", "orders_beside", "raters_beside"]

PATH = (str, os.PathLike)


def check_type(argument: str, value: Any, kinds: type | tuple[type, ...], words: str) -> None:
    """Raise in one sentence unless `value` is one of `kinds`, which `words` describe: ``a Study or the path of its file``."""
    if not isinstance(value, kinds):
        raise OptionError(f"{argument} must be {words}; this is of type {type(value).__name__}.")


def files_beside(source: Any, name: str) -> list[Path]:
    """The files called `name` in the folders of the paths that `source` names; none for frames and tables."""
    folders = dict.fromkeys(Path(one).parent for one in as_list(source) if isinstance(one, PATH))
    return [folder / name for folder in folders if (folder / name).is_file()]


def raters_beside(ratings: Any) -> Path | None:
    """The table about raters, ``raters.csv``, in the folder of the ratings, if they are a path and it is there."""
    for path in files_beside(ratings, "raters.csv"):
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            names = {name.strip() for name in file.readline().split(",")}
        # an analysis of answers writes a table of this name too
        if "rater" in names and "statistic" not in names:
            return path
    return None


def orders_beside(judges: Any) -> tuple[list[Path] | None, list[str]]:
    """The tables ``judge_orders.csv`` in the folders of the judges' ratings, if they are paths, and a note that names them."""
    found = files_beside(judges, "judge_orders.csv")
    if not found:
        return None, []
    return found, [f"Ratings in each order are read from {', '.join(map(str, found))}, beside the judges' ratings."]
