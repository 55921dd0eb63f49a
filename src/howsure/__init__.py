"""Measure what AI can do, and say how sure one can be.

>>> import howsure
>>> attempts = howsure.read("runs.jsonl")                                # doctest: +SKIP
>>> howsure.summarise(attempts, cluster="family").to_frame()             # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from howsure._lazy import lazily
from howsure._version import __version__

if TYPE_CHECKING:
    from howsure.errors import HowsureError as HowsureError
    from howsure.estimates import Estimate as Estimate
    from howsure.evals.compare import compare as compare
    from howsure.evals.power import plan as plan
    from howsure.evals.summary import summarise as summarise
    from howsure.sources import read as read
    from howsure.tables import Attempts as Attempts
    from howsure.tables import Ratings as Ratings
    from howsure.tables import Scores as Scores

_HOMES = {
    "HowsureError": "errors",
    "Attempts": "tables",
    "Estimate": "estimates",
    "Ratings": "tables",
    "Scores": "tables",
    "compare": "evals.compare",
    "plan": "evals.power",
    "read": "sources",
    "summarise": "evals.summary",
    **dict.fromkeys(
        ("bridges", "charts", "evals", "horizon", "pages", "report", "stats", "stitch", "study", "track"), ""
    ),
}

__all__ = ["Attempts", "Estimate", "HowsureError", "Ratings", "Scores", "__version__", "compare", "plan", "read", "summarise"]  # fmt: skip
__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return [*__all__, *(name for name, home in _HOMES.items() if not home)]
