"""How well scores are predicted that the fit has not seen: random holes, new models, later models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.results import Provenance, Result
from howsure.stats._arrays import check_level
from howsure.stats.bootstrap import hierarchical_weights, percentile
from howsure.stitch.model.anchors import AnchorBenchmark
from howsure.stitch.model.hierarchy import solve_hierarchy
from howsure.stitch.model.layout import Bools, Floats, Ints
from howsure.stitch.model.noise import expected
from howsure.stitch.model.problem import Problem
from howsure.stitch.model.residuals import fit_residuals
from howsure.stitch.model.solutions import solve_ridge
from howsure.stitch.prediction import intervals_of
from howsure.stitch.scale import prepared_for
from howsure.stitch.sensitivity.crossvalidation import folds_of, make_folds
from howsure.stitch.sensitivity.settings import DEFAULT, PAPER
from howsure.tables import Scores

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["METHODS", "SPLITS", "HeldOutScores", "validate"]

PREDICTED = "predict (default with residuals)"
METHODS = (PAPER, DEFAULT, PREDICTED)
SPLITS = ("random holes", "new models", "later models")
_FAMILY_FOLDS = 5
_CUTOFFS = (0.5, 0.65, 0.8)  # shares of the models that are released before
_THIRDS = ("low", "middle", "high")
_REPLICATES = 1000
_FEWEST = 10  # held-out scores of a split


@dataclass(frozen=True, eq=False, kw_only=True)
class HeldOutScores(Result):
    """Errors and coverage of predictions of scores that the fit has not seen.

    Parameters
    ----------
    errors : pl.DataFrame
        One row per split and method: rmse and ratio (to the rmse of ``paper``), each with its interval, and n (predictions).
    coverage : pl.DataFrame
        One row per split and third of the expected score (and all of them): coverage of the prediction intervals with its interval, their mean_width, n.
    level : float
        Nominal coverage of all intervals, between 0 and 1.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "heldout"

    errors: pl.DataFrame
    coverage: pl.DataFrame
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Errors per split and method (main), coverage per split and third of the expected score."""
        return {"heldout_errors": self.errors, "heldout_coverage": self.coverage}


def validate(
    scores: Source | Scores,
    *,
    folds: int | Source = 10,
    n_known: int = 3,
    level: float = 0.9,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> HeldOutScores:
    """Held-out errors of `howsure.stitch.predict`, of the default's curves alone and of ``paper``, and the coverage of the prediction intervals.

    Random holes: each fold of the scores is predicted from the others. New models: the families are divided into five parts; the models of each part keep ``n_known`` scores,
    drawn at random, and their other scores are predicted. Later models: the same for the models released after the first 50, 65 and 80 % of the models.
    Each fit sees only its training part; the constants of the model were chosen once, for the release, on such splits of real tables. Intervals are a cluster bootstrap over families and their models.

    Parameters
    ----------
    scores : Scores, frame or path
        One row per model and benchmark.
    folds : int, frame or path
        How many folds the random holes have, or a table with model, benchmark and fold.
    n_known : int
        Scores that new and later models keep.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        The same seed gives the same numbers.
    progress : callable, optional
        Is called with the number of fits done and their total.
    **options
        Which scores count, as for `howsure.stitch.fit`: preset, min_benchmarks, since, duplicates, include, exclude, floors.
    """
    check_level(level)
    if n_known < 1:
        raise OptionError(f"n_known is {n_known}; give at least 1 score that a new model keeps.")
    scores = Scores.of(scores)
    problem = prepared_for(scores, **options)
    rng = np.random.default_rng(seed)
    parts = list(_parts(problem, folds_of(problem, folds), n_known, rng))
    tried: dict[str, list[pl.DataFrame]] = {}
    for done, (split, is_held_out) in enumerate(parts, 1):
        tried.setdefault(split, []).append(_predicted(problem, is_held_out, level))
        if progress:
            progress(done, len(parts))
    errors: list[dict[str, Any]] = []
    coverage: list[dict[str, Any]] = []
    for split, frames in tried.items():
        rows = pl.concat(frames)
        clusters = [rows["family"].to_numpy(), rows["model"].to_numpy()]
        weights = hierarchical_weights(clusters, _REPLICATES, rng)
        errors += _errors(split, rows, weights, level)
        coverage += _covered(split, rows, weights, level)
    absent = [split for split in SPLITS if split not in tried]
    notes = [f"No {split}: fewer than {_FEWEST} scores could be held out." for split in absent]
    settings = {"n_known": n_known, "folds": folds if isinstance(folds, int) else "given", "level": level}
    made = Provenance({**settings, **options}, scores.digest, seed, (*problem.notes, *notes))
    return HeldOutScores(errors=pl.DataFrame(errors), coverage=pl.DataFrame(coverage), level=level, provenance=made)


def _parts(problem: Problem, folds: int | Ints, n_known: int, rng: np.random.Generator) -> Iterator[tuple[str, Bools]]:
    """Which scores are held out: split, and one flag per score."""
    fold = make_folds(problem, folds, int(rng.integers(2**31))) if isinstance(folds, int) else folds
    drawn = rng.random(problem.n_observations)
    order = np.lexsort((drawn, problem.model))
    place = np.empty(problem.n_observations, dtype=np.int64)
    place[order] = np.arange(problem.n_observations) - np.searchsorted(problem.model, problem.model[order])
    is_spare = place >= n_known
    family = rng.permutation(np.arange(problem.family.max() + 1) % _FAMILY_FOLDS)[problem.family[problem.model]]
    dated, day = ~np.isnat(problem.dates), problem.dates.astype(np.int64)
    wanted = [(SPLITS[0], fold == k) for k in np.unique(fold)]
    wanted += [(SPLITS[1], (family == k) & is_spare) for k in range(_FAMILY_FOLDS)]
    if dated.sum() >= _FEWEST:
        cuts = np.quantile(day[dated], _CUTOFFS)
        wanted += [(SPLITS[2], (dated & (day >= cut))[problem.model] & is_spare) for cut in cuts]
    enough = {split for split in SPLITS if sum(int(held.sum()) for name, held in wanted if name == split) >= _FEWEST}
    yield from ((split, held) for split, held in wanted if split in enough and held.any())


def _predicted(problem: Problem, is_held_out: Bools, level: float) -> pl.DataFrame:
    """The held-out scores with each method's prediction."""
    known, new = problem.keep(~is_held_out), problem.keep(is_held_out)
    solution = solve_hierarchy(known)
    items = np.where(np.isnan(new.n_effective), known.items_by_benchmark[new.benchmark], new.n_effective)
    found = fit_residuals(solution).predict(new.model, new.benchmark, items)
    _, _, low, high = intervals_of(found, level)
    paper = solve_ridge(known, AnchorBenchmark(int(known.n_by_benchmark.argmax())))
    return pl.DataFrame(
        {
            "family": new.family[new.model],
            "model": new.model,
            "score": new.score,
            PAPER: expected(new.rows(), paper.theta)[0],
            DEFAULT: expected(new.rows(), solution.theta)[0],
            PREDICTED: np.clip(found.mean, 0, 1),
            "low": low,
            "high": high,
        }
    )


