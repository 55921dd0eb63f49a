"""Learning curves: kernels against numpy and finite differences, fits against scipy, intervals against the truth."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr, xlog1py, xlogy

from horizon.people import people
from howsure.errors import InputError, OptionError
from howsure.horizon.learning_curves import kernels
from howsure.horizon.learning_curves.curves import (
    THIN,
    LearnerEffect,
    Support,
    _best,
    contest,
    fit_batch,
    fit_curves,
    interval,
    reached,
    resample,
    whole_band,
)
from howsure.horizon.learning_curves.families import CONTEST, FAMILIES, family_of, to_base_rate
from howsure.horizon.learning_curves.novice_counts import novice_counts
from howsure.tables import Attempts

ATTEMPTS = np.arange(1.0, 11)
TRUE = {
    "exponential": [0.2, 0.9, 0.4],
    "power3": [0.2, 0.9, 0.8],
    "power": [0.3, 0.7],
    "logit-log": [0.25, 1.1],
    "logistic4": [0.1, 0.85, 1.3, 4.2],
}
THETAS = {
    kernels.APPROACH: [0.3, 0.8, -0.9],
    kernels.SIGMOID: [0.2, 0.9, 0.1, 4.0],
    kernels.FAILURE: [-0.4, 0.6],
    kernels.ODDS: [-1.0, 0.9],
}


def height(curve, successes, trials):
    """The log-likelihood of success rates."""
    return (xlogy(successes, curve) + xlog1py(trials - successes, -curve)).sum(axis=-1)


def binomial(curve, n, seed=0):
    trials = np.full(curve.shape, float(n))
    return np.random.default_rng(seed).binomial(n, curve).astype(float), trials


def novices(curves, n_learners, seed=0, correlation=0.0):
    """People of whom a share P succeeds on each attempt, exactly as the curves say; a learner's answers to a task are correlated."""
    rng = np.random.default_rng(seed)
    n_tasks, n_attempts = curves.shape
    shared = np.sqrt(correlation) * rng.normal(size=(n_tasks, n_learners, 1))
    own = np.sqrt(1 - correlation) * rng.normal(size=(n_tasks, n_learners, n_attempts))
    score = (ndtr(shared + own) < curves[:, None]).astype(float)
    task, learner, attempt = np.indices(score.shape)
    columns = {
        "subject": [f"learner {t}-{who}" for t, who in zip(task.ravel(), learner.ravel(), strict=True)],
        "kind": ["human"] * score.size,
        "task": [f"task {t:03}" for t in task.ravel()],
        "attempt": attempt.ravel() + 1,
        "score": score.ravel(),
    }
    return Attempts(pl.DataFrame(columns))


@pytest.mark.parametrize("form", THETAS)
def test_the_likelihood_and_its_derivatives(form):
    theta, distance = np.array(THETAS[form]), ATTEMPTS if form == kernels.SIGMOID else np.log(ATTEMPTS)
    successes, trials = binomial(kernels.plain_curve(form, distance, theta), 30)
    trials[4] = successes[4] = 0
    theta = theta + 0.03  # away from the top, where the gradient is not 0

    def at(point):
        return height(kernels.plain_curve(form, distance, point), successes, trials)

    work = kernels.make_work(len(theta), len(distance))
    assert kernels.derive(form, distance, successes, trials, theta, work) == pytest.approx(at(theta), abs=1e-10)
    step, axes = 1e-4, np.eye(len(theta))
    gradient = [(at(theta + step * e) - at(theta - step * e)) / (2 * step) for e in axes]
    np.testing.assert_allclose(work.gradient, gradient, rtol=1e-5, atol=1e-4)
    curvature = [
        [
            -(
                at(theta + step * (e + f))
                - at(theta + step * (e - f))
                - at(theta - step * (e - f))
                + at(theta - step * (e + f))
            )
            / (4 * step**2)
            for f in axes
        ]
        for e in axes
    ]
    np.testing.assert_allclose(np.tril(work.curvature), np.tril(curvature), rtol=1e-4, atol=2e-2)


@pytest.mark.parametrize("name", TRUE)
def test_expected_counts_give_the_parameters_back(name):
    true = np.array([TRUE[name]])
    trials = np.full((1, 10), 1e4)
    fit = family_of(name).fit(family_of(name).curve(true, ATTEMPTS) * trials, trials)
    np.testing.assert_allclose(fit.parameters, true, rtol=1e-4)
    curve = family_of(name).curve(fit.parameters, ATTEMPTS)
    assert fit.log_likelihood[0] == pytest.approx(
        height(curve, family_of(name).curve(true, ATTEMPTS) * trials, trials)[0]
    )


