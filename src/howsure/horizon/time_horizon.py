"""Time horizons: how long the tasks are, in an expert's minutes, that a model does half of the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.frames import write_frame
from howsure.horizon.runs import ModelCounts, model_counts
from howsure.horizon.sensitivity import Sensitivity, vary
from howsure.horizon.success_rates import check_success_rates
from howsure.horizon.time_curves import Curves, Timed, draw_curves, fit_curves, middle_of, timed
from howsure.horizon.time_states import FAILED, OUTCOMES, horizon
from howsure.results import Provenance, plain, write_json
from howsure.stats._arrays import Floats, check_level
from howsure.stats.replicates import MOST_FAILED, replicate_interval
from howsure.tables import Attempts

if TYPE_CHECKING:
    import altair

__all__ = ["ModelFit", "TimeHorizons", "assemble", "time_horizons"]

_FEW_FAMILIES = 20
_SHARES = ("share_below", "share_above", "share_failed")


@dataclass(frozen=True)
class ModelFit:
    """One model's curve and where it crosses each level.

    ``success`` is the plain share of successful runs, ``outcomes`` how many replicates ended in what (see `time_states.OUTCOMES`). ``intercept`` and
    ``slope`` are None where there is no curve.
    """

    model: str
    horizons: dict[float, Estimate]
    intercept: float | None
    slope: float | None
    outcome: str
    success: float
    n_runs: int
    n_tasks: int
    outcomes: dict[str, int]


@dataclass(frozen=True, eq=False)
class TimeHorizons:
    """Time horizons of models, with intervals over families, tasks and runs, and what made them.

    ``drawn`` has the replicates' curves, or None without bootstrap. ``sensitivity`` says what noise in the minutes, censored baselines,
    the regularisation and the weights would change.
    """

    fits: tuple[ModelFit, ...]
    levels: tuple[float, ...]
    level: float
    data: Timed
    curves: Curves
    drawn: Curves | None
    sensitivity: Sensitivity
    provenance: Provenance

    @property
    def models(self) -> tuple[str, ...]:
        """In the order of `curves`."""
        return self.data.counts.models

    @property
    def ranked(self) -> tuple[ModelFit, ...]:
        """Models by their first horizon, the longest first; those without one last."""
        place = np.nan_to_num(self.curves.log2_minutes(self.levels[0]), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        return tuple(self.fits[m] for m in np.argsort(-place, kind="stable"))

    @property
    def middle(self) -> float:
        """The share of replicates that intervals hold."""
        return middle_of(self.level, self.provenance.settings["resample"], _n_families(self.data))

    def minutes(self, model: str, level: float = 50) -> Estimate:
        """A model's horizon at a level of success in per cent."""
        fit = self.fits[self.data.counts.index(model)]
        if level not in fit.horizons:
            raise OptionError.unknown("level", f"{level:g}", [f"{one:g}" for one in self.levels])
        return fit.horizons[level]

    def to_frame(self) -> pl.DataFrame:
        """One row a model and level: model, level, minutes, low, high, state, slope, intercept, n_runs, n_tasks, and what explains them.

        ``share_below``, ``share_above`` and ``share_failed`` are shares of the replicates: without success, without failure, and without a falling curve.
        """
        rows = [
            _row(fit, level, found) | self._shares(m, level)
            for m, fit in enumerate(self.fits)
            for level, found in fit.horizons.items()
        ]
        kinds = dict.fromkeys(("minutes", "low", "high", "slope", "intercept", *_SHARES), pl.Float64)
        return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)

    def _shares(self, model: int, level: float) -> dict[str, float | None]:
        """The shares of replicates below the range, above it, and failed."""
        if self.drawn is None:
            return dict.fromkeys(_SHARES)
        return {**replicate_interval(self.drawn.of(model).log2_minutes(level), self.level).shares()}

    def replicates(self) -> pl.DataFrame:
        """One row a replicate and model: replicate, model, outcome, intercept, slope, and minutes at each level (p50, …)."""
        drawn = self.curves if self.drawn is None else self.drawn
        n = 0 if self.drawn is None else len(drawn.slope)
        shape = (n, len(self.models))
        columns = {"intercept": drawn.intercept, "slope": drawn.slope}
        columns |= {_column(level): _in_minutes(drawn.log2_minutes(level)) for level in self.levels}
        numbers = {name: np.broadcast_to(values, shape).ravel() for name, values in columns.items()}
        outcome = np.broadcast_to(drawn.outcome, shape).ravel()
        frame = pl.DataFrame(
            {
                "replicate": np.repeat(np.arange(1, n + 1), len(self.models)),
                "model": pl.Series(self.models * n, dtype=pl.String),
                "outcome": pl.Series(outcome).replace_strict(OUTCOMES, return_dtype=pl.String),
                **numbers,
            }
        )
        return frame.with_columns(pl.col(*numbers).fill_nan(None))

    def as_dict(self) -> dict[str, Any]:
        """The whole result as plain JSON; counts and replicates are left to their files."""
        return {
            "levels": list(self.levels),
            "models": {fit.model: plain(fit) for fit in self.fits},
            "sensitivity": plain(self.sensitivity.to_frame().to_dicts()),
            "provenance": plain(self.provenance),
        }

    def charts(self) -> dict[str, altair.LayerChart | altair.FacetChart]:
        """Success by task length, horizons, replicates and sensitivity, by file name."""
        from howsure.horizon.charts_time import draw_time

        return draw_time(self)

    def save(self, folder: Path) -> list[Path]:
        """Write time_horizons.csv and .json, task_counts.csv, sensitivity.csv and, where there are some, replicates.parquet."""
        written = [
            write_frame(self.to_frame(), folder / "time_horizons.csv"),
            write_json(self.as_dict(), folder / "time_horizons.json"),
            write_frame(self.data.counts.to_frame(), folder / "task_counts.csv"),
            write_frame(self.sensitivity.to_frame(), folder / "sensitivity.csv"),
        ]
        path = folder / "replicates.parquet"
        path.unlink(missing_ok=True)
        return written if self.drawn is None else [*written, write_frame(self.replicates(), path)]

    @classmethod
    def load(cls, folder: str | Path) -> TimeHorizons:
        """What `save` wrote to this folder."""
        from howsure.horizon.time_store import load

        return load(Path(folder))


