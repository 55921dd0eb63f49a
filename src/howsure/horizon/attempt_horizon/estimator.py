"""Models against novices on one set of tasks: horizons, their replicates, and the estimates these make."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from howsure.compute import replicate
from howsure.errors import InputError
from howsure.estimates import Estimate, State
from howsure.horizon.attempt_horizon.definitions import Drawn, Model, definition, matching
from howsure.horizon.attempt_horizon.definitions.matching import handicapped, pooled_curves
from howsure.horizon.learning_curves.learning_model import Completion
from howsure.horizon.learning_curves.novice_counts import NoviceCounts, novice_counts
from howsure.horizon.run_counts import model_counts
from howsure.stats._arrays import Bools, Floats, Ints, codes
from howsure.stats.means import mean
from howsure.stats.replicates import Interval, expanded_level, hierarchical_weights, replicate_interval
from howsure.tables import Attempts

__all__ = [
    "AUTOMATED",
    "JUDGED",
    "HorizonEstimator",
    "HorizonReplicates",
    "SharedTasks",
    "VarianceSource",
    "draw_families_and_tasks",
    "from_families",
    "from_learners",
    "share_inside",
    "shared_tasks",
    "verification_by_domain",
]


# What novices and models did on the same tasks: where every horizon in attempts starts from.


AUTOMATED = "automated"
JUDGED: Mapping[str, str] = {"creative_writing": "llm_judge", "communication_tasks": "llm_judge"}
"""Domains whose answers are judged, where the input does not say; those of others are checked by a rule."""


@dataclass(frozen=True, eq=False)
class SharedTasks:
    """Tasks that novices and at least one model tried.

    ``tasks`` has a row a task (task, family, domain, verification), in the order of ``novices``; ``successes`` and ``n`` count the runs, with a row a
    model and a column a task, n = 0 where the model never tried it. Graded scores count as shares of a success, and ``squares`` adds up their squares.
    ``released`` holds the dates that are known.
    """

    tasks: pl.DataFrame
    novices: NoviceCounts
    models: tuple[str, ...]
    successes: Floats
    n: Floats
    released: Mapping[str, datetime.date]
    notes: tuple[str, ...] = ()
    squares: Floats | None = None

    @cached_property
    def family(self) -> Ints:
        """Each task's family as a number."""
        return codes(self.tasks["family"].to_list(), "family")

    @property
    def last(self) -> int:
        """The last attempt up to which somebody made each on every task."""
        return int(matching.made_up_to(self.novices.trials).min())

    def effective(self, row: int) -> Model:
        """A model's counts as if each run had been right or wrong: as many runs as would leave its mean as unsure as it is."""
        share = self.successes[row] / np.maximum(self.n[row], 1)
        squares = self.successes[row] if self.squares is None else self.squares[row]
        variance, coin = squares / np.maximum(self.n[row], 1) - share**2, share * (1 - share)
        is_graded = (variance > 0) & (variance < coin)
        n = np.round(np.where(is_graded, self.n[row] * coin / np.where(is_graded, variance, 1.0), self.n[row]))
        return Model(share * n, n)

    def of_tasks(self, chosen: Bools) -> SharedTasks:
        """The same on some of the tasks; models that tried none of them are gone."""
        rows = np.flatnonzero(self.n[:, chosen].sum(axis=1))
        return replace(
            self,
            tasks=self.tasks.filter(pl.Series(chosen)),
            novices=self.novices.of_tasks(chosen),
            models=tuple(self.models[row] for row in rows),
            successes=self.successes[rows][:, chosen],
            n=self.n[rows][:, chosen],
            squares=None if self.squares is None else self.squares[rows][:, chosen],
        )


def shared_tasks(attempts: Attempts, *, threshold: float | None = None, last: int | None = None) -> SharedTasks:
    """The people and the models of an attempts table, on the tasks that both tried.

    ``threshold`` is the score from which an attempt counts as a success, for scores between 0 and 1; attempts after ``last`` are left out.
    """
    if threshold is not None:
        attempts = attempts.derive(attempts.lazy.with_columns((pl.col("score") >= threshold).cast(pl.Float64)))
    novices, models = novice_counts(attempts, last=last), model_counts(attempts, is_graded=True)
    tasks = pl.DataFrame({"task": novices.tasks}).join(
        models.tasks.with_row_index("#column"), on="task", maintain_order="left"
    )
    if tasks.is_empty():
        raise InputError(
            f"Novices tried {len(novices.tasks):,} tasks and models {len(models.tasks):,}, but none is the same. Give tasks the same names."
        )
    column, is_shared = (
        tasks["#column"].to_numpy(),
        np.isin(np.array(novices.tasks, dtype=object), tasks["task"].to_list()),
    )
    return SharedTasks(
        _with_verification(tasks.select("task", "family", "domain"), attempts),
        novices.of_tasks(is_shared),
        models.models,
        models.successes[:, column].astype(np.float64),
        models.n[:, column].astype(np.float64),
        _releases(attempts),
        (*novices.notes, *_left_out(len(novices.tasks), len(models.tasks), len(tasks))),
        None if models.squares is None else models.squares[:, column],
    )


def verification_by_domain() -> pl.Expr:
    """How answers are verified, by what is usual in their domain: automated or llm_judge."""
    return (
        pl.col("domain").replace_strict(dict(JUDGED), default=AUTOMATED, return_dtype=pl.String).alias("verification")
    )


def _with_verification(tasks: pl.DataFrame, attempts: Attempts) -> pl.DataFrame:
    """As the input says, or else by domain."""
    usual = tasks.with_columns(verification_by_domain())
    if not attempts.has("verification_type"):
        return usual
    told = attempts.lazy.group_by("task").agg(pl.col("verification_type").drop_nulls().first().cast(pl.String))
    known = usual.join(told.collect(engine="streaming"), on="task", how="left", maintain_order="left")
    return known.select(
        "task", "family", "domain", pl.coalesce("verification_type", "verification").alias("verification")
    )


