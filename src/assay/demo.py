"""The tour: a simulated world with a known truth, every estimate beside it, in one report."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.estimates import chance
from assay.evals.compare import Comparison, compare
from assay.evals.power import pilot, plan
from assay.evals.simulate import World, simulate
from assay.evals.summary import ALL, Summary, summarise
from assay.report import Report, save_report
from assay.report.blocks import KeyNumbers, Text
from assay.report.evals import Truth, comparison_section, plan_section, summary_section

__all__ = ["Demo", "run_demo"]

_STEPS = 5


@dataclass(frozen=True)
class Demo:
    """What the tour found: the report, its results, and how many intervals hold the planted truth."""

    world: World
    summary: Summary
    comparison: Comparison
    report: Report
    n_covered: int
    n_intervals: int

    def save(self, folder: Path) -> list[Path]:
        """Write the report, the tables behind it, and the attempts they come from."""
        results = [*self.summary.save(folder), *self.comparison.save(folder)]
        attempts = self.world.attempts.write(folder / "attempts.csv")
        return [save_report(self.report, folder / "report.html"), attempts, *results]


def run_demo(
    *, seed: int = 0, level: float = 0.95, date: datetime.date, progress: Callable[[int, int], None] | None = None
) -> Demo:
    """Simulate models on tasks in families, measure them, and say how often the intervals hold the truth."""
    tell = progress or (lambda done, total: None)
    world = simulate(seed=seed)
    tell(1, _STEPS)
    summary = summarise(world.attempts, by=ALL, cluster="family", level=level)
    tell(2, _STEPS)
    comparison = compare(world.attempts, cluster="family", level=level, seed=seed)
    tell(3, _STEPS)
    means: Truth = {(subject, ALL): truth for subject, truth in world.truth.items()}
    differences: Truth = {(p.a, p.b, ALL): world.truth[p.a] - world.truth[p.b] for p in comparison.pairs}
    hits = [row.mean.covers(world.truth[row.subject]) for row in summary.rows]
    hits += [pair.difference.covers(differences[pair.a, pair.b, pair.task]) for pair in comparison.pairs]
    best, second = _leaders(summary)
    pilot_run = pilot(world.attempts, best, second, cluster="family")
    sections = [
        summary_section(summary, means),
        comparison_section(comparison, differences),
        plan_section(plan(0.05, comparison=pilot_run)),
    ]
    tell(4, _STEPS)
    report = Report("A tour of Assay", sections, comparison.provenance, date, _front(world, summary, comparison, hits))
    tell(_STEPS, _STEPS)
    return Demo(world, summary, comparison, report, sum(hits), len(hits))


def _leaders(summary: Summary) -> tuple[str, str]:
    ranked = sorted(summary.rows, key=lambda row: -(row.mean.value or 0))
    return ranked[0].subject, ranked[1].subject


def _front(world: World, summary: Summary, comparison: Comparison, hits: list[bool]) -> list[Text | KeyNumbers]:
    best, second = _leaders(summary)
    pair = next(p for p in comparison.pairs if {p.a, p.b} == {best, second})
    sure = pair.p_better if pair.a == best else None if pair.p_better is None else 1 - pair.p_better
    mean = {row.subject: row.mean for row in summary.rows}
    n_tasks = world.attempts.frame["task"].n_unique()
    text = (
        f"{len(summary.rows)} simulated models tried {n_tasks} tasks three times each. {best} leads with {mean[best]}, ahead of {second} with "
        f"{mean[second]}; the probability that it is truly better is {chance(sure)}.\n\n"
        f"Everything here was drawn from a world whose truth is known. {sum(hits)} of the {len(hits)} intervals in this report hold it; "
        f"about {summary.provenance.settings['level']:.0%} should."
    )
    return [Text(text), KeyNumbers(mean)]
