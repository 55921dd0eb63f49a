"""Capability scales under many specifications: the defensible choices of `fit`, and a scale in one unit under each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import polars as pl

from howsure.errors import HowsureError, OptionError
from howsure.estimates import Estimate
from howsure.results.choices import AnalysisChoice, AnalysisOption, Choices, OptionExclusion, Specification
from howsure.stitch.forecasting.saturation import Saturation, saturate
from howsure.stitch.model.fits import RIDGE
from howsure.stitch.scale import LEAST_REFERENCE, Scale, fit, prepared_for
from howsure.tables import Scores

__all__ = ["Keep", "saturation_under", "scale_choices", "scales_under"]

Keep: TypeAlias = Callable[[dict[str, Any], Callable[[], Scale]], Scale]
"""From the settings of a fit and the fit itself to its result."""

_HO = "Ho et al. 2025, arXiv:2512.00193"
_FEWEST = 4  # benchmarks, the default of `fit`
_RIDGE = f"ridge {RIDGE:g}"


def scale_choices(scores: Scores) -> Choices:
    """The defensible choices of a capability scale that these scores allow, each with its reasons.

    Parameters
    ----------
    scores : Scores
        The scores; a choice that would change nothing is not offered.
    """
    o = AnalysisOption
    frame = scores.frame
    offered = [
        AnalysisChoice(
            "priors",
            "What keeps parameters of few scores moderate?",
            (
                o("learned", "priors and noise are learned from the table", "the default of howsure stitch fit"),
                o(_RIDGE, "one penalty on all parameters, the same for every table; no floors", _HO),
            ),
            tuple(f"ridge {strength:g}" for strength in (0.01, 0.03, 0.1, 0.3, 1)),
        ),
        AnalysisChoice(
            "dimensions",
            "Is there one capability, or a second trait beside it?",
            (
                o("1", "one capability explains most of the differences", _HO),
                o("2", "benchmarks ask for a second trait to different degrees", "multidimensional item response theory; Reckase 2009"),
            ),
        ),
    ]  # fmt: skip
    exclusions = [_excludes("dimensions", "2", "the published objective has one dimension")]
    if scores.has("floor") and (frame["floor"].fill_null(0.0) > 0).any():
        n = frame.filter(pl.col("floor") > 0)["benchmark"].n_unique()
        offered.append(
            AnalysisChoice(
                "floors",
                f"Is the score of guessing the lowest possible ({n} of {frame['benchmark'].n_unique()} benchmarks have one)?",
                (o("used", "random guesses are sometimes right", "three-parameter logistic model; Birnbaum 1968"), o("none", "a model may do worse than chance", _HO)),
            )
        )  # fmt: skip
        exclusions.append(_excludes("floors", "none", "the published objective uses no floors"))
    n_pairs = int(frame.select(pl.struct("model", "benchmark").is_duplicated().sum()).item())
    if n_pairs:
        offered.append(
            AnalysisChoice(
                "duplicates",
                f"Which score counts where a model has several on a benchmark ({n_pairs:,} scores)?",
                (
                    o("mean", "each is a measurement", "the default of howsure stitch fit"),
                    o("max", "the best elicitation shows the capability", _HO),
                    o("min", "the highest of several scores is biased upwards"),
                ),
            )
        )
    if scores.has("superseded_by") and frame["superseded_by"].is_not_null().any():
        offered.append(
            AnalysisChoice(
                "superseded",
                "Are benchmarks included that a newer version replaced?",
                (o("included", "they were measured as well"), o("excluded", "known faults led to the newer version", "Epoch Capabilities Index")),
            )
        )  # fmt: skip
    more = _FEWEST + 2
    by_model = frame.group_by("model").agg(pl.col("benchmark").n_unique().alias("n"))["n"]
    if (kept := int((by_model >= more).sum())) < int((by_model >= _FEWEST).sum()) and kept >= 2:
        offered.append(
            AnalysisChoice(
                "min_benchmarks",
                "On how many benchmarks must a model have scores?",
                (
                    o(f"{_FEWEST}", "models on fewer are hardly linked to the others", "the default of howsure stitch fit"),
                    o(f"{more}", "scores of few benchmarks are often chosen by the developer", f"{kept} models are left"),
                ),
                is_number=True,
            )
        )  # fmt: skip
    return Choices(tuple(offered), tuple(exclusions))


def saturation_under(
    scale: Scale | str, benchmark: str, reach: float, *, level: float, seed: int = 0
) -> Saturation | Estimate:
    """When a score is reached on a benchmark, as `howsure.stitch.forecast` dates it; or why that is not known.

    Parameters
    ----------
    scale : Scale or str
        The scale of the specification, as `scales_under` gives it.
    benchmark : str
        Which benchmark.
    reach : float
        The score, between 0 and 1.
    level : float
        Coverage of the interval.
    seed : int
        The same seed gives the same numbers.
    """
    if isinstance(scale, str):
        return Estimate.without("undefined", scale, level=level)
    try:
        found = saturate(scale, reach=reach, level=level, seed=seed)
    except HowsureError as error:
        return Estimate.without("undefined", str(error), level=level)
    nothing = Estimate.without("too_few", f"{benchmark} is not on this scale", level=level)
    return next((one for one in found if one.benchmark == benchmark), nothing)


def _excludes(name: str, option: str, reason: str) -> OptionExclusion:
    return OptionExclusion(("priors", _RIDGE), (name, option), reason)


def scales_under(
    scores: Scores,
    specifications: Sequence[Specification],
    *,
    n_replicates: int,
    level: float,
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    keep: Keep | None = None,
) -> list[Scale | str]:
    """The scale of each specification, all in the unit of the first; where there is none, the reason.

    Parameters
    ----------
    scores : Scores
        The scores.
    specifications : sequence of mapping
        The options by choice, the default first. Its scale is what `fit` gives; the others take the mean and standard deviation of the models that they share with it.
    n_replicates : int
        Refits of each, from the same seed.
    level : float
        Coverage of the intervals.
    seed : int
        The same seed gives the same numbers.
    scheduler : str, optional
        A Dask scheduler, such as ``tcp://host:8786``.
    progress : callable, optional
        Called with the number of specifications that are done and their total.
    keep : callable, optional
        Called with the settings of each fit and a function that makes it; gives the scale, which it may have from an earlier try.
    """
    found: list[Scale | str] = []
    drawing: dict[str, Any] = {"n_replicates": n_replicates, "level": level, "seed": seed, "scheduler": scheduler}
    unit: Scale | None = None
    for done, specification in enumerate(specifications, 1):
        options = _options(scores, specification)
        try:
            if unit is not None:
                there = set(
                    prepared_for(
                        scores, **{k: v for k, v in options.items() if k not in ("ridge", "dimensions")}
                    ).models
                )
                if len(there & set(unit.problem.models)) >= LEAST_REFERENCE:
                    options["reference"] = unit
            fit_it = partial(fit, scores, **options, **drawing)
            told = {**options, **drawing, "reference": "reference" in options, "scheduler": None}
            scale = keep(told, fit_it) if keep else fit_it()
            unit = unit or scale
            found.append(scale)
        except HowsureError as error:
            if done == 1:
                raise
            found.append(str(error))
        if progress:
            progress(done, len(specifications))
    return found


def _options(scores: Scores, specification: Specification) -> dict[str, Any]:
    """A specification as arguments of `fit`."""
    options: dict[str, Any] = {"min_benchmarks": int(float(specification.get("min_benchmarks", _FEWEST)))}
    priors = specification.get("priors", "learned")
    if priors == "learned":
        options["dimensions"] = int(specification.get("dimensions", "1"))
        if specification.get("floors") == "none":
            options["floors"] = dict.fromkeys(scores.frame["benchmark"].unique().sort(), 0.0)
    elif priors.startswith("ridge "):
        options |= {"preset": "paper", "since": "", "ridge": float(priors.removeprefix("ridge "))}
        options |= {"include": sorted(scores.frame["benchmark"].unique())}
    else:
        raise OptionError.unknown("priors", priors, ("learned", _RIDGE))
    options["duplicates"] = specification.get("duplicates", "mean")
    if specification.get("superseded") == "excluded":
        options["exclude"] = scores.frame.filter(pl.col("superseded_by").is_not_null())["benchmark"].unique().to_list()
    return options
