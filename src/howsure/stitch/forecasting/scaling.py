"""How much of the progress is more compute, and how much is better use of it."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from howsure.arguments import checked
from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Bools, Floats, Ints, check_level, codes, normal_quantile, t_quantile
from howsure.stitch.cleaning import listed
from howsure.stitch.forecasting.frontier import DAYS_A_YEAR, Dated
from howsure.stitch.model.problem import family_of
from howsure.stitch.scale import Scale
from howsure.tables import Scores
from howsure.tables.frames import parts_of

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = [
    "QUANTITIES",
    "Coefficients",
    "Computed",
    "Progress",
    "ProgressRate",
    "as_published",
    "calendar_years",
    "explained",
    "jointly",
    "progress",
    "ratio",
    "refuse_too_little",
    "separate",
    "size_families",
    "two_stages",
]

QUANTITIES = {
    "per_oom": "capability for ten times the compute",
    "per_year": "capability per year at the same compute",
    "per_year_by_compute": "capability per year from growing compute",
    "oom_per_year": "orders of magnitude of compute saved per year",
    "years_per_oom": "years in which better algorithms replace ten times the compute",
}
_LEVELS = (0.25, 0.5, 0.75)  # of the capabilities, as shares of models below
_SHOWN_BEYOND = 0.5  # orders of magnitude beyond the compute that was seen
_STEPS = 24
_MOST_YEARS = 4  # lines of the scaling relation
_EPOCH_NAMES = {"model": "Model version", "compute": "Training compute (FLOP)"}


@dataclass(frozen=True)
class ProgressRate:
    """One number of progress: what it is (see `QUANTITIES`), and by which method."""

    method: str
    quantity: str
    estimate: Estimate


@dataclass(frozen=True, eq=False, kw_only=True)
class Progress(Result):
    """Progress from compute and from algorithms, separated.

    Parameters
    ----------
    models : pl.DataFrame
        The models that were used.
    rates : tuple[ProgressRate, ...]
        The estimates, by method.
    needed : pl.DataFrame
        Compute needed for fixed capabilities over time.
    cheapest : pl.DataFrame
        Models that needed the least compute so far.
    fixed : pl.DataFrame
        Capability at fixed compute over time.
    gains : pl.DataFrame
        Its slope within each order of magnitude of compute.
    scaling : pl.DataFrame
        Capability over compute at the middle of some years: the scaling relation.
    r2 : float
        Share of variance explained.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "progress"

    models: pl.DataFrame
    rates: tuple[ProgressRate, ...]
    needed: pl.DataFrame
    cheapest: pl.DataFrame
    fixed: pl.DataFrame
    gains: pl.DataFrame
    scaling: pl.DataFrame
    r2: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The rates by method (main), the models, compute for fixed capability, cheapest models, capability at fixed compute, gains within brackets."""
        rows = [
            {"method": rate.method, "quantity": rate.quantity, "meaning": QUANTITIES[rate.quantity]}
            | columns_of(value=rate.estimate)
            | {"reason": rate.estimate.reason}
            for rate in self.rates
        ]
        return {
            "progress": pl.DataFrame(rows, infer_schema_length=None),
            "progress_models": self.models,
            "compute_needed": self.needed,
            "cheapest": self.cheapest,
            "fixed_compute": self.fixed,
            "gains": self.gains,
            "scaling": self.scaling,
        }

    def rate(self, quantity: str, method: str = "joint") -> Estimate:
        """One of the numbers."""
        return next(rate.estimate for rate in self.rates if (rate.method, rate.quantity) == (method, quantity))

    def as_dict(self) -> dict[str, Any]:
        """The number of models, R², the tables and the provenance as plain JSON."""
        return {"n_models": len(self.models), "r2": self.r2, **super().as_dict()}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import progress_section

        return [progress_section(self)]

    def charts(self) -> dict[str, Chart]:
        """The scaling relation, compute for fixed capability, and capability at fixed compute, by file name."""
        from howsure.stitch.forecasting.charts import draw_efficiency, draw_gains, draw_scaling

        return {"scaling": draw_scaling(self), "efficiency": draw_efficiency(self), "gains": draw_gains(self)}


@checked
def progress(
    scale: Scale | str | os.PathLike[str],
    compute: Source | Mapping[str, float] | None = None,
    *,
    exclude: Collection[str] = (),
    keep_distilled: bool = False,
    level: float = 0.95,
) -> Progress:
    r"""Progress from compute and from algorithms, separated.

    .. math:: C_i = a + k \log_{10} F_i + g\, t_i + e_i

    k is the gain from ten times the compute, g the gain per year at the same compute, g/k the orders of magnitude of compute saved per year.

    Parameters
    ----------
    scale : Scale or path
        The capability scale.
    compute : Source | Mapping[str, float] | None
        Mapping, frame or file with the columns model, compute (FLOP) and, if known, family (models of one training recipe at different sizes); by default the scores' own column.
    exclude : Collection[str]
        Models to exclude.
    keep_distilled : bool
        Whether to include distilled models, whose compute hides that of their teacher.
    level : float
        Coverage of the intervals, between 0 and 1.
    """
    scale = Scale.loaded(scale)
    check_level(level)
    distilled = frozenset[str]() if keep_distilled else scale.problem.distilled
    data = _collect(scale, compute, {*exclude, *distilled})
    notes = (*scale.provenance.notes, *_notes(scale, data, distilled))
    settings = {
        "level": level,
        "exclude": sorted(exclude),
        "keep_distilled": keep_distilled,
        "scale": scale.provenance.settings,
    }
    return separate(data, level, Provenance(settings, scale.provenance.digest, scale.provenance.seed, notes))


def separate(data: Computed, level: float, provenance: Provenance) -> Progress:
    """The same from arrays."""
    refuse_too_little(data)
    joint, ols = jointly(data, level), jointly(data, level, is_plain=True)
    staged = two_stages(data, level)
    return Progress(
        models=_models(data),
        rates=(*_joint_rates("joint", data, joint), *_staged_rates(staged, level), *_ols_rates(data, ols)),
        needed=_needed(data, joint),
        cheapest=_cheapest(data),
        fixed=_fixed(data, joint),
        gains=_gains(data, level),
        scaling=_scaling(data, joint),
        r2=explained(data, joint),
        provenance=provenance,
    )


def _collect(scale: Scale, compute: Source | Mapping[str, float] | None, exclude: Collection[str]) -> Computed:
    """The dated models of known compute."""
    dated = Dated.of(scale)
    flop, family = _known_compute(scale, compute)
    kept = np.array([name in flop and name not in exclude for name in dated.models])
    names = tuple(name for name, is_in in zip(dated.models, kept, strict=True) if is_in)
    of_model = dict(zip(scale.problem.models, scale.problem.families, strict=True))
    guessed = size_families([of_model[name] for name in names], dated.days[kept])
    return Computed(
        names,
        dated.days[kept],
        dated.capability[kept],
        np.log10([flop[name] for name in names]),
        tuple(family.get(name) or guess for name, guess in zip(names, guessed, strict=True)),
        dated.drawn[:, kept],
    )


def _known_compute(
    scale: Scale, given: Source | Mapping[str, float] | None
) -> tuple[dict[str, float], dict[str, str | None]]:
    """Compute by model, and family by model where it is told."""
    if given is None:
        pairs = zip(scale.problem.models, scale.problem.compute.tolist(), strict=True)
        return {name: flop for name, flop in pairs if not math.isnan(flop)}, {}
    if isinstance(given, Mapping):
        given = pl.DataFrame({"model": list(given), "compute": list(given.values())})
    part = parts_of(given)[0].parsed()
    names = part.rows.collect_schema().names()
    rename = {ours: theirs for ours, theirs in _EPOCH_NAMES.items() if ours not in names and theirs in names}
    absent = [name for name in _EPOCH_NAMES if name not in names and name not in rename]
    if absent:
        raise InputError(
            f"{part.path or 'The table of compute'}: no column {absent[0]!r}. The table needs the columns model and compute (training compute in FLOP); "
            "Epoch's names, Model version and Training compute (FLOP), are understood too."
        )
    tidy = part.rows.with_columns(pl.col(rename.get("model", "model")).cast(pl.String).str.strip_chars())
    table = Scores(replace(part, rows=tidy), rename=rename, fill={"benchmark": "compute", "score": 0.0})
    rows = table.frame.drop_nulls("compute")
    twice = rows.filter(pl.col("model").is_duplicated())
    if len(twice):
        raise InputError(f"{twice['model'][0]} has two values of compute. Keep one row per model.")
    families = rows["family"] if "family" in rows.columns else [None] * len(rows)
    return dict(zip(rows["model"], rows["compute"], strict=True)), dict(zip(rows["model"], families, strict=True))


def _joint_rates(method: str, data: Computed, of: Coefficients) -> list[ProgressRate]:
    found = {
        "per_oom": of.combined([0, 1, 0]),
        "per_year": of.combined([0, 0, 1]),
        "per_year_by_compute": of.combined([0, _compute_growth(data), 0]),
        "oom_per_year": ratio(of, [0, 0, 1], [0, 1, 0]),
        "years_per_oom": ratio(of, [0, 1, 0], [0, 0, 1]),
    }
    return [ProgressRate(method, quantity, estimate) for quantity, estimate in found.items()]


def _staged_rates(of: Coefficients | None, level: float) -> list[ProgressRate]:
    if of is None:
        nothing = Estimate.without("too_few", "no two families with models of different compute", level=level)
        return [ProgressRate("within families", "per_oom", nothing), ProgressRate("two stages", "per_year", nothing)]
    return [
        ProgressRate("within families", "per_oom", of.combined([1, 0])),
        ProgressRate("two stages", "per_year", of.combined([0, 1])),
        ProgressRate("two stages", "oom_per_year", ratio(of, [0, 1], [1, 0])),
        ProgressRate("two stages", "years_per_oom", ratio(of, [1, 0], [0, 1])),
    ]


def _ols_rates(data: Computed, of: Coefficients) -> list[ProgressRate]:
    """Plain least squares, and the published interval of its ratio, to compare with."""
    return [
        *_joint_rates("joint, OLS", data, of),
        ProgressRate("joint, as published", "oom_per_year", as_published(of)),
    ]


def _compute_growth(data: Computed) -> float:
    """Orders of magnitude per year by which these models' compute grew."""
    return float(np.polynomial.Polynomial.fit(data.years, data.compute, 1).convert().coef[1])


