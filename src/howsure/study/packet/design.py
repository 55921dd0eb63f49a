"""Who sees what in which order: settled from a seed before anyone rates, and balanced over raters.

Where every rater rates everything:

Orders are rows of Williams' Latin squares: over a square each pair stands once in each place, and follows each other pair equally
often. Slots come in mirrored couples of raters: where one has the target first, the other has it second, so over an even
number of raters each pair's target is in slot 1 for exactly half, and each rater has it there for half of the pairs.

In blocks (`howsure.study.planning.design`), and with any number of systems: each item takes the order of systems that it had least often
so far, among the rows of a Williams square, so that every system stands in every slot equally often, up to one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.study.item_studies import ItemStudy
from howsure.study.planning.design import deal_blocks
from howsure.study.protocol import Study, Unit

__all__ = ["AGAIN", "ATTENTION", "ShownItem", "arrange", "design_frame", "williams"]

AGAIN, ATTENTION = "/again", "attention/"
"""How tables mark a pair that is shown again, and an attention item."""


@dataclass(frozen=True)
class ShownItem:
    """One item as one rater meets it: its name in tables, the slot that holds the target (None: no pair), and the systems by slot."""

    item: str
    target: int | None = None
    systems: tuple[str, ...] = ()

    @property
    def pair(self) -> str:
        """The pair's (or other item's) id."""
        return self.item.removesuffix(AGAIN)


def arrange(study: Study | ItemStudy, n_raters: int) -> list[list[ShownItem]]:
    """The items of each rater in the order shown.

    The pairs a rater saw first are shown again at the end, slots swapped: as far apart as can be, and over raters each pair
    takes its turn. Attention items stand between pairs. Where the study's design has raters rate only some of the items, these are dealt in blocks.
    """
    if n_raters < 1:
        raise OptionError(f"{n_raters} raters leave nobody to rate. Give at least 1.")
    rng = np.random.default_rng(study.seed)
    n_units = len(study.units)
    if study.n_units < n_units:
        dealt = deal_blocks(n_units, n_raters, study.n_units, seed=study.seed)
        return [_with_attention(rng, study, shown) for shown in _dealt(rng, study, dealt)]
    if isinstance(study, ItemStudy):
        orders = list(_orders(rng, n_units, n_raters))
        return [_with_attention(rng, study, shown) for shown in _dealt(rng, study, orders)]
    n_pairs = len(study.pairs)
    rows = zip(_orders(rng, n_pairs, n_raters), _slots(rng, n_pairs, n_raters), strict=True)
    return [_with_attention(rng, study, _items(study, order, slots)) for order, slots in rows]


def williams(n: int) -> list[list[int]]:
    """Williams' design for `n` treatments: `n` rows when n is even, twice as many when it is odd."""
    zigzag = [(place + 1) // 2 if place % 2 else (n - place // 2) % n for place in range(n)]
    square = [[(value + row) % n for value in zigzag] for row in range(n)]
    return square if n % 2 == 0 else square + [row[::-1] for row in square]


def design_frame(raters: Sequence[str], shown: Sequence[Sequence[ShownItem]]) -> pl.DataFrame:
    """One row per item of a rater: rater, position, item, target (its slot). This un-blinds: it stays with the key."""
    rows = [
        (rater, position, one.item, one.target)
        for rater, items in zip(raters, shown, strict=True)
        for position, one in enumerate(items, 1)
    ]
    return pl.DataFrame(
        rows, {"rater": pl.String, "position": pl.Int64, "item": pl.String, "target": pl.Int64}, orient="row"
    )


def _orders(rng: np.random.Generator, n_pairs: int, n_raters: int) -> Iterator[list[int]]:
    """Rows of freshly shuffled squares, each used up before the next begins."""
    served = 0
    while served < n_raters:
        rows, names = williams(n_pairs), rng.permutation(n_pairs)
        for square in (rows[:n_pairs], rows[n_pairs:]):
            for row in rng.permutation(len(square))[: n_raters - served]:
                yield [int(names[place]) for place in square[row]]
                served += 1


def _slots(rng: np.random.Generator, n_pairs: int, n_raters: int) -> list[list[int]]:
    """For each rater the slot of each pair's target."""
    rows: list[list[int]] = []
    while len(rows) < n_raters:
        ones_first = rng.integers(2)
        halves = np.array([1 + (place + ones_first) % 2 for place in range(n_pairs)])
        drawn = rng.permutation(halves)
        couple = [drawn.tolist(), (3 - drawn).tolist()]
        rows += couple
    rows = rows[:n_raters]
    return [rows[place] for place in rng.permutation(n_raters)]


def _dealt(
    rng: np.random.Generator, study: Study | ItemStudy, blocks: Sequence[Sequence[int]]
) -> Iterator[list[ShownItem]]:
    """The items of each block, systems in balanced order, with the repeats at the end."""
    squares = {n: williams(n) for n in {len(unit.systems) for unit in study.units} if n}
    used = {unit.id: np.zeros(len(squares.get(len(unit.systems), [0]))) for unit in study.units}
    for block in blocks:
        first: dict[str, int] = {}  # how often this rater had a system in slot 1
        shown = []
        for unit in _apart([study.units[place] for place in block]):
            systems: tuple[str, ...] = ()
            if unit.systems:
                rows = squares[len(unit.systems)]
                leads = np.array([first.get(unit.systems[row[0]], 0) for row in rows])
                row = int(np.lexsort((rng.random(len(rows)), leads, used[unit.id]))[0])
                used[unit.id][row] += 1
                systems = tuple(unit.systems[place] for place in rows[row])
                first[systems[0]] = first.get(systems[0], 0) + 1
            shown.append(_shown(study, unit.id, systems))
        yield shown + [_shown(study, one.item + AGAIN, one.systems[::-1]) for one in shown[: study.repeats]]


def _shown(study: Study | ItemStudy, item: str, systems: tuple[str, ...]) -> ShownItem:
    return ShownItem(item, systems.index("target") + 1 if isinstance(study, Study) else None, systems)


def _apart(units: Sequence[Unit]) -> list[Unit]:
    """The units in the same order, but no two of one item in a row where that can be avoided."""
    left = list(units)
    ordered: list[Unit] = []
    while left:
        last = ordered[-1].item if ordered else None
        most = max((unit.item for unit in left), key=[unit.item for unit in left].count)
        n_most = sum(unit.item == most for unit in left)
        must = most if most != last and 2 * n_most > len(left) else None  # else its units would end up side by side
        place = next((n for n, unit in enumerate(left) if unit.item != last and must in (None, unit.item)), 0)
        ordered.append(left.pop(place))
    return ordered


def _items(study: Study, order: Sequence[int], slots: Sequence[int]) -> list[ShownItem]:
    first = [ShownItem(study.pairs[place].id, slots[place]) for place in order]
    return first + [ShownItem(one.item + AGAIN, 3 - (one.target or 0)) for one in first[: study.repeats]]


def _with_attention(rng: np.random.Generator, study: Study | ItemStudy, items: Sequence[ShownItem]) -> list[ShownItem]:
    """Attention items in gaps drawn between the first item and the last, two in one gap only when there is no other way."""
    n_items, gaps = len(study.attention), range(1, max(len(items), 2))
    drawn = [int(gap) for _ in range(-(-n_items // len(gaps))) for gap in rng.permutation(gaps)]
    spots = sorted(zip(drawn, rng.permutation(n_items).tolist(), strict=False))
    merged = list(items)
    for gap, place in reversed(spots):
        merged.insert(gap, ShownItem(ATTENTION + study.attention[place].id))
    return merged
