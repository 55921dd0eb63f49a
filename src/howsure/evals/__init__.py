"""Evals: how well each model did, which of two is better, and how many items it takes to find out.

::

    summaries            the mean score of each subject: `summary`
    comparison           differences between subjects, paired by item: `compare`
    planning             items and repeats that a difference needs: `power`
    item_table           every item, by model: `items`
    leaderboards         tiers and rank intervals: `leaderboard`
    interval_coverage    how often each kind of interval contains the true value: `coverage`
    item_means           item means, from which means and differences are made
    real_banks           the same in evals drawn from real item banks: `coverage_on_banks`
    stopping             confidence sequences of running evals: `watch`, `StopWhenKnown`
    simulator            attempts with known true means
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.evals.comparison import Comparison as Comparison
    from howsure.evals.comparison import compare as compare
    from howsure.evals.interval_coverage import IntervalCoverage as IntervalCoverage
    from howsure.evals.interval_coverage import coverage as coverage
    from howsure.evals.item_table import ItemTable as ItemTable
    from howsure.evals.item_table import items as items
    from howsure.evals.leaderboards import Leaderboard as Leaderboard
    from howsure.evals.leaderboards import leaderboard as leaderboard
    from howsure.evals.planning import PowerPlan as PowerPlan
    from howsure.evals.planning import power as power
    from howsure.evals.real_banks import BankCoverage as BankCoverage
    from howsure.evals.real_banks import coverage_on_banks as coverage_on_banks
    from howsure.evals.simulator import simulate as simulate
    from howsure.evals.stopping import StopWhenKnown as StopWhenKnown
    from howsure.evals.stopping import Watch as Watch
    from howsure.evals.stopping import watch as watch
    from howsure.evals.summaries import Summary as Summary
    from howsure.evals.summaries import summary as summary

_HOMES = {
    "BankCoverage": "real_banks",
    "coverage_on_banks": "real_banks",
    "StopWhenKnown": "stopping",
    "Watch": "stopping",
    "watch": "stopping",
    "Comparison": "comparison",
    "IntervalCoverage": "interval_coverage",
    "ItemTable": "item_table",
    "Leaderboard": "leaderboards",
    "PowerPlan": "planning",
    "Summary": "summaries",
    "compare": "comparison",
    "coverage": "interval_coverage",
    "items": "item_table",
    "leaderboard": "leaderboards",
    "power": "planning",
    "simulate": "simulator",
    "summary": "summaries",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
