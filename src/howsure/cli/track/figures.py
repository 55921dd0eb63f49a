"""What the verbs print of results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howsure.cli.options import Output
from howsure.estimates import chance

if TYPE_CHECKING:
    from howsure.track.gains import Gain
    from howsure.track.results import Results, Row

__all__ = ["tell"]


def tell(results: Results, output: Output) -> None:
    """Print the tables, and JSON for programs."""
    from howsure.track.yardsticks import GUESSING

    console = output.console
    console.notes(results.provenance.notes)
    rows = [
        (r.model, r.solver, _board(r), r.average, r.stddev, r.median, r.largest, r.smallest, r.violation_rate, r.n)
        for r in results.rows
    ]
    figures = (f"average [{results.level:.0%}]", "SD", "median", "max", "min", "violations", "games")
    exact = [one for one in results.yardsticks if one.name == GUESSING]
    told = "; ".join(f"{one.name} on {one.board.variant} {one.average}" for one in exact)
    console.table("Right turns", ("player", "solver", "variant", *figures), rows, f"To compare with: {told}.")
    if results.gains:
        gained = [(g.model, g.solver, _board(g), g.difference, chance(g.p), g.n_seeds) for g in results.gains]
        titles = ("model", "solver", "variant", "explicit − implicit", "p (log-rank)", "sequences")
        console.table("What the state brings", titles, gained, "Right turns, paired by sequence.")
    console.json(results.as_dict())


def _board(row: Row | Gain) -> str:
    from howsure.track.yardsticks import Board

    return Board(row.variant, row.setting, row.length).title
