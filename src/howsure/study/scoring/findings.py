"""All statistics of a study for one set of raters: fidelity, agreement, domains, the model, blinding, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.stats._arrays import Floats
from howsure.stats.components import VarianceComponents, crossed_difference, crossed_mean, variance_components
from howsure.stats.correlation import KINDS, Correlation, correlation, critical_r, disattenuate
from howsure.stats.means import mean, paired_difference
from howsure.stats.permutation import OrderTest, jonckheere, page
from howsure.study.agreement import Reliability, noise_ceiling_of, reliability
from howsure.study.scoring.fidelity import (
    LITE,
    LITE_RANGE,
    PFI,
    PairData,
    RaterEffects,
    Scored,
    ScoredDimension,
    pooled_mean,
    row_means,
)
from howsure.tables import Ratings

__all__ = [
    "EXPECTED",
    "DomainRow",
    "Domains",
    "Findings",
    "ModelAgreement",
    "Order",
    "PairRow",
    "ScoringSettings",
    "compare_model_with_people",
    "find",
    "profile",
    "without_raters",
]


# Fidelity by domain, and whether domains come in the order that was expected.


@dataclass(frozen=True)
class Order:
    """Domains from the highest expected fidelity to the lowest; those in one group are expected alike.

    >>> Order.parse("TECH > ANAL > PHIL = SELF > NARR").rank("SELF")
    1
    """

    groups: tuple[tuple[str, ...], ...]

    @classmethod
    def parse(cls, text: str) -> Order:
        """From ``A > B = C > D``; ``B/C`` says the same as ``B = C``."""
        groups = [[name.strip() for name in part.replace("/", "=").split("=")] for part in text.split(">")]
        names = [name for group in groups for name in group]
        if len(groups) < 2 or not all(names) or len(set(names)) < len(names):
            raise OptionError(f'order {text!r}: write it as "TECH > ANAL > PHIL = SELF > NARR", each domain once.')
        return cls(tuple(tuple(group) for group in groups))

    def rank(self, domain: str) -> int | None:
        """0 for the lowest group, then 1, …; None for a domain that has no place."""
        places = {name: place for place, group in enumerate(reversed(self.groups)) for name in group}
        return places.get(domain)

    def __str__(self) -> str:
        return " > ".join(" = ".join(group) for group in self.groups)


EXPECTED = Order((("TECH",), ("ANAL",), ("PHIL", "SELF"), ("NARR",)))


@dataclass(frozen=True)
class DomainRow:
    """One domain: human fidelity, and the mean of the model's scores if there are any."""

    domain: str
    n_pairs: int
    human: Estimate
    model: float | None


@dataclass(frozen=True)
class Domains:
    """All domains in the expected order, and the tests of it.

    ``difference`` is first − last domain for other pairs and raters, ``difference_here`` the same for just these pairs.
    ``order`` is Kendall's correlation of pairs' fidelity with the expected rank of their domain; ``by_pair`` tests it with pairs as
    units, ``by_rater`` whether raters agree on the order of these pairs. None where there is nothing to test.
    """

    rows: tuple[DomainRow, ...]
    ends: tuple[str, str] | None
    difference: Estimate
    difference_here: Estimate
    order: Estimate
    by_pair: OrderTest | None
    by_rater: OrderTest | None


def profile(
    scored: Scored,
    domains: Mapping[str, str],
    scores: Mapping[str, float],
    *,
    order: Order = EXPECTED,
    level: float = 0.95,
    seed: int = 0,
) -> Domains:
    """The mean PFI of each domain, with the order tested.

    A domain's interval speaks of other pairs of it where it has two or more; of just its pair, as ``reason`` says, where it has one.
    """
    pairs_of: dict[str, list[str]] = {}
    for pair in scored.pairs:
        if pair in domains:
            pairs_of.setdefault(domains[pair], []).append(pair)
    ranked = sorted(pairs_of, key=lambda name: (-_place(order, name), name))
    rows = tuple(_row(scored, name, pairs_of[name], scores, level) for name in ranked)
    placed = [name for name in ranked if order.rank(name) is not None]
    if len({order.rank(name) for name in placed}) < 2:
        nothing = Estimate.without("undefined", _why_no_order(ranked, order), level=level)
        return Domains(rows, None, nothing, nothing, nothing, None, None)
    ends = placed[0], placed[-1]
    first, last = (scored.matrix(PFI, pairs_of[name]) for name in ends)
    here, by_pair, by_rater = _tests(scored, {name: pairs_of[name] for name in placed}, order, level, seed)
    return Domains(rows, ends, _difference(first, last, ends, level), _difference_here(first, last, level), here, by_pair, by_rater)  # fmt: skip


def _place(order: Order, name: str) -> int:
    rank = order.rank(name)
    return -1 if rank is None else rank


def _why_no_order(names: Sequence[str], order: Order) -> str:
    if not names:
        return "no domains are known; name them in the study or in a column domain of the model scores"
    return (
        f"of the expected order {order} the pairs have too few domains ({', '.join(names)}); give the order to expect"
    )


def _row(scored: Scored, name: str, pairs: list[str], scores: Mapping[str, float], level: float) -> DomainRow:
    table = scored.matrix(PFI, pairs)
    known = [scores[pair] for pair in pairs if pair in scores]
    if len(pairs) > 1:
        human = crossed_mean(table, level=level).estimate
    else:
        human = mean(table[~np.isnan(table)], level=level).estimate
        human = replace(human, reason=human.reason or "1 pair: the interval is for this pair, not for its domain")
    return DomainRow(name, len(pairs), human, float(np.mean(known)) if known else None)


def _difference(first: Floats, last: Floats, ends: tuple[str, str], level: float) -> Estimate:
    found = crossed_difference(first, last, level=level).estimate
    if found.state != "too_few" or min(len(first), len(last)) > 1:
        return found
    reason = f"pairs: {len(first)} of {ends[0]}, {len(last)} of {ends[1]}; with one pair, the domain and the pair cannot be separated; give each domain at least 2"
    return replace(found, reason=reason)


def _difference_here(first: Floats, last: Floats, level: float) -> Estimate:
    """Over raters alone: what they would say of these very pairs."""
    by_rater = [row_means(table.T) for table in (first, last)]
    is_both = ~np.isnan(by_rater[0] + by_rater[1])
    return paired_difference(by_rater[0][is_both], by_rater[1][is_both], level=level).estimate


def _tests(
    scored: Scored, pairs_of: Mapping[str, list[str]], order: Order, level: float, seed: int
) -> tuple[Estimate, OrderTest, OrderTest | None]:
    pairs = [pair for group in pairs_of.values() for pair in group]
    domain_of = {pair: name for name, group in pairs_of.items() for pair in group}
    means = row_means(scored.matrix(PFI, pairs))
    ranks = np.array([_place(order, domain_of[pair]) for pair in pairs], dtype=np.float64)
    is_known = ~np.isnan(means)
    means, ranks = means[is_known], ranks[is_known]
    by_domain = np.array([row_means(scored.matrix(PFI, group).T) for group in pairs_of.values()])
    is_full = ~np.isnan(by_domain).any(axis=0)
    expected = [_place(order, name) for name in pairs_of]
    by_rater = page(by_domain, expected) if is_full.any() and len(pairs_of) <= 8 else None
    return correlation(ranks, means, "kendall", level=level).estimate, jonckheere(means, ranks, seed=seed), by_rater


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
