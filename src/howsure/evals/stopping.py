"""Stop when you know: confidence sequences over the units of a running eval.

A unit is an item with all its repeats, or a cluster of items. Units count in an order that is random and fixed before the run; a
unit that finishes early waits for those before it, because easy items finish first.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import check_level
from howsure.stats.sequences import mean_sequence
from howsure.tables.outcomes import OWN_FAILURES, Count

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
    target : float, optional
        Is the mean (or the difference) above or below this? For a comparison: 0.
    margin : float, default 0
        Values closer to the target than this do not matter: once the sequence lies within target ± margin, going on is
        futile. 0: never.
    precision : float, optional
        The eval is decided when half the width of the sequence is at most this.
    """

    target: float | None = None
    margin: float = 0.0
    precision: float | None = None

    def __post_init__(self) -> None:
        if self.target is None and self.precision is None:
            raise OptionError("There is no question. Give a target, a baseline or a precision.")
        if self.margin < 0 or (self.precision is not None and self.precision <= 0):
            raise OptionError("margin begins at 0, and precision is above 0.")

    def answer(self, estimate: Estimate) -> str | None:
        """``above``, ``below``, ``no difference that matters``, ``precise enough``, or None while it is open."""
        if estimate.low is None or estimate.high is None:
            return None
        if self.target is not None:
            if estimate.low > self.target:
                return "above"
            if estimate.high < self.target:
                return "below"
            if max(self.target - estimate.low, estimate.high - self.target) < self.margin:
                return "no difference that matters"
        if self.precision is not None and estimate.high - estimate.low <= 2 * self.precision:
            return "precise enough"
        return None


_UNKNOWN = (0.0, 1.0)


