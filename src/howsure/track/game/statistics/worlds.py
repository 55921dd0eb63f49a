"""States that are no statistics of numbers: cards, boxes, a running sum, an automaton, variables, a ledger.

Each has a dial for the size of its state (``boxes-7``: seven boxes), and a guess is any possible answer, each as likely as the other. They differ in what a reply
reveals: after `Sums` and `Automaton` the whole state is the last answer, so that showing the state adds nothing and errors are errors of execution; in the others a turn
asks for a part of the state, and the rest has to be kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, ClassVar

import numpy as np

from howsure.track.game.statistics.base import Statistic, Update

__all__ = ["Automaton", "Boxes", "Ledger", "Permutation", "Repl", "Sums"]

_PEOPLE = ("Anna", "Ben", "Cleo", "Dov", "Ella", "Finn", "Gwen", "Hugo", "Iris", "Jon")
_THINGS = (
    "key", "pen", "cup", "coin", "ring", "map", "shell", "lamp", "rope", "bell", "book", "leaf", "comb", "dice", "drum", "fork", "glove", "hat", "nail", "plum",
)  # fmt: skip
_COINS = 50  # of each person at the start
_SYMBOLS = "abc"
_MODULUS = 100


class _World(Statistic):
    """A state of a known number of parts; `n_answers` possible answers from `first_answer` on."""

    first_answer: ClassVar[int] = 1
    rule = ""

    @property
    def n_answers(self) -> int:
        """How many answers are possible."""
        return self.size

    def probability(self, said: float) -> float:
        """One of all possible answers."""
        is_possible = said == int(said) and self.first_answer <= said < self.first_answer + self.n_answers
        return 1 / self.n_answers if is_possible else 0.0

    @classmethod
    def guess(cls, seen: Sequence[Update], rng: np.random.Generator) -> float:
        """Any possible answer."""
        return cls.first_answer + int(rng.integers(cls().n_answers))

    @classmethod
    def _rng(cls, *seeds: int) -> np.random.Generator:
        return np.random.default_rng([*seeds, cls.size])


class Permutation(_World):
    """Cards in a row that change places: the word problem of the symmetric group (``permutation-3`` is S3, ``permutation-5`` S5)."""

    name, size, sizes, explicit = "permutation", 5, (2, 9), "helps"
    task = "the number of the card that now lies at place 1"
    state = "the cards from left to right"

    def __init__(self) -> None:
        self._cards = self._other = list(range(1, self.size + 1))

    def update(self, update: Update) -> None:
        """The card at the first place that is named comes first, and so on."""
        places = [int(digit) - 1 for digit in str(update)]
        self._cards = [self._cards[place] for place in places]
        other = self._other.copy()
        for place, card in zip(places, self._other, strict=True):
            other[place] = card
        self._other = other

    def answer(self) -> float:
        """The first card."""
        return self._cards[0]

    def render(self) -> str:
        """All cards."""
        return " ".join(map(str, self._cards))

    def by_another_rule(self) -> Collection[float]:
        """For those who read the places as where each card goes (the inverse permutation)."""
        return (self._other[0],)

    @classmethod
    def updates(cls, seed: int, n: int, low: int, high: int) -> list[Update]:
        """Permutations, each as likely as the other."""
        rng = cls._rng(seed)
        return ["".join(map(str, rng.permutation(cls.size) + 1)) for _ in range(n)]

    @classmethod
    def event(cls, update: Update) -> str:
        """The places."""
        return f"New order: {' '.join(str(update))}"

    @classmethod
    def intro(cls) -> str:
        """How cards change places."""
        return (
            f"{cls.size} cards lie in a row. They have the numbers 1 to {cls.size}, in this order from left to right. Each message gives the cards a new order by "
            'their places: after "New order: 2 …" the card that was at place 2 lies at place 1, the card at the second place that is named lies at place 2, and so on.'
        )


class Boxes(_World):
    """Things in boxes (entity tracking): two boxes exchange what they hold, or one thing moves, and the turn asks where a thing is.

    Mostly boxes exchange: a thing that is put into a named box makes everything before it irrelevant, so that a short memory would be enough.
    """

    name, size, sizes, explicit = "boxes", 7, (2, 20), "helps"
    task = "the number of the box that holds the thing that the message asks for"
    state = "which box each thing is in"

    def __init__(self) -> None:
        self._box = list(range(1, self.size + 1))
        self._asked = 0

    def update(self, update: Update) -> None:
        """Exchange two boxes, or move one thing."""
        kind, first, box, asked = _fields(update)
        if kind == "t":
            self._box[first] = box
        else:
            swapped = {first: box, box: first}
            self._box = [swapped.get(one, one) for one in self._box]
        self._asked = asked

    def answer(self) -> float:
        """The box of the thing that is asked for."""
        return self._box[self._asked]

    def render(self) -> str:
        """Thing → box."""
        return ", ".join(f"{thing}: {box}" for thing, box in zip(_THINGS, self._box, strict=False))

    @classmethod
    def updates(cls, seed: int, n: int, low: int, high: int) -> list[Update]:
        """One of four updates moves a thing, the others exchange two boxes."""
        rng, found = cls._rng(seed), []
        for _ in range(n):
            is_thing = rng.random() < 0.25
            first, further, asked = (
                int(rng.integers(cls.size)),
                int(rng.integers(1, cls.size)),
                int(rng.integers(cls.size)),
            )
            box = (first + further) % cls.size
            found.append(f"{'t' if is_thing else 'b'} {first if is_thing else first + 1} {box + 1} {asked}")
        return list(found)

    @classmethod
    def event(cls, update: Update) -> str:
        """What moves where."""
        kind, first, box, _ = _fields(update)
        if kind == "t":
            return f"The {_THINGS[first]} goes into box {box}."
        return f"Box {first} and box {box} exchange their contents."

    @classmethod
    def question(cls, update: Update) -> str:
        """Where a thing is."""
        return f"In which box is the {_THINGS[_fields(update)[3]]}?"

    @classmethod
    def intro(cls) -> str:
        """Where things are at the start."""
        start = ", ".join(f"the {thing} in box {n}" for n, thing in enumerate(_THINGS[: cls.size], 1))
        return f"There are {cls.size} boxes. At the start each holds one thing: {start}. In each message a thing goes into a box, where it may be already, or two boxes exchange all that they hold."


class Sums(_World):
    """Keys with values that are added up, as in the Long Horizon Execution benchmark: each turn names a key."""

    name, size, sizes, explicit = "sums", 20, (2, 100), "useless"
    task = "the sum of the values of all words so far"
    state = "the sum so far"

    def __init__(self) -> None:
        self._sum = self._n = 0

    def update(self, update: Update) -> None:
        """Add the value."""
        self._sum += self.values()[str(update)]
        self._n += 1

    def answer(self) -> float:
        """The sum."""
        return self._sum

    def render(self) -> str:
        """The sum."""
        return str(self._sum)

    def probability(self, said: float) -> float:
        """Any sum that so many values can have."""
        low, high = self._n * min(self.values().values()), self._n * max(self.values().values())
        return 1 / (high - low + 1) if low <= said <= high and said == int(said) else 0.0

    @classmethod
    def guess(cls, seen: Sequence[Update], rng: np.random.Generator) -> float:
        """Any sum that so many values can have."""
        low, high = min(cls.values().values()), max(cls.values().values())
        return int(rng.integers(len(seen) * low, len(seen) * high + 1))

    @classmethod
    def values(cls) -> dict[str, int]:
        """The value of each word, the same in all games of a size."""
        if "_values" not in cls.__dict__:
            rng = cls._rng(1)
            words = [f"{a}{e}{z}" for a in "bdglmnprt" for e in "aeiou" for z in "lmnr"]
            chosen = sorted(words[int(place)] for place in rng.permutation(len(words))[: cls.size])
            cls._values = dict(zip(chosen, rng.integers(1, 100, cls.size).tolist(), strict=True))
        return cls._values

    _values: ClassVar[dict[str, int]]

    @classmethod
    def updates(cls, seed: int, n: int, low: int, high: int) -> list[Update]:
        """Words, each as likely as the other."""
        words = list(cls.values())
        return [words[int(place)] for place in cls._rng(seed).integers(cls.size, size=n)]

    @classmethod
    def reference(cls) -> str:
        """All values."""
        return ", ".join(f"{word} = {value}" for word, value in cls.values().items())

    @classmethod
    def intro(cls) -> str:
        """All values, and where the sum starts."""
        return f"Words have values: {cls.reference()}. Each message names words from this list; the sum starts at 0."


class Automaton(_World):
    """A finite automaton with three symbols. Each symbol permutes the states, so that no start is ever forgotten."""

    name, size, sizes, explicit = "automaton", 8, (2, 30), "useless"
    task = "the number of the state that the machine is in now"
    state = "the state of the machine"

    def __init__(self) -> None:
        self._state = 1

    def update(self, update: Update) -> None:
        """Follow the arrow."""
        self._state = self.table()[str(update)][self._state - 1]

    def answer(self) -> float:
        """The state."""
        return self._state

    def render(self) -> str:
        """The state."""
        return str(self._state)

    @classmethod
    def table(cls) -> dict[str, list[int]]:
        """Symbol → the state after each state, the same in all games of a size."""
        if "_table" not in cls.__dict__:
            rng = cls._rng(2)
            cls._table = {symbol: (rng.permutation(cls.size) + 1).tolist() for symbol in _SYMBOLS}
        return cls._table

    _table: ClassVar[dict[str, list[int]]]

    @classmethod
    def updates(cls, seed: int, n: int, low: int, high: int) -> list[Update]:
        """Symbols, each as likely as the other."""
        return [_SYMBOLS[int(place)] for place in cls._rng(seed).integers(len(_SYMBOLS), size=n)]

    @classmethod
    def reference(cls) -> str:
        """The table of transitions."""
        return "\n".join(
            f"{symbol}: " + ", ".join(f"{before}→{after}" for before, after in enumerate(after_all, 1))
            for symbol, after_all in cls.table().items()
        )

    @classmethod
    def intro(cls) -> str:
        """The table of transitions, and where the machine starts."""
        start = f"A machine has the states 1 to {cls.size} and starts in state 1."
        return f"{start} Each message is an input; it changes the state as follows.\n{cls.reference()}"


class Repl(_World):
    """A trace of a small program: variables that are computed from one another modulo 100; each turn prints one."""

    name, size, sizes, explicit, first_answer = "repl", 4, (2, 20), "helps", 0
    task = "the number that the last line prints"
    state = "the values of the variables"

    def __init__(self) -> None:
        self._values = list(range(1, self.size + 1))
        self._asked = 0

    @property
    def n_answers(self) -> int:
        """All numbers below the modulus."""
        return _MODULUS

    def update(self, update: Update) -> None:
        """Run a statement."""
        kind, target, first, second, asked = _fields(update)
        value = self._values[first]
        value = value + self._values[second] if kind == "v" else value + second if kind == "k" else value * second
        self._values[target] = value % _MODULUS
        self._asked = asked

    def answer(self) -> float:
        """The value of the variable that is printed."""
        return self._values[self._asked]

    def render(self) -> str:
        """All values."""
        return ", ".join(f"{_variable(i)} = {value}" for i, value in enumerate(self._values))

    @classmethod
    def updates(cls, seed: int, n: int, low: int, high: int) -> list[Update]:
        """Sums of two variables, sums with a number, and products with 3 or 7, which lose nothing modulo 100."""
        rng, found = cls._rng(seed), []
        for _ in range(n):
            kind = "vkx"[int(rng.integers(3))]
            target, first, other, asked = (int(one) for one in rng.integers(cls.size, size=4))
            second = other if kind == "v" else int(rng.integers(1, _MODULUS)) if kind == "k" else (3, 7)[other % 2]
            found.append(f"{kind} {target} {first} {second} {asked}")
        return list(found)

    @classmethod
    def event(cls, update: Update) -> str:
        """The statement."""
        kind, target, first, second, _ = _fields(update)
        right = f"{'*' if kind == 'x' else '+'} {_variable(second) if kind == 'v' else second}"
        return f">>> {_variable(target)} = ({_variable(first)} {right}) % {_MODULUS}"

    @classmethod
    def question(cls, update: Update) -> str:
        """What is printed."""
        return f">>> print({_variable(_fields(update)[4])})"

    @classmethod
    def intro(cls) -> str:
        """The variables at the start."""
        start = ", ".join(f"{_variable(i)} = {i + 1}" for i in range(cls.size))
        return f"A Python session has the variables {start}. Each message shows what is typed next. % is the remainder of a division."


class Ledger(_World):
    """Who has how many coins, in everyday words: people give coins to one another, and the turn asks for one of them."""

    name, size, sizes, explicit, first_answer = "ledger", 5, (2, 10), "helps", 0
    task = "how many coins the person that the message asks for has now"
    state = "how many coins each person has"

    def __init__(self) -> None:
        self._coins = [_COINS] * self.size
        self._asked = 0

    @property
    def n_answers(self) -> int:
        """Anybody may have none or all."""
        return self.size * _COINS + 1

    def update(self, update: Update) -> None:
        """Hand over."""
        _, giver, taker, coins, asked = _fields(f"g {update}")
        self._coins[giver] -= coins
        self._coins[taker] += coins
        self._asked = asked

    def answer(self) -> float:
        """The coins of the person who is asked for."""
        return self._coins[self._asked]

    def render(self) -> str:
        """Everybody's coins."""
        return ", ".join(f"{person}: {coins}" for person, coins in zip(_PEOPLE, self._coins, strict=False))

    @classmethod
    def updates(cls, seed: int, n: int, low: int, high: int) -> list[Update]:
        """Somebody who has coins gives 1 to 9 of them to somebody else."""
        rng, coins, found = cls._rng(seed), [_COINS] * cls.size, []
        for _ in range(n):
            givers = [person for person in range(cls.size) if coins[person]]
            giver = givers[int(rng.integers(len(givers)))]
            taker = (giver + 1 + int(rng.integers(cls.size - 1))) % cls.size
            given = min(int(rng.integers(1, 10)), coins[giver])
            coins[giver] -= given
            coins[taker] += given
            found.append(f"{giver} {taker} {given} {int(rng.integers(cls.size))}")
        return list(found)

    @classmethod
    def event(cls, update: Update) -> str:
        """Who gives what to whom."""
        _, giver, taker, coins, _ = _fields(f"g {update}")
        return f"{_PEOPLE[giver]} gives {_PEOPLE[taker]} {coins} {'coin' if coins == 1 else 'coins'}."

    @classmethod
    def question(cls, update: Update) -> str:
        """For whom."""
        return f"How many coins does {_PEOPLE[_fields(f'g {update}')[4]]} have?"

    @classmethod
    def intro(cls) -> str:
        """What everybody has at the start."""
        names = ", ".join(_PEOPLE[: cls.size])
        return f"These people have {_COINS} coins each: {names}. In each message they give coins to one another."


def _fields(update: Update) -> list[Any]:
    kind, *numbers = re.split(r"\s+", str(update))
    return [kind, *map(int, numbers)]


def _variable(place: int) -> str:
    return chr(ord("a") + place)
