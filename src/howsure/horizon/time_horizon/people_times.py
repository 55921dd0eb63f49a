r"""Human times as data: how long people took for each task, how much people differ, and whose time to measure next.

The time of person i at task t is lognormal around the task's own: log₂ minutes ~ N(x_t, s²). Who gave up, or ended without success, after c minutes is censored there:
a success would have taken longer. x_t and s are estimated by expectation–maximisation, s with the degrees of freedom that are left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import chdtri, expit, logit

from howsure.arguments import checked
from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.horizon.run_counts import ModelCounts, model_counts
from howsure.horizon.time_horizon.curves import Timed, family_errors, fit_curves, timed
from howsure.horizon.time_horizon.kernels import FITTED
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Floats, check_level, normal_quantile
from howsure.stats.trends import truncated_normal
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["BaselinePlan", "HumanTimes", "human_times", "plan_baselines", "with_human_times"]

_MOST_STEPS = 500
_TIMES = {"task": pl.String, **dict.fromkeys(("n_people", "n_successes", "n_gave_up"), pl.Int64),
          **dict.fromkeys(("minutes", "minutes_low", "minutes_high"), pl.Float64), "minutes_state": pl.String, "noise": pl.Float64}  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class HumanTimes:
    """How long people took for each task.

    ``tasks`` has one row per task: n_people, n_successes, n_gave_up, minutes with its interval (state ``above_range`` and the longest time where nobody succeeded),
    and ``noise``, the standard error in doublings. ``spread`` is the standard deviation of one person's time around the task's, in doublings; ``too_few`` where no task has two people.
    """

    tasks: pl.DataFrame
    spread: Estimate
    notes: tuple[str, ...]


@checked
def human_times(runs: Attempts | Source, *, level: float = 0.95) -> HumanTimes:
    """How long people took for each task, from their attempts.

    Parameters
    ----------
    runs : Attempts or frame
        Rows of kind ``human`` with ``seconds``: a score of 1 is a success after that time, a lower score means that the person gave up at that time.
    level : float
        Coverage of the intervals.
    """
    check_level(level)
    attempts = Attempts.of(runs).counted
    if not attempts.has("seconds"):
        raise InputError("The attempts have no column 'seconds'. Human times need how long each person took.")
    people = attempts.lazy.filter((pl.col("kind") == "human") & (pl.col("seconds") > 0)).collect()
    if people.is_empty():
        raise InputError("No attempt of kind human has seconds above 0. Set it with --set kind=human.")
    tasks = people["task"].unique().sort()
    place = people["task"].cast(pl.Enum(tasks)).to_physical().to_numpy().astype(np.int64)
    time = np.log2(people["seconds"].to_numpy() / 60)
    is_success = (people["score"] == 1).to_numpy()
    n, good = np.bincount(place, minlength=len(tasks)), np.bincount(place[is_success], minlength=len(tasks))
    x, spread, df, information = _estimate(time, is_success, place, good > 0)
    z = normal_quantile(level)
    width = _spread_estimate(spread, df, level)
    rows = []
    for t, task in enumerate(tasks):
        noise = None if width.value is None or not good[t] else width.value / math.sqrt(information[t])
        if not good[t]:
            longest = float(2.0 ** time[place == t].max())
            found = Estimate.without("above_range", "nobody succeeded", value=longest, level=level)
        elif noise is None:
            found = Estimate(float(2.0 ** x[t]), level=level, low_state="too_few", high_state="too_few")
        else:
            middle, low, high = (float(2.0 ** (x[t] + k * noise)) for k in (0, -z, z))
            found = Estimate(middle, low, high, level)
        rows.append(
            {"task": task, "n_people": int(n[t]), "n_successes": int(good[t]), "n_gave_up": int(n[t] - good[t])}
            | columns_of(minutes=found)
            | {"noise": noise}
        )
    n_none = int((good == 0).sum())
    notes = (
        [f"At {n_none:,} of {len(tasks):,} tasks nobody succeeded: their human time is only known to be longer."]
        if n_none
        else []
    )
    return HumanTimes(
        tasks=pl.DataFrame(rows, schema=_TIMES),
        spread=width,
        notes=tuple(notes),
    )


def _estimate(time: Floats, is_success: Any, place: Any, known: Any) -> tuple[Floats, float, int, Floats]:
    """Each task's mean log₂ minutes, the spread of people, its degrees of freedom, and each task's number of times that count."""
    used = known[place]
    time, is_success, place = time[used], is_success[used], place[used]
    n_tasks = len(known)
    n = np.maximum(np.bincount(place, minlength=n_tasks), 1)
    x = np.bincount(place[is_success], time[is_success], n_tasks) / np.maximum(
        np.bincount(place[is_success], minlength=n_tasks), 1
    )
    df = len(time) - int(known.sum())
    spread, variance = 1.0, np.zeros(len(time))
    for _ in range(_MOST_STEPS):
        mean, scaled = truncated_normal((time - x[place]) / spread, np.full(len(time), np.inf))
        filled = np.where(is_success, time, x[place] + spread * mean)
        variance = np.where(is_success, 0, scaled)
        before = x, spread
        x = np.bincount(place, filled, n_tasks) / n
        if df > 0:
            left = ((filled - x[place]) ** 2 + spread**2 * variance).sum()
            spread = max(math.sqrt(left / df), 1e-3)
        if np.abs(x - before[0]).max(initial=0) + abs(spread - before[1]) < 1e-9:
            break
    return x, spread, df, np.maximum(np.bincount(place, 1 - variance, n_tasks), 1e-6)


def _spread_estimate(spread: float, df: int, level: float) -> Estimate:
    if df < 1:
        return Estimate.without("too_few", "no task was done by two people", level=level)
    low, high = (spread * math.sqrt(df / chdtri(df, q)) for q in ((1 - level) / 2, (1 + level) / 2))
    return Estimate(spread, low, high, level)


def with_human_times(
    counts: ModelCounts, found: HumanTimes, spread: float | None = None
) -> tuple[ModelCounts, Floats, list[str]]:
    """The counts with people's own times as the minutes of their tasks, each task's error in doublings, and notes.

    Parameters
    ----------
    counts : ModelCounts
        Tasks that nobody completed keep the minutes that they have.
    found : HumanTimes
        From `human_times`.
    spread : float, optional
        Standard deviation of one person's time in doublings, where the people do not show it; tasks whose minutes were stated have this error,
        or else that of one person.
    """
    size = found.spread.value if found.spread.value is not None else spread
    done = found.tasks.filter(pl.col("minutes_state") == "ok").select(
        "task", own="minutes", own_noise="noise", n="n_people"
    )
    joined = counts.tasks.join(done, on="task", how="left", maintain_order="left")
    one_person = (spread if spread is not None else size) or 0.0
    noise = joined["own_noise"].fill_null(one_person)
    tasks = joined.with_columns(minutes=pl.coalesce("own", "minutes")).select(counts.tasks.columns)
    n = int(joined["own"].count())
    notes = [f"{n:,} of {len(joined):,} tasks have the times of people; the others keep their stated minutes."]
    if size is None:
        notes.append(
            "No task was done by two people, so the spread of human times is not known; state it with --minutes-noise."
        )
    else:
        notes.append(f"The time of one person differs from the task's by {size:.2f} doublings (standard deviation).")
    return replace(counts, tasks=tasks), noise.to_numpy().astype(np.float64), notes


@dataclass(frozen=True, kw_only=True, eq=False)
class BaselinePlan(Result):
    """Whose times to measure next.

    Parameters
    ----------
    tasks : pl.DataFrame
        Tasks in the order in which more people narrow the horizons most: n_people so far, n_more, and ``share``, the part of the variance from
        human times that these people remove.
    steps : pl.DataFrame
        One row per number of further people: ``sd_noise``, the standard deviation of log₂ horizons that the error of human times causes (doublings, mean over
        models), ``sd_all`` with all sources of error, and ``factor``, the width of the interval relative to now.
    times : pl.DataFrame
        What people took so far: one row per task (see `HumanTimes`); no rows where there are no timed people.
    spread : Estimate
        Standard deviation of one person's time, in doublings.
    provenance : Provenance
        Settings, digest of the input, version and notes.
    """

    name: ClassVar[str] = "baseline_plan"

    tasks: pl.DataFrame
    steps: pl.DataFrame
    times: pl.DataFrame
    spread: Estimate
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``baseline_plan`` (tasks), ``baseline_steps`` (how many people) and ``human_times`` (times so far)."""
        return {"baseline_plan": self.tasks, "baseline_steps": self.steps, "human_times": self.times}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.horizon.time_horizon.sections import baseline_sections

        return baseline_sections(self)


