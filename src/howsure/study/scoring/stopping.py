"""When a live study has its answer: a criterion, written as for `howsure study stop`, that may be looked at after every rater.

``mean:faithful:alder >= 3.5``               a system's mean rating
``difference:faithful:alder:cedar >= 0``     the difference of two systems
``votes:better:oak:pine >= 0.5``             the share of pairwise votes for one of two systems, a tie is half a vote
``each:faithful >= 3``                       the mean of each item on its own: items that are decided need no more ratings

Raters are the independent units: each counts with the mean of their own answers, in the order in which they finished. The interval is a
confidence sequence (`howsure.stats.sequences`), valid at all looks together, so that stopping when it excludes the threshold keeps its level. It speaks of
raters like these on these items. With ``each``, the raters of an item are its units, the level holds for each item on its own, and pages with the most items that
are still open are handed out first: which item is rated next depends on the answers, which a confidence sequence allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.people import FinishedAnswers, Received
from howsure.people.build import BuiltPage
from howsure.people.records import is_screened_out
from howsure.people.store import Decision, Final
from howsure.stats.sequences import mean_sequence
from howsure.study.item_studies import ItemStudy
from howsure.study.packet.building import StudyKey, quotas_of
from howsure.study.packet.design import AGAIN
from howsure.study.protocol import Study
from howsure.study.scoring.collection import CollectedRatings, answer_set, collect_answers
from howsure.study.verdict import require_criterion

__all__ = ["StopRule", "decide_live", "parse_stop_rule", "rater_values"]

_SYSTEMS = {
    "mean": (0, 1),
    "difference": (2, 2),
    "votes": (2, 2),
    "each": (0, 0),
}  # fewest and most that a statistic names


@dataclass(frozen=True)
class StopRule:
    """A mean, a difference of means or a share of votes, and the threshold that its interval must exclude.

    Parameters
    ----------
    dimension : str
        What was asked.
    system, other : str
        The systems; ``other`` empty: the mean of one. Both empty: the mean of all answers.
    threshold : float
        On the scale of the answers.
    is_vote : bool
        Whether pairwise votes are counted.
    low, high : float
        Ends of the scale of the answers.
    level : float
        Coverage of all looks together.
    is_each : bool
        Whether every item has a decision of its own.
    """

    dimension: str
    system: str
    other: str
    threshold: float
    is_vote: bool
    low: float
    high: float
    level: float = 0.95
    is_each: bool = False

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and largest value of the statistic."""
        width = self.high - self.low
        return (-width, width) if self.other and not self.is_vote else (self.low, self.high)

    def values(self, collected: CollectedRatings) -> dict[str, float]:
        """What one rater's answers count for: the mean of them, under no name, or each item's rating. Items shown again are excluded."""
        if self.is_vote:
            rows = collected.votes.frame if collected.votes else pl.DataFrame({"dimension": []})
            rows = rows.filter(pl.col("dimension") == self.dimension)
            if rows.is_empty():
                return {}
            rows = rows.filter(~pl.col("is_repeat")) if "is_repeat" in rows.columns else rows
            is_first = (pl.col("a") == self.system) & (pl.col("b") == self.other)
            is_second = (pl.col("a") == self.other) & (pl.col("b") == self.system)
            has_won = pl.col("outcome") == pl.when(is_first).then(pl.lit("a")).otherwise(pl.lit("b"))
            is_tied = pl.col("outcome").is_in(["tie", "both_bad"])
            won = pl.when(is_tied).then(0.5).otherwise(has_won.cast(pl.Float64))
            found = rows.filter(is_first | is_second).select(won)
            return {"": float(found.to_series().mean())} if len(found) else {}  # type: ignore[arg-type]
        if collected.ratings is None:
            return {}
        rows = collected.ratings.frame.filter(
            pl.col("dimension") == self.dimension, ~pl.col("item").str.ends_with(AGAIN)
        )
        if self.is_each:
            return dict(rows.select("item", "value").iter_rows())
        own = rater_values(rows, self.system, self.other)["value"]
        return {"": float(own[0])} if len(own) else {}

    def __str__(self) -> str:
        if self.is_each:
            return f"each:{self.dimension}"
        what = "votes" if self.is_vote else "difference" if self.other else "mean"
        return ":".join(one for one in (what, self.dimension, self.system, self.other) if one)


def rater_values(rows: pl.DataFrame, system: str = "", other: str = "") -> pl.DataFrame:
    """Each rater's mean, of one system's answers where it is named, minus that of the other's; raters in the order of their first row.

    Parameters
    ----------
    rows : pl.DataFrame
        Columns rater, value and, where systems are named, system.
    system, other : str
        The systems. Of two, only raters who rated both count.
    """
    means = [
        (rows.filter(pl.col("system") == one) if one else rows)
        .group_by("rater", maintain_order=True)
        .agg(value=pl.col("value").mean())
        for one in ([system, other] if other else [system])
    ]
    if not other:
        return means[0]
    both = means[0].join(means[1], on="rater", suffix="_other", maintain_order="left")
    return both.select("rater", value=pl.col("value") - pl.col("value_other"))


