"""Arguments of public functions: one that does not fit is refused in one sentence that names it.

::

    @checked
    def time_horizons(runs: Attempts | Source, *, success_rates: Sequence[float] = (0.5, 0.8), level: float = 0.95): …

    time_horizons(runs, level="0.95")         OptionError: level is '0.95'; give a number.
    time_horizons(runs, success_rates=0.5)    the same as success_rates=[0.5]
"""

from __future__ import annotations

import datetime
import functools
import inspect
import math
import numbers
import os
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeVar, cast

import numpy as np

from howsure.errors import OptionError
from howsure.tables.frames import Part, as_list, is_frame

__all__ = ["as_date", "checked"]

F = TypeVar("F", bound=Callable[..., Any])

_LIST = re.compile(r"(?:Sequence|Collection|Iterable)\[(.*)\]")
_TABLES = ("Source", "One", "Rows")
_TYPES: Mapping[str, Any] = {
    "float": numbers.Real,
    "int": numbers.Real,
    "bool": (bool, np.bool_),
    "str": str,
    "Literal": str,
    "os.PathLike": os.PathLike,
    "Path": os.PathLike,
    "datetime.date": datetime.date,
    "Mapping": Mapping,
    "Callable": Callable,
}
_WORDS = {
    "float": ("a number", "numbers"),
    "int": ("a whole number", "whole numbers"),
    "bool": ("True or False", "True or False"),
    "str": ("a text", "texts"),
    "Literal": ("a text", "texts"),
    "os.PathLike": ("a path", "paths"),
    "Path": ("a path", "paths"),
    "datetime.date": ("a date", "dates"),
    "Mapping": ("a dict", "dicts"),
    "Callable": ("a function", "functions"),
    **dict.fromkeys(_TABLES, ("a table (polars, pandas or pyarrow) or the path of one", "tables or paths")),
}


def checked(function: F) -> F:
    """The function, which first compares its arguments with their annotations.

    One value where a list is expected becomes a list of one; a text is never taken apart into letters. Numbers are neither texts nor NaN; counts (``n_…``)
    and seeds are at least 0. Types that the function's module does not know are not compared.
    """
    signature = inspect.signature(function)
    wanted = {
        name: _alternatives(str(parameter.annotation))
        for name, parameter in signature.parameters.items()
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }
    known = function.__globals__

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        bound = signature.bind(*given, **named)
        for name, kinds in wanted.items():
            if name in bound.arguments:
                bound.arguments[name] = _fitting(name, bound.arguments[name], kinds, known)
        return function(*bound.args, **bound.kwargs)

    return cast("F", call)


def _fitting(name: str, value: Any, kinds: tuple[str, ...], known: Mapping[str, Any]) -> Any:
    """The argument as the function wants it."""
    if value is None and "None" in kinds:
        return None
    if value is not None:
        if any(_fits(value, kind, known) for kind in kinds):
            return _number(name, value, kinds) if {*kinds} <= {"float", "int", "None"} else value
        for kind in kinds:
            listed = _listed(value, kind, known)
            if listed is not None:
                return listed
    is_plain = value is None or isinstance(value, str | numbers.Number)
    shown = f"{value!r}"[:60] if is_plain else f"of type {type(value).__name__}"
    if isinstance(value, list | tuple):
        types = sorted({type(one).__name__ for one in value})
        shown = f"a list of {' and '.join(types)}" if types else "an empty list"
    words = list(dict.fromkeys(word for kind in kinds for word in _words(kind, kinds)))
    raise OptionError(f"{name} is {shown}; give {', '.join(words[:-1])}{' or ' if words[:-1] else ''}{words[-1]}.")


def _fits(value: Any, kind: str, known: Mapping[str, Any]) -> bool:
    """Whether a value is of one kind; a kind that is not known fits every value."""
    stem = kind.partition("[")[0]
    if stem in ("float", "int") and isinstance(value, numbers.Real):
        return not math.isnan(value) and (stem == "float" or (math.isfinite(value) and value == math.floor(value)))
    if stem in _TYPES:
        return isinstance(value, _TYPES[stem])
    if kind in _TABLES:
        several = kind == "Source" and isinstance(value, list | tuple) and len(value) > 0
        return all(map(_is_table, value)) if several else _is_table(value)
    if match := _LIST.fullmatch(kind):
        inner = _alternatives(match[1])
        return isinstance(value, list | tuple) and all(any(_fits(one, i, known) for i in inner) for one in value)
    if kind in ("Any", "None"):
        return kind == "Any"
    of_class = known.get(kind)
    is_open = not isinstance(of_class, type) or getattr(of_class, "_is_protocol", False)
    return is_open or isinstance(value, cast("type", of_class))


def _is_table(value: Any) -> bool:
    return isinstance(value, str | os.PathLike | Part) or is_frame(value)


def _listed(value: Any, kind: str, known: Mapping[str, Any]) -> list[Any] | None:
    """The value as the list that is wanted, or None: one value as a list of one, arrays and sets as lists."""
    match = _LIST.fullmatch(kind)
    if not match:
        return None
    inner = _alternatives(match[1])
    if any(_fits(value, one, known) for one in inner):
        return [value]
    if isinstance(value, Mapping | str | bytes) or not isinstance(value, Iterable):
        return None
    values = as_list(value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value)
    if {*inner} <= {"float", "int"}:
        values = [float(one) if isinstance(one, Fraction) else one for one in values]
    return values if _fits(values, kind, known) else None


def _number(name: str, value: Any, kinds: tuple[str, ...]) -> Any:
    if (name.startswith("n_") or name == "seed") and value < 0:
        raise OptionError(f"{name} is {value}; give 0 or more.")
    is_other = not isinstance(value, int | float | np.number)  # a fraction, which numpy does not take
    return int(value) if "float" not in kinds else float(value) if is_other else value


def _words(kind: str, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """What a kind is called."""
    stem = kind.partition("[")[0]
    if kind == "None" or (stem == "str" and {*kinds} & {"Path", "os.PathLike[str]", *_TABLES}):
        return ()
    if match := _LIST.fullmatch(kind):
        inner = _alternatives(match[1])
        several = " or ".join(
            _WORDS.get(i.partition("[")[0], ("", f"{i} objects"))[1] for i in inner if i != "str" or len(inner) == 1
        )
        if "Any" in inner:
            return ("a list",)
        single = [word for i in inner for word in _words(i, inner)]
        return (*single, f"a list of {several}")
    return (_WORDS.get(stem, (stem,))[0],)


@functools.cache
def _alternatives(annotation: str) -> tuple[str, ...]:
    """The types of a union, split where no bracket is open."""
    parts, depth = [""], 0
    for mark in annotation:
        depth += (mark == "[") - (mark == "]")
        if mark == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += mark
    return tuple(part.strip() for part in parts)


def as_date(value: str | datetime.date, name: str) -> datetime.date:
    """A date, also from a text such as 2024-07-01 or from a time; ``name`` is the argument."""
    try:
        day = value if isinstance(value, datetime.date) else datetime.date.fromisoformat(value[:10])
        if str(day) == "NaT":
            raise ValueError(day)
    except (TypeError, ValueError):
        raise OptionError(f"{name} {value!r} is not a date. Write it as 2024-07-01.") from None
    return day.date() if isinstance(day, datetime.datetime) else day
