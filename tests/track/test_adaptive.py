"""The search for the median length: simulated models whose median is known, and a real server."""

import importlib.util

import numpy as np
import pytest

from howsure.errors import OptionError
from howsure.track.adaptive import LengthPosterior, MedianLength, chance_level, find_median_length, posterior_of
from howsure.track.game.prompts import bracketed
from howsure.track.game.statistics import statistic
from servers.openai_server import ChatServer, failure


def search(accuracy, chance, rng, n_runs=4, n_calls=10, longest=300):
    """The posterior of all calls to a model whose last answers are correct with probability `accuracy(length)`, beside guesses."""
    final = LengthPosterior(chance, longest)
    for _ in range(n_runs):
        mine = LengthPosterior(chance, longest)
        for _ in range(n_calls):
            length = mine.next_length(rng)
            is_right = rng.random() < chance + (1 - chance) * accuracy(length)
            mine.add(length, is_right=is_right)
            final.add(length, is_right=is_right)
    return final


@pytest.mark.heavy
@pytest.mark.parametrize("chance", [0.0, 1 / 7])
@pytest.mark.parametrize(
    "accuracy",
    [lambda x: 1 / (1 + x**1.5), lambda x: 1 / (1 + x**4.0), lambda x: 0.5**x, lambda x: 0.5 ** (x**2)],
    ids=["logistic, flat", "logistic, steep", "constant hazard", "rising hazard"],
)
def test_the_interval_contains_the_true_median(accuracy, chance):
    """Of 60 searches with 40 calls each; the last two curves are not those of the model."""
    rng, median = np.random.default_rng(1), 30
    found = [search(lambda length: accuracy(length / median), chance, rng).median() for _ in range(60)]
    hits = [(one.low or 0) <= median <= (one.high or np.inf) for one in found]
    assert np.mean(hits) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 60)
    assert np.median([one.value for one in found]) == pytest.approx(median, rel=0.2)


def test_beyond_the_range_there_is_no_number():
    rng = np.random.default_rng(2)
    perfect, hopeless = search(lambda _: 1.0, 0.1, rng).median(), search(lambda _: 0.0, 0.1, rng).median()
    assert (perfect.state, perfect.high) == ("above_range", None)
    assert (hopeless.state, hopeless.low) == ("below_range", None)


def test_the_curve_falls_and_its_band_contains_it():
    posterior = search(lambda length: 0.5 ** (length / 20), 0.0, np.random.default_rng(3))
    share, low, high = posterior.curve(np.array([1.0, 10.0, 20.0, 100.0]), 0.95)
    assert (np.diff(share) < 0).all()
    assert ((low <= share) & (share <= high)).all()
    assert low[2] <= 0.5 <= high[2]


def test_the_chance_level_is_that_of_guesses():
    assert chance_level("boxes") == pytest.approx(1 / 7)
    assert chance_level("median") < 0.2
    assert statistic("boxes").size == 7


@pytest.mark.parametrize("wrong", [{"n_calls": 0}, {"n_calls": 101}, {"n_searches": 0}, {"longest": 1}, {"at": [0]}])
def test_what_cannot_be_is_refused(wrong, tmp_path):
    with pytest.raises(OptionError):
        find_median_length("howsure/oracle", out=tmp_path, **wrong)


@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is None, reason="needs Inspect")
def test_a_player_with_a_known_memory_is_placed(command, tmp_path):
    """Who remembers 20 turns is right up to 20 and guesses beyond."""
    asked = ["--model", "howsure/window-20", "--variant", "sums", "--longest", "100", "--seed", "1", "-o", tmp_path]
    told = command("track", "length", *asked, "--json")
    assert told.returncode == 0, told.stderr
    import json

    found = json.loads(told.stdout)["median_length"][0]
    assert 17 <= found["median_length_low"] <= 21 <= found["median_length_high"] <= 27
    assert found["n_calls"] == 40
    again = command("track", "length", *asked)
    assert again.returncode == 0
    assert len(list((tmp_path / "logs").glob("*.eval"))) == 1, "what is complete is not asked again"


@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is None, reason="needs Inspect")
def test_the_last_answer_can_be_asked_for_at_given_lengths(command, tmp_path):
    """Who remembers 20 turns is right after 20 and wrong after 40."""
    import json

    asked = ["--model", "howsure/window-20", "--variant", "sums", "--at", "20", "--at", "40", "--searches", "2"]
    told = command("track", "length", *asked, "-o", tmp_path, "--json")
    assert told.returncode == 0, told.stderr
    rows = json.loads(told.stdout)["accuracy"]
    assert [(row["length"], row["n_calls"], row["accuracy"]) for row in rows] == [(20, 10, 1.0), (40, 10, 0.0)]
    assert rows[0]["accuracy_low"] < 0.8 < rows[0]["accuracy_high"] == 1
    assert MedianLength.load(tmp_path).by_length()[0][:2] == (20, 10)


@pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="needs Inspect and the openai client")
def test_a_length_beyond_the_context_window_is_no_error_of_the_model(command, tmp_path):
    """A perfect model with room for 15 turns: its median length is above that, and not 15."""
    import json
    import re

    def answer(request):
        words = re.findall(r"^\d+\.\n(\w+)$", request.text, re.MULTILINE)
        if len(words) > 15:
            return failure(400, says="prompt is too long: 16 tokens > 15 maximum")
        return bracketed(statistic("sums"), sum(statistic("sums").values()[word] for word in words))

    with ChatServer(answer) as server:
        asked = ["--model", "openai-http/test/m", "--base-url", server.base_url, "--variant", "sums", "--searches", "1"]
        told = command("track", "length", *asked, "--longest", "100", "-o", tmp_path, "--json")
    assert told.returncode == 0, told.stderr
    result = json.loads(told.stdout)
    (row,) = result["median_length"]
    assert (row["median_length_state"], row["median_length_high"]) == ("above_range", None)
    assert 5 <= row["median_length"] <= 15
    assert row["n_calls"] == row["n_right"] < 10
    assert "did not fit into the context window" in str(result["provenance"]["notes"])


def test_calls_together_are_the_calls_one_by_one():
    from howsure.track.adaptive import Trial

    trials = [Trial(0, 0, 10, True), Trial(1, 0, 40, False)]
    one = LengthPosterior(0.1, 100)
    for trial in trials:
        one.add(trial.length, is_right=trial.is_right)
    assert posterior_of(trials, 0.1, 100).median() == one.median()