def time_horizons(
    runs: Attempts | ModelCounts,
    *,
    success_rates: Sequence[float] = (0.5, 0.8),
    weights: str = "invsqrt",
    regularisation: float = 1e-5,
    bootstrap: int = 1000,
    resample: str = "hierarchy",
    level: float = 0.95,
    seed: int = 0,
    kinds: Sequence[str] = ("model",),
    threshold: float | None = None,
    censored: Sequence[str] = (),
    cluster: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TimeHorizons:
    r"""The expert minutes at which each model's success falls to each of `success_rates`, shares between 0 and 1.

    A logistic curve of success on log₂ minutes a model, by weighted maximum likelihood with a penalty ½·regularisation·slope². ``weights``:
    ``invsqrt`` gives a run 1/(runs of the task · √tasks of its family that the model tried), ``task`` 1/(runs of the task), ``equal`` 1; each
    model's add up to 1. Intervals are the middle of ``bootstrap`` refits. With ``resample="hierarchy"`` families, tasks in them and runs of
    those are drawn anew, which errs on the wide side; ``"families"`` draws families alone and is right where there are many.

    ``runs`` are attempts with minutes, or counts (`count_table`). Of attempts those of subjects of these ``kinds`` are taken: ``model``, ``human``. ``threshold`` is the score from which on a run is a success, where scores lie
    between 0 and 1. ``censored`` names tasks whose minutes are only a lower bound, for the sensitivity analysis; by default the longest tenth.
    """
    check_level(level)
    check_success_rates(success_rates)
    chosen = _in_per_cent(success_rates)
    counts = model_counts(runs, kinds=kinds, threshold=threshold) if isinstance(runs, Attempts) else runs
    data = timed(counts, weights=weights, regularisation=regularisation)
    curves = fit_curves(data)
    drawn = None
    if bootstrap > 0:
        drawn = draw_curves(data, curves, bootstrap, resample=resample, seed=seed, cluster=cluster, progress=progress)
    settings = {"levels": list(chosen), "weights": weights, "regularisation": regularisation, "bootstrap": bootstrap}
    settings |= {"resample": resample, "level": level, "threshold": threshold, "censored": list(censored)}
    settings |= {"kinds": list(kinds)}
    made = Provenance(settings, counts.digest, seed, (*counts.notes, *_left_out(counts, data)))
    return assemble(data, curves, drawn, made)


def assemble(data: Timed, curves: Curves, drawn: Curves | None, made: Provenance) -> TimeHorizons:
    """The result of curves and their replicates; settings and seed are those of `made`."""
    told = made.settings
    levels, level = tuple(told["levels"]), told["level"]
    middle = middle_of(level, told["resample"], _n_families(data))
    fits = tuple(_model_fit(data, curves, drawn, m, levels, level, middle) for m in range(len(data.counts.models)))
    varied = vary(data, levels, weights=told["weights"], censored=told["censored"], level=level, seed=made.seed or 0)
    notes = [note for note in _notes(data, fits, told["resample"]) if note not in made.notes]
    made = Provenance(told, made.digest, made.seed, (*made.notes, *notes), made.version)
    return TimeHorizons(fits, levels, level, data, curves, drawn, varied, made)


def _in_per_cent(rates: Sequence[float]) -> tuple[float, ...]:
    levels = [round(100 * rate, 9) for rate in dict.fromkeys(rates)]
    return tuple(int(one) if one == int(one) else one for one in levels)


def _model_fit(
    data: Timed, curves: Curves, drawn: Curves | None, model: int, levels: Sequence[float], level: float, middle: float
) -> ModelFit:
    counts, own = data.counts, curves.of(model)
    tried = counts.n[model] > 0
    outcome, n_runs = int(own.outcome), int(counts.n[model].sum())
    mine = None if drawn is None else drawn.of(model)
    has_curve = bool(np.isfinite(own.slope))
    return ModelFit(
        counts.models[model],
        {one: horizon(own, mine, data.x[tried], one, level, n_runs, middle) for one in levels},
        float(own.intercept) if has_curve else None,
        float(own.slope) if has_curve else None,
        OUTCOMES[outcome],
        float(counts.successes[model].sum() / n_runs),
        n_runs,
        int(tried.sum()),
        {}
        if mine is None
        else {name: n for kind, name in OUTCOMES.items() if (n := int((mine.outcome == kind).sum()))},
    )


def _n_families(data: Timed) -> int:
    return int(data.counts.family.max()) + 1


def _left_out(counts: ModelCounts, data: Timed) -> list[str]:
    n_tasks = len(counts.tasks) - len(data.counts.tasks)
    gone = [name for name in counts.models if name not in data.counts.models]
    told = [f"{n_tasks} tasks without minutes are left out."] if n_tasks else []
    return told + [f"{name} tried only tasks without minutes, and is left out." for name in gone]


def _notes(data: Timed, fits: Sequence[ModelFit], resample: str) -> list[str]:
    """What a reader should know of the numbers."""
    notes = []
    n_families = _n_families(data)
    if resample == "families" and n_families < _FEW_FAMILIES:
        notes.append(f"{n_families} families of tasks: intervals over so few are rather too narrow.")
    lost = {fit.model: sum(fit.outcomes.get(kind, 0) for kind in FAILED) for fit in fits}
    if any(lost.values()):
        told = ", ".join(f"{model} {n:,}" for model, n in lost.items() if n)
        n = max(sum(fit.outcomes.values()) for fit in fits)
        notes.append(
            f"Of {n:,} replicates some have no falling curve ({told}); they count beyond both ends of the interval, and with more than "
            f"{MOST_FAILED:.0%} of them there is no interval."
        )
    beyond = [f"{fit.model} at {level:g} %" for fit in fits for level, e in fit.horizons.items() if "extra" in e.reason]
    if beyond:
        notes.append(f"Extrapolated beyond the shortest or longest task: {', '.join(beyond)}.")
    return notes


def _row(fit: ModelFit, level: float, found: Estimate) -> dict[str, Any]:
    return {
        "model": fit.model,
        "level": level,
        "minutes": found.value,
        "low": found.low,
        "high": found.high,
        "state": found.state,
        "slope": fit.slope,
        "intercept": fit.intercept,
        "n_runs": fit.n_runs,
        "n_tasks": fit.n_tasks,
        "success": fit.success,
        "low_state": found.low_state,
        "high_state": found.high_state,
        "reason": found.reason,
    }


def _column(level: float) -> str:
    return f"p{level:g}"


def _in_minutes(log2_minutes: Floats) -> Floats:
    """Minutes; NaN where the crossing is none or beyond floats."""
    return np.exp2(np.where(np.isfinite(log2_minutes), log2_minutes, np.nan))
