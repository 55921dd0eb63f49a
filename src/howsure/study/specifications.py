"""Agreement of raters, and whether a judge may replace one, under many specifications."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from howsure.errors import HowsureError, InputError, OptionError
from howsure.estimates import Estimate
from howsure.results.choices import AnalysisChoice, AnalysisOption, Choices, Specification
from howsure.stats._arrays import Floats
from howsure.stats.reliability import cronbach_alpha, fleiss_kappa, gwet, intraclass, krippendorff, percent_agreement
from howsure.study.agreement import Reliability, clusters_used, coded, matrix_of, reliability
from howsure.study.judging.comparison import JudgeComparison
from howsure.study.judging.validation import validate
from howsure.study.scoring.fidelity import is_pair
from howsure.tables import Ratings

__all__ = [
    "agreement_choices",
    "agreement_under",
    "draw_agreement",
    "replacement_choices",
    "replacement_under",
]

_SHROUT = "Shrout and Fleiss 1979"
_WITHOUT = "without "
_FEWEST_RATERS = 4  # of whom one may be excluded
_ALIKE = {
    "icc_2_k": ("the mean of raters who are a sample of possible ones", _SHROUT),
    "icc_3_k": ("the mean of exactly these raters, whose severity does no harm", _SHROUT),
    "icc_1_k": ("the mean of raters of whom nobody knows who rated what", _SHROUT),
    "icc_2_1": ("one rater, of a sample of possible ones", _SHROUT),
    "icc_3_1": ("one of exactly these raters, whose severity does no harm", _SHROUT),
    "krippendorff_interval": ("one rating; any number of raters, and gaps", "Krippendorff 2011"),
    "krippendorff_ordinal": ("one rating; the categories have an order but no known distances", "Krippendorff 2011"),
    "krippendorff_nominal": ("categories without order; any number of raters, and gaps", "Krippendorff 2011"),
    "gwet_ac1": ("not low where one category is frequent", "Gwet 2008"),
    "fleiss_kappa": ("in common use for categories", "Fleiss 1971"),
}
_GROUPS = (
    ("icc_2_k", "icc_3_k", "icc_1_k"),
    ("icc_2_1", "icc_3_1", "krippendorff_interval", "krippendorff_ordinal"),
    ("krippendorff_nominal", "gwet_ac1", "fleiss_kappa"),
)
"""Coefficients that answer the same question: of the mean of all raters, of one rating, of a category."""


def agreement_choices(ratings: Ratings, dimension: str | None, coefficient: str = "") -> Choices:
    """The defensible choices of agreement that these ratings allow, each with its reasons.

    Parameters
    ----------
    ratings : Ratings
        The ratings; a choice that would change nothing is not offered.
    dimension : str, optional
        Which dimension, where there are several.
    coefficient : str
        The coefficient that is claimed; by default the one that `reliability` says to report.
    """
    o = AnalysisOption
    found = reliability(ratings, dimension=dimension)
    first = coefficient or found.report
    if first not in found.coefficients:
        raise OptionError.unknown("coefficient", first, list(found.coefficients))
    group = next((names for names in _GROUPS if first in names), (first,))
    order = [first, *(name for name in group if name != first and name in found.coefficients)]
    reason = ("the coefficient that fits these ratings", "the default of howsure study reliability")
    options = tuple(o(name, *_ALIKE.get(name, reason)) for name in order)
    offered = [
        AnalysisChoice("coefficient", "Which coefficient of agreement?", options, tuple(found.coefficients)),
        *_rater_choice(ratings, dimension),
        *_cluster_choice(ratings),
    ]
    return Choices(tuple(offered))


def _rater_choice(people: Ratings, dimension: str | None) -> list[AnalysisChoice]:
    """All raters, or all without the one who agrees least with the others."""
    (numbers,), names = coded(people)
    frame = numbers.frame.filter(is_pair())
    frame = frame.filter(pl.col("dimension") == (dimension or frame["dimension"][0]))
    if frame["rater"].n_unique() < _FEWEST_RATERS:
        return []
    matrix, _, raters = matrix_of(frame)
    apart = np.abs(matrix[:, :, None] - matrix[:, None, :])
    apart = np.where(np.isnan(apart), np.nan, apart > 0) if names else apart
    apart[:, np.arange(len(raters)), np.arange(len(raters))] = np.nan
    far = [float(np.nanmean(one)) if not np.isnan(one).all() else 0.0 for one in np.moveaxis(apart, 1, 0)]
    least = raters[int(np.argmax(far))]
    options = (
        AnalysisOption("all", "every rater followed the protocol"),
        AnalysisOption(f"{_WITHOUT}{least}", "the rater who agrees least with the others may have been careless"),
    )
    known = tuple(f"{_WITHOUT}{rater}" for rater in raters)
    return [AnalysisChoice("raters", f"Which of the {len(raters)} raters count?", options, known)]


def _cluster_choice(*tables: Ratings) -> list[AnalysisChoice]:
    if clusters_used(None, *tables)[0] is None:
        return []
    options = (
        AnalysisOption("cluster", "items of one cluster resemble each other", "Miller 2024, arXiv:2411.00640"),
        AnalysisOption("none", "items are independent"),
    )
    return [AnalysisChoice("cluster", "Which items are not independent?", options)]


def _ratings_under(ratings: Ratings, specification: Specification) -> Ratings:
    """The ratings that a specification includes."""
    kept, whose = ratings.lazy, specification.get("raters", "all")
    if whose != "all":
        kept = kept.filter(pl.col("rater") != whose.removeprefix(_WITHOUT))
    if specification.get("cluster") == "none":
        kept = kept.drop("cluster", strict=False)
    return Ratings(kept.collect(), notes=ratings.notes)


def agreement_under(ratings: Ratings, specification: Specification, dimension: str | None, level: float) -> Estimate:
    """The coefficient of a specification as `reliability` gives it.

    Parameters
    ----------
    ratings : Ratings
        All ratings.
    specification : mapping
        The options by choice.
    dimension : str, optional
        Which dimension.
    level : float
        Coverage of the interval.
    """
    try:
        found: Reliability = reliability(_ratings_under(ratings, specification), dimension=dimension, level=level)
    except InputError as error:
        return Estimate.without("undefined", str(error), level=level)
    return found.coefficients[specification["coefficient"]]


def draw_agreement(
    ratings: Ratings,
    specifications: Sequence[Specification],
    dimension: str | None,
    *,
    n_replicates: int,
    seed: int = 0,
) -> Floats:
    """The coefficients in each replicate, shape (replicates, specifications), over items (or clusters of them) that all specifications share.

    Without a row where raters left gaps: refits with gaps are too slow.

    Parameters
    ----------
    ratings : Ratings
        All ratings.
    specifications : sequence of mapping
        The options by choice.
    dimension : str, optional
        Which dimension.
    n_replicates : int
        Bootstrap replicates over items.
    seed : int
        The same seed gives the same numbers.
    """
    (numbers,), _ = coded(ratings)
    frame = numbers.frame.filter(is_pair())
    frame = frame.filter(pl.col("dimension") == (dimension or frame["dimension"][0]))
    matrix, items, raters = matrix_of(frame)
    if np.isnan(matrix).any():
        return np.empty((0, len(specifications)))
    of_item, _ = clusters_used(None, Ratings(frame))
    drawn = np.full((n_replicates, len(specifications)), np.nan)
    for place, specification in enumerate(specifications):
        is_clustered = of_item is not None and specification.get("cluster") != "none"
        labels = np.array([of_item[item] if of_item and is_clustered else item for item in items])
        names, unit = np.unique(labels, return_inverse=True)
        rows = [np.flatnonzero(unit == number) for number in range(len(names))]
        chosen = [rater != specification.get("raters", "all").removeprefix(_WITHOUT) for rater in raters]
        rng = np.random.default_rng([seed, len(names)])  # the same items for specifications with the same unit
        for r in range(n_replicates):
            picked = np.concatenate([rows[number] for number in rng.integers(len(names), size=len(names))])
            drawn[r, place] = _value(matrix[picked][:, chosen], specification["coefficient"])
    return drawn


def _value(matrix: Floats, name: str) -> float:
    """One coefficient of a table; NaN where it is not defined."""
    kind, _, metric = name.partition("_")
    try:
        if kind == "icc":
            found = intraclass(matrix)[name]
        elif kind == "krippendorff":
            found = krippendorff(matrix, metric)  # type: ignore[arg-type]  # one of its metrics
        elif kind == "gwet":
            found = gwet(matrix, *([] if metric == "ac1" else [metric.removeprefix("ac2_")]))  # type: ignore[arg-type]
        else:
            plain = {"cronbach_alpha": cronbach_alpha, "fleiss_kappa": fleiss_kappa}
            found = plain.get(name, percent_agreement)(matrix)
    except HowsureError:
        return float("nan")
    return float("nan") if found.value is None else found.value


def replacement_choices(people: Ratings, judge: Ratings, dimension: str | None) -> Choices:
    """The defensible choices of the alternative-annotator test that these ratings allow, each with its reasons.

    Parameters
    ----------
    people, judge : Ratings
        Who rated what.
    dimension : str, optional
        Which dimension.
    """
    o = AnalysisOption
    calderon = "Calderon, Reichart and Dror 2025"
    offered = [
        AnalysisChoice(
            "epsilon",
            "How much worse than a rater may a judge be, because it is cheaper?",
            (o("0.2", "raters are experts", calderon), o("0.1", "raters are crowd workers, who cost less", calderon)),
            is_number=True,
        )
    ]
    if not people.is_categorical:
        offered.append(
            AnalysisChoice(
                "measure",
                "When does the judge agree with the others?",
                (o("closeness", "a small distance is better than a large one", calderon), o("match", "only the same rating is agreement", calderon)),
            )
        )  # fmt: skip
    return Choices((*offered, *_rater_choice(people, dimension), *_cluster_choice(people, judge)))


def replacement_under(
    people: Ratings, judge: Ratings, specification: Specification, dimension: str | None, level: float
) -> JudgeComparison | str:
    """The judge compared with people under a specification, as `validate` gives it; or why it cannot be.

    Parameters
    ----------
    people, judge : Ratings
        Who rated what.
    specification : mapping
        The options by choice.
    dimension : str, optional
        Which dimension, where there are several.
    level : float
        Coverage of the intervals.
    """
    kind = {"kind": "match"} if specification.get("measure") == "match" else {}
    sides = [_ratings_under(people, specification), _ratings_under(judge, {**specification, "raters": "all"})]
    if all(dimension in side.frame["dimension"] for side in sides):  # an index needs all of its parts
        sides = [Ratings(side.frame.filter(pl.col("dimension") == dimension), notes=side.notes) for side in sides]
    try:
        found = validate(*sides, epsilon=float(specification["epsilon"]), level=level, power_simulations=0, **kind)  # type: ignore[arg-type]
    except InputError as error:
        return str(error)
    rows = [row for row in found.rows if dimension in (None, row.dimension)]
    if not rows:
        return f"not both rated {dimension}"
    if len(rows) > 1:
        raise OptionError(
            f"There are {len(rows)} dimensions. Name one with on: {', '.join(row.dimension for row in rows[:8])}."
        )
    return rows[0]
