"""Six intraclass correlations with intervals, 30 items × 7 raters, against pingouin if installed, else statsmodels (at least 30×).

The names of the figures say which of the two was met. Also how often the intervals of a small study (5 items × 7 raters) hold the truth.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.reading import best_of
from howsure.stats.reliability import intraclass, krippendorff

ITEMS, RATERS, ROUNDS, CALLS, SIMULATIONS = 30, 7, 7, 100, 1000


def measure() -> dict[str, float]:
    """Both ways take turns, so that a busy moment meets both; their coefficients must agree."""
    table = _draw(np.random.default_rng(0), ITEMS)
    name, peer = _peer(table)
    ours, theirs = intraclass(table), peer()
    for form, value in theirs.items():
        if abs((ours[form].value or 0.0) - value) > 1e-8:
            raise AssertionError(f"{form}: {ours[form].value} here, {value} by {name}")
    rounds = [(_seconds_a_call(lambda: intraclass(table)), best_of(peer, times=1)) for _ in range(ROUNDS)]
    ours_seconds, peer_seconds = (min(one) for one in zip(*rounds, strict=True))
    return {
        "howsure_seconds": ours_seconds,
        f"{name}_seconds": peer_seconds,
        f"ratio_to_{name}": peer_seconds / ours_seconds,
        **_coverage(),
    }


def _draw(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Items with variance 1, raters with 0.25, noise with 1."""
    return np.asarray(rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=RATERS) + rng.normal(size=(n, RATERS)))


def _seconds_a_call(call: Callable[[], Any]) -> float:
    return best_of(lambda: [call() for _ in range(CALLS)], times=1) / CALLS


def _peer(table: NDArray[np.float64]) -> tuple[str, Callable[[], dict[str, float]]]:
    """What a user would otherwise call, on the long table it wants."""
    import pandas

    item, rater = np.indices(table.shape)
    frame = pandas.DataFrame({"item": item.ravel(), "rater": rater.ravel(), "rating": table.ravel()})
    if importlib.util.find_spec("pingouin"):
        return "pingouin", lambda: _by_pingouin(frame)
    return "statsmodels", lambda: _by_statsmodels(frame, *table.shape)


def _by_pingouin(frame: Any) -> dict[str, float]:
    import pingouin  # type: ignore[import-not-found, unused-ignore]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pingouin.intraclass_corr(frame, targets="item", raters="rater", ratings="rating")
    # single forms first, then those of the mean, whatever a release calls them
    names = ("icc_1_1", "icc_2_1", "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k")
    return {name: float(value) for name, value in zip(names, found["ICC"], strict=True)}


def _by_statsmodels(frame: Any, n: int, k: int) -> dict[str, float]:
    """Two-way analysis of variance, the textbook's formulas, and F intervals of the consistency forms, as a script has them."""
    from scipy.stats import f
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    squares = anova_lm(ols("rating ~ C(item) + C(rater)", frame).fit())
    item, rater, error = squares["sum_sq"] / squares["df"]
    consistency = (item - error) / (item + (k - 1) * error)
    quantiles = f.ppf([0.975, 0.025], n - 1, (n - 1) * (k - 1))
    low, high = (item / error / quantiles - 1) / (item / error / quantiles + k - 1)
    assert low < consistency < high
    agreement = (item - error) / (item + (k - 1) * error + k * (rater - error) / n)
    return {
        "icc_2_1": agreement,
        "icc_3_1": consistency,
        "icc_2_k": (item - error) / (item + (rater - error) / n),
        "icc_3_k": 1 - error / item,
    }


def _coverage() -> dict[str, float]:
    """Shares of simulated studies of 5 items × 7 raters whose 95 % interval holds the truth."""
    rng = np.random.default_rng(1)
    truths = {"icc_2_1": 1 / 2.25, "icc_3_1": 1 / 2, "icc_3_k": 1 / (1 + 1 / RATERS)}
    held = dict.fromkeys([*truths, "krippendorff_interval"], 0)
    for _ in range(SIMULATIONS):
        found = intraclass(_draw(rng, 5))
        for name, truth in truths.items():
            held[name] += found[name].covers(truth)
        # raters without severities, as alpha has one error alone
        alike = rng.normal(size=(5, 1)) + rng.normal(size=(5, RATERS))
        held["krippendorff_interval"] += krippendorff(alike, "interval").covers(0.5)
    return {f"coverage_{name}_5_items": count / SIMULATIONS for name, count in held.items()}
