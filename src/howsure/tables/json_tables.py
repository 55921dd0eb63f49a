"""Tables that are written as one JSON document: a list of objects, a list in an object, an object per model, runs with their rows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from howsure.errors import InputError
from howsure.safe_io import read_bytes
from howsure.tables.text_tables import BOM, first_line, no_constant, not_utf8, whole_number, with_each_key_once

__all__ = ["is_json_list", "json_rows", "object_rows", "repaired_lines"]

_ABOVE = re.compile(r"(?:\s|//[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*", re.DOTALL)  # blanks and comments
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*+")|//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*', re.DOTALL | re.MULTILINE)
_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+")|,(?=\s*[}\]])', re.DOTALL)
_NUMBERED = re.compile(r"(?:q|item|task|question|problem|sample|example|case|id)?[\s_#-]*\d+", re.IGNORECASE)
_MOST_COMMENTS = 1000
_SPACE = re.compile(r"\s*")
_MOST_JSON = 64 * 2**20  # bytes of an object in a .json file that is looked into
_WRAPPERS = frozenset({"results", "scores", "data", "models", "leaderboard", "metrics", "evals", "evaluations"})
_AROUND = frozenset(
    {"model", "model_name", "model_id", "llm", "benchmark", "dataset", "eval", "eval_name", "task", "task_name"}
)
"""What an object may say beside its rows, for all of them."""


def json_rows(path: Path) -> tuple[list[dict[str, Any]], str]:
    """The rows of the table in a .json file, and how they stand in it."""
    if not is_json_list(path):
        return object_rows(path) or ([], "")
    held, says = _json(path)
    if wrong := next((number for number, one in enumerate(held, 1) if not isinstance(one, dict)), None):
        raise InputError(f"{path}: element {wrong} of the list is not an object.")
    rows, told = _rows_of_runs(held)
    return rows, "; ".join(one for one in (told, says) if one)


def is_json_list(path: Path) -> bool:
    """Whether a .json file is a list of objects, as pandas' ``to_json(orient="records")`` writes it."""
    with path.open("rb") as stream:
        return (
            re.match(_ABOVE.pattern.encode() + rb"\[\s*\{", stream.read(4096).removeprefix(BOM), re.DOTALL) is not None
        )


def object_rows(path: Path) -> tuple[list[dict[str, Any]], str] | None:
    """The rows of a table that is written as one JSON object, and how they stand in it."""
    with path.open("rb") as stream:
        start = stream.read(4096).removeprefix(BOM)
    if not re.match(_ABOVE.pattern.encode() + rb"\{", start, re.DOTALL) or path.stat().st_size > _MOST_JSON:
        return None
    held, says = _json(path)
    if isinstance(held, list):  # objects one after another
        rows, told = (held, "") if all(isinstance(one, dict) for one in held) else ([], "")
    else:
        rows, told = (_rows_in(held, {}) if isinstance(held, dict) else None) or ([], "")
    return (rows, "; ".join(one for one in (told, says) if one)) if rows else None


def _rows_in(held: dict[str, Any], around: dict[str, str]) -> tuple[list[dict[str, Any]], str] | None:
    lists = {key: value for key, value in held.items() if isinstance(value, list)}
    objects = {key: value for key, value in held.items() if isinstance(value, dict) and value}
    texts = around | {key: value for key, value in held.items() if key in _AROUND and isinstance(value, str)}
    of_objects = [key for key, value in lists.items() if value and all(isinstance(one, dict) for one in value)]
    if len(of_objects) == 1:  # what the object says beside the list, such as the model, holds for all
        return [texts | one for one in lists[of_objects[0]]], f"rows under {of_objects[0]!r}"
    columns, data = lists.get("columns", []), lists.get("data", [])
    if columns and data and all(isinstance(one, list) and len(one) == len(columns) for one in data):
        return [dict(zip(map(str, columns), one, strict=True)) for one in data], "rows under 'data'"
    if len(lists) == len(held) > 1 and len({len(value) for value in lists.values()}) == 1:
        if all(isinstance(one, int | float) for value in lists.values() for one in value):
            rows = [{"model": key, "item": i, "score": x} for key, own in lists.items() for i, x in enumerate(own, 1)]
            return rows, "names of lists → model, places in them → item"
        names = list(lists)
        return [dict(zip(names, row, strict=True)) for row in zip(*lists.values(), strict=True)], "a list per column"
    wrapped = [value for key, value in objects.items() if key in _WRAPPERS]
    if len(wrapped) == 1 or (len(objects) == 1 < len(held)):
        (inner,) = wrapped if len(wrapped) == 1 else objects.values()
        return _rows_in(inner, texts) if any(isinstance(one, dict | list) for one in inner.values()) else None
    if not objects or len(objects) < len(held):
        return None
    values = [one for value in objects.values() for one in value.values()]
    keys = [tuple(value) for value in objects.values()]
    is_numbered = all(key.isdecimal() for own in keys for key in own)
    if is_numbered and len({*keys}) == 1 and any(isinstance(one, str) for one in values):  # pandas' to_json()
        return [{name: own[key] for name, own in objects.items()} for key in keys[0]], "an object per column"
    if all(isinstance(one, dict) for one in values):
        rows = [texts | {"model": a, "task": b} | leaf for a, own in objects.items() for b, leaf in own.items()]
        return rows, "names of objects → model, names in them → task"
    if any(isinstance(one, list) for one in values):
        tries = (
            (a, b, one if isinstance(one, list) else [one]) for a, own in objects.items() for b, one in own.items()
        )
        rows = [texts | {"model": a, "task": b, "score": x} for a, b, own in tries for x in own]
        return rows, "names of objects → model, names in them → task, lists → attempts"
    if any("model" in own for own in objects.values()):
        return [{"id": name} | own for name, own in objects.items()], "names of objects → id"
    if all(_NUMBERED.fullmatch(name) for name in objects) and not all(_NUMBERED.fullmatch(one) for one in keys[0]):
        return [texts | {"task": name} | own for name, own in objects.items()], "names of objects → task"
    return [texts | {"model": name} | own for name, own in objects.items()], "names of objects → model"


