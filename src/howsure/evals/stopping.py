"""Stop when you know: confidence sequences over the units of a running eval.

A unit is an item with all its repeats, or a cluster of items. Units count in an order that is random and fixed before the run; a
unit that finishes early waits for those before it, because easy items finish first.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import check_level
from howsure.stats.sequences import mean_sequence

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalLog, EvalSpec
    from inspect_ai.scorer import SampleScore
    from inspect_ai.util import EarlyStop

__all__ = ["Question", "StopWhenKnown", "Watch", "WatchedDifference", "WatchedRun", "watch"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What an eval is to decide; it is decided when the confidence sequence says so.

    Parameters
    ----------
    threshold : float, optional
        Is the mean (or the difference) above or below this? For a comparison: 0.
    margin : float, default 0
        Values closer to the threshold than this do not matter: once the sequence lies within threshold ± margin, going on is
        futile. 0: never.
    precision : float, optional
        The eval is decided when half the width of the sequence is at most this.
    """

    threshold: float | None = None
    margin: float = 0.0
    precision: float | None = None

    def __post_init__(self) -> None:
        if self.threshold is None and self.precision is None:
            raise OptionError("There is no question. Give a threshold, a baseline or a precision.")
        if self.margin < 0 or (self.precision is not None and self.precision <= 0):
            raise OptionError("margin begins at 0, and precision is above 0.")

    def answer(self, estimate: Estimate) -> str | None:
        """``above``, ``below``, ``no difference that matters``, ``precise enough``, or None while it is open."""
        if estimate.low is None or estimate.high is None:
            return None
        if self.threshold is not None:
            if estimate.low > self.threshold:
                return "above"
            if estimate.high < self.threshold:
                return "below"
            if max(self.threshold - estimate.low, estimate.high - self.threshold) < self.margin:
                return "no difference that matters"
        if self.precision is not None and estimate.high - estimate.low <= 2 * self.precision:
            return "precise enough"
        return None


