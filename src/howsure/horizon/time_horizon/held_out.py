"""How well the models of success predict runs that they have not seen: other cells of known tasks, and whole families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.horizon.run_counts import UNKNOWN_AS, ModelCounts, model_counts, with_covariates
from howsure.horizon.time_horizon.curves import CURVES, Timed, curve_success, fit_curves, timed
from howsure.horizon.time_horizon.joint import draw_joint
from howsure.horizon.time_horizon.kernels import FITTED
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Bools, Floats, Ints
from howsure.stats.means import mean, paired_difference
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["HeldOutRuns", "crossvalidate"]

PREDICTORS = ("constant", "logistic", "weibull", "spline", "joint")
"""``constant``: each model's mean success; ``logistic`` and ``joint``: as in `time_horizons`; ``weibull`` and ``spline``: one curve per model of these families (`CURVES`)."""
_DRAWS = 250


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOutRuns(Result):
    """Held-out log-loss and calibration of each predictor.

    Parameters
    ----------
    scores : polars.DataFrame
        One row per kind of fold and predictor: log-loss per run, calibration slope and intercept.
    differences : polars.DataFrame
        Log-loss of each predictor minus that of the logistic curve, with intervals over families of tasks.
    n_runs : int
        Number of runs that were held out and predicted.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "horizon_crossvalidate"

    scores: pl.DataFrame
    differences: pl.DataFrame
    n_runs: int
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``crossvalidate`` (log-loss per run, calibration slope and intercept) and ``crossvalidate_differences``."""
        return {"crossvalidate": self.scores, "crossvalidate_differences": self.differences}

    def sections(self) -> list[Section]:
        """The tables with their explanation, for a report."""
        from howsure.horizon.time_horizon.sections import held_out_sections

        return held_out_sections(self)


