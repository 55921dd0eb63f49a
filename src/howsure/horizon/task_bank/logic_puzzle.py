"""Logic puzzles with one solution: small sudokus, and who is where in a row."""

from __future__ import annotations

import random
import re
import unicodedata
from dataclasses import dataclass

from howsure.horizon.task_bank.answers import Exact
from howsure.horizon.task_bank.base import Instance, TaskFamily
from howsure.horizon.task_bank.seating import draw_seating
from howsure.horizon.task_bank.sudoku import Grid, draw_grid, rounds
from howsure.people.blinding import normal_text

__all__ = ["FAMILIES"]

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
