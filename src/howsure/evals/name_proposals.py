"""Which names of models and benchmarks in several inputs may be the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from howsure import sources
from howsure.arguments import checked
from howsure.tables import Table
from howsure.tables.spellings import Merge, names_in, propose

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["names"]


@checked
def names(inputs: Table | Source | Sequence[Table], **options: Any) -> list[Merge]:
    """Names of models and benchmarks that may be the same, each with the reason. Nothing is merged.

    Parameters
    ----------
    inputs : path, table, frame, or several of them
        Files of any format that `howsure.read` knows, or polars or pandas frames; they may be tables of different kinds.
    **options
        As in `howsure.read`.

    Returns
    -------
    list of Merge
        With kind, name, into, reason and rows. ``NameFile.of(merges).save(path)`` writes them for ``--names``.
    """
    listed: list[Any] = list(inputs) if isinstance(inputs, list | tuple | set | Iterator) else [inputs]
    return propose(names_in([one if isinstance(one, Table) else sources.read(one, **options) for one in listed]))
