"""All statistics of a study for one set of raters: fidelity, agreement, domains, the model, blinding, time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from howsure.estimates import Estimate
from howsure.stats.components import VarianceComponents, variance_components
from howsure.stats.correlation import KINDS, Correlation, correlation, critical_r, disattenuate
from howsure.stats.means import mean
from howsure.study.agreement import Reliability, noise_ceiling_of, reliability
from howsure.study.scoring.domains import EXPECTED, Domains, Order, profile
from howsure.study.scoring.fidelity import LITE, LITE_RANGE, PFI, Scored, ScoredDimension
from howsure.study.scoring.pair_data import PairData
from howsure.study.scoring.pooling import RaterEffects, pooled_mean, row_means
from howsure.tables import Ratings

__all__ = [
    "Findings",
    "ModelAgreement",
    "PairRow",
    "ScoringSettings",
    "compare_model_with_people",
    "find",
    "without_raters",
]


@dataclass(frozen=True)
class ScoringSettings:
    """What the statistics depend on beside the data."""

    rater_effects: RaterEffects
    order: Order = EXPECTED
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class ModelAgreement:
    """Correlations of mean human PFI with model scores over pairs, what noise in the ratings allows, and both joined.

    ``ceiling`` is the correlation that a perfect score could be expected to reach with these raters' mean, ``ceiling_from`` the
    reliability it is the root of; ``disattenuated`` is Pearson's r with a mean without measurement error. ``critical`` is the smallest r
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


@dataclass(frozen=True)
class PairRow:
    """One pair: its PFI over raters, the means of the other scores, and the model's."""

    item: str
    domain: str | None
    n_raters: int
    pfi: Estimate
    means: Mapping[str, float | None]
    model: float | None

    @property
    def combined(self) -> float | None:
        """Half model, half human."""
        return None if self.model is None or self.pfi.value is None else (self.model + self.pfi.value) / 2


@dataclass(frozen=True)
class Findings:
    """Every statistic by name, and the tables they come from.

    ``statistics`` are, for the whole study: ``pfi``, ``pfi_lite``, each part by name, ``NAME_advantage``; ``DIMENSION.COEFFICIENT`` and
    ``DIMENSION.variance_…``; ``domain.NAME``, ``domain_difference`` and its kin; ``pearson`` and its kin; ``blinding_index``; ``minutes``.
    """

    statistics: Mapping[str, Estimate]
    pairs: tuple[PairRow, ...]
    reliability: Mapping[str, Reliability]
    components: Mapping[str, VarianceComponents]
    domains: Domains
    model: ModelAgreement | None
    raters: tuple[str, ...]
    settings: ScoringSettings

    @property
    def p_values(self) -> dict[str, float | None]:
        """Of the correlations of model and people, against 0."""
        return {name: one.p for name, one in self.model.correlations.items()} if self.model else {}


def without_raters(everyone: Findings) -> Findings:
    """The findings where the exclusion rules leave nobody: every statistic is a state, and no table holds a number of the raters."""
    level = everyone.settings.level
    nothing = Estimate.without("too_few", "the exclusion rules left no rater", level=level)
    return replace(
        everyone,
        statistics=dict.fromkeys(everyone.statistics, nothing),
        pairs=tuple(replace(row, n_raters=0, pfi=nothing, means=dict.fromkeys(row.means)) for row in everyone.pairs),
        reliability={},
        components={},
        domains=Domains((), None, nothing, nothing, nothing, None, None),
        model=None,
        raters=(),
    )


def find(
    scored: Scored,
    guesses: Scored | None,
    minutes: Mapping[str, float | None],
    known: PairData,
    settings: ScoringSettings,
) -> Findings:
    """The statistics of these raters' scores. ``guesses`` has the column guess, 1 right, 0 wrong, 0.5 cannot tell."""
    level = settings.level
    agreed = {name: _agreement(scored, name, settings) for name in _dimensions(scored)}
    spread = {name: variance_components(_raw(scored, name), level=level) for name in agreed}
    domains = profile(scored, known.domains, known.scores, order=settings.order, level=level, seed=settings.seed)
    model = (
        compare_model_with_people(scored, known.scores, rater_effects=settings.rater_effects, level=level)
        if known.scores and PFI in agreed
        else None
    )
    statistics = {
        **_means(scored, settings),
        **_blinding(guesses, settings),
        **_minutes(scored, minutes, level),
        **_model_statistics(model, level),
        **_domain_statistics(domains),
        **_agreement_statistics(agreed, level),
        **{f"{name}.variance_{part}": getattr(one, part) for name, one in spread.items() for part in _COMPONENTS},
    }
    by_pair = scored.frame.partition_by("item", as_dict=True)
    pairs = tuple(_pair(pair, by_pair[(pair,)], known, level) for pair in scored.pairs)
    return Findings(statistics, pairs, agreed, spread, domains, model, tuple(scored.raters), settings)


