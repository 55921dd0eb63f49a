"""Plain sentences for the front of a page: whose estimate is the highest, how sure that order is, and what is not yet known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from howsure.estimates import Estimate, stated
from howsure.results.blocks import Section

__all__ = ["Advantage", "PGreater", "PValue", "with_lead"]

PValue = Callable[[str, str], float | None]
"""The p-value of the difference of two, corrected for the number of pairs, as a table of the report shows it; None where it shows none."""

PGreater = Callable[[str, str], float | None]
"""The probability that the first one's true value is above the second's, as a table of the section shows it; None where it shows none."""

Advantage = Callable[[str, str], str | None]
"""By how much the first is ahead of the second, with its interval, such as "Difference: 0.2 [0.1, 0.3]"; None where that is not estimated."""

_MOST_NAMES = 5
_RANGES = {"below_range": 0, "above_range": 2}  # everything that was observed lies between


def with_lead(
    section: Section,
    what: str,
    rows: Sequence[tuple[str, Estimate]],
    *,
    p_greater: PGreater | None = None,
    p_value: PValue | None = None,
    advantage: Advantage | None = None,
) -> Section:
    """The section with its sentences for the front page.

    Parameters
    ----------
    section : Section
        What the sentences are about.
    what : str
        The statistic, as a sentence begins: "Mean score".
    rows : sequence of (name, Estimate)
        Everybody who may be compared: the same task, board and condition.
    p_greater, p_value : callable, optional
        The paired probability or test that decides whether an order is known. Intervals of single estimates never decide it: without
        either, the order is described, and the sentence says that the difference is not tested.
    advantage : callable, optional
        By how much the first is ahead of the second.
    """
    known = sorted(((name, one) for name, one in rows if one.value is not None), key=_height, reverse=True)
    missing = [name for name, one in rows if one.value is None]
    found, unknown = (
        _order(what, known, p_greater, p_value, advantage)
        if len(known) > 1
        else ([f"{what}: {n} has {e}." for n, e in known], [])
    )
    if missing:
        unknown.append(f"{what} of {_listed(missing)}: not estimated; the table gives the reason.")
    return replace(section, found=[*section.found, *found], unknown=[*section.unknown, *unknown])


def _order(
    what: str,
    known: Sequence[tuple[str, Estimate]],
    p_greater: PGreater | None,
    p_value: PValue | None,
    advantage: Advantage | None,
) -> tuple[list[str], list[str]]:
    """Who is highest and who follows, and whether a probability or a test settles it."""
    (best, first), (second, next_), *_ = known
    greater = p_greater(best, second) if p_greater else None
    p = p_value(best, second) if p_value else None
    is_settled = (greater is not None and greater >= (1 + first.level) / 2) or (p is not None and p < 1 - first.level)
    is_beyond = first.state in _RANGES
    equal = [name for name, one in known if one.state == first.state and (is_beyond or _is_same(one, first))]
    if len(equal) > 1 and not is_settled:
        if is_beyond:
            side = "above" if first.state == "above_range" else "below"
            edge = str(Estimate(first.value, state=first.state))
            told = f"{what}: the estimates of {_listed(equal)} are {side} the observed range ({edge})."
        else:
            told = f"{what}: {_listed(equal)} have the same estimate, the highest: {first}."
        evidence = f" {stated(f'P({best} > {second})', greater)}." if greater is not None else ""
        return [told], [f"{what}: which of {_listed(equal)} is highest.{evidence}"]
    told = f"{what}: {best} has the highest estimate, {first}, followed by {second} with {next_}."
    by = advantage(best, second) if advantage else None
    told = f"{told} {by}." if by else told
    if greater is not None:
        evidence = stated(f"P({best} > {second})", greater)
    elif p is not None:
        alone = "; the interval of the difference is for this pair alone" if by else ""
        evidence = f"Test: {stated('p', p)}, Holm-corrected for all pairs{alone}"
    else:
        return [f"{told} The difference between these two is not tested in this table."], []
    if is_settled:
        return [f"{told} {evidence}."], []
    return [told], [f"{what}: whether {best} is higher than {second}. {evidence}."]


def _is_same(one: Estimate, other: Estimate) -> bool:
    assert one.value is not None
    assert other.value is not None
    return math.isclose(one.value, other.value, rel_tol=1e-9, abs_tol=1e-12)


def _height(row: tuple[str, Estimate]) -> tuple[float, int, float]:
    one = row[1]
    assert one.value is not None
    return one.value, _RANGES.get(one.state, 1), one.value if one.low is None else one.low


def _listed(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMES:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
