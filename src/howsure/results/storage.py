"""A result as one file, and back: ``load(save(result))`` gives an equal object.

The file is a zip archive: ``result.json`` holds the tree of values, each table lies beside it as parquet and each array as npy.
Values that JSON does not have are objects with one key that starts with ``$``: ``{"$tuple": […]}``, ``{"$float": "nan"}``,
``{"$class": "howsure.evals.summaries:SummaryRow", "fields": {…}}``. Only dataclasses and enumerations of this package are built.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import importlib
import io
import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howsure.errors import InputError
from howsure.safe_io import Archive, atomic_path
from howsure.tables import Table

__all__ = ["ENDING", "is_equal", "read_value", "write_value"]

ENDING = ".result.zip"
_FORM = 1
_TREE = "result.json"
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # the same result gives the same bytes


def write_value(value: Any, path: Path) -> Path:
    """Write a tree of dataclasses, containers, tables and arrays to one file.

    Parameters
    ----------
    value : object
        Dataclasses of this package, str, int, float, bool, None, dates, paths, tuples, lists, sets, mappings, polars frames and
        series, numpy arrays and scalars, `Table` objects.
    path : Path
        The file, replaced if it exists.

    Raises
    ------
    TypeError
        If the tree has a value of another type; the message names where.
    """
    members: dict[str, bytes] = {}
    tree = {"form": _FORM, "value": _pack(value, members, "result")}
    text = json.dumps(tree, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {_TREE: text.encode(), **members}.items():
            archive.writestr(zipfile.ZipInfo(name, _FIXED_TIME), data, zipfile.ZIP_DEFLATED)
    return path


def read_value(path: Path) -> Any:
    """The tree that `write_value` wrote to the file `path`."""
    with Archive(path) as archive:
        try:
            tree = json.loads(archive.read(_TREE))
            if tree["form"] != _FORM:
                raise InputError(f"{path}: was written by another version of Howsure. Run the analysis again.")
            return _unpack(tree["value"], archive)
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            ImportError,
            RecursionError,
            pl.exceptions.PolarsError,
        ) as error:
            raise InputError(
                f"{path}: is not a saved result of this version ({error}). Run the analysis again."
            ) from None


def is_equal(a: Any, b: Any) -> bool:
    """Whether two trees have the same values: exact floats, NaN equal to NaN, arrays and tables by content."""
    if isinstance(a, pl.Series):
        return isinstance(b, pl.Series) and a.equals(b, check_dtypes=True, check_names=True)
    if isinstance(a, pl.DataFrame):
        return isinstance(b, pl.DataFrame) and a.schema == b.schema and a.equals(b)
    if isinstance(a, Table):
        return type(a) is type(b) and a.notes == b.notes and a.frame.equals(b.frame)
    if isinstance(a, np.ndarray) and a.ndim:
        return _is_equal_array(a, b)
    if isinstance(a, np.ndarray | np.generic):
        a = a.item()
    if isinstance(b, np.ndarray | np.generic):
        b = b.item() if b.ndim == 0 else b
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        return type(a) is type(b) and all(is_equal(getattr(a, name), getattr(b, name)) for name in _fields(a))
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and list(a) == list(b) and all(is_equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(is_equal, a, b))
    return bool(a == b)


def _is_equal_array(a: np.ndarray[Any, Any], b: Any) -> bool:
    if not isinstance(b, np.ndarray) or a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype == object:
        return is_equal(a.tolist(), b.tolist())
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fcmM")


def _fields(value: Any) -> list[str]:
    """The fields that make an object; one that is derived (``init=False``) is made again."""
    return [field.name for field in dataclasses.fields(value) if field.init]


def _pack(value: Any, members: dict[str, bytes], where: str) -> Any:  # noqa: PLR0912 (one line per type)
    if isinstance(value, enum.Enum):
        return {"$enum": _address(type(value), where), "name": value.name}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, np.generic):
        return _pack(value.item(), members, where)
    if isinstance(value, np.ndarray):
        return _pack_array(value, members, where)
    if isinstance(value, pl.DataFrame | pl.Series):
        return _pack_frame(value, members)
    if isinstance(value, Table):
        return {"$table": _address(type(value), where), "rows": _pack_frame(value.frame, members), "notes": value.notes}
    if isinstance(value, datetime.datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"$date": value.isoformat()}
    if isinstance(value, Path):
        return {"$path": value.as_posix()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {name: _pack(getattr(value, name), members, f"{where}.{name}") for name in _fields(value)}
        return {"$class": _address(type(value), where), "fields": fields}
    if isinstance(value, Mapping):
        inner = {key: _pack(one, members, f"{where}[{key!r}]") for key, one in value.items()}
        if all(isinstance(key, str) and not key.startswith("$") for key in inner):
            return inner
        return {"$mapping": [[_pack(key, members, where), one] for key, one in inner.items()]}
    if isinstance(value, list | tuple):
        items = [_pack(one, members, f"{where}[{i}]") for i, one in enumerate(value)]
        return items if isinstance(value, list) else {"$tuple": items}
    if isinstance(value, set | frozenset):
        return {"$set": [_pack(one, members, where) for one in sorted(value)]}
    raise TypeError(f"{where} is a {type(value).__name__}, which cannot be saved")


def _pack_array(value: np.ndarray[Any, Any], members: dict[str, bytes], where: str) -> Any:
    if value.dtype == object:
        return {"$objects": _pack(value.tolist(), members, where)}
    data, name = io.BytesIO(), f"array-{len(members)}.npy"
    np.save(data, np.ascontiguousarray(value), allow_pickle=False)
    members[name] = data.getvalue()
    return {"$array": name}


def _pack_frame(value: pl.DataFrame | pl.Series, members: dict[str, bytes]) -> Any:
    frame = value.to_frame() if isinstance(value, pl.Series) else value
    data, name = io.BytesIO(), f"table-{len(members)}.parquet"
    frame.write_parquet(data, compression="uncompressed")
    members[name] = data.getvalue()
    return {"$series" if isinstance(value, pl.Series) else "$frame": name}


def _address(kind: type, where: str) -> str:
    if kind.__module__.partition(".")[0] != __name__.partition(".")[0]:
        raise TypeError(f"{where} is a {kind.__module__}.{kind.__qualname__}, which cannot be saved")
    return f"{kind.__module__}:{kind.__qualname__}"


def _unpack(value: Any, archive: Archive) -> Any:  # noqa: PLR0912 (one case per tag)
    if isinstance(value, list):
        return [_unpack(one, archive) for one in value]
    if not isinstance(value, dict):
        return value
    tag = next((key for key in value if key.startswith("$")), None)
    if tag is None:
        return {key: _unpack(one, archive) for key, one in value.items()}
    told = value[tag]
    match tag:
        case "$class":
            kind = _class_at(told)
            if not dataclasses.is_dataclass(kind):
                raise ValueError(f"{told} is no dataclass")
            return kind(**{name: _unpack(one, archive) for name, one in value["fields"].items()})
        case "$enum":
            kind = _class_at(told)
            if not issubclass(kind, enum.Enum):
                raise ValueError(f"{told} is no enumeration")
            return kind[value["name"]]
        case "$table":
            kind = _class_at(told)
            if not issubclass(kind, Table):
                raise ValueError(f"{told} is no table")
            return kind(_unpack(value["rows"], archive), notes=value["notes"])
        case "$frame" | "$series":
            frame = pl.read_parquet(io.BytesIO(archive.read(told)))
            return frame if tag == "$frame" else frame.to_series()
        case "$array":
            return np.load(io.BytesIO(archive.read(told)), allow_pickle=False)
        case "$objects":
            return np.array(_unpack(told, archive), dtype=object)
        case "$float":
            return float(told)
        case "$datetime":
            return datetime.datetime.fromisoformat(told)
        case "$date":
            return datetime.date.fromisoformat(told)
        case "$path":
            return Path(told)
        case "$tuple":
            return tuple(_unpack(one, archive) for one in told)
        case "$set":
            return frozenset(_unpack(one, archive) for one in told)
        case "$mapping":
            return {_unpack(key, archive): _unpack(one, archive) for key, one in told}
    raise ValueError(f"unknown kind of value {tag}")


def _class_at(address: str) -> type:
    """A class of this package by its address; the name of anything else is refused before it is imported."""
    module, _, name = address.partition(":")
    package = __name__.partition(".")[0]
    if not (module == package or module.startswith(f"{package}.")):
        raise ValueError(f"{address} is not part of this package")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not isinstance(found, type) or found.__module__.partition(".")[0] != package:
        raise ValueError(f"{address} is no class of this package")
    return found
