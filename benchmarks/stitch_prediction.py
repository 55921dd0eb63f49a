"""Held-out errors of `howsure stitch predict` with the strengths of the release, and with strengths that each training part learns alone.

The strengths of the release were chosen on Epoch's table of November 2025, so their held-out errors on that table are optimistic. Strengths that are learned from the training part, from one uninformed value for all, are not:
the difference is the optimism.

Which families are together, and which three scores a new model keeps, is random, and one draw is noisy. Errors are therefore those of several seeds: the mean of their ratios to ``paper``, with the standard error of that mean over seeds.
It says how much the splits matter, not how another table would differ. Random holes are the given folds, for which there is no choice.

    python -m benchmarks.stitch_prediction ../shared/data/epoch-2025-11 ../shared/reference/stitch_paper/folds.csv 5
"""

from __future__ import annotations

import sys

import numpy as np

from howsure.sources import read
from howsure.stitch.model.fits import expected, solve_hierarchy, solve_ridge
from howsure.stitch.model.problem import AnchorBenchmark, Problem
from howsure.stitch.model.residuals import fit_residuals
from howsure.stitch.scale import prepared_for
from howsure.stitch.sensitivity.crossvalidation import SPLITS, folds_of, make_parts
from howsure.tables import Scores

UNINFORMED = {"family": 0.2, "organisation": 0.2, "trait": 1.0, "date": 0.1, "capability": 0.5}
FACTORS = (0.0, 0.5, 1.5, 2.0)
NAMES = ("paper", "release", "learned in training")


def main(scores: str, folds: str, n_seeds: str = "5") -> None:
    """Print the errors of all three, and their ratios to ``paper``, for each split and seed and on average."""
    problem = prepared_for(Scores.of(read(scores)), preset="paper")
    found: dict[str, list[list[float]]] = {split: [] for split in SPLITS}
    print(f"{'held out':14} {'seed':>4} " + " ".join(f"{name:>20}" for name in NAMES))
    for seed in range(int(n_seeds)):
        squares: dict[str, list[list[float]]] = {}
        for split, is_out in make_parts(problem, folds_of(problem, folds), 3, np.random.default_rng(seed)):
            if split == SPLITS[0] and seed:
                continue
            errors = squares.setdefault(split, [[], [], []])
            for one, more in zip(errors, _squares(problem.keep(~is_out), problem.keep(is_out)), strict=True):
                one.extend(more)
        for split, errors in squares.items():
            found[split].append([float(np.sqrt(np.mean(one))) for one in errors])
            print(_row(split, str(seed), found[split][-1]), flush=True)
    print(f"\n{'held out':14} {'seeds':>5} {'release / paper':>20} {'learned / paper':>20}")
    for split, rmse in found.items():
        ratios = np.array(rmse)[:, 1:] / np.array(rmse)[:, :1]
        told = [f"{mean:.3f}" for mean in ratios.mean(axis=0)]
        if len(ratios) > 1:
            errors = ratios.std(axis=0, ddof=1) / np.sqrt(len(ratios))
            told = [f"{mean} ± {se:.3f}" for mean, se in zip(told, errors, strict=True)]
        print(f"{split:14} {len(ratios):5} " + " ".join(f"{one:>20}" for one in told))


def _squares(known: Problem, new: Problem) -> list[list[float]]:
    """Squared errors of each method."""
    solution = solve_hierarchy(known)
    paper = solve_ridge(known, AnchorBenchmark(int(known.n_by_benchmark.argmax())))
    processes = fit_residuals(solution), fit_residuals(solution, UNINFORMED, FACTORS, 2)
    predicted = [one.predict(new.model, new.benchmark).expected for one in processes]
    return [((one - new.score) ** 2).tolist() for one in (expected(new.rows(), paper.theta)[0], *predicted)]


def _row(split: str, seed: str, rmse: list[float]) -> str:
    return f"{split:14} {seed:>4} " + " ".join(f"{one:11.4f} ({one / rmse[0]:6.3f})" for one in rmse)


if __name__ == "__main__":
    main(*sys.argv[1:])
