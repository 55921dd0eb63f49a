"""Success rates corrected for a judge's errors under many specifications, over common draws of tasks."""

from __future__ import annotations

import numpy as np
import polars as pl

from howsure.bridges.judge_correction import Corrected, correct
from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.evals.specifications import ClusterDraws
from howsure.results.choices import AnalysisChoice, AnalysisOption, Choices, Specification
from howsure.stats._arrays import Floats
from howsure.stats.corrections import fit_judge_errors
from howsure.stats.label_sampling import powered_scores
from howsure.tables import Attempts, Ratings

__all__ = ["corrected_choices", "corrected_under", "judge_rates"]

_PASS = 0.5
_POWERED, _COMMON = "PPI++", "Rogan–Gladen"


def corrected_choices(attempts: Attempts, labels: Ratings) -> Choices:
    """The defensible choices of a corrected success rate that these verdicts and labels allow, each with its reasons.

    Parameters
    ----------
    attempts : Attempts
        The verdicts; a choice that would change nothing is not offered.
    labels : Ratings
        People's labels of some of them.
    """
    o = AnalysisOption
    found = correct(attempts, labels)
    methods = [
        o(
            _POWERED,
            "uses the model's own labels, whatever the judge's errors on other models",
            "Angelopoulos, Duchi and Zrnic 2023",
        )
    ]
    if not found.errors_differ:
        methods.append(
            o(
                _COMMON,
                "uses the labels of all models; the judge errs alike on all, which these labels do not refute",
                "Rogan and Gladen 1978",
            )
        )
    clusters = [
        o("task", "attempts at one task resemble each other", "the default of howsure bridge judged"),
        o("none", "attempts are independent"),
    ]
    if attempts.has("family") and 1 < attempts.frame["family"].n_unique() < attempts.frame["task"].n_unique():
        clusters.insert(1, o("family", "tasks of one family share a source or a text", "Miller 2024, arXiv:2411.00640"))
    choices = (
        AnalysisChoice("correction", "How are the judge's errors corrected?", tuple(methods), (_POWERED, _COMMON)),
        AnalysisChoice("cluster", "Which attempts are not independent?", tuple(clusters)),
    )
    return Choices(choices)


def corrected_under(
    attempts: Attempts, labels: Ratings, specification: Specification, model: str, draws: ClusterDraws, level: float
) -> tuple[Estimate, Floats]:
    """A model's corrected success rate as `correct` gives it, and in each replicate.

    Parameters
    ----------
    attempts : Attempts
        The verdicts of a judge.
    labels : Ratings
        People's labels of some of them.
    specification : mapping
        The options by choice.
    model : str
        Whose rate.
    draws : ClusterDraws
        Weights of clusters in each replicate.
    level : float
        Coverage of the interval.
    """
    cluster = specification.get("cluster", "task")
    is_powered = specification.get("correction", _POWERED) == _POWERED
    try:
        found = correct(attempts, labels, level=level, cluster=None if cluster == "none" else cluster)
    except InputError as error:
        return Estimate.without("too_few", str(error), level=level), np.full(draws.n_replicates, np.nan)
    row = next(one for one in found.rows if one.model == model)
    unit = pl.format("{}/{}/{}", "subject", "task", "attempt") if cluster == "none" else pl.col(cluster).cast(pl.String)
    frame = found.frame.with_columns(unit.alias("#unit"))
    own = frame.filter(pl.col("subject") == model)
    weight = draws.weights(own["#unit"].to_list())
    total = weight.sum(axis=1)
    if is_powered:
        y = own["label"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        if np.isfinite(y).sum() < 3:
            return row.powered, np.full(draws.n_replicates, np.nan)
        return row.powered, np.asarray(weight @ powered_scores(y, own["score"].to_numpy(), np.ones(len(own))) / total)
    cells = frame.select("#unit", "subject", verdict=pl.col("score") >= _PASS, is_good=pl.col("label") >= _PASS)
    units, models = cells["#unit"].unique(maintain_order=True).to_list(), [one.model for one in found.rows]
    of_unit, of_model = ({name: place for place, name in enumerate(names)} for names in (units, models))
    counts = np.zeros((len(units), len(models), 3, 2))  # labelled as failure or success, or not labelled; by verdict
    for unit, subject, verdict, is_good, n in cells.group_by(cells.columns).len().iter_rows():
        counts[of_unit[unit], of_model[subject], 2 if is_good is None else int(is_good), int(verdict)] = n
    drawn = np.tensordot(draws.weights(units), counts, axes=1)
    rates = fit_judge_errors(drawn[:, :, :2], drawn[:, :, 2]).rates
    return row.corrected, np.asarray(rates[:, of_model[model]])


def judge_rates(found: Corrected, model: str) -> tuple[float, float]:
    """The share of a model's attempts that the judge passes, and the judge's sensitivity over all labels."""
    known = found.frame.drop_nulls("label")
    good = known["label"].to_numpy() >= _PASS
    own = found.frame.filter(pl.col("subject") == model)["score"].to_numpy() >= _PASS
    return float(own.mean()), float((known["score"].to_numpy() >= _PASS)[good].mean()) if good.any() else 1.0
