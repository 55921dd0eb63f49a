"""What the verbs on evals share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howsure.cli.output import Console
    from howsure.evals.comparison import Difference
    from howsure.evals.summaries import SummaryRow
    from howsure.tables import Attempts

__all__ = ["Choosing", "Cluster", "ItemsAre", "Weights", "decimals", "estimands", "words"]

Cluster = Annotated[
    str,
    typer.Option(help="Clusters: attempts with the same value are not independent (task, family, domain, or none)."),
]
ItemsAre = Annotated[
    str,
    typer.Option(
        "--items",
        help="Items: sampled (intervals are about items like these) or fixed (about exactly these items, from repeats alone).",
    ),
]
Weights = Annotated[str, typer.Option(help="Weights: over several evals, what counts once (evals or items).")]


def _option(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="Attempts", show_default=False)


@dataclass(frozen=True)
class Choosing:
    """Which attempts count, and as what."""

    where: Annotated[list[str] | None, _option("Rows to keep: e.g. temperature>=0.5 or prompt!=cot; any column.")] = (
        None
    )
    only: Annotated[list[str] | None, _option("Only these values, e.g. prompt=plain,cot.")] = None
    exclude: Annotated[list[str] | None, _option("Exclude: rows with these values, e.g. model=old.")] = None
    reduce: Annotated[
        str | None,
        _option(
            "How attempts at an item become one score: mean, pass@K, pass^K, majority@K or best@K. [default: mean]"
        ),
    ] = None

    def apply(self, attempts: Attempts, console: Console) -> Attempts:
        """The attempts that count; says what their scores are and what was left out."""
        from howsure.evals.variants import reduce_attempts, select

        chosen = select(attempts, where=self.where or (), only=self.only or (), exclude=self.exclude or ())
        counted = reduce_attempts(chosen, self.reduce or "mean")
        console.notes(note for note in counted.notes if note not in attempts.notes)
        return counted


def words(text: str | None) -> list[str]:
    """Words separated by commas."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]


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
