"""What an answer says, and whether it is right: tolerant of form, never of content.

A checker takes any text at all and gives the share that is right, 0 to 1, or None where a judge has to say. It never raises.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from howsure.errors import InputError
from howsure.pages.blinding import normal_number, normal_text

__all__ = ["Checker", "Exact", "Judged", "Pattern", "plain_form", "readings"]

_LONGEST_REPLY = 10_000
_LONGEST_REGEX = 500
_MARK = re.compile(r"\banswer\b[ *_`]{0,4}(?:is[ *_`]{0,4})?:[ *_`]{0,4}", re.IGNORECASE)
_FENCE = re.compile(r"\s*(?:```|~~~)\w*\s*")
_BOX = re.compile(r"\\boxed\{(.*)\}")
_WRAPPING = " \t\r\n\"'`*_$“”‘’«»"
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")


class Checker(ABC):
    """Tells right from wrong."""

    @abstractmethod
    def __call__(self, text: str) -> float | None:
        """The score of a reply, 0 to 1, or None where a judge has to say."""

    def rights(self) -> tuple[str, ...]:
        """Every right answer of the form that is asked for; none where they cannot be listed."""
        return ()


@dataclass(frozen=True)
class Judged(Checker):
    """Somebody has to read it."""

    def __call__(self, text: str) -> None:
        """Not for a program to say."""
        return


def plain_form(text: str) -> str:
    """An answer as it is compared: without regard to case and spaces, numbers in their shortest form.

    >>> plain_form(" New York "), plain_form("1,250.50"), plain_form("−07")
    ('newyork', '1250.5', '-7')
    """
    bare = text.replace(",", "") if _THOUSANDS.fullmatch(text.strip()) else text
    return normal_number(bare, 15) or normal_text(text)


@dataclass(frozen=True)
class Exact(Checker):
    """Right where the answer is one of ``answers``, after ``tidy`` has taken away what may differ."""

    answers: tuple[str, ...]
    tidy: Callable[[str], str] = plain_form

    def __call__(self, text: str) -> float:
        """1 or 0."""
        rights = {self.tidy(_bare(answer)) for answer in self.answers}
        return float(any(self.tidy(one) in rights for one in readings(text)))

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


def readings(text: str) -> tuple[str, ...]:
    r"""The ways to read the final answer off a reply, the likelier first.

    What follows the last ``Answer:`` counts: the rest of its line, or all that is left. Without one it is the whole reply, or its last line.

    >>> readings("Answer: 3? No.\n**Answer:** 42.")
    ('42',)
    >>> readings("So it must be\n42")
    ('So it must be\n42', '42')
    """
    parts = _MARK.split(text[-_LONGEST_REPLY:])
    lines = [line for line in parts[-1].splitlines() if not _FENCE.fullmatch(line) and line.strip()]
    if not lines:
        return ()
    left = "\n".join(lines)
    found = (lines[0], left) if len(parts) > 1 else (left, lines[-1])
    return tuple(dict.fromkeys(bare for bare in map(_bare, found) if bare))


def _bare(text: str) -> str:
    """Without quotes, emphasis, a box, the full stop of a sentence, and halves of letters that cannot be encoded; unless nothing else is there."""
    whole = text.encode("utf-8", "replace").decode().strip()
    bare = whole.strip(_WRAPPING)
    bare = bare if bare.endswith("..") else bare.removesuffix(".").rstrip(_WRAPPING)
    boxed = _BOX.fullmatch(bare)
    return (boxed[1].strip() if boxed else bare) or whole


def _is_match(regex: str, texts: tuple[str, ...]) -> bool:
    import polars as pl

    try:
        return bool(pl.Series(texts, dtype=pl.String).str.contains(regex).any())
    except pl.exceptions.ComputeError as error:
        told = str(error).partition("\n\nThis error")[0].splitlines()[-1]
        raise InputError(
            f"{regex!r} cannot be used: {told.rpartition('error: ')[2].rstrip('.')}. Write a plainer one, or list the right answers under answer."
        ) from None
