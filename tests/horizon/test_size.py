"""How large a study must be: by simulation, and against what it then finds."""

import numpy as np
import polars as pl
import pytest

from howsure.errors import OptionError
from howsure.horizon.attempt_horizon.estimator import HorizonEstimator
from howsure.horizon.attempt_horizon.study_size import size_study
from howsure.horizon.simulator import draw_suite, simulate

SMALL = {"learners": (10, 40), "tasks": (20, 60), "n_attempts": 6, "n_runs": 5, "n_simulations": 40}


@pytest.fixture(scope="module")
def plan():
    return size_study(horizon=2.5, wanted=0.4, **SMALL)


def test_more_learners_and_more_tasks_know_more(plan):
    width = {(one.n_learners, one.n_tasks): one.half_width for one in plan.designs}
    assert width[10, 20] > width[40, 20] > width[40, 60]
    assert width[10, 20] > width[10, 60]


def test_the_cheapest_design_is_enough_and_none_with_fewer_answers_is(plan):
    best = plan.cheapest
    assert best.half_width <= 0.4
    assert all(one.half_width > 0.4 for one in plan.designs if one.n_answers < best.n_answers)
    assert size_study(horizon=2.5, wanted=0.01, **SMALL).cheapest is None


def test_the_promised_width_is_what_a_study_finds(plan):
    promised = next(one.half_width for one in plan.designs if (one.n_learners, one.n_tasks) == (40, 60))
    found = []
    for seed in range(12):
        world = simulate(
            draw_suite(60, seed=seed), true_horizons={"m": 2.5}, n_learners=40, n_attempts=6, n_runs=5, seed=seed
        )
        estimator = HorizonEstimator(world.counts, ("matching",), np.array([0.5]))
        one = estimator.horizon(estimator.replicates(200, seed=seed), 0, 0, 0, 0.95)
        found.append(np.sqrt(one.high / one.low) - 1)
    assert np.mean(found) == pytest.approx(promised, rel=0.35)


def test_tasks_that_are_dealt_out_are_planned_too():
    """A fifth of the answers per learner: wider than with all tasks, narrower than with a fifth of the learners at all of them."""
    some = {"horizon": 3, "tasks": (40,), "n_attempts": 8, "n_runs": 20, "n_simulations": 60, "sameness": 0.7}
    dealt = size_study(learners=(50,), tasks_per_learner=8, **some).designs[0]
    everybody = size_study(learners=(50,), **some).designs[0]
    fewer = size_study(learners=(10,), **some).designs[0]
    assert dealt.n_answers == fewer.n_answers == 400
    assert everybody.half_width < dealt.half_width < fewer.half_width


def test_a_horizon_at_the_edge_is_not_sized():
    assert (
        size_study(horizon=6, learners=(5,), tasks=(5,), n_attempts=6, n_runs=2, n_simulations=20).designs[0].half_width
        is None
    )


def test_it_is_saved_and_drawn(tmp_path, plan):
    from howsure.charts import save_chart

    assert {path.name for path in plan.save(tmp_path)} == {"size.csv", "size.json", "size.result.zip"}
    assert pl.read_csv(tmp_path / "size.csv")["is_enough"].to_list() == [one.half_width <= 0.4 for one in plan.designs]
    assert "± 40%" in save_chart(plan.charts()["size"], tmp_path / "size.svg").read_text()


def test_what_cannot_be_sized_is_refused():
    with pytest.raises(OptionError, match="between 1 and the 10 attempts"):
        size_study(horizon=11)
    with pytest.raises(OptionError, match="at least 20 simulations"):
        size_study(n_simulations=3)