def compare_model_with_people(
    scored: Scored, scores: Mapping[str, float], *, rater_effects: RaterEffects = "sampled", level: float = 0.95
) -> ModelAgreement:
    """The model's scores compared with people, over the pairs that have both; the noise ceiling is that of these pairs."""
    pairs = [pair for pair in scored.pairs if pair in scores]
    table = scored.matrix(PFI, pairs)
    human = row_means(table)
    is_rated = ~np.isnan(human)
    table, human = table[is_rated], human[is_rated]
    model = np.array([scores[pair] for pair in pairs], dtype=np.float64)[is_rated]
    found: dict[str, Correlation] = {kind: correlation(model, human, kind, level=level) for kind in KINDS}
    possible = noise_ceiling_of(table, rater_effects, level=level)
    return ModelAgreement(
        correlations=found,
        ceiling=possible.ceiling,
        ceiling_from=possible.coefficient,
        disattenuated=disattenuate(found["pearson"].estimate, possible.reliability),
        critical=critical_r(len(human), level=level) if len(human) > 2 else None,
        model=mean(model, level=level).estimate,
        human=pooled_mean(table, rater_effects, level=level),
        combined=pooled_mean((table + model[:, None]) / 2, rater_effects, level=level),
        n_pairs=len(human),
    )


_COMPONENTS = ("item", "rater", "residual")


def _dimensions(scored: Scored) -> list[str]:
    """What raters may agree on: the index and each dimension that anyone answered."""
    names = [PFI, *(part.name for part in scored.parts)]
    return [name for name in names if name in scored.statistics and scored.frame[name].null_count() < len(scored.frame)]


def _agreement(scored: Scored, name: str, settings: ScoringSettings) -> Reliability:
    answers = scored.frame.select("rater", "item", _on_its_scale(scored, name).alias("value")).drop_nulls()
    rows = Ratings(answers.with_columns(pl.lit(name).alias("dimension")))
    return reliability(rows, rater_effects=settings.rater_effects, level=settings.level)


def _agreement_statistics(agreed: Mapping[str, Reliability], level: float) -> dict[str, Estimate]:
    """Every coefficient of every dimension; those of the index are there even where the index is not."""
    found = {f"{name}.{key}": one for name, table in agreed.items() for key, one in table.coefficients.items()}
    names = next(iter(agreed.values())).coefficients if agreed else {}
    nothing = Estimate.without("undefined", "no rater answered all parts of the index", level=level)
    return {f"{PFI}.{key}": nothing for key in names} | found


def _raw(scored: Scored, name: str) -> np.ndarray:
    part = _part(scored, name)
    table = scored.matrix(name)
    return table if part is None else table * (part.high - part.low) + part.low


def _on_its_scale(scored: Scored, name: str) -> pl.Expr:
    """A dimension as it was answered: some coefficients depend on where its scale has its 0."""
    part = _part(scored, name)
    return pl.col(name) if part is None else (pl.col(name) * (part.high - part.low) + part.low).round(9)


def _part(scored: Scored, name: str) -> ScoredDimension | None:
    return next((part for part in scored.parts if part.name == name and part.kind != "preferred"), None)


def _means(scored: Scored, settings: ScoringSettings) -> dict[str, Estimate]:
    """The mean of each score."""
    found = {
        name: pooled_mean(scored.matrix(name), settings.rater_effects, level=settings.level, bounds=_bounds(name))
        for name in scored.statistics
    }
    lacking = {
        PFI: "no dimension that is part of the index was asked",
        LITE: "it needs voice from −2 to 2, and vibe and logic from 1 to 3",
    }
    undefined = {name: Estimate.without("undefined", why, level=settings.level) for name, why in lacking.items()}
    return undefined | found


def _bounds(name: str) -> tuple[float, float]:
    return (-1.0, 1.0) if name.endswith("_advantage") else LITE_RANGE if name == LITE else (0.0, 1.0)


def _blinding(guesses: Scored | None, settings: ScoringSettings) -> dict[str, Estimate]:
    if guesses is None:
        return {"blinding_index": Estimate.without("undefined", "no guesses were asked", level=settings.level)}
    right = pooled_mean(guesses.matrix("guess"), settings.rater_effects, level=settings.level)
    return {"blinding_index": right.map(lambda share: 2 * share - 1)}


def _minutes(scored: Scored, minutes: Mapping[str, float | None], level: float) -> dict[str, Estimate]:
    known = [taken for rater in scored.raters if (taken := minutes.get(rater)) is not None]
    if not known:
        return {"minutes": Estimate.without("undefined", "no times were recorded", level=level)}
    return {"minutes": mean(known, level=level, bounds=None).estimate}


def _model_statistics(model: ModelAgreement | None, level: float) -> dict[str, Estimate]:
    names = ("pearson", "spearman", "kendall", "pearson_disattenuated", "noise_ceiling", "pfi_model", "pfi_combined")
    if model is None:
        nothing = Estimate.without("undefined", "no model scores are known; give them with the ratings", level=level)
        return dict.fromkeys(names, nothing)
    found = [one.estimate for one in model.correlations.values()]
    found += [model.disattenuated, model.ceiling, model.model, model.combined]
    return dict(zip(names, found, strict=True))


def _domain_statistics(domains: Domains) -> dict[str, Estimate]:
    return {
        **{f"domain.{row.domain}": row.human for row in domains.rows},
        "domain_difference": domains.difference,
        "domain_difference_here": domains.difference_here,
        "domain_order": domains.order,
    }


def _pair(pair: str, rows: pl.DataFrame, known: PairData, level: float) -> PairRow:
    scores = rows.drop("rater", "item")
    means = scores.mean().row(0, named=True)
    given = scores[PFI].drop_nulls().to_numpy() if means.pop(PFI, None) is not None else np.array([])
    pfi = mean(given, level=level).estimate
    if not len(given):
        pfi = replace(pfi, reason="no rater answered all parts of the index")
    return PairRow(pair, known.domains.get(pair), len(given), pfi, means, known.scores.get(pair))
