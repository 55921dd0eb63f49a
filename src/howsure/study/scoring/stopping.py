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

import polars as pl

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.people import FinishedAnswers, Received
from howsure.people.build import BuiltPage
from howsure.people.fielding import Decision
from howsure.people.records import is_screened_out
from howsure.people.store import Final
from howsure.stats.sequences import mean_sequence
from howsure.study.packet.building import StudyKey, quotas_of
from howsure.study.packet.design import AGAIN
from howsure.study.protocol import ItemStudy, Study
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

    def values(self, collected: CollectedRatings) -> pl.DataFrame:
        """One value per rater: the mean of their own answers. Items shown again are excluded."""
        if self.is_vote:
            rows = collected.votes.frame if collected.votes else pl.DataFrame()
            if rows.is_empty():
                return pl.DataFrame({"rater": [], "value": []}, schema={"rater": pl.String, "value": pl.Float64})
            rows = rows.filter(pl.col("dimension") == self.dimension)
            rows = rows.filter(~pl.col("is_repeat")) if "is_repeat" in rows.columns else rows
            is_first = (pl.col("a") == self.system) & (pl.col("b") == self.other)
            is_second = (pl.col("a") == self.other) & (pl.col("b") == self.system)
            has_won = pl.col("outcome") == pl.when(is_first).then(pl.lit("a")).otherwise(pl.lit("b"))
            is_tied = pl.col("outcome").is_in(["tie", "both_bad"])
            won = pl.when(is_tied).then(0.5).otherwise(has_won.cast(pl.Float64))
            return rows.filter(is_first | is_second).group_by(rater="voter").agg(value=won.mean())
        if collected.ratings is None:
            return pl.DataFrame({"rater": [], "value": []}, schema={"rater": pl.String, "value": pl.Float64})
        rows = collected.ratings.frame.filter(
            pl.col("dimension") == self.dimension, ~pl.col("item").str.ends_with(AGAIN)
        )
        return rater_values(rows, self.system, self.other)

    def estimate(self, collected: CollectedRatings, order: Sequence[str], n_planned: int) -> Estimate:
        """The mean over raters so far, with its confidence sequence; raters in the order in which they finished."""
        values = dict(self.values(collected).iter_rows())
        ordered = [values[rater] for rater in order if rater in values]
        return mean_sequence(ordered, n_planned=n_planned, level=self.level, bounds=self.bounds).estimate

    def decided_items(
        self, collected: CollectedRatings, order: Sequence[str], n_planned: int
    ) -> tuple[list[str], list[str]]:
        """The items whose mean over raters is decided to be above the threshold, and those below; raters in the order in which they finished."""
        above: list[str] = []
        below: list[str] = []
        if collected.ratings is None:
            return above, below
        rows = collected.ratings.frame.filter(dimension=self.dimension).filter(~pl.col("item").str.ends_with(AGAIN))
        for (item,), part in rows.group_by("item", maintain_order=True):
            values = dict(part.select("rater", "value").iter_rows())
            given = [values[rater] for rater in order if rater in values]
            found = mean_sequence(given, n_planned=n_planned, level=self.level, bounds=self.bounds).estimate
            if found.low is not None and found.low > self.threshold:
                above.append(str(item))
            elif found.high is not None and found.high < self.threshold:
                below.append(str(item))
        return above, below

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
    quotas, units = quotas_of(key), [unit.id for unit in key.study.units]

    def decide(finals: Sequence[Final]) -> Decision:
        sets, order = [], []
        for final in finals:
            page = by_digest.get(final.page)
            result = FinishedAnswers.model_validate_json(final.text)
            if page is not None and not is_screened_out(page.page, result):
                sets.append(answer_set(key, Received(result, page, final.rater)))
                order.append(result.rater.strip())
        if not sets:
            return Decision(is_over=False, message=f"{rule}: no answers yet.")
        collected = collect_answers(key.study, sets)
        if rule.is_each:
            above, below = rule.decided_items(collected, order, n_planned=max(quotas.wanted, 1))
            message = f"{rule}, after {len(order)} raters: {len(above)} items above {rule.threshold:g}, {len(below)} below, {len(units) - len(above) - len(below)} open."
            decided = frozenset([*above, *below])
            return Decision(is_over=decided >= set(units), message=message, decided=decided)
        found = rule.estimate(collected, order, n_planned=len(pages))
        if found.low is None or found.high is None:
            return Decision(is_over=False, message=f"{rule}: {found}.")
        is_above, is_below = found.low > rule.threshold, found.high < rule.threshold
        told = "decided, above" if is_above else "decided, below" if is_below else "open, the interval includes"
        message = f"{rule} = {found} after {len(order)} raters: {told} {rule.threshold:g}."
        return Decision(is_over=is_above or is_below, message=message)

    return decide


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
