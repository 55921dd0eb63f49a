"""A table of scores, cleaned and turned into plain arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from howsure.errors import InputError, OptionError

__all__ = [
    "Aligned",
    "AnchorBenchmark",
    "AnchorModels",
    "Bools",
    "Constraint",
    "Fitted",
    "Floats",
    "Ints",
    "Layout",
    "LinkedGroup",
    "Prior",
    "Problem",
    "ReferenceModels",
    "Rows",
    "align",
    "choose_constraint",
    "describe_parts",
    "family_of",
    "find_parts",
    "hold_reference",
    "linked",
    "most_used",
    "sampling_variance",
    "single_names",
]

# How scores and parameters lie in arrays, as the kernels read them.
#
# All parameters are one vector θ: first each model's (capability, trait), then each benchmark's (difficulty, log slope, loading).
# Trait and loading are there in two dimensions only.


Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


class Rows(NamedTuple):
    """The scores, sorted by model and then benchmark; one row per pair."""

    start: Ints  # the rows of model m are start[m] … start[m + 1]
    benchmark: Ints
    score: Floats
    floor: Floats  # per benchmark
    span: Floats  # per benchmark, ceiling minus floor
    dimensions: tuple[int, ...]  # (0,) or (0, 1): a tuple, so that the compiler knows how many and unrolls

    @property
    def layout(self) -> Layout:
        """Where each kind of parameter lies."""
        return Layout(len(self.start) - 1, len(self.floor), len(self.dimensions))

    @property
    def model(self) -> Ints:
        """Each row's model."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


class Prior(NamedTuple):
    """What is known beforehand of every parameter: a normal prior and a box; ``low == high`` fixes a parameter."""

    mean: Floats
    precision: Floats
    low: Floats
    high: Floats
    on_slope: bool  # the slopes' penalty is on the slope itself, not on its logarithm


class Fitted(NamedTuple):
    """Where the solver stopped."""

    theta: Floats
    cost: float
    gradient_norm: float  # largest component that is free to move
    iterations: int
    converged: bool


@dataclass(frozen=True)
class Layout:
    """Slices of θ, or of the last axis of many θ."""

    n_models: int
    n_benchmarks: int
    n_dimensions: int

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return self._benchmarks + self.n_benchmarks * (self.n_dimensions + 1)

    @property
    def capability(self) -> slice:
        """C, one a model."""
        return slice(0, self._benchmarks, self.n_dimensions)

    @property
    def trait(self) -> slice:
        """T, one a model, in two dimensions."""
        return slice(1, self._benchmarks, self.n_dimensions)

    @property
    def difficulty(self) -> slice:
        """D, one a benchmark."""
        return slice(self._benchmarks, None, self.n_dimensions + 1)

    @property
    def log_slope(self) -> slice:
        """Logarithm of a, one a benchmark."""
        return slice(self._benchmarks + 1, None, self.n_dimensions + 1)

    @property
    def loading(self) -> slice:
        """How much a benchmark asks of the trait, in two dimensions."""
        return slice(self._benchmarks + 2, None, self.n_dimensions + 1)

    @property
    def _benchmarks(self) -> int:
        return self.n_models * self.n_dimensions


_FEWEST_SCORES = 8
_EDGE = 0.1  # items right, at least, and wrong: an expected score of exactly 0 would weigh without limit


