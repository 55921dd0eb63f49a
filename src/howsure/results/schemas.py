"""The JSON of a result as a JSON Schema: what a program may rely on."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import polars as pl

from howsure.estimates import State
from howsure.results.base import Result

__all__ = ["schema_of"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(result: Result) -> dict[str, Any]:
    """A JSON Schema of what ``as_dict`` gives for results of this class, taken from an example.

    Every table is an array of rows. A row may lack columns that depend on the data, and further columns may be added in later versions; a column that is
    there has the stated type, or is null. Where an interval has one end, it has its value, its other end and its state.

    Parameters
    ----------
    result : Result
        An example of the class.
    """
    tables, main = result.tables, next(iter(result.tables))
    told = result.as_dict()
    properties = {
        name: _table(tables[name]) if name in tables else _shape(value)
        for name, value in told.items()
        if name != "provenance"
    }
    first = (inspect.getdoc(type(result)) or "").partition("\n\n")[0]
    return {
        "$schema": _DIALECT,
        "title": type(result).__name__,
        "description": " ".join(first.split()),
        "type": "object",
        "required": [*([main] if main in properties else []), "provenance"],
        "properties": properties | {"provenance": _PROVENANCE},
    }


_TEXT: dict[str, Any] = {"type": "string"}
_PROVENANCE: dict[str, Any] = {
    "type": "object",
    "required": ["settings", "digest", "seed", "notes", "version"],
    "properties": {
        "settings": {"type": "object"},
        "digest": _TEXT,
        "seed": {"type": ["integer", "null"]},
        "notes": {"type": "array", "items": _TEXT},
        "version": _TEXT,
    },
}


def _table(frame: pl.DataFrame) -> dict[str, Any]:
    names = frame.columns
    ends = {
        f"{stem}{end}": [stem, f"{stem}{other}", f"{stem}_state"]
        for end, other in (("_low", "_high"), ("_high", "_low"))
        for stem in (name.removesuffix(end) for name in names if name.endswith(end))
    }
    columns = {name: _column(name, dtype) for name, dtype in frame.schema.items()}
    row: dict[str, Any] = {"type": "object", "properties": columns}
    return {"type": "array", "items": row | ({"dependentRequired": ends} if ends else {})}


def _column(name: str, dtype: pl.DataType) -> dict[str, Any]:
    if name.endswith("_state"):
        return {"enum": [*get_args(State), None]}
    if dtype == pl.Boolean:
        return {"type": ["boolean", "null"]}
    if dtype.is_integer() and (name == "n" or name.startswith("n_")):
        return {"type": ["integer", "null"]}
    if dtype.is_numeric():
        return {"type": ["number", "null"]}
    return {"type": ["string", "null"]} if dtype == pl.String or dtype.is_temporal() else {}


def _shape(value: Any) -> dict[str, Any]:
    """The kind of a value that is not a table."""
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int | float):
        return {"type": ["number", "null"]}
    kinds: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return {"type": [kinds[type(value)], "null"]} if type(value) in kinds else {}
