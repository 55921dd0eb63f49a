"""Which raters' answers can be used: rules fixed beforehand, and a log of every exclusion with its rule.

Nobody is left out for disagreeing with others: that would manufacture agreement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl

from howsure.study.packet.design import AGAIN, ATTENTION
from howsure.study.scoring.fidelity import ScoredDimension, is_pair, parts_of
from howsure.tables import Ratings

if TYPE_CHECKING:
    from howsure.study.item_studies import ItemStudy
    from howsure.study.protocol import Study
    from howsure.study.scoring.fidelity import Raters

__all__ = ["CheckedRater", "Exclusion", "Quality", "Rules", "broken_rules", "check_raters"]

_FEWEST_PAIRS = 3  # fewer answers are alike by accident
_FASTEST = 1 / 3  # of the expected time: 714 words per minute and 1.7 seconds per answer
_FEWEST_TIMES = 3  # raters that make a median
_BY_ACCIDENT = 0.001  # how rarely answers like those of the others may all be the same


@dataclass(frozen=True)
class Rules:
    """When a rater's answers are left out. Each rule is used where its statistic is known.

    ``complete``: share of questions answered, at least. ``fewest_minutes``: who took less cannot have read it all; a third of the time that the
    study's texts and answers take (238 words per minute, 5 seconds per answer), so it grows with the study. Where the study is not
    known, `check_raters` takes a third of the median rater's time, from three raters on. ``attention``, ``quiz``: share right, at least. ``consistency``: how alike the answers to a
    pair and to the same pair with swapped slots are (1 the same, 0 the opposite), at least. ``straight``: whether to exclude who
    gave the same answer to everything. Minutes outside ``target_minutes`` are flagged; nobody is excluded for them.
    """

    complete: float = 0.8
    fewest_minutes: float | None = None
    attention: float = 0.5
    consistency: float = 0.5
    quiz: float = 0.5
    straight: bool = True
    target_minutes: tuple[float, float] | None = None

    @classmethod
    def of(cls, study: Study | ItemStudy | None) -> Rules:
        """The rules with a study's length, minutes and pass mark."""
        if study is None:
            return cls()
        quiz = study.quiz.pass_mark / len(study.quiz.questions) if study.quiz else cls.quiz
        fewest = round(study.expected_minutes * _FASTEST, 1)
        return cls(quiz=quiz, fewest_minutes=fewest, target_minutes=study.usual_minutes)


@dataclass(frozen=True)
class Exclusion:
    """A rule that a rater broke: what was measured, and the limit."""

    rater: str
    rule: str
    measured: float
    limit: float
    reason: str


@dataclass(frozen=True)
class CheckedRater:
    """What is known of one rater; None where it was not asked or not recorded."""

    rater: str
    n_pairs: int
    minutes: float | None
    complete: float
    quiz: float | None
    attention: float | None
    consistency: float | None
    is_straight: bool
    slot_one: float | None
    exclusions: tuple[Exclusion, ...]
    flags: tuple[str, ...]
    comments: str | None = None

    @property
    def is_excluded(self) -> bool:
        """Whether a rule was broken."""
        return bool(self.exclusions)


@dataclass(frozen=True)
class Quality:
    """All raters, checked."""

    raters: tuple[CheckedRater, ...]
    rules: Rules

    @property
    def kept(self) -> list[str]:
        """Who broke no rule."""
        return [one.rater for one in self.raters if not one.is_excluded]

    @property
    def exclusions(self) -> list[Exclusion]:
        """Every broken rule of every rater."""
        return [broken for one in self.raters for broken in one.exclusions]

    def exclusions_frame(self) -> pl.DataFrame:
        """One row per broken rule: rater, rule, measured, limit, reason."""
        kinds = {
            "rater": pl.String,
            "rule": pl.String,
            "measured": pl.Float64,
            "limit": pl.Float64,
            "reason": pl.String,
        }
        return pl.DataFrame([vars(one) for one in self.exclusions], schema=kinds)