@dataclass(frozen=True, eq=False)
class Problem:
    """The scores to fit: one per model–benchmark pair, sorted by model and then benchmark. Unknown numbers are NaN, unknown dates NaT.

    Parameters
    ----------
    models : tuple[str, ...]
        Names of the models, sorted.
    benchmarks : tuple[str, ...]
        Names of the benchmarks, sorted.
    model : Ints
        Index of each score's model.
    benchmark : Ints
        Index of each score's benchmark.
    score : Floats
        The scores, between 0 and 1.
    se : Floats
        Their standard errors.
    n_effective : Floats
        Number of independent items that would give this standard error.
    floors : Floats
        Score of guessing, per benchmark.
    ceilings : Floats
        Highest possible score, per benchmark.
    dates : NDArray[np.datetime64]
        Release date per model.
    benchmark_dates : NDArray[np.datetime64]
        Release date per benchmark.
    families : tuple[str, ...]
        Family per model.
    organisations : tuple[str | None, ...]
        Organisation per model.
    compute : Floats
        Training compute per model, in FLOP.
    notes : tuple[str, ...]
        What was excluded or combined.
    distilled : frozenset[str]
        Models that were trained on the outputs of another.
    whole_by_part : dict[str, str]
        For each benchmark that is a part of another one, or shares its items, that other one.
    best : pl.DataFrame
        The highest score of each model version on each benchmark, of all rows of the table, also those that are not fitted: benchmark, model, fitted_as (the model that the version
        is, or would be, in the fit), score, date.
    """

    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    model: Ints
    benchmark: Ints
    score: Floats
    se: Floats
    n_effective: Floats
    floors: Floats
    ceilings: Floats
    dates: NDArray[np.datetime64]
    benchmark_dates: NDArray[np.datetime64]
    families: tuple[str, ...]
    organisations: tuple[str | None, ...]
    compute: Floats
    notes: tuple[str, ...] = ()
    distilled: frozenset[str] = frozenset()
    whole_by_part: dict[str, str] = field(default_factory=dict)
    best: pl.DataFrame = field(default_factory=pl.DataFrame)

    @classmethod
    def of(cls, frame: pl.DataFrame, notes: Sequence[str] = (), best: pl.DataFrame | None = None) -> Problem:
        """The arrays of a clean frame with all columns of `Scores` and one row per pair; ``n_effective`` as `Problem` has it.

        ``best`` is by default made of the frame itself.
        """
        rows = frame.sort("model", "benchmark")
        by_model = rows.group_by("model").first().sort("model")
        by_benchmark = rows.group_by("benchmark").first().sort("benchmark")
        models, benchmarks = tuple(by_model["model"]), tuple(by_benchmark["benchmark"])
        return cls(
            models,
            benchmarks,
            _codes(rows["model"], models),
            _codes(rows["benchmark"], benchmarks),
            _floats(rows["score"]),
            _floats(rows["se"]),
            _floats(rows["n_effective"]),
            _floats(by_benchmark["floor"].fill_null(0)),
            _floats(by_benchmark["ceiling"].fill_null(1)),
            by_model["date"].to_numpy().astype("datetime64[D]"),
            by_benchmark["benchmark_date"].to_numpy().astype("datetime64[D]"),
            tuple(by_model["family"]),
            tuple(by_model["organisation"]),
            _floats(by_model["compute"]),
            tuple(notes),
            frozenset(by_model.filter(pl.col("distilled") == "yes")["model"]),
            dict(by_benchmark.select("benchmark", "part_of").drop_nulls().rows()),
            rows.select("benchmark", "model", pl.col("model").alias("fitted_as"), "score", "date")
            if best is None
            else best.filter(pl.col("benchmark").is_in(benchmarks)),
        )

    @property
    def n_observations(self) -> int:
        """How many scores."""
        return len(self.score)

    @cached_property
    def n_by_model(self) -> Ints:
        """How many benchmarks each model has."""
        return np.bincount(self.model, minlength=len(self.models)).astype(np.int64)

    @cached_property
    def n_by_benchmark(self) -> Ints:
        """How many models each benchmark has."""
        return np.bincount(self.benchmark, minlength=len(self.benchmarks)).astype(np.int64)

    @cached_property
    def family(self) -> Ints:
        """Each model's family, as a number."""
        return _numbered(np.array(self.families))

    @cached_property
    def cell(self) -> Ints:
        """Each score's cell, family by benchmark: siblings' errors on one benchmark resemble each other."""
        pair = self.family[self.model] * len(self.benchmarks) + self.benchmark
        return _numbered(pair)

    @cached_property
    def years(self) -> Floats:
        """Each model's date in years from the models' mean; 0 where it has none, and where all are the same."""
        known = ~np.isnat(self.dates)
        days = np.where(known, self.dates.astype(np.int64), 0) / 365.25
        return np.where(known, days - days[known].mean() if known.any() else 0.0, 0.0)

    def rows(self, n_dimensions: int = 1) -> Rows:
        """The scores as the kernels read them."""
        start = np.searchsorted(self.model, np.arange(len(self.models) + 1)).astype(np.int64)
        span = self.ceilings - self.floors
        return Rows(start, self.benchmark, self.score, self.floors, span, tuple(range(n_dimensions)))

    @cached_property
    def has_single_items(self) -> bool:
        """Whether most scores are of one item, right or wrong, and none of an unknown number."""
        return not np.isnan(self.n_effective).any() and float(np.median(self.n_effective)) <= 1

    @cached_property
    def items_by_benchmark(self) -> Floats:
        """How many items a score on each benchmark is made of: the median, NaN where it is unknown for all of them."""
        known = [
            self.n_effective[(self.benchmark == b) & ~np.isnan(self.n_effective)] for b in range(len(self.benchmarks))
        ]
        return np.array([np.median(one) if len(one) else np.nan for one in known])

    def sampling_variance(self, share: Floats) -> Floats:
        """Variance of each score as a mean of items, when it is expected at `share` of the way from floor to ceiling."""
        floor, ceiling = self.floors[self.benchmark], self.ceilings[self.benchmark]
        return sampling_variance(floor + (ceiling - floor) * share, self.n_effective)

    def keep(self, kept: Bools) -> Problem:
        """The same models and benchmarks with some of the scores: a training set."""
        chosen = {name: getattr(self, name)[kept] for name in ("model", "benchmark", "score", "se", "n_effective")}
        return replace(self, **chosen)

    def model_at(self, name: str) -> int:
        """The index of a model."""
        if name not in self.models:
            raise OptionError.unknown("model in this fit", name, self.models)
        return self.models.index(name)

    def benchmark_at(self, name: str) -> int:
        """The index of a benchmark."""
        if name not in self.benchmarks:
            raise OptionError.unknown("benchmark in this fit", name, self.benchmarks)
        return self.benchmarks.index(name)

    def to_frame(self) -> pl.DataFrame:
        """The scores as they were fitted, with what is known of models and benchmarks."""
        m, b = self.model, self.benchmark
        return pl.DataFrame(
            {
                "model": np.array(self.models, dtype=object)[m].tolist(),
                "benchmark": np.array(self.benchmarks, dtype=object)[b].tolist(),
                "score": self.score,
                "se": self.se,
                "n_effective": self.n_effective,
                "date": self.dates[m],
                "benchmark_date": self.benchmark_dates[b],
                "organisation": [self.organisations[i] for i in m],
                "family": [self.families[i] for i in m],
                "compute": self.compute[m],
                "distilled": pl.Series(
                    ["yes" if self.models[i] in self.distilled else None for i in m], dtype=pl.String
                ),
                "floor": self.floors[b],
                "ceiling": self.ceilings[b],
                "part_of": pl.Series([self.whole_by_part.get(self.benchmarks[i]) for i in b], dtype=pl.String),
            }
        ).with_columns(pl.col("se", "n_effective", "compute").fill_nan(None))

    def refuse_too_little(self) -> None:
        """Raise what is missing for a scale: scores, models, benchmarks, or something that joins them."""
        told = " ".join(self.notes)
        if len(self.benchmarks) < 2:
            raise InputError(
                f"Only one benchmark is left ({self.benchmarks[0]}); a scale needs two or more that share models. {told}".rstrip()
            )
        if self.n_observations < _FEWEST_SCORES or len(self.models) < 3:
            raise InputError(
                f"Too little is left for a scale: {self.n_observations} scores of {len(self.models)} models on {len(self.benchmarks)} "
                f"benchmarks; at least {_FEWEST_SCORES} scores of 3 models are needed. {told}".rstrip()
            )
        parts = find_parts(self.model, self.benchmark, self.models, self.benchmarks)
        if len(parts) > 1:
            raise InputError(describe_parts(parts))


