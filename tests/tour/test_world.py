"""True values are what they say: checked against closed forms, other code, and plain simulation."""

import numpy as np
import pytest

from howsure.tour.games import LENGTH, N_SAMPLES
from howsure.tour.horizons import N_GAMES, draw_people, horizon_of, success_by_game
from howsure.tour.track import window_turns
from howsure.tour.world import BENCHMARK, BEYOND, plant, share_of_turns
from howsure.track.game.sequence import Setting
from howsure.track.running.playing import run_players


@pytest.fixture(scope="module")
def world():
    return plant(3)


def test_right_turns_of_a_player_who_slips_follow_the_geometric_sum():
    p = 0.07
    expected = (1 - (1 - p) ** LENGTH) * (1 - p) / p
    assert LENGTH * share_of_turns(p) == pytest.approx(expected)
    played = run_players(["noisy-0.07"], ["median"], setting=Setting(length=LENGTH), n_samples=4000)
    turns = played.frame["max_length"].to_numpy()
    assert turns.mean() == pytest.approx(expected, abs=3 * turns.std() / np.sqrt(len(turns)))


def test_a_window_forgets_as_the_player_does():
    played = run_players(["window-4"], ["median"], setting=Setting(length=LENGTH), n_samples=2000)
    turns = played.frame["max_length"].to_numpy()
    error = turns.std() / np.sqrt(len(turns))
    assert window_turns(4, np.random.default_rng(1)) == pytest.approx(turns.mean(), abs=3.5 * error)


def test_the_cast_goes_from_the_weakest_to_the_strongest_and_is_new_to_the_benchmarks(world):
    capability = [actor.capability for actor in world.cast]
    assert capability == sorted(capability)
    assert [actor.attempts for actor in world.cast] == [2, 3, 4, 5, 7, BEYOND]
    names = {actor.name for actor in world.cast}
    assert len(names) == len(world.players) == 6
    assert not names & set(world.scores.frame["model"])
    assert BENCHMARK in set(world.scores.frame["benchmark"])


def test_able_models_slip_less():
    """Over worlds: within one, a benchmark's noise may turn the order around."""
    pairs = [(actor.capability - w.benchmark(BENCHMARK)["difficulty"], actor.turns) for w in map(plant, range(8)) for actor in w.cast]  # fmt: skip
    assert np.corrcoef(np.array(pairs).T)[0, 1] > 0.7


def test_a_seed_is_a_world(world):
    assert plant(3).cast == world.cast
    assert plant(4).cast != world.cast


def test_people_learn_as_planted():
    drawn = [draw_people(seed).frame for seed in range(40)]
    share = np.mean([(f["max_length"] >= 10).to_numpy().reshape(-1, N_GAMES).mean(axis=0) for f in drawn], axis=0)
    assert share == pytest.approx(success_by_game(10), abs=0.03)
    assert np.all(np.diff(success_by_game(10)) > 0)


def test_a_model_that_does_as_people_in_a_game_is_worth_that_game():
    curve = success_by_game(10)
    assert [horizon_of(float(p), 10) for p in curve] == pytest.approx(range(1, N_GAMES + 1))
    assert horizon_of(float((curve[1] + curve[2]) / 2), 10) == pytest.approx(
        np.sqrt(6)
    )  # half-way from 2 to 3 by the logarithm
    assert horizon_of(0.001, 10) == -np.inf
    assert horizon_of(0.999, 10) == np.inf


def test_thirty_games_are_what_the_page_says():
    assert (LENGTH, N_SAMPLES) == (30, 30)
