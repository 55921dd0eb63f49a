"""EvalPlus (HumanEval+, MBPP+): ``*eval_results.json``, where every solution of a task passed or failed the base and the plus tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from howsure.errors import OptionError
from howsure.sources import Progress
from howsure.sources._reading import head, json_outline
from howsure.sources._records import Found, as_table, day, inner, load_json, number
from howsure.tables import Table

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "read", "recognise"]

ABOUT = "EvalPlus results (*eval_results.json)"
OPTIONS = frozenset({"metric", "strict"})
LAYOUTS = {"results": frozenset({"date", "hash", "eval"})}

_TESTS = ("plus", "base")


def recognise(path: Path) -> str | None:
    """By its tasks, which hold solutions with base_status."""
    if path.suffix != ".json" or not path.is_file():
        return None
    start = head(path)
    tasks = json_outline(start).get("eval", ())
    is_ours = bool(tasks) and ('"base_status"' in start or '"nfiles"' in start)
    return "its tasks contain solutions with the status of base tests, as EvalPlus writes them" if is_ours else None


def read(
    paths: Sequence[Path],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    metric: str | None = None,
    strict: bool = False,
) -> Table:
    """Every solution as an attempt, which succeeded if it passed the base and the plus tests, or the base tests (``metric="base"``)."""
    if metric not in (None, *_TESTS):
        raise OptionError.unknown("metric of EvalPlus", str(metric), _TESTS)

    def load(path: Path) -> Found:
        return _load(path, metric)

    return as_table(paths, load, divide_by=divide_by, progress=progress, strict=strict)


def _load(path: Path, metric: str | None) -> Found:
    held = load_json(path)
    found = Found(path)
    model = _model(path)
    tasks = {task: _solutions(solutions) for task, solutions in inner(held, "eval").items()}
    has_plus = any(plus is not None for solutions in tasks.values() for _, plus in solutions)
    chosen = metric or ("plus" if has_plus else "base")
    for task, solutions in tasks.items():
        domain = task.partition("/")[0] + ("+" if chosen == "plus" else "")
        for base, plus in solutions:
            passed = base == "pass" and (chosen == "base" or plus == "pass")
            found.add(
                subject=model,
                task=task,
                score=None if base is None or (chosen == "plus" and plus is None) else float(passed),
                domain=domain,
                reason=f"no status of the {chosen} tests",
                date=day(held.get("date")),
                source=path.name,
            )
        stated = number(inner(held, "pass_at_k", chosen).get("pass@1"))
        if stated is not None:
            found.reported[model, domain] = stated
    return found


def _solutions(held: Any) -> list[tuple[Any, Any]]:
    """The status in the base and the plus tests of each solution, in the layout of today and in that before 2024."""
    if isinstance(held, list):
        return [
            (one.get("base_status"), one.get("plus_status")) if isinstance(one, dict) else (None, None) for one in held
        ]
    base, plus = inner(held).get("base"), inner(held).get("plus")
    if not isinstance(base, list):
        return [(None, None)]
    padded = plus if isinstance(plus, list) and len(plus) == len(base) else [None] * len(base)
    return [(_first(one), _first(two)) for one, two in zip(base, padded, strict=True)]


def _first(held: Any) -> Any:
    return held[0] if isinstance(held, list) and held else held if isinstance(held, str) else None


def _model(path: Path) -> str:
    """From the file's name, ``<owner>--<model>_<backend>_temp_<t>.eval_results.json``, or from its folder's."""
    stem = path.name.removesuffix(".json").removesuffix("eval_results").rstrip("._")
    stem = stem.removesuffix("-sanitized")
    name = stem if stem and stem != "samples" else path.resolve().parent.name
    return name.replace("--", "/", 1)
