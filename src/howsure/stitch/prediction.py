"""Scores that are not there: what to expect of a model on a benchmark, and how far an observed score may lie from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl
from scipy.special import ndtr

from howsure.arguments import checked
from howsure.results import Provenance, Result
from howsure.stats._arrays import normal_quantile, t_quantile
from howsure.stitch.model.problem import Floats, Ints
from howsure.stitch.model.residuals import PredictedScores, fit_residuals
from howsure.stitch.scale import Scale, solve_again

__all__ = ["Predictions", "ScoreIntervals", "intervals_of", "predict", "prediction_frame"]

_LEAST_VARIANCE = 1e-12
_FARTHEST_SD, _HALVINGS = 8.0, 40


@dataclass(frozen=True, eq=False, kw_only=True)
class Predictions(Result):
    """Expected scores, with a confidence interval and a prediction interval.

    Parameters
    ----------
    scores : pl.DataFrame
        model, benchmark, expected (score) with its confidence interval (expected_low, expected_high, expected_state), prediction (median of one score that would be observed) with its
        prediction interval (prediction_low, prediction_high), observed (the fitted score, null where there is none).
    level : float
        Coverage of both intervals, between 0 and 1.
    provenance : Provenance
        Settings, digest of the input, version and notes.
    """

    name: ClassVar[str] = "predictions"

    scores: pl.DataFrame
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One row per model and benchmark."""
        return {"predictions": self.scores}


@checked
def predict(
    scale: Scale | str | os.PathLike[str],
    models: str | Sequence[str] | None = None,
    benchmarks: str | Sequence[str] | None = None,
) -> Predictions:
    """Expected scores of models on benchmarks, with a confidence interval and a prediction interval.

    The expected score is that of the fitted curve, moved by the residuals of related scores: of the same family, organisation and time on this benchmark, and of the
    model on others (`howsure.stitch.model.residuals`). Its confidence interval includes the uncertainty of capability, difficulty and slope. The prediction interval
    adds the noise of one observed score: the sampling error of its items and the benchmark's own noise. Both lie within 0 and 1.

    ``expected_state`` is ``too_few`` for a benchmark that fewer than three models have, and ``undefined``, without a number, for one whose scores do not
    rise with capability.

    Parameters
    ----------
    scale : Scale or path
        A finished scale; its level is that of the intervals.
    models : str or sequence of str, optional
        Models of the scale; by default all.
    benchmarks : str or sequence of str, optional
        Benchmarks of the scale; by default all.

    Returns
    -------
    Predictions
        One row per pair, the models in the order given, for each the highest expected score first.

    Raises
    ------
    OptionError
        If the scale has no model or no benchmark of a given name.
    """
    scale = Scale.loaded(scale)
    chosen_models = scale.problem.models if models is None else _names(models)
    chosen_benchmarks = scale.problem.benchmarks if benchmarks is None else _names(benchmarks)
    m = np.repeat([scale.problem.model_at(name) for name in chosen_models], len(chosen_benchmarks)).astype(np.int64)
    b = np.tile([scale.problem.benchmark_at(name) for name in chosen_benchmarks], len(chosen_models)).astype(np.int64)
    process = fit_residuals(solve_again(scale)[0])
    found = process.predict(m, b)
    frame = prediction_frame(scale, [scale.problem.models[i] for i in m], b, found)
    scores = scale.problem.to_frame().select("model", "benchmark", pl.col("score").alias("observed"))
    frame = frame.join(scores, on=["model", "benchmark"], how="left", maintain_order="left")
    settings = {
        "models": None if models is None else list(chosen_models),
        "benchmarks": None if benchmarks is None else list(chosen_benchmarks),
        "level": scale.level,
        "strengths": process.strengths,
        "scale": scale.provenance.settings,
    }
    return Predictions(scores=frame, level=scale.level, provenance=Provenance(settings, scale.provenance.digest))


_STATES = {"too_few": "too_few", "undefined": "undefined"}


def prediction_frame(scale: Scale, models: Sequence[str], benchmark: Ints, found: PredictedScores) -> pl.DataFrame:
    """Predicted scores as a table: the models in the order given, for each the highest expected score first."""
    ends = intervals_of(found, scale.level)
    state = dict(scale.benchmarks.select("benchmark", "difficulty_state").iter_rows())
    names = [scale.problem.benchmarks[i] for i in benchmark]
    place = {name: k for k, name in enumerate(dict.fromkeys(models))}
    frame = pl.DataFrame(
        {
            "order": [place[name] for name in models],
            "model": models,
            "benchmark": names,
            "expected": found.expected,
            "expected_low": ends.expected_low,
            "expected_high": ends.expected_high,
            "expected_state": [_STATES.get(state[name], "ok") for name in names],
            "prediction": ends.prediction,
            "prediction_low": ends.prediction_low,
            "prediction_high": ends.prediction_high,
        },
        schema_overrides={"order": pl.Int64, **dict.fromkeys(("model", "benchmark", "expected_state"), pl.String)},
    )
    return (
        frame.with_columns(pl.when(pl.col("expected_state") != "undefined").then(pl.col(pl.Float64)))
        .sort("order", "expected", "benchmark", descending=[False, True, False], nulls_last=True)
        .drop("order")
    )


class ScoreIntervals(NamedTuple):
    """Ends of the confidence intervals of expected scores; predictions of observed scores (medians) with their intervals."""

    expected_low: Floats
    expected_high: Floats
    prediction: Floats
    prediction_low: Floats
    prediction_high: Floats


def intervals_of(found: PredictedScores, level: float) -> ScoreIntervals:
    """Confidence and prediction intervals, within 0 and 1: quantiles of mixtures of normals.

    The expected score lies between 0 and 1; an observed one may be 0 or 1, which has the probability of all that is beyond. Prediction intervals are longer by as much as Student's t has
    longer intervals with the degrees of freedom of the benchmark's noise, since that is an estimate too.
    """
    df, where = np.unique(found.degrees, return_inverse=True)
    longer = np.array([t_quantile(level, one) for one in df])[where] / normal_quantile(level)
    sd = np.sqrt(np.maximum(found.rest[:, None] + found.noise, _LEAST_VARIANCE))
    first, last = (ends(found.middle + side * _FARTHEST_SD * sd, axis=1) for ends, side in ((np.min, -1), (np.max, 1)))

    def share_below(score: Floats) -> Floats:
        return np.asarray(ndtr((score[:, None] - found.middle) / sd).mean(axis=1))

    tails = (1 - level) / 2, (1 + level) / 2
    expected_low, expected_high = (
        _quantile(found.share_below, np.zeros_like(first), np.ones_like(first), p) for p in tails
    )
    low, middle, high = (
        np.clip(found.mean + longer * (_quantile(share_below, first, last, p) - found.mean), 0, 1)
        for p in (tails[0], 0.5, tails[1])
    )
    return ScoreIntervals(
        expected_low, expected_high, middle, np.minimum(low, expected_low), np.maximum(high, expected_high)
    )


def _quantile(share_below: Callable[[Floats], Floats], low: Floats, high: Floats, p: float) -> Floats:
    """Quantiles of several distributions between these ends, by bisection."""
    for _ in range(_HALVINGS):
        at = (low + high) / 2
        is_below = share_below(at) < p
        low, high = np.where(is_below, at, low), np.where(is_below, high, at)
    found: Floats = (low + high) / 2
    return found


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))