def broken_rules(
    answers: pl.DataFrame,
    raters: Raters | None = None,
    study: ItemStudy | None = None,
    rules: Rules | None = None,
) -> list[Exclusion]:
    """Which raters of a study of any type broke which rules.

    Minutes, completion, quiz and attention are those of ``raters``; what is not known excludes nobody. Straight-lining: a rater gave one answer to every
    question, as it stood on the page, and answers drawn from those of the other raters would all be the same with a probability below 0.001.
    So nobody is excluded where nearly all say the same, or after few answers.

    Parameters
    ----------
    answers : pl.DataFrame
        ``rater``, ``dimension`` and ``answer`` (text): one row per answer as it stood on the page; without an answer nothing is known of a straight line.
    raters : Raters, optional
        The table that `howsure study collect` writes beside the answers.
    study : ItemStudy, optional
        Gives the time that the study takes, and the pass mark of the quiz.
    rules : Rules, optional
        The limits; by default those of the study.
    """
    rules = rules or Rules.of(study)
    known = _known(raters)
    names = answers["rater"].unique().sort().to_list()
    times = [known[one]["minutes"] for one in names if known.get(one, {}).get("minutes") is not None]
    if study is None and rules.fewest_minutes is None and len(times) >= _FEWEST_TIMES:
        rules = replace(rules, fewest_minutes=round(median(times) * _FASTEST, 1))
    n_all = answers.drop_nulls("answer").group_by("dimension").agg(pl.len().alias("n_all"))
    each = answers.drop_nulls("answer").group_by("dimension", "answer").agg(pl.len().alias("n_same"))
    mine = answers.drop_nulls("answer").group_by("rater", "dimension").agg(pl.len().alias("n"), pl.col("answer").n_unique().alias("different"), pl.col("answer").first())  # fmt: skip
    mine = mine.join(n_all, on="dimension").join(each, on=["dimension", "answer"])
    share = (pl.col("n_same") - pl.col("n")) / (pl.col("n_all") - pl.col("n"))
    lines = mine.filter(pl.col("n_all") > pl.col("n")).group_by("rater").agg(
        (pl.col("different") == 1).all().alias("is_line"), (share ** pl.col("n")).min().alias("accident")
    )  # fmt: skip
    straight = set(lines.filter(pl.col("is_line"), pl.col("accident") < _BY_ACCIDENT)["rater"])
    found = []
    for rater in names:
        told = known.get(rater, {})
        facts = {name: told.get(name) for name in ("complete", "minutes", "attention", "consistency", "quiz")}
        found += _broken(rater, facts, rules, is_straight=rater in straight)
    return found


def check_raters(
    ratings: Ratings, raters: Raters | None = None, study: Study | None = None, rules: Rules | None = None
) -> Quality:
    """Every rater against every rule.

    ``raters`` is the table that `howsure study collect` writes beside the ratings. Without it minutes are the sum of the seconds spent
    on items, and completion is judged by the study's questions or, without a study, within the items that a rater opened.
    """
    rules = rules or Rules.of(study)
    parts, _ = parts_of(ratings, study)
    known = _known(raters)
    counted = _complete(ratings, study)
    minutes, attention = _minutes(ratings), _attention(ratings)
    alike, answers = _consistency(ratings, parts), _answers(ratings)
    taken = {rater: _first(known.get(rater, {}).get("minutes"), minutes.get(rater)) for rater in _raters(ratings)}
    times = [one for one in taken.values() if one is not None]
    if study is None and rules.fewest_minutes is None and len(times) >= _FEWEST_TIMES:
        rules = replace(rules, fewest_minutes=round(median(times) * _FASTEST, 1))
    checked = []
    for rater in _raters(ratings):
        told = known.get(rater, {})
        facts = {
            "minutes": taken[rater],
            "complete": _first(told.get("complete"), counted.get(rater, 0.0)),
            "quiz": told.get("quiz"),
            "attention": attention.get(rater),
            "consistency": alike.get(rater),
            "slot_one": told.get("slot_one"),
        }
        flags = _flags(facts, rules, told.get("flags"))
        mine = answers.get(rater, {})
        is_straight = _is_straight(mine, parts, facts["slot_one"])
        broken = tuple(_broken(rater, facts, rules, is_straight=is_straight))
        n_pairs = max((len(items) for items in mine.values()), default=0)
        said = {"comments": told.get("comments") or None}
        facts_and_words = {**facts, "is_straight": is_straight, "exclusions": broken, "flags": flags, **said}
        checked.append(CheckedRater(rater, n_pairs, **facts_and_words))
    return Quality(tuple(checked), rules)


def _raters(ratings: Ratings) -> list[str]:
    return ratings.frame["rater"].unique().sort().to_list()


def _known(raters: Raters | None) -> dict[str, dict[str, Any]]:
    return {} if raters is None else {row["rater"]: row for row in raters.frame.iter_rows(named=True)}


def _first(*values: float | None) -> Any:
    return next((value for value in values if value is not None), None)


def _complete(ratings: Ratings, study: Study | None) -> dict[str, float]:
    """The share of questions that each rater answered."""
    asked = ratings.frame.filter(is_pair(), pl.col("dimension") != "guess")
    counts = asked.group_by("rater").agg(pl.len().alias("n"), pl.col("item").n_unique().alias("items"))
    if study is not None:
        total = study.n_units * sum(len(dimension.rated) for dimension in study.dimensions)
        return {rater: min(n / total, 1.0) for rater, n, _ in counts.iter_rows()}
    n_dimensions = asked["dimension"].n_unique()
    return {rater: n / (items * n_dimensions) for rater, n, items in counts.iter_rows()}


