"""Matching, regression and irt: against other code, against known answers, at the edges."""

import math

import numpy as np
import pytest
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, log_ndtr, logit

from howsure.errors import OptionError
from howsure.horizon.attempt_horizon.definitions import (
    DEFINITIONS,
    Drawn,
    Model,
    definition,
    irt,
    matching,
    regression,
)
from howsure.horizon.attempt_horizon.definitions.matching import reach, reach_plainly, rise
from howsure.horizon.simulator import draw_suite, simulate

LEVELS = np.array([0.5, 0.8])
HALF = np.array([0.5])


def as_drawn(novices, weights=None):
    n_tasks = len(novices.tasks)
    return Drawn(novices.successes[None], novices.trials[None], np.ones((1, n_tasks)) if weights is None else weights)


def drawn_from(chances, n=1e6):
    """Novices whose success is exactly these chances (tasks, attempts)."""
    trials = np.full((1, *np.shape(chances)), n)
    return Drawn(np.asarray(chances)[None] * n, trials, np.ones((1, len(chances))))


def model_of(chances, n=1e6):
    return Model(np.asarray(chances, dtype=float) * n, np.full(len(chances), float(n)))


@pytest.fixture(scope="module")
def estimator():
    world = simulate(seed=3).counts
    rng = np.random.default_rng(0)
    successes, trials = world.novices.weighted(0.2 + 0.8 * world.novices.draw_learners(5, rng))
    weights = rng.multinomial(100, np.full(100, 0.01), size=5).astype(float)
    return Drawn(successes, trials, weights), Model(world.successes[1], world.n[1])


# rising curves


def test_rising_curves_are_scipys():
    rng = np.random.default_rng(1)
    for _ in range(50):
        values, weights = rng.random(9), rng.random(9) + 0.1
        np.testing.assert_allclose(rise(values, weights), isotonic_regression(values, weights=weights).x)


def test_a_height_is_reached_between_attempts_by_the_logarithm():
    curve = np.array([0.2, 0.4, 0.4, 0.8])
    assert reach(curve, 0.2) == 1
    assert reach(curve, 0.3) == pytest.approx(math.sqrt(2))
    assert reach(curve, 0.4) == 2  # the first attempt that does
    assert reach(curve, 0.6) == pytest.approx(math.sqrt(12))
    assert reach(curve, 0.8) == 4
    assert reach(curve, 0.19) == -math.inf
    assert reach(curve, 0.81) == math.inf


def test_the_kernel_reaches_where_numpy_does():
    rng = np.random.default_rng(2)
    for _ in range(200):
        curve = np.sort(rng.choice(np.linspace(0, 1, 8), 6))
        height = rng.choice([*curve, rng.random()])
        assert reach(curve, height) == pytest.approx(reach_plainly(curve, height))


# the law, without noise


@pytest.mark.parametrize("kind", ["easy", "hard"])
@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_whole_attempts_are_matched_exactly(kind, n):
    suite = draw_suite(60, kind=kind, seed=4)
    novices = drawn_from(np.stack([suite.success(k) for k in range(1, 11)], axis=1))
    assert matching.horizons(novices, model_of(suite.success(n)), HALF)[0, 0] == pytest.approx(n, rel=1e-3)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_each_definition_finds_its_own_curve(name):
    """Where logit P = γ·ln n − d holds, all three mean the same, at every level."""
    gamma, difficulty = 0.9, np.linspace(-0.5, 2.2, 41)
    chances = expit(gamma * np.log(np.arange(1, 21)) - difficulty[:, None])
    found = definition(name).horizons(drawn_from(chances), model_of(expit(gamma * np.log(4.0) - difficulty)), LEVELS)
    truth = [4.0, 4.0 * math.exp(-logit(0.8) / gamma)]
    assert truth[1] < 1
    assert found[0, 0] == pytest.approx(4, rel=0.02)
    assert found[0, 1] == -np.inf
    strong = model_of(expit(gamma * np.log(9.0) - difficulty))
    found = definition(name).horizons(drawn_from(chances), strong, LEVELS)
    assert found[0] == pytest.approx([9, 9 * math.exp(-logit(0.8) / gamma)], rel=0.04)


# against other code


