"""Evals: how well each model did, which of two is better, and how many items it takes to find out.

::

    summaries            the mean score of each subject: `summary`; one model of all scores: `pooled_means`
    comparison           differences between subjects, paired by item: `compare`; cost, time and tokens with the score
    variants             what is compared: factors, cells, rows chosen by any column; pass@k, pass^k, majority@k, best@k
    gating               ship, block or cannot tell: `gate`; its verdicts over time, in a file chained by digests
    gate_simulation      how often it is wrong, on banks of items with known success rates
    name_proposals       names that may be the same: `names`
    overviews            what the logs contain and what they support: `overview`
    planning             items and repeats that a difference needs: `power`
    explorer             one offline page to look at everything: `explore`
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
    from howsure.evals.explorer import Explorer as Explorer
    from howsure.evals.explorer import explore as explore
    from howsure.evals.gate_simulation import GateCoverage as GateCoverage
    from howsure.evals.gate_simulation import gate_coverage as gate_coverage
    from howsure.evals.gating import GateDecision as GateDecision
    from howsure.evals.gating import GateHistory as GateHistory
    from howsure.evals.gating import append_history as append_history
    from howsure.evals.gating import gate as gate
    from howsure.evals.gating import read_history as read_history
    from howsure.evals.interval_coverage import IntervalCoverage as IntervalCoverage
    from howsure.evals.interval_coverage import coverage as coverage
    from howsure.evals.item_table import ItemTable as ItemTable
    from howsure.evals.item_table import items as items
    from howsure.evals.leaderboards import Leaderboard as Leaderboard
    from howsure.evals.leaderboards import leaderboard as leaderboard
    from howsure.evals.overviews import LogOverview as LogOverview
    from howsure.evals.overviews import overview as overview
    from howsure.evals.planning import PowerPlan as PowerPlan
    from howsure.evals.planning import power as power
    from howsure.evals.real_banks import BankCoverage as BankCoverage
    from howsure.evals.real_banks import SequenceCheck as SequenceCheck
    from howsure.evals.real_banks import coverage_on_banks as coverage_on_banks
    from howsure.evals.real_banks import sequences_on_banks as sequences_on_banks
    from howsure.evals.simulator import simulate as simulate
    from howsure.evals.stopping import StopWhenKnown as StopWhenKnown
    from howsure.evals.stopping import Watch as Watch
    from howsure.evals.stopping import watch as watch
    from howsure.evals.summaries import PooledModel as PooledModel
    from howsure.evals.summaries import Summary as Summary
    from howsure.evals.summaries import pooled_means as pooled_means
    from howsure.evals.summaries import summary as summary
    from howsure.evals.variants import reduce_attempts as reduce_attempts
    from howsure.evals.variants import select as select

_HOMES = {
    "BankCoverage": "real_banks",
    "PooledModel": "summaries",
    "pooled_means": "summaries",
    "coverage_on_banks": "real_banks",
    "SequenceCheck": "real_banks",
    "sequences_on_banks": "real_banks",
    "StopWhenKnown": "stopping",
    "Watch": "stopping",
    "watch": "stopping",
    "Comparison": "comparison",
    "Explorer": "explorer",
    "GateDecision": "gating",
    "GateCoverage": "gate_simulation",
    "GateHistory": "gating",
    "IntervalCoverage": "interval_coverage",
    "ItemTable": "item_table",
    "Leaderboard": "leaderboards",
    "LogOverview": "overviews",
    "PowerPlan": "planning",
    "Summary": "summaries",
    "compare": "comparison",
    "coverage": "interval_coverage",
    "explore": "explorer",
    "items": "item_table",
    "leaderboard": "leaderboards",
    "append_history": "gating",
    "gate": "gating",
    "gate_coverage": "gate_simulation",
    "overview": "overviews",
    "power": "planning",
    "read_history": "gating",
    "reduce_attempts": "variants",
    "select": "variants",
    "simulate": "simulator",
    "summary": "summaries",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
