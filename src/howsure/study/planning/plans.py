"""What a study can show, before anyone rates: how sure its statistics would be, and how often its criteria would be met."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, plain
from howsure.stats.correlation import critical_r, power_of_correlation
from howsure.stats.means import wilson
from howsure.stats.reliability import cronbach_alpha, intraclass, noise_ceiling, raters_needed, spearman_brown
from howsure.study.inputs import check_type
from howsure.study.planning.design import RatingDesign
from howsure.study.planning.sentences import sentences
from howsure.study.planning.simulated_studies import (
    PEARSON,
    Assumptions,
    SimulatedVerdicts,
    VerdictRates,
    draw_ratings,
    simulate_verdicts,
)
from howsure.study.verdict import CRITERIA, Criteria, Criterion, criteria_of
from howsure.tables.frames import as_list

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section

__all__ = ["DESIGNS", "TRUE_R", "CorrelationPower", "DesignRow", "Pace", "StudyPlan", "plan"]

DESIGNS = tuple(
    RatingDesign(*one)
    for one in ((3, 10), (5, 7), (10, 5), (15, 5), (20, 4), (30, 3), (30, 7), (40, 7), (50, 8), (60, 7), (80, 7))
)
"""What a plan is compared with: from what fits into ten minutes to what carries the criteria."""

SCENARIOS = ("as_assumed", "unrelated", "no_effect")
"""What is simulated: all is as assumed, the model's scores are unrelated to fidelity, or there is no effect at all."""

TRUE_R = (0.7, 0.8, 0.9)
TARGETS = (0.75, 0.8, 0.9)
"""Reliabilities of the mean for which raters are counted."""

_DRAWS_FOR_WIDTHS = 200


@dataclass(frozen=True)
class Pace:
    """Minutes: ``before`` the first pair, for each ``pair``, and how long one sitting should be at the most."""

    before: float = 2.0
    pair: float = 1.5
    sitting: float = 12.0

    def __post_init__(self) -> None:
        if self.before < 0 or self.pair <= 0 or self.sitting < self.before + self.pair:
            raise OptionError(
                "A sitting must be longer than the time before the first pair plus one pair, and the time per pair must be above 0."
            )

    def minutes(self, design: RatingDesign) -> float:
        """What one rater needs, in all sittings."""
        return self.before * self.sittings(design) + self.pair * design.block_size

    def sittings(self, design: RatingDesign) -> int:
        """How often a rater must sit down."""
        return math.ceil(design.block_size / self.per_sitting)

    @property
    def per_sitting(self) -> int:
        """How many pairs fit into one sitting."""
        return math.floor((self.sitting - self.before) / self.pair + 1e-9)


@dataclass(frozen=True)
class DesignRow:
    """What one design gives.

    ``reliability`` is ICC(3,k) of the mean rating (in blocks ICC(1,k), because severity is noise there) and ``ceiling`` its root, the highest correlation that a perfect score could be
    expected to show; severity does no harm to a correlation over pairs that all raters rate. Widths are those of the intervals of ICC(2,1),
    ICC(2,k) and alpha, in the median. The three scenarios: ``as_assumed``; ``unrelated`` (the model's scores are unrelated
    to fidelity, all else is as assumed); ``no_effect`` (pairs do not differ, nobody prefers the target, and scores are unrelated).
    """

    design: RatingDesign
    minutes: float
    sittings: int
    critical_r: float
    reliability: float
    ceiling: float
    width_single: float | None
    width_mean: float | None
    width_alpha: float | None
    as_assumed: SimulatedVerdicts
    unrelated: SimulatedVerdicts
    no_effect: SimulatedVerdicts

    @property
    def person_minutes(self) -> float:
        """Of all raters together."""
        return self.minutes * self.design.n_raters


@dataclass(frozen=True)
class CorrelationPower:
    """What a true correlation has to hope for.

    ``noiseless``: chance that r reaches the threshold and differs from 0 if ratings had no noise; ``noisy``: with these raters; both exact
    for normal scores. ``joint``: chances of all criteria at once.
    """

    true_r: float
    noiseless: float
    noisy: float
    joint: VerdictRates


