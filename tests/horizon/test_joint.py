"""The joint model of time horizons: known distributions, a planted truth, held-out runs."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import howsure
from howsure.errors import OptionError
from howsure.horizon import crossvalidate, time_horizons
from howsure.horizon.interval_coverage import HORIZONS
from howsure.horizon.run_counts import ModelCounts
from howsure.horizon.time_horizon.curves import averaged_logistic, averaged_logit, timed
from howsure.horizon.time_horizon.joint import _draw_ceilings, _Effects, _polya_gamma, _Runs, _Weights, draw_joint

METR = Path(__file__).parents[3] / "shared/data/metr/runs_2025-01-28.jsonl"
TASKS, FAMILIES = 1.6, 1.1  # standard deviations of what tasks and families add


def planted(seed, *, n_families=40, n_models=6, runs=1, noise=0.0, ceiling=1.0):
    """Counts of models whose p50 is known."""
    rng = np.random.default_rng(seed)
    family = np.repeat(np.arange(n_families), rng.integers(1, 6, n_families))
    n_tasks = len(family)
    x = rng.uniform(-3, 9, n_tasks)
    middle, slope = np.linspace(1, 6, n_models), np.full(n_models, -0.6)
    added = TASKS * rng.standard_normal(n_tasks) + FAMILIES * rng.standard_normal(n_families)[family]
    p = ceiling / (1 + np.exp(-(slope[:, None] * (x - middle[:, None]) + added)))
    tasks = pl.DataFrame(
        {
            "task": [f"t{n:04}" for n in range(n_tasks)],
            "family": [f"f{n:03}" for n in family],
            "domain": pl.Series([None] * n_tasks, dtype=pl.String),
            "minutes": np.exp2(x + noise * rng.standard_normal(n_tasks)),
        }
    )
    names = tuple(f"m{n}" for n in range(n_models))
    return ModelCounts(names, tasks, rng.binomial(runs, p), np.full(p.shape, runs), (), None), middle


@pytest.mark.parametrize(("n", "tilt"), [(1, 0.0), (1, 2.5), (3, 1.0), (12, 0.7), (12, 6.0)])
def test_polya_gamma_draws_have_the_known_mean_and_variance(n, tilt):
    rng = np.random.default_rng(1)
    drawn = np.array([_polya_gamma(float(n), tilt, rng) for _ in range(20_000)])
    if tilt == 0:
        mean, variance = n / 4, n / 24
    else:
        mean = n / (2 * tilt) * math.tanh(tilt / 2)
        variance = n * (math.sinh(tilt) - tilt) / (4 * tilt**3 * math.cosh(tilt / 2) ** 2)
    assert drawn.mean() == pytest.approx(mean, rel=0.02)
    assert drawn.var() == pytest.approx(variance, rel=0.06)


def test_the_averaged_curve_and_its_inverse_agree():
    spread = np.array([0.0, 0.7, 2.0, 4.0])
    for rate in (0.05, 0.5, 0.8, 0.99):
        assert averaged_logistic(averaged_logit(rate, spread), spread) == pytest.approx(rate, abs=1e-9)
    assert averaged_logit(0.5, spread) == pytest.approx(0, abs=1e-9)


def test_horizons_and_spreads_are_recovered():
    counts, middle = planted(3, n_families=80, runs=2)
    drawn = draw_joint(timed(counts), 200, seed=1)
    crossing = drawn.curves.log2_minutes(0.5)
    low, high = np.quantile(crossing, [0.005, 0.995], axis=0)
    assert ((low < middle) & (middle < high)).all()
    assert np.median(drawn.spreads, axis=0)[:2] == pytest.approx([TASKS, FAMILIES], rel=0.3)
    truth = middle + float(averaged_logit(0.8, np.array(math.hypot(TASKS, FAMILIES)))) / -0.6
    marginal = np.median(drawn.curves.log2_minutes(0.8), axis=0)
    assert marginal == pytest.approx(truth, abs=1.2)
    assert (np.median(drawn.curves.typical.log2_minutes(0.8), axis=0) > marginal).all()


def test_errors_of_human_times_that_are_stated_make_high_rates_longer():
    counts, _ = planted(5, n_families=80, noise=1.5)
    exact, stated = (draw_joint(timed(counts, noise=noise), 250, seed=2).curves for noise in (0.0, 1.5))
    at = [np.median(curves.log2_minutes(0.8) - curves.log2_minutes(0.5)) for curves in (exact, stated)]
    assert at[0] < at[1] < 0


def test_a_ceiling_is_found():
    counts, _ = planted(4, n_families=80, runs=4, ceiling=0.7)
    drawn = draw_joint(timed(counts), 250, has_ceiling=True, seed=1).curves
    assert np.median(drawn.ceiling) == pytest.approx(0.7, abs=0.08)
    assert (drawn.log2_minutes(0.95) == -np.inf).mean() > 0.9  # nothing is that certain


def test_the_verb_in_python(tmp_path):
    counts, _ = planted(1)
    found = time_horizons(counts, method="joint", n_replicates=125, seed=4)
    assert {"typical", "spreads"} <= set(found.tables)
    assert found.minutes("m3").state == "ok"
    assert found.typical("m3", 0.5).value == pytest.approx(found.minutes("m3", 0.5).value)
    assert found.typical("m3", 0.8).value > found.minutes("m3", 0.8).value
    again = time_horizons(counts, method="joint", n_replicates=125, seed=4)
    assert again.tables["time_horizons"].equals(found.tables["time_horizons"])
    assert type(found).load(found.save(tmp_path)[0].parent).equals(found)
    with pytest.raises(OptionError, match="needs the joint model"):
        time_horizons(counts, has_ceiling=True)
    with pytest.raises(OptionError, match="No method called 'spline'"):
        time_horizons(counts, method="spline")


def test_the_joint_model_predicts_held_out_cells_better():
    counts, _ = planted(2, runs=3)
    found = crossvalidate(counts, folds=2)
    loss = {(row["held_out"], row["predictor"]): row["log_loss"] for row in found.scores.rows(named=True)}
    assert loss["cells", "joint"] < loss["cells", "logistic"] - 0.05
    assert loss["families", "joint"] < loss["families", "logistic"] + 0.02
    assert loss["families", "logistic"] < loss["families", "constant"]
    with pytest.raises(OptionError, match="folds 1 is not between"):
        crossvalidate(counts, folds=1)


@pytest.mark.evidence
@pytest.mark.skipif(not METR.exists(), reason="METR's runs are not beside the project")
def test_held_out_runs_of_the_january_file():
    """Log-loss of held-out cells at most .34, where the logistic curve has far more."""
    found = crossvalidate(howsure.read(METR))
    loss = {(row["held_out"], row["predictor"]): row["log_loss"] for row in found.scores.rows(named=True)}
    assert loss["cells", "joint"] < 0.34
    assert loss["cells", "logistic"] > 0.44
    assert loss["families", "joint"] < loss["families", "constant"]


def test_domains_have_effects_and_horizons_of_their_own():
    """Tasks of domain a are easier by 2 in log-odds, which at a slope of −0.6 is 3.3 doublings."""
    counts, _ = planted(6, n_families=80, runs=2)
    domain = np.arange(len(counts.tasks)) % 2
    rng = np.random.default_rng(6)
    p = (counts.successes + 0.5) / (counts.n + 1)
    easier = rng.binomial(counts.n, 1 / (1 + (1 - p) / p * np.exp(-2 * (domain == 0))))
    tasks = counts.tasks.with_columns(domain=pl.Series(["ab"[d] for d in domain]))
    found = time_horizons(
        replace(counts, tasks=tasks, successes=easier), method="joint", n_replicates=125, has_sensitivity=False
    )
    at = {
        (r["domain"], r["model"]): r["minutes"]
        for r in found.tables["domains"].filter(success_rate=0.5).rows(named=True)
    }
    assert all(at["a", m] > 2 * at["b", m] for m in found.models)
    logistic = time_horizons(replace(counts, tasks=tasks, successes=easier), n_replicates=0).tables["domains"]
    assert set(logistic["domain"]) == {"a", "b"}


@pytest.mark.evidence
@pytest.mark.parametrize("model", ["logistic", "joint"])
def test_intervals_cover(model):
    """25 families, one run per task, heavy task effects, an error of one doubling in human times: a small form of `howsure horizon coverage`."""
    simulate, _ = HORIZONS["time"]
    design = {"model": model, "n_families": 25, "minutes_noise": 1}
    drawn = [simulate(design, 0.95, 500 + seed) for seed in range(40)]
    for quantity in drawn[0]:
        held = [np.mean([found.covers(truth) for found, truth in one[quantity]]) for one in drawn]
        error = np.std(held, ddof=1) / math.sqrt(len(held))
        assert 0.92 - 2.5 * error - 0.01 <= np.mean(held) <= 0.97 + 2.5 * error + 0.01


def test_a_failure_where_the_curve_says_that_success_is_certain():
    """Few tasks and a steep curve: success and ceiling are both 1 to the last digit, and the share of failures by the ceiling was 0/0."""
    one, none = np.ones((1, 1)), np.zeros((1, 1))
    runs = _Runs(none, one, np.zeros(1), np.zeros(1), np.zeros((1, 0)), np.zeros(1, dtype=np.int64))
    effects = _Effects(
        *(np.array([value]) for value in (100.0, 0.0, 1.0)), np.zeros(0), *np.zeros((3, 1)), none.copy(), np.zeros(1)
    )
    _draw_ceilings(runs, effects, _Weights(none.copy(), none.copy(), none.copy()), np.random.default_rng(0))
    assert 0 < effects.ceiling[0] <= 1
