"""Time horizons: the length of tasks, in an expert's minutes, at which a model succeeds half of the time."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.horizon.run_counts import (
    ENDINGS,
    UNKNOWN_AS,
    ModelCounts,
    check_success_rates,
    model_counts,
    with_covariates,
)
from howsure.horizon.time_horizon.curves import (
    FAILED,
    FEW_FAMILIES,
    FEWEST_FAMILIES,
    OUTCOMES,
    FamilyErrors,
    SuccessCurves,
    Timed,
    draw_curves,
    family_errors,
    family_horizon,
    fewest_families,
    fit_curves,
    horizon,
    in_minutes,
    timed,
)
from howsure.horizon.time_horizon.joint import JointDraws, draw_joint, middle_curves
from howsure.horizon.time_horizon.kernels import FITTED, NO_FAILURE, NO_SUCCESS
from howsure.horizon.time_horizon.people_times import human_times as measure_people
from howsure.horizon.time_horizon.people_times import with_human_times
from howsure.horizon.time_horizon.sensitivity import Sensitivity, vary, vary_joint
from howsure.results import Provenance, Result, columns_of, end_states
from howsure.stats._arrays import Floats, check_level
from howsure.stats.replicates import MOST_FAILED, expanded_level, replicate_interval
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = [
    "ModelFit",
    "TimeHorizons",
    "assemble",
    "domain_horizons",
    "family_notes",
    "joint_horizons",
    "lacks_families",
    "success_bins",
    "success_paths",
    "time_horizons",
]

HUMAN_TIMES = ("stated", "people")
"""Where the lengths of tasks come from: the column minutes, or the timed attempts of people."""

METHODS = ("logistic", "joint")
"""``logistic``: one curve per model, as METR fits it; ``joint``: all models and tasks at once, with effects of tasks and families."""

_POINT_DRAWS = 500  # of the joint model, where no interval is asked for
_MOST_NAMED = 6  # models in a note
_SHARES = ("share_below", "share_above", "share_failed")


@dataclass(frozen=True)
class ModelFit:
    """One model's curve and its horizon at each success rate.

    ``success`` is the share of successful runs, ``outcomes`` the number of replicates by outcome (see `time_states.OUTCOMES`). ``intercept`` and
    ``slope`` are None where there is no curve; ``effective_families`` (`FamilyErrors`) is None where the interval does not depend on it.
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
    effective_families: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeHorizons(Result):
    """Time horizons of models, with intervals over families, tasks and runs.

    Parameters
    ----------
    fits : tuple[ModelFit, ...]
        One entry per model.
    success_rates : tuple[float, ...]
        Success rates at which horizons are read, between 0 and 1.
    level : float
        Coverage of the intervals, between 0 and 1.
    data : Timed
        Successes per model and task, with minutes and weights.
    curves : SuccessCurves
        The fitted curves.
    drawn : SuccessCurves | None
        The curves of the bootstrap replicates; None without replicates.
    sensitivity : Sensitivity
        How noise in the minutes, censored minutes, regularisation and weights change the horizons.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    joint : JointDraws | None
        Draws from the joint model of all models and tasks; None where each model has a logistic curve of its own.
    beside : pl.DataFrame | None
        Horizons of the joint model for the models whose logistic curve has no interval, because fewer than 4 effective families determine it; None where there is no such model.
    """

    name: ClassVar[str] = "time_horizons"

    fits: tuple[ModelFit, ...]
    success_rates: tuple[float, ...]
    level: float
    data: Timed
    curves: SuccessCurves
    drawn: SuccessCurves | None
    sensitivity: Sensitivity
    provenance: Provenance
    joint: JointDraws | None = None
    beside: pl.DataFrame | None = None

    @property
    def models(self) -> tuple[str, ...]:
        """In the order of `curves`."""
        return self.data.counts.models

    @property
    def ranked(self) -> tuple[ModelFit, ...]:
        """Models by their first horizon, the longest first; those without one last."""
        place = np.nan_to_num(
            self.curves.log2_minutes(self.success_rates[0]), nan=-np.inf, posinf=np.inf, neginf=-np.inf
        )
        return tuple(self.fits[m] for m in np.argsort(-place, kind="stable"))

    @property
    def is_over_families(self) -> bool:
        """Whether intervals come from the families of tasks (`FamilyErrors`), and not from replicates or draws."""
        return self.joint is None and self.provenance.settings["resample"] == "families"

    @cached_property
    def errors(self) -> tuple[FamilyErrors | None, ...]:
        """What the intervals of each model are made of, where they come from families; None without a falling curve."""
        n = len(self.models)
        return tuple(family_errors(self.data, m) for m in range(n)) if self.is_over_families else (None,) * n

    def df(self, *models: str) -> float:
        """Degrees of freedom of the replicates: families less 1, of the named model that tried fewest; infinite where replicates are draws from a posterior or count noise twice."""
        return max(fewest_families(self.data.counts, models) - 1, 1) if self.is_over_families else math.inf

    def share_inside(self, *models: str) -> float:
        """The share of replicates that intervals contain."""
        return expanded_level(self.level, self.df(*models))

    def minutes(self, model: str, success_rate: float = 0.5) -> Estimate:
        """A model's horizon.

        Parameters
        ----------
        model : str
            Its name.
        success_rate : float
            One of `success_rates`, between 0 and 1.
        """
        fit = self.fits[self.data.counts.index(model)]
        if success_rate not in fit.horizons:
            raise OptionError.unknown("success rate", f"{success_rate:g}", [f"{one:g}" for one in self.success_rates])
        return fit.horizons[success_rate]

    def typical(self, model: str, success_rate: float = 0.5) -> Estimate:
        """A model's horizon at a task of typical difficulty, by the joint model.

        Parameters
        ----------
        model : str
            Its name.
        success_rate : float
            Between 0 and 1.
        """
        if self.joint is None:
            raise OptionError("Typical horizons need the joint model: method='joint'.")
        m = self.data.counts.index(model)
        own, drawn = self.joint.middle.typical.of(m), self.joint.curves.typical.of(m)
        tried = self.data.x[self.data.counts.n[m] > 0]
        return horizon(own, drawn, tried, success_rate, self.level, self.fits[m].n_runs)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``time_horizons`` (one row per model and success rate), ``sensitivity``, and ``task_counts`` (what was fitted).

        ``joint_horizons`` has the horizons of the joint model, for models whose own curve has no interval because too few families determine it. ``domains`` has the horizons by domain. The joint model adds ``typical`` (horizons at a task of typical difficulty, and ceilings) ``spreads`` (how much tasks differ) and, where asked for, ``covariates`` (what one unit of each adds to the
        log-odds, and how many doublings of a task's length are worth as much).
        ``bounds`` has, where runs are censored, the shortest and the longest horizon that any of their outcomes would give, without sampling error; none where that side is open.
        ``share_below``, ``share_above`` and ``share_failed`` are shares of the replicates: without success, without failure, and without a falling curve.
        """
        rows = [
            _row(fit, rate, found) | self._shares(m, rate)
            for m, fit in enumerate(self.fits)
            for rate, found in fit.horizons.items()
        ]
        kinds = dict.fromkeys(
            ("minutes", "minutes_low", "minutes_high", "slope", "intercept", "effective_families", *_SHARES), pl.Float64
        )
        return {
            "time_horizons": pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None),
            **({} if self.beside is None else {"joint_horizons": self.beside}),
            **self.sensitivity.tables,
            **({} if self.joint is None else _joint_tables(self)),
            **self._by_domain(),
            **self._bounds(),
            "task_counts": self.data.counts.to_frame(),
        }

    def _by_domain(self) -> dict[str, pl.DataFrame]:
        """``domains``: the horizons on the tasks of each domain, where tasks have at least two."""
        named = self.data.counts.tasks["domain"]
        domains = named.drop_nulls().unique().sort().to_list()
        if len(domains) < 2:
            return {}
        rows = []
        for domain in domains:
            if self.joint is not None and domain in self.joint.domains:
                of_model = dict(enumerate(self.models))
                drawn = self.joint.of_domain(domain)
                own, data = middle_curves(drawn), self.data
            else:
                data = _domain_data(self, domain)
                own, drawn, of_model = fit_curves(data), None, dict(enumerate(data.counts.models))
            for m, model in of_model.items():
                n = data.counts.n[m]
                errors = family_errors(data, m) if drawn is None else None
                for rate in self.success_rates:
                    if drawn is None:
                        found, _, _ = family_horizon(data, own.of(m), m, rate, self.level, errors)
                    else:
                        found = horizon(own.of(m), drawn.of(m), data.x[n > 0], rate, self.level, int(n.sum()))
                    rows.append(
                        {"domain": domain, "model": model, "success_rate": rate}
                        | columns_of(minutes=found)
                        | end_states(minutes=found)
                        | {"n_runs": int(n.sum())}
                    )
        kinds = dict.fromkeys(("minutes", "minutes_low", "minutes_high"), pl.Float64)
        return {"domains": pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)}

    def _bounds(self) -> dict[str, pl.DataFrame]:
        """``bounds``: what the unknown outcomes of censored runs could make of each horizon, where runs are censored."""
        unknown, n = self.data.counts.unknown, self.data.counts.n
        if unknown is None:
            return {}
        rows = []
        for m, fit in enumerate(self.fits):
            for rate in fit.horizons:
                _, least, most = family_horizon(self.data, self.curves.of(m), m, rate, self.level, self.errors[m])
                share = float((unknown[m] * n[m]).sum() / n[m].sum())
                rows.append(
                    {"model": fit.model, "success_rate": rate, "share_unknown": share}
                    | {"minutes_least": least, "minutes_most": most}
                )
        kinds = dict.fromkeys(("share_unknown", "minutes_least", "minutes_most"), pl.Float64)
        return {"bounds": pl.DataFrame(rows, schema_overrides=kinds)}

    def _shares(self, model: int, success_rate: float) -> dict[str, float | None]:
        """The shares of replicates below the range, above it, and failed."""
        if self.drawn is None:
            return dict.fromkeys(_SHARES)
        return {**replicate_interval(self.drawn.of(model).log2_minutes(success_rate), self.level).shares()}

    def replicates(self) -> pl.DataFrame:
        """One row per replicate and model: replicate, model, outcome, intercept, slope, and minutes at each success rate (p50, …)."""
        drawn = self.curves if self.drawn is None else self.drawn
        n = 0 if self.drawn is None else len(drawn.slope)
        shape = (n, len(self.models))
        columns = {"intercept": drawn.intercept, "slope": drawn.slope}
        columns |= {_column(rate): in_minutes(drawn.log2_minutes(rate)) for rate in self.success_rates}
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
        """The result as plain JSON; counts and replicates are left to their files."""
        return {name: value for name, value in super().as_dict().items() if name != "task_counts"}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.horizon.time_horizon.sections import time_sections

        return time_sections(self)

    def charts(self) -> dict[str, Chart]:
        """Success by task length, horizons, replicates and sensitivity, by file name."""
        from howsure.horizon.time_horizon.charts import draw_time

        return draw_time(self)

    def more_files(self) -> dict[str, pl.DataFrame | None]:
        """The replicates, where there are some."""
        return {"replicates.parquet": None if self.drawn is None else self.replicates()}


@checked
def time_horizons(
    runs: Attempts | ModelCounts | Source,
    *,
    success_rates: Sequence[float] = (0.5, 0.8),
    method: str = "logistic",
    minutes_noise: float | None = None,
    estimate_noise: float | None = None,
    human_times: str = "stated",
    has_ceiling: bool = False,
    covariates: Sequence[str] = (),
    limits: str = "scored",
    errors: str = "scored",
    flags: str = "scored",
    minutes_policy: str = "median",
    weights: str = "invsqrt",
    regularisation: float = 1e-5,
    n_replicates: int = 1000,
    resample: str = "families",
    level: float = 0.95,
    seed: int = 0,
    kinds: Sequence[str] = ("model",),
    threshold: float | None = None,
    censored: Sequence[str] = (),
    has_sensitivity: bool = True,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TimeHorizons:
    r"""The length of tasks, in expert minutes, at which each model's success falls to each of `success_rates`.

    ``logistic``: one curve of success on log₂ minutes per model, by weighted maximum likelihood with a penalty ½·regularisation·slope²;
    an interval has the lengths at which a test over families of tasks does not reject the success rate (`FamilyErrors.ends`). ``joint``: all models and tasks at once, with an effect of each task and family and human
    times that may be measured with error; intervals are quantiles of the posterior, and horizons are averages over tasks.

    Parameters
    ----------
    runs : Attempts, ModelCounts or frame
        Attempts with minutes (also as a polars or pandas frame), or counts (`count_table`).
    success_rates : sequence of float
        Shares between 0 and 1.
    method : str
        ``logistic`` or ``joint``.
    minutes_noise : float, optional
        Standard deviation of the measured human times around the true ones, in doublings. Repeated baselines of a task
        show it; without them it cannot be estimated, and horizons at 0, ½ and 1 are compared in ``sensitivity``.
    estimate_noise : float, optional
        The same for tasks whose time was estimated and not measured (``human_source`` says estimate).
    human_times : str
        ``stated``: the column minutes; ``people``: the times of people in the same table (kind human, seconds), whose spread gives the error of each task's time.
    has_ceiling : bool
        Each model's success at the shortest tasks may stay below 1 (``joint``).
    covariates : sequence of str
        Columns that describe tasks by a number, such as ``messiness``: the ``joint`` model estimates the effect of each.
    limits : str
        What a run that was cut at a limit of time, tokens or cost counts as: its score (``scored``, mostly a failure), nothing (``drop``), a
        success (``success``), or an unknown outcome (``censored``, ``bounds``). The weight of a run with unknown outcome goes to the runs of the same model and task that spent more, where the
        runs say what they spent. What remains counts, with ``censored``, as runs at tasks of that length whose outcome is known, and the interval includes that it all failed; with ``bounds``, as failure, and
        the interval includes every outcome that it could have had. ``sensitivity`` shows the others.
    errors : str
        Runs that an error ended: ``scored`` or ``drop``.
    flags : str
        Runs that a reviewer or a monitor flagged: ``scored``, ``drop`` or ``failure``.
    minutes_policy : str
        Where the rows of a task disagree on its minutes: ``median``, ``first`` or ``geometric-mean``.
    weights : str
        ``invsqrt`` gives a run 1/(runs of the task · √tasks of its family that the model tried), ``task`` 1/(runs of the task), ``equal``
        1; the weights of each model add up to 1.
    regularisation : float
        The penalty on the squared slope.
    n_replicates : int
        Bootstrap replicates, over which models are compared; the draws of the ``joint`` model, where 0 gives no intervals.
    resample : str
        ``families``: replicates resample families of tasks, and the intervals of horizons are those of the test. ``hierarchy``: replicates resample
        families, tasks in them and runs of those as METR does, and intervals are their percentiles, which are too wide.
    level : float
        Coverage of the intervals.
    seed : int
        Of the replicates.
    kinds : sequence of str
        Subjects of these kinds are included: ``model``, ``human``.
    threshold : float, optional
        The score from which a run is a success, where scores lie between 0 and 1.
    censored : sequence of str
        Tasks whose minutes are only a lower bound, for the sensitivity analysis; by default the longest tenth.
    has_sensitivity : bool
        Also refit under other settings.
    scheduler : str, optional
        A Dask scheduler, such as ``tcp://host:8786``.
    progress : callable, optional
        Called with the number of replicates that are done and their total.
    """
    check_level(level)
    check_success_rates(success_rates)
    _check_method(method, limits=limits, resample=resample, covariates=covariates, has_ceiling=has_ceiling)
    reading: dict[str, Any] = {
        "kinds": kinds,
        "threshold": threshold,
        "limits": limits,
        "errors": errors,
        "flags": flags,
        "minutes": minutes_policy,
    }
    if isinstance(runs, ModelCounts):
        attempts, counts = None, runs
    else:
        attempts = Attempts.of(runs).counted
        counts = model_counts(attempts, **reading)
    others = {} if attempts is None or not has_sensitivity else _other_endings(attempts, reading)
    if covariates:
        counts = with_covariates(counts, attempts, covariates)
    counts, noise, said = _lengths(attempts, counts, human_times, minutes_noise, estimate_noise)
    unknown_as = UNKNOWN_AS.get(limits, "failure")
    data = timed(counts, weights=weights, regularisation=regularisation, noise=noise, unknown_as=unknown_as)
    computing: dict[str, Any] = {"seed": seed, "scheduler": scheduler, "progress": progress}
    joint, drawn = None, None
    if method == "joint":
        n_draws = n_replicates or _POINT_DRAWS
        joint = draw_joint(data, n_draws, has_ceiling=has_ceiling, covariates=covariates, **computing)
        curves, drawn = joint.middle, joint.curves if n_replicates else None
    else:
        curves = fit_curves(data)
        drawn = draw_curves(data, curves, n_replicates, resample=resample, **computing) if n_replicates else None
    of_people = None if data.noise is None or human_times == "stated" else float(np.sqrt((data.noise**2).mean()))
    settings = {
        "success_rates": list(dict.fromkeys(success_rates)),
        "method": method,
        "minutes_noise": minutes_noise if of_people is None else of_people,
        "estimate_noise": estimate_noise,
        "human_times": human_times,
        "has_ceiling": has_ceiling,
        "covariates": list(covariates),
        "limits": limits,
        "errors": errors,
        "flags": flags,
        "minutes_policy": minutes_policy,
        "weights": weights,
        "regularisation": regularisation,
        "n_replicates": n_replicates,
        "resample": resample,
        "level": level,
        "threshold": threshold,
        "censored": list(censored),
        "kinds": list(kinds),
    }
    made = Provenance(settings, counts.digest, seed, (*counts.notes, *said, *_left_out(counts, data)))
    found = assemble(data, curves, drawn, made, joint, others, has_sensitivity=has_sensitivity)
    few = [m for m, fit in enumerate(found.fits) if lacks_families(fit.effective_families)]
    if not few or data.cut is not None:
        return found
    return replace(found, beside=joint_horizons(data, few, found.success_rates, level, seed))


def lacks_families(n_effective: float | None) -> bool:
    """Whether too few families determine a curve for an interval."""
    return n_effective is not None and n_effective < FEWEST_FAMILIES


def joint_horizons(
    data: Timed, models: Sequence[int], success_rates: Sequence[float], level: float, seed: int
) -> pl.DataFrame:
    """The horizons of some models by the joint model of all: model, success_rate and minutes with their interval."""
    drawn = draw_joint(data, _POINT_DRAWS, seed=seed).curves
    own = middle_curves(drawn)
    rows = []
    for m in models:
        n = data.counts.n[m]
        for rate in success_rates:
            found = horizon(own.of(m), drawn.of(m), data.x[n > 0], rate, level, int(n.sum()))
            rows.append(
                {"model": data.counts.models[m], "success_rate": rate}
                | columns_of(minutes=found)
                | end_states(minutes=found)
            )
    kinds = dict.fromkeys(("minutes", "minutes_low", "minutes_high"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)


def _check_method(method: str, *, limits: str, resample: str, covariates: Sequence[str], has_ceiling: bool) -> None:
    """Refuse an unknown method, and what only the other method can do."""
    if method not in METHODS:
        raise OptionError.unknown("method", method, METHODS)
    if limits in UNKNOWN_AS and (method != "logistic" or resample != "families"):
        raise OptionError(f"limits {limits} needs logistic curves: --method logistic and --resample families.")
    if method == "logistic" and covariates:
        raise OptionError("Covariates of tasks need the joint model. Ask for --method joint.")
    if method == "logistic" and has_ceiling:
        raise OptionError("A ceiling needs the joint model. Ask for --method joint.")


def _domain_data(found: TimeHorizons, domain: str) -> Timed:
    """The runs at the tasks of one domain."""
    chosen = (found.data.counts.tasks["domain"] == domain).fill_null(False).to_numpy()
    settings = found.provenance.settings
    return timed(
        found.data.counts.of_tasks(chosen),
        weights=settings["weights"],
        regularisation=settings["regularisation"],
        noise=0.0 if found.data.noise is None else found.data.noise[chosen],
        unknown_as=found.data.unknown_as,
    )


def domain_horizons(found: TimeHorizons, domain: str) -> TimeHorizons:
    """The horizons on the tasks of one domain alone, with as many replicates as there are of all tasks; of logistic curves.

    Parameters
    ----------
    found : TimeHorizons
        The horizons on all tasks.
    domain : str
        One of the domains of its tasks.
    """
    data, made = _domain_data(found, domain), found.provenance
    curves = fit_curves(data)
    n = made.settings["n_replicates"] if found.drawn is not None else 0
    drawn = (
        draw_curves(data, curves, n, resample=made.settings["resample"], seed=(made.seed or 0) + _domain_seed(domain))
        if n
        else None
    )
    return assemble(data, curves, drawn, replace(made, notes=()), has_sensitivity=False)


def _domain_seed(domain: str) -> int:
    """Another seed for each domain, so that replicates of two domains are independent."""
    return zlib.crc32(domain.encode())


def _lengths(
    attempts: Attempts | None, counts: ModelCounts, source: str, noise: float | None, estimate_noise: float | None
) -> tuple[ModelCounts, Floats, list[str]]:
    """The counts with the lengths that were asked for, the error of each length in doublings, and notes."""
    if source not in HUMAN_TIMES:
        raise OptionError.unknown("source of human times", source, HUMAN_TIMES)
    each, said = np.full(len(counts.tasks), noise or 0.0), list[str]()
    if attempts is not None and source == "people":
        counts, each, said = with_human_times(counts, measure_people(attempts), noise)
    if estimate_noise is not None:
        if attempts is None or not attempts.has("human_source"):
            raise OptionError("estimate_noise needs the column human_source, which says which times are estimates.")
        is_estimate = pl.col("human_source").cast(pl.String).str.to_lowercase().str.contains("estimate")
        names = attempts.lazy.filter(is_estimate).select(pl.col("task").unique()).collect()["task"].to_list()
        chosen = counts.tasks["task"].is_in(names).to_numpy()
        each = np.where(chosen, estimate_noise, each)
        said.append(
            f"The human times of {int(chosen.sum()):,} tasks are estimates, with an error of {estimate_noise:g} doublings."
        )
    return counts, each, said


def _other_endings(attempts: Attempts, reading: Mapping[str, Any]) -> dict[tuple[str, str], ModelCounts]:
    """The counts if runs that were cut, ended by an error or flagged counted otherwise, where there are such runs."""
    others: dict[tuple[str, str], ModelCounts] = {}
    for policy, column in (("limits", "limit"), ("errors", "error"), ("flags", "flag")):
        if attempts.has(column) and attempts.lazy.select(pl.col(column).is_not_null().any()).collect().item():
            others |= {
                (policy, way): model_counts(attempts, **{**reading, policy: way})
                for way in ENDINGS[policy]
                if way not in (reading[policy], "bounds")  # whose estimate counts unknown outcomes as failures
            }
    return others


def assemble(
    data: Timed,
    curves: SuccessCurves,
    drawn: SuccessCurves | None,
    provenance: Provenance,
    joint: JointDraws | None = None,
    others: Mapping[tuple[str, str], ModelCounts] | None = None,
    *,
    has_sensitivity: bool = True,
) -> TimeHorizons:
    """The result of curves and their replicates; settings and seed are those of `provenance`; `others` are counts under other policies."""
    settings = provenance.settings
    rates, level = tuple(settings["success_rates"]), settings["level"]
    is_over_families = joint is None and settings["resample"] == "families"
    fits = tuple(
        _model_fit(data, curves, drawn, m, rates, level, is_over_families=is_over_families)
        for m in range(len(data.counts.models))
    )
    seed = provenance.seed or 0
    if not has_sensitivity:
        varied = Sensitivity(rows=(), censored=(), provenance=Provenance({}, data.counts.digest))
    elif joint is None:
        noise = settings["minutes_noise"] or 0.0
        varied = vary(
            data, rates, weights=settings["weights"], noise=noise, censored=settings["censored"], others=others or {}
        )
    else:
        varied = vary_joint(
            data, curves, rates, noise=settings["minutes_noise"], has_ceiling=settings["has_ceiling"],
            covariates=settings.get("covariates", ()), seed=seed,
        )  # fmt: skip
    return TimeHorizons(
        fits=fits,
        success_rates=rates,
        level=level,
        data=data,
        curves=curves,
        drawn=drawn,
        sensitivity=varied,
        provenance=replace(provenance, notes=(*provenance.notes, *_notes(data, fits, settings))),
        joint=joint,
    )


def _model_fit(
    data: Timed,
    curves: SuccessCurves,
    drawn: SuccessCurves | None,
    model: int,
    success_rates: Sequence[float],
    level: float,
    *,
    is_over_families: bool,
) -> ModelFit:
    counts, own = data.counts, curves.of(model)
    tried = counts.n[model] > 0
    outcome, n_runs = int(own.outcome), int(counts.n[model].sum())
    mine = None if drawn is None else drawn.of(model)
    has_curve = bool(np.isfinite(own.slope))
    errors = family_errors(data, model) if is_over_families else None
    horizons = {
        rate: family_horizon(data, own, model, rate, level, errors)[0]
        if is_over_families
        else horizon(own, mine, data.x[tried], rate, level, n_runs)
        for rate in success_rates
    }
    return ModelFit(
        counts.models[model],
        horizons,
        float(own.intercept) if has_curve else None,
        float(own.slope) if has_curve else None,
        OUTCOMES[outcome],
        float(counts.successes[model].sum() / n_runs),
        n_runs,
        int(tried.sum()),
        {}
        if mine is None
        else {name: n for kind, name in OUTCOMES.items() if (n := int((mine.outcome == kind).sum()))},
        None if errors is None or errors.signs is not None else errors.n_effective,
    )


def _left_out(counts: ModelCounts, data: Timed) -> list[str]:
    n_tasks = len(counts.tasks) - len(data.counts.tasks)
    gone = [name for name in counts.models if name not in data.counts.models]
    told = [f"{n_tasks} tasks without minutes are excluded."] if n_tasks else []
    return told + [f"{name} tried only tasks without minutes and is excluded." for name in gone]


def _notes(data: Timed, fits: Sequence[ModelFit], settings: Mapping[str, Any]) -> list[str]:
    """What a reader should know of the numbers."""
    notes = []
    if settings["minutes_noise"] is None:
        notes.append(
            "The error of the human times is not known and is assumed to be 0. Horizons change with it (see sensitivity); state it with --minutes-noise, in "
            "doublings."
        )
    n_effective = {fit.model: fit.effective_families for fit in fits if fit.effective_families is not None}
    notes += family_notes(n_effective, has_joint=data.cut is None)
    if data.cut is not None and settings["n_replicates"]:
        notes.append(
            "Unknown outcomes widen the intervals of horizons only; replicates, and so ratios and trends, take them as the estimates do."
        )
    lost = {fit.model: sum(fit.outcomes.get(kind, 0) for kind in FAILED) for fit in fits}
    if any(lost.values()):
        told = ", ".join(f"{model} {n:,}" for model, n in lost.items() if n)
        n = max(sum(fit.outcomes.values()) for fit in fits)
        notes.append(
            f"Of {n:,} replicates some have no falling curve ({told}); they count beyond both ends of an interval over replicates, and with more "
            f"than {MOST_FAILED:.0%} of them there is none."
        )
    beyond = [f"{fit.model} at {rate:.3g}" for fit in fits for rate, e in fit.horizons.items() if "extra" in e.reason]
    if beyond:
        notes.append(f"Extrapolated beyond the shortest or longest task: {', '.join(beyond)}.")
    return notes


def family_notes(n_effective: Mapping[str, float], *, has_joint: bool) -> list[str]:
    """Which curves few or too few effective families determine."""

    def listed(low: float, high: float) -> str:
        some = [f"{name} ({n:.3g})" for name, n in n_effective.items() if low <= n < high]
        return ", ".join(some[:_MOST_NAMED]) + (
            f" and {len(some) - _MOST_NAMED} more" if len(some) > _MOST_NAMED else ""
        )

    notes = []
    if without := listed(0, FEWEST_FAMILIES):
        joint = (
            "The table joint_horizons has these horizons by the joint model, which shares tasks and slopes among all models."
            if has_joint
            else "The joint model has intervals where no outcomes are unknown: --method joint --limits scored."
        )
        notes.append(
            f"No interval, because fewer than {FEWEST_FAMILIES} effective families of tasks determine the curve: {without}. {joint}"
        )
    if few := listed(FEWEST_FAMILIES, FEW_FAMILIES):
        notes.append(
            f"Fewer than {FEW_FAMILIES} effective families of tasks determine the curves of {few}. With so few, intervals are wide and often have an open end."
        )
    return notes


def _row(fit: ModelFit, success_rate: float, found: Estimate) -> dict[str, Any]:
    return {
        "model": fit.model,
        "success_rate": success_rate,
        **columns_of(minutes=found),
        "slope": fit.slope,
        "intercept": fit.intercept,
        "n_runs": fit.n_runs,
        "n_tasks": fit.n_tasks,
        "success": fit.success,
        **end_states(minutes=found),
        "reason": found.reason,
        "effective_families": fit.effective_families,
    }


def _joint_tables(found: TimeHorizons) -> dict[str, pl.DataFrame]:
    """Horizons at a task of typical difficulty with the ceilings, and how much tasks, families and cells differ."""
    assert found.joint is not None
    rows = []
    for m, model in enumerate(found.models):
        ceiling = found.joint.curves.of(m).ceiling
        top = (
            {}
            if ceiling is None
            else columns_of(ceiling=replicate_interval(ceiling, found.level).estimate(float(np.median(ceiling))))
        )
        rows += [
            {"model": model, "success_rate": rate} | columns_of(typical=found.typical(model, rate)) | top
            for rate in found.success_rates
        ]
    spreads = [
        {"effect": name}
        | columns_of(spread=replicate_interval(draws, found.level).estimate(float(np.median(draws)), level=found.level))
        for name, draws in zip(("task", "family", "model at task"), found.joint.spreads.T, strict=True)
        if draws.any()
    ]
    tables = {
        "typical": pl.DataFrame(rows, infer_schema_length=None),
        "spreads": pl.DataFrame(spreads, infer_schema_length=None),
    }
    if found.joint.covariate is not None:
        slope = found.joint.curves.slope.mean(axis=1)
        effects = []
        for name, draws in zip(found.joint.covariates, found.joint.covariate.T, strict=True):
            columns = {
                "log_odds": draws,
                "doublings": draws / slope,
            }  # a slope below 0: what makes a task harder is worth a longer task
            effects.append(
                {"covariate": name}
                | columns_of(
                    **{
                        column: replicate_interval(each, found.level).estimate(
                            float(np.median(each)), level=found.level
                        )
                        for column, each in columns.items()
                    }
                )
                | {"mean": found.data.counts.tasks[name].mean(), "sd": found.data.counts.tasks[name].std(ddof=0)}
            )
        tables["covariates"] = pl.DataFrame(effects, infer_schema_length=None)
    return tables


def _column(success_rate: float) -> str:
    return f"p{100 * success_rate:g}"


# Success along the length of tasks: each model's curve with its band, and what was seen in steps of length.


_STEPS = 40
_RATES = 25  # success rates at which the band of a curve is computed, between which it is interpolated
_FAR = 1e6  # doublings, where an end is open


def success_paths(found: TimeHorizons) -> pl.DataFrame:
    """Each fitted curve over the lengths of all tasks: model, minutes, success, low, high.

    The band belongs to the intervals of horizons: at each length it has the success rates whose horizon's interval contains this length. Where intervals are
    those of replicates, it is the middle of the replicates' curves.
    """
    x = np.linspace(found.data.x.min(), found.data.x.max(), _STEPS)
    rows = [_path(found, m, x) for m in range(len(found.models)) if found.curves.outcome[m] == FITTED]
    kinds = {"model": pl.String, **dict.fromkeys(("minutes", "success", "low", "high"), pl.Float64)}
    return pl.concat([pl.DataFrame(schema=kinds), *rows])


def success_bins(found: TimeHorizons, doublings: float = 1.5) -> pl.DataFrame:
    """Weighted success of each model in steps of length: model, minutes (the mean length of its tasks), success, n_runs, n_tasks."""
    data, n = found.data, found.data.counts.n
    step = np.floor((data.x - data.x.min()) / doublings).astype(np.int64)
    member = np.eye(step.max() + 1)[step]
    weight, good = data.weight @ member, (data.weight * data.rates) @ member
    m, b = np.nonzero(weight)
    return pl.DataFrame(
        {
            "model": pl.Series(found.models, dtype=pl.String)[m],
            "minutes": np.exp2(((data.weight * data.x) @ member)[m, b] / weight[m, b]),
            "success": good[m, b] / weight[m, b],
            "n_runs": (n @ member).astype(np.int64)[m, b],
            "n_tasks": ((n > 0) @ member).astype(np.int64)[m, b],
        }
    )


def _path(found: TimeHorizons, model: int, x: Floats) -> pl.DataFrame:
    own = found.curves.of(model)
    low, high = np.full((2, len(x)), np.nan)
    if found.is_over_families:
        x, low, high = _band(found, model, x)
    elif found.drawn is not None:
        drawn = found.drawn.of(model)
        paths = drawn.success(x)
        paths[drawn.outcome == NO_SUCCESS], paths[drawn.outcome == NO_FAILURE] = 0, 1
        band = replicate_interval(paths, found.level)
        low, high = np.clip(band.low, 0, 1), np.clip(band.high, 0, 1)  # success that may be anything is 0 to 1
    columns = {"minutes": np.exp2(x), "success": own.success(x), "low": low, "high": high}
    frame = pl.DataFrame({"model": pl.Series([found.models[model]] * len(x)), **columns})
    return frame.with_columns(pl.col("low", "high").fill_nan(None))


def _band(found: TimeHorizons, model: int, x: Floats) -> tuple[Floats, Floats, Floats]:
    """Lengths, with the ends of intervals of the reported horizons among them, and at each the least and greatest success rate whose interval contains it."""
    rates = np.union1d(np.linspace(0.02, 0.98, _RATES), found.success_rates)
    own, errors = found.curves.of(model), found.errors[model]
    estimates = [family_horizon(found.data, own, model, rate, found.level, errors)[0] for rate in rates.tolist()]
    if "too_few" in {estimate.low_state for estimate in estimates}:
        return x, np.full(len(x), np.nan), np.full(len(x), np.nan)
    low, high = (
        np.array([sign * _FAR if end is None else math.log2(end) for end in ends])
        for sign, ends in ((-1, [e.low for e in estimates]), (1, [e.high for e in estimates]))
    )
    reported = np.isin(rates, found.success_rates)
    ends = np.concatenate([low[reported], high[reported]])
    x = np.union1d(x, ends[(ends > x.min()) & (ends < x.max())])
    # a higher success rate never has a longer horizon
    low, high = np.minimum.accumulate(low), np.maximum.accumulate(high[::-1])[::-1]
    return (
        x,
        np.interp(x, low[::-1], rates[::-1], left=1.0, right=0.0),
        np.interp(x, high[::-1], rates[::-1], left=1.0, right=0.0),
    )
