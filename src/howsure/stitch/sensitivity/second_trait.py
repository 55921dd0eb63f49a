r"""A second trait: what it is, how sure it is, whether it pays, and whether it is the same for all.

.. math:: \eta_{mb} = a_b (C_m - D_b) + l_b T_m

fits equally well with the traits rotated. The rotation here is that of principal axes: the singular value decomposition of the matrix :math:`a_b C_m + l_b T_m`, both traits centred. So the two traits are uncorrelated
over models, and the two columns of loadings are orthogonal over benchmarks; the first trait is the one along which scores differ most. Both traits have standard deviation 1, and the benchmark with the largest second loading
loads positively. Refits are rotated in the same way, each with the signs of the estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.results import Provenance, Result, plain
from howsure.stats.replicates import replicate_interval
from howsure.stitch.model.fits import solve_hierarchy
from howsure.stitch.model.problem import Aligned, Bools, Floats, Problem
from howsure.stitch.scale import fit
from howsure.stitch.sensitivity.crossvalidation import (
    ALL_SPLITS,
    DEFAULT,
    DEFAULT_2D,
    PREDICTED,
    PREDICTED_2D,
    compare_models,
    folds_of,
)
from howsure.tables import Scores

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["SecondTrait", "traits"]

_NAMED = 3  # benchmarks at each end of the trait that its name has
_FEWEST_MODELS = 5  # of an organisation that is left out, and of a benchmark in each half of the time
_FEWEST_BENCHMARKS = 5
_ALIKE = 0.85  # Tucker's congruence from which loadings are called similar (Lorenzo-Seva and ten Berge, 2006)


@dataclass(frozen=True, eq=False, kw_only=True)
class SecondTrait(Result):
    """The second trait of a table of scores.

    Parameters
    ----------
    benchmarks : pl.DataFrame
        benchmark, n_models, first (loading on the first trait) and second (on the second), each with its interval; the largest second loading first.
    models : pl.DataFrame
        model, n_benchmarks, organisation, date, first and second (traits of standard deviation 1), each with its interval.
    validation : pl.DataFrame
        Held-out errors with one and with two dimensions (`howsure.stitch.compare_models`).
    invariance : pl.DataFrame
        kind (organisation or time), group (left out; before or after the median date), n_models, n_benchmarks, congruence (Tucker's, of the second loadings with those of all models), by_errors (the lower end of
        the refits on redrawn errors) and state (similar, different, too_few).
    title : str
        A name proposed from the loadings.
    level : float
        Coverage of the intervals, between 0 and 1.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "traits"

    benchmarks: pl.DataFrame
    models: pl.DataFrame
    validation: pl.DataFrame
    invariance: pl.DataFrame
    title: str
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Loadings of the benchmarks (main), traits of the models, held-out errors, and invariance."""
        return {
            "traits_benchmarks": self.benchmarks,
            "traits_models": self.models,
            "traits_validation": self.validation,
            "traits_invariance": self.invariance,
        }

    def as_dict(self) -> dict[str, Any]:
        """The name and the results in sentences, the tables and the provenance as plain JSON."""
        return {"title": self.title, "summary": self.words(), **super().as_dict()}

    def words(self) -> list[str]:
        """What was found, in sentences."""
        told = [f"The second trait: {self.title}."]
        for split in self.validation["split"].unique(maintain_order=True):
            if split != ALL_SPLITS:
                rows = {row["method"]: row for row in self.validation.filter(split=split).rows(named=True)}
                one, two = rows[PREDICTED], rows[PREDICTED_2D]
                sure = "" if two["difference_low"] > 0 or two["difference_high"] < 0 else ", not significantly"
                does = "lowers" if two["difference"] < 0 else "raises"
                told.append(
                    f"On {split}, a second dimension {does} the held-out error from {one['rmse']:.4f} to {two['rmse']:.4f} "
                    f"(difference {two['difference']:+.4f} [{two['difference_low']:+.4f}, {two['difference_high']:+.4f}]{sure})."
                )
        for kind, about in (("organisation", "without each organisation"), ("time", "in earlier and in later models")):
            part = self.invariance.filter(pl.col("kind") == kind).drop_nulls("congruence").sort("congruence")
            if len(part):
                least = part.row(0, named=True)
                same = "similar" if least["state"] == "similar" else "different"
                told.append(
                    f"The loadings are {same} {about}: congruence {least['congruence']:.2f} at the least ({least['group']}); redrawn errors alone give {least['by_errors']:.2f}."
                )
        return told

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import traits_section

        return [traits_section(self)]

    def charts(self) -> dict[str, Chart]:
        """Loadings of the benchmarks, and the models by both traits."""
        from howsure.stitch.sensitivity.charts import draw_loadings, draw_traits

        return {"traits_loadings": draw_loadings(self), "traits_models": draw_traits(self)}


@checked
def traits(
    scores: Source | Scores,
    *,
    n_replicates: int = 200,
    folds: int | Source = 10,
    level: float = 0.9,
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> SecondTrait:
    """Loadings and traits of a fit in two dimensions, with intervals, its held-out errors, and whether it is the same over organisations and time.

    Parameters
    ----------
    scores : Scores, frame or path
        One row per model and benchmark.
    n_replicates : int
        Refits that make the intervals.
    folds : int, frame or path
        How many folds the random holes have, or a table with model, benchmark and fold.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        The same seed gives the same numbers.
    scheduler : str, optional
        Address of a Dask scheduler on which the refits run.
    progress : callable, optional
        Is called with the number of parts of the cross-validation done and their total.
    **options
        Those of `howsure.stitch.fit`; the preset is ``default``.
    """
    scores = Scores.of(scores)
    if n_replicates < 2:
        raise OptionError(f"n_replicates is {n_replicates}; at least 2 refits are needed, and 200 are better.")
    options = {**options, "dimensions": 2, "n_replicates": n_replicates, "level": level, "seed": seed}
    scale = fit(scores, **options, scheduler=scheduler)
    problem, whole = scale.problem, _rotated(scale.estimate)
    usable = scale.usable_replicates
    if usable is None:
        raise InputError(f"No intervals for the traits: {scale.without_replicates}.")
    drawn = [_rotated(usable.row(r), whole) for r in range(len(usable))]
    many = [np.array([one[k] for one in drawn]) for k in range(4)]
    names = ("first", "second")
    benchmarks = pl.DataFrame(
        {
            "benchmark": problem.benchmarks,
            "n_models": problem.n_by_benchmark,
            **_columns(names, whole[2:], many[2:], level),
        }
    ).sort("second", descending=True)
    models = pl.DataFrame(
        {
            "model": problem.models,
            "n_benchmarks": problem.n_by_model,
            "organisation": pl.Series(problem.organisations, dtype=pl.String),
            "date": problem.dates,
            **_columns(names, whole[:2], many[:2], level),
        }
    ).sort("second", descending=True)
    methods = [DEFAULT, DEFAULT_2D, PREDICTED, PREDICTED_2D]
    fold = folds_of(problem, folds)
    validation = compare_models(problem, methods=methods, folds=fold, level=level, seed=seed, progress=progress)
    by_errors = float(np.quantile([_congruence(one, whole[3]) for one in many[3]], (1 - level) / 2))
    invariance = _invariance(problem, whole[3], by_errors)
    settings = {"n_replicates": n_replicates, "level": level, "fit": plain(scale.provenance.settings)}
    made = Provenance(settings, scores.digest, seed, scale.provenance.notes)
    return SecondTrait(
        benchmarks=benchmarks, models=models, validation=validation, invariance=invariance,
        title=_name(benchmarks, scores), level=level, provenance=made,
    )  # fmt: skip


def _rotated(found: Aligned, like: tuple[Floats, ...] | None = None) -> tuple[Floats, ...]:
    """Both traits of the models and both loadings of the benchmarks, on principal axes; with the signs of ``like``."""
    if found.trait is None or found.loading is None:
        raise ValueError("one dimension has no second trait")
    across = np.column_stack([found.capability - found.capability.mean(), found.trait - found.trait.mean()])
    by = np.column_stack([found.slope, found.loading])
    left, size, right = np.linalg.svd(across @ by.T, full_matrices=False)
    n = np.sqrt(len(across))
    trait, loading = left[:, :2] * n, right[:2].T * size[:2] / n
    for k in range(2):
        if like is None:
            sign = np.sign(loading[:, 0].sum()) if k == 0 else np.sign(loading[np.abs(loading[:, 1]).argmax(), 1])
        else:
            sign = np.sign(loading[:, k] @ like[2 + k])
        trait[:, k] *= sign or 1.0
        loading[:, k] *= sign or 1.0
    return trait[:, 0], trait[:, 1], loading[:, 0], loading[:, 1]


def _columns(
    names: tuple[str, str], values: tuple[Floats, ...], drawn: list[Floats], level: float
) -> dict[str, Floats]:
    columns: dict[str, Floats] = {}
    for name, value, many in zip(names, values, drawn, strict=True):
        # errors that are added to scores with errors make a small factor look larger: centred at the estimate
        found = replicate_interval(many - many.mean(axis=0) + value, level)
        columns |= {name: value, f"{name}_low": found.low, f"{name}_high": found.high}
    return columns


def _congruence(one: Floats, two: Floats) -> float:
    """Tucker's coefficient, without regard to sign."""
    return float(np.abs(one @ two) / np.sqrt((one @ one) * (two @ two)))


