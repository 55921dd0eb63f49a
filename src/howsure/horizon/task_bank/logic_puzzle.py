"""Logic puzzles with one solution: small sudokus, and who is where in a row."""

from __future__ import annotations

import itertools
import random
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from howsure.horizon.task_bank.base import Exact, Instance, TaskFamily
from howsure.people.blinding import normal_text

__all__ = [
    "FAMILIES",
    "SCENES",
    "Clue",
    "Grid",
    "Scene",
    "Seating",
    "draw_grid",
    "draw_seating",
    "orders_left",
    "rounds",
    "solutions",
]

_NAMES = (
    *("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jun", "Kim", "Leo", "Mia", "Nils", "Olga"),
    *("Pia", "Quinn", "Rosa", "Sam", "Tess", "Uma", "Vera", "Wim", "Xena", "Yuki", "Zoe"),
)
_ENDING = "If you write anything else, end with a line that says Answer: and then {what}."


def sudoku(rng: random.Random, difficulty: float) -> Instance:
    """A grid of 4 × 4 below difficulty 0.5, of 6 × 6 from there on; within each the emptier the harder."""
    is_small = difficulty < 0.5
    n_empty = round(5 + 12 * difficulty) if is_small else round(16 + 20 * (difficulty - 0.5))
    grid = draw_grid(rng, 4 if is_small else 6, n_empty)
    labels = _labels(rng, grid, 4 if is_small else 5)
    digits = "".join(str(grid.solution[cell]) for cell in labels)
    asked = ", ".join(labels.values())
    prompt = f"""Fill the grid so that every row, every column and every box of {"2 × 2" if is_small else "3 wide and 2 high"} holds each of the numbers 1 to {grid.side} once. There is one solution. Dots and letters are empty cells.

{grid.drawn(labels)}

Which numbers belong in {asked}? Answer with the {len(labels)} digits in that order, without spaces, for instance {"1234321"[: len(labels)]}. {_ENDING.format(what="the digits")}"""
    spelt = ",".join(digits), ", ".join(f"{name}={digit}" for name, digit in zip(labels.values(), digits, strict=True))
    return Instance(prompt, digits, None, Exact((digits, *spelt), _digits))


def seating(rng: random.Random, difficulty: float) -> Instance:
    """Three to seven people; the harder the more of them, and the less directly the clues speak of places."""
    n_people = 3 + round(4 * difficulty)
    names = tuple(sorted(rng.sample(_NAMES, n_people)))
    puzzle = draw_seating(rng, names, *((0, 2) if difficulty < 0.3 else (1, 2) if difficulty < 0.65 else (2, 3)))
    letters = "".join(name[0] for name in puzzle.order)
    clues = "\n".join(f"- {clue.text}" for clue in puzzle.clues)
    story = puzzle.scene.story.format(n=n_people, names=", ".join(names))
    prompt = f"""{story}

{clues}

What is the order, from the {puzzle.scene.start} to the {puzzle.scene.end}? Only one fits. Answer with the first letters of the {n_people} names in that order, without spaces, for instance ABC for Ann, Bob and Cy. {_ENDING.format(what="the letters")}"""
    spelt = (letters, ",".join(letters), " ".join(puzzle.order), ", ".join(puzzle.order))
    return Instance(prompt, letters, None, Exact(spelt, _Initials(names)))


FAMILIES = (
    TaskFamily("sudoku", "A small sudoku: the numbers in some of its cells.", "automated", sudoku),
    TaskFamily("seating", "Who is where in a row, from clues.", "automated", seating),
)


def _labels(rng: random.Random, grid: Grid, n_labels: int) -> dict[int, str]:
    """Letters for the cells that fall last, so that nearly all of the grid has to be filled."""
    fallen = rounds(grid)
    late = sorted(fallen, key=lambda cell: (-fallen[cell], rng.random()))[:n_labels]
    return dict(zip(sorted(late), "ABCDEFGH", strict=False))


_LABELLED = re.compile(r"([A-H])\s*(?:=|:|->|→|\bis\b)?\s*([0-9])")
_BETWEEN = re.compile(r"[\s,;.:|/()\[\]-]|\band\b", re.IGNORECASE)


def _digits(text: str) -> str:
    """Digits that stand alone, or each after the letter of its cell, in any order; anything else is no list of digits."""
    labelled = _LABELLED.findall(text.upper())
    if labelled and not _BETWEEN.sub("", _LABELLED.sub("", text.upper())):
        return "".join(digit for _, digit in sorted(labelled))
    alone = normal_text(_BETWEEN.sub("", text))
    return alone if alone.isdecimal() else normal_text(text)