@dataclass
class _Units:
    """Scores of units as they come in, and the part of them that counts: those before the first unfinished one.

    Each score is a pair, the lowest and the highest that it can be: equal for a known score, 0 and 1 for an attempt without one, unless ``count`` says
    before the run that it is wrong (0 and 0) or does not count.
    """

    order: list[str]
    n_samples: Mapping[str, int]
    count: Count = field(default_factory=Count)
    scores: dict[str, dict[tuple[str, int], tuple[float, float]]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    dropped: Counter[str] = field(default_factory=Counter)
    outside: float | None = None

    def take(
        self,
        unit: str,
        item: str,
        epoch: int,
        score: float | None,
        baseline: tuple[float, float] = (0.0, 0.0),
        outcome: str = "errored",
    ) -> None:
        """A score from 0 to 1, minus that of a baseline; without a score, what can be known of it."""
        ends = (score, score) if score is not None else _UNKNOWN
        if score is None:
            self.failed.add(unit)
            rule = self.count.rules.get(outcome, "wrong" if outcome in OWN_FAILURES else "")
            if rule == "drop":
                self.dropped[unit] += 1
                return
            ends = (0.0, 0.0) if rule == "wrong" else _UNKNOWN
        elif not 0 <= score <= 1:
            self.outside = score
            return
        self.scores.setdefault(unit, {})[item, epoch] = (ends[0] - baseline[1], ends[1] - baseline[0])

    def is_finished(self, unit: str) -> bool:
        """Whether all samples of a unit have ended."""
        return len(self.scores.get(unit, {})) + self.dropped[unit] >= self.n_samples[unit]

    def sequence(
        self, values: Sequence[tuple[float, float]], level: float, bounds: tuple[float, float] = (0.0, 1.0)
    ) -> Estimate:
        """The mean of `values` with its confidence sequence, from the lowest to the highest that they can be; ``undefined`` where a score is outside its bounds."""
        if self.outside is not None:
            reason = f"a score of {self.outside:g} is not between 0 and 1, which confidence sequences need"
            return Estimate.without("undefined", reason, level=level)
        ends = np.array(values, dtype=np.float64).reshape(-1, 2)
        options: dict[str, Any] = {"n_planned": len(self.order), "level": level, "bounds": bounds}
        low = mean_sequence(ends[:, 0], **options).estimate
        is_known = ends[:, 0] == ends[:, 1]
        if is_known.all():
            return low
        high = mean_sequence(ends[:, 1], **options).estimate
        assert low.low is not None
        assert high.high is not None
        value = ends[is_known, 0].mean() if is_known.any() else ends.mean()
        return Estimate(float(np.clip(value, low.low, high.high)), low.low, high.high, level)

    def finished(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest mean of each unit that counts, in order; each item of a unit counts once."""
        means = {}
        for unit in self.order:
            if not self.is_finished(unit):
                break
            if scores := self.scores.get(unit):
                means[unit] = _mean_of_items(scores)
        return means


def _mean_of_items(scores: Mapping[tuple[str, int], tuple[float, float]]) -> tuple[float, float]:
    """Lowest and highest mean of the items of a unit, each item with the mean of its epochs."""
    by_item: dict[str, list[tuple[float, float]]] = {}
    for (item, _), ends in scores.items():
        by_item.setdefault(item, []).append(ends)
    low, high = np.mean([np.mean(ends, axis=0) for ends in by_item.values()], axis=0)
    return float(low), float(high)


class StopWhenKnown:
    """Stops an Inspect eval when a stated question is decided or futile: ``Task(…, early_stopping=StopWhenKnown(target=0.7))``.

    Samples that were not started are skipped; the log says why, and gives the confidence sequence, which is the interval to report:
    an ordinary interval of an eval that was stopped by its own results does not hold. Shuffle the dataset
    (``--sample-shuffle``): else units count in a random order of their own, and many finished ones wait. Inspect runs all items
    once before it begins the second epoch, so with epochs samples are saved in the last epoch only; prefer more items.

    Parameters
    ----------
    target : float, optional
        Is the mean above or below this? Scores run from 0 to 1.
    baseline : str or Path, optional
        A finished log of the same task: is this run better or worse, paired by sample id (by input where ids stand for other samples)?
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
    count : str or mapping, optional
        What samples without a score count as: ``"errored=wrong,unscored=drop"``. Without it such a sample keeps its place, with the lowest score in
        the lower end of the sequence and with the highest in the upper end. It is fixed before the run.
    """

    def __init__(
        self,
        *,
        target: float | None = None,
        baseline: str | Path | None = None,
        margin: float = 0.0,
        precision: float | None = None,
        level: float = 0.95,
        scorer: str | None = None,
        cluster: str | None = None,
        seed: int = 0,
        count: str | Mapping[str, str] | None = None,
    ) -> None:
        if target is not None and baseline is not None:
            raise OptionError("A run is compared with a target or with a baseline, not with both.")
        check_level(level)
        self.question = Question(target=0.0 if baseline is not None else target, margin=margin, precision=precision)
        self.level, self.scorer, self.cluster, self.seed = level, scorer, cluster, seed
        self.count = Count.of(count)
        self._baseline = None if baseline is None else _run_of(str(baseline), scorer, seed, self.count)
        self._is_running = False
        self._begin(_Units([], {}), {}, {})

    def _begin(self, units: _Units, unit_of: Mapping[str, str], known: Mapping[str, tuple[float, float]]) -> None:
        """Forget an earlier run: one object may serve several runs, one after the other."""
        self._units, self._unit_of, self._known = units, unit_of, known
        self._next_look = 1
        self.estimate = Estimate.without("too_few", "no unit is finished", level=self.level)
        self.n_units = 0
        self.answer: str | None = None

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Fix the order of the units."""
        if self._is_running:
            raise InputError(
                "One StopWhenKnown serves one run at a time. Give each task one of its own, or run the models one after the other."
            )
        names = [one.name for one in task.scorers or []]
        if self.scorer is not None and names and self.scorer not in names:
            raise OptionError.unknown("scorer", self.scorer, names)
        unit_of = {
            str(s.id): str((s.metadata or {}).get(self.cluster, s.id)) if self.cluster else str(s.id) for s in samples
        }
        known: Mapping[str, tuple[float, float]] = {}
        if self._baseline is not None:
            if self._baseline.units.outside is not None:
                raise InputError(f"The baseline has a score of {self._baseline.units.outside:g}, not between 0 and 1.")
            known = _paired_with({str(s.id): _opening(s.input) for s in samples}, self._baseline)
            unit_of = {item: unit for item, unit in unit_of.items() if item in known}
            if not unit_of:
                raise InputError("The baseline has no sample in common with this task. Give a log of the same task.")
        order = _ordered(list(dict.fromkeys(unit_of.values())), is_random=bool(task.dataset.shuffled), seed=self.seed)
        sizes = Counter(unit_of.values())
        self._begin(_Units(order, {unit: epochs * sizes[unit] for unit in order}, self.count), unit_of, known)
        _hear_of_errors(task.eval_id, self)
        self._is_running = True
        return "howsure: stop when you know"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:  # noqa: A002 - Inspect's name
        """Skip the sample if the question is decided."""
        if self.answer is None:
            return None
        from inspect_ai.util import EarlyStop

        return EarlyStop(id=id, epoch=epoch, reason=f"decided: {self.answer} ({self.estimate}, {self.n_units} units)")

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, SampleScore]) -> None:  # noqa: A002
        """Take a score, and look at the confidence sequence if a further unit counts."""
        score = _score_of({name: one.score.value for name, one in scores.items()}, self.scorer)
        self._take(str(id), epoch, score, "unscored")

    def _take(self, item: str, epoch: int, score: float | None, outcome: str) -> None:
        if item in self._unit_of:
            self._units.take(self._unit_of[item], item, epoch, score, self._known.get(item, (0.0, 0.0)), outcome)
            self._look()

    async def complete_task(self) -> dict[str, Any]:
        """What the log keeps: the question, the answer and the confidence sequence."""
        self._look(is_last=True)
        self._is_running = False
        return {
            "answer": self.answer or "open",
            "quantity": ("mean" if self._baseline is None else "difference from the baseline")
            + (f" (every {self.cluster} counts once)" if self.cluster else ""),
            **self.estimate.as_dict(),
            "n_units": self.n_units,
            "n_planned": len(self._units.order),
            "n_failed_units": len(self._units.failed),
            "target": self.question.target,
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
        self.estimate, self.n_units = self._units.sequence(values, self.level, bounds), len(values)
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
    n_failed           units with a sample without a score; unless it was decided before, it counts as wrong for the lower and as right for the upper end
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


@checked
def watch(
    folder: str | Path,
    *,
    target: float | None = None,
    margin: float = 0.0,
    precision: float | None = None,
    level: float = 0.95,
    scorer: str | None = None,
    seed: int = 0,
    count: str | Mapping[str, str] | None = None,
) -> Watch:
    """Confidence sequences of all logs in a folder of Inspect logs, running or finished: one look.

    You may look at them at any time. A pair of logs of one task, paired by sample id, gets a sequence of the
    difference. Inspect writes finished samples to the log in groups; run it with ``--log-buffer 1`` to see each at once, and with
    ``--sample-shuffle``, so that finished samples are counted early.

    Parameters
    ----------
    folder : str or Path
        Folder of logs.
    target : float, optional
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
    count : str or mapping, optional
        What samples without a score count as; see `StopWhenKnown`. Decide it before the first look.

    Returns
    -------
    Watch
        With the tables ``watch`` and, where two logs share a task, ``watch_differences``.
    """
    from inspect_ai.log import list_eval_logs

    check_level(level)
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: there is no such folder. Give the folder in which Inspect writes its logs.")
    counted = Count.of(count)
    runs = [
        _run_of(info.name, scorer, seed, counted)
        for info in sorted(list_eval_logs(str(folder)), key=lambda info: info.name)
    ]
    if not runs:
        raise InputError(f"{folder}: there is no Inspect log (.eval or .json).")
    asked = None
    if target is not None or precision is not None:
        asked = Question(target=target, margin=margin, precision=precision)
    rows, notes = [], []
    for run in runs:
        values = run.units.finished()
        estimate = run.units.sequence(list(values.values()), level)
        finished = [unit for unit in run.units.order if run.units.is_finished(unit)]
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
    for position, run in enumerate(runs):
        notes += [
            f"{Path(run.path).name} and {Path(other.path).name} are not compared: one sample id refers to different inputs. When both are "
            "finished, howsure compare pairs them by content."
            for other in runs[position + 1 :]
            if run.task == other.task and not _is_same(run.openings, other.openings)
        ]
    pairs = list(_pairs(runs, Question(target=0.0, margin=margin, precision=precision), level))
    settings = {"target": target, "margin": margin, "precision": precision, "level": level, "scorer": scorer}
    return Watch(runs=tuple(rows), pairs=tuple(pairs), provenance=Provenance(settings, seed=seed, notes=tuple(notes)))


@dataclass(frozen=True)
class _Run:
    """A log; ``openings`` are the beginnings of the inputs of its samples."""

    path: str
    task: str
    model: str
    status: str
    is_shuffled: bool
    units: _Units
    openings: Mapping[str, str]

    def means(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest mean of every finished item, in any order."""
        return {
            unit: _mean_of_items(scores) for unit, scores in self.units.scores.items() if self.units.is_finished(unit)
        }


def _run_of(path: str, scorer: str | None, seed: int, count: Count) -> _Run:
    """A log, from its header and the summaries of its finished samples."""
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    try:
        header: EvalLog = read_eval_log(path, header_only=True)
        samples = read_eval_log_sample_summaries(path)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: is not a readable Inspect log ({error}).") from None
    names = {name for sample in samples for name in sample.scores or {}}
    if scorer is not None and names and scorer not in names:
        raise OptionError.unknown("scorer", scorer, sorted(names))
    dataset = header.eval.dataset
    ids = [str(one) for one in dataset.sample_ids or dict.fromkeys(sample.id for sample in samples)]
    order = _ordered(list(dict.fromkeys(ids)), is_random=bool(dataset.shuffled), seed=seed)
    units = _Units(order, dict.fromkeys(order, header.eval.config.epochs or 1), count)
    for sample in samples:
        item = str(sample.id)
        score = _score_of({name: one.value for name, one in (sample.scores or {}).items()}, scorer)
        if sample.error or score is not None or sample.completed:
            units.take(
                item,
                item,
                sample.epoch,
                None if sample.error else score,
                outcome="errored" if sample.error else "unscored",
            )
    openings = {str(sample.id): _opening(sample.input) for sample in samples}
    return _Run(path, header.eval.task, header.eval.model, header.status, bool(dataset.shuffled), units, openings)


def _opening(content: Any) -> str:
    """The beginning of a sample's input; summaries of samples have no more of it."""
    text = content if isinstance(content, str) else "\n".join(message.text for message in content)
    return text[:4000]


def _is_same(a: Mapping[str, str], b: Mapping[str, str]) -> bool:
    """Whether samples of one id have one input. Inspect numbers samples without an id after it has shuffled them."""
    return all(b[item] == opening for item, opening in a.items() if item in b)


def _paired_with(openings: Mapping[str, str], baseline: _Run) -> dict[str, tuple[float, float]]:
    """The baseline's mean on each sample: by id, or by input where ids stand for other samples."""
    means = baseline.means()
    if _is_same(openings, baseline.openings):
        return {item: means[item] for item in openings if item in means}
    by_input = {baseline.openings[item]: mean for item, mean in means.items()}
    if len(by_input) < len(means) or len(set(openings.values())) < len(openings):
        raise InputError(
            "The sample ids of the baseline refer to other samples, and inputs are not unique. Give each sample its own id."
        )
    return {item: by_input[opening] for item, opening in openings.items() if opening in by_input}


_RUNNING: WeakValueDictionary[str, StopWhenKnown] = WeakValueDictionary()


def _hear_of_errors(eval_id: str, stopper: StopWhenKnown) -> None:
    """Have Inspect report samples that end in an error: it does not give them to `complete_sample`, and later units would wait forever."""
    from inspect_ai.hooks import Hooks, SampleEnd, hooks

    if not _HOOKS:

        class Errors(Hooks):
            def enabled(self) -> bool:
                return len(_RUNNING) > 0

            async def on_sample_end(self, data: SampleEnd) -> None:
                running, sample = _RUNNING.get(data.eval_id), data.sample
                if running is not None and sample.error is not None:
                    running._take(str(sample.id), sample.epoch, None, "errored")

        _HOOKS.append(hooks(name="howsure_errors", description="errors of samples, for StopWhenKnown")(Errors))
    _RUNNING[eval_id] = stopper


_HOOKS: list[Any] = []  # one for the life of the process


def _pairs(runs: Sequence[_Run], question: Question, level: float) -> Iterable[WatchedDifference]:
    for position, a in enumerate(runs):
        for b in runs[position + 1 :]:
            shared = [unit for unit in a.units.order if unit in b.units.n_samples]
            if a.task != b.task or len(shared) < 2 or not _is_same(a.openings, b.openings):
                continue
            means, values = (a.means(), b.means()), []
            for unit in shared:
                if not a.units.is_finished(unit) or not b.units.is_finished(unit):
                    break
                if unit in means[0] and unit in means[1]:
                    (low, high), (other_low, other_high) = means[0][unit], means[1][unit]
                    values.append((low - other_high, high - other_low))
            side = b.units if a.units.outside is None else a.units
            found = replace(side, order=shared).sequence(values, level, (-1.0, 1.0))
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
    """One score; None where there is none."""
    value = values.get(scorer) if scorer is not None else next(iter(values.values()), None)
    if value is None:
        return None
    from inspect_ai.scorer import value_to_float

    if isinstance(value, dict):
        value = next(iter(value.values()), None)
    if value is None:
        return None
    number = float(value_to_float()(value))
    return None if math.isnan(number) else number  # Inspect's unscored samples