def _minutes(ratings: Ratings) -> dict[str, float]:
    """Minutes spent on items; every answer to an item carries the item's seconds."""
    if not ratings.has("seconds"):
        return {}
    each = ratings.frame.group_by("rater", "item").agg(pl.col("seconds").max())
    sums = each.filter(pl.col("seconds").is_not_null()).group_by("rater").agg(pl.col("seconds").sum())
    return {rater: seconds / 60 for rater, seconds in sums.iter_rows()}


def _attention(ratings: Ratings) -> dict[str, float]:
    rows = ratings.frame.filter(pl.col("item").str.starts_with(ATTENTION))
    return dict(rows.group_by("rater").agg(pl.col("value").mean()).iter_rows())


def _consistency(ratings: Ratings, parts: tuple[ScoredDimension, ...]) -> dict[str, float]:
    """How alike the first and the swapped answers are, 1 − |difference| / range, over all repeated questions."""
    widths = {column: float(part.high - part.low) for part in parts for column in part.columns}
    rows = ratings.frame.filter(pl.col("dimension").is_in(list(widths))).select("rater", "item", "dimension", "value")
    again = rows.filter(pl.col("item").str.ends_with(AGAIN)).with_columns(pl.col("item").str.strip_suffix(AGAIN))
    both = rows.join(again, on=["rater", "item", "dimension"], suffix="_again")
    if both.is_empty():
        return {}
    width = pl.col("dimension").replace_strict(widths, return_dtype=pl.Float64)
    alike = 1 - (pl.col("value") - pl.col("value_again")).abs() / width
    return dict(both.group_by("rater").agg(alike.mean()).iter_rows())


def _answers(ratings: Ratings) -> dict[str, dict[str, list[float]]]:
    """By rater and dimension, the answers to pairs."""
    found: dict[str, dict[str, list[float]]] = {}
    rows = ratings.frame.filter(is_pair()).select("rater", "dimension", "value")
    for rater, dimension, value in rows.iter_rows():
        found.setdefault(rater, {}).setdefault(dimension, []).append(value)
    return found


def _is_straight(
    answers: Mapping[str, list[float]], parts: tuple[ScoredDimension, ...], slot_one: float | None
) -> bool:
    """Whether every question got one and the same answer as it stood on the page."""
    asked = [(part, [answers[column] for column in part.columns if column in answers]) for part in parts]
    asked = [(part, given) for part, given in asked if given]
    if not asked or max(len(values) for _, given in asked for values in given) < _FEWEST_PAIRS:
        return False
    return all(
        _follows_slots(given[0], slot_one) if part.kind == "comparison" else len({v for one in given for v in one}) == 1
        for part, given in asked
    )


def _follows_slots(values: list[float], slot_one: float | None) -> bool:
    """Whether answers that are turned towards the target could have been one answer on the page.

    The target changes slots, so the same answer throughout has one size and, if it leans to a slot, the sign of the slots. All for
    the target is no straight line unless the target always stood in one slot.
    """
    if len({abs(value) for value in values}) > 1:
        return False
    if not values[0]:
        return True
    positive = sum(value > 0 for value in values) / len(values)
    if slot_one is None:
        return 0 < positive < 1
    return any(math.isclose(positive, share, abs_tol=0.5 / len(values)) for share in (slot_one, 1 - slot_one))


def _broken(rater: str, facts: Mapping[str, Any], rules: Rules, *, is_straight: bool) -> list[Exclusion]:
    """The rules that these facts break, in words."""
    limits: dict[str, tuple[float | None, str]] = {
        "complete": (rules.complete, "answered {:.0%} of the questions; at least {:.0%} are needed"),
        "minutes": (rules.fewest_minutes, "took {:.1f} minutes; at least {:.1f} are needed to read and answer it all"),
        "attention": (rules.attention, "answered {:.0%} of the attention items correctly; at least {:.0%} are needed"),
        "consistency": (rules.consistency, "consistency on swapped repeats was {:.2f}; at least {:.2f} is needed"),
        "quiz": (rules.quiz, "answered {:.0%} of the calibration quiz correctly; the pass mark is {:.0%}"),
    }
    found = [
        Exclusion(rater, name, facts[name], limit, words.format(facts[name], limit))
        for name, (limit, words) in limits.items()
        if limit is not None and facts[name] is not None and facts[name] < limit - 1e-9
    ]
    if is_straight and rules.straight:
        found.append(Exclusion(rater, "straight-lining", 1.0, 0.0, "gave the same answer to every question"))
    return found


def _flags(facts: Mapping[str, Any], rules: Rules, collected: str | None) -> tuple[str, ...]:
    """What to look at, but not to exclude anyone for."""
    minutes, target = facts["minutes"], rules.target_minutes
    flags = [collected] if collected else []
    if minutes is not None and target is not None and not target[0] <= minutes <= target[1]:
        flags.append(f"{minutes:.1f} minutes, target {target[0]:g}–{target[1]:g}")
    if facts["complete"] < 1:
        flags.append(f"{facts['complete']:.0%} answered")
    return tuple(flags)
