"""The rules of the game: a number is shown, an answer judged; the first that is wrong or malformed ends it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol, get_args

import polars as pl

from howsure.track.game.prompts import is_right, parse
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import Step, statistic

__all__ = [
    "BROKEN_OFF",
    "COMPLETE",
    "ENDINGS",
    "ERROR_KINDS",
    "FAILURES",
    "IS_CENSORED",
    "IS_ERROR",
    "NO_ANSWER",
    "Ending",
    "ErrorKind",
    "Game",
    "Player",
    "Referee",
    "chance_kinds",
    "ended_by",
    "error_counts",
    "guess_kinds",
    "play",
]

ErrorKind = Literal["format", "stale", "tie", "rank", "other"]
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
"""How a game can end before its numbers do, in the order in which they are tried.

``format`` no answer in brackets; ``stale`` what was right one turn earlier; ``tie`` right under another rule for ties or even lengths; ``rank`` one
rank or one count beside; ``other`` anything else. An answer that fits several counts as the first.
"""


class Player(Protocol):
    """Somebody who plays one sequence."""

    def reply(self, step: Step) -> str:
        """What is said after a turn's number, or its other updates."""


@dataclass(frozen=True, slots=True)
class Game:
    """How one sequence of ``length`` numbers was played: ``max_length`` right answers, then ``error_kind``, or none to the end.

    ``answer`` and ``truth`` are those of the turn that ended it; a malformed reply has no answer.
    """

    length: int
    max_length: int
    error_kind: ErrorKind | None = None
    answer: float | None = None
    truth: float | None = None

    @property
    def is_violation(self) -> bool:
        """Whether the format ended it."""
        return self.error_kind == "format"

    @property
    def is_complete(self) -> bool:
        """Whether every number was answered rightly: nobody knows how much longer it would have gone on."""
        return self.max_length == self.length


class Referee:
    """Keeps the statistic beside a game and judges each answer.

    >>> referee = Referee("median", length=2)
    >>> referee.show(4), referee.judge(4.0)
    (None, True)
    >>> referee.show(9), referee.judge(9.0)
    (None, False)
    >>> referee.game.max_length, referee.game.error_kind
    (1, 'tie')
    """

    def __init__(self, variant: str, length: int) -> None:
        self.variant, self.length = variant, length
        self.statistic = statistic(variant)()
        self._n_right = 0
        self._before = self._truth = math.nan
        self._error: tuple[ErrorKind, float | None, float] | None = None
        self.marks = ""  # of each turn that was judged: 1 right, 0 wrong, x without an answer

    def show(self, step: Step) -> None:
        """The next number, or what else the turn shows, is on the table."""
        self.statistic.take(step)
        self._before, self._truth = self._truth, self.statistic.answer()

    def judge(self, answer: float | None) -> bool:
        """Whether the answer to the number shown is right; None stands for a reply without one."""
        is_correct = answer is not None and is_right(answer, self._truth)
        self.marks += "1" if is_correct else "x" if answer is None else "0"
        if self._error is None:  # where the game goes on after an error, the first one counts
            self._n_right += is_correct
            if not is_correct:
                self._error = self._kind(answer), answer, self._truth
        return is_correct

    @property
    def truth(self) -> float:
        """The right answer to what was shown last."""
        return self._truth

    @property
    def game(self) -> Game:
        """How it stands."""
        return Game(self.length, self._n_right, *(self._error or ()))

    def guess_kinds(self) -> dict[ErrorKind, float]:
        """The kinds of errors that a wrong guess would be now, as shares; nothing where no guess can be wrong."""
        tracked = self.statistic
        told, shares = {self._truth}, {}
        p_right = tracked.chance()
        if 1 - p_right < 1e-12:
            return {}
        for kind, answers in self._mistakes():
            new = set(answers) - told
            shares[kind] = sum(tracked.probability(answer) for answer in new) / (1 - p_right)
            told |= new
        return shares | {"other": max(1 - sum(shares.values()), 0.0)}

    def _kind(self, answer: float | None) -> ErrorKind:
        if answer is None:
            return "format"
        fitting = (kind for kind, answers in self._mistakes() if any(is_right(answer, one) for one in answers))
        return next(fitting, "other")

    def _mistakes(self) -> list[tuple[ErrorKind, Collection[float]]]:
        """The likely mistakes in the order in which they are tried, and what is said by who makes them."""
        stale = () if math.isnan(self._before) else (self._before,)
        return [("stale", stale), ("tie", self.statistic.by_another_rule()), ("rank", self.statistic.one_off())]


def play(player: Player, variant: str, steps: Sequence[Step]) -> Game:
    """Play one sequence to its end or to the first error."""
    referee = Referee(variant, len(steps))
    for step in steps:
        referee.show(step)
        if not referee.judge(parse(player.reply(step), variant)):
            break
    return referee.game


