"""What may be claimed from the results of AI evaluations, and how sure one can be.

The verbs of the command line exist here under the same names, and instruments are modules: `howsure.stitch.fit`.

>>> import howsure
>>> attempts = howsure.read("runs.jsonl")                                # doctest: +SKIP
>>> howsure.summary(attempts, cluster="family").to_frame()               # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from howsure._lazy import lazily
from howsure._version import __version__

if TYPE_CHECKING:
    from howsure.errors import HowsureError as HowsureError
    from howsure.estimates import Estimate as Estimate
    from howsure.evals.comparison import compare as compare
    from howsure.evals.explorer import explore as explore
    from howsure.evals.gating import gate as gate
    from howsure.evals.interval_coverage import coverage as coverage
    from howsure.evals.item_table import items as items
    from howsure.evals.leaderboards import leaderboard as leaderboard
    from howsure.evals.name_proposals import names as names
    from howsure.evals.overviews import overview as overview
    from howsure.evals.planning import power as power
    from howsure.evals.stopping import watch as watch
    from howsure.evals.summaries import summary as summary
    from howsure.sources import convert as convert
    from howsure.sources import formats as formats
    from howsure.sources import read as read
    from howsure.tables import Attempts as Attempts
    from howsure.tables import Ratings as Ratings
    from howsure.tables import Scores as Scores
    from howsure.tables import Votes as Votes

_HOMES = {
    "HowsureError": "errors",
    "Attempts": "tables",
    "Estimate": "estimates",
    "Ratings": "tables",
    "Scores": "tables",
    "Votes": "tables",
    "compare": "evals.comparison",
    "convert": "sources",
    "coverage": "evals.interval_coverage",
    "explore": "evals.explorer",
    "formats": "sources",
    "gate": "evals.gating",
    "items": "evals.item_table",
    "leaderboard": "evals.leaderboards",
    "names": "evals.name_proposals",
    "overview": "evals.overviews",
    "power": "evals.planning",
    "read": "sources",
    "summary": "evals.summaries",
    "watch": "evals.stopping",
    **dict.fromkeys(
        ("bridges", "charts", "claims", "evals", "horizon", "people", "reporting", "stats", "stitch", "study", "track"),
        "",
    ),
}

__all__ = ["Attempts", "Estimate", "HowsureError", "Ratings", "Scores", "Votes", "__version__", "compare", "convert", "coverage", "explore", "formats", "gate", "items", "leaderboard", "names", "overview", "power", "read", "summary", "watch"]  # fmt: skip
__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return [*__all__, *(name for name, home in _HOMES.items() if not home)]
