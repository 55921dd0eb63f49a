"""Measure what AI can do, and say how sure one can be.

>>> import assay
>>> attempts = assay.read("runs.jsonl")                                # doctest: +SKIP
>>> assay.summarise(attempts, cluster="family").to_frame()             # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay._lazy import lazily
from assay._version import __version__

if TYPE_CHECKING:
    from assay.errors import AssayError as AssayError
    from assay.estimates import Estimate as Estimate
    from assay.evals.compare import compare as compare
    from assay.evals.power import plan as plan
    from assay.evals.summary import summarise as summarise
    from assay.sources import read as read
    from assay.tables import Attempts as Attempts
    from assay.tables import Ratings as Ratings
    from assay.tables import Scores as Scores

_HOMES = {
    "AssayError": "errors",
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

__all__ = ["AssayError", "Attempts", "Estimate", "Ratings", "Scores", "__version__", "compare", "plan", "read", "summarise"]  # fmt: skip
__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return [*__all__, *(name for name, home in _HOMES.items() if not home)]
