"""Who rates what: one design for the planner that recommends it, the builder that makes its pages, and the analysis of its answers.

A design says how many items there are, how many ratings each gets, and how many items one rater rates. Where a rater does not rate
everything, raters get blocks: subsets of the items that are as balanced as the numbers allow. Each item is in the stated number of blocks
(or one more, where the numbers do not divide), any two items meet in about equally many, and every item is linked with every
other through shared raters, so that severe and lenient raters can be told from good and bad items.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from howsure.compiled import kernel
from howsure.errors import OptionError
from howsure.stats._arrays import Ints

__all__ = ["Balance", "RatingDesign", "balance_of", "deal_blocks", "parse_design"]

_DOMAINS = 5  # as many as the protocol names
_SWAPS = 6000  # tried in all, to even out how often items meet
_SHARED = np.iinfo(np.int64).min


@dataclass(frozen=True, order=True)
class RatingDesign:
    """Number of pairs (or other items), of ratings per pair, and of pairs per rater.

    Parameters
    ----------
    pairs : int
        Number of pairs or other items.
    raters : int
        Number of ratings per pair: the number of raters, where each rates every pair.
    per_rater : int
        Number of pairs that one rater rates; 0: all.
    """

    pairs: int
    raters: int
    per_rater: int = 0

    def __post_init__(self) -> None:
        if self.per_rater < 0 or self.pairs < 1 or self.raters < 1:
            raise OptionError(
                f"{self.pairs} items, {self.raters} ratings and {self.per_rater} per rater: give at least 1 of each."
            )

    @property
    def is_crossed(self) -> bool:
        """Whether every rater rates every pair."""
        return not 0 < self.per_rater < self.pairs

    @property
    def block_size(self) -> int:
        """How many pairs one rater rates."""
        return self.pairs if self.is_crossed else self.per_rater

    @property
    def n_raters(self) -> int:
        """How many raters it takes: the smallest number with which no pair has fewer ratings than stated."""
        return -(-self.pairs * self.raters // self.block_size)

    @property
    def domain(self) -> Ints:
        """The number of each pair's domain in a plan: pairs are dealt over five, or as many as there are pairs."""
        return np.arange(self.pairs) % min(self.pairs, _DOMAINS)

    def blocks(self, seed: int = 0) -> list[list[int]]:
        """The pairs of each rater, as places from 0, in a random order."""
        return deal_blocks(self.pairs, self.n_raters, self.block_size, seed=seed)

    def __str__(self) -> str:
        each = "" if self.is_crossed else f" / {self.per_rater}"
        return f"{self.pairs} × {self.raters}{each}"


@dataclass(frozen=True)
class Balance:
    """How even a set of blocks is.

    ``fewest`` and ``most``: in how many blocks an item is. ``fewest_together`` and ``most_together``: in how many blocks two items are
    together, over all pairs of items. ``is_connected``: whether shared raters link all items.
    """

    fewest: int
    most: int
    fewest_together: int
    most_together: int
    is_connected: bool


def parse_design(text: str) -> RatingDesign:
    """A design as people write it: ``20x4`` (20 pairs, 4 ratings each), or ``50x8/12`` where one rater rates 12 of the pairs."""
    match = re.fullmatch(r"\s*(\d{1,6})\s*[x×*]\s*(\d{1,6})\s*(?:/\s*(\d{1,6})\s*)?", text)
    if match is None:
        raise OptionError(
            f"{text!r} is not a design. Write items x ratings, as in 20x4, or 50x8/12 with 12 items per rater."
        )
    return RatingDesign(int(match[1]), int(match[2]), int(match[3] or 0))


