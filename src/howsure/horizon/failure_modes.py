"""What went wrong in answers that a program found wrong: modes of failure, of models beside novices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError
from howsure.horizon.task_bank import Instance
from howsure.people.questions import readings
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import check_level
from howsure.stats.means import share, shared_difference
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.tables.frames import Source

__all__ = ["MODES", "NOVICES", "FailureModes", "compare_failures", "failure_mode"]

MODES = {
    "no answer": "nothing that can be read as an answer, or words such as “I do not know”",
    "other form": "a number where words are right, words where a number is right, or another number of parts",
    "wrong order": "all parts of the right answer, in another order",
    "partly right": "some of the parts of the right answer, in their places",
    "near miss": "a number within 10 % or 1 of the right one, or a text that differs in few letters",
    "other answer": "an answer of the right form that is none of these",
}
"""The modes of failure, in the order in which they are tried."""

NOVICES = "novices"
ALL = "all"
_NOTHING = re.compile(
    r"(?:i )?(?:do not|don.?t|cannot|can.?t) (?:know|tell|say|solve).*|no idea|idk|pass|skip|none|unknown|n/?a|[?\-.… ]*"
)
_PARTS = re.compile(r"[\s,;|]+")
_ALIKE = 0.8
_MOST_RIGHT = 200  # right answers to compare with; tasks that accept any working code have thousands
_MOST_ANSWERS = 3  # of a task


@dataclass(frozen=True, kw_only=True, eq=False)
class FailureModes(Result):
    """How models and novices fail.

    Parameters
    ----------
    modes : polars.DataFrame
        One row per who (a model, or ``novices``), domain (``all`` first) and mode: n_wrong, the estimate share (of the wrong answers, clustered by task), and for models the estimate difference to novices, in which tasks that both got wrong are compared with themselves.
    answers : polars.DataFrame
        The most frequent wrong answers: kind, task, answer, n; empty where answers were not kept.
    level : float
        Coverage of the intervals.
    provenance : Provenance
        Settings, digest of the input, version and notes.
    """

    name: ClassVar[str] = "failures"

    modes: pl.DataFrame
    answers: pl.DataFrame
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``failures`` (one row per who, domain and mode) and, where answers were kept, ``wrong_answers``."""
        return {"failures": self.modes, **({"wrong_answers": self.answers} if len(self.answers) else {})}

    def charts(self) -> dict[str, Chart]:
        """The share of each mode, models beside novices."""
        from howsure.charts import Caption, Field, interval_plot

        rows = self.modes.filter(pl.col("domain") == ALL).select(
            label="mode", value="share", low="share_low", high="share_high", state="share_state", group="who"
        )
        n_wrong = int(self.modes.filter(pl.col("domain") == ALL).unique("who", maintain_order=True)["n_wrong"].sum())
        chart = interval_plot(
            rows,
            title="What went wrong",
            caption=Caption(n_wrong, "wrong answers", self.level, "clustered by task"),
            label=Field("label", "Mode of failure"),
            value=Field("value", "Share of the wrong answers", "0–1", domain=(0, 1)),
            group=Field("group", "Who"),
        )
        return {"failures": chart}


def failure_mode(instance: Instance, text: str) -> str | None:
    """Which of `MODES` a wrong answer shows; None where the answer is right, or where a judge has to say.

    >>> from howsure.horizon.task_bank import Task
    >>> river = Task(id="r", domain="d", verification_type="automated", prompt="How many?", answer="20").instance(0)
    >>> [failure_mode(river, text) for text in ("20", "21", "500", "many", "?")]
    [None, 'near miss', 'other answer', 'other form', 'no answer']
    """
    score = instance.check(text)
    if score is None or score >= 0.5:
        return None
    said = [one for one in dict.fromkeys(map(_plain, readings(text))) if not _NOTHING.fullmatch(one)]
    if not said:
        return "no answer"
    rights = [_plain(one) for one in instance.accepted()[:_MOST_RIGHT] or (instance.answer or "",)]
    found = {_compared(one, right) for one in said for right in rights}
    return next(
        mode for mode in ("wrong order", "partly right", "near miss", "other answer", "other form") if mode in found
    )