def _releases(attempts: Attempts) -> dict[str, datetime.date]:
    """The first date of each model's runs."""
    if not attempts.has("date"):
        return {}
    rows = attempts.lazy.filter(pl.col("kind") == "model").group_by("subject").agg(pl.col("date").min()).drop_nulls()
    return dict(rows.sort("date", "subject").collect(engine="streaming").iter_rows())


def _left_out(n_novices: int, n_models: int, n_shared: int) -> list[str]:
    counts = {"novices": n_novices - n_shared, "models": n_models - n_shared}
    return [f"{count:,} tasks that only {who} tried are excluded." for who, count in counts.items() if count]


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
        at = "" if self.levels[rank] == 0.5 else f", after its odds are divided for {self.levels[rank]:.0%}"
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


# Replicates of novices and tasks in which every source of chance counts once.
#
# Families, tasks and learners are drawn with replacement, and a task brings all its runs and answers along. Drawing again inside what has been drawn
# (families, then their tasks, then those tasks' runs) counts the chance of the inner levels twice, since the outer ones vary by it already;
# and learners who tried many tasks make all of them easier or harder at once. So the weights are
#
# .. math:: u_t = \big(1 + c_F (W_{f(t)} - 1)\big)\, W_t, \qquad v_l = 1 + c_L (V_l - 1)
#
# with W, V how often a family, task, learner is drawn, and c the share that its level adds of its own: with the influence of a task h_t on the gap
# between novices and the model, and of a learner's answers at a task on novices' mean success, g_{tl} as the sample has it (against the mean of the task's
# n_t learners) and g̃_{tl} = g_{tl} n_t/(n_t − 1) (against the mean of the other learners: with few learners per task the sample's mean follows each of them),
#
# .. math:: c_F^2 = \frac{V_F - V_T}{V_F + V_T}, \quad V_F = \sum_f \Big(\sum_{t \in f} h_t\Big)^2, \; V_T = \sum_t h_t^2; \qquad
#           c_L^2 = \frac{\tilde V_L - \tilde V_C}{V_L + V_C}, \quad V_L = \sum_l \Big(\sum_t g_{tl}\Big)^2, \; V_C = \sum_{tl} g_{tl}^2
#
# and 0 where that is negative. Both are averaged around the attempt that matches the model: between two attempts a learner's answers to both count, and the
# chance of single answers shrinks against what makes learners differ. To first order the variance of the replicates is V_T + (V_F − V_T) + (Ṽ_L − Ṽ_C), the
# variance that is clustered by families and by learners at once (Cameron, Gelbach and Miller 2011).
#
# The replicates' quantiles are taken further out than 2.5 % and 97.5 %, at Φ(−t √((ν+1)/ν)), as a t interval would be (Hesterberg 2015, "expanded
# percentiles"); ν are the degrees of freedom that few families, tasks or learners leave (Satterthwaite), where the error of Ṽ_L − Ṽ_C is that of Ṽ_L.


_ROUNDING = 1e-12  # where every learner tried one task, learners and courses are the same, added up in another order


@dataclass(frozen=True)
class VarianceSource:
    """What families or learners add to the variance of a mean beyond what their members bring (``own``), and how far their weights are spread for
    it (``share``, the c above); ``alone`` is what the members bring.
    """

    own: float
    alone: float
    share: float
    n: int


def from_families(gap: Floats, family: Ints) -> VarianceSource:
    """What families add, from the gap between novices and the model at each task; what tasks bring is ``alone``."""
    influence = (gap - gap.mean()) / len(gap)
    together, alone = _variances(influence, family)
    own = max(0.0, together - alone)
    return VarianceSource(own, alone, math.sqrt(own / (together + alone)) if own else 0.0, len(np.unique(family)))


def from_learners(novices: NoviceCounts, at: Floats) -> VarianceSource:
    """What learners add to novices' mean success: nothing where each tried one task, much where some are better at everything.

    ``at`` weighs the attempts (…, attempts): an attempt, or two with the mean between; over several rows the variances are averaged.
    """
    rows = np.atleast_2d(at)
    together, alone, fair_together, fair_alone = (
        float(np.einsum("pa,ab,pb->", rows, form, rows)) / len(rows) for form in novices.residual_products
    )
    own = fair_together - fair_alone
    own = own if own > _ROUNDING * fair_alone else 0.0
    share = min(1.0, math.sqrt(own / (together + alone))) if own else 0.0
    return VarianceSource(own, fair_alone, share, len(np.unique(novices.learner)))


def draw_families_and_tasks(n: int, family: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """How often the family of each task is drawn, and each task, (n, tasks) both."""
    return hierarchical_weights([family], n, rng), hierarchical_weights([np.arange(len(family))], n, rng)


def share_inside(families: VarianceSource, learners: VarianceSource, n_tasks: int, level: float) -> float:
    """The share of replicates that an interval of this level holds."""
    total = families.alone + families.own + learners.own
    if not total or n_tasks < 2:
        return level
    # what learners add is a difference, and as unsure as the larger part of it, not as what is left
    of_learners = learners.own + learners.alone if learners.own else 0.0
    parts = ((families.alone, n_tasks), (families.own, families.n), (of_learners, learners.n))
    df = total**2 / sum(own**2 / max(n - 1, 1) for own, n in parts)
    return expanded_level(level, df)


def _variances(influence: Floats, group: Ints) -> tuple[float, float]:
    """Of a sum whose members vary together within groups, and of one whose members vary alone."""
    return float((np.bincount(group, influence) ** 2).sum()), float((influence**2).sum())