@dataclass(frozen=True)
class _Initials:
    """Reads an order that was given by names or by their first letters."""

    names: tuple[str, ...]

    def __call__(self, text: str) -> str:
        if re.search(r"[^\w\s,;.:|/()<>→–\[\]-]", text):  # anything but names, numbers and what parts them
            return normal_text(text)
        lowered = re.sub(r"\b(?:and|then)\b", " ", unicodedata.normalize("NFKC", text).lower())
        letters = "".join(re.findall(r"[a-z]", lowered))
        longest_first = sorted((name.lower() for name in self.names), key=len, reverse=True)
        if re.fullmatch(f"(?:{'|'.join(longest_first)})+", letters):  # nothing but names, maybe without spaces
            return "".join(name[0] for name in re.findall("|".join(longest_first), letters))
        for name in longest_first:
            lowered = re.sub(rf"\b{name}\b", name[0], lowered)
        return "".join(re.findall(r"[a-z]", lowered))


# Small sudokus with one solution: 4 × 4 with boxes of 2 × 2, and 6 × 6 with boxes of 3 × 2.


_BOXES = {4: (2, 2), 6: (2, 3)}


@dataclass(frozen=True)
class Grid:
    """A puzzle: ``given`` has 0 where a cell is empty; ``solution`` is the only one. Cells are counted along the rows."""

    side: int
    given: tuple[int, ...]
    solution: tuple[int, ...]

    def drawn(self, labels: dict[int, str]) -> str:
        """The grid as text, with a label in some of its empty cells."""
        height, width = _BOXES[self.side]
        cells = [labels.get(cell) or str(number or ".") for cell, number in enumerate(self.given)]
        lines = []
        for row in range(self.side):
            parts = [cells[row * self.side + start :][:width] for start in range(0, self.side, width)]
            lines += ["-+-".join("-" * (2 * width - 1) for _ in parts)] if row and row % height == 0 else []
            lines.append(" | ".join(" ".join(part) for part in parts))
        return "\n".join(lines)


def draw_grid(rng: random.Random, side: int, n_empty: int) -> Grid:
    """A puzzle with up to `n_empty` empty cells: each is emptied only while the solution stays the only one."""
    solution = next(solutions([0] * side**2, side, rng))
    given, cells = list(solution), list(range(side**2))
    rng.shuffle(cells)
    for cell in cells:
        if given.count(0) == n_empty:
            break
        given[cell] = 0
        if not _is_unique(given, side):
            given[cell] = solution[cell]
    return Grid(side, tuple(given), solution)


def solutions(given: Sequence[int], side: int, rng: random.Random | None = None) -> Iterator[tuple[int, ...]]:
    """All ways to fill the empty cells, one after the other, in an order that `rng` shuffles."""
    cell, candidates = _tightest(given, side)
    if cell is None:
        yield tuple(given)
        return
    if rng:
        rng.shuffle(candidates)
    for number in candidates:
        yield from solutions([*given[:cell], number, *given[cell + 1 :]], side, rng)


def rounds(grid: Grid) -> dict[int, int]:
    """In which round each empty cell falls to somebody who fills, all at once, each cell that has one candidate left.

    Where nobody can go on like that, what is left falls one round later.
    """
    held, fallen, number = list(grid.given), dict[int, int](), 0
    while 0 in held:
        number += 1
        empty = [cell for cell, one in enumerate(held) if not one]
        forced = [cell for cell in empty if len(_candidates(held, grid.side, cell)) == 1] or empty
        for cell in forced:
            held[cell], fallen[cell] = grid.solution[cell], number
    return fallen


def _is_unique(given: Sequence[int], side: int) -> bool:
    found = solutions(given, side)
    return next(found, None) is not None and next(found, None) is None


def _tightest(given: Sequence[int], side: int) -> tuple[int | None, list[int]]:
    """The empty cell with the fewest candidates, and those."""
    best: tuple[int | None, list[int]] = (None, [0] * (side + 1))
    for cell, number in enumerate(given):
        if not number:
            candidates = _candidates(given, side, cell)
            if len(candidates) < len(best[1]):
                best = cell, candidates
            if len(candidates) <= 1:
                break
    return best


def _candidates(given: Sequence[int], side: int, cell: int) -> list[int]:
    taken = {given[peer] for peer in _peers(side)[cell]}
    return [number for number in range(1, side + 1) if number not in taken]


@cache
def _peers(side: int) -> tuple[tuple[int, ...], ...]:
    """The cells that share a row, a column or a box with each cell."""
    height, width = _BOXES[side]
    places = [divmod(cell, side) for cell in range(side**2)]
    units = [(row, side + column, (row // height, column // width)) for row, column in places]
    return tuple(
        tuple(b for b in range(side**2) if a != b and any(x == y for x, y in zip(units[a], units[b], strict=True)))
        for a in range(side**2)
    )


# Who is where in a row, from clues that leave exactly one order.


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
