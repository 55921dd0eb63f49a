"""The power of the alternative-annotator test that `validate` and `bench` state from the raters at hand, beside the share of simulated studies in which a judge as good as a rater passes.

``python -m benchmarks replacement_power``: for each kind of ratings and size the true share, and mean, least and largest of the stated powers of as many pilots of that size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from howsure.stats._arrays import Floats
from howsure.stats.judges import alternative_annotator_test, power_of_replacement

__all__ = ["measure"]

Draw = Callable[[np.random.Generator, int, int], Floats]


def measure(n_simulations: int = 400, n_pilots: int = 20) -> dict[str, float]:
    """The shares, by kind of ratings and size of the study."""
    rng = np.random.default_rng(0)
    shares: dict[str, float] = {}
    for kind, draw in _KINDS.items():
        how: Literal["closeness", "match"] = "match" if kind in ("categories", "shares of yes") else "closeness"
        for n, k in ((30, 3), (60, 4), (100, 5)):
            studies = (draw(rng, n, k + 1) for _ in range(n_simulations))
            passed = [bool(alternative_annotator_test(one[:, 0], one[:, 1:], how).may_replace) for one in studies]
            told = [power_of_replacement(draw(rng, n, k), how, n_simulations=100, seed=seed).value or 0.0 for seed in range(n_pilots)]  # fmt: skip
            shares[f"{kind}, {n} × {k}: true"] = float(np.mean(passed))
            shares[f"{kind}, {n} × {k}: stated, mean"] = float(np.mean(told))
            shares[f"{kind}, {n} × {k}: stated, least"] = min(told)
            shares[f"{kind}, {n} × {k}: stated, largest"] = max(told)
    return shares


def _felt(rng: np.random.Generator, n: int, k: int, *, severity: float = 0.0, middle: float = 3.0) -> Floats:
    felt = rng.normal(middle, 1, (n, 1)) + rng.normal(0, severity, k) + rng.normal(0, 0.8, (n, k))
    return np.asarray(felt)


def _steps(felt: Floats) -> Floats:
    return np.clip(np.round(felt), 1, 5)


def _categories(rng: np.random.Generator, n: int, k: int) -> Floats:
    """Raters see the true category in 70 %, and guess else."""
    true, guess = rng.integers(0, 4, (n, 1)), rng.integers(0, 4, (n, k))
    return np.where(rng.random((n, k)) < 0.7, true, guess).astype(np.float64)


def _shares_of_yes(rng: np.random.Generator, n: int, k: int) -> Floats:
    """Each item has its own share of people who say yes: not the model by which the power is computed."""
    return (rng.random((n, k)) < rng.beta(0.5, 0.5, (n, 1))).astype(np.float64)


_KINDS: dict[str, Draw] = {
    "ratings on a line": _felt,
    "ratings from 1 to 5": lambda rng, n, k: _steps(_felt(rng, n, k)),
    "most at the top": lambda rng, n, k: _steps(_felt(rng, n, k, middle=4.2)),
    "raters differ in severity": lambda rng, n, k: _steps(_felt(rng, n, k, severity=0.7)),
    "categories": _categories,
    "shares of yes": _shares_of_yes,
}
