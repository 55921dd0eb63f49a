"""When a live study has its answer: a criterion that may be looked at after every rater.

``faithful[alder] > 3.5``                       a system's mean rating
``faithful[alder] - faithful[cedar] > 0``       the difference of two systems
``better[oak:pine] > 0.5``                      the share of pairwise votes for one of two systems, a tie is half a vote

Raters are the independent units: each counts with the mean of their own answers, in the order in which they finished. The interval is a
confidence sequence (`howsure.stats.sequences`), valid at all looks together, so that stopping when it excludes the threshold keeps its level. It speaks of
raters like these on these items.
"""

from __future__ import annotations

import re
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
from howsure.study.packet.building import StudyKey
from howsure.study.packet.design import AGAIN
from howsure.study.protocol import ItemStudy, Study
from howsure.study.scoring.collection import CollectedRatings, answer_set, collect_answers

__all__ = ["StopRule", "decide_live", "parse_stop_rule"]

_NAME = r"[a-z][a-z0-9_]*(?::[^\[\]<>]+)?"
_SYSTEM = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_MEAN = rf"({_NAME})(?:\[({_SYSTEM})\])?"
_RULE = re.compile(rf"\s*{_MEAN}(?:\s*-\s*{_MEAN})?\s*>\s*(-?\d+(?:\.\d+)?)\s*")
_VOTE = re.compile(rf"\s*([a-z][a-z0-9_]*)\[({_SYSTEM}):({_SYSTEM})\]\s*>\s*(0?\.\d+)\s*")


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
    """

    dimension: str
    system: str
    other: str
    threshold: float
    is_vote: bool
    low: float
    high: float
    level: float = 0.95

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
        by_system = [
            (rows.filter(pl.col("system") == system) if system else rows)
            .group_by("rater")
            .agg(value=pl.col("value").mean())
            for system in (self.system, self.other)
            if system or not self.system
        ]
        if not self.other:
            return by_system[0]
        both = by_system[0].join(by_system[1], on="rater", suffix="_other")
        return both.select("rater", value=pl.col("value") - pl.col("value_other"))

    def estimate(self, collected: CollectedRatings, order: Sequence[str], n_planned: int) -> Estimate:
        """The mean over raters so far, with its confidence sequence; raters in the order in which they finished."""
        values = dict(self.values(collected).iter_rows())
        ordered = [values[rater] for rater in order if rater in values]
        return mean_sequence(ordered, n_planned=n_planned, level=self.level, bounds=self.bounds).estimate

    def __str__(self) -> str:
        if self.is_vote:
            return f"{self.dimension}[{self.system}:{self.other}]"
        first = f"{self.dimension}[{self.system}]" if self.system else self.dimension
        return f"{first} - {self.dimension}[{self.other}]" if self.other else first


def parse_stop_rule(text: str, study: Study | ItemStudy, *, level: float = 0.95) -> StopRule:
    """A criterion as people write it, checked against the study's questions and systems."""
    vote, mean = _VOTE.fullmatch(text), _RULE.fullmatch(text)
    if vote:
        dimension, system, other, threshold = vote[1], vote[2], vote[3], float(vote[4])
        low, high = 0.0, 1.0
        known = [one.name for one in study.questions if one.type == "pairwise"] if isinstance(study, ItemStudy) else []
        if dimension not in known:
            raise OptionError.unknown("pairwise question", dimension, known)
    elif mean and mean[3] in (None, mean[1]):
        dimension, system, other, threshold = mean[1], mean[2] or "", mean[4] or "", float(mean[5])
        scales = _scales(study)
        if dimension not in scales:
            raise OptionError.unknown("rated dimension", dimension, scales)
        low, high = scales[dimension]
    else:
        raise OptionError(
            f"--stop-when {text!r}: write NAME > NUMBER, NAME[SYSTEM] > NUMBER, NAME[A] - NAME[B] > NUMBER, or NAME[A:B] > 0.5 for votes."
        )
    systems = study.systems if isinstance(study, ItemStudy) else ()
    for one in (system, other):
        if one and one not in systems:
            raise OptionError.unknown("system", one, systems)
    rule = StopRule(dimension, system, other, threshold, bool(vote), low, high, level)
    if not rule.bounds[0] < threshold < rule.bounds[1]:
        raise OptionError(
            f"--stop-when {text!r}: {threshold:g} is not inside the scale, {rule.bounds[0]:g} to {rule.bounds[1]:g}."
        )
    return rule


def decide_live(key: StudyKey, pages: Sequence[BuiltPage], rule: StopRule) -> Callable[[Sequence[Final]], Decision]:
    """What a collector calls whenever somebody finishes: whether the criterion is decided, and how it stands."""
    by_digest = {page.digest: page for page in pages}

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
        found = rule.estimate(collect_answers(key.study, sets), order, n_planned=len(pages))
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