@pytest.mark.parametrize("name", TRUE)
def test_a_level_is_reached_where_the_curve_crosses_it(name):
    family, true = family_of(name), np.array(TRUE[name])
    for level in (0.4, 0.5, 0.8):
        n = float(family.reach(true, level))
        assert family.curve(true, np.array([n]))[0] == pytest.approx(level)
    assert family.reach(true, 0.01) == -np.inf
    if "asymptote" in family.parameters:
        assert family.reach(true, 0.95) == np.inf


def test_reaching_by_hand():
    assert FAMILIES["exponential"].reach(np.array([0.2, 1.0, np.log(2)]), 0.6) == pytest.approx(2.0)
    assert FAMILIES["power"].reach(np.array([0.2, 1.0]), 0.6) == pytest.approx(2.0)
    assert FAMILIES["logit-log"].reach(np.array([0.5, 1.0]), 0.8) == pytest.approx(4.0)
    assert FAMILIES["logit-log"].reach(np.array([0.5, -1.0]), 0.8) == np.inf
    assert FAMILIES["power"].reach(np.array([0.5, 0.0]), 0.5) == 1.0
    assert FAMILIES["isotonic"].reach(np.array([0.2, 0.4, 0.4, 0.8]), 0.3) == pytest.approx(np.sqrt(2))
    assert FAMILIES["isotonic"].reach(np.array([0.2, 0.4]), 0.5) == np.inf


def test_the_base_rate_is_the_same_curve_told_from_attempt_0():
    first, asymptote, rate = TRUE["exponential"]
    base, gain = to_base_rate(first, asymptote, rate)
    curve = base + gain * (1 - np.exp(-rate * ATTEMPTS))
    np.testing.assert_allclose(curve, FAMILIES["exponential"].curve(np.array(TRUE["exponential"]), ATTEMPTS))


def test_isotonic_is_scikit_learns():
    isotonic_regression = pytest.importorskip("sklearn.isotonic").isotonic_regression
    rng = np.random.default_rng(1)
    trials = rng.integers(1, 40, size=(30, 12)).astype(float)
    successes = rng.binomial(trials.astype(int), rng.random((30, 12))).astype(float)
    fit = FAMILIES["isotonic"].fit(successes, trials)
    for row in range(30):
        expected = isotonic_regression(successes[row] / trials[row], sample_weight=trials[row])
        np.testing.assert_allclose(fit.parameters[row], expected, atol=1e-12)
    np.testing.assert_allclose(fit.log_likelihood, height(fit.parameters, successes, trials))
    assert FAMILIES["isotonic"].n_parameters(np.array([0.2, 0.2, 0.5])) == 2


def test_parts_of_a_success_count():
    rows = np.array([[0.5, 1.25, 2.5]]), np.array([[3.0, 3.0, 3.0]])
    for name in FAMILIES:
        found = family_of(name).fit(*rows)
        assert np.isfinite(found.log_likelihood).all()
    tripled = fit_batch("exponential", rows[0] * 3, rows[1] * 3)
    np.testing.assert_allclose(fit_batch("exponential", *rows), tripled, atol=1e-6)


def test_a_batch_keeps_its_shape_and_marks_what_has_no_data():
    successes, trials = binomial(
        np.broadcast_to(FAMILIES["power"].curve(np.array(TRUE["power"]), ATTEMPTS), (4, 3, 10)), 20
    )
    trials[1, 2] = successes[1, 2] = 0
    for name in FAMILIES:
        found = fit_batch(name, successes, trials)
        assert found.shape[:2] == (4, 3)
        assert np.isnan(found[1, 2]).all()
        assert np.isfinite(np.delete(found.reshape(12, -1), 5, axis=0)).all()
    alone = fit_batch("exponential", successes[2], trials[2])
    np.testing.assert_array_equal(alone, fit_batch("exponential", successes, trials)[2])


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_all_right_or_all_wrong_is_no_trouble(share):
    trials = np.full((1, 6), 8.0)
    for name in FAMILIES:
        fit = family_of(name).fit(trials * share, trials)
        np.testing.assert_allclose(family_of(name).curve(fit.parameters, ATTEMPTS[:6]), share, atol=1e-6)
        assert fit.log_likelihood[0] == pytest.approx(0, abs=1e-5)


