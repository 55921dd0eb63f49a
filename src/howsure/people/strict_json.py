"""JSON that a browser and Python write in the same bytes, and that is read without charity.

Numbers are whole: a browser writes 1e-7 where Python writes 1e-07, so fractions travel as text and times as milliseconds.
Keys are plain ASCII names, which both languages put in the same order.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NoReturn

from howsure.errors import InputError

__all__ = ["canonical", "digest", "parse"]

_HIGHEST = 2**53 - 1  # beyond this a browser rounds whole numbers


def canonical(value: Any) -> str:
    """The canonical text of a JSON value: keys sorted, no spaces, characters not escaped.

    Parameters
    ----------
    value : Any
        A JSON value without fractional numbers.
    """
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """The SHA-256 of a value's canonical text, or of a text as it is.

    Parameters
    ----------
    value : Any
        A JSON value or a text.
    """
    text = value if isinstance(value, str) else canonical(value)
    return hashlib.sha256(text.encode()).hexdigest()


def parse(data: bytes) -> Any:
    """A JSON value, refused when it holds NaN, fractions, a key twice, broken letters, or is nested without end."""
    try:
        value = json.loads(
            data.decode("utf-8-sig"),
            parse_constant=_refuse_number,
            parse_float=_refuse_number,
            parse_int=_whole,
            object_pairs_hook=_unique,
        )
        canonical(value).encode()
    except UnicodeError:
        raise InputError("not text in UTF-8") from None
    except RecursionError:
        raise InputError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON ({error.msg}, line {error.lineno} column {error.colno})") from None
    return value


def _refuse_number(text: str) -> NoReturn:
    raise InputError(f"contains the number {text[:20]}; only whole numbers are allowed")


def _whole(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > _HIGHEST:
        raise InputError(f"contains the number {text[:20]}…, which is too large")
    return int(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError("contains a key twice")
    return found
