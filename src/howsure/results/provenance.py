"""What made a result, and how values go to JSON."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from howsure._version import __version__
from howsure.errors import interruption_notes
from howsure.estimates import Estimate
from howsure.outside_text import json_text
from howsure.safe_io import write_atomic
from howsure.tables import Table

__all__ = ["Provenance", "columns_of", "plain", "write_json"]


@dataclass(frozen=True)
class Provenance:
    """Which input, settings, seed and version made a result, and what was noticed on the way."""

    settings: Mapping[str, Any]
    digest: str = ""
    seed: int | None = None
    notes: tuple[str, ...] = ()
    version: str = field(default=__version__)

    def __post_init__(self) -> None:
        notes = (*self.notes, *_few_replicates(self.settings), *interruption_notes())
        object.__setattr__(self, "notes", tuple(dict.fromkeys(notes)))

    @classmethod
    def of(cls, table: Table, *, seed: int | None = None, notes: Sequence[str] = (), **settings: Any) -> Provenance:
        """The provenance of a result made from `table`."""
        return cls(settings, table.digest, seed, (*table.notes, *notes))


def _few_replicates(settings: Mapping[str, Any]) -> list[str]:
    """An interval needs at least one replicate beyond each of its ends."""
    n, level = settings.get("n_replicates"), settings.get("level", 0.95)
    if not isinstance(n, int) or not isinstance(level, float) or not 0 < level < 1:
        return []
    needed = math.ceil(round(2 / (1 - level), 6))
    if not 0 < n < needed:
        return []
    return [f"{n:,} replicates are too few for {level:.0%} intervals, which are too narrow: use at least {needed:,}."]


def columns_of(**estimates: Estimate) -> dict[str, Any]:
    """Estimates as columns of a table: ``name``, ``name_low``, ``name_high`` and ``name_state`` for each."""
    return {
        f"{name}{end}": found
        for name, one in estimates.items()
        for end, found in (("", one.value), ("_low", one.low), ("_high", one.high), ("_state", one.state))
    }


_PLAIN = {str, int, float, bool}  # most values of a table: asked first


def plain(value: Any) -> Any:
    """A value as JSON knows it: estimates as objects, dates as text, numpy's scalars and arrays as numbers and lists."""
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, Estimate):
        return value.as_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in (f.name for f in dataclasses.fields(value))}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Path):
        return value.as_posix()
    return plain(value.tolist()) if hasattr(value, "tolist") else value


def write_json(value: Any, path: Path) -> Path:
    """Write a result as JSON; NaN and infinity are our mistake and raise."""
    return write_atomic(path, json_text(plain(value), indent=1) + "\n")