def test_no_family_is_fitted_where_it_cannot_win_and_none_that_could_is_missed():
    curves = FAMILIES["exponential"].curve(np.array(TRUE["exponential"]), ATTEMPTS)
    successes, trials = binomial(np.broadcast_to(curves, (300, 10)), 12, seed=3)
    found, reach = _best(CONTEST, successes, trials, (0.5,))
    fits = {name: family_of(name).fit(successes, trials, is_rough=True) for name in CONTEST}
    aic = np.array([2 * len(FAMILIES[name].parameters) - 2 * fit.log_likelihood for name, fit in fits.items()])
    for row, winner in enumerate(np.array(CONTEST)[aic.argmin(axis=0)]):
        best = family_of(winner)
        np.testing.assert_allclose(found[row], best.curve(fits[winner].parameters[row], ATTEMPTS), atol=1e-12)
        assert reach[row, 0] == best.reach(fits[winner].parameters[row], 0.5)


def multi_start(name, successes, trials, n_starts, seed=0):
    """The best log-likelihood that scipy finds from random starts within the same bounds."""
    family, rng = family_of(name), np.random.default_rng(seed)
    n_attempts = len(trials)
    low, high = (np.array(bound, dtype=float) for bound in family.bounds(n_attempts))
    distance = family.distance(np.arange(1.0, n_attempts + 1))

    work = kernels.make_work(len(low), n_attempts)

    def cost(theta):  # the derivatives are checked above
        return -kernels.derive(family.form, distance, successes, trials, theta, work), -work.gradient

    starts = rng.uniform(np.maximum(low, -3), np.minimum(high, n_attempts), size=(n_starts, len(low)))
    options = {"maxiter": 500, "ftol": 1e-13, "gtol": 1e-8}
    bounds = list(zip(low, high, strict=True))
    return max(
        -minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).fun for start in starts
    )


def check_against_scipy(counts, tasks, n_starts):
    for name in CONTEST:
        fit = family_of(name).fit(counts.successes, counts.trials)
        for task in tasks:
            oracle = multi_start(name, counts.successes[task], counts.trials[task], n_starts)
            assert fit.log_likelihood[task] > oracle - 1e-6, f"{name} on task {counts.tasks[task]}"


@pytest.mark.parametrize("data", [("assist09", 30, 80), ("spanish", 20, 25)], ids=["assist09", "spanish"])
def test_scipy_finds_nothing_better_on_some_tasks(data):
    counts = people(data[0], answers=data[1], attempts=6, first=data[2])
    check_against_scipy(counts, range(0, len(counts.tasks), 40), n_starts=6)


@pytest.mark.evidence
@pytest.mark.parametrize("data", [("assist09", 30, 80), ("spanish", 20, 25)], ids=["assist09", "spanish"])
def test_scipy_finds_nothing_better_on_many_tasks(data):
    counts = people(data[0], answers=data[1], attempts=6, first=data[2])
    check_against_scipy(counts, range(1, len(counts.tasks), 20), n_starts=4)


def test_which_family_suits_real_people():
    wins = {}
    for dataset, answers, first in (("assist09", 30, 80), ("spanish", 20, 25)):
        found = contest(people(dataset, answers=answers, attempts=6, first=first))
        names, counts = np.unique(found.winners, return_counts=True)
        wins[dataset] = dict(zip(names.tolist(), counts / counts.sum(), strict=True))
    assert max(wins["assist09"], key=wins["assist09"].get) == "exponential"
    assert 0.6 < wins["spanish"]["power"] + wins["spanish"]["logit-log"] < 0.75
    assert "isotonic" not in wins["assist09"] | wins["spanish"]


def test_thin_tasks_lean_on_the_others():
    rising = FAMILIES["exponential"].curve(np.array([0.1, 0.95, 0.5]), ATTEMPTS[:6])
    many = novices(np.array([rising] * 3), 60, seed=1).frame
    thin = many.filter(pl.col("task") == "task 000").head(12).with_columns(task=pl.lit("thin"), score=pl.lit(1.0))
    counts = novice_counts(Attempts(pl.concat([many, thin])))
    support = Support.of(counts)
    assert counts.tasks[-1] == "thin"
    assert support.is_thin.tolist() == [False, False, False, True]
    assert (support.trials[:3] == 0).all()
    assert counts.trials[-1].sum() < THIN
    found = contest(counts, ("exponential",))
    first = found.parameters["exponential"][-1, 0]
    assert 0.5 < first < 0.9  # two learners, both right at once; everybody else begins at 0.1


