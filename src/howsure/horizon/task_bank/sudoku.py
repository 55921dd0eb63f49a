"""Small sudokus with one solution: 4 × 4 with boxes of 2 × 2, and 6 × 6 with boxes of 3 × 2."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

__all__ = ["Grid", "draw_grid", "rounds", "solutions"]

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
