"""Hugging Face's lighteval: ``results_<date>.json`` with aggregates, ``details_<task>_<date>.parquet`` with samples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.sources import Progress
from howsure.sources._lm_eval_results import is_higher_better, unsanitised
from howsure.sources._reading import fitting, keys
from howsure.sources._records import LOWER, Found, as_table, day, inner, items, load_json, number, text
from howsure.tables import Scores, Table
from howsure.tables.frames import FAULTS

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise"]

ABOUT = "lighteval: results_*.json as scores, details_*.parquet as attempts"
OPTIONS = frozenset({"metric", "table", "strict", "better"})
LAYOUTS = {"results": frozenset({"config_general", "results"})}

_DETAILS = re.compile(r"details_(?P<task>.+?)(?:_(?P<stamp>\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?))?\.parquet")
_AVERAGES = re.compile(r"^all$|(?:^|[:|])_average(?:\||$)")


def recognise(path: Path) -> str | None:
    """Results by their keys, details by their name and columns."""
    if path.suffix == ".json" and fitting(path, LAYOUTS):
        return "it has config_general and results, as lighteval's results do"
    if _DETAILS.fullmatch(path.name) and _metric_column(keys(path)):
        return "it is named details_<task>_<date> and has a column of metrics, as lighteval's details do"
    return None


def read(
    paths: Sequence[Path],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    metric: str | None = None,
    table: str | None = None,
    strict: bool = False,
    better: str | None = None,
) -> Table:
    """Details as attempts, or results as scores; where both are given, the details are read."""
    results = {path.stem.removeprefix("results_"): path for path in paths if path.suffix == ".json"}

    def load(path: Path) -> Found:
        return _results(path, metric) if path.suffix == ".json" else _details(path, metric, results)

    return as_table(paths, load, divide_by=divide_by, progress=progress, strict=strict, better=better, table=table)


def _results(path: Path, wanted: str | None) -> Found:
    held = load_json(path)
    model = _model(held) or unsanitised(path.parent.name)
    found = Found(path, Scores)
    for task, values in inner(held, "results").items():
        metrics = (
            {name: value for name, value in values.items() if not name.endswith("_stderr")}
            if isinstance(values, dict)
            else {}
        )
        several = len([name for name in metrics if _is_higher(held, task, name) is not False]) > 1
        for name, value in metrics.items():
            if _AVERAGES.search(task):
                found.left_out["an average over tasks"] += 1
            elif wanted and name != wanted:
                found.left_out[f"another metric than {wanted}"] += 1
            elif _is_higher(held, task, name) is False:
                found.left_out[LOWER] += 1
            else:
                benchmark = f"{task} ({name})" if several and not wanted else task
                score = number(value)
                if score is not None:
                    found.reported[model, task] = score
                found.add(
                    model=model,
                    benchmark=benchmark,
                    score=score,
                    se=number(values.get(f"{name}_stderr")),
                    source=path.name,
                )
    return found


def _details(path: Path, wanted: str | None, results: dict[str, Path]) -> Found:
    named = _DETAILS.fullmatch(path.name)
    if named is None:
        raise InputError(
            f"{path}: the task is not known. Call the file details_<task>_<date>.parquet, as lighteval does."
        )
    try:
        frame = pl.read_parquet(path, columns=[name for name in keys(path) if name in _USED])
    except FAULTS as error:
        raise InputError(
            f"{path}: not a whole parquet file ({str(error).partition(chr(10))[0][:160]}). Make or fetch it again."
        ) from None
    beside = results.get(named["stamp"] or "") or _results_beside(path, named["stamp"])
    held = load_json(beside) if beside else {}
    task = named["task"]
    model = _model(held) or _model_of_folder(path)
    found = Found(path)
    column = _metric_column(frame.columns) or ""
    scored = [one if isinstance(one, dict) else {} for one in frame[column].to_list()]
    direction = {name: _is_higher(held, task, name) for one in scored for name in one}
    metrics = sorted(direction, key=lambda name: direction[name] is False)  # those of which higher is better first
    metric = wanted or next(iter(metrics), None)
    if wanted and wanted not in direction:
        raise OptionError.unknown(f"metric in {path}", wanted, metrics)
    if others := [name for name in metrics if name != metric]:
        found.notes.append(f"{task}: scored by {metric}; --metric chooses among {', '.join(others)}.")
    for place, (one, ident) in enumerate(zip(scored, _ids(frame), strict=True)):
        found.add(
            subject=model,
            task=f"{task}/{ident or place}",
            score=number(one.get(metric)),
            reason=f"no {metric}",
            better={True: "higher", False: "lower"}.get(direction.get(metric)),  # type: ignore[arg-type]
            domain=task,
            date=day(named["stamp"]),
            source=path.name,
        )
    return found


_USED = {"metric", "metrics", "doc"}


def _metric_column(columns: Sequence[str]) -> str | None:
    return next((name for name in ("metric", "metrics") if name in columns), None)


def _ids(frame: pl.DataFrame) -> list[str | None]:
    """The documents' own ids, where there is one for each."""
    docs = frame["doc"].to_list() if "doc" in frame.columns else []
    ids = [text(one.get("id")) if isinstance(one, dict) else None for one in docs]
    return ids if len({*ids}) == len(frame) else [None] * len(frame)


def _model(held: Any) -> str | None:
    general = inner(held, "config_general")
    return text(general.get("model_name")) or text(inner(general, "model_config").get("model_name"))


def _model_of_folder(path: Path) -> str:
    """Details lie in ``details/<owner>/<model>/<date>/``."""
    home = path.resolve().parent.parent
    return home.name if home.parent.name in ("details", "") else f"{home.parent.name}/{home.name}"


def _results_beside(path: Path, stamp: str | None) -> Path | None:
    """The results of the same run, in the folder ``results`` beside the folder ``details``."""
    home = next((parent for parent in path.resolve().parents if parent.name == "details"), None)
    if home is None or not stamp:
        return None
    return next((home.parent / "results").rglob(f"results_{stamp}.json"), None)


def _is_higher(held: Any, task: str, metric: str) -> bool | None:
    """What the task's configuration says of a metric, else what its name says."""
    tasks = inner(held, "config_tasks")
    config = inner(tasks, task) or inner(tasks, task.rpartition("|")[0])
    listed = items(config, "metrics") or items(config, "metric")
    for one in listed:
        if isinstance(one, dict) and one.get("metric_name") == metric and isinstance(one.get("higher_is_better"), bool):
            return bool(one["higher_is_better"])
    return is_higher_better(metric, None, task)
