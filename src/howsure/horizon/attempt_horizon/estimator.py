"""Models against novices on one set of tasks: horizons, their replicates, and the estimates these make."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from howsure.compute import replicate
from howsure.estimates import Estimate, State
from howsure.horizon.attempt_horizon.common_tasks import SharedTasks
from howsure.horizon.attempt_horizon.definitions import Drawn, Model, definition, matching
from howsure.horizon.attempt_horizon.definitions.matching import handicapped, pooled_curves
from howsure.horizon.attempt_horizon.resampling import (
    VarianceSource,
    draw_families_and_tasks,
    from_families,
    from_learners,
    share_inside,
)
from howsure.horizon.learning_curves.learning_model import Completion
from howsure.stats._arrays import Floats
from howsure.stats.means import mean
from howsure.stats.replicates import Interval, replicate_interval

__all__ = ["HorizonEstimator", "HorizonReplicates"]

_HALF = np.array([0.5])
_AROUND = np.array([0.8, 0.9, 1.0, 1.1, 1.25])  # the true horizon may be any of these multiples of the estimate


@dataclass(frozen=True, eq=False)
class HorizonReplicates:
    """What the bootstrap drew: ``horizons`` (replicates, models, definitions, levels), ``success`` (replicates, models), and
    novices' success over all tasks, ``curves`` (replicates, attempts).
    """

    horizons: Floats
    success: Floats
    curves: Floats


@dataclass(frozen=True, eq=False)
class HorizonEstimator:
    """Models against novices on one set of tasks. ``levels`` are shares, such as 0.5.

    With a ``completion``, ``counts`` hold its table: what learners who left early would have answered is predicted, anew in each replicate.
    """

    counts: SharedTasks
    definitions: tuple[str, ...]
    levels: Floats
    completion: Completion | None = None

    @cached_property
    def drawn(self) -> Drawn:
        """The data themselves, as one replicate."""
        novices = self.counts.novices
        return Drawn(novices.successes[None], novices.trials[None], np.ones((1, len(novices.tasks))))

    def model(self, row: int) -> Model:
        """A model's counts."""
        return Model(self.counts.successes[row], self.counts.n[row])

    @cached_property
    def horizons(self) -> Floats:
        """As the data say, (models, definitions, levels)."""
        return np.stack([self._horizons(self.drawn, self.model(row))[0] for row in range(len(self.counts.models))])

    @cached_property
    def curve(self) -> Floats:
        """Novices' success on each attempt, over all tasks, up to the last attempt that all have."""
        return np.asarray(self._pooled(self.drawn)[0])

    @cached_property
    def learners(self) -> tuple[VarianceSource, ...]:
        """What learners add to the chance in novices' success around the attempt that matches each model."""
        return tuple(from_learners(self.counts.novices, at) for at in self._matched)

    @cached_property
    def learners_alone(self) -> VarianceSource:
        """What learners add to the chance in novices' success on an attempt, in the mean of the attempts that every task has."""
        return from_learners(self.counts.novices, np.eye(self.counts.novices.trials.shape[1])[: self.counts.last])

    @cached_property
    def families(self) -> tuple[VarianceSource, ...]:
        """What families add to the chance in the gap between novices and each model."""
        return tuple(self._gap_source(row) for row in range(len(self.counts.models)))

    def replicates(
        self, n: int, *, seed: int, scheduler: str | None = None, progress: Callable[[int, int], None] | None = None
    ) -> HorizonReplicates:
        """`n` replicates, the same for a seed."""
        self.learners, self.learners_alone, self.families, self.horizons  # noqa: B018  before threads need them at once
        return HorizonReplicates(*replicate(self.draw, n, seed=seed, scheduler=scheduler, progress=progress))

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats, Floats]:
        """`size` replicates as the fields of `HorizonReplicates`, drawn with `rng`."""
        return self._draw_runs(rng, size) if self.is_alone else self._draw_tasks(rng, size)

    def horizon(self, drawn: HorizonReplicates, row: int, place: int, rank: int, level: float) -> Estimate:
        """The horizon of model `row` by definition `place` at level `rank`, with its interval and states."""
        name = self.definitions[place]
        value, last = self.horizons[row, place, rank], definition(name).last_attempt(self.drawn, self.model(row))
        if math.isnan(value):
            return Estimate.without("undefined", definition(name).UNDEFINED, level=level)
        number, state = _placed(value, last)
        reason = "" if state == "ok" else self._beside_novices(row, rank, state)
        if self.few(row):
            return _open(number, self.few(row), level, state, "too_few")
        interval = self.interval(drawn, row, place, rank, level)
        if interval.state != "ok":
            return _open(number, f"{interval.reason()}: {definition(name).UNDEFINED}", level, state, "undefined")
        (low, low_state), (high, high_state) = _placed(float(interval.low), last), _placed(float(interval.high), last)
        return Estimate(number, min(low, number), max(high, number), level, state, reason, low_state, high_state)

    def interval(self, drawn: HorizonReplicates, row: int, place: int, rank: int, level: float) -> Interval:
        """The middle of a horizon's replicates."""
        return replicate_interval(drawn.horizons[:, row, place, rank], self.share_inside(row, level))

    def success(self, drawn: HorizonReplicates, row: int, level: float) -> Estimate:
        """The model's mean success over the tasks it tried."""
        value = self._success(self.drawn.weights, row)[0]
        if self.few(row):
            return _open(value, self.few(row), level, "ok", "too_few")
        if not self.is_alone and self._is_constant(row):
            return self._score_interval(row, level)
        interval = replicate_interval(drawn.success[:, row], self.share_inside(row, level))
        if interval.state != "ok":
            return _open(value, f"{interval.reason()}: they contain none of its tasks", level, "ok", "undefined")
        low, high = np.clip([interval.low, interval.high], 0, 1)  # an end that failed replicates open is 0 or 1
        return Estimate(value, min(low, value), max(high, value), level)

    def ratio_to_first(self, row: int, rank: int) -> float | None:
        """The model's success, at a level, as a multiple of novices' on their first attempt; None where they have none."""
        success, novices = self._pair(row, rank, 1)
        return success / novices if novices else None

    def share_inside(self, row: int, level: float) -> float:
        """The share of a model's replicates that an interval of this level holds."""
        return share_inside(self.families[row], self.learners[row], int((self.counts.n[row] > 0).sum()), level)

    def few(self, row: int) -> str:
        """Why there is no interval, or nothing."""
        n_tasks, n_runs = int((self.counts.n[row] > 0).sum()), int(self.counts.n[row].sum())
        counts = [
            (len(self.counts.novices.learners), "learner"),
            (n_runs, "run") if self.is_alone else (n_tasks, "task"),
        ]
        return next((f"1 {of}; an interval needs 2" for count, of in counts if count < 2), "")

    @property
    def is_alone(self) -> bool:
        """Whether there is one task, which then stands for itself: chance lies in who learns it and in the model's runs."""
        return len(self.counts.tasks) == 1

    def _pooled(self, drawn: Drawn) -> Floats:
        """Novices' success over all tasks in each replicate, on each attempt that all tasks have in the data."""
        everything = np.ones(len(self.counts.tasks))
        return pooled_curves(drawn, Model(everything, everything), self.counts.last)[0]

    def _draw_runs(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats, Floats]:
        """Learners and the runs at one task, drawn again."""
        novices = self.counts.novices
        successes, trials = novices.weighted(novices.draw_learners(size, rng))
        drawn = Drawn(successes, trials, np.ones((size, 1)))
        horizons = np.empty((size, *self.horizons.shape))
        success = np.empty((size, len(self.counts.models)))
        for row in range(len(self.counts.models)):
            model = self.counts.effective(row)
            # Jeffreys: a model that never failed, or never succeeded, in so many runs is not sure to go on like that
            share = rng.beta(model.successes + 0.5, model.n - model.successes + 0.5, (size, 1))
            success[:, row], won = share[:, 0], share * model.n
            for one in range(size):
                part = Drawn(*(values[one : one + 1] for values in drawn))
                horizons[one, row] = self._horizons(part, Model(won[one], model.n))[0]
        return horizons, success, self._pooled(drawn)

    def _draw_tasks(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats, Floats]:
        counts = self.counts
        times_drawn = counts.novices.draw_learners(size, rng)
        families, tasks = draw_families_and_tasks(size, counts.family, rng)
        usual = 1 + self.learners_alone.share * (times_drawn - 1)
        fits = [self.completion.refit(*pair) for pair in zip(usual, tasks, strict=True)] if self.completion else []

        def novices(learner_weights: Floats, task_weights: Floats) -> tuple[Floats, Floats]:
            if self.completion:
                return self.completion.weighted(fits, learner_weights, task_weights)
            return counts.novices.weighted(learner_weights)

        horizons = np.empty((size, *self.horizons.shape))
        success = np.empty((size, len(counts.models)))
        for row, (source, learners) in enumerate(zip(self.families, self.learners, strict=True)):
            weights = tasks * (1 + source.share * (families - 1))
            people = novices(1 + learners.share * (times_drawn - 1), weights)
            horizons[:, row] = self._horizons(Drawn(*people, weights), self.model(row))
            success[:, row] = self._success(weights, row)
        return horizons, success, self._pooled(Drawn(*novices(usual, tasks), tasks))

    def _horizons(self, drawn: Drawn, model: Model) -> Floats:
        """(replicates, definitions, levels)."""
        return np.stack([definition(name).horizons(drawn, model, self.levels) for name in self.definitions], 1)

    def _success(self, weights: Floats, row: int) -> Floats:
        tried = self.counts.n[row] > 0
        share = self.counts.successes[row, tried] / self.counts.n[row, tried]
        with np.errstate(invalid="ignore"):  # a replicate may hold none of the tasks
            return np.asarray(weights[:, tried] @ share / weights[:, tried].sum(axis=1))

    def _is_constant(self, row: int) -> bool:
        """Whether the model does equally well at all tasks, so that resampling them shows no spread."""
        tried = self.counts.n[row] > 0
        return bool(np.ptp(self.counts.successes[row, tried] / self.counts.n[row, tried]) == 0)

    def _score_interval(self, row: int, level: float) -> Estimate:
        """The model's mean success with the interval that families of tasks alone leave: no spread is not certainty."""
        tried = self.counts.n[row] > 0
        share = self.counts.successes[row, tried] / self.counts.n[row, tried]
        return mean(share, self.counts.family[tried], level=level).estimate

    @cached_property
    def _matched(self) -> tuple[Floats, ...]:
        """For each model: how much each attempt counts for novices' mean success around the attempt that matches it, (places, attempts)."""
        return tuple(self._around(self.model(row)) for row in range(len(self.counts.models)))

    def _around(self, model: Model) -> Floats:
        last = matching.last_attempt(self.drawn, model)
        weights = np.zeros((len(_AROUND), self.counts.novices.trials.shape[1]))
        n = float(np.clip(matching.horizons(self.drawn, model, _HALF)[0, 0], 1, last))
        middle = min(max(n, 1 / _AROUND[0]), max(last / _AROUND[-1], 1.0))
        for place, near in zip(weights, np.clip(middle * _AROUND, 1, last), strict=True):
            before = min(int(near), max(last - 1, 1))
            share = math.log(near / before) / math.log((before + 1) / before)
            place[before - 1] += 1 - share
            place[min(before, last - 1)] += share
        return weights

    def _gap_source(self, row: int) -> VarianceSource:
        """From the gaps around the attempt that matches the model."""
        model, at = self.model(row), self._matched[row].mean(axis=0)
        tried, seen = model.n > 0, at > 0
        novices = self.counts.novices
        curves = novices.successes[np.ix_(tried, seen)] / novices.trials[np.ix_(tried, seen)]
        return from_families(curves @ at[seen] - model.successes[tried] / model.n[tried], self.counts.family[tried])

    def _pair(self, row: int, rank: int, attempt: int) -> tuple[float, float]:
        """The model's success at a level, and novices' on an attempt, on the tasks it tried."""
        model = self.model(row)
        tried = model.n > 0
        level = self.levels[rank : rank + 1]
        mean = handicapped(model.successes[tried], model.n[tried], level).mean()
        curve = pooled_curves(self.drawn, model, matching.last_attempt(self.drawn, model))[0][0]
        return float(mean), float(curve[min(attempt, len(curve)) - 1])

    def _beside_novices(self, row: int, rank: int, state: State) -> str:
        """How often the model succeeds beside novices on the first or last attempt."""
        attempt = matching.last_attempt(self.drawn, self.model(row)) if state == "above_range" else 1
        success, novices = self._pair(row, rank, attempt)
        at = "" if self.levels[rank] == 0.5 else f", once its odds are divided as {self.levels[rank]:.0%} asks"
        times = f"{success / novices:.2f} times as often as" if novices else "and so does no one of the"
        return f"succeeds {times} novices on attempt {attempt}{at}"


def _placed(n: float, last: float) -> tuple[float, State]:
    """A horizon within what novices were seen to do, or the edge it lies beyond."""
    if n < 1:
        return 1.0, "below_range"
    return (float(last), "above_range") if n > last else (float(n), "ok")


def _open(value: float, reason: str, level: float, state: State, ends_state: State) -> Estimate:
    """A value whose interval is not known."""
    return Estimate(value, level=level, state=state, reason=reason, low_state=ends_state, high_state=ends_state)
