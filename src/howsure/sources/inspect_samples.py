"""The samples of one Inspect log as columns, with the scores as numbers.

A log is reduced to columns as soon as it is read, so that of many logs only one is in memory as objects. What depends on the other logs,
such as the names of tasks, is decided later, in `inspect_logs`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import NoneType
from typing import Any

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.sources.inspect_format import Log, Sample, is_nothing
from howsure.tables.metrics import is_higher_better, is_share

__all__ = ["COUNTED_EVALS", "Options", "SampleTable", "ScoreColumn", "UnknownDirectionError"]

_WORDS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_FOLDED_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_COUNTED = {("track_the_stat", "max_length"): "length"}
"""Evals and scorers whose scores count something, and the field of the samples' metadata with the highest count there can be."""
COUNTED_EVALS = frozenset(task for task, _ in _COUNTED)
"""Evals whose scores count something, so that the mean that Inspect states is not a share."""
_NUMBER = (int, float)
_MINUTES = dict.fromkeys(("human_minutes", "expert_minutes", "minutes")).keys()
_SCHEMA = {
    "id": pl.String,
    "sample": pl.String,
    "epoch": pl.Int64,
    "item": pl.String,
    "is_cut": pl.Boolean,
    "seconds": pl.Float64,
    "tokens": pl.Float64,
    "cost": pl.Float64,
    "limit": pl.String,
    "error": pl.String,
    "minutes": pl.Float64,
    "family": pl.String,
}
_ENDINGS = {"outcome": pl.String, "reason": pl.String, "is_kept": pl.Boolean}
_FILTERED = "content_filter"
_ALWAYS = ("id", "epoch", "item", "is_cut")


class UnknownDirectionError(InputError):
    """Scores of any size, of which nothing says whether higher ones are better."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked for; see `inspect_logs.read`."""

    scorer: str | None = None
    family: str | None = None
    divide_by: float = 1
    better: str | None = None


@dataclass(kw_only=True)
class ScoreColumn:
    """One score of every sample, None where it has none.

    ``endings`` has the columns outcome and reason, which say what became of samples without a score, and ``is_kept``, which is false for samples
    that were invalidated. ``scale`` has the columns scale and better, where scores are no shares of which higher ones are better. ``counts`` says
    what happened to how many samples. ``fault`` is why there are no scores.
    """

    scorer: str
    key: str | None
    scores: pl.Series | None = None
    endings: pl.DataFrame | None = None
    scale: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    logs: list[tuple[str, str]] = field(default_factory=list)
    n_invalid: int = 0
    fault: InputError | None = None

    @property
    def label(self) -> str:
        """The scorer, and the key of its values where they have several."""
        return self.scorer if self.key is None else f"{self.scorer}.{self.key}"


