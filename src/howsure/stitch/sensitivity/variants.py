"""What a scale says under another choice, beside what it says as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import rankdata

from howsure.stats.trends import is_frontier
from howsure.stitch.forecasting.frontier import DAYS_A_YEAR
from howsure.stitch.model.problem import Floats

__all__ = ["BaselineFit", "Variant", "frontier_slopes", "variant_frame"]

_TOP = 10
_FEWEST = 3  # models that a comparison needs


@dataclass(frozen=True)
class Variant:
    """One refit under another choice, compared with the fit as it is over the models that both have.

    ``slope`` is that of the frontier, per year, in the variant's own unit, and ``linked_slope`` in the unit of the fit as it is: the variant is stretched until
    the models have the same mean and spread as before (mean–sigma linking), so what fixes the unit does not matter.
    ``rank_correlation`` is Spearman's, ``moved`` how far models move on the linked scale (root mean square), ``top_kept`` the share of the best
    that stay among the best. What is None cannot be had: no dates, a unit that depends on what was left out, or no scale at all, since the scores
    fall into parts.
    """

    kind: str
    label: str
    n_models: int
    n_benchmarks: int
    slope: float | None = None
    linked_slope: float | None = None
    rank_correlation: float | None = None
    moved: float | None = None
    top_kept: float | None = None
    leader: str | None = None


@dataclass(frozen=True, eq=False)
class BaselineFit:
    """The fit that variants are compared with: its models, when they were released, and their capabilities."""

    models: tuple[str, ...]
    dates: NDArray[np.datetime64]
    capability: Floats

    @property
    def n_top(self) -> int:
        """How many models are called the best: ten, or a quarter of a short list."""
        return min(_TOP, max(1, len(self.models) // 4))

    def compare(
        self,
        kind: str,
        label: str,
        capability: Floats,
        *,
        n_benchmarks: int,
        n_scores: Floats | None = None,
        has_unit: bool = True,
    ) -> Variant:
        """A variant whose models have ``n_scores`` scores each; those with NaN as capability are not on it.

        Models weigh in the linking as many as they have scores. ``has_unit`` is False where the variant's own unit means nothing.
        """
        there = np.isfinite(capability)
        if there.sum() < _FEWEST:
            return Variant(kind, label, int(there.sum()), n_benchmarks)
        before, after = self.capability[there], capability[there]
        weights = np.ones(len(after)) if n_scores is None else n_scores[there]
        factor = _spread(before, weights) / _spread(after, weights)
        linked = np.average(before, weights=weights) + (after - np.average(after, weights=weights)) * factor
        slope = float(frontier_slopes(capability[None], self.dates)[0])
        is_known = bool(np.isfinite(slope))
        return Variant(
            kind,
            label,
            int(there.sum()),
            n_benchmarks,
            slope if is_known and has_unit else None,
            slope * float(factor) if is_known else None,
            float(np.corrcoef(rankdata(before), rankdata(after))[0, 1]),
            float(np.sqrt(np.average((linked - before) ** 2, weights=weights))),
            self._kept(before, after),
            np.array(self.models, dtype=object)[there][after.argmax()],
        )

    def _kept(self, before: Floats, after: Floats) -> float:
        best = [set(np.argsort(-one, kind="stable")[: self.n_top]) for one in (before, after)]
        return len(best[0] & best[1]) / len(best[0])


def frontier_slopes(capability: Floats, dates: NDArray[np.datetime64]) -> Floats:
    """Slope per year of the line through the models that were the best at their release, for each row of capabilities.

    NaN is a model that a row does not have; a row whose frontier has fewer than two dates gives NaN.
    """
    known = ~np.isnat(dates)
    days, there = dates[known].astype(np.int64), np.isfinite(capability[:, known])
    height = np.where(there, capability[:, known], -np.inf)
    leads = is_frontier(days, height) & there
    years, n = days / DAYS_A_YEAR, np.maximum(leads.sum(axis=1, keepdims=True), 1)
    away = np.where(leads, years - (leads * years).sum(axis=1, keepdims=True) / n, 0.0)
    rise, spread = (away * np.where(leads, height, 0.0)).sum(axis=1), (away**2).sum(axis=1)
    slopes: Floats = np.divide(rise, spread, out=np.full(len(capability), np.nan), where=spread > 0)
    return slopes


def variant_frame(variants: list[Variant]) -> pl.DataFrame:
    """One row per variant."""
    kinds: dict[str, Any] = {
        **dict.fromkeys(("kind", "label", "leader"), pl.String),
        **dict.fromkeys(("n_models", "n_benchmarks"), pl.Int64),
    }
    schema = {name: kinds.get(name, pl.Float64) for name in Variant.__dataclass_fields__}
    return pl.DataFrame([vars(one) for one in variants], schema=schema)


def _spread(values: Floats, weights: Floats) -> float:
    return float(np.sqrt(np.average((values - np.average(values, weights=weights)) ** 2, weights=weights)))
