"""What an answer says, and whether it is right: tolerant of form, never of content.

A checker takes any text at all and gives the share that is right, 0 to 1, or None where a judge has to say. It never raises.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from howsure.errors import InputError
from howsure.people.typed import bare, plain_form, readings

__all__ = ["Checker", "Exact", "NeedsJudge", "Pattern"]

_LONGEST_REGEX = 500


class Checker(ABC):
    """Tells right from wrong."""

    @abstractmethod
    def __call__(self, text: str) -> float | None:
        """The score of a reply, 0 to 1, or None where a judge has to say."""

    def rights(self) -> tuple[str, ...]:
        """Every right answer of the form that is asked for; none where they cannot be listed."""
        return ()


@dataclass(frozen=True)
class NeedsJudge(Checker):
    """Somebody has to read it."""

    def __call__(self, text: str) -> None:
        """Not for a program to say."""
        return


@dataclass(frozen=True)
class Exact(Checker):
    """Right where the answer is one of ``answers``, after ``tidy`` has taken away what may differ."""

    answers: tuple[str, ...]
    tidy: Callable[[str], str] = plain_form

    def __call__(self, text: str) -> float:
        """1 or 0."""
        rights = {self.tidy(bare(answer)) for answer in self.answers}
        # the whole text, too, as a page takes it: ". ." for ".."
        return float(any(self.tidy(one) in rights for one in (text, *readings(text))))

    def rights(self) -> tuple[str, ...]:
        """The answers."""
        return self.answers


@dataclass(frozen=True)
class Pattern(Checker):
    """Right where the whole answer matches a regular expression; upper and lower case are the same.

    Matching takes time in proportion to the text, whatever the expression: polars' engine does it, which never backtracks. So it has neither
    look-around nor backreferences, and it refuses what grows beyond 10 MB when compiled.
    """

    regex: str

    def __post_init__(self) -> None:
        if len(self.regex) > _LONGEST_REGEX:
            raise InputError(f"{len(self.regex)} characters are too many. Write at most {_LONGEST_REGEX}.")
        for regex in (self.regex, self._whole):  # alone first: "a)|(b" is whole only when wrapped
            _is_match(regex, ("",))

    def __call__(self, text: str) -> float:
        """1 or 0."""
        return float(_is_match(self._whole, readings(text)))

    @property
    def _whole(self) -> str:
        return rf"(?i)\A(?:{self.regex})\z"


def _is_match(regex: str, texts: tuple[str, ...]) -> bool:
    import polars as pl

    try:
        return bool(pl.Series(texts, dtype=pl.String).str.contains(regex).any())
    except pl.exceptions.ComputeError as error:
        told = str(error).partition("\n\nThis error")[0].splitlines()[-1]
        raise InputError(
            f"{regex!r} cannot be used: {told.rpartition('error: ')[2].rstrip('.')}. Write a plainer one, or list the right answers under answer."
        ) from None
