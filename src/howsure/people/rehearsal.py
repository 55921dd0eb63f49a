"""Answers of simulated people to the real pages, so that the whole way to the result can be tried before anyone is invited."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from howsure.people.build import BuiltPage
from howsure.people.screens import Consent, Item, Screen
from howsure.people.strict_json import canonical, digest
from howsure.safe_io import write_atomic

__all__ = ["seen_record", "signed_answers", "write_answers"]

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
