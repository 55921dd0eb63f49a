"""How many learners and tasks a study needs for a horizon that is known well enough: by simulation, before anyone is recruited."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.compute import replicate
from howsure.errors import OptionError
from howsure.horizon.attempt_horizon.definitions import Drawn, Model, matching
from howsure.horizon.learning_curves.learning_model import complete_novices
from howsure.horizon.simulator import draw_suite, simulate
from howsure.results import Provenance, Result, plain
from howsure.stats._arrays import Floats, check_level, t_quantile

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section

__all__ = ["CandidateSize", "StudySize", "size_study"]

_HALF = np.array([0.5])
_MOST = 100_000  # learners, or tasks, of a simulated study


@dataclass(frozen=True)
class CandidateSize:
    """A study of this many learners and tasks, ``n_dealt`` of them to each learner, and how far its interval reaches on either side, as a share of the horizon.

    ``half_width`` 0.2 means from n/1.2 to n·1.2. It is None where simulated studies often found no horizon within the novices' attempts.
    """

    n_learners: int
    n_tasks: int
    n_dealt: int
    half_width: float | None
    half_width_low: float | None
    half_width_high: float | None

    @property
    def n_answers(self) -> int:
        """How many courses there are: a learner at a task."""
        return self.n_learners * self.n_dealt


@dataclass(frozen=True, kw_only=True, eq=False)
class StudySize(Result):
    """Width of the interval for each design, and the cheapest design that is narrow enough.

    Parameters
    ----------
    designs : tuple[CandidateSize, ...]
        One entry per design.
    horizon : float
        Assumed horizon, in attempts.
    wanted : float
        Required half-width of the interval, relative to the horizon.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "size"

    designs: tuple[CandidateSize, ...]
    horizon: float
    wanted: float
    provenance: Provenance

    @property
    def cheapest(self) -> CandidateSize | None:
        """The design of the fewest answers whose interval is as narrow as wanted; None where none is."""
        enough = [one for one in self.designs if one.half_width is not None and one.half_width <= self.wanted]
        return min(enough, key=lambda one: (one.n_answers, one.n_learners)) if enough else None

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``size``: one row per design; the ends of ``half_width`` are its Monte Carlo error."""
        rows = [
            vars(one) | {"n_answers": one.n_answers, "is_enough": (one.half_width or math.inf) <= self.wanted}
            for one in self.designs
        ]
        widths = ("half_width", "half_width_low", "half_width_high")
        frame = pl.DataFrame(rows, schema_overrides=dict.fromkeys(widths, pl.Float64), infer_schema_length=None)
        return {"size": frame.select("n_learners", "n_tasks", "n_dealt", "n_answers", *widths, "is_enough")}

    def as_dict(self) -> dict[str, Any]:
        """The designs, the expected horizon, the wanted width and the cheapest design, as plain JSON."""
        asked = {"horizon": self.horizon, "wanted": self.wanted, "cheapest": plain(self.cheapest)}
        return {**asked, **super().as_dict()}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.horizon.attempt_horizon.sections import size_sections

        return size_sections(self)

    def charts(self) -> Mapping[str, Chart]:
        """The interval's width over the number of learners; none where no design has a width."""
        from howsure.horizon.attempt_horizon.charts import draw_size

        return {"size": draw_size(self)} if self.to_frame()["half_width"].drop_nulls().len() else {}


