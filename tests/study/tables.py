"""Small tables of ratings with known answers."""

from collections.abc import Callable

import polars as pl

from howsure.tables import Ratings

PAIRS = ("p1", "p2", "p3", "p4", "p5")
DOMAINS = dict(zip(PAIRS, ("TECH", "ANAL", "PHIL", "SELF", "NARR"), strict=True))

Answer = Callable[[str, str, int], dict[str, float]]
"""Rater, pair and the slot of the target → answers by dimension."""


def perfect(rater: str, pair: str, slot: int) -> dict[str, float]:
    """All for the target, whatever its slot."""
    each = {
        f"{name}:{end}": value for name in ("vibe", "logic") for end, value in (("target", 3.0), ("comparison", 1.0))
    }
    return {"voice": 2.0, **each, "continuity": 1.0}


def slot_one(rater: str, pair: str, slot: int) -> dict[str, float]:
    """All for the first response."""
    ends = (3.0, 1.0) if slot == 1 else (1.0, 3.0)
    each = {
        f"{name}:{end}": value
        for name in ("vibe", "logic")
        for end, value in zip(("target", "comparison"), ends, strict=True)
    }
    return {"voice": 2.0 if slot == 1 else -2.0, **each, "continuity": 1.0}


def straight(rater: str, pair: str, slot: int) -> dict[str, float]:
    """The same tick everywhere: leaning to response 2, and the middle."""
    each = {f"{name}:{end}": 2.0 for name in ("vibe", "logic") for end in ("target", "comparison")}
    return {"voice": -1.0 if slot == 1 else 1.0, **each, "continuity": 0.5}


def slot_of(rater: int, pair: int) -> int:
    """Half of the pairs of each two raters in either slot."""
    return 1 + (rater + pair) % 2


def table(answers: dict[str, Answer], pairs: tuple[str, ...] = PAIRS, extra: list[tuple] = ()) -> Ratings:
    """Ratings of these raters; `extra` adds rows (rater, item, dimension, value)."""
    rows = [
        (rater, pair, name, value)
        for at, (rater, answer) in enumerate(answers.items())
        for place, pair in enumerate(pairs)
        for name, value in answer(rater, pair, slot_of(at, place)).items()
    ]
    return Ratings(pl.DataFrame([*rows, *extra], schema=["rater", "item", "dimension", "value"], orient="row"))
