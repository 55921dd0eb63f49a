"""A plan in sentences: what the asked-for design cannot show, and what would."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from howsure.estimates import Estimate
from howsure.stats.correlation import disattenuate
from howsure.study.planning.simulated_studies import ALPHA, COMBINED, DIFFERENCE, FIDELITY, PEARSON

if TYPE_CHECKING:
    from howsure.study.planning.design import RatingDesign
    from howsure.study.planning.plans import CorrelationPower, DesignRow, Pace
    from howsure.study.planning.simulated_studies import Assumptions
    from howsure.study.verdict import Criterion

__all__ = ["sentences", "share"]

_OFTEN = 0.8


def sentences(
    asked: DesignRow,
    rows: Sequence[DesignRow],
    best: DesignRow,
    power: Sequence[CorrelationPower],
    assumptions: Assumptions,
    criteria: Sequence[Criterion],
    pace: Pace,
    *,
    wanted: float,
    level: float,
    is_enough: bool,
) -> tuple[str, ...]:
    """What to know before anyone rates, the plainest first; nothing is said of what no criterion asks."""
    by_statistic = {one.statistic: one for one in criteria}
    told = [_joint(asked, assumptions, len(criteria), level), _false(asked)]
    if PEARSON in by_statistic:
        told += [_correlation(asked, power, by_statistic[PEARSON], level), _ceiling(asked, by_statistic[PEARSON])]
    if ALPHA in by_statistic:
        told.append(_agreement(asked, by_statistic[ALPHA], level))
    told += [_mean(asked, by_statistic[name]) for name in (FIDELITY, COMBINED) if name in by_statistic]
    if DIFFERENCE in by_statistic:
        told.append(_domains(asked, by_statistic[DIFFERENCE]))
    told += [
        _advice(asked, best, wanted, is_enough=is_enough),
        _in_blocks(best, pace),
        _by_estimates(rows, best, wanted),
    ]
    return tuple(sentence for sentence in told if sentence)


def _joint(row: DesignRow, assumptions: Assumptions, n_criteria: int, level: float) -> str:
    joint = row.as_assumed.joint
    return (
        f"{row.design} (pairs × raters{'' if row.design.is_crossed else ' per pair / pairs per rater'}): if all is as assumed (true r {assumptions.correlation:g}, one rater's reliability {assumptions.icc:g}, mean fidelity "
        f"{assumptions.fidelity:g}), the estimates meet all {n_criteria} criteria in {share(joint.met)} of such studies, and all pass with their "
        f"{level:.0%} intervals in {share(joint.passed)}."
    )


def _false(row: DesignRow) -> str:
    unrelated, no_effect = row.unrelated.joint, row.no_effect.joint
    return (
        f"When people agree but the model's scores are unrelated to fidelity, the estimates still meet all criteria in {share(unrelated.met)} of studies "
        f"({share(unrelated.passed)} by intervals); if there is no effect at all, in {share(no_effect.met)}."
    )


def _correlation(row: DesignRow, power: Sequence[CorrelationPower], criterion: Criterion, level: float) -> str:
    n, critical, least = row.design.pairs, row.critical_r, criterion.threshold
    bar = f"; the effective threshold is therefore {critical:.2f}, not {least:g}" if critical > least else ""
    reached = ", ".join(f"{share(one.noisy)} of studies at a true r of {one.true_r:g}" for one in power)
    sure = row.as_assumed.by_criterion[criterion.name]
    remedy = " More raters do not help; more pairs do." if power[-1].noiseless < _OFTEN else ""
    return (
        f"With {n} pairs a correlation below {critical:.2f} does not differ from 0 at the {level:.0%} level{bar}. It is reached in {reached}. "
        f"That r is at least {least:g} is shown by its interval in {share(sure.passed)} even if all is as assumed.{remedy}"
    )


def _ceiling(row: DesignRow, criterion: Criterion) -> str:
    stands_for = disattenuate(Estimate(criterion.threshold), Estimate(row.reliability)).value
    return (
        f"The mean of {row.design.raters} raters has a reliability of {row.reliability:.2f}, so even a perfect score would correlate "
        f"{row.ceiling:.2f} with it (the noise ceiling), and an observed {criterion.threshold:g} corresponds to a true {stands_for:.2f}."
    )


def _agreement(row: DesignRow, criterion: Criterion, level: float) -> str:
    found = row.as_assumed.by_criterion[criterion.name]
    wide = "has no lower end" if row.width_alpha is None else f"is about {row.width_alpha:.2f} wide"
    judged = "can" if found.passed >= _OFTEN else "cannot"
    return (
        f"Alpha's {level:.0%} interval {wide}: the design {judged} show that α is at least {criterion.threshold:g} (if all is as assumed it passes in "
        f"{share(found.passed)} and is inconclusive in {share(found.inconclusive)})."
    )


def _mean(row: DesignRow, criterion: Criterion) -> str:
    found = row.as_assumed.by_criterion[criterion.name]
    if found.passed >= _OFTEN:
        return ""
    return (
        f"That {criterion.name} is at least {criterion.threshold:g} for all such pairs and raters is shown in {share(found.passed)} of studies if "
        f"all is as assumed; {row.design.pairs} pairs are too few for a precise mean."
    )


def _domains(row: DesignRow, criterion: Criterion) -> str:
    fewest = min(_counts(row.design))
    if fewest < 2:
        return (
            "With one pair in a domain, a difference between domains cannot be separated from a difference between two pairs: the domain "
            "pattern stays inconclusive."
        )
    found = row.as_assumed.by_criterion[criterion.name]
    if found.passed >= _OFTEN:
        return ""
    return f"With {fewest} pairs in a domain, that the first domain is above the last is shown in {share(found.passed)} if all is as assumed."


def _advice(asked: DesignRow, best: DesignRow, wanted: float, *, is_enough: bool) -> str:
    joint = best.as_assumed.joint
    cost = f"{best.minutes:.0f} minutes per rater" + (f" in {best.sittings} sittings" if best.sittings > 1 else "")
    if is_enough and best.design == asked.design:
        return f"The design is enough: all criteria pass in {share(joint.passed)} if all is as assumed ({cost})."
    if is_enough:
        return (
            f"Recommended: {best.design}, the least rater time among the designs compared with which all criteria pass in at least {wanted:.0%} "
            f"of studies if all is as assumed ({share(joint.passed)}; {cost})."
        )
    return (
        f"None of the designs compared passes all criteria in {wanted:.0%} of studies even if all is as assumed. The best of them is {best.design} "
        f"({share(joint.passed)}; {cost}). Ask for less, or compare larger designs with --design."
    )


def _in_blocks(best: DesignRow, pace: Pace) -> str:
    """How the recommended design is fielded."""
    design = best.design
    if not design.is_crossed:
        return (
            f"In practice: {design.n_raters} raters with {design.block_size} of the {design.pairs} pairs each, in balanced blocks. Build it: "
            f"howsure study build study.yaml --design {design.pairs}x{design.raters}/{design.block_size} -o packet."
        )
    if best.sittings < 2 or pace.per_sitting < 2:
        return ""
    n_raters = -(-design.pairs * design.raters // pace.per_sitting)
    return (
        f"With one sitting per rater the same number of ratings takes {n_raters} raters with {pace.per_sitting} pairs each; rater bias (severity) then adds to the noise. "
        f"What that can show: --per-rater {pace.per_sitting}."
    )


def _by_estimates(rows: Sequence[DesignRow], best: DesignRow, wanted: float) -> str:
    """The cheapest design whose estimates alone would do, as a verdict by points has it."""
    enough = [row for row in rows if row.as_assumed.joint.met >= wanted and row.person_minutes < best.person_minutes]
    if not enough:
        return ""
    row = min(enough, key=lambda one: one.person_minutes)
    return (
        f"If estimates without their intervals were enough, {row.design} would meet all criteria in {share(row.as_assumed.joint.met)} if all is as assumed, "
        f"with {row.minutes:.0f} minutes per rater; the verdict on it would mostly be inconclusive."
    )


def _counts(design: RatingDesign) -> list[int]:
    domain = design.domain.tolist()
    return [domain.count(number) for number in (0, max(domain))]


def share(chance: float) -> str:
    """In per cent, and never quite none or all of what was only simulated.

    >>> share(0.0), share(0.534)
    ('<1%', '53%')
    """
    return "<1%" if chance < 0.005 else ">99%" if chance > 0.995 else f"{chance:.0%}"