def _errors(split: str, rows: pl.DataFrame, weights: Floats, level: float) -> Iterator[dict[str, Any]]:
    score = rows["score"].to_numpy()
    squares = {name: (rows[name].to_numpy() - score) ** 2 for name in METHODS}
    drawn = {name: np.sqrt(weights @ one / weights.sum(axis=1)) for name, one in squares.items()}
    base = float(np.sqrt(squares[PAPER].mean()))
    for name in METHODS:
        rmse = float(np.sqrt(squares[name].mean()))
        low, high = percentile(drawn[name], level)
        less, more = percentile(drawn[name] / drawn[PAPER], level)
        yield {
            "split": split,
            "method": name,
            "rmse": rmse,
            "rmse_low": low,
            "rmse_high": high,
            "ratio": rmse / base,
            "ratio_low": less,
            "ratio_high": more,
            "n": len(rows),
        }


def _covered(split: str, rows: pl.DataFrame, weights: Floats, level: float) -> Iterator[dict[str, Any]]:
    score, low, high, middle = (rows[name].to_numpy() for name in ("score", "low", "high", PREDICTED))
    is_in, width = ((low <= score) & (score <= high)).astype(np.float64), high - low
    third = np.searchsorted(np.quantile(middle, (1 / 3, 2 / 3)), middle)
    kinds = {"all": np.ones(len(rows), dtype=bool), **{name: third == k for k, name in enumerate(_THIRDS)}}
    for name, here in kinds.items():
        if not here.any():
            continue
        total = weights[:, here].sum(axis=1)
        drawn = (weights[:, here] @ is_in[here])[total > 0] / total[total > 0]
        less, more = percentile(drawn, level)
        yield {
            "split": split,
            "expected": name,
            "coverage": float(is_in[here].mean()),
            "coverage_low": less,
            "coverage_high": more,
            "mean_width": float(width[here].mean()),
            "n": int(here.sum()),
        }