def deal_blocks(n_items: int, n_blocks: int, size: int, *, seed: int = 0) -> list[list[int]]:
    """Near-balanced incomplete blocks: `n_blocks` subsets of `size` different items each.

    Blocks are filled one after another with the items that were dealt least often, and among those the ones that met the others
    of the block least often. Then items are exchanged between blocks where that makes meetings more even; this never changes
    how often an item is dealt.

    Parameters
    ----------
    n_items : int
        Number of items.
    n_blocks : int
        Number of blocks (raters).
    size : int
        Number of items in a block.
    seed : int
        Seed of the random choices.

    Returns
    -------
    list of lists of int
        The items of each block, from 0, in a random order.
    """
    if not 1 <= size <= n_items or n_blocks < 1:
        raise OptionError(f"{n_blocks} blocks of {size} out of {n_items} items cannot be made.")
    rng = np.random.default_rng(seed)
    if size == n_items:
        return [rng.permutation(n_items).tolist() for _ in range(n_blocks)]
    # small designs are tried several times, because the best ones are few
    n_tries = max(1, min(30, _SWAPS // (20 * n_blocks)))
    tried = [_deal(n_items, n_blocks, size, rng, n_swaps=_SWAPS // n_tries) for _ in range(n_tries)]
    _, blocks = min(tried, key=lambda one: one[0])
    _connect(blocks, n_items, rng)
    return [[block[place] for place in rng.permutation(size)] for block in blocks]


def _deal(
    n_items: int, n_blocks: int, size: int, rng: np.random.Generator, *, n_swaps: int
) -> tuple[int, list[list[int]]]:
    """One way to deal, and its sum of squared meetings, which is smallest when all pairs of items meet equally often."""
    dealt = np.zeros(n_items, dtype=np.int64)
    together = np.zeros((n_items, n_items), dtype=np.int64)
    blocks: list[list[int]] = []
    for _ in range(n_blocks):
        block: list[int] = []
        met, left, chance = np.zeros(n_items, dtype=np.int64), dealt.copy(), rng.random(n_items)
        for _ in range(size):
            item = int(np.lexsort((chance, met, left))[0])
            block.append(item)
            met += together[item]
            left[item] = n_blocks + 1  # nobody rates an item twice
        dealt[block] += 1
        together[np.ix_(block, block)] += 1
        blocks.append(block)
    np.fill_diagonal(together, 0)
    dealt_blocks = np.array(blocks, dtype=np.int64)
    if n_blocks > 1:
        _even_out(dealt_blocks, together, np.array([rng.choice(n_blocks, 2, replace=False) for _ in range(n_swaps)]))
    return int((together**2).sum()), dealt_blocks.tolist()


@kernel
def _even_out(blocks: Ints, together: Ints, pairs: Ints) -> None:
    """Exchange one item between the two blocks of each of ``pairs`` where that makes meetings more even; how often an item is dealt stays."""
    for pair in pairs:
        _exchange(blocks[pair[0]], blocks[pair[1]], together)


@kernel
def _exchange(first: Ints, second: Ints, together: Ints) -> None:
    own, other = _of_one_only(first, second, together), _of_one_only(second, first, together)
    n_own = 0
    for place in range(len(own)):
        n_own += own[place] != _SHARED
    least, i, j = 0, -1, -1
    for x in range(len(own)):
        for y in range(len(other)):
            if own[x] != _SHARED and other[y] != _SHARED:
                # half of what the sum of squares changes by when x and y change places
                change = 2 * (n_own - 1) - own[x] - other[y] - 2 * together[first[x], second[y]]
                if change < least:
                    least, i, j = change, x, y
    if i >= 0:
        out, new = first[i], second[j]
        _replace(first, i, new, together)
        _replace(second, j, out, together)


@kernel
def _of_one_only(block: Ints, second: Ints, together: Ints) -> Ints:
    """By how much more each item of a block met this block than a second one; `_SHARED` for items of both."""
    more = np.zeros(len(block), dtype=np.int64)
    for place in range(len(block)):
        for k in range(len(block)):
            more[place] += together[block[place], block[k]] - together[block[place], second[k]]
        for k in range(len(block)):
            if second[k] == block[place]:
                more[place] = _SHARED
    return more


@kernel
def _replace(block: Ints, place: int, new: int, together: Ints) -> None:
    """An item leaves its place, and another comes last."""
    out = block[place]
    for k in range(place, len(block) - 1):
        block[k] = block[k + 1]
    block[-1] = new
    for k in range(len(block) - 1):
        item = block[k]
        together[out, item] -= 1
        together[item, out] -= 1
        together[new, item] += 1
        together[item, new] += 1


def _connect(blocks: list[list[int]], n_items: int, rng: np.random.Generator) -> None:
    """Exchange items between blocks until shared raters link all items, where so many places can do that."""
    size = len(blocks[0])
    if len(blocks) * (size - 1) < n_items - 1:
        return
    part = _parts(blocks, n_items)
    for _ in range(_SWAPS):
        n_parts = int(part.max()) + 1
        if n_parts == 1:
            return
        groups = [
            [block for block in blocks if part[block[0]] == number] for number in rng.choice(n_parts, 2, replace=False)
        ]
        if not all(groups):
            continue
        first, second = (group[rng.integers(len(group))] for group in groups)
        i, j = rng.integers(size, size=2)
        first[i], second[j] = second[j], first[i]
        after = _parts(blocks, n_items)
        if after.max() < part.max():
            part = after
        else:
            first[i], second[j] = second[j], first[i]


def _parts(blocks: Sequence[Sequence[int]], n_items: int) -> Ints:
    """The number of each item's part: items of one part are linked by shared raters."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = [(block[0], item) for block in blocks for item in block]
    rows, columns = np.array(links).T
    graph = coo_array((np.ones(len(links)), (rows, columns)), shape=(n_items, n_items))
    return np.asarray(connected_components(graph, directed=False)[1])


def balance_of(blocks: Sequence[Sequence[int]], n_items: int) -> Balance:
    """How even blocks are, and whether shared raters link all items."""
    counts = np.bincount([item for block in blocks for item in block], minlength=n_items)
    is_in = np.zeros((len(blocks), n_items), dtype=np.int64)
    for row, block in enumerate(blocks):
        is_in[row, list(block)] = 1
    together = is_in.T @ is_in
    off = together[~np.eye(n_items, dtype=bool)] if n_items > 1 else np.zeros(1, dtype=np.int64)
    is_connected = int(_parts(blocks, n_items).max()) == 0
    return Balance(int(counts.min()), int(counts.max()), int(off.min()), int(off.max()), is_connected)
