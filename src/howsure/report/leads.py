"""Plain sentences for the front of a page: who leads, how sure that is, and what is not yet known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from howsure.estimates import Estimate
from howsure.report.blocks import Section

__all__ = ["with_lead"]


def with_lead(section: Section, what: str, rows: Sequence[tuple[str, Estimate]]) -> Section:
    """The section with its sentences: `what` names the figure ("Mean score"), `rows` everybody's."""
    known = sorted(
        ((name, one) for name, one in rows if one.value is not None),
        key=lambda row: (row[1].value or 0, row[1].low or 0),
        reverse=True,
    )
    missing = [name for name, one in rows if one.value is None]
    found, unknown = [], []
    if known:
        (best, first), *others = known
        found.append(
            f"{what}: {best} leads with {first}" + (f", before {others[0][0]} with {others[0][1]}." if others else ".")
        )
        if others and _overlap(first, others[0][1]):
            unknown.append(f"{what}: whether {best} is truly ahead of {others[0][0]}; their intervals overlap.")
    if missing:
        unknown.append(
            f"{what}: {', '.join(missing[:5])}{' and others' if len(missing) > 5 else ''} cannot be told; the table says why."
        )
    return replace(section, found=[*section.found, *found], unknown=[*section.unknown, *unknown])


def _overlap(first: Estimate, second: Estimate) -> bool:
    return first.low is None or second.high is None or first.low <= second.high
