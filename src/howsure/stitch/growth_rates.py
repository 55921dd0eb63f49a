"""How fast the frontier grows under different rules, and why the numbers differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import mul
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError
from howsure.results import Provenance, Result, columns_of
from howsure.stitch.forecasting.frontier import Dated, fit_trend
from howsure.stitch.scale import Scale, fit
from howsure.tables import Scores

if TYPE_CHECKING:
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["GrowthRates", "growth"]

_RULES = ("seed", "paper", "default")
_FEWEST = 5  # models that two scales share


@dataclass(frozen=True, eq=False, kw_only=True)
class GrowthRates(Result):
    """Growth of the frontier under several presets.

    Parameters
    ----------
    rates : pl.DataFrame
        One row per preset and anchor: preset, anchor, per_year (slope of the frontier in the preset's own unit) with interval, in_one_unit (the same in the unit of the last preset), unit (how many units of this preset are one of the last), n_models, n_frontier, first, last
        (dates of the frontier).
    level : float
        Coverage of the intervals, between 0 and 1.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "growth"

    rates: pl.DataFrame
    level: float
    provenance: Provenance

    method: ClassVar[str] = (
        "A line through the models that were the best on the day of their release, by least squares; its interval includes the errors of the capabilities. The unit of a scale is arbitrary, so the growth rates of two "
        "presets cannot be compared as they are: in one unit, each scale is stretched so that the models that all of them share have the same standard deviation (linking by mean and spread)."
    )

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One row per preset."""
        return {"growth": self.rates}

    @property
    def sentences(self) -> list[str]:
        """Why the numbers differ."""
        rows = self.rates.drop_nulls("per_year").rows(named=True)
        if len(rows) < 2:
            return ["Fewer than two presets have a frontier."]
        own, one = ([row[name] for row in rows] for name in ("per_year", "in_one_unit"))

        def told(name: str) -> str:
            return ", ".join(f"{row[name]:.2f} ({row['preset']}, {row['anchor'] or 'two models'})" for row in rows)

        each = (
            f"{row['preset']} ({row['n_models']} models) has {row['n_frontier']} frontier models of {row['first']} to {row['last']}"
            for row in rows
        )
        frontiers = ", ".join(dict.fromkeys(each))  # a preset has the same frontier with every anchor
        return [
            f"In their own units the growth rates are {told('per_year')} per year: the largest is {max(own) / min(own):.1f} times the smallest.",
            f"In one unit, that of the last, they are {told('in_one_unit')}: the largest is {max(one) / min(one):.1f} times the smallest. The rest of the difference is the unit alone.",
            f"What is left comes from the scores that count: {frontiers}.",
        ]

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import growth_section

        return [growth_section(self)]


@checked
def growth(
    scores: Source | Scores,
    *,
    presets: Sequence[str] = _RULES,
    anchor: str | None = None,
    n_replicates: int = 200,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> GrowthRates:
    """The growth rate of the frontier under several presets, in their own units and in one.

    Parameters
    ----------
    scores : Scores, frame or path
        One row per model and benchmark, with dates.
    presets : sequence of str
        Presets to compare, all with the same anchor; the last is also fitted with its own anchor, which gives the common unit. ``seed`` has the filtering rules of the paper's first code, ``paper`` those of the paper.
    anchor : str, optional
        The benchmark that fixes the scales; by default Winogrande where it is there, else the benchmark that most models have.
    n_replicates : int
        Refits for the intervals.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        The same seed gives the same numbers.
    progress : callable, optional
        Is called with the number of presets done and their total.
    """
    table = Scores.of(scores)
    if anchor is None and "Winogrande" in set(table.frame["benchmark"]):
        anchor = "Winogrande"
    scales: dict[tuple[str, str | None], Scale] = {}
    for done, preset in enumerate(presets, 1):
        found = fit(table, preset=preset, anchor=anchor, n_replicates=n_replicates, level=level, seed=seed)
        scales[preset, found.provenance.settings.get("anchor")] = found
        if progress:
            progress(done, len(presets) + 1)
    # the last preset with its own anchor: the same fit in another unit
    found = fit(table, preset=presets[-1], n_replicates=n_replicates, level=level, seed=seed)
    scales[presets[-1], found.provenance.settings.get("anchor")] = found
    if progress:
        progress(len(presets) + 1, len(presets) + 1)
    shared = sorted(set.intersection(*(set(scale.problem.models) for scale in scales.values())))
    if len(shared) < _FEWEST:
        raise InputError(f"The presets share {len(shared)} models; {_FEWEST} are needed to compare their units.")
    sizes = {
        key: float(np.std([scale.estimate.capability[scale.problem.models.index(name)] for name in shared]))
        for key, scale in scales.items()
    }
    reference = list(sizes.values())[-1]
    rows = []
    for (preset, anchored), scale in scales.items():
        dated = Dated.of(scale)
        chosen = dated.is_frontier()
        slope = fit_trend(dated, level=level).slope()
        days = np.sort(dated.days[chosen]).astype("datetime64[D]")
        rows.append(
            {
                "preset": preset,
                **columns_of(per_year=slope, in_one_unit=slope.map(partial(mul, reference / sizes[preset, anchored]))),
                "unit": sizes[preset, anchored] / reference,
                "n_models": len(scale.problem.models),
                "n_frontier": int(chosen.sum()),
                "first": days[0].item(),
                "last": days[-1].item(),
                "anchor": anchored,
            }
        )
    settings = {"presets": list(presets), "anchor": anchor, "n_replicates": n_replicates, "level": level}
    return GrowthRates(
        rates=pl.DataFrame(rows, infer_schema_length=None),
        level=level,
        provenance=Provenance(settings, table.digest, seed, tuple(table.notes)),
    )