@dataclass
class _Units:
    """Scores of units as they come in, and the part of them that counts: those before the first unfinished one."""

    order: list[str]
    n_samples: Mapping[str, int]
    scores: dict[str, dict[tuple[str, int], float]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    def add(self, unit: str, item: str, epoch: int, score: float) -> None:
        self.scores.setdefault(unit, {})[item, epoch] = score

    def finished(self) -> dict[str, float]:
        """Mean of each unit that counts, in order; each item of a unit counts once. Units with an error are left out."""
        means = {}
        for unit in self.order:
            if unit in self.failed:
                continue
            scores = self.scores.get(unit, {})
            if len(scores) < self.n_samples[unit]:
                break
            by_item: dict[str, list[float]] = {}
            for (item, _), score in scores.items():
                by_item.setdefault(item, []).append(score)
            means[unit] = float(np.mean([np.mean(values) for values in by_item.values()]))
        return means


class StopWhenKnown:
    """Stops an Inspect eval when a stated question is decided or futile: ``Task(…, early_stopping=StopWhenKnown(threshold=0.7))``.

    Samples that were not started are skipped; the log says why, and gives the confidence sequence, which is the interval to report:
    an ordinary interval of an eval that was stopped by its own results does not hold. Shuffle the dataset
    (``--sample-shuffle``): else units count in a random order of their own, and many finished ones wait. Inspect runs all items
    once before it begins the second epoch, so with epochs samples are saved in the last epoch only; prefer more items.

    Parameters
    ----------
    threshold : float, optional
        Is the mean above or below this? Scores run from 0 to 1.
    baseline : str or Path, optional
        A finished log of the same task: is this run better or worse, paired by sample id?
    margin : float, default 0
        Differences smaller than this do not matter; see `Question`.
    precision : float, optional
        Stop when half the width of the interval is at most this.
    level : float, default 0.95
        Coverage of the confidence sequence at all looks together.
    scorer : str, optional
        Which scorer counts; the first without it.
    cluster : str, optional
        A field of the samples' metadata; samples with the same value are one unit.
    seed : int, default 0
        For the order of units where the dataset was not shuffled.
    """

    def __init__(
        self,
        *,
        threshold: float | None = None,
        baseline: str | Path | None = None,
        margin: float = 0.0,
        precision: float | None = None,
        level: float = 0.95,
        scorer: str | None = None,
        cluster: str | None = None,
        seed: int = 0,
    ) -> None:
        if threshold is not None and baseline is not None:
            raise OptionError("A run is compared with a threshold or with a baseline, not with both.")
        check_level(level)
        self.question = Question(
            threshold=0.0 if baseline is not None else threshold, margin=margin, precision=precision
        )
        self.level, self.scorer, self.cluster, self.seed = level, scorer, cluster, seed
        self._baseline = None if baseline is None else _run_of(str(baseline), scorer, seed)
        self._units = _Units([], {})
        self._unit_of: dict[str, str] = {}
        self._next_look = 1
        self.estimate = Estimate.without("too_few", "no unit is finished", level=level)
        self.n_units = 0
        self.answer: str | None = None

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Fix the order of the units."""
        unit_of = {
            str(s.id): str((s.metadata or {}).get(self.cluster, s.id)) if self.cluster else str(s.id) for s in samples
        }
        if self._baseline is not None:
            known = self._baseline.means()
            unit_of = {item: unit for item, unit in unit_of.items() if item in known}
            if not unit_of:
                raise InputError("The baseline has no sample id in common with this task. Give a log of the same task.")
        self._unit_of = unit_of
        order = _ordered(list(dict.fromkeys(unit_of.values())), is_random=bool(task.dataset.shuffled), seed=self.seed)
        sizes = Counter(unit_of.values())
        self._units = _Units(order, {unit: epochs * sizes[unit] for unit in order})
        return "howsure: stop when you know"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:  # noqa: A002 - Inspect's name
        """Skip the sample if the question is decided."""
        if self.answer is None:
            return None
        from inspect_ai.util import EarlyStop

        return EarlyStop(id=id, epoch=epoch, reason=f"decided: {self.answer} ({self.estimate}, {self.n_units} units)")

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, SampleScore]) -> None:  # noqa: A002
        """Take a score, and look at the confidence sequence if a further unit counts."""
        item = str(id)
        if item not in self._unit_of:
            return
        values = {name: one.score.value for name, one in scores.items()}
        score = _score_of(values, self.scorer)
        if score is None:
            self._units.failed.add(self._unit_of[item])
            return
        if self._baseline is not None:
            score -= self._baseline.means()[item]
        self._units.add(self._unit_of[item], item, epoch, score)
        self._look()

    async def complete_task(self) -> dict[str, Any]:
        """What the log keeps: the question, the answer and the confidence sequence."""
        self._look(is_last=True)
        return {
            "answer": self.answer or "open",
            "quantity": ("mean" if self._baseline is None else "difference from the baseline")
            + (f" (every {self.cluster} counts once)" if self.cluster else ""),
            **self.estimate.as_dict(),
            "n_units": self.n_units,
            "n_planned": len(self._units.order),
            "n_failed_units": len(self._units.failed),
            "threshold": self.question.threshold,
            "margin": self.question.margin,
            "precision": self.question.precision,
            "interval": "confidence sequence, valid at all looks",
        }

    def _look(self, *, is_last: bool = False) -> None:
        values = list(self._units.finished().values())
        # one unit in fifty does not change the sequence much, and fewer looks are as valid
        if self.answer is not None or not values or (len(values) < self._next_look and not is_last):
            return
        self._next_look = len(values) + 1 + len(values) // 50
        bounds = (0.0, 1.0) if self._baseline is None else (-1.0, 1.0)
        found = mean_sequence(values, n_planned=len(self._units.order), level=self.level, bounds=bounds)
        self.estimate, self.n_units = found.estimate, len(values)
        self.answer = self.question.answer(self.estimate)


@dataclass(frozen=True, kw_only=True)
class WatchedRun:
    """One log: how far it is, and its mean with a confidence sequence."""

    log: str
    task: str
    model: str
    status: str
    mean: Estimate
    n_units: int
    n_finished: int
    n_planned: int
    n_failed: int
    answer: str


@dataclass(frozen=True, kw_only=True)
class WatchedDifference:
    """Two logs of one task, paired by item, with a confidence sequence of their difference."""

    task: str
    a: str
    b: str
    difference: Estimate
    n_units: int
    n_planned: int
    answer: str


@dataclass(frozen=True, kw_only=True)
class Watch(Result):
    """Running and finished logs of a folder with confidence sequences.

    Table ``watch``: one row per log. Table ``watch_differences``: one row per pair of logs of one task.

    =================  ==================================================================================================
    log, task, model   which run
    status             Inspect's status: started, success, cancelled, error
    mean               mean of the units that count, with the confidence sequence (mean_low, mean_high, mean_state)
    n_units            units that count: finished, and all units before them as well
    n_finished         finished units
    n_planned          units that were planned
    n_failed           units with an error, which do not count
    answer             above, below, no difference that matters, precise enough, or open
    a, b, difference   the two models, and mean of a minus mean of b with its confidence sequence
    =================  ==================================================================================================

    Parameters
    ----------
    runs : tuple[WatchedRun, ...]
        One entry per log.
    pairs : tuple[WatchedDifference, ...]
        One entry per pair of logs of one task.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "watch"
    runs: tuple[WatchedRun, ...]
    pairs: tuple[WatchedDifference, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``watch``, and ``watch_differences`` where two logs share a task."""
        runs = [
            {"log": r.log, "task": r.task, "model": r.model, "status": r.status}
            | columns_of(mean=r.mean)
            | {name: getattr(r, name) for name in ("n_units", "n_finished", "n_planned", "n_failed", "answer")}
            for r in self.runs
        ]
        pairs = [
            {"task": p.task, "a": p.a, "b": p.b}
            | columns_of(difference=p.difference)
            | {"n_units": p.n_units, "n_planned": p.n_planned, "answer": p.answer}
            for p in self.pairs
        ]
        shown = {"watch": pl.DataFrame(runs, infer_schema_length=None)}
        return shown | ({"watch_differences": pl.DataFrame(pairs, infer_schema_length=None)} if pairs else {})

    @property
    def is_running(self) -> bool:
        """Whether a log is still being written."""
        return any(run.status == "started" for run in self.runs)


def watch(
    folder: str | Path,
    *,
    threshold: float | None = None,
    margin: float = 0.0,
    precision: float | None = None,
    level: float = 0.95,
    scorer: str | None = None,
    seed: int = 0,
) -> Watch:
    """Confidence sequences of all logs in a folder of Inspect logs, running or finished: one look.

    They may be looked at as often as one likes. A pair of logs of one task, paired by sample id, gets a sequence of the
    difference. Inspect writes finished samples to the log in groups; run it with ``--log-buffer 1`` to see each at once, and with
    ``--sample-shuffle``, so that finished samples need not wait.

    Parameters
    ----------
    folder : str or Path
        Folder of logs.
    threshold : float, optional
        Is each mean above or below this? Differences are always compared with 0.
    margin : float, default 0
        Smaller differences do not matter; see `Question`.
    precision : float, optional
        Half the width at which a mean or difference is known well enough.
    level : float, default 0.95
        Coverage of each sequence at all looks together.
    scorer : str, optional
        Which scorer counts; the first without it.
    seed : int, default 0
        For the order of units where the dataset was not shuffled.

    Returns
    -------
    Watch
        With the tables ``watch`` and, where two logs share a task, ``watch_differences``.
    """
    from inspect_ai.log import list_eval_logs

    check_level(level)
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: there is no such folder. Give the folder in which Inspect writes its logs.")
    runs = [
        _run_of(info.name, scorer, seed) for info in sorted(list_eval_logs(str(folder)), key=lambda info: info.name)
    ]
    if not runs:
        raise InputError(f"{folder}: there is no Inspect log (.eval or .json).")
    asked = None
    if threshold is not None or precision is not None:
        asked = Question(threshold=threshold, margin=margin, precision=precision)
    rows, notes = [], []
    for run in runs:
        values = run.units.finished()
        estimate = mean_sequence(list(values.values()), n_planned=len(run.units.order), level=level).estimate
        finished = [
            unit for unit in run.units.order if len(run.units.scores.get(unit, {})) == run.units.n_samples[unit]
        ]
        rows.append(
            WatchedRun(
                log=Path(run.path).name,
                task=run.task,
                model=run.model,
                status=run.status,
                mean=estimate,
                n_units=len(values),
                n_finished=len(finished),
                n_planned=len(run.units.order),
                n_failed=len(run.units.failed),
                answer=(asked.answer(estimate) if asked else None) or "open",
            )
        )
        if not run.is_shuffled and run.status == "started":
            notes.append(
                f"{Path(run.path).name}: the dataset was not shuffled, so finished units wait; run with --sample-shuffle."
            )
    pairs = list(_pairs(runs, Question(threshold=0.0, margin=margin, precision=precision), level))
    settings = {"threshold": threshold, "margin": margin, "precision": precision, "level": level, "scorer": scorer}
    return Watch(runs=tuple(rows), pairs=tuple(pairs), provenance=Provenance(settings, seed=seed, notes=tuple(notes)))


@dataclass(frozen=True)
class _Run:
    path: str
    task: str
    model: str
    status: str
    is_shuffled: bool
    units: _Units

    def means(self) -> dict[str, float]:
        """Mean of every finished item, in any order."""
        units = self.units
        return {
            unit: float(np.mean(list(scores.values())))
            for unit, scores in units.scores.items()
            if len(scores) == units.n_samples.get(unit)
        }


def _run_of(path: str, scorer: str | None, seed: int) -> _Run:
    """A log, from its header and the summaries of its finished samples."""
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    try:
        header: EvalLog = read_eval_log(path, header_only=True)
        samples = read_eval_log_sample_summaries(path)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: is not a readable Inspect log ({error}).") from None
    dataset = header.eval.dataset
    ids = [str(one) for one in dataset.sample_ids or dict.fromkeys(sample.id for sample in samples)]
    order = _ordered(list(dict.fromkeys(ids)), is_random=bool(dataset.shuffled), seed=seed)
    units = _Units(order, dict.fromkeys(order, header.eval.config.epochs or 1))
    for sample in samples:
        item = str(sample.id)
        score = _score_of({name: one.value for name, one in (sample.scores or {}).items()}, scorer)
        if sample.error or (score is None and sample.completed):
            units.failed.add(item)
        elif score is not None:
            units.add(item, item, sample.epoch, score)
    return _Run(path, header.eval.task, header.eval.model, header.status, bool(dataset.shuffled), units)


def _pairs(runs: Sequence[_Run], question: Question, level: float) -> Iterable[WatchedDifference]:
    for position, a in enumerate(runs):
        for b in runs[position + 1 :]:
            shared = [unit for unit in a.units.order if unit in b.units.n_samples]
            if a.task != b.task or len(shared) < 2:
                continue
            means, values = (a.means(), b.means()), []
            for unit in shared:
                if unit in a.units.failed or unit in b.units.failed:
                    continue
                if unit not in means[0] or unit not in means[1]:
                    break
                values.append(means[0][unit] - means[1][unit])
            found = mean_sequence(values, n_planned=len(shared), level=level, bounds=(-1.0, 1.0)).estimate
            names = (a.model, b.model) if a.model != b.model else (Path(a.path).name, Path(b.path).name)
            yield WatchedDifference(
                task=a.task,
                a=names[0],
                b=names[1],
                difference=found,
                n_units=len(values),
                n_planned=len(shared),
                answer=question.answer(found) or "open",
            )


def _ordered(units: list[str], *, is_random: bool, seed: int) -> list[str]:
    """The units as they come where that is random, else in a random order that depends on their names and the seed alone."""
    if is_random:
        return units
    shuffled = sorted(units)
    random.Random(seed).shuffle(shuffled)
    return shuffled


def _score_of(values: Mapping[str, Any], scorer: str | None) -> float | None:
    """One score from 0 to 1; None where there is none."""
    if scorer is not None and values and scorer not in values:
        raise OptionError.unknown("scorer", scorer, values)
    value = values.get(scorer) if scorer is not None else next(iter(values.values()), None)
    if value is None:
        return None
    from inspect_ai.scorer import value_to_float

    if isinstance(value, dict):
        value = next(iter(value.values()), None)
    if value is None:
        return None
    number = float(value_to_float()(value))
    if not 0 <= number <= 1:
        raise InputError(f"A score of {number:g} is not between 0 and 1. Confidence sequences need scores from 0 to 1.")
    return number