def _needed(data: Computed, joint: Coefficients) -> pl.DataFrame:
    """The compute at which the joint line has a capability, over time: capability, date, compute with its interval."""
    rows = []
    middle = data.compute.mean()
    for capability in _levels(data):
        for day, year in _steps(data):
            away = [-1.0, 0.0, -(year - data.years.mean())]
            found = ratio(joint, away, [0, 1, 0], constant=capability).map(lambda oom: oom + middle)
            if found.value is not None and _is_near(data, found.value):
                rows.append({"capability": capability, "date": day, **_flops(found)})
    return _dated(rows)


def _cheapest(data: Computed) -> pl.DataFrame:
    """Models that reached a capability with less compute than any before: capability, model, date, compute."""
    order = np.lexsort((data.compute, data.days))
    rows = []
    for capability in _levels(data):
        least = np.inf
        for i in order:
            if data.capability[i] >= capability and data.compute[i] < least:
                least = data.compute[i]
                flop = {"model": data.models[i], "compute": 10**least}
                rows.append({"capability": capability, "date": data.days[i], **flop})
    return _dated(rows)


def _fixed(data: Computed, joint: Coefficients) -> pl.DataFrame:
    """The joint line at fixed compute, over time: compute, date, capability with its interval."""
    rows = []
    for oom in _budgets(data):
        for day, year in _steps(data):
            at = [1.0, oom + 0.5 - data.compute.mean(), year - data.years.mean()]
            found = joint.combined(at)
            rows.append({"compute": _bracket(oom), "date": day, **columns_of(capability=found)})
    return _dated(rows).drop("capability_state")


