"""Recipes for short Python functions, in five levels of three.

One loop; a loop with a choice; neighbours and digits; loops in loops; functions that call functions, and state that is carried along. Sources stay within
what `grammar` offers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from howsure.horizon.task_bank.evaluator import Program, ReferenceProgram

__all__ = ["FUNCTION_NAMES", "LEVELS", "draw_program"]

FUNCTION_NAMES = ("score", "f", "g", "work", "process", "compute", "measure")
"""What functions may be called; the first is a helper's name."""


def draw_program(rng: random.Random, difficulty: float) -> ReferenceProgram:
    """A program of the level that goes with `difficulty`."""
    level = min(int(difficulty * len(LEVELS)), len(LEVELS) - 1)
    return rng.choice(LEVELS[level])(rng)


@dataclass(frozen=True)
class _Words:
    """The names a program uses."""

    function: str
    values: str
    value: str
    total: str
    index: str

    @classmethod
    def drawn(cls, rng: random.Random) -> _Words:
        values, value = rng.choice(
            (("xs", "x"), ("numbers", "number"), ("values", "value"), ("items", "item"), ("data", "d"))
        )
        total = rng.choice(("total", "result", "tally", "found", "out", "acc"))
        return cls(rng.choice(FUNCTION_NAMES[1:]), values, value, total, rng.choice("ijk"))


def _condition(rng: random.Random, name: str) -> tuple[str, str]:
    """A test of a whole number, and the words that follow "numbers"."""
    divisor, bound = rng.randint(2, 5), rng.randint(-2, 9)
    remainder = rng.randrange(divisor)
    return rng.choice(
        (
            (f"{name} % {divisor} == {remainder}", f"that leave remainder {remainder} when divided by {divisor}"),
            (f"{name} > {bound}", f"greater than {bound}"),
            (f"{name} < {bound}", f"less than {bound}"),
            (f"{name} >= {bound}", f"of at least {bound}"),
            (f"{name} != {bound}", f"other than {bound}"),
        )
    )


def _term(rng: random.Random, name: str) -> tuple[str, str]:
    """Something made of a whole number, and the words that go before "of the numbers"."""
    factor = rng.randint(2, 9)
    return rng.choice(
        (
            (f"{name} * {name}", "the squares"),
            (f"{name} * {factor}", f"{factor} times each"),
            (f"{name} + {factor}", f"{factor} more than each"),
            (f"{name} - {factor}", f"{factor} less than each"),
        )
    )


def _lists(rng: random.Random, *extras: Sequence[Any], low: int = -6, high: int = 15) -> tuple[tuple[list[int]], ...]:
    """Calls with one list: a short one first, then others, the edge cases, and every number there is, so that no bound is missed."""
    drawn = [[rng.randint(low, high) for _ in range(length)] for length in (4, 5, 6, 3, 7, 5, 2, 1)]
    every = rng.sample(range(low, high + 1), high - low + 1)
    return tuple(
        (list(one),) for one in (*drawn, [], *extras, *(every[start : start + 6] for start in range(0, len(every), 6)))
    )


