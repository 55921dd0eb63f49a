"""How well scores are predicted that the fit has not seen: random holes, new models, later models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.results import Provenance, Result
from howsure.stats._arrays import check_level
from howsure.stats.replicates import hierarchical_weights, percentile
from howsure.stitch.model.fits import expected, solve_hierarchy, solve_ridge
from howsure.stitch.model.problem import AnchorBenchmark, Bools, Floats, Problem, most_used
from howsure.stitch.prediction import intervals_of
from howsure.stitch.scale import prepared_for
from howsure.stitch.sensitivity.crossvalidation import (
    DEFAULT,
    PAPER,
    PREDICTED,
    SPLITS,
    error_frame,
    folds_of,
    held_out_frame,
    make_parts,
    predicted_by,
)
from howsure.tables import Scores

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["METHODS", "HeldOutScores", "validate"]

METHODS = (PAPER, DEFAULT, PREDICTED)
_THIRDS = ("low", "middle", "high")
_REPLICATES = 1000


@dataclass(frozen=True, eq=False, kw_only=True)
class HeldOutScores(Result):
    """Errors and coverage of predictions of scores that the fit has not seen.

    Parameters
    ----------
    errors : pl.DataFrame
        One row per n_known (scores that new and later models keep, null for random holes), split and method, as `howsure.stitch.compare_models` has them; differences are from the prediction.
    coverage : pl.DataFrame
        One row per n_known, split and third of the expected score (and all of them): coverage of the prediction intervals with its interval, their mean_width, n.
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


@checked
def validate(
    scores: Source | Scores,
    *,
    folds: int | Source = 10,
    n_known: int | Sequence[int] = (1, 3, 5),
    level: float = 0.9,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> HeldOutScores:
    """Held-out errors of `howsure.stitch.predict`, of the default's curves alone and of ``paper``, and the coverage of the prediction intervals.

    `howsure.stitch.sensitivity.crossvalidation.make_parts` says what is held out: random holes, new models, later models. Each fit sees only its training part; the constants of the
    model were chosen once, for the release, on such splits of a real table. Intervals are a cluster bootstrap over families and their models.

    Parameters
    ----------
    scores : Scores, frame or path
        One row per model and benchmark.
    folds : int, frame or path
        How many folds the random holes have, or a table with model, benchmark and fold.
    n_known : int or sequence of int
        Scores that new and later models keep; random holes are the same for all.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        The same seed gives the same numbers.
    progress : callable, optional
        Is called with the number of fits done and their total.
    **options
        Which scores count, as for `howsure.stitch.fit`: preset, min_benchmarks, since, duplicates, include, exclude, floors, keep_overlaps.
    """
    check_level(level)
    scores = Scores.of(scores)
    problem, kept = prepared_for(scores, **options), (n_known,) if isinstance(n_known, int) else tuple(n_known)
    fold = folds_of(problem, folds)
    jobs = [
        (k, split, held)
        for place, k in enumerate(kept)
        for split, held in make_parts(problem, fold, k, np.random.default_rng(seed))
        if place == 0 or split != SPLITS[0]
    ]
    tried: dict[int, dict[str, list[pl.DataFrame]]] = {k: {} for k in kept}
    for done, (k, split, is_held_out) in enumerate(jobs, 1):
        tried[k].setdefault(split, []).append(_predicted(problem, is_held_out, level))
        if progress:
            progress(done, len(jobs))
    rng, errors, coverage = np.random.default_rng(seed), list[pl.DataFrame](), list[dict[str, Any]]()
    for k in kept:
        tried[k] = {**{name: some for name, some in tried[kept[0]].items() if name == SPLITS[0]}, **tried[k]}
        whole = {split: pl.concat(frames) for split, frames in tried[k].items()}
        errors.append(
            error_frame(whole, METHODS, PREDICTED, level, rng).insert_column(0, pl.lit(k, pl.Int64).alias("n_known"))
        )
        for split, rows in whole.items():
            weights = hierarchical_weights([rows["family"].to_numpy(), rows["model"].to_numpy()], _REPLICATES, rng)
            coverage += [{"n_known": k, **row} for row in _covered(split, rows, weights, level)]
    absent = [split for split in SPLITS if split not in tried[kept[0]]]
    notes = [f"No {split}: too few scores could be held out." for split in absent]
    settings = {"n_known": list(kept), "folds": folds if isinstance(folds, int) else "given", "level": level}
    made = Provenance({**settings, **options}, scores.digest, seed, (*problem.notes, *notes))
    return HeldOutScores(
        errors=_once(pl.concat(errors)), coverage=_once(pl.DataFrame(coverage)), level=level, provenance=made
    )


def _once(frame: pl.DataFrame) -> pl.DataFrame:
    """Random holes, which know of no kept scores, first and once."""
    is_holes = pl.col("split") == SPLITS[0]
    first = frame.filter(is_holes, pl.col("n_known") == pl.col("n_known").first())
    return pl.concat([first.with_columns(n_known=pl.lit(None, frame["n_known"].dtype)), frame.filter(~is_holes)])


def _predicted(problem: Problem, is_held_out: Bools, level: float) -> pl.DataFrame:
    """The held-out scores with each method's prediction."""
    known, new = problem.keep(~is_held_out), problem.keep(is_held_out)
    solution = solve_hierarchy(known)
    found = predicted_by(solution, new)
    *_, low, high = intervals_of(found, level)
    paper = solve_ridge(known, AnchorBenchmark(most_used(known)))
    by_method = {
        PAPER: expected(new.rows(), paper.theta)[0],
        DEFAULT: expected(new.rows(), solution.theta)[0],
        PREDICTED: found.expected,
    }
    return held_out_frame(new, by_method).with_columns(low=pl.Series(low), high=pl.Series(high))


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
