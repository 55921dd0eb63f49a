"""Named ways to make a scale: which scores count, what is fitted, how it is anchored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from howsure.errors import OptionError
from howsure.stitch.cleaning import Duplicates
from howsure.stitch.model.anchors import AnchorBenchmark, Constraint
from howsure.stitch.model.hierarchy import solve_hierarchy
from howsure.stitch.model.problem import Problem
from howsure.stitch.model.replicates import Resample
from howsure.stitch.model.solutions import RIDGE, Solution, solve_ridge

__all__ = ["PRESETS", "Preset", "preset_called"]

_PINNED = "Winogrande"
_CLIP = 1e-3


@dataclass(frozen=True)
class Preset:
    """What a preset decides unless it is told otherwise."""

    name: str
    about: str
    solve: Callable[..., Solution]
    since: str | None = None
    duplicates: Duplicates = "mean"
    by_family: bool = False
    left_out: Callable[[], Sequence[str]] = tuple
    anchor_models: Mapping[str, float] | None = None
    reference: str = "none"
    has_ridge: bool = True
    resample: Resample = "errors"
    most_dimensions: int = 1
    uses_floors: bool = True
    needs_floors: bool = False
    drops_superseded: bool = False
    keeps_overlaps: bool = True
    left_out_scores: tuple[tuple[str, str], ...] = ()


def preset_called(name: str) -> Preset:
    """The preset with this name."""
    if name not in PRESETS:
        raise OptionError.unknown("preset", name, PRESETS)
    return PRESETS[name]


def _solve_paper(problem: Problem, constraint: Constraint, n_dimensions: int, ridge: float | None = None) -> Solution:
    level = np.zeros(len(problem.benchmarks))
    plain = replace(problem, floors=level, ceilings=level + 1)
    return solve_ridge(plain, constraint, ridge=RIDGE if ridge is None else ridge)


def _solve_eci(problem: Problem, constraint: Constraint, n_dimensions: int, ridge: float | None = None) -> Solution:
    """Scores stretched from floor to ceiling, kept off both by 0.001, then the published objective.

    Stretching a score is weighing its error by the span: the curve itself can keep floor and ceiling.
    """
    floor, span = problem.floors[problem.benchmark], (problem.ceilings - problem.floors)[problem.benchmark]
    stretched = np.clip((problem.score - floor) / span, _CLIP, 1 - _CLIP)
    pinned = (
        problem.benchmarks.index(_PINNED) if _PINNED in problem.benchmarks else int(problem.n_by_benchmark.argmax())
    )
    clipped = replace(problem, score=floor + span * stretched)
    return solve_ridge(clipped, AnchorBenchmark(pinned), ridge=RIDGE if ridge is None else ridge)


def _solve_default(problem: Problem, constraint: Constraint, n_dimensions: int, ridge: float | None = None) -> Solution:
    return solve_hierarchy(problem, n_dimensions)


def _left_out_by_the_paper() -> tuple[str, ...]:
    from howsure.sources.epoch import paper_leaves_out

    return tuple(paper_leaves_out())


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "default",
            "learned priors, noise of each benchmark, known standard errors, floors and ceilings",
            _solve_default,
            reference="all",
            has_ridge=False,
            most_dimensions=2,
            keeps_overlaps=False,
        ),
        Preset(
            "paper",
            "the objective of A Rosetta Stone for AI Benchmarks, and its choice of scores",
            _solve_paper,
            since="2022-11-01",
            duplicates="max",
            left_out=_left_out_by_the_paper,
            uses_floors=False,
        ),
        Preset(
            "seed",
            "the paper's objective with the filtering rules of its first code: minimum of duplicates, all years, no OSUniverse, no o3-mini and o4-mini on SWE-Bench",
            _solve_paper,
            since="",
            duplicates="min",
            left_out=lambda: ("OSUniverse",),
            left_out_scores=(("o3-mini*", "SWE-Bench*"), ("o4-mini*", "SWE-Bench*")),
            uses_floors=False,
        ),
        Preset(
            "eci",
            "as Epoch's Capabilities Index: families as models, floors and ceilings, no superseded benchmarks, two models at 130 and 150",
            _solve_eci,
            since="2023-01-01",
            duplicates="max",
            by_family=True,
            anchor_models={"Claude 3.5 Sonnet": 130, "GPT-5": 150},
            resample="models",
            needs_floors=True,
            drops_superseded=True,
        ),
    )
}