@dataclass(frozen=True, kw_only=True)
class StudyPlan(Result):
    """What a design can show, compared with other designs.

    Table ``plan``: one row per design. Table ``plan_criteria``: the requested design, one row per scenario and criterion, with the shares of simulated studies whose estimate meets the criterion (met) and whose interval passes, fails or is inconclusive.

    Parameters
    ----------
    asked : DesignRow
        The requested design.
    rows : tuple[DesignRow, ...]
        One entry per design.
    power : tuple[CorrelationPower, ...]
        Power of the correlation, by true correlation.
    raters_for : Mapping[float, int]
        Reliability of the mean → number of raters needed.
    recommended : RatingDesign
        The recommended design.
    is_enough : bool
        Whether some design reaches the required power.
    sentences : tuple[str, ...]
        The results in words.
    assumptions : Assumptions
        The assumed true values.
    criteria : tuple[Criterion, ...]
        The criteria.
    pace : Pace
        Minutes per pair and sitting.
    wanted_power : float
        Required probability that all criteria pass.
    level : float
        Coverage of the intervals, between 0 and 1.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "plan"
    asked: DesignRow
    rows: tuple[DesignRow, ...]
    power: tuple[CorrelationPower, ...]
    raters_for: Mapping[float, int]
    recommended: RatingDesign
    is_enough: bool
    sentences: tuple[str, ...]
    assumptions: Assumptions
    criteria: tuple[Criterion, ...]
    pace: Pace
    wanted_power: float
    level: float
    provenance: Provenance

    @property
    def least_r(self) -> float:
        """The correlation that the criteria ask for; 0 where they ask for none."""
        return _least_correlation(self.criteria)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``plan`` and ``plan_criteria``."""
        verdicts = {name: getattr(self.asked, name) for name in SCENARIOS}
        criteria = [
            {"scenario": scenario, "criterion": name, **vars(one), "inconclusive": one.inconclusive}
            for scenario, simulated in verdicts.items()
            for name, one in {**simulated.by_criterion, "all": simulated.joint}.items()
        ]
        return {"plan": pl.DataFrame([_flat(row) for row in self.rows]), "plan_criteria": pl.DataFrame(criteria)}

    def chances_of(self, row: DesignRow) -> dict[str, Estimate]:
        """How often a design meets all criteria at once, in the scenarios that the chart shows, with the simulation's own (Wilson) interval."""
        shares = {
            "as assumed: intervals pass": row.as_assumed.joint.passed,
            "as assumed: estimates meet": row.as_assumed.joint.met,
            "scores unrelated: estimates meet": row.unrelated.joint.met,
        }
        n = self.provenance.settings["simulations"]
        return {scenario: wilson(round(share * n), n, self.level) for scenario, share in shares.items()}

    def curve(self) -> pl.DataFrame:
        """The exact power of the correlation's criterion over the number of pairs, with the requested raters: pairs, true_r, power."""
        most = max(30, *(row.design.pairs for row in self.rows))
        ceiling, least = self.asked.ceiling, self.least_r
        pairs = np.unique(np.geomspace(3, most, 40).round().astype(int)).tolist()
        return pl.DataFrame(
            [
                {
                    "pairs": n,
                    "true_r": r,
                    "power": power_of_correlation(r * ceiling, n, at_least=least, level=self.level),
                }
                for r in TRUE_R
                for n in pairs
            ]
        )

    def as_dict(self) -> dict[str, Any]:
        """The tables, the recommended design, the power at each true correlation, and the sentences."""
        names = ("recommended", "is_enough", "sentences", "power", "raters_for", "wanted_power", "level")
        more: dict[str, Any] = plain({name: getattr(self, name) for name in names})
        return super().as_dict() | more

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.study.sections import plan_section

        return [plan_section(self)]

    def charts(self) -> dict[str, Chart]:
        """``plan_designs`` and ``plan_power``."""
        from howsure.study.charts import draw_designs, draw_power

        return {"plan_designs": draw_designs(self), "plan_power": draw_power(self)}