def _invariance(problem: Problem, loading: Floats, by_errors: float) -> pl.DataFrame:
    """Congruence of the loadings without each organisation, and of earlier and of later models alone."""
    makers = np.array([name or "" for name in problem.organisations], dtype=object)
    counts = {str(name): int((makers == name).sum()) for name in set(makers) - {""}}
    parts = [("organisation", name, makers != name) for name in sorted(counts) if counts[name] >= _FEWEST_MODELS]
    is_dated = ~np.isnat(problem.dates)
    if is_dated.any():
        middle = np.quantile(problem.dates[is_dated].astype(np.int64), 0.5)
        is_later = is_dated & (problem.dates.astype(np.int64) > middle)
        day = np.datetime64(int(middle), "D")
        parts += [("time", f"until {day}", is_dated & ~is_later), ("time", f"after {day}", is_later)]
    rows: list[dict[str, Any]] = []
    for kind, group, is_in in parts:
        found, shared = _loadings_of(problem, is_in)
        row: dict[str, Any] = {
            "kind": kind,
            "group": group,
            "n_models": int(is_in.sum()),
            "n_benchmarks": int(shared.sum()),
        }
        value = None if found is None else _congruence(found, loading[shared])
        state = "too_few" if value is None else "similar" if value >= min(by_errors, _ALIKE) else "different"
        rows.append({**row, "congruence": value, "by_errors": by_errors, "state": state})
    kinds = {"kind": pl.String, "group": pl.String, "n_models": pl.Int64, "n_benchmarks": pl.Int64}
    return pl.DataFrame(rows, schema=kinds | {"congruence": pl.Float64, "by_errors": pl.Float64, "state": pl.String})


