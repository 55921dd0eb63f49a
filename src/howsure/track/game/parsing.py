"""What a reply says: the first ``[<variant>: <answer>]`` in it, and whether that is right."""

from __future__ import annotations

import re
import sys
from functools import cache

__all__ = ["is_right", "parse"]


def parse(text: str, variant: str) -> float | None:
    """The number in the first ``[variant: number]``, or None where there is none.

    Upper and lower case are the same; after the colon stands one space, then digits, or digits, a point and digits.

    >>> parse("I think it is [Median: 40.5].", "median")
    40.5
    >>> parse("[median:40.5]", "median") is None
    True
    """
    found = _pattern(variant).search(text)
    return min(float(found[1]), sys.float_info.max) if found else None


def is_right(answer: float, truth: float) -> bool:
    """Whether both are the same to one decimal."""
    return round(answer, 1) == round(truth, 1)


@cache
def _pattern(variant: str) -> re.Pattern[str]:
    return re.compile(rf"\[{re.escape(variant)}: (\d+(?:\.\d+)?)\]", re.IGNORECASE)