@checked
def compare_failures(attempts: Attempts | Source, *, level: float = 0.95) -> FailureModes:
    """How often each mode of failure occurs among the wrong answers of each model and of novices.

    Parameters
    ----------
    attempts : Attempts or frame
        With a column ``mode`` of `MODES`, which is empty where the answer is right; `howsure horizon run` and `howsure horizon collect` write it. A column ``answer`` is used where there is one.
    level : float
        Coverage of the intervals.
    """
    check_level(level)
    table = Attempts.of(attempts)
    if not table.has("mode"):
        raise InputError(
            "There is no column mode, which says what went wrong. `howsure horizon run` and `howsure horizon collect` write it."
        )
    who = pl.when(pl.col("kind") == "human").then(pl.lit(NOVICES)).otherwise("subject").alias("who")
    domain = pl.col("domain").fill_null("(none)") if table.has("domain") else pl.lit("(none)").alias("domain")
    kept = [pl.col("answer")] if table.has("answer") else []
    wrong = table.frame.filter(pl.col("mode").fill_null("") != "").select(who, "kind", "task", domain, "mode", *kept)
    if wrong.is_empty():
        raise InputError("No answer is wrong, so there is no failure to group.")
    unknown = [mode for mode in wrong["mode"].unique() if mode not in MODES]
    if unknown:
        raise InputError(f"No mode of failure is called {unknown[0]!r}. Known are: {', '.join(MODES)}.")
    domains = wrong["domain"].unique().sort().to_list()
    rows: list[dict[str, Any]] = []
    for place in [ALL, *(domains if len(domains) > 1 else [])]:
        part = wrong if place == ALL else wrong.filter(pl.col("domain") == place)
        people = part.filter(who=NOVICES)
        for name in sorted(part["who"].unique(), key=lambda one: (one != NOVICES, one)):
            rows += _rows(name, place, part.filter(who=name), people, level)
    return FailureModes(
        modes=pl.DataFrame(rows, infer_schema_length=None),
        answers=_frequent(wrong) if kept else pl.DataFrame(schema=["kind", "task", "answer", "n"]),
        level=level,
        provenance=Provenance({"level": level}, table.digest, notes=table.notes),
    )


def _rows(who: str, domain: str, own: pl.DataFrame, people: pl.DataFrame, level: float) -> list[dict[str, Any]]:
    rows = []
    for mode in MODES:
        is_it, clusters = (own["mode"] == mode).to_numpy(), own["task"].to_numpy()
        row = {"who": who, "domain": domain, "mode": mode, "n_wrong": len(own)}
        row |= columns_of(share=share(is_it, clusters, level=level))
        if who == NOVICES or people.is_empty():
            nothing: dict[str, Any] = dict.fromkeys(
                ("difference", "difference_low", "difference_high", "difference_state")
            )
            rows.append(row | nothing)
            continue
        theirs = (people["mode"] == mode).to_numpy().astype(np.float64)
        gap = shared_difference(is_it.astype(np.float64), theirs, clusters, people["task"].to_numpy(), level=level)
        rows.append(row | columns_of(difference=gap.estimate))
    return rows


def _frequent(wrong: pl.DataFrame) -> pl.DataFrame:
    """The wrong answers that occur most often at each task, among people and among models."""
    counted = wrong.drop_nulls("answer").group_by("kind", "task", "answer").agg(pl.len().cast(pl.Int64).alias("n"))
    return (
        counted.sort(["kind", "task", "n", "answer"], descending=[False, False, True, False])
        .group_by("kind", "task", maintain_order=True)
        .head(_MOST_ANSWERS)
    )


def _compared(said: str, right: str) -> str:
    """How an answer differs from a right one."""
    numbers = _number(said), _number(right)
    if numbers[1] is not None:
        if numbers[0] is None:
            return "other form"
        return "near miss" if abs(numbers[0] - numbers[1]) <= max(1.0, abs(numbers[1]) / 10) else "other answer"
    mine, theirs = _parts(said), _parts(right)
    if len(theirs) > 1:
        if sorted(mine) == sorted(theirs):
            return "wrong order"
        if len(mine) != len(theirs):
            return "other form"
        if any(one == other for one, other in zip(mine, theirs, strict=True)):
            return "partly right"
    elif len(mine) > 1 or numbers[0] is not None:
        return "other form"
    return "near miss" if SequenceMatcher(None, said, right, autojunk=False).ratio() >= _ALIKE else "other answer"


def _plain(text: str) -> str:
    return text.strip().lower()


def _parts(text: str) -> Sequence[str]:
    return [part for part in _PARTS.split(text) if part]


def _number(text: str) -> float | None:
    try:
        found = float(text.replace(",", ""))
    except ValueError:
        return None
    return found if np.isfinite(found) else None