def _gains(data: Computed, level: float) -> pl.DataFrame:
    """Capability per year within each order of magnitude of compute, by a regression of its own models on compute and date."""
    rows = []
    for oom in _budgets(data):
        inside = np.floor(data.compute) == oom
        try:
            refuse_too_little(data.only(inside))
            found = jointly(data.only(inside), level, is_plain=True).combined([0, 0, 1])
        except InputError as error:
            found = Estimate.without("too_few", str(error).partition(";")[0].rstrip("."), level=level)
        rows.append(
            {
                "compute": _bracket(oom),
                "n_models": int(inside.sum()),
                **columns_of(per_year=found),
                "reason": found.reason,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _scaling(data: Computed, joint: Coefficients) -> pl.DataFrame:
    """The joint line over the compute of a year's models, in the years that have most: year, compute, capability with its interval."""
    year_of = (data.days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970).tolist()
    counts = pl.Series(year_of).value_counts().rows()
    chosen = sorted(year for year, _ in sorted(counts, key=lambda one: -one[1])[:_MOST_YEARS])
    rows = []
    for year in chosen:
        inside = np.array(year_of) == year
        middle = float(data.years[inside].mean()) - data.years.mean()
        for oom in np.linspace(data.compute[inside].min(), data.compute[inside].max(), _STEPS):
            found = joint.combined([1.0, oom - data.compute.mean(), middle])
            rows.append({"year": year, "compute": 10**oom, **columns_of(capability=found)})
    return pl.DataFrame(rows, infer_schema_length=None).drop("capability_state")


def _models(data: Computed) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "model": data.models,
            "date": pl.Series(data.days).cast(pl.Int32).cast(pl.Date),
            "capability": data.capability,
            "compute": 10**data.compute,
            "family": data.family,
            "bracket": [_bracket(oom) for oom in np.floor(data.compute).astype(int)],
        }
    ).sort("date", "model")