def test_matching_is_its_plain_version(estimator):
    drawn, model = estimator
    curves, answers = matching.pooled_curves(drawn, model, matching.last_attempt(drawn, model))
    heights = np.random.default_rng(1).uniform(0.2, 0.9, (5, 3))
    np.testing.assert_allclose(
        matching._reach_all(curves, answers, heights), matching._reach_all_plainly(curves, answers, heights)
    )


def test_irt_is_the_optimum_that_scipy_finds(estimator):
    drawn, model = Drawn(*(part[:, :12] for part in estimator[0])), Model(*(part[:12] for part in estimator[1]))
    found = irt.abilities(drawn, model)
    for replicate in (0, 3):

        def cost(at, replicate=replicate):
            return -irt.log_likelihood(drawn, model, replicate, at[0], at[1], at[2:])

        best = minimize(cost, np.r_[found[replicate] + 0.1, np.zeros(12)], method="BFGS", options={"gtol": 1e-4})
        np.testing.assert_allclose(found[replicate], best.x[:2], atol=2e-4)


def test_regression_is_the_optimum_that_scipy_finds(estimator):
    drawn, model = estimator
    places, last = regression.difficulties(drawn.successes, drawn.trials)
    lines = regression._fit_all(places, last, drawn.weights, model.successes, model.n)
    for replicate in (3,):
        given = (places[replicate], last, drawn.weights[replicate])
        best = minimize(
            lambda line, given=given: -regression.log_likelihood(line, *given, model.successes, model.n),
            lines[replicate] + 0.2,
            method="Nelder-Mead",
            options={"xatol": 1e-7, "fatol": 1e-10},
        )
        np.testing.assert_allclose(lines[replicate], best.x, atol=1e-4)
        spread = minimize(
            lambda at, given=given: -regression.spread_likelihood(at[0], math.exp(at[1]), *given),
            [0, 0],
            method="Nelder-Mead",
            options={"xatol": 1e-8, "fatol": 1e-10},
        )
        np.testing.assert_allclose(regression._spread(*given), [spread.x[0], math.exp(spread.x[1])], rtol=1e-4)


@pytest.mark.parametrize("z", [-40.0, -25.1, -24.9, -3.0, 0.0, 5.0])
def test_the_tail_of_the_normal_distribution_is_scipys(z):
    log_mass, ratio = regression._log_ndtr(z)
    assert log_mass == pytest.approx(log_ndtr(z), rel=1e-5)
    assert ratio == pytest.approx(math.exp(-z * z / 2 - math.log(math.sqrt(2 * math.pi)) - log_ndtr(z)), rel=1e-4)


def test_difficulties_beyond_the_ends_still_inform_the_regression():
    """Half of the tasks are censored; dropping them would lose the crossing, treating them as 1 would move it."""
    difficulty = np.linspace(-2.0, 2.0, 81)  # ln N; half lie below attempt 1
    chances = expit(1.2 * (np.log(np.arange(1, 11)) - difficulty[:, None]))
    model = model_of(expit(1.2 * (np.log(2.0) - difficulty)), n=50)
    found = regression.horizons(drawn_from(chances), model, HALF)[0, 0]
    assert found == pytest.approx(2.0, rel=0.05)


# levels


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_higher_level_is_never_a_larger_horizon(name):
    levels = np.array([0.2, 0.5, 0.65, 0.8, 0.95])
    for seed in range(8):
        world = simulate(draw_suite(30, kind="easy", seed=seed), n_learners=12, n_runs=4, seed=seed).counts
        rng = np.random.default_rng(seed)
        successes, trials = world.novices.weighted(0.1 + 0.9 * world.novices.draw_learners(20, rng))
        drawn = Drawn(successes, trials, rng.multinomial(30, np.full(30, 1 / 30), size=20).astype(float))
        for row in range(3):
            found = definition(name).horizons(drawn, Model(world.successes[row], world.n[row]), levels)
            found = found[~np.isnan(found[:, 0])]
            assert (found[:, 1:] <= found[:, :-1]).all()


def test_the_handicap_divides_the_odds_and_is_nearly_unbiased():
    exact = matching.handicapped(np.array([0.5e6]), np.array([1e6]), LEVELS)
    assert exact[:, 0] == pytest.approx([0.5, 0.2], abs=1e-5)
    rng = np.random.default_rng(0)
    for p in (0.3, 0.6, 0.9):
        won = rng.binomial(20, p, 200_000).astype(float)
        truth = p / (p + 4 * (1 - p))
        corrected = matching.handicapped(won, np.full(len(won), 20.0), np.array([0.8])).mean()
        naive = (won / (won + 4 * (20 - won))).mean()
        assert abs(corrected - truth) < 0.003
        assert abs(corrected - truth) < abs(naive - truth) / 2