def test_learners_who_differ_are_seen_to_differ():
    curves = np.broadcast_to(FAMILIES["exponential"].curve(np.array(TRUE["exponential"]), ATTEMPTS), (8, 10))
    for planted in (0.0, 0.4):
        counts = novice_counts(novices(curves, 200, seed=2, correlation=planted))
        effect = LearnerEffect.of(counts, curves)
        by_task, overall = effect.correlations(np.ones((1, len(counts.learners))))
        assert by_task.shape == (1, 8)
        if planted:
            assert 0.2 < overall[0] < planted  # answers are cut at 0 and 1, which lowers a correlation
        else:
            assert abs(overall[0]) < 0.02


def test_a_band_holds_whole_curves():
    draws = np.random.default_rng(0).normal(size=(2000, 1)) + 0.4 * np.random.default_rng(1).normal(size=(2000, 12))
    low, high = whole_band(draws, 0.9, 10**6)
    inside = ((draws >= low) & (draws <= high)).all(axis=1).mean()
    assert 0.9 <= inside < 0.905
    narrow = interval(draws, 0.9, 10**6)
    assert (low <= narrow.low).all()
    assert (high >= narrow.high).all()


def test_a_band_is_open_where_more_replicates_failed_than_it_may_leave_out():
    draws = np.random.default_rng(0).uniform(0.4, 0.6, size=(100, 3))
    draws[:8] = np.nan
    low, high = whole_band(draws, 0.95, 10**6)
    assert (low.tolist(), high.tolist()) == ([0, 0, 0], [1, 1, 1])
    low, high = whole_band(draws, 0.9, 10**6)
    assert (low > 0.4).all()
    assert (high < 0.6).all()
    draws[:11] = np.nan
    assert np.isnan(whole_band(draws, 0.9, 10**6)).all()


def test_states_of_reaching():
    draws = np.array([-np.inf] * 10 + [2.0] * 80 + [np.inf] * 10)
    found = reached(2.0, draws, 0.5, 10, 1000, 0.95)
    assert (found.value, found.state) == (2.0, "ok")
    assert (found.low, found.low_state, found.high, found.high_state) == (1.0, "below_range", 10.0, "above_range")
    assert reached(-np.inf, draws, 0.5, 10, 1000, 0.95).state == "below_range"
    beyond = reached(12.0, draws, 0.5, 10, 1000, 0.95)
    assert (beyond.value, beyond.state) == (10.0, "above_range")
    never = reached(np.inf, draws, 0.5, 10, 1000, 0.95)
    assert (never.value, never.state) == (None, "unbounded")
    assert "levels off below 50%" in never.reason
    assert reached(2.0, draws, 0.5, 10, 3, 0.95).low is None


@pytest.fixture(scope="module")
def fitted():
    curves = FAMILIES["exponential"].curve(np.array([[0.1, 0.9, 0.5], [0.75, 0.95, 0.3], [0.05, 0.3, 1.5]]), ATTEMPTS)
    attempts = novices(curves, 60, seed=4)
    return attempts, fit_curves(attempts, n_replicates=128, seed=1)


def test_a_result_tells_what_was_planted(fitted):
    _, found = fitted
    assert [curve.reach[0.5].state for curve in found.rows] == ["ok", "below_range", "unbounded"]
    assert found.rows[0].reach[0.5].covers(1 + np.log(0.8 / 0.4) / 0.5)
    assert [curve.first.covers(truth) for curve, truth in zip(found.rows, (0.1, 0.75, 0.05), strict=True)] == [True] * 3
    assert sum(found.wins.values()) == pytest.approx(1)
    assert found.correlation.covers(0)
    assert not found.attrition.warning


def test_tables_of_a_result(fitted, tmp_path):
    _, found = fitted
    frame = found.to_frame()
    assert {
        "task",
        "family",
        "first",
        "asymptote",
        "rate",
        "aic",
        "n50",
        "n50_low",
        "n50_high",
        "n50_state",
        "n80",
    } <= set(frame.columns)
    assert len(found.points) == 30
    assert found.points["n"].to_list() == [60] * 30
    inside = found.points.select(
        (pl.col("band_low") <= pl.col("p_low")) & (pl.col("p_low") <= pl.col("p_high"))
    ).to_series()
    assert inside.all()
    assert set(found.families["family"]) == set(FAMILIES)
    assert found.families.filter("is_best")["family"].to_list() == frame["family"].to_list()
    names = {path.name for path in found.save(tmp_path)}
    assert names == {
        *("curves.csv", "curve_points.csv", "families.csv", "base_rates.csv"),
        *("attrition.csv", "presence.csv", "refinement.csv", "curves.json", "curves.result.zip"),
    }
    assert json.loads((tmp_path / "curves.json").read_text())["provenance"]["seed"] == 1