@checked
def plan_baselines(
    runs: Attempts | Source,
    *,
    n_people: int = 20,
    minutes_noise: float | None = None,
    success_rates: Sequence[float] = (0.5, 0.8),
    level: float = 0.95,
    threshold: float | None = None,
) -> BaselinePlan:
    r"""How many more people, at which tasks, would narrow the time horizons most.

    The error of task t's human time, of variance s²/n_t, moves a horizon by its derivative. So it adds :math:`\sum_t (\partial h/\partial x_t)^2 s^2/n_t` to the variance, and
    one more person at task t removes :math:`(\partial h/\partial x_t)^2 s^2/(n_t (n_t + 1))`. People are assigned one after another to where that is largest, on average over the models
    and success rates.

    Parameters
    ----------
    runs : Attempts or frame
        Runs of models with minutes and, where there are some, timed attempts of people.
    n_people : int
        Number of additional times that can be measured.
    minutes_noise : float, optional
        Standard deviation of one person's time in doublings, where no task was done by two people.
    success_rates : sequence of float
        At which horizons are wanted.
    level : float
        Coverage of the intervals.
    threshold : float, optional
        The smallest score that is a success.
    """
    attempts = Attempts.of(runs).counted
    counts = model_counts(attempts, threshold=threshold)
    notes, measured = list(counts.notes), np.ones(len(counts.tasks))
    width = None if minutes_noise is None else Estimate(minutes_noise, level=level)
    times = pl.DataFrame(schema=_TIMES)
    has_people = attempts.has("seconds") and bool(
        attempts.lazy.select(((pl.col("kind") == "human") & (pl.col("seconds") > 0)).any()).collect().item()
    )
    if has_people:
        found = human_times(attempts, level=level)
        counts, _, said = with_human_times(counts, found, minutes_noise)
        notes += [*found.notes, *said]
        times = found.tasks
        width = found.spread if found.spread.value is not None else width
        by_task = dict(zip(found.tasks["task"], found.tasks["n_successes"], strict=True))
        measured = np.array([max(by_task.get(task, 1), 1) for task in counts.tasks["task"]], dtype=np.float64)
    if width is None or width.value is None:
        raise InputError(
            "How much people differ is not known. Give timed attempts of two people at one task, or --minutes-noise in doublings."
        )
    spread, known = width.value, ~np.isnan(counts.minutes)
    data, n = timed(counts), measured[known]
    pull = np.array([_influence(data, m, q) for m in range(len(data.counts.models)) for q in success_rates])
    usable = np.isfinite(pull).all(axis=1)
    if not usable.any():
        raise InputError("No model has a horizon that human times could move.")
    pull = pull[usable]
    sampling = np.array([_sd(data, m, q, level) for m in range(len(data.counts.models)) for q in success_rates])[usable]
    squared = (pull**2).mean(axis=0) * spread**2
    start, more = n.copy(), np.zeros(len(n), dtype=np.int64)
    # the interval of the horizons has this error already, as part of how families scatter
    total = np.nanmean(np.maximum(sampling**2, (pull**2 * spread**2 / start).sum(axis=1)))
    steps, marks = [], sorted({0, *(k for k in (1, 2, 5, 10, 20, 50, 100, 200, 500) if k < n_people), n_people})
    for k in range(n_people + 1):
        if k in marks:
            own = float((squared / n).sum())
            now = float(total - (squared / start).sum() + own)
            steps.append(
                {"n_more": k, "sd_noise": math.sqrt(own), "sd_all": math.sqrt(now), "factor": math.sqrt(now / total)}
            )
        if k < n_people:
            best = int(np.argmax(squared / (n * (n + 1))))
            n[best] += 1
            more[best] += 1
    gain = squared * (1 / start - 1 / n) / (squared / start).sum()
    frame = data.counts.tasks.select("task", "minutes").with_columns(
        n_people=pl.Series(start.astype(np.int64)), n_more=pl.Series(more), share=pl.Series(gain)
    )
    settings = {
        "n_people": n_people,
        "minutes_noise": minutes_noise,
        "success_rates": list(success_rates),
        "level": level,
    }
    return BaselinePlan(
        tasks=frame.filter(pl.col("n_more") > 0).sort("share", descending=True),
        steps=pl.DataFrame(steps),
        times=times,
        spread=width,
        provenance=Provenance(settings, data.counts.digest, None, tuple(notes)),
    )


