"""A folder of pages, and the people invited to answer them: one secret link each."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from howsure.errors import InputError, OptionError
from howsure.people.build import BuiltPage, explain, read_pages
from howsure.people.screens import Consent, Item, Screen
from howsure.people.strict_json import canonical, digest
from howsure.safe_io import read_bytes, write_atomic

__all__ = [
    "LINKS",
    "Invitation",
    "Packet",
    "open_packet",
    "seen_record",
    "signed_answers",
    "write_answers",
    "write_private",
]

LINKS = "links.json"


@dataclass(frozen=True)
class Invitation:
    """Who may answer which page with which secret token; `label` is how the researcher knows them."""

    label: str
    rater: str
    page: BuiltPage
    token: str


@dataclass(frozen=True)
class Packet:
    """Pages with their invitations, and the token that opens the researcher's view; ``open`` is that of the open link, if there is one.

    With an open link, invitations are seats without tokens: whoever comes takes the next one.
    """

    folder: Path
    invitations: tuple[Invitation, ...]
    admin: str
    open: str = ""


def open_packet(folder: str | os.PathLike[str], n_raters: int | None = None, *, is_open: bool = False) -> Packet:
    """The packet in a folder. Tokens are drawn on first use and kept in ``links.json``, which only its owner may read.

    A page made for one person gets one link. A single page made for everyone gets `n_raters` links. ``is_open``: one link for all, which
    hands out the pages in turn.
    """
    folder = Path(folder)
    pages = read_pages(folder)
    kept = _kept(folder / LINKS)
    invited = list(_invited(folder, pages, n_raters, kept))
    if is_open and kept.tokens and not kept.open:
        raise OptionError(
            f"{folder}: its pages were handed out by personal links before. Build a new packet for an open link."
        )
    if kept.open and not is_open:
        raise OptionError(f"{folder}: its pages are handed out by an open link. Pass --one-link again.")
    tokens = {label: kept.tokens.get(label) or secrets.token_urlsafe(24) for label, _, _ in invited}
    links = _Links(
        admin=kept.admin or secrets.token_urlsafe(24),
        tokens={} if is_open else kept.tokens | tokens,
        open=kept.open or secrets.token_urlsafe(24) if is_open else "",
    )
    if links != kept:
        write_private(folder / LINKS, links.model_dump_json(indent=1) + "\n")
    invitations = (Invitation(label, rater, page, "" if is_open else tokens[label]) for label, rater, page in invited)
    return Packet(folder, tuple(invitations), links.admin, links.open)


def write_private(path: Path, text: str) -> Path:
    """Write a file that only its owner may read, completely or not at all.

    Parameters
    ----------
    path : Path
        The file.
    text : str
        Its content.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=".", dir=path.parent)  # made with mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror or error}). Use a folder that you may write to."
        ) from None
    return path


class _Links(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    admin: str = ""
    tokens: dict[str, str] = {}
    open: str = ""


def _kept(path: Path) -> _Links:
    if not path.exists():
        return _Links()
    try:
        return _Links.model_validate_json(read_bytes(path))
    except (ValidationError, json.JSONDecodeError) as error:
        told = explain(error) if isinstance(error, ValidationError) else str(error)
        raise InputError(
            f"{path}: not the links that Howsure keeps ({told}). Restore it, or remove it to draw new links."
        ) from None


def _invited(
    folder: Path, pages: dict[str, BuiltPage], n_raters: int | None, kept: _Links
) -> Iterator[tuple[str, str, BuiltPage]]:
    """Label, rater and page of everyone who gets a link."""
    shared = [name for name, page in pages.items() if not page.page.rater]
    if not shared:
        _refuse_shared_names(folder, pages)
        if n_raters is not None:
            raise OptionError(f"{folder}: its {len(pages)} pages were each made for one person; omit --raters.")
        yield from ((name, page.page.rater, page) for name, page in pages.items())
        return
    if len(pages) > 1:
        raise InputError(
            f"{folder}: {shared[0]}.html is made for everyone and cannot be served beside others. Move it to another folder."
        )
    n_links = max(n_raters or 0, len(kept.tokens))
    if not n_links:
        raise OptionError(f"{folder}: {shared[0]}.html is made for everyone; pass --raters N for N secret links.")
    yield from ((f"rater-{n:03d}", f"rater-{n:03d}", pages[shared[0]]) for n in range(1, n_links + 1))


def _refuse_shared_names(folder: Path, pages: dict[str, BuiltPage]) -> None:
    by_rater: dict[str, str] = {}
    for name, page in pages.items():
        if other := by_rater.get(page.page.rater):
            raise InputError(
                f"{folder}: {other}.html and {name}.html are both made for {page.page.rater!r}. Remove one."
            )
        by_rater[page.page.rater] = name


# Answers of simulated people to the real pages, so that the whole way to the result can be tried before anyone is invited.


_BEGUN = datetime(2000, 1, 1, 9, tzinfo=UTC)  # no time at which anyone answers
_READING = 30_000


def signed_answers(page: BuiltPage, rater: str, screens: Mapping[str, Mapping[str, Any]]) -> str:
    """The file that the page would send for these records: begun at a fixed time, ended when all screens were seen."""
    ended = _BEGUN + timedelta(milliseconds=sum(record["ms"] for record in screens.values()))
    begun, finished = (time.isoformat(timespec="milliseconds").replace("+00:00", "Z") for time in (_BEGUN, ended))
    who = {"format": "howsure-result/1", "page": page.digest, "rater": rater}
    body = {**who, "started": begun, "finished": finished, "reloads": 0, "screens": dict(screens)}
    return canonical({**body, "digest": digest(body)})


def write_answers(folder: str | os.PathLike[str], text_by_rater: Mapping[str, str]) -> list[Path]:
    """Write the files that people would send back."""
    return [write_atomic(Path(folder) / f"answers-{rater}.json", f"{text}\n") for rater, text in text_by_rater.items()]


def seen_record(screen: Screen) -> dict[str, Any]:
    """What a willing person leaves on a screen that asks nothing about an item: time, consent, the answers with which a screening lets them go on."""
    seen = {"kind": screen.kind, "ms": _READING, "visits": 1}
    if isinstance(screen, Consent):
        return {**seen, "agreed": True}
    if isinstance(screen, Item):
        return {**seen, "answers": {name: admitted[0] for name, admitted in screen.admits.items()}, "revisions": {}}
    return seen
