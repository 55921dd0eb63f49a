"""Evals: models of known ability on tasks that come in families."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from howsure.evals.comparison import Comparison, compare
from howsure.evals.overviews import overview
from howsure.evals.planning import power
from howsure.evals.sections import comparison_section, power_section, summary_section
from howsure.evals.simulator import SimulatedEval, simulate
from howsure.evals.summaries import Summary, summary
from howsure.results.blocks import Section
from howsure.tour.stops import KnownEstimate, TourSettings, TourStatistic, TourStop
from howsure.tour.world import NAMES

__all__ = ["evals_part"]

_ABILITIES = {NAMES[0]: -0.6, NAMES[2]: 0.4, NAMES[1]: 0.1, NAMES[3]: 1.2}
_MEAN = TourStatistic("Mean score", "0–1", of="Model, domain")
_DIFFERENCE = TourStatistic("Difference of two models", "score", of="Models, domain")
_ABOUT = "Four models try 150 tasks in each of two domains, three times each. Tasks of one family are correlated. The true value is the expected score over all such tasks, so the intervals must include the sampling of families."


def evals_part(settings: TourSettings) -> TourStop:
    """Means and differences on a simulated eval."""
    world = simulate(abilities=_ABILITIES, seed=settings.seed)
    means = summary(world.attempts, by="domain", cluster="family", level=settings.level)
    comparison = compare(world.attempts, by="domain", cluster="family", level=settings.level, seed=settings.seed)

    def sections() -> list[Section]:
        best, second = _leaders(means)
        needed = power(world.attempts, effect=0.05, a=best, b=second, cluster="family")
        claims = overview(world.attempts, cluster="family", level=settings.level, seed=settings.seed)
        first = claims.first_two
        told = [first.sentence] if first else []
        is_known = first is not None and first.verdict == "supported"
        leaders = replace(claims.sections()[0], found=told if is_known else [], unknown=[] if is_known else told)
        compared = comparison_section(comparison)
        counted = replace(compared, found=compared.found[:1], unknown=[])  # the leaders are named above
        return [leaders, summary_section(means), counted, power_section(needed)]

    def save(folder: Path) -> list[Path]:
        return [world.attempts.write(folder / "attempts.csv"), *means.save(folder), *comparison.save(folder)]

    known = _known(world, means, comparison)
    return TourStop("Evals", "evals", "Evals", _ABOUT, known, comparison.provenance, sections, save)


def _known(world: SimulatedEval, summary: Summary, comparison: Comparison) -> tuple[KnownEstimate, ...]:
    means = [
        KnownEstimate(_MEAN, f"{row.subject}, {row.task}", row.mean, world.truth[row.subject]) for row in summary.rows
    ]
    differences = [
        KnownEstimate(_DIFFERENCE, f"{p.a} − {p.b}, {p.task}", p.difference, world.truth[p.a] - world.truth[p.b])
        for p in comparison.pairs
    ]
    return (*means, *differences)


def _leaders(summary: Summary) -> tuple[str, str]:
    ranked = sorted(summary.rows, key=lambda row: -(row.mean.value or 0))
    names = list(dict.fromkeys(row.subject for row in ranked))
    return names[0], names[1]