def _rows_of_runs(runs: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """The rows of a list of runs, each of which has one list of rows and says beside it what holds for all of them."""
    lists = {
        tuple(key for key, value in run.items() if value and isinstance(value, list) and isinstance(value[0], dict))
        for run in runs
    }
    inner = next(iter(lists), ())
    known = _AROUND | {"run", "seed", "epoch", "trial", "attempt"}
    is_runs = (
        len(lists) == 1 and len(inner) == 1 and all(isinstance(one, dict) for run in runs for one in run[inner[0]])
    )
    if not is_runs or not any(run.keys() & known for run in runs):
        return runs, ""
    rows = []
    for run in runs:
        around = {key: value for key, value in run.items() if key in known and not isinstance(value, list)}
        rows += [around | one for one in run[inner[0]]]
    return rows, f"rows under {inner[0]!r}"


def repaired_lines(data: bytes) -> tuple[bytes, str] | None:
    """JSON lines with one object each, of objects that are written otherwise, and what was changed; None if they cannot be read so.

    Comments, commas before a closing bracket, objects over several lines and NaN in the place of a number are no JSON lines.
    """
    try:
        held, says = _repaired(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, ValueError, RecursionError):
        return None
    if not says or not held or not all(isinstance(one, dict) for one in held):
        return None
    return "\n".join(json.dumps(one) for one in held).encode(), says


def _repaired(text: str) -> tuple[list[Any], str]:
    """All documents of a text with what JSON does not allow, and what that was."""
    says = []
    if text.count("/*") > _MOST_COMMENTS:  # each without an end would be looked for until the end of the file
        raise ValueError("too many comments")
    plain = _COMMENT.sub(lambda found: found[1] or "", text)
    says += ["comments excluded"] if plain != text else []
    text, plain = plain, _LAST_COMMA.sub(lambda found: found[1] or "", plain)
    says += ["commas before closing brackets excluded"] if plain != text else []
    n_nan = 0

    def nothing(name: str) -> None:
        nonlocal n_nan
        if name != "NaN":
            no_constant(name)
        n_nan += 1

    decoder = json.JSONDecoder(parse_constant=nothing, parse_int=whole_number, object_pairs_hook=with_each_key_once)
    documents, place, n_lines = [], 0, 0
    while (place := _SPACE.match(plain, place).end()) < len(plain):  # type: ignore[union-attr]
        one, end = decoder.raw_decode(plain, place)
        documents.append(one)
        n_lines += "\n" in plain[place:end]
        place = end
    says += ["objects over several lines"] if n_lines and len(documents) > 1 else []
    says += [f"NaN read as missing ({n_nan:,})"] if n_nan else []
    return documents, "; ".join(says)


def _json(path: Path) -> tuple[Any, str]:
    """What a .json file holds, and what had to be changed in it to read it; several documents are a list."""
    data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {not_utf8(data, error)}") from None
    strict = json.JSONDecoder(parse_constant=no_constant, parse_int=whole_number, object_pairs_hook=with_each_key_once)
    try:
        return strict.decode(text), ""
    except (ValueError, RecursionError) as error:
        try:
            documents, says = _repaired(text) if len(data) <= _MOST_JSON else ([], "")
        except (ValueError, RecursionError):
            documents, says = [], ""
        if not says and len(documents) < 2:
            raise InputError(f"{path}: not JSON ({first_line(error)}).") from None
        return (documents[0] if len(documents) == 1 else documents), says