def parse_stop_rule(text: str, study: Study | ItemStudy, *, level: float = 0.95) -> StopRule:
    """A criterion as people write it, checked against the study's questions and systems."""
    criterion = require_criterion(text)
    what, _, rest = criterion.statistic.partition(":")
    if isinstance(study, ItemStudy):
        pairwise, systems = [one.name for one in study.questions if one.type == "pairwise"], study.systems
    else:
        pairwise, systems = [], ()
    scales = dict.fromkeys(pairwise, (0.0, 1.0)) if what == "votes" else _scales(study)
    # the longest dimension that fits: a label's name has a colon of its own
    dimension = max((one for one in scales if f"{rest}:".startswith(f"{one}:")), key=len, default="")
    named = [one for one in rest.removeprefix(dimension).split(":") if one]
    if what not in _SYSTEMS:
        raise OptionError(
            f"--stop-when {text!r}: write mean:DIMENSION[:SYSTEM], difference:DIMENSION:A:B, votes:QUESTION:A:B or each:DIMENSION, then >= and a number."
        )
    if not dimension:
        asked = "pairwise question" if what == "votes" else "rated dimension"
        raise OptionError.unknown(asked, rest.partition(":")[0], scales)
    if not _SYSTEMS[what][0] <= len(named) <= _SYSTEMS[what][1]:
        raise OptionError(
            f"--stop-when {text!r}: a {what} names {_SYSTEMS[what][1]} systems, as in {what}:{dimension}:A:B."
            if _SYSTEMS[what][1]
            else f"--stop-when {text!r}: {what} names no system, as in {what}:{dimension}."
        )
    for one in named:
        if one not in systems:
            raise OptionError.unknown("system", one, systems)
    system, other = [*named, "", ""][:2]
    threshold = criterion.threshold
    rule = StopRule(dimension, system, other, threshold, what == "votes", *scales[dimension], level, what == "each")
    if not rule.bounds[0] < threshold < rule.bounds[1]:
        raise OptionError(
            f"--stop-when {text!r}: {threshold:g} is not inside the scale, {rule.bounds[0]:g} to {rule.bounds[1]:g}."
        )
    return rule


def decide_live(key: StudyKey, pages: Sequence[BuiltPage], rule: StopRule) -> Callable[[Sequence[Final]], Decision]:
    """What a collector calls whenever somebody finishes: whether the criterion is decided, and how it stands."""
    by_digest = {page.digest: page for page in pages}
    rated = _rated_by_unit(key.study, rule.dimension)
    n_items = len(frozenset().union(*rated.values()))
    n_planned = max(quotas_of(key).wanted, 1) if rule.is_each else len(pages)
    known: dict[str, dict[str, float] | None] = {}

    # a look costs what is new: every answer is read once, and an item without a new rating keeps its interval
    @lru_cache(maxsize=4 * n_items)
    def interval(values: tuple[float, ...]) -> Estimate:
        return mean_sequence(values, n_planned=n_planned, level=rule.level, bounds=rule.bounds).estimate

    def read(final: Final) -> dict[str, float] | None:
        page, result = by_digest.get(final.page), FinishedAnswers.model_validate_json(final.text)
        if page is None or is_screened_out(page.page, result):
            return None
        return rule.values(collect_answers(key.study, [answer_set(key, Received(result, page, final.rater))]))

    def decide(finals: Sequence[Final]) -> Decision:
        for final in finals:
            if final.digest not in known:
                known[final.digest] = read(final)
        found = [values for final in finals if (values := known[final.digest]) is not None]
        if not found:
            return Decision(is_over=False, message=f"{rule}: no answers yet.")
        names = dict.fromkeys(name for values in found for name in values)
        means = {name: interval(tuple(values[name] for values in found if name in values)) for name in names}
        above = {name for name, one in means.items() if one.low is not None and one.low > rule.threshold}
        below = {name for name, one in means.items() if one.high is not None and one.high < rule.threshold}
        if rule.is_each:
            message = f"{rule}, after {len(found)} raters: {len(above)} items above {rule.threshold:g}, {len(below)} below, {n_items - len(above) - len(below)} open."
            decided = frozenset(unit for unit, items in rated.items() if items <= above | below)
            return Decision(is_over=len(decided) == len(rated), message=message, decided=decided)
        if not means:
            return Decision(is_over=False, message=f"{rule}: no answers yet.")
        told = "decided, above" if above else "decided, below" if below else "open, the interval includes"
        message = f"{rule} = {means['']} after {len(found)} raters: {told} {rule.threshold:g}."
        return Decision(is_over=bool(above or below), message=message)

    return decide


def _rated_by_unit(study: Study | ItemStudy, dimension: str) -> dict[str, frozenset[str]]:
    """What is rated on each screen, by its name in tables: the item, or each response that the question is asked of."""
    if isinstance(study, Study):
        return {unit.id: frozenset([unit.id]) for unit in study.units}
    asked = next(one for one in study.questions if f"{dimension}:".startswith(f"{one.name}:"))
    return {
        unit.id: frozenset(study.response_name(unit.id, system) for system in unit.systems)
        if len(unit.systems) == 1 or (unit.systems and asked.of == "response")
        else frozenset([unit.id])
        for unit in study.units
    }


def _scales(study: Study | ItemStudy) -> dict[str, tuple[float, float]]:
    """The ends of each rated dimension's scale, by its name in tables."""
    if isinstance(study, Study):
        return {name: (one.low, one.high) for one in study.dimensions for name in one.rated}
    found: dict[str, tuple[float, float]] = {}
    for one in study.questions:
        if one.type in ("rating", "slider"):
            found[one.name] = (one.low, one.top_value)
        elif one.type == "yes_no":
            found[one.name] = (0.0, 1.0)
        elif one.type == "labels":
            found |= {f"{one.name}:{label}": (0.0, 1.0) for label in one.labels}
    return found