def sampling_variance(expected: Floats, n_effective: Floats) -> Floats:
    r"""Variance of a mean of right and wrong items, :math:`\mu (1 - \mu) / n`, at its expected value μ.

    An expected score of 0 or 1 is kept off the end by a tenth of an item. Where ``n_effective`` is NaN it is 0: the variance is then part of the
    benchmark's own noise, which has a floor.
    """
    edge = _EDGE / n_effective
    mean = np.clip(expected, edge, 1 - edge)
    variance: Floats = np.where(np.isnan(n_effective), 0.0, mean * (1 - mean) / n_effective)
    return variance


def _codes(names: pl.Series, known: Sequence[str]) -> Ints:
    return np.searchsorted(np.array(known, dtype=str), names.to_numpy().astype(str)).astype(np.int64)


def _numbered(labels: NDArray[Any]) -> Ints:
    codes: Ints = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return codes


def _floats(values: pl.Series) -> Floats:
    return values.cast(pl.Float64).to_numpy().astype(np.float64)


# Whether scores link all models and benchmarks of a table, so that they can be put on one scale.


_SHOWN = 4


@dataclass(frozen=True)
class LinkedGroup:
    """Models and benchmarks that are linked by scores, and by none to the rest."""

    models: tuple[str, ...]
    benchmarks: tuple[str, ...]

    def __str__(self) -> str:
        benchmarks = _listed(self.benchmarks)
        return f"{len(self.models)} model{'s' * (len(self.models) > 1)} ({_listed(self.models)}) on {benchmarks}"


