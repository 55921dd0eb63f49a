"""Held-out errors of `howsure stitch predict` with the strengths of the release, and with strengths that each training part learns alone.

The strengths of the release were chosen on Epoch's table of November 2025, so their held-out errors on that table are optimistic. Strengths that are learned from the training part, from one uninformed value for all, are not:
the difference is the optimism.

    python -m benchmarks.stitch_prediction ../shared/data/epoch-2025-11 ../shared/reference/stitch_paper/folds.csv
"""

from __future__ import annotations

import sys

import numpy as np

from howsure.sources import read
from howsure.stitch.model.anchors import AnchorBenchmark
from howsure.stitch.model.hierarchy import solve_hierarchy
from howsure.stitch.model.noise import expected
from howsure.stitch.model.residuals import fit_residuals
from howsure.stitch.model.solutions import solve_ridge
from howsure.stitch.scale import prepared_for
from howsure.stitch.sensitivity.crossvalidation import folds_of, make_parts
from howsure.tables import Scores

UNINFORMED = {"family": 0.2, "organisation": 0.2, "trait": 1.0, "date": 0.1, "capability": 0.5}
FACTORS = (0.0, 0.5, 1.5, 2.0)


def main(scores: str, folds: str) -> None:
    """Print the errors of both, divided by that of ``paper``, in each split."""
    problem = prepared_for(Scores.of(read(scores)), preset="paper")
    squares: dict[str, list[list[float]]] = {}
    for split, is_out in make_parts(problem, folds_of(problem, folds), 3, np.random.default_rng(0)):
        known, new = problem.keep(~is_out), problem.keep(is_out)
        solution = solve_hierarchy(known)
        paper = solve_ridge(known, AnchorBenchmark(int(known.n_by_benchmark.argmax())))
        processes = fit_residuals(solution), fit_residuals(solution, UNINFORMED, FACTORS, 2)
        predicted = [np.clip(one.predict(new.model, new.benchmark).mean, 0, 1) for one in processes]
        predicted.insert(0, expected(new.rows(), paper.theta)[0])
        errors = squares.setdefault(split, [[], [], []])
        for one, value in zip(errors, predicted, strict=True):
            one.extend((value - new.score) ** 2)
    print(f"{'held out':14} {'paper':>8} {'release':>16} {'learned in training':>22}")
    for split, errors in squares.items():
        paper_rmse, release, learned = (float(np.sqrt(np.mean(one))) for one in errors)
        print(
            f"{split:14} {paper_rmse:8.4f} {release:8.4f} ({release / paper_rmse:.3f}) {learned:13.4f} ({learned / paper_rmse:.3f})"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