def test_half_is_the_plain_share_also_for_single_runs():
    won, n = np.array([0.0, 1.0, 3.0]), np.array([1.0, 1.0, 4.0])
    np.testing.assert_array_equal(matching.handicapped(won, n, HALF)[0], [0, 1, 0.75])
    single = matching.handicapped(won, n, np.array([0.8]))[0]
    assert single[:2].tolist() == [0, 1]


# edges


@pytest.mark.parametrize("name", DEFINITIONS)
def test_always_right_is_above_and_always_wrong_below(name):
    suite = draw_suite(30, seed=2)
    novices = drawn_from(np.stack([suite.success(k) for k in range(1, 11)], axis=1), n=100)
    for share, end in ((1.0, np.inf), (0.0, -np.inf)):
        assert definition(name).horizons(novices, model_of(np.full(30, share), n=20), LEVELS)[0].tolist() == [end, end]


def test_a_model_that_is_better_at_hard_tasks_has_no_regression_horizon():
    suite = draw_suite(40, seed=2)
    novices = drawn_from(np.stack([suite.success(k) for k in range(1, 11)], axis=1))
    backwards = model_of(np.clip(suite.difficulty, 0.05, 0.95), n=50)
    assert np.isnan(regression.horizons(novices, backwards, LEVELS)).all()
    assert np.isfinite(matching.horizons(novices, backwards, HALF)).all()


def test_novices_who_do_not_learn_leave_irt_undefined():
    falling = np.linspace(0.7, 0.3, 10)[None] * np.ones((20, 1))
    assert np.isnan(irt.horizons(drawn_from(falling, n=100), model_of(np.full(20, 0.4), n=20), LEVELS)).all()


def test_too_few_tasks_within_the_attempts_leave_regression_undefined():
    easy = drawn_from(np.full((20, 5), 0.9))
    assert np.isnan(regression.horizons(easy, model_of(np.linspace(0.4, 0.8, 20), n=20), LEVELS)).all()


def test_tasks_that_a_model_never_tried_do_not_count():
    suite = draw_suite(40, seed=2)
    novices = drawn_from(np.stack([suite.success(k) for k in range(1, 11)], axis=1))
    model = model_of(suite.success(3))
    tried = np.arange(40) % 2 == 0
    half = Model(np.where(tried, model.successes, 0), np.where(tried, model.n, 0))
    for name in DEFINITIONS:
        alone = Drawn(novices.successes[:, tried], novices.trials[:, tried], novices.weights[:, tried])
        fewer = definition(name).horizons(alone, Model(model.successes[tried], model.n[tried]), HALF)
        assert definition(name).horizons(novices, half, HALF) == pytest.approx(fewer, rel=0.05)


def test_matching_sees_no_further_than_the_shortest_task():
    trials = np.full((1, 2, 5), 100.0)
    trials[0, 1, 3:] = 0
    successes = trials * np.linspace(0.2, 0.6, 5)
    drawn, model = Drawn(successes, trials, np.ones((1, 2))), model_of([0.55, 0.55], n=20)
    assert matching.last_attempt(drawn, model) == 3
    assert matching.horizons(drawn, model, HALF)[0, 0] == np.inf
    assert irt.last_attempt(drawn, model) == 5


def test_regression_does_not_guess_beyond_the_hardest_task():
    """No task needs more than three attempts, and the model would still do those."""
    difficulty = np.linspace(-1, math.log(3.0), 40)
    novices = drawn_from(expit(np.log(np.arange(1, 11)) - difficulty[:, None]))
    model = model_of(expit(math.log(6.0) - difficulty))
    assert regression.last_attempt(novices, model) == pytest.approx(3, rel=0.01)
    assert regression.horizons(novices, model, HALF)[0, 0] == np.inf
    assert irt.horizons(novices, model, HALF)[0, 0] == pytest.approx(6, rel=0.02)


def test_an_unknown_definition_names_the_known():
    with pytest.raises(OptionError, match="Did you mean 'matching'"):
        definition("matchin")