@checked
def size_study(
    *,
    horizon: float = 3.0,
    wanted: float = 0.2,
    learners: Sequence[int] = (10, 20, 30, 50, 100),
    tasks: Sequence[int] = (20, 50, 100, 200),
    tasks_per_learner: int | None = None,
    mastery: int | None = None,
    n_attempts: int = 10,
    n_runs: int = 20,
    suite: str = "mixed",
    sameness: float = 0.85,
    n_simulations: int = 200,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> StudySize:
    """The width of the interval that studies of several sizes would give, by simulation (matching definition).

    Each design is simulated with new tasks and new learners; the spread of log n* over the simulations, times a t quantile, is half the
    width of the interval.

    Parameters
    ----------
    horizon : float
        The model's true horizon in attempts.
    wanted : float
        The half width that is narrow enough: 0.2 means from n/1.2 to n·1.2.
    learners, tasks : sequence of int
        Numbers of learners and of tasks to try.
    tasks_per_learner : int, optional
        Tasks that are dealt to each learner; by default all.
    mastery : int, optional
        Learners leave a task after so many successes in a row; what they did not answer is predicted, as in `attempt_horizons`.
    n_attempts : int
        Attempts of a novice at a task.
    n_runs : int
        Runs of the model at a task.
    suite : str
        How hard the tasks are: mixed, easy or hard.
    sameness : float
        How alike learners are; 1: all the same.
    n_simulations : int
        Simulated studies per design.
    level : float
        Coverage of the interval.
    seed : int
        Of the simulations.
    progress : callable, optional
        Called with the number of designs that are done and their total.
    """
    check_level(level)
    if not 1 <= horizon <= n_attempts:
        raise OptionError(f"horizon {horizon:g} is not between 1 and the {n_attempts} attempts of the study.")
    if max(*learners, *tasks) > _MOST:
        raise OptionError(
            f"{max(*learners, *tasks):,} learners or tasks are more than can be simulated; give at most {_MOST:,}."
        )
    if n_simulations < 20 or wanted <= 0:
        raise OptionError(f"Give at least 20 simulations and a width above 0, not {n_simulations} and {wanted:g}.")
    plans = [(n_learners, n_tasks) for n_tasks in sorted(set(tasks)) for n_learners in sorted(set(learners))]
    made: dict[str, Any] = {"n_attempts": n_attempts, "n_runs": n_runs, "sameness": sameness, "suite": suite}
    made |= {"tasks_per_learner": tasks_per_learner, "mastery": mastery}
    designs = []
    for done, (n_learners, n_tasks) in enumerate(plans, 1):
        work = partial(_draw, horizon=horizon, n_learners=n_learners, n_tasks=n_tasks, **made)
        what = f"simulations of design {done} of {len(plans)}"
        found = replicate(work, n_simulations, seed=seed, batch=25, keep=False, what=what)
        designs.append(_design(n_learners, n_tasks, min(tasks_per_learner or n_tasks, n_tasks), found, level))
        if progress:
            progress(done, len(plans))
    settings = made | {"horizon": horizon, "wanted": wanted, "n_simulations": n_simulations, "level": level}
    return StudySize(designs=tuple(designs), horizon=horizon, wanted=wanted, provenance=Provenance(settings, seed=seed))


def _draw(
    rng: np.random.Generator,
    size: int,
    *,
    horizon: float,
    n_learners: int,
    n_tasks: int,
    n_attempts: int,
    n_runs: int,
    sameness: float,
    suite: str,
    tasks_per_learner: int | None,
    mastery: int | None,
) -> Floats:
    """What `size` studies find."""
    found = np.empty(size)
    for place in range(size):
        seed = int(rng.integers(2**31))
        world = simulate(
            draw_suite(n_tasks, kind=suite, seed=seed),
            true_horizons={"model": horizon},
            n_learners=n_learners,
            n_attempts=n_attempts,
            n_runs=n_runs,
            sameness=sameness,
            tasks_per_learner=tasks_per_learner,
            mastery=mastery,
            seed=seed,
        ).counts
        completion = complete_novices(world.novices)
        people = completion.table if completion else world.novices
        novices = Drawn(people.successes[None], people.trials[None], np.ones((1, len(people.tasks))))
        found[place] = matching.horizons(novices, Model(world.successes[0], world.n[0]), _HALF)[0, 0]
    return found


def _design(n_learners: int, n_tasks: int, n_dealt: int, found: Floats, level: float) -> CandidateSize:
    """Half the width of the interval, and the ends between which chance in the simulation leaves it."""
    inside = np.isfinite(found)
    if inside.mean() < level:
        return CandidateSize(n_learners, n_tasks, n_dealt, None, None, None)
    sd = np.log(found[inside]).std(ddof=1)
    reach = t_quantile(level, min(n_learners, n_tasks) - 1) if min(n_learners, n_tasks) > 1 else math.inf
    error = 1.96 / math.sqrt(2 * (inside.sum() - 1))
    widths = [math.expm1(min(reach * sd * factor, 20.0)) for factor in (1, max(1 - error, 0), 1 + error)]
    return CandidateSize(n_learners, n_tasks, n_dealt, *widths)