class SampleTable:
    """One log, of which the samples are columns.

    ``samples`` has a row per sample: id, epoch, the hash of what it asks, and whatever else the log tells of any sample. ``scores`` has the
    scores that are read, by the name that the result has. ``fault`` is why none can be chosen.
    """

    def __init__(self, log: Log, options: Options) -> None:
        self.log, self._options = log, options
        self._samples = log.samples or []
        self.n_samples = len(self._samples)
        self.several: str | None = None
        self.fault: OptionError | None = None
        self.scores: dict[str, ScoreColumn] = {}
        self._families: list[str | None] | None = None
        try:
            chosen = self._choose()
        except OptionError as error:
            self.fault = error
        else:
            for name, (scorer, key) in chosen.items():
                column = ScoreColumn(scorer=scorer, key=key)
                try:
                    self._fill(column)
                except InputError as error:
                    column.fault = error
                self.scores[name] = column
        self.samples = self._columns()
        log.samples, self._samples = None, []

    def _columns(self) -> pl.DataFrame:
        """What the log tells of each sample; a column that would be empty is not there."""
        samples = self._samples
        own = [sample.model_usage.get(self.log.eval.model) if sample.model_usage else None for sample in samples]
        spent = [
            (usage.total_tokens, usage.total_cost) if usage else _spent_by_all(sample)
            for sample, usage in zip(samples, own, strict=True)
        ]
        columns: dict[str, list[Any]] = {
            "id": [str(sample.id) for sample in samples],
            "epoch": [sample.epoch for sample in samples],
            "item": [sample.content.item if sample.content else None for sample in samples],
            "is_cut": [sample.content is not None and sample.content.is_cut for sample in samples],
            "seconds": [sample.total_time for sample in samples],
            "tokens": [tokens for tokens, _ in spent],
            "cost": [cost for _, cost in spent],
        }
        if any(one[-1:].isspace() for one in columns["id"]):  # which a table refuses
            columns["sample"] = [one if one == one.rstrip() else repr(one) for one in columns["id"]]
        if any(sample.limit for sample in samples):
            columns["limit"] = [_limit(sample.limit) for sample in samples]
        if any(sample.error for sample in samples):
            columns["error"] = [_error(sample.error) if sample.error else None for sample in samples]
        if not _MINUTES.isdisjoint({*chain.from_iterable(sample.metadata or () for sample in samples)}):
            columns["minutes"] = [_minutes(sample.metadata or {}) for sample in samples]
        if self._families:
            columns["family"] = self._families
        there = {
            name: values for name, values in columns.items() if name in _ALWAYS or values.count(None) < len(values)
        }
        return pl.DataFrame(there, schema={name: _SCHEMA[name] for name in there})

    # which scores are read

    def _choose(self) -> dict[str, tuple[str, str | None]]:
        """The scorers, and the keys of their values, to use, by the name that the result has."""
        by_scorer = self._keys_by_scorer()
        choices = {
            name if key is None else f"{name}.{key}": (name, key) for name in by_scorer for key in by_scorer[name]
        }
        if not choices:
            return {"": ("", None)}
        if self._options.scorer == "all":
            return choices
        wanted = self._own_choice(self._options.scorer)
        chosen = wanted or next(iter(by_scorer))
        several = {name: one for name, one in choices.items() if one[0] == chosen and name != chosen}
        if chosen not in choices and not several:
            raise OptionError.unknown(f"scorer in {self.log.path}", chosen, choices)
        if not wanted and len(by_scorer) > 1:
            self.several = f"{self.log.eval.task} with {chosen} (of {', '.join(choices)})"
        return {chosen: choices[chosen]} if chosen in choices else several

    def _own_choice(self, wanted: str | None) -> str | None:
        """Which scorer was asked for in this eval: ``eval=scorer`` for some evals, or one name for all."""
        if not wanted or "=" not in wanted:
            return wanted
        pairs = dict(part.partition("=")[::2] for part in wanted.split(","))
        names = (self.log.eval.task, self.log.eval.task.rpartition("/")[2], self.log.board)
        return next((pairs[name] for name in names if name in pairs), None)

    def _keys_by_scorer(self) -> dict[str, dict[str | None, None]]:
        """Each scorer in the log's order, with the keys of its values; None is the key of a plain value."""
        ordered = [one.scorer for one in self.log.results.scores] if self.log.results else []
        found: dict[str, dict[str | None, None]] = {name: {} for name in ordered if name}
        for names in dict.fromkeys(tuple(sample.scores) for sample in self._samples if sample.scores):
            found |= {name: {} for name in names if name not in found}
        for name, keys in found.items():
            values = self._given(name, None)
            kinds = {*map(type, values)}
            if dict in kinds:
                keys.update(dict.fromkeys(key for value in values if isinstance(value, dict) for key in value))
            if (kinds - {dict, float, NoneType}) or any(not isinstance(v, dict) and not is_nothing(v) for v in values):
                keys[None] = None
        return {name: keys for name, keys in found.items() if keys}

    def _given(self, scorer: str, key: str | None) -> list[Any]:
        """What a scorer gave each sample, or the part of it under a key."""
        given = [
            sample.scores[scorer].value if sample.scores and scorer in sample.scores else None
            for sample in self._samples
        ]
        return given if key is None else [one.get(key) if isinstance(one, dict) else None for one in given]

    # scores as numbers

    def _fill(self, column: ScoreColumn) -> None:
        """Put the scores into their column, and what became of each sample."""
        samples, family = self._samples, self._options.family
        given = self._given(column.scorer, column.key)
        self._set_scale(column, given)
        counts_what = _COUNTED.get((self.log.eval.task.rpartition("/")[2], column.scorer.rpartition("/")[2]))
        is_plain = not (counts_what or family or any(one.error or one.invalidation for one in samples))
        if is_plain and {*map(type, given)} == {str} and _WORDS.keys() >= {*given}:  # C and I, as most scores are
            is_plain = not any(one.scores[column.scorer].history for one in samples if one.scores)
            if is_plain:
                column.scores = pl.Series("score", [_WORDS[one] for one in given], pl.Float64)
                return
        column.n_invalid = sum(1 for one in samples if one.invalidation)
        values = [self._value(sample, value, column) for sample, value in zip(samples, given, strict=True)]
        if None in values:
            endings = [
                ("scored", None) if v is not None else _ending(s, column, self.log)
                for s, v in zip(samples, values, strict=True)
            ]
            kept = {"is_kept": [not one.invalidation for one in samples]}
            columns = {"outcome": [one for one, _ in endings], "reason": [why for _, why in endings]}
            column.endings = pl.DataFrame(columns | kept, schema=_ENDINGS)
        highest = self._highest(values, column, counts_what)
        is_free = "scale" in column.scale
        scores = [
            None if value is None else self._number(sample, value, most, is_free=is_free)
            for sample, value, most in zip(samples, values, highest, strict=True)
        ]
        column.scores = pl.Series("score", scores, pl.Float64)
        if family:
            known = self._families or [None] * len(samples)
            self._families = [
                before or self._family(sample, family, is_needed=value is not None)
                for before, sample, value in zip(known, samples, values, strict=True)
            ]

    def _set_scale(self, column: ScoreColumn, values: Sequence[Any]) -> None:
        """The columns scale and better, where scores are not shares of which higher ones are better."""
        name, better, divide_by = column.label, self._options.better, self._options.divide_by
        is_higher = is_higher_better(name) if better is None else better == "higher"
        column.scale = {"better": "lower"} if is_higher is False else {}
        numbers = [v for v in values if isinstance(v, _NUMBER) and not isinstance(v, bool) and abs(v) < 2**53]
        is_counted = self.log.eval.task.rpartition("/")[2] in COUNTED_EVALS
        if divide_by != 1 or is_counted or not numbers or (min(numbers) >= 0 and max(numbers) <= 1):
            if column.scale and better is None:
                told = "{n} log{s} of which lower scores are better (--higher-is-better says otherwise)"
                column.logs.append((told, f"{self.log.eval.task} with {name}"))
            return
        if better is None and (is_higher is None or is_share(name)):
            among = zip(self._samples, values, strict=True)
            sample, value = next((s, v) for s, v in among if isinstance(v, _NUMBER) and not 0 <= v <= 1)
            raise UnknownDirectionError(
                f"{self.log.path}: sample {sample.id!r} (epoch {sample.epoch}): score {value:g} is not between 0 and 1 ({name} goes from "
                f"{min(numbers):g} to {max(numbers):g}). Pass --percent, --divide-by with the highest score, or, to analyse the numbers as "
                "they are, --higher-is-better or --lower-is-better."
            )
        direction = "lower" if is_higher is False else "higher"
        told = f"{{n}} log{{s}} with scores as they are ({direction} is better)"
        column.logs.append((told, f"{self.log.eval.task} with {name}"))
        column.scale = {**column.scale, "scale": "free"}

    def _value(self, sample: Sample, value: Any, column: ScoreColumn) -> Any:
        """What the scorer gave, if it gave something and the sample was not invalidated."""
        if sample.invalidation:
            column.counts["{n} sample{s} {were} invalidated and excluded"] += 1
            return None
        if is_nothing(value):
            return None
        if sample.error:
            column.counts["{n} sample{s} errored but {were} scored, which counts as it does in Inspect"] += 1
        if sample.scores and column.scorer in sample.scores and sample.scores[column.scorer].history:
            column.counts["{n} sample{s} {were} edited, and the edited score counts"] += 1
        return value

    def _highest(self, values: Sequence[Any], column: ScoreColumn, counts_what: str | None) -> list[float]:
        """What each score is divided by: as asked for, or else the highest count that the sample allows."""
        divide_by = self._options.divide_by
        most = [divide_by] * len(values)
        if counts_what is None or divide_by != 1:
            return most
        for place, (sample, value) in enumerate(zip(self._samples, values, strict=True)):
            highest = (sample.metadata or {}).get(counts_what)
            if value is not None and isinstance(highest, int) and highest >= 1:
                column.counts["{n} score{s} of Track the Stat {were} read as the share of correct turns"] += 1
                most[place] = float(highest)
        return most

    def _number(self, sample: Sample, value: Any, divide_by: float, *, is_free: bool) -> float:
        """As Inspect's ``value_to_float``, but what that takes as 0 with a warning is refused."""
        if isinstance(value, bool):
            return float(value)
        word = _WORDS.get(value, _FOLDED_WORDS.get(value.lower())) if isinstance(value, str) else None
        if word is not None:
            return word
        number = _float(value) if isinstance(value, str) else value
        if not isinstance(number, int | float):
            reason = "is not one number, nor C, I, P or N. Choose another scorer with --scorer"
        elif isinstance(number, float) and not math.isfinite(number):
            reason = "is not a finite number. Correct the scorer, or choose another with --scorer"
        elif not is_free and not 0 <= number <= divide_by:
            reason = f"is not between 0 and {divide_by:g}. Pass --percent, or --divide-by with the highest score"
        else:
            return number / divide_by
        where = f"{self.log.path}: sample {sample.id!r} (epoch {sample.epoch})"
        raise InputError(f"{where}: score {json.dumps(value)[:60]} {reason}.")

    def _family(self, sample: Sample, name: str, *, is_needed: bool) -> str | None:
        metadata = sample.metadata or {}
        value = metadata.get(name)
        text = " ".join(str(value).split())
        if not text or is_nothing(value) or isinstance(value, list | dict):
            if not is_needed:
                return None
            raise InputError(
                f"{self.log.path}: sample {sample.id!r} has no text or number {name!r} in its metadata to use as family. "
                f"Its fields: {', '.join(metadata) or 'none'}."
            )
        return text


