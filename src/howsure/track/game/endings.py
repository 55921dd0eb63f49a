"""How games end, and what that says of how long the player would have lasted."""

from __future__ import annotations

from typing import Literal, get_args

import polars as pl

__all__ = ["ENDINGS", "FAILURES", "IS_CENSORED", "IS_ERROR", "Ending", "ended_by"]

Ending = Literal["complete", "error", "no_answer", "interrupted", "limit"]
ENDINGS: tuple[Ending, ...] = get_args(Ending)
"""How a game ended (column ``ended_by``).

``complete`` every turn was right: censored at the game's length. ``error`` a wrong or malformed answer. ``no_answer`` the model refused, said nothing, was
cut off before its answer, or wrote notes where they were forbidden: its own act, so an error in that turn; as an upper bound, censored there.
``interrupted`` a server's failure, or a budget of time or money: censored, as it has nothing to do with the answers. ``limit`` the context
window or a limit of tokens or messages was reached: censored, but such games may differ from others, so that bounds are shown too.
"""

FAILURES: dict[str, Ending] = {
    "api": "interrupted",
    "error": "interrupted",
    "cancelled": "interrupted",
    "time_limit": "interrupted",
    "working_limit": "interrupted",
    "cost_limit": "interrupted",
    "operator_limit": "interrupted",
    "budget": "interrupted",
    "context": "limit",
    "token_limit": "limit",
    "message_limit": "limit",
    "turn_limit": "limit",
    "custom_limit": "limit",
    "limit": "limit",  # one that an older version did not name
    "length": "limit",  # a full context or a cut reply, which an older version did not tell apart
    "refusal": "no_answer",
    "null": "no_answer",
    "cut": "no_answer",
    "notes": "no_answer",
}
"""Why a game was interrupted (column ``failure``), and which ending that is."""

IS_ERROR = pl.col("ended_by").is_in(["error", "no_answer"])
"""Whether the player's error ended the game, in the turn after ``max_length`` correct ones."""
IS_CENSORED = pl.col("ended_by").is_in(["interrupted", "limit"])
"""Whether the game was interrupted: at least ``max_length`` correct turns, and nothing is known of the next."""


def ended_by() -> pl.Expr:
    """The column ``ended_by``, from ``failure`` and ``error_kind``."""
    broken = pl.col("failure").replace_strict(FAILURES, default=None, return_dtype=pl.String)
    whole = pl.when(pl.col("error_kind").is_null()).then(pl.lit("complete")).otherwise(pl.lit("error"))
    return pl.coalesce(broken, whole).alias("ended_by")