@checked
def crossvalidate(
    runs: Attempts | ModelCounts | Source,
    *,
    folds: int = 5,
    kinds: Sequence[str] = ("model",),
    threshold: float | None = None,
    limits: str = "scored",
    covariates: Sequence[str] = (),
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> HeldOutRuns:
    """Held-out log-loss of the curves and of the joint model, on identical folds.

    Held-out *cells* (a model at a task that other models tried) show how well the model knows tasks; held-out *families* of tasks
    show how well it predicts success from the length alone, as a horizon assumes.

    Parameters
    ----------
    runs : Attempts, ModelCounts or frame
        Attempts with minutes.
    folds : int
        Number of folds.
    kinds : sequence of str
        Subjects of these kinds are included: ``model``, ``human``.
    threshold : float, optional
        The smallest score that is a success.
    limits : str
        Runs that were cut at a limit: ``scored``, ``drop`` or ``success``; unknown outcomes (``censored``, ``bounds``) have no log-loss.
    covariates : sequence of str
        Columns that describe tasks by a number; the joint model estimates their effects.
    level : float
        Coverage of the intervals.
    seed : int
        Of the folds and of the joint model's draws.
    progress : callable, optional
        Called with the number of finished fits and their total.
    """
    if limits in UNKNOWN_AS:
        raise OptionError(f"limits {limits} leaves outcomes unknown, which have no log-loss. Use scored or drop.")
    counts = (
        runs
        if isinstance(runs, ModelCounts)
        else model_counts(Attempts.of(runs), kinds=kinds, threshold=threshold, limits=limits)
    )
    if covariates:
        counts = with_covariates(counts, None if isinstance(runs, ModelCounts) else Attempts.of(runs), covariates)
    data = timed(counts)
    kept, rng = data.counts, np.random.default_rng(seed)
    n_families = int(kept.family.max()) + 1
    if not 2 <= folds <= n_families:
        raise OptionError(f"folds {folds} is not between 2 and the number of families, {n_families}.")
    splits = {
        "cells": rng.integers(0, folds, kept.n.shape),
        "families": np.broadcast_to(rng.permutation(np.arange(n_families) % folds)[kept.family], kept.n.shape),
    }
    rows, differences = [], []
    for place, (kind, fold) in enumerate(splits.items()):
        tick = None if progress is None else partial(_tick, progress, place * folds, 2 * folds)
        expected = _predict(data, fold, folds, covariates, seed, tick)
        losses = {name: _family_loss(kept, p) for name, p in expected.items()}
        rows += [
            {"held_out": kind, "predictor": name}
            | columns_of(log_loss=_ratio(loss, kept, level))
            | _calibration(kept, expected[name])
            for name, loss in losses.items()
        ]
        runs_of = np.bincount(kept.family, kept.n.sum(axis=0), n_families)
        for name in PREDICTORS:
            if name == "logistic":
                continue
            gap = paired_difference(
                losses[name] / runs_of.mean(), losses["logistic"] / runs_of.mean(), level=level, bounds=None
            )
            differences.append({"held_out": kind, "a": name, "b": "logistic"} | columns_of(difference=gap.estimate))
    settings = {
        "folds": folds,
        "kinds": list(kinds),
        "threshold": threshold,
        "limits": limits,
        "covariates": list(covariates),
        "level": level,
    }
    return HeldOutRuns(
        scores=pl.DataFrame(rows, infer_schema_length=None),
        differences=pl.DataFrame(differences, infer_schema_length=None),
        n_runs=int(kept.n.sum()),
        provenance=Provenance(settings, kept.digest, seed, kept.notes),
    )


def _predict(
    data: Timed, fold: Ints, folds: int, covariates: Sequence[str], seed: int, tick: Callable[[int], None] | None
) -> dict[str, Floats]:
    """Expected success of each cell from the folds that it is not in."""
    expected = {name: np.empty(fold.shape) for name in PREDICTORS}
    for one in range(folds):
        held = fold == one
        training = _without(data, held)
        rate = (training.counts.successes.sum(axis=1) + 0.5) / (training.counts.n.sum(axis=1) + 1)
        curves = fit_curves(training)
        logistic = np.where(curves.outcome[:, None] == FITTED, curves.success(data.x), rate[:, None])
        joint = draw_joint(training, _DRAWS, covariates=covariates, seed=seed + one).cell
        others = [np.where(np.isnan(p := curve_success(training, curve, data.x)), logistic, p) for curve in CURVES[1:]]
        every = (np.broadcast_to(rate[:, None], fold.shape), logistic, *others, joint)
        for name, p in zip(PREDICTORS, every, strict=True):
            expected[name][held] = p[held]
        if tick:
            tick(one + 1)
    return expected


def _tick(progress: Callable[[int, int], None], before: int, total: int, done: int) -> None:
    progress(before + done, total)


def _without(data: Timed, held: Bools) -> Timed:
    """The same data without some cells; their weights move to the others."""
    counts = replace(
        data.counts, n=np.where(held, 0, data.counts.n), successes=np.where(held, 0, data.counts.successes)
    )
    weight = np.where(held, 0, data.weight)
    return replace(data, counts=counts, weight=weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-12))


def _family_loss(counts: ModelCounts, expected: Floats) -> Floats:
    """The sum of the log-losses of each family's runs."""
    p = np.clip(expected, 1e-6, 1 - 1e-6)
    loss = -(counts.successes * np.log(p) + (counts.n - counts.successes) * np.log(1 - p))
    return np.bincount(counts.family, loss.sum(axis=0), int(counts.family.max()) + 1).astype(np.float64)


def _ratio(loss: Floats, counts: ModelCounts, level: float) -> Estimate:
    """Log-loss per run: a ratio of sums over families, with the interval of its linearisation."""
    runs = np.bincount(counts.family, counts.n.sum(axis=0), len(loss))
    value = loss.sum() / runs.sum()
    return mean(value + (loss - value * runs) / runs.mean(), level=level, bounds=None).estimate


def _calibration(counts: ModelCounts, expected: Floats) -> dict[str, float]:
    """Mean expected and observed success, and the slope of a logistic regression of success on the expected log-odds (1 is calibrated)."""
    from howsure.horizon.time_horizon.kernels import fit

    p = np.clip(expected, 1e-6, 1 - 1e-6)
    tried = counts.n > 0
    total = counts.n.sum()
    good, bad = counts.successes[tried] / total, (counts.n - counts.successes)[tried] / total
    _, slope, _ = fit(-np.log(p / (1 - p))[tried], good, bad, len(good), 0.0, 0.0, -1.0)
    return {
        "expected": float((expected * counts.n).sum() / total),
        "observed": float(counts.successes.sum() / total),
        "calibration_slope": -float(slope),
    }