def plan(
    pairs: int = 5,
    raters: int = 7,
    *,
    per_rater: int | None = None,
    assumptions: Assumptions | None = None,
    criteria: Criteria = CRITERIA,
    pace: Pace | None = None,
    designs: Sequence[RatingDesign] = DESIGNS,
    power: float = 0.8,
    n_simulations: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> StudyPlan:
    """Power analysis of a rating study: what ``pairs`` rated by ``raters`` can show, and the cheapest design that is enough.

    A criterion passes if its whole interval meets the threshold, as in `howsure study analyze`; ``met`` in the results refers to the estimate alone. Results are simulated with normal scores; the power of the correlation is exact.

    Parameters
    ----------
    pairs : int
        Number of pairs.
    raters : int
        Number of ratings per pair: the number of raters, unless ``per_rater`` is given.
    per_rater : int, optional
        Number of pairs that one rater rates. All designs compared are then dealt in blocks of this size, and take more raters.
    assumptions : Assumptions | None
        Assumed true values.
    criteria : sequence of Criterion or str, or path
        The criteria: lines such as ``"pfi >= 0.75"``, or a YAML file of them. At least one is needed.
    pace : Pace | None
        Minutes per pair and sitting.
    designs : Sequence[RatingDesign]
        Other designs to compare.
    power : float
        Required probability that all criteria pass.
    n_simulations : int
        Number of simulated studies per design and scenario.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        Seed of the random numbers.
    progress : Callable[[int, int], None] | None
        Called with the number of steps done and the total.
    """
    assumptions = Assumptions() if assumptions is None else assumptions
    pace = Pace() if pace is None else pace
    check_type("assumptions", assumptions, Assumptions, "Assumptions")
    check_type("pace", pace, Pace, "a Pace")
    criteria, designs = criteria_of(criteria), as_list(designs)
    for one in designs:
        check_type("designs", one, RatingDesign, "RatingDesign objects")
    if not 0 < power < 1 or n_simulations < 100:
        raise OptionError("power must be between 0 and 1, and at least 100 simulations are needed.")
    asked = RatingDesign(pairs, raters, per_rater or 0)
    in_blocks = (replace(one, per_rater=one.per_rater or per_rater or 0) for one in designs)
    listed = sorted({asked, *in_blocks})
    rows = []
    for design in listed:
        rows.append(_row(design, assumptions, criteria, pace, n_simulations, level, seed))
        if progress is not None:
            progress(len(rows), len(listed))
    own = rows[listed.index(asked)]
    chances = _powers(own, assumptions, criteria, n_simulations, level, seed)
    best, is_enough = _recommend(rows, power)
    single = Estimate(assumptions.consistency)
    needed = {target: int(raters_needed(single, target).value or 0) for target in TARGETS}
    told = sentences(
        own, rows, best, chances, assumptions, criteria, pace, wanted=power, level=level, is_enough=is_enough
    )
    settings = {
        **vars(assumptions),
        **vars(pace),
        "criteria": [str(one) for one in criteria],
        "simulations": n_simulations,
        "pairs": pairs,
        "raters": raters,
        "per_rater": per_rater,
    }
    return StudyPlan(
        asked=own,
        rows=tuple(rows),
        power=chances,
        raters_for=needed,
        recommended=best.design,
        is_enough=is_enough,
        sentences=told,
        assumptions=assumptions,
        criteria=tuple(criteria),
        pace=pace,
        wanted_power=power,
        level=level,
        provenance=Provenance(settings, seed=seed),
    )


def _row(
    design: RatingDesign,
    assumptions: Assumptions,
    criteria: Sequence[Criterion],
    pace: Pace,
    n: int,
    level: float,
    seed: int,
) -> DesignRow:
    # in blocks other raters rate other pairs, so severity is noise
    reliability = spearman_brown(assumptions.consistency if design.is_crossed else assumptions.icc, design.raters)
    unrelated = replace(assumptions, correlation=0.0)
    empty = replace(unrelated, fidelity=0.5, has_domains=False)
    single, mean, alpha = _widths(design, assumptions, level, seed)

    def verdicts(scenario: Assumptions, *, is_empty: bool = False) -> SimulatedVerdicts:
        return simulate_verdicts(design, scenario, criteria, is_empty=is_empty, n_simulations=n, level=level, seed=seed)

    return DesignRow(
        design,
        pace.minutes(design),
        pace.sittings(design),
        critical_r(design.pairs, level=level),
        reliability,
        noise_ceiling(Estimate(reliability)).value or 0.0,
        single,
        mean,
        alpha,
        verdicts(assumptions),
        verdicts(unrelated),
        verdicts(empty, is_empty=True),
    )


def _widths(
    design: RatingDesign, assumptions: Assumptions, level: float, seed: int
) -> tuple[float | None, float | None, float | None]:
    """How wide the intervals of ICC(2,1), ICC(2,k) and alpha are, in the median; in blocks of ICC(1,1), ICC(1,k) and the latter again."""
    scores, _ = draw_ratings(design, assumptions, _DRAWS_FOR_WIDTHS, np.random.default_rng(seed))
    drawn = [intraclass(table, level=level) | {"alpha": cronbach_alpha(table, level=level)} for table in scores]
    names = ("icc_2_1", "icc_2_k", "alpha") if design.is_crossed else ("icc_1_1", "icc_1_k", "icc_1_k")
    single, mean, alpha = (_median([one[name].width for one in drawn]) for name in names)
    return single, mean, alpha


def _median(widths: Sequence[float | None]) -> float | None:
    """An open end is wider than any width; where half are open there is no median."""
    found = float(np.median([math.inf if width is None else width for width in widths]))
    return found if math.isfinite(found) else None


def _powers(
    row: DesignRow, assumptions: Assumptions, criteria: Sequence[Criterion], n: int, level: float, seed: int
) -> tuple[CorrelationPower, ...]:
    design, least = row.design, _least_correlation(criteria)

    def exact(rho: float) -> float:
        return power_of_correlation(rho, design.pairs, at_least=least, level=level)

    def joint(rho: float) -> VerdictRates:
        scenario = replace(assumptions, correlation=rho)
        return simulate_verdicts(design, scenario, criteria, n_simulations=n, level=level, seed=seed).joint

    return tuple(CorrelationPower(r, exact(r), exact(r * row.ceiling), joint(r)) for r in TRUE_R)


def _least_correlation(criteria: Sequence[Criterion]) -> float:
    """What the criteria ask of Pearson's r; 0 where they ask nothing."""
    return next((one.threshold for one in criteria if one.statistic == PEARSON), 0.0)


def _recommend(rows: Sequence[DesignRow], power: float) -> tuple[DesignRow, bool]:
    """The design that costs raters the least time of those that pass often enough, or else the one that passes most often."""
    enough = [row for row in rows if row.as_assumed.joint.passed >= power]
    if enough:
        return min(enough, key=lambda row: (row.person_minutes, row.design)), True
    return max(rows, key=lambda row: (row.as_assumed.joint.passed, row.as_assumed.joint.met)), False


def _flat(row: DesignRow) -> dict[str, Any]:
    chances = {
        f"{scenario}_{name}": getattr(getattr(row, scenario).joint, name)
        for scenario in SCENARIOS
        for name in ("met", "passed")
    }
    told = {name: value for name, value in vars(row).items() if name not in ("design", *SCENARIOS)}
    judgements = row.design.pairs * row.design.raters
    size = {"pairs": row.design.pairs, "raters": row.design.raters, "per_rater": row.design.block_size}
    size |= {"n_raters": row.design.n_raters, "judgements": judgements}
    return {**size, **told, "person_minutes": row.person_minutes, **chances}
