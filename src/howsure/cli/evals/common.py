"""What the verbs on evals share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howsure.evals.comparison import Difference
    from howsure.evals.summaries import SummaryRow

__all__ = ["Cluster", "ItemsAre", "Weights", "decimals", "estimands"]

Cluster = Annotated[
    str, typer.Option(help="Attempts with the same value are not independent: task, family, domain, or none.")
]
ItemsAre = Annotated[
    str,
    typer.Option(
        "--items",
        help="sampled: intervals are about items like these. fixed: about exactly these items, from repeats alone.",
    ),
]
Weights = Annotated[str, typer.Option(help="Over several evals, what counts once: evals or items.")]


def decimals(number: float | None, digits: int) -> str | None:
    """A number with that many decimals; None stays None."""
    return None if number is None else f"{number:.{digits}f}"


def estimands(rows: Sequence[SummaryRow | Difference], cluster: str, items: str = "sampled") -> str:
    """What the numbers of a table are means of, and which units the intervals take as independent."""
    rows_of: dict[str, list[str]] = {}
    for row in rows:
        rows_of.setdefault(row.estimand, []).append(row.task)
    several = [f"{'all' if 'all' in tasks else 'other rows'}: {what}" for what, tasks in rows_of.items()]
    what = next(iter(rows_of)) if len(rows_of) == 1 else "; ".join(several)
    independent = "attempts" if cluster == "none" else f"clusters ({cluster})"
    if items == "fixed":
        return f"Shown: {what}; intervals from the variance between repeats of an item. Other items would give other means."
    return f"Shown: {what}; intervals over independent {independent}."
