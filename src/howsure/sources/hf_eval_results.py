"""Hugging Face's ``.eval_results/*.yaml``: the results that a model's repository states, one entry per dataset and task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from howsure.errors import InputError
from howsure.sources import Progress
from howsure.sources._reading import head
from howsure.sources._records import Found, as_table, inner, number, text
from howsure.tables import Scores, Table
from howsure.yaml_files import read_yaml

__all__ = ["ABOUT", "FOLDER", "OPTIONS", "read", "recognise"]

ABOUT = "Hugging Face .eval_results YAML files"
OPTIONS = frozenset({"strict"})
FOLDER = ".eval_results"


def recognise(path: Path) -> str | None:
    """A list of entries with a dataset and a value."""
    if path.suffix.lower() not in (".yaml", ".yml") or not path.is_file():
        return None
    start = head(path)
    is_list = any(line.startswith("- ") for line in start.splitlines())
    is_ours = is_list and "dataset:" in start and "value:" in start
    return "it lists values on datasets, as a model's .eval_results do" if is_ours else None


def read(
    paths: Sequence[Path], *, divide_by: float = 1, progress: Progress | None = None, strict: bool = False
) -> Table:
    """Every entry as a score. Where a file has a value above 1 its values are percentages, and a note says so."""

    def load(path: Path) -> Found:
        return _load(path, divide_by)

    return as_table(paths, load, divide_by=divide_by, progress=progress, strict=strict)


def _load(path: Path, divide_by: float) -> Found:
    held = read_yaml(path).value
    if not isinstance(held, list):
        raise InputError(f"{path}: not a list of results.")
    found = Found(path, Scores)
    model = _model(path)
    values = [number(inner(one).get("value")) for one in held]
    is_percent = divide_by == 1 and any(value is not None and value > 1 for value in values)
    if is_percent:
        found.notes.append(f"{path.name}: has values above 1, and all its values are read as percentages.")
    for one, value in zip(held, values, strict=True):
        dataset = inner(one, "dataset")
        name, task, notes = text(dataset.get("id")), text(dataset.get("task_id")), text(inner(one).get("notes"))
        label = f"{name}/{task}" if name and task and task != "default" else name
        found.add(
            model=model,
            benchmark=f"{label} ({notes})" if label and notes else label,
            score=value / 100 if is_percent and value is not None else value,
            source=text(inner(one, "source").get("url")) or path.name,
        )
    return found


def _model(path: Path) -> str:
    """The repository that the folder is in: ``<owner>/<model>/.eval_results/…``, or as the Hub's cache names it."""
    folders = [parent.name for parent in path.resolve().parents]
    cached = next((name for name in folders if name.startswith("models--")), None)
    if cached:
        return cached.removeprefix("models--").replace("--", "/", 1)
    home = folders[1:] if folders[0] == FOLDER else folders
    return "/".join(name for name in (home[1] if len(home) > 2 else "", home[0]) if name)
