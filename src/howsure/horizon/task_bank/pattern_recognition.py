"""Patterns with one continuation under a rule that is stated as a class: number sequences, letter groups, rows with a common rule."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product
from string import ascii_uppercase

from howsure.horizon.task_bank.answers import Exact
from howsure.horizon.task_bank.base import Instance, TaskFamily
from howsure.horizon.task_bank.sequences import LEVELS, draw_sequence

__all__ = ["FAMILIES"]

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