def _numbers(low: int, high: int, rng: random.Random) -> tuple[tuple[int], ...]:
    """Calls with one whole number: all from `low` to `high`, a larger one first."""
    others = list(range(low, high + 1))
    rng.shuffle(others)
    return tuple((number,) for number in sorted(others, key=lambda one: one < (low + high) // 2))


# Level 1: one loop


def _sum_of_terms(rng: random.Random) -> ReferenceProgram:
    w = _Words.drawn(rng)
    term, words = _term(rng, w.value)
    source = f"def {w.function}({w.values}):\n    {w.total} = 0\n    for {w.value} in {w.values}:\n        {w.total} = {w.total} + {term}\n    return {w.total}"
    return ReferenceProgram(
        w.function, f"the sum of {words} of the numbers in the list {w.values}", source, _lists(rng)
    )


def _list_of_terms(rng: random.Random) -> ReferenceProgram:
    w = _Words.drawn(rng)
    term, words = _term(rng, w.value)
    source = f"def {w.function}({w.values}):\n    {w.total} = []\n    for {w.value} in {w.values}:\n        {w.total} = {w.total} + [{term}]\n    return {w.total}"
    return ReferenceProgram(
        w.function, f"a list with {words} of the numbers in the list {w.values}, in the same order", source, _lists(rng)
    )


def _sum_of_range(rng: random.Random) -> ReferenceProgram:
    w, first = _Words.drawn(rng), rng.randint(1, 6)
    term, words = _term(rng, w.index)
    source = f"def {w.function}(n):\n    {w.total} = 0\n    for {w.index} in range({first}, n + 1):\n        {w.total} = {w.total} + {term}\n    return {w.total}"
    return ReferenceProgram(
        w.function,
        f"the sum of {words} of the whole numbers from {first} up to and including n",
        source,
        _numbers(0, 9, rng),
    )


# Level 2: a loop with a choice


def _sum_where(rng: random.Random) -> ReferenceProgram:
    w = _Words.drawn(rng)
    (test, which), (term, words) = _condition(rng, w.value), _term(rng, w.value)
    source = f"""def {w.function}({w.values}):
    {w.total} = 0
    for {w.value} in {w.values}:
        if {test}:
            {w.total} = {w.total} + {term}
    return {w.total}"""
    return ReferenceProgram(
        w.function, f"the sum of {words} of the numbers {which} in the list {w.values}", source, _lists(rng)
    )


def _list_where(rng: random.Random) -> ReferenceProgram:
    w = _Words.drawn(rng)
    (test, which), (term, words) = _condition(rng, w.value), _term(rng, w.value)
    source = f"""def {w.function}({w.values}):
    {w.total} = []
    for {w.value} in {w.values}:
        if {test}:
            {w.total} = {w.total} + [{term}]
        else:
            {w.total} = {w.total} + [{w.value}]
    return {w.total}"""
    does = f"a list with {words} of the numbers {which}, and the other numbers of the list {w.values} as they are, in the same order"
    return ReferenceProgram(w.function, does, source, _lists(rng))


def _place_of_extreme(rng: random.Random) -> ReferenceProgram:
    w = _Words.drawn(rng)
    sign, word = rng.choice(((">", "largest"), ("<", "smallest")))
    equal, which = rng.choice((("", "first"), ("=", "last")))
    source = f"""def {w.function}({w.values}):
    best = 0
    for {w.index} in range(1, len({w.values})):
        if {w.values}[{w.index}] {sign}{equal} {w.values}[best]:
            best = {w.index}
    return best"""
    does = f"the place (counted from 0) of the {word} number in the list {w.values}, or of the {which} of them if there are several"
    calls = tuple(call for call in _lists(rng, [4, 4, 4], [1, 9, 9, 1], [9, 1, 1, 9], [3, 9, 4], [9, 3, 4]) if call[0])
    return ReferenceProgram(w.function, does, source, calls)


# Level 3: neighbours and digits


def _count_steps(rng: random.Random) -> ReferenceProgram:
    w, step = _Words.drawn(rng), rng.randint(1, 4)
    source = f"""def {w.function}({w.values}):
    {w.total} = 0
    for {w.index} in range(1, len({w.values})):
        if {w.values}[{w.index}] - {w.values}[{w.index} - 1] >= {step}:
            {w.total} = {w.total} + 1
    return {w.total}"""
    does = f"how many numbers in the list {w.values} are larger than the one just before them by {step} or more"
    return ReferenceProgram(w.function, does, source, _lists(rng, [1, 1 + step, 1 + step], [5, 5, 4 + step, 9], high=8))


def _digits(rng: random.Random) -> ReferenceProgram:
    w = _Words.drawn(rng)
    test, which = rng.choice(
        (
            ("digit % 2 == 0", "even"),
            ("digit % 2 == 1", "odd"),
            (f"digit > {(k := rng.randint(2, 7))}", f"greater than {k}"),
        )
    )
    source = f"""def {w.function}(n):
    {w.total} = 0
    while n > 0:
        digit = n % 10
        if {test}:
            {w.total} = {w.total} + digit
        n = n // 10
    return {w.total}"""
    drawn = [rng.randrange(10**size) for size in (3, 4, 5, 6, 4, 2, 5, 7)]
    calls = tuple((number,) for number in (*drawn, 0, 9, 123456789))
    return ReferenceProgram(
        w.function, f"the sum of those digits of the whole number n that are {which}", source, calls
    )


def _longest_run(rng: random.Random) -> ReferenceProgram:
    w = _Words.drawn(rng)
    test, which = _condition(rng, w.value)
    source = f"""def {w.function}({w.values}):
    best = 0
    run = 0
    for {w.value} in {w.values}:
        if {test}:
            run = run + 1
        else:
            run = 0
        best = max(best, run)
    return best"""
    does = f"the length of the longest stretch of neighbours in the list {w.values} that are all numbers {which}"
    calls = _lists(rng, *_runs(rng, test, w.value), *([bound] for bound in range(-3, 11)))
    return ReferenceProgram(w.function, does, source, calls)


def _runs(rng: random.Random, test: str, name: str) -> list[list[int]]:
    """Lists with stretches of numbers that pass a test, a longer one first and then a shorter, and the other way round."""
    program = Program(f"def is_in({name}):\n    return {test}")
    sides: tuple[list[int], list[int]] = ([], [])
    for number in range(-6, 16):
        sides[program.call("is_in", number).value].append(number)
    return [
        [rng.choice(sides[is_in == "y"]) for is_in in plan] for plan in ("yynyyyn", "yyynyyn", "nyynny", "yynynyyyy")
    ]


# Level 4: loops in loops


def _count_pairs(rng: random.Random) -> ReferenceProgram:
    w, goal = _Words.drawn(rng), rng.randint(5, 12)
    test, which = rng.choice(
        (
            (f"== {goal}", f"exactly {goal}"),
            (f"> {goal}", f"more than {goal}"),
            (f"% {goal % 3 + 2} == 0", f"a multiple of {goal % 3 + 2}"),
        )
    )
    source = f"""def {w.function}({w.values}):
    {w.total} = 0
    for a in range(len({w.values})):
        for b in range(a + 1, len({w.values})):
            both = {w.values}[a] + {w.values}[b]
            if both {test}:
                {w.total} = {w.total} + 1
    return {w.total}"""
    does = f"how many pairs of different places in the list {w.values} hold two numbers whose sum is {which}"
    return ReferenceProgram(
        w.function, does, source, _lists(rng, [goal, 0] * 4, [1, goal - 1, 1, 1], [goal, 1], low=0, high=goal)
    )


def _primes(rng: random.Random) -> ReferenceProgram:
    w, first = _Words.drawn(rng), rng.randint(2, 9)
    term, words = rng.choice(
        (
            ("1", "how many prime numbers there are"),
            ("p", "the sum of the prime numbers"),
            ("p * p", "the sum of the squares of the prime numbers"),
        )
    )
    source = f"""def {w.function}(n):
    {w.total} = 0
    for p in range({first}, n + 1):
        is_prime = True
        for d in range(2, p):
            if p % d == 0:
                is_prime = False
        if is_prime:
            {w.total} = {w.total} + {term}
    return {w.total}"""
    return ReferenceProgram(
        w.function,
        f"{words} from {first} up to and including n",
        source,
        tuple((n,) for n in (7, 10, 11, 9, 13, 4, 5, 2, 1)),
    )


def _sorted_in(rng: random.Random) -> ReferenceProgram:
    w = _Words.drawn(rng)
    sign, order = rng.choice((("<=", "ascending"), (">=", "descending")))
    source = f"""def {w.function}({w.values}):
    {w.total} = []
    for {w.value} in {w.values}:
        place = 0
        while place < len({w.total}) and {w.total}[place] {sign} {w.value}:
            place = place + 1
        {w.total} = {w.total}[:place] + [{w.value}] + {w.total}[place:]
    return {w.total}"""
    return ReferenceProgram(
        w.function, f"the numbers of the list {w.values} in {order} order", source, _lists(rng, [3, 3, 1, 3])
    )


# Level 5: functions that call functions, and state that is carried along


def _ways(rng: random.Random) -> ReferenceProgram:
    w, (small, large) = _Words.drawn(rng), rng.choice(((1, 2), (1, 3), (2, 3), (1, 4), (2, 5)))
    source = f"""def {w.function}(n):
    if n < 0:
        return 0
    if n == 0:
        return 1
    {w.total} = {w.function}(n - {small})
    {w.total} = {w.total} + {w.function}(n - {large})
    return {w.total}"""
    does = f"in how many ways one can climb n stairs in strides of {small} or {large} (the order of the strides counts)"
    return ReferenceProgram(w.function, does, source, tuple((n,) for n in (4, 5, 7, 6, 3, 2, 1, 0)))


def _helped(rng: random.Random) -> ReferenceProgram:
    w, base = _Words.drawn(rng), rng.choice((10, 10, 8, 5))
    test, which = rng.choice(
        (("% 2 == 0", "even"), ("% 2 == 1", "odd"), ("% 3 == 0", "a multiple of 3"), (f"> {rng.randint(2, 5)}", ""))
    )
    which = which or f"greater than {test[2:]}"
    digits = "digits" if base == 10 else f"digits in base {base}"
    source = f"""def score(n):
    {w.total} = 0
    while n > 0:
        {w.total} = {w.total} + n % {base}
        n = n // {base}
    return {w.total}

def {w.function}({w.values}):
    count = 0
    for {w.value} in {w.values}:
        if score({w.value}) {test}:
            count = count + 1
    return count"""
    does = f"how many numbers in the list {w.values} (none is below 0) have a sum of {digits} that is {which}"
    return ReferenceProgram(
        w.function, does, source, _lists(rng, [10, 19, 100, 8, 64], [49, 74, 99], [6] * 7, [7] * 7, low=0, high=24)
    )


def _merged(rng: random.Random) -> ReferenceProgram:
    w = _Words.drawn(rng)
    sign, order = rng.choice((("<=", "ascending"), (">=", "descending")))
    source = f"""def {w.function}(a, b):
    i = 0
    j = 0
    {w.total} = []
    while i < len(a) and j < len(b):
        if a[i] {sign} b[j]:
            {w.total} = {w.total} + [a[i]]
            i = i + 1
        else:
            {w.total} = {w.total} + [b[j]]
            j = j + 1
    return {w.total} + a[i:] + b[j:]"""
    lengths = ((3, 3), (4, 2), (2, 4), (3, 1), (1, 3), (0, 2), (2, 0), (4, 4))
    drawn = [tuple([rng.randint(0, 12) for _ in range(n)] for n in pair) for pair in lengths]
    edges = [([1, 2, 8], [5]), ([5], [1, 2, 8]), ([1, 2, 3, 4], [9]), ([9], [1, 2, 3, 4]), ([4, 4], [4])]
    calls = tuple(tuple(sorted(part, reverse=sign == ">=") for part in pair) for pair in (*drawn, *edges))
    does = f"all numbers of the lists a and b in {order} order (both lists are in that order already)"
    return ReferenceProgram(w.function, does, source, calls)


LEVELS: tuple[tuple[Callable[[random.Random], ReferenceProgram], ...], ...] = (
    (_sum_of_terms, _list_of_terms, _sum_of_range),
    (_sum_where, _list_where, _place_of_extreme),
    (_count_steps, _digits, _longest_run),
    (_count_pairs, _primes, _sorted_in),
    (_ways, _helped, _merged),
)
"""From plain to deep."""
