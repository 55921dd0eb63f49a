"""The section on a study's plan: what its design can show, and what it cannot."""

from __future__ import annotations

from howsure.outside_text import csv_text
from howsure.results.blocks import ChartBlock, Download, KeyNumbers, Method, Section, TableBlock, Text
from howsure.study.planning.plans import StudyPlan
from howsure.study.planning.sentences import share

__all__ = ["plan_section"]


def plan_section(plan: StudyPlan) -> Section:
    """What the asked-for design can show, beside other designs."""
    return Section(
        "What can this study show?",
        [
            KeyNumbers(_key_numbers(plan)),
            Text("\n\n".join(plan.sentences)),
            *(ChartBlock(chart) for chart in plan.charts().values()),
            _designs(plan),
            TableBlock.of(
                plan.to_frame("plan_criteria"),
                "Shares of simulated studies of the requested design, by scenario and criterion.",
            ),
            Method(_METHOD),
            Download("plan.csv", csv_text(plan.to_frame())),
        ],
    )


def _key_numbers(plan: StudyPlan) -> dict[str, str]:
    joint = plan.asked.as_assumed.joint
    return {
        f"all criteria pass with {plan.asked.design}, if all is as assumed": share(joint.passed),
        "their estimates alone meet them": share(joint.met),
        "smallest r that differs from 0": f"{plan.asked.critical_r:.2f}",
        "noise ceiling": f"{plan.asked.ceiling:.2f}",
        "recommended": f"{plan.recommended}",
    }


def _designs(plan: StudyPlan) -> TableBlock:
    titles = {
        "pairs": "Pairs",
        "raters": "Raters",
        "minutes": "Minutes per rater",
        "critical_r": "Critical r",
        "ceiling": "Noise ceiling",
        "width_single": "Width of ICC(2,1)",
        "width_alpha": "Width of alpha",
        "as_assumed_met": "As assumed: estimates meet",
        "as_assumed_passed": "As assumed: intervals pass",
        "unrelated_met": "Scores unrelated: estimates meet",
        "no_effect_met": "No effect: estimates meet",
    }
    return TableBlock.of(plan.to_frame(), "One row per design.", titles)


_METHOD = (
    "Each scenario is simulated many times with normal scores: the fidelity of a pair, half of whose variance is between domains, plus the rater's severity "
    "and noise. Every simulated study is analysed as a real one would be: Cronbach's alpha with Feldt's interval, Pearson's r with "
    "Fisher's, means whose intervals hold for other pairs and other raters. A criterion passes when its whole interval meets the threshold; "
    "it is met when the estimate does (a correlation must also differ from 0). The power of the correlation is exact (Hotelling 1953), "
    "with r lowered by the noise ceiling √ICC(3,k)."
)