def _influence(data: Timed, model: int, success_rate: float) -> Floats:
    """By how many doublings a horizon moves per doubling of each task's length; NaN without a horizon."""
    own = fit_curves(data).of(model)
    if own.outcome != FITTED:
        return np.full(len(data.x), np.nan)
    a, b, x, weight = float(own.intercept), float(own.slope), data.x, data.weight[model]
    p = expit(a + b * x)
    design = np.column_stack([np.ones(len(x)), x])
    bend = (design * (weight * p * (1 - p))[:, None]).T @ design + np.diag([0, data.regularisation])
    moved = -(weight * p * (1 - p) * b)[:, None] * design
    moved[:, 1] += weight * (data.rates[model] - p)
    by_length = np.linalg.solve(bend, moved.T)
    crossing = (float(logit(success_rate)) - a) / b
    return np.asarray(-(by_length[0] + crossing * by_length[1]) / b)


def _sd(data: Timed, model: int, success_rate: float, level: float) -> float:
    """The standard deviation of a log₂ horizon that its interval shows; NaN where it is open."""
    errors = family_errors(data, model)
    low, high = (math.nan, math.nan) if errors is None else errors.ends(success_rate, level)
    width = high - low
    return width / (2 * normal_quantile(level)) if math.isfinite(width) else math.nan