def test_the_same_seed_gives_the_same_numbers_on_any_number_of_threads(fitted):
    attempts, found = fitted
    again = fit_curves(attempts, n_replicates=128, seed=1, workers=1)
    assert again.to_frame().equals(found.to_frame())
    assert again.points.equals(found.points)
    assert not fit_curves(attempts, n_replicates=128, seed=2).points.equals(found.points)


def test_one_family_for_all(fitted):
    attempts, _ = fitted
    for name in ("isotonic", "logit-log"):
        found = fit_curves(attempts, curve=name, n_replicates=40)
        assert {curve.family for curve in found.rows} == {name}
        assert found.wins == {}
        assert list(found.charts()) == ["curves", "attrition"]


def test_what_cannot_be_fitted_says_so(fitted):
    attempts, _ = fitted
    with pytest.raises(OptionError, match="No curve called 'spline'.*Choose from: exponential"):
        fit_curves(attempts, curve="spline")
    with pytest.raises(OptionError, match="not between 0 and 1"):
        fit_curves(attempts, success_rates=(50,))
    with pytest.raises(InputError, match="None of 3 tasks has 6 attempts with 100 answers"):
        fit_curves(attempts, min_answers=100, min_attempts=6)


def test_the_command(fitted, tmp_path, command):
    fitted[0].write(tmp_path / "runs.parquet")
    told = command("horizon", "curves", tmp_path / "runs.parquet", "--replicates", 40, "-o", tmp_path / "out")
    assert told.returncode == 0, told.stderr
    assert "Smallest AIC:" in told.stdout
    assert "from the first" in told.stdout
    assert "never" in told.stdout
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        "curves.csv",
        "curves.png",
        "family_wins.png",
        "attrition.png",
        "curves_report.html",
        "curves.json",
    } <= written
    assert "How do novices learn?" in (tmp_path / "out/curves_report.html").read_text()


def test_the_commands_errors_are_one_line(fitted, tmp_path, command):
    fitted[0].write(tmp_path / "runs.parquet")
    wrong = command("horizon", "curves", tmp_path / "runs.parquet", "--curve", "spline")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.splitlines()[-1].startswith("howsure: No curve called 'spline'.")
    told = command("horizon", "curves", tmp_path / "runs.parquet", "--replicates", 20, "--json", "-q")
    assert json.loads(told.stdout)["curves"][0]["task"] == "task 000"


@pytest.mark.evidence
@pytest.mark.parametrize(("n_learners", "least"), [(50, 0.92), (20, 0.9)])
def test_intervals_hold_the_truth_about_as_often_as_they_say(n_learners, least):
    rng = np.random.default_rng(n_learners)
    n_tasks = 150
    true = np.stack(
        [rng.uniform(0.05, 0.6, n_tasks), rng.uniform(0.6, 0.98, n_tasks), rng.uniform(0.15, 0.8, n_tasks)], axis=1
    )
    family = FAMILIES["exponential"]
    curves = family.curve(true, ATTEMPTS)
    counts = novice_counts(novices(curves, n_learners, seed=5, correlation=0.2))
    found = resample(counts, CONTEST, LearnerEffect.of(counts, curves), (0.5,), 250, seed=0)
    single = interval(found.curves, 0.95, n_learners)
    low, high = single.low, single.high
    bands = [whole_band(draws, 0.95, n_learners) for draws in np.moveaxis(found.curves, 1, 0)]
    band_low, band_high = np.moveaxis(bands, 0, 1)
    assert least < ((low <= curves) & (curves <= high)).mean() < 0.98
    assert ((band_low <= curves) & (curves <= band_high)).all(axis=1).mean() > least - 0.06
    truth = np.clip(family.reach(true, 0.5), 1, 10)
    reach = interval(found.reach[:, :, 0], 0.95, n_learners)
    assert least < ((reach.low.clip(1, 10) <= truth) & (truth <= reach.high.clip(1, 10))).mean()
