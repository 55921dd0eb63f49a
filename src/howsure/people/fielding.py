"""How a study meets its raters: the open link, what a platform that pays them asks for, and when the study is over."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from howsure.errors import OptionError
from howsure.people.store import Final

__all__ = ["Decision", "Fielding", "Quotas"]

ID_PARAMETERS = ("PROLIFIC_PID", "workerId", "participant_id", "participant", "pid", "id")
"""Where platforms put a person's id: Prolific, Mechanical Turk, and usual names."""

_ID = re.compile(r"[A-Za-z0-9._@:+-]{1,80}")


@dataclass(frozen=True)
class Fielding:
    """What people get at the end, and who may come by the open link.

    Parameters
    ----------
    completion_code, completion_url : str
        Shown with the receipt; ``{id}`` in the address becomes the person's id.
    screen_out_code, screen_out_url : str
        The same for people whom a screening turned away.
    id_parameters : tuple[str, ...]
        Names of the address's parameter that holds a person's id, the first that is there counts.
    ids : frozenset[str] | None
        The ids that may take part; None: any.
    away_minutes : float
        After how many minutes without a sign of life an unfinished place is given to somebody else.
    """

    completion_code: str = ""
    completion_url: str = ""
    screen_out_code: str = ""
    screen_out_url: str = ""
    id_parameters: tuple[str, ...] = ID_PARAMETERS
    ids: frozenset[str] | None = None
    away_minutes: float = 60

    def __post_init__(self) -> None:
        for url in (self.completion_url, self.screen_out_url):
            if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc):
                raise OptionError(f"{url}: not an address that people can be sent to. It begins with https://.")
        if self.away_minutes <= 0:
            raise OptionError(f"{self.away_minutes:g} minutes away is not above 0.")

    def end(self, person: str = "", *, is_screened_out: bool = False) -> dict[str, str] | None:
        """The code and the address for a person who is done; None where nothing is set."""
        pair = (
            (self.screen_out_code, self.screen_out_url)
            if is_screened_out
            else (self.completion_code, self.completion_url)
        )
        told = {"code": pair[0], "url": pair[1].replace("{id}", quote(person, safe=""))}
        return {name: text for name, text in told.items() if text} or None

    def person(self, query: Mapping[str, str]) -> str:
        """The id in an address's parameters, or nothing."""
        given = next((query[name] for name in self.id_parameters if query.get(name)), "")
        return given if _ID.fullmatch(given) else ""

    def admits(self, person: str) -> bool:
        """Whether a person with this id may take part."""
        return self.ids is None or person in self.ids


@dataclass(frozen=True)
class Quotas:
    """How many ratings each item wants, and which items each page shows."""

    wanted: int
    items_by_seat: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """Where a live study stands: whether it is over, what it found so far in words, and the items that need no more ratings."""

    is_over: bool
    message: str
    decided: frozenset[str] = frozenset()


Decide = Callable[[Sequence[Final]], Decision]
"""Looks at all final answers, in the order in which they came, and says whether more are needed."""
