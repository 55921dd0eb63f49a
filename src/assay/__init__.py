"""Measure what AI can do, and say how sure one can be.

>>> import assay
>>> attempts = assay.read("runs.jsonl")                                # doctest: +SKIP
>>> assay.summarise(attempts, cluster="family").to_frame()             # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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
    "AssayError": "assay.errors",
    "Attempts": "assay.tables",
    "Estimate": "assay.estimates",
    "Ratings": "assay.tables",
    "Scores": "assay.tables",
    "compare": "assay.evals.compare",
    "plan": "assay.evals.power",
    "read": "assay.sources",
    "summarise": "assay.evals.summary",
}

_ROOMS = ("evals", "pages", "report", "stats", "stitch", "study", "track")

__all__ = ["AssayError", "Attempts", "Estimate", "Ratings", "Scores", "__version__", "compare", "plan", "read", "summarise"]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `import assay` costs nothing."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"assay.{name}")
    raise AttributeError(f"module 'assay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