def guess_kinds(variant: str, steps: Sequence[Step]) -> dict[ErrorKind, float]:
    """The kinds of errors of a wrong guess after these numbers, as shares: exact, for the player ``random``.

    >>> guess_kinds("median", [10, 20])
    {'stale': 0.5, 'tie': 0.5, 'rank': 0.0, 'other': 0.0}
    """
    referee = Referee(variant, len(steps))
    for step in steps:
        referee.show(step)
    return referee.guess_kinds()


# How games end, and what that says of how long the player would have lasted.


Ending = Literal["complete", "error", "no_answer", "interrupted", "limit"]
ENDINGS: tuple[Ending, ...] = get_args(Ending)
"""How a game ended (column ``ended_by``).

``complete`` every turn was right: censored at the game's length. ``error`` a wrong or malformed answer. ``no_answer`` the model refused, said nothing, was
cut off before its answer, or wrote notes where they were forbidden: its own act, so an error in that turn; as an upper bound, censored there.
``interrupted`` a server's failure, or a budget of time or money: censored, as it has nothing to do with the answers. ``limit`` the context
window or a limit of tokens or messages was reached: censored, but such games may differ from others, so that bounds are shown too.
"""

FAILURES: dict[str, Ending] = {
    "api": "interrupted",
    "error": "interrupted",
    "cancelled": "interrupted",
    "time_limit": "interrupted",
    "working_limit": "interrupted",
    "cost_limit": "interrupted",
    "operator_limit": "interrupted",
    "budget": "interrupted",
    "context": "limit",
    "token_limit": "limit",
    "message_limit": "limit",
    "turn_limit": "limit",
    "custom_limit": "limit",
    "limit": "limit",  # one that an older version did not name
    "length": "limit",  # a full context or a cut reply, which an older version did not tell apart
    "refusal": "no_answer",
    "null": "no_answer",
    "cut": "no_answer",
    "notes": "no_answer",
}
"""Why a game was interrupted (column ``failure``), and which ending that is."""

IS_ERROR = pl.col("ended_by").is_in(["error", "no_answer"])
"""Whether the player's error ended the game, in the turn after ``max_length`` correct ones."""
IS_CENSORED = pl.col("ended_by").is_in(["interrupted", "limit"])
"""Whether the game was interrupted: at least ``max_length`` correct turns, and nothing is known of the next."""


def ended_by() -> pl.Expr:
    """The column ``ended_by``, from ``failure`` and ``error_kind``."""
    broken = pl.col("failure").replace_strict(FAILURES, default=None, return_dtype=pl.String)
    whole = pl.when(pl.col("error_kind").is_null()).then(pl.lit("complete")).otherwise(pl.lit("error"))
    return pl.coalesce(broken, whole).alias("ended_by")


# Which kinds of errors came first, and which kinds guessing would have shown in the same turns.


NO_ANSWER, BROKEN_OFF, COMPLETE = "no_answer", "broken_off", "none"
"""How games end beside the kinds of errors: without an answer, interrupted, and without an error."""


def error_counts(games: pl.DataFrame) -> dict[str, int]:
    """How many games ended in each way."""
    word = {"complete": COMPLETE, "no_answer": NO_ANSWER, "interrupted": BROKEN_OFF, "limit": BROKEN_OFF}
    ends = pl.when(pl.col("ended_by") == "error").then("error_kind").otherwise(pl.col("ended_by").replace(word))
    counts = dict(games.select(ends.alias("end"))["end"].value_counts().iter_rows())
    return {kind: counts.get(kind, 0) for kind in (*ERROR_KINDS, NO_ANSWER, BROKEN_OFF, COMPLETE)}


def chance_kinds(games: pl.DataFrame) -> dict[str, float]:
    """The kinds of errors of somebody who guesses wrongly in the turns in which these games ended by a wrong answer: shares that add up to 1.

    Exact: over all wrong guesses of the player ``random``, given the numbers shown until then. Nothing where no game ended by a wrong answer.
    """
    wrong = games.filter(pl.col("ended_by") == "error", pl.col("error_kind") != "format")
    shares = [_kinds_at(*row) for row in wrong.select("variant", "setting", "length", "seed", "max_length").rows()]
    known = [one for one in shares if one]
    kinds = [kind for kind in ERROR_KINDS if kind != "format"]
    return {kind: sum(one.get(kind, 0.0) for one in known) / len(known) for kind in kinds} if known else {}


@lru_cache(maxsize=100_000)
def _kinds_at(variant: str, setting: str, length: int, seed: int, n_right: int) -> Mapping[ErrorKind, float]:
    return guess_kinds(variant, Setting.of(setting, length).steps(variant, seed)[: n_right + 1])
