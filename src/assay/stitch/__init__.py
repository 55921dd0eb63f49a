"""How able is each model, how hard each benchmark, on one scale, and where is it going?

::

    from assay.stitch import fit
    scale = fit(scores, anchor="Winogrande", bootstrap=1000)
    scale.models, scale.benchmarks, scale.pairs(["o3", "gpt-5"])

    layout, elimination, kernels, curvature      arrays, and the solver on them
    cleaning, families, connectivity, problem    from a table to the scores that are fitted
    noise, solutions, hierarchy, presets         what is fitted
    gauge, replicates, summaries, scale          what is reported
    store, placing                               a scale as files; new models on it
    simulate, coverage, crossvalidation          how good it is
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "PRESETS": "presets",
    "RESAMPLES": "replicates",
    "Problem": "problem",
    "Replicates": "replicates",
    "Scale": "scale",
    "World": "simulate",
    "compare_models": "crossvalidation",
    "coverage_table": "coverage",
    "find_parts": "connectivity",
    "fit": "scale",
    "pose": "cleaning",
}
__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