def find_parts(
    model: Ints, benchmark: Ints, models: Sequence[str], benchmarks: Sequence[str]
) -> tuple[LinkedGroup, ...]:
    """Groups of models and benchmarks that are linked by scores, the largest first; a scale needs exactly one.

    Parameters
    ----------
    model : Ints
        Index of each score's model.
    benchmark : Ints
        Index of each score's benchmark.
    models : Sequence[str]
        Names of the models.
    benchmarks : Sequence[str]
        Names of the benchmarks.
    """
    n_models, size = len(models), len(models) + len(benchmarks)
    links = coo_array((np.ones(len(model)), (model, n_models + benchmark)), shape=(size, size))
    n_parts, label = connected_components(links, directed=False)
    named = np.array([*models, *benchmarks], dtype=object)
    is_model = np.arange(size) < n_models
    parts = [
        LinkedGroup(tuple(named[(label == part) & is_model]), tuple(named[(label == part) & ~is_model]))
        for part in range(n_parts)
    ]
    return tuple(sorted(parts, key=lambda part: (-len(part.models) - len(part.benchmarks), part.benchmarks)))


def describe_parts(parts: Sequence[LinkedGroup]) -> str:
    """What is wrong with several parts, and what would join them."""
    first, second = parts[:2]
    rest = f"; {len(parts) - 2} more" if len(parts) > 2 else ""
    return (
        f"The scores fall into {len(parts)} groups that no model links: {first}; {second}{rest}. "
        f"Scores of a model in two groups would link them, for example of {first.models[0]} on {second.benchmarks[0]}; "
        "or fit one group by excluding the benchmarks of the others."
    )


def _listed(names: Sequence[str]) -> str:
    more = f", … {len(names)} in all" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


# Which models resemble each other: versions and settings of one model are a family.


_EFFORT = re.compile(r"_(none|minimal|low|medium|high|xhigh|max|\d+k)$")
_KIND = re.compile(r"-(preview|exp|experimental|latest|beta|thinking|instruct|chat|it|hf|base)(?=-|$)")
_BETWEEN = re.compile(r",(?! )")
_DATE = re.compile(r"[-_@]((19|20)\d\d-?\d\d-?\d\d|\d\d-\d\d|\d{4}|00\d)(?=[-_@]|$)")


def family_of(model: str) -> str:
    """The version's name without effort, kind and date: what to use where a table names no family.

    >>> family_of("gpt-5-2025-08-07_high"), family_of("gemini-2.5-pro-preview-06-05"), family_of("Qwen2.5-72B-Instruct")
    ('gpt-5', 'gemini-2.5-pro', 'qwen2.5-72b')
    """
    name = _EFFORT.sub("", model.strip().lower())
    return _DATE.sub("", _KIND.sub("", name)) or name


def single_names(joint: str | None) -> list[str]:
    """The organisations or countries of a model that has several.

    >>> single_names("Google DeepMind,Google"), single_names("Acme, Inc."), single_names(None)
    (['Google DeepMind', 'Google'], ['Acme, Inc.'], [])
    """
    return [name for name in _BETWEEN.split(joint) if name] if joint else []


