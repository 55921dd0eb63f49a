"""Whether scores link all models and benchmarks of a table, so that they can be put on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from howsure.stitch.model.layout import Ints

__all__ = ["LinkedGroup", "describe_parts", "find_parts"]

_SHOWN = 4


@dataclass(frozen=True)
class LinkedGroup:
    """Models and benchmarks that are linked by scores, and by none to the rest."""

    models: tuple[str, ...]
    benchmarks: tuple[str, ...]

    def __str__(self) -> str:
        benchmarks = _listed(self.benchmarks)
        return f"{len(self.models)} model{'s' * (len(self.models) > 1)} ({_listed(self.models)}) on {benchmarks}"


def find_parts(
    model: Ints, benchmark: Ints, models: Sequence[str], benchmarks: Sequence[str]
) -> tuple[LinkedGroup, ...]:
    """Groups of models and benchmarks that are linked by scores, the largest first; a scale needs exactly one.

    Parameters
    ----------
    model : Ints
        Index of each score's model.
    benchmark : Ints
        Index of each score's benchmark.
    models : Sequence[str]
        Names of the models.
    benchmarks : Sequence[str]
        Names of the benchmarks.
    """
    n_models, size = len(models), len(models) + len(benchmarks)
    links = coo_array((np.ones(len(model)), (model, n_models + benchmark)), shape=(size, size))
    n_parts, label = connected_components(links, directed=False)
    named = np.array([*models, *benchmarks], dtype=object)
    is_model = np.arange(size) < n_models
    parts = [
        LinkedGroup(tuple(named[(label == part) & is_model]), tuple(named[(label == part) & ~is_model]))
        for part in range(n_parts)
    ]
    return tuple(sorted(parts, key=lambda part: (-len(part.models) - len(part.benchmarks), part.benchmarks)))


def describe_parts(parts: Sequence[LinkedGroup]) -> str:
    """What is wrong with several parts, and what would join them."""
    first, second = parts[:2]
    rest = f"; {len(parts) - 2} more" if len(parts) > 2 else ""
    return (
        f"The scores fall into {len(parts)} groups that no model links: {first}; {second}{rest}. "
        f"Scores of a model in two groups would link them, for example of {first.models[0]} on {second.benchmarks[0]}; "
        "or fit one group by excluding the benchmarks of the others."
    )


def _listed(names: Sequence[str]) -> str:
    more = f", … {len(names)} in all" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
