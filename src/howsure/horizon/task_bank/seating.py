"""Who is where in a row, from clues that leave exactly one order."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

__all__ = ["SCENES", "Clue", "Scene", "Seating", "draw_seating", "orders_left"]

_Orders = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Scene:
    """How a row is spoken of: ``start`` and ``end`` are its ends, ``before`` and ``after`` what lies on either side of somebody."""

    story: str
    start: str
    end: str
    before: str
    after: str
    place: str


SCENES = (
    Scene(
        "{n} friends sit in a row of {n} seats in a cinema: {names}.",
        "leftmost seat",
        "rightmost seat",
        "to the left of",
        "to the right of",
        "seat {k} from the left",
    ),
    Scene(
        "{n} runners finished a race, no two at the same time: {names}.",
        "first place",
        "last place",
        "ahead of",
        "behind",
        "place {k}",
    ),
    Scene(
        "{n} people live in a house, each on a floor of their own, counted from the ground up: {names}.",
        "bottom floor",
        "top floor",
        "below",
        "above",
        "floor {k}",
    ),
    Scene(
        "{n} people stand in a queue: {names}.",
        "front of the queue",
        "end of the queue",
        "in front of",
        "behind",
        "place {k} from the front",
    ),
    Scene(
        "{n} people give a talk one after the other: {names}.", "first slot", "last slot", "before", "after", "slot {k}"
    ),
)


@dataclass(frozen=True)
class Clue:
    """A true statement: how ``indirect`` it is (0 names a place, 3 only rules out), and which of all orders it leaves."""

    text: str
    indirect: int
    leaves: _Orders


@dataclass(frozen=True)
class Seating:
    """A puzzle: ``order`` holds the names from the start to the end."""

    scene: Scene
    order: tuple[str, ...]
    clues: tuple[Clue, ...]


def draw_seating(rng: random.Random, names: tuple[str, ...], lowest: int, highest: int) -> Seating:
    """A puzzle for these names with clues that are `lowest` to `highest` indirect, as far as those suffice, and none to spare."""
    scene, order = rng.choice(SCENES), list(names)
    rng.shuffle(order)
    clues = list(_true_clues(scene, order))
    rng.shuffle(clues)
    clues.sort(key=lambda clue: not lowest <= clue.indirect <= highest)
    needed = _without_spare(_enough(clues))
    return Seating(scene, tuple(order), tuple(needed))


def orders_left(clues: tuple[Clue, ...] | list[Clue]) -> int:
    """How many orders fit the clues."""
    return int(np.logical_and.reduce([clue.leaves for clue in clues]).sum())


def _enough(clues: list[Clue]) -> list[Clue]:
    """Clues from the first on, each of which leaves fewer orders, until one is left."""
    left, taken = np.ones_like(clues[0].leaves), []
    for clue in clues:
        both = left & clue.leaves
        if both.sum() < left.sum():
            left = both
            taken.append(clue)
        if left.sum() == 1:
            break
    return taken


def _without_spare(clues: list[Clue]) -> list[Clue]:
    kept = list(clues)
    for clue in clues:
        others = [one for one in kept if one is not clue]
        if others and orders_left(others) == 1:
            kept = others
    return kept


def _true_clues(scene: Scene, order: list[str]) -> Iterator[Clue]:
    """Everything of the known kinds that is true of an order; person p is at place p in it."""
    n = len(order)
    at = _places(n)
    for p, name in enumerate(order):
        yield Clue(f"{name} is in {scene.place.format(k=p + 1)}.", 0, at[p] == p)
        if 0 < p < n - 1:
            inside = (at[p] > 0) & (at[p] < n - 1)
            yield Clue(f"{name} is neither in the {scene.start} nor in the {scene.end}.", 3, inside)
        for q, other in enumerate(order):
            if p < q:
                yield from _pair_clues(scene, (p, name), (q, other), at)
    for p, q, r in itertools.combinations(range(n), 3):
        between = (at[p] < at[q]) & (at[q] < at[r]) | (at[r] < at[q]) & (at[q] < at[p])
        yield Clue(f"{order[q]} is somewhere between {order[p]} and {order[r]}.", 3, between)


def _pair_clues(
    scene: Scene, first: tuple[int, str], second: tuple[int, str], at: npt.NDArray[np.int8]
) -> Iterator[Clue]:
    (p, a), (q, b) = first, second
    apart = abs(at[q] - at[p])
    if q - p == 1:
        yield Clue(f"{a} is directly {scene.before} {b}.", 1, at[q] - at[p] == 1)
        yield Clue(f"{b} is directly {scene.after} {a}.", 1, at[q] - at[p] == 1)
        yield Clue(f"{a} and {b} are next to each other.", 2, apart == 1)
    else:
        people = "One person is" if q - p == 2 else f"{q - p - 1} people are"
        yield Clue(f"{people} between {b} and {a}.", 2, apart == q - p)
        yield Clue(f"{b} and {a} are not next to each other.", 3, apart > 1)
    yield Clue(f"{b} is somewhere {scene.after} {a}.", 2, at[q] > at[p])


@cache
def _places(n: int) -> npt.NDArray[np.int8]:
    """The place of each person (rows) in every order (columns)."""
    return np.array(list(itertools.permutations(range(n))), dtype=np.int8).T.copy()