def _loadings_of(problem: Problem, is_in: Bools) -> tuple[Floats | None, Bools]:
    """Second loadings that some models alone give, of the benchmarks that enough of them have."""
    part = problem.keep(is_in[problem.model])
    shared = part.n_by_benchmark >= _FEWEST_MODELS
    if shared.sum() < _FEWEST_BENCHMARKS:
        return None, shared
    try:
        solution = solve_hierarchy(Problem.of(part.to_frame()), 2)
    except (ValueError, np.linalg.LinAlgError):
        return None, shared
    at, theta = solution.layout, solution.theta
    found = Aligned(
        theta[at.capability], theta[at.difficulty], np.exp(theta[at.log_slope]), theta[at.trait], theta[at.loading]
    )
    by_name = dict(zip(solution.problem.benchmarks, _rotated(found)[3], strict=True))
    return np.array(
        [by_name[name] for name, is_here in zip(problem.benchmarks, shared, strict=True) if is_here]
    ), shared


def _name(benchmarks: pl.DataFrame, scores: Scores) -> str:
    """The ends of the trait: domains where the table has them, else the benchmarks whose intervals exclude 0."""
    ends = [
        benchmarks.filter(pl.col("second_low") > 0).head(_NAMED)["benchmark"].to_list(),
        benchmarks.filter(pl.col("second_high") < 0).reverse().head(_NAMED)["benchmark"].to_list(),
    ]
    if scores.has("domain"):
        domains = (
            scores.frame.select("benchmark", "domain")
            .drop_nulls()
            .unique("benchmark", keep="first", maintain_order=True)
        )
        mean = benchmarks.join(domains, on="benchmark").group_by("domain").agg(pl.col("second").mean(), pl.len())
        mean = mean.filter(pl.col("len") > 1).sort("second", descending=True)
        if len(mean) > 1 and mean["second"][0] > 0 > mean["second"][-1]:
            return f"{mean['domain'][0]} ({', '.join(ends[0]) or 'no benchmark surely'}) against {mean['domain'][-1]} ({', '.join(ends[1]) or 'no benchmark surely'})"
    if not (ends[0] or ends[1]):
        return "no benchmark's loading differs significantly from 0"
    told = [", ".join(names) if names else "the other benchmarks" for names in ends]
    return f"{told[0]} against {told[1]}"