# What fixes the scale: capability has no unit of its own, so two numbers are free to choose.
#
# Adding a constant to all capabilities and difficulties, or stretching both and dividing the slopes, leaves every expected
# score as it was. A constraint makes the choice, in the estimate and in each replicate alike.
#
# An anchor benchmark is itself an estimate: its error moves all models together and stretches the scale, and shrinkage makes the fitted unit too small. The mean and the standard deviation of
# many models are nearly free of both (mean–sigma linking), so that capabilities far from the anchor have intervals that cover as stated.


_LEAST_RELIABILITY = 0.5


@dataclass(frozen=True, eq=False)
class Aligned:
    """Parameters on the reported scale; leading axes are replicates. In one dimension traits and loadings are None."""

    capability: Floats
    difficulty: Floats
    slope: Floats
    trait: Floats | None = None
    loading: Floats | None = None

    def shares(self, of: Aligned, m: int) -> Floats:
        """How far from floor to ceiling model m, as it is in `of`, comes on each of these curves."""
        eta = self.slope * (of.capability[..., m, None] - self.difficulty)
        if self.loading is not None and of.trait is not None:
            eta = eta + self.loading * of.trait[..., m, None]
        share: Floats = expit(eta)
        return share


@dataclass(frozen=True)
class AnchorBenchmark:
    """The scale on which one benchmark has a given difficulty and slope."""

    benchmark: int
    difficulty: float = 0.0
    slope: float = 1.0

    def stretch(self, theta: Floats, at: Layout) -> tuple[Floats, Floats]:
        """What is subtracted and multiplied before `difficulty` is added."""
        slope = np.exp(theta[..., at.log_slope][..., self.benchmark])
        return theta[..., at.difficulty][..., self.benchmark], slope / self.slope

    @property
    def origin(self) -> float:
        """The reported value of what is subtracted."""
        return self.difficulty


@dataclass(frozen=True)
class AnchorModels:
    """The scale on which two models have given capabilities."""

    low: int
    high: int
    low_value: float
    high_value: float

    def stretch(self, theta: Floats, at: Layout) -> tuple[Floats, Floats]:
        """The same; where the models do not come out in their order there is no such scale, and all is NaN."""
        capability = theta[..., at.capability]
        apart = capability[..., self.high] - capability[..., self.low]
        with np.errstate(divide="ignore"):
            factor = np.where(apart > 0, (self.high_value - self.low_value) / apart, np.nan)
        return capability[..., self.low], factor

    @property
    def origin(self) -> float:
        """The reported value of what is subtracted."""
        return self.low_value


@dataclass(frozen=True)
class ReferenceModels:
    """The scale on which some models have a given mean and standard deviation of their capabilities."""

    models: tuple[int, ...]
    mean: float
    sd: float

    def stretch(self, theta: Floats, at: Layout) -> tuple[Floats, Floats]:
        """The same; where the models are all equally capable there is no such scale, and all is NaN."""
        capability = theta[..., at.capability][..., list(self.models)]
        spread = capability.std(axis=-1)
        with np.errstate(divide="ignore"):
            factor = np.where(spread > 0, self.sd / spread, np.nan)
        return capability.mean(axis=-1), factor

    def reliability(self, theta: Floats, estimate: Floats, at: Layout) -> Floats:
        """Squared correlation of these models' capabilities in refits with those in the estimate, at least a half: few models tell it badly."""
        refit, own = (one[..., at.capability][..., list(self.models)] for one in (theta, estimate))
        refit, own = refit - refit.mean(axis=-1, keepdims=True), own - own.mean()
        with np.errstate(divide="ignore", invalid="ignore"):
            r = (refit @ own) / np.sqrt((refit**2).sum(axis=-1) * (own @ own))
        found: Floats = np.maximum(np.maximum(r, 0.0) ** 2, _LEAST_RELIABILITY)
        return found

    @property
    def origin(self) -> float:
        """The reported value of what is subtracted."""
        return self.mean


Constraint: TypeAlias = AnchorBenchmark | AnchorModels | ReferenceModels


