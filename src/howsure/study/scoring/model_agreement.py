"""People beside an automatic score of the same pairs: how they go together, and how far they could."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from howsure.estimates import Estimate
from howsure.stats.correlation import KINDS, Correlation, correlation, critical_r, disattenuate
from howsure.stats.means import mean
from howsure.study.agreement import noise_ceiling_of
from howsure.study.scoring.fidelity import PFI, Scored
from howsure.study.scoring.pooling import Design, pooled_mean, row_means

__all__ = ["ModelAgreement", "compare_model_with_people"]


@dataclass(frozen=True)
class ModelAgreement:
    """Correlations of mean human PFI with model scores over pairs, what noise in the ratings allows, and both joined.

    ``ceiling`` is the correlation that a perfect score could be expected to reach with these raters' mean, ``ceiling_from`` the
    reliability it is the root of; ``disattenuated`` is Pearson's r with a mean free of noise. ``critical`` is the smallest r
    that so many pairs tell from 0. ``combined`` is the mean over pairs of (model + human)/2, ``model`` and ``human`` its two parts.
    """

    correlations: Mapping[str, Correlation]
    ceiling: Estimate
    ceiling_from: str
    disattenuated: Estimate
    critical: float | None
    model: Estimate
    human: Estimate
    combined: Estimate
    n_pairs: int


def compare_model_with_people(
    scored: Scored, scores: Mapping[str, float], *, design: Design = "sampled", level: float = 0.95
) -> ModelAgreement:
    """The model's scores compared with people, over the pairs that have both; the noise ceiling is that of these pairs."""
    pairs = [pair for pair in scored.pairs if pair in scores]
    table = scored.matrix(PFI, pairs)
    human = row_means(table)
    is_rated = ~np.isnan(human)
    table, human = table[is_rated], human[is_rated]
    model = np.array([scores[pair] for pair in pairs], dtype=np.float64)[is_rated]
    found: dict[str, Correlation] = {kind: correlation(model, human, kind, level=level) for kind in KINDS}
    possible = noise_ceiling_of(table, design, level=level)
    return ModelAgreement(
        correlations=found,
        ceiling=possible.ceiling,
        ceiling_from=possible.coefficient,
        disattenuated=disattenuate(found["pearson"].estimate, possible.reliability),
        critical=critical_r(len(human), level=level) if len(human) > 2 else None,
        model=mean(model, level=level).estimate,
        human=pooled_mean(table, design, level=level),
        combined=pooled_mean((table + model[:, None]) / 2, design, level=level),
        n_pairs=len(human),
    )