def _levels(data: Computed) -> list[float]:
    return [round(float(value), 2) for value in np.quantile(data.capability, _LEVELS)]


def _budgets(data: Computed) -> list[int]:
    return sorted({int(oom) for oom in np.floor(data.compute)})


def _bracket(oom: int) -> str:
    return f"1e{oom} to 1e{oom + 1}"


def _steps(data: Computed) -> Iterator[tuple[int, float]]:
    """Days from the first model to the last, and the same as years."""
    days = np.linspace(data.days.min(), data.days.max(), _STEPS).round().astype(np.int64)
    yield from zip(days.tolist(), calendar_years(days).tolist(), strict=True)


def _is_near(data: Computed, oom: float) -> bool:
    return bool(data.compute.min() - _SHOWN_BEYOND <= oom <= data.compute.max() + _SHOWN_BEYOND)


def _flops(found: Estimate) -> dict[str, float | None]:
    moved = found.map(lambda oom: 10.0**oom)
    return {"compute": moved.value, "compute_low": moved.low, "compute_high": moved.high}


def _dated(rows: list[dict[str, Any]]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.with_columns(pl.col("date").cast(pl.Int32).cast(pl.Date)) if len(frame) else frame


def _notes(scale: Scale, data: Computed, distilled: Collection[str]) -> list[str]:
    n = len(scale.problem.models)
    notes = [
        f"{len(data.models)} of {n} models are included: those with a date and known compute that are not excluded."
    ]
    if distilled:
        notes.append(f"{len(distilled)} models are excluded as distilled: {listed(sorted(distilled))}.")
    if scale.without_replicates:
        notes.append(f"Intervals do not include the uncertainty of the capabilities: {scale.without_replicates}.")
    return notes


# Capability, compute and time: everything that progress says is linear in the capabilities, and is kept so.
#
# With weights w each number is θ = w·C, so its replicates are w·C_r, and what models of one family have in common is found by leaving families out.


_SIZE = re.compile(r"(?:[-_ ]a?|)(?:\d+x)?\d+(?:\.\d+)?[bm](?![a-z0-9])")  # 70b, 8x7b, 235b-a22b
_JOINT = re.compile(r"[-_ ]+")
_GAP_DAYS = 90  # models of one name that came further apart were not trained alike
_FEWEST = 5


@dataclass(frozen=True, eq=False)
class Computed:
    """Models with a date and known training compute.

    ``compute`` is its decimal logarithm; ``family`` labels models that were trained alike at different sizes; ``drawn`` holds capabilities in
    each replicate, one row each.
    """

    models: tuple[str, ...]
    days: Ints
    capability: Floats
    compute: Floats
    family: tuple[str, ...]
    drawn: Floats

    @cached_property
    def years(self) -> Floats:
        """Release dates as calendar years."""
        return calendar_years(self.days)

    def only(self, kept: Bools) -> Computed:
        """Some of the models."""
        names, families = (tuple(np.array(each, dtype=object)[kept]) for each in (self.models, self.family))
        rest = {name: getattr(self, name)[kept] for name in ("days", "capability", "compute")}
        return replace(self, models=names, family=families, drawn=self.drawn[:, kept], **rest)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Numbers that are linear in the capabilities, with their covariance and the degrees of freedom that it depends on."""

    value: Floats
    covariance: Floats
    df: float
    level: float

    def combined(self, weights: ArrayLike, constant: float = 0.0) -> Estimate:
        """A weighted sum of them, plus a constant, with its t interval."""
        w = np.asarray(weights, dtype=np.float64)
        value = float(w @ self.value) + constant
        reach = t_quantile(self.level, self.df) * float(np.sqrt(w @ self.covariance @ w))
        return Estimate(value, value - reach, value + reach, self.level)


def refuse_too_little(data: Computed) -> None:
    """Raise what is missing to tell compute and time apart."""
    n = len(data.models)
    if n < _FEWEST:
        raise InputError(
            f"{n} models have a date and known compute; separating scaling from algorithms needs {_FEWEST}. "
            "Add the column compute to the scores, or give a file with model and compute."
        )
    if np.linalg.matrix_rank(_design(data)) < 3:
        raise InputError(f"Date and compute of the {n} models are collinear, so their effects cannot be separated.")


def jointly(data: Computed, level: float, *, is_plain: bool = False) -> Coefficients:
    """Capability = a + k·log₁₀ compute + g·years: a at the mean compute and date, k, and g.

    ``is_plain`` takes models as independent and capabilities as known, as ordinary least squares does.
    """
    weights = _joint_weights(data)
    value = weights @ data.capability
    if is_plain:
        residual = data.capability - _design(data) @ value
        df = len(residual) - len(value)
        return Coefficients(value, residual @ residual / df * weights @ weights.T, df, level)
    without = _without_each_family(data, _joint_weights)
    return Coefficients(value, _jackknife(without) + _redrawn(weights, data.drawn), len(without) - 1, level)


def two_stages(data: Computed, level: float) -> Coefficients | None:
    r"""The slope k within families, and g from what it leaves; None when no two families have models of different compute.

    .. math:: k = \frac{\sum (L_i - \bar L_{f(i)})\, C_i}{\sum (L_i - \bar L_{f(i)})^2}, \qquad
              g = \frac{\sum (t_i - \bar t)\,(C_i - k L_i)}{\sum (t_i - \bar t)^2}

    Both are linear in C, so the second includes the uncertainty of the first: each family is left out of both stages at once.
    """
    families = codes(data.family, "family")
    telling = [f for f in range(families.max() + 1) if np.ptp(data.compute[families == f]) > 0]
    if len(telling) < 2:
        return None
    weights = _staged_weights(data)
    covariance = _jackknife(_without_each_family(data, _staged_weights)) + _redrawn(weights, data.drawn)
    return Coefficients(weights @ data.capability, covariance, len(telling) - 1, level)


def ratio(of: Coefficients, over: ArrayLike, under: ArrayLike, constant: float = 0.0) -> Estimate:
    r"""A ratio of two combinations with Fieller's interval: all r for which over − r·under may be 0.

    ``constant`` is added to the upper one. Where the lower one may be 0 the interval has an open end, or none.
    """
    w, u = np.asarray(over, dtype=np.float64), np.asarray(under, dtype=np.float64)
    top, bottom = float(w @ of.value) + constant, float(u @ of.value)
    if not bottom:
        return Estimate.without("undefined", "the denominator is 0", level=of.level)
    q = t_quantile(of.level, of.df) ** 2
    a = bottom**2 - q * float(u @ of.covariance @ u)
    b = top * bottom - q * float(w @ of.covariance @ u)
    c = top**2 - q * float(w @ of.covariance @ w)
    value = top / bottom
    if a <= 0:
        reason = "the denominator may be 0"
        return Estimate(value, level=of.level, reason=reason, low_state="unbounded", high_state="unbounded")
    root = np.sqrt(max(0.0, b * b - a * c))
    return Estimate(value, (b - root) / a, (b + root) / a, of.level)


def as_published(of: Coefficients) -> Estimate:
    """The ratio g/k with a normal interval that takes the two as independent, which they are not: it is too narrow."""
    _, k, g = of.value
    _, k_variance, g_variance = np.diag(of.covariance)
    reach = normal_quantile(of.level) * abs(g / k) * np.sqrt(g_variance / g**2 + k_variance / k**2)
    return Estimate(g / k, g / k - reach, g / k + reach, of.level)


def size_families(names: Sequence[str], days: Ints) -> tuple[str, ...]:
    """Names without size, effort, kind and date; those that came more than 90 days after the one before are another family.

    >>> size_families(["Llama 2-7B", "Llama-2-70b-hf", "Llama-3.1-8B"], np.array([0, 0, 371]))
    ('llama2', 'llama2', 'llama3.1')
    """
    stems = np.array([_JOINT.sub("", _SIZE.sub("", family_of(name))) for name in names], dtype=object)
    told = stems.copy()
    for stem in set(stems):
        members = np.flatnonzero(stems == stem)
        members = members[np.argsort(days[members], kind="stable")]
        wave = np.cumsum(np.diff(days[members], prepend=days[members[0]]) > _GAP_DAYS)
        told[members] = [f"{stem} ({number + 1})" if number else stem for number in wave]
    return tuple(told)


def calendar_years(days: Ints) -> Floats:
    """Days from 1970 as year + day of the year / 365.25."""
    dates = pl.Series(days).cast(pl.Int32).cast(pl.Date)
    return (dates.dt.year() + dates.dt.ordinal_day() / DAYS_A_YEAR).to_numpy().astype(np.float64)


def explained(data: Computed, of: Coefficients) -> float:
    """The share of the capabilities' variance that compute and time explain jointly."""
    residual, around = data.capability - _design(data) @ of.value, data.capability - data.capability.mean()
    return float(1 - residual @ residual / (around @ around))


def _design(data: Computed) -> Floats:
    compute, years = data.compute - data.compute.mean(), data.years - data.years.mean()
    return np.column_stack([np.ones(len(years)), compute, years])


def _joint_weights(data: Computed) -> Floats:
    return np.asarray(np.linalg.pinv(_design(data)))


def _staged_weights(data: Computed) -> Floats:
    families = codes(data.family, "family")
    mean = np.bincount(families, data.compute) / np.bincount(families)
    within = data.compute - mean[families]
    scaling = within / (within @ within)
    time = data.years - data.years.mean()
    trend = time / (time @ time)
    return np.vstack([scaling, trend - (trend @ data.compute) * scaling])


def _without_each_family(data: Computed, weigh: Callable[[Computed], Floats]) -> list[Floats]:
    families = codes(data.family, "family")
    left = [data.only(families != family) for family in range(families.max() + 1)]
    for name, rest in zip(sorted(set(data.family)), left, strict=True):
        if not len(rest.models) or np.linalg.matrix_rank(_design(rest)) < 3:
            raise InputError(f"Without {name} compute and time cannot be separated. Add models of other families.")
    return [np.asarray(weigh(rest) @ rest.capability) for rest in left]


def _jackknife(without: Sequence[Floats]) -> Floats:
    """Covariance from estimates that each leave one family out."""
    apart = np.array(without) - np.mean(without, axis=0)
    return np.asarray((len(apart) - 1) / len(apart) * apart.T @ apart)


def _redrawn(weights: Floats, drawn: Floats) -> Floats:
    """Covariance over replicates."""
    return np.cov(weights @ drawn.T) if len(drawn) > 1 else np.zeros((len(weights), len(weights)))