def _ending(sample: Sample, column: ScoreColumn, log: Log) -> tuple[str | None, str | None]:
    """The outcome and the reason of a sample without a score; neither where its error or its limit says them."""
    if sample.is_absent:
        return "absent", f"the run ended ({log.status}) without it"
    given = sample.scores or {}
    score = given.get(column.scorer or next(iter(given), ""))
    why = score.why if score else None
    if why == "refusal" or sample.stop_reason == _FILTERED:
        return "refused", why or sample.stop_reason
    if sample.error or sample.limit:
        return None, None
    told = " ".join(str(text) for text in (why, score.explanation if score else None) if text)
    return "unscored", told or (
        "the scorer gave no value"
        if score
        else f"no score of {column.scorer}"
        if column.scorer
        else "the run was not scored"
    )


def _spent_by_all(sample: Sample) -> tuple[float | None, float | None]:
    """Tokens and cost of all models, where the log's own model has none."""
    usage = (sample.model_usage or {}).values()
    return _sum(one.total_tokens for one in usage), _sum(one.total_cost for one in usage)


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum of the numbers, if there are any."""
    numbers = [one for one in values if one is not None]
    return sum(numbers) if numbers else None


def _minutes(metadata: dict[str, Any]) -> float | None:
    """What an expert needs for the task, where the sample's metadata say it."""
    for name in _MINUTES:
        value = metadata.get(name)
        number = _float(value) if isinstance(value, str) else value
        if isinstance(number, _NUMBER) and not isinstance(number, bool) and 0 < number < math.inf:
            return float(number)
    return None


def _limit(limit: Any) -> str | None:
    """The limit that ended a sample."""
    kind = limit.get("type") if isinstance(limit, dict) else limit
    return str(kind) if kind else None


def _error(error: Any) -> str | None:
    """What an error says, in one short line."""
    return " ".join(_message(error).split())[:200] or None


def _message(error: Any) -> str:
    return str(error.get("message", "")) if isinstance(error, dict) else str(error or "")


def _float(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
