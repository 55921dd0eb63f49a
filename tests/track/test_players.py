"""Players without a model, against the reference's figures and an exact expectation."""

import math

import numpy as np
import pytest

from howsure.errors import OptionError
from howsure.track.game.players import player
from howsure.track.game.sequence import Setting
from howsure.track.game.simulated_players import expected_random
from howsure.track.game.statistics import VARIANTS
from howsure.track.running.playing import run_players


def turns(name, variant, **options):
    return run_players([name], [variant], **options).frame["max_length"].to_numpy()


@pytest.mark.parametrize("variant", ["median", "mode"])
def test_the_oracle_scores_300(variant):
    assert set(turns("oracle", variant)) == {300}


@pytest.mark.parametrize("variant", VARIANTS[2:])
def test_the_oracle_is_right_on_the_other_variants_too(variant):
    assert set(turns("oracle", variant, n_samples=10)) == {300}


@pytest.mark.parametrize(
    ("name", "variant", "called"),
    [
        ("largest", "mode", "largest_so_far"),
        *(
            (f"window-{size}", variant, f"{variant}_of_last_{size}")
            for size in (10, 20, 50)
            for variant in ("mode", "median")
        ),
        *(("window-1", variant, "last_number") for variant in ("mode", "median")),
    ],
)
def test_heuristics_are_the_references(name, variant, called, reference):
    told, found = reference("heuristic_baselines")["strategies"][variant][called], turns(name, variant)
    figures = {
        "avg": found.mean(),
        "std": found.std(),
        "median": np.median(found),
        "max": found.max(),
        "min": found.min(),
    }
    assert figures == pytest.approx(told)


@pytest.mark.parametrize("variant", ["median", "mode"])
def test_the_exact_expectation_is_the_references(variant, reference):
    told, found = reference("random_baseline_exact")[variant], expected_random(variant, range(250))
    assert found.average == pytest.approx(told["expected_avg_max_length"], abs=1e-9)
    assert found.run_sd == pytest.approx(told["run_to_run_sd_of_avg"], abs=1e-9)
    first = [found.by_seed[seed] for seed in range(5)]
    assert first == pytest.approx(told["per_sample_expected_first5"], abs=1e-9)


@pytest.mark.parametrize("variant", VARIANTS[:5])
def test_random_averages_what_is_expected(variant):
    n_runs = 20 if variant in ("median", "mode") else 8
    averages = [turns("random", variant, seed=run).mean() for run in range(n_runs)]
    exact = expected_random(variant, range(250))
    assert np.mean(averages) == pytest.approx(exact.average, abs=3.5 * exact.run_sd / math.sqrt(n_runs))
    # the spread of averages has its own error, about 1/√(2n) of itself
    assert np.std(averages, ddof=1) == pytest.approx(exact.run_sd, rel=3.5 / math.sqrt(2 * n_runs))


def test_the_published_random_runs_agree_with_the_exact_expectation(reference):
    for run in reference("random_baseline")["runs"]:
        exact = expected_random(run["task"], range(250))
        assert run["metrics"]["avg_max_length"] == pytest.approx(exact.average, abs=4 * exact.run_sd)


def test_noisy_lasts_a_geometric_time():
    chance, found = 0.05, turns("noisy-0.05", "mode", n_samples=1500)
    survival = (1 - chance) ** np.arange(1, 301)
    expected, square = survival.sum(), ((2 * np.arange(1, 301) - 1) * survival).sum()
    assert found.mean() == pytest.approx(expected, abs=3.5 * math.sqrt((square - expected**2) / 1500))
    assert set(turns("noisy-0", "mode", n_samples=5)) == {300}
    assert set(turns("noisy-1", "mode", n_samples=5)) == {0}


def test_the_same_seed_plays_the_same_game():
    assert (turns("random", "median", seed=4) == turns("random", "median", seed=4)).all()
    assert (turns("random", "median", seed=4) != turns("random", "median", seed=5)).any()


def test_a_run_knows_its_conditions():
    frame = run_players(["largest"], ["mode"], setting=Setting(20, high=10, distractors=0.5), n_samples=7).frame
    assert frame.select("setting", "length", "kind", "solver").unique().rows() == [
        ("high=10 distractors=0.5", 20, "baseline", "direct")
    ]
    assert frame["seed"].to_list() == list(range(7))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("orcale", "Did you mean 'oracle'"),
        ("window", "Choose from: oracle, random, largest, window-K, noisy-P"),
        ("window-0", "a whole number, at least 1, for example window-20"),
        ("window-٣", "a whole number"),
        ("noisy-1.5", "a probability from 0 to 1"),
        ("noisy-x", "for example noisy-0.05"),
        ("oracle-3", "No player called 'oracle-3'"),
    ],
)
def test_wrong_names_are_told_with_the_right_ones(name, told):
    with pytest.raises(OptionError, match=told):
        player(name, "mode")
