"""Patterns with one continuation under a rule that is stated as a class: number sequences, letter groups, rows with a common rule."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from string import ascii_uppercase

from howsure.horizon.task_bank.base import Exact, Instance, TaskFamily

__all__ = ["FAMILIES", "LEVELS", "Kind", "continuations", "draw_sequence"]

_ENDING = "If you write anything else, end with a line that says Answer: and then {what}."


def numbers(rng: random.Random, difficulty: float) -> Instance:
    """A sequence of numbers; the harder, the deeper its rule and the more kinds of rules come into question."""
    level = min(int(difficulty * len(LEVELS)), len(LEVELS) - 1)
    shown, following = draw_sequence(rng, level)
    kinds = [kind.words for stated in LEVELS[: level + 1] for kind in stated]
    rule = (
        kinds[0]
        if len(kinds) == 1
        else "The rule is one of these:\n" + "\n".join(f"{n}. {words}" for n, words in enumerate(kinds, 1))
    )
    prompt = f"""Which number comes next?

{", ".join(map(str, shown))}, …

{rule}

Answer with the number alone. {_ENDING.format(what="the number")}"""
    return Instance(prompt, str(following), None, Exact((str(following),)))


def letters(rng: random.Random, difficulty: float) -> Instance:
    """Groups of letters that move along the alphabet; from difficulty 0.5 on by steps that themselves change."""
    is_growing = difficulty >= 0.5
    n_letters = 2 + int(4 * difficulty) if not is_growing else 2 + int(6 * (difficulty - 0.5))
    places = [(rng.randrange(26), _step(rng), _step(rng) if is_growing else 0) for _ in range(n_letters)]
    groups = ["".join(_letter(*place, n) for place in places) for n in range(6)]
    shown, following = (groups[:5], groups[5]) if is_growing else (groups[:4], groups[4])
    step = (
        "a number of places that itself grows or shrinks by a fixed amount each time"
        if is_growing
        else "a fixed number of places each time"
    )
    prompt = f"""Which group of letters comes next?

{"  ".join(shown)}  …

The first letters, the second letters and so on each move forwards or backwards along the alphabet by {step}. A comes after Z, and Z before A.

Answer with the {n_letters} letters alone. {_ENDING.format(what="the letters")}"""
    return Instance(prompt, following, None, Exact((following, ",".join(following), " ".join(following))))


def rows(rng: random.Random, difficulty: float) -> Instance:
    """Rows of three numbers with the same rule in each; the harder, the more there is in the rule, and from 0.6 on the gap is not at the end."""
    level = min(int(difficulty * len(_RULES)), len(_RULES) - 1)
    gap = 2 if difficulty < 0.6 else rng.randrange(2)
    table = _drawn_rows(rng, level, gap)
    *full, last = table
    lines = [*full, ["?" if place == gap else number for place, number in enumerate(last)]]
    shown = "\n".join(f"{a}  {b}  →  {c}" for a, b, c in lines)
    prompt = f"""In every row the number on the right is made from the two on the left in the same way.

{shown}

{_RULES[level][0]} Which number is missing?

Answer with the number alone. {_ENDING.format(what="the number")}"""
    return Instance(prompt, str(last[gap]), None, Exact((str(last[gap]),)))


FAMILIES = (
    TaskFamily("numbers", "Which number comes next.", "automated", numbers),
    TaskFamily("letters", "Which group of letters comes next.", "automated", letters),
    TaskFamily("rows", "Rows of numbers with a common rule: which one is missing.", "automated", rows),
)


def _step(rng: random.Random) -> int:
    return rng.choice((-4, -3, -2, -1, 1, 2, 3, 4, 5))


def _letter(start: int, step: int, growth: int, n: int) -> str:
    return ascii_uppercase[(start + n * step + growth * n * (n - 1) // 2) % 26]


# first × second, times the first, times the second, plus: what each class of rules may have
_RULES: tuple[tuple[str, tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]], ...] = (
    (
        "It is the first plus or minus the second, plus or minus a fixed number up to 9.",
        ((0,), (1,), (-1, 1), range(-9, 10)),
    ),
    (
        "It is a multiple of the first plus a multiple of the second (both from 1 to 5).",
        ((0,), range(1, 6), range(1, 6), (0,)),
    ),
    (
        "It is a multiple of the first plus a multiple of the second (both from −4 to 4), plus or minus a fixed number up to 20.",
        ((0,), range(-4, 5), range(-4, 5), range(-20, 21)),
    ),
    (
        "It is the first times the second, plus a multiple of the first, plus a multiple of the second (both from −4 to 4), plus or minus a fixed number up to 20.",
        ((1,), range(-4, 5), range(-4, 5), range(-20, 21)),
    ),
)
_N_ROWS = (2, 3, 4, 4)


def _drawn_rows(rng: random.Random, level: int, gap: int) -> list[tuple[int, int, int]]:
    """Full rows and one more, whose number at `gap` is certain under the level's rules."""
    while True:
        both, *others = (rng.choice([one for one in part if one or len(part) == 1]) for part in _RULES[level][1])
        pairs = [(rng.randint(1, 12), rng.randint(1, 12)) for _ in range(_N_ROWS[level] + 1)]
        *full, last = [(a, b, _made((both, *others), a, b)) for a, b in pairs]
        found = [_filled(rule, last, gap) for rule in _fitting(full, level)]
        if len(set(pairs)) == len(pairs) and set(found) == {last[gap]}:
            return [*full, last]


def _made(weights: Sequence[int], a: int, b: int) -> int:
    both, first, second, plus = weights
    return both * a * b + first * a + second * b + plus


def _fitting(full: Sequence[tuple[int, int, int]], level: int) -> Iterator[tuple[int, int, int, int]]:
    """Every rule of the level that makes all full rows."""
    *factors, additions = _RULES[level][1]
    a, b, c = full[0]
    for both, first, second in product(*factors):
        rule = both, first, second, c - _made((both, first, second, 0), a, b)
        if rule[3] in additions and all(_made(rule, a, b) == c for a, b, c in full):
            yield rule


def _filled(rule: Sequence[int], row: tuple[int, int, int], gap: int) -> int | None:
    """The number at `gap` that completes a row under a rule; None where none or any does."""
    a, b, c = row
    if gap == 2:
        return _made(rule, a, b)
    both, factor, other_factor, plus = rule if gap == 0 else (rule[0], rule[2], rule[1], rule[3])
    other = b if gap == 0 else a
    times = both * other + factor
    rest = c - other_factor * other - plus
    return rest // times if times and rest % times == 0 else None


# Kinds of number sequences, from plain to deep: each says its rule in words, draws itself, and tells how given numbers would go on.
#
# A puzzle states several kinds, and its answer is unambiguous when all of them that fit the numbers go on alike.


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
