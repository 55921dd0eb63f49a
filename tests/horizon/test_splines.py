"""Monotone splines: against another optimiser, true curves with and without a ceiling, and held-out runs beside logistic and Weibull."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

from howsure.horizon import crossvalidate
from howsure.horizon.run_counts import count_table
from howsure.horizon.time_horizon.curves import curve_minutes, curve_success, fit_curves, timed
from howsure.horizon.time_horizon.kernels import N_KNOTS, fit_spline, spline_crossing, spline_height
from howsure.horizon.time_horizon.sensitivity import vary
from howsure.horizon.time_horizon.specifications import HorizonCells, fit_horizons

RNG = np.random.default_rng(5)


def counts(success, n_tasks=160, n_runs=6, seed=1):
    """One model whose success at log₂ minutes x is `success(x)`; four tasks to a family."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 9, n_tasks)
    rows = pl.DataFrame(
        {
            "model": "m",
            "task": [f"t{k}" for k in range(n_tasks)],
            "family": [f"f{k // 4}" for k in range(n_tasks)],
            "minutes": np.exp2(x),
            "successes": rng.binomial(n_runs, success(x)),
            "n": n_runs,
        }
    )
    return count_table(rows)


def with_ceiling(x):
    """70 % up to 4 doublings, then a steep fall: one half at 5.75 doublings."""
    return 0.7 / (1 + np.exp(1.8 * (x - 5.75) + np.log(0.7 / 0.5 - 1)))


def test_it_is_the_optimum_that_another_optimiser_finds():
    x, rate = np.sort(RNG.uniform(0, 8, 40)), RNG.random(40)
    w = np.full(40, 1 / 40)
    low, step, penalty = float(x[0]), float(x[-1] - x[0]) / (N_KNOTS - 1), 0.02
    theta, _ = fit_spline(x, w * rate, w * (1 - rate), 40, low, step, penalty, 0.0, -0.5)

    design = np.array([[spline_height(unit, one, low, step) for unit in np.eye(N_KNOTS + 1)] for one in x])

    def cost(at):
        eta = design @ at
        return (
            w @ (rate * np.logaddexp(0, -eta) + (1 - rate) * np.logaddexp(0, eta))
            + penalty / 2 * (np.diff(at[1:]) ** 2).sum()
        )

    best = minimize(cost, theta * 0 + 0.1, method="L-BFGS-B", bounds=[(None, None)] + [(0, None)] * N_KNOTS, tol=1e-14)
    assert cost(theta) <= best.fun + 1e-9
    assert (theta[1:] >= 0).all()


def test_equal_slopes_are_a_logistic_curve():
    theta = np.array([2.0, *[0.6] * N_KNOTS])
    heights = [spline_height(theta, x, 1.0, 1.5) for x in (1.0, 1.7, 4.2, 8.5)]
    assert heights == pytest.approx([2 - 0.6 * (x - 1.0) for x in (1.0, 1.7, 4.2, 8.5)])
    assert spline_crossing(theta, 1.0, 1.5, 0.5)[0] == pytest.approx(1 + 2 / 0.6)


@pytest.mark.parametrize("rate", [0.5, 0.8])
def test_a_logistic_truth_is_found_as_well_as_by_the_logistic_curve(rate):
    found = timed(counts(lambda x: 1 / (1 + np.exp(0.8 * (x - 5))), n_tasks=400))
    truth = 5 + np.log(1 / rate - 1) / 0.8
    assert curve_minutes(found, "spline", rate)[0] == pytest.approx(truth, abs=0.35)
    assert curve_minutes(found, "spline", rate)[0] == pytest.approx(fit_curves(found).log2_minutes(rate)[0], abs=0.3)


def test_a_ceiling_biases_the_logistic_curve_and_not_the_spline():
    errors = []
    for seed in range(6):
        data = timed(counts(with_ceiling, seed=seed))
        errors.append([fit_curves(data).log2_minutes(0.5)[0] - 5.75, curve_minutes(data, "spline", 0.5)[0] - 5.75])
    logistic, spline = np.abs(np.mean(errors, axis=0))
    assert logistic > 1
    assert spline < 0.35
    shortest = curve_success(data, "spline", np.array([0.0, 1.0, 2.0]))[0]
    assert shortest == pytest.approx(0.7, abs=0.1)
    assert curve_minutes(data, "spline", 0.8)[0] == -np.inf  # above the ceiling no length has this success


def test_it_never_rises_and_the_other_places_have_the_same_crossing():
    data = timed(counts(with_ceiling))
    path = curve_success(data, "spline", np.linspace(-2, 12, 200))[0]
    assert (np.diff(path) <= 1e-12).all()
    own = curve_minutes(data, "spline", 0.5)[0]
    n = data.counts.n[:, :, None]
    runs = np.concatenate([n - data.counts.successes[:, :, None], data.counts.successes[:, :, None]], axis=2)
    cells = HorizonCells(
        ("m",), data.counts, np.pad(runs, ((0, 0), (0, 0), (0, 6))), *[np.zeros(len(data.x), bool)] * 2, ()
    )
    assert fit_horizons(cells, [{"curve": "spline"}], 0.5)[0, 0] == pytest.approx(own, abs=1e-6)
    row = next(row for row in vary(data, (0.5,), weights="invsqrt").rows if row.setting == "spline")
    assert row.ratio == pytest.approx(2 ** (own - fit_curves(data).log2_minutes(0.5)[0]))


def test_held_out_families_prefer_the_spline_where_there_is_a_ceiling():
    """Two models with one ceiling: five predictors on identical folds."""
    own = counts(with_ceiling).to_frame()
    both = pl.concat([own, own.with_columns(model=pl.lit("other"))])
    found = crossvalidate(count_table(both), folds=4)
    assert found.scores["predictor"].unique(maintain_order=True).to_list() == [
        "constant",
        "logistic",
        "weibull",
        "spline",
        "joint",
    ]
    gap = found.differences.filter(held_out="families", a="spline").row(0, named=True)
    assert gap["difference_high"] < 0
