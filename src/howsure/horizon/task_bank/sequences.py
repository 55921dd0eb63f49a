"""Kinds of number sequences, from plain to deep: each says its rule in words, draws itself, and tells how given numbers would go on.

A puzzle states several kinds, and its answer is unambiguous when all of them that fit the numbers go on alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

__all__ = ["LEVELS", "Kind", "continuations", "draw_sequence"]

_FEWEST, _MOST = 5, 10
_LARGEST = 3_000
_FACTORS = range(-4, 5)
_MULTIPLES = range(-3, 4)


@dataclass(frozen=True)
class Kind:
    """A rule in words; ``draw(rng, n)`` gives n numbers that follow it, ``goes_on(numbers)`` every next number that it allows."""

    words: str
    draw: Callable[[random.Random, int], list[int]]
    goes_on: Callable[[Sequence[int]], set[int]]


def draw_sequence(rng: random.Random, level: int) -> tuple[list[int], int]:
    """Numbers that follow a kind of the level (counted from 0), as few as make the next one certain among the kinds up to it; and that next one."""
    stated = [kind for kinds in LEVELS[: level + 1] for kind in kinds]
    while True:
        numbers = rng.choice(LEVELS[level]).draw(rng, _MOST + 1)
        for n_shown in range(_FEWEST + level // 2, _MOST + 1):
            shown, following = numbers[:n_shown], numbers[n_shown]
            if max(map(abs, numbers[: n_shown + 1])) > _LARGEST or len(set(shown)) < n_shown - 1:
                break
            if continuations(shown, stated) == {following}:
                return shown, following


def continuations(numbers: Sequence[int], kinds: Iterable[Kind]) -> set[int]:
    """Every next number that one of the kinds allows."""
    return set().union(*(kind.goes_on(numbers) for kind in kinds))


def _unrolled(first: Sequence[int], following: Callable[[list[int]], int], n: int) -> list[int]:
    numbers = list(first)
    while len(numbers) < n:
        numbers.append(following(numbers))
    return numbers[:n]


def _nonzero(rng: random.Random, low: int, high: int) -> int:
    return rng.choice([number for number in range(low, high + 1) if number])


def _draw_steps(rng: random.Random, n: int) -> list[int]:
    step = _nonzero(rng, -19, 19)
    return _unrolled([rng.randint(-50, 150)], lambda so_far: so_far[-1] + step, n)


def _steps_go_on(numbers: Sequence[int]) -> set[int]:
    steps = {after - before for before, after in pairwise(numbers)}
    return {numbers[-1] + step for step in steps} if len(steps) == 1 else set()


def _draw_growing(rng: random.Random, n: int) -> list[int]:
    return _summed(rng.randint(-10, 30), _unrolled_steps(rng.randint(-6, 9), _nonzero(rng, -4, 6), n))


def _unrolled_steps(first: int, step: int, n: int) -> list[int]:
    return _unrolled([first], lambda so_far: so_far[-1] + step, n)


def _summed(first: int, steps: Sequence[int]) -> list[int]:
    return _unrolled([first], lambda so_far: so_far[-1] + steps[len(so_far) - 1], len(steps))


def _growing_goes_on(numbers: Sequence[int]) -> set[int]:
    return {numbers[-1] + step for step in _steps_go_on(_steps(numbers))}


def _steps(numbers: Sequence[int]) -> list[int]:
    return [after - before for before, after in pairwise(numbers)]


def _draw_scaled(rng: random.Random, n: int) -> list[int]:
    factor, plus = rng.choice((-3, -2, 2, 3)), rng.randint(-9, 9)
    return _unrolled([rng.randint(-5, 9)], lambda so_far: factor * so_far[-1] + plus, n)


def _scaled_goes_on(numbers: Sequence[int]) -> set[int]:
    rules = ((factor, numbers[1] - factor * numbers[0]) for factor in _FACTORS)
    fitting = (r for r in rules if all(after == r[0] * before + r[1] for before, after in pairwise(numbers)))
    return {factor * numbers[-1] + plus for factor, plus in fitting}


def _draw_in_turn(rng: random.Random, n: int) -> list[int]:
    return _interleaved(_draw_steps(rng, n), _draw_steps(rng, n), n)


def _interleaved(odd: Sequence[int], even: Sequence[int], n: int) -> list[int]:
    return [(odd, even)[place % 2][place // 2] for place in range(n)]


def _in_turn_goes_on(numbers: Sequence[int]) -> set[int]:
    return _turns_go_on(numbers, (_steps_go_on,))


def _turns_go_on(numbers: Sequence[int], rules: Iterable[Callable[[Sequence[int]], set[int]]]) -> set[int]:
    halves = numbers[len(numbers) % 2 :: 2], numbers[(len(numbers) + 1) % 2 :: 2]
    following, other = (set().union(*(rule(half) for rule in rules)) for half in halves)
    return following if other else set()


def _draw_alternating(rng: random.Random, n: int) -> list[int]:
    plus, factor, is_first = _nonzero(rng, -9, 9), rng.choice((-2, 2, 3)), rng.random() < 0.5

    def following(so_far: list[int]) -> int:
        return so_far[-1] + plus if len(so_far) % 2 == is_first else so_far[-1] * factor

    return _unrolled([rng.randint(1, 9)], following, n)


def _alternating_goes_on(numbers: Sequence[int]) -> set[int]:
    found = set()
    for is_first, factor in product((0, 1), _FACTORS):
        pairs = list(enumerate(pairwise(numbers)))
        added = {after - before for place, (before, after) in pairs if place % 2 == is_first}
        is_scaled = all(after == factor * before for place, (before, after) in pairs if place % 2 != is_first)
        if is_scaled and len(added) == 1:
            found.add(numbers[-1] + added.pop() if (len(numbers) - 1) % 2 == is_first else numbers[-1] * factor)
    return found


def _draw_two_before(rng: random.Random, n: int) -> list[int]:
    p, q, plus = _nonzero(rng, -1, 2), _nonzero(rng, -2, 2), rng.randint(-6, 6)
    first = [rng.randint(-4, 6), rng.randint(1, 9)]
    return _unrolled(first, lambda so_far: p * so_far[-1] + q * so_far[-2] + plus, n)


def _two_before_goes_on(numbers: Sequence[int]) -> set[int]:
    found = set()
    triples = list(zip(numbers, numbers[1:], numbers[2:], strict=False))
    for p, q in product(_MULTIPLES, _MULTIPLES):
        plus = {c - p * b - q * a for a, b, c in triples}
        if len(plus) == 1:
            found.add(p * numbers[-1] + q * numbers[-2] + plus.pop())
    return found


def _draw_twice_growing(rng: random.Random, n: int) -> list[int]:
    growth = _unrolled_steps(rng.randint(-3, 4), _nonzero(rng, -2, 3), n)
    return _summed(rng.randint(-9, 20), _summed(rng.randint(-5, 7), growth))


def _twice_growing_goes_on(numbers: Sequence[int]) -> set[int]:
    return {numbers[-1] + step for step in _growing_goes_on(_steps(numbers))}


def _draw_deep_turns(rng: random.Random, n: int) -> list[int]:
    kinds = [_draw_growing, _draw_scaled, _draw_steps]
    first = rng.choice(kinds[:2])
    odd, even = first(rng, n), rng.choice([kind for kind in kinds if kind is not first])(rng, n)
    return _interleaved(odd, even, n) if rng.random() < 0.5 else _interleaved(even, odd, n)


def _deep_turns_go_on(numbers: Sequence[int]) -> set[int]:
    return _turns_go_on(numbers, (_steps_go_on, _growing_goes_on, _scaled_goes_on))


def _draw_scaled_steps(rng: random.Random, n: int) -> list[int]:
    return _summed(rng.randint(-9, 30), _draw_scaled(rng, n))


def _scaled_steps_go_on(numbers: Sequence[int]) -> set[int]:
    return {numbers[-1] + step for step in _scaled_goes_on(_steps(numbers))}


LEVELS: tuple[tuple[Kind, ...], ...] = (
    (Kind("Each number is the one before it plus or minus a fixed number.", _draw_steps, _steps_go_on),),
    (
        Kind(
            "The step from one number to the next grows or shrinks by a fixed number.", _draw_growing, _growing_goes_on
        ),
        Kind(
            "Each number is the one before it times a fixed whole number (from −4 to 4), plus or minus a fixed number.",
            _draw_scaled,
            _scaled_goes_on,
        ),
    ),
    (
        Kind(
            "The 1st, 3rd, 5th … number and the 2nd, 4th, 6th … number are two sequences, each with a fixed step of its own.",
            _draw_in_turn,
            _in_turn_goes_on,
        ),
        Kind(
            "A fixed number is added, then the result is multiplied by a fixed whole number (from −4 to 4), and so on in turn; either may come first.",
            _draw_alternating,
            _alternating_goes_on,
        ),
    ),
    (
        Kind(
            "Each number is a multiple of the one before it, plus a multiple of the one before that (both from −3 to 3), plus or minus a fixed number.",
            _draw_two_before,
            _two_before_goes_on,
        ),
        Kind(
            "The steps between the numbers have steps that grow or shrink by a fixed number.",
            _draw_twice_growing,
            _twice_growing_goes_on,
        ),
    ),
    (
        Kind(
            "The 1st, 3rd, 5th … number and the 2nd, 4th, 6th … number are two sequences, each of kind 1, 2 or 3.",
            _draw_deep_turns,
            _deep_turns_go_on,
        ),
        Kind("The steps between the numbers are a sequence of kind 3.", _draw_scaled_steps, _scaled_steps_go_on),
    ),
)
"""From plain to deep."""