def align(constraint: Constraint, theta: Floats, at: Layout, *, refit_of: Floats | None = None) -> Aligned:
    """The parameters of one θ, or of many, on the constraint's scale.

    ``refit_of`` is the estimate of which they are refits. Errors spread the capabilities of a refit more than those of the estimate, and those of the estimate more than the true ones. One standard
    deviation for all would therefore draw the refits towards the mean while the true values lie further out than the estimate; the squared correlation of refit and estimate says by how much.
    """
    shift, factor = constraint.stretch(theta, at)
    if refit_of is not None and isinstance(constraint, ReferenceModels):
        factor = factor / constraint.reliability(theta, refit_of, at)
    shift, factor = np.asarray(shift)[..., None], np.asarray(factor)[..., None]
    return Aligned(
        constraint.origin + (theta[..., at.capability] - shift) * factor,
        constraint.origin + (theta[..., at.difficulty] - shift) * factor,
        np.exp(theta[..., at.log_slope]) / factor,
        *((theta[..., at.trait], theta[..., at.loading]) if at.n_dimensions == 2 else ()),
    )


def hold_reference(constraint: Constraint, theta: Floats, at: Layout, models: Sequence[int]) -> ReferenceModels:
    """The scale of another constraint in the estimate ``theta``, held by the mean and spread of these models in all refits."""
    capability = align(constraint, theta, at).capability[list(models)]
    return ReferenceModels(tuple(models), float(capability.mean()), float(capability.std()))


def linked(values: Floats, theirs: Floats, ours: Floats) -> Floats:
    """Values in another unit: moved and stretched as ``theirs`` must be to have the mean and the standard deviation of ``ours`` (mean–sigma linking); leading axes are replicates."""
    centre, spread = theirs.mean(axis=-1, keepdims=True), theirs.std(axis=-1, keepdims=True)
    moved: Floats = ours.mean() + (values - centre) * (ours.std() / spread)
    return moved


def choose_constraint(
    problem: Problem,
    anchor: str | None,
    anchor_difficulty: float,
    anchor_slope: float,
    anchor_models: Mapping[str, float] | None,
) -> Constraint:
    """The constraint that was asked for; without any, the benchmark that most models have."""
    if anchor_models is not None:
        if anchor is not None:
            raise OptionError("anchor and anchor_models both fix the scale; give one of them.")
        return _by_models(problem, anchor_models)
    if anchor_slope <= 0:
        raise OptionError(f"anchor_slope is {anchor_slope:g}; a slope is above 0.")
    index = most_used(problem) if anchor is None else _anchor_at(problem, anchor)
    return AnchorBenchmark(index, anchor_difficulty, anchor_slope)


def most_used(problem: Problem) -> int:
    """The benchmark that most models have, of those on which models differ, and rather none that orders them in reverse of the others."""
    at, n = problem.benchmark, len(problem.benchmarks)
    low, high = np.full((2, n), np.inf) * [[1.0], [-1.0]]
    np.minimum.at(low, at, problem.score)
    np.maximum.at(high, at, problem.score)
    used = np.where(low < high, problem.n_by_benchmark, 0)
    above_mean = problem.score - (np.bincount(at, problem.score, n) / np.maximum(problem.n_by_benchmark, 1))[at]
    own = above_mean / np.where(low < high, high - low, 1.0)[at]
    others = np.bincount(problem.model, own)[problem.model] - own
    in_order = np.where(np.bincount(at, own * others, n) >= 0, used, 0)
    return int((in_order if in_order.any() else used).argmax())


def _anchor_at(problem: Problem, anchor: str) -> int:
    if anchor not in problem.benchmarks:
        raise OptionError.unknown("benchmark to anchor the scale", anchor, problem.benchmarks)
    index = problem.benchmarks.index(anchor)
    scores = problem.score[problem.benchmark == index]
    if len(np.unique(scores)) < 2:
        raise OptionError(
            f"{anchor} cannot anchor the scale, since its {len(scores)} scores are all {scores[0]:g}; choose another benchmark."
        )
    return index


def _by_models(problem: Problem, anchor_models: Mapping[str, float]) -> AnchorModels:
    if len(anchor_models) != 2:
        raise OptionError(f"anchor_models names {len(anchor_models)} models; two fix a scale.")
    for name in anchor_models:
        if name not in problem.models:
            raise OptionError.unknown("model to anchor the scale", name, problem.models)
    (low, low_value), (high, high_value) = sorted(anchor_models.items(), key=lambda item: item[1])
    if low_value == high_value:
        raise OptionError(f"anchor_models gives {low} and {high} the same value {low_value:g}; give two.")
    return AnchorModels(problem.models.index(low), problem.models.index(high), low_value, high_value)
