"""One example goes the whole way: a model plays Track the Stat through Inspect, and ends with a horizon, a place on the scale, and a report."""

import importlib.util
import json
import os
import re

import numpy as np
import polars as pl
import pytest

from howsure.stitch.simulator import simulate
from howsure.tables import Scores
from howsure.track.game.prompts import bracketed
from howsure.track.game.statistics import statistic
from howsure.track.samples import GameSample, Samples
from servers.openai_server import ChatServer

pytestmark = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("inspect_ai", "openai"))), reason="models are asked with Inspect and openai"
)
LENGTH = 12
BOARD = f"track/median/{LENGTH}"


def forgetful(request):
    """Right for as many turns as the first number's last digit says, then wrong."""
    numbers = [int(re.search(r"^\d+$", text, re.MULTILINE)[0]) for text in request.said_by("user")]
    tracked = statistic("median")()
    for number in numbers:
        tracked.update(number)
    is_right = len(numbers) <= 3 + numbers[0] % 10
    return bracketed(tracked, tracked.answer() if is_right else -1)


def people(path):
    """Forty people who play five games each, and get better."""
    rng = np.random.default_rng(0)
    turns_by_person = [np.minimum(rng.poisson([2, 4, 6, 8, 9]), LENGTH) for _ in range(40)]
    rows = [
        GameSample(f"human/p{i}", "median", k, int(n), LENGTH, None if n == LENGTH else "other", kind="human")
        for i, played in enumerate(turns_by_person)
        for k, n in enumerate(played)
    ]
    return Samples.from_games(rows).write(path)


def scale_with_track(path):
    """Scores of a simulated world, one of whose benchmarks is called as the board that was played."""
    scores = simulate(seed=3).scores.frame
    renamed = pl.col("benchmark").replace({scores["benchmark"][0]: BOARD})
    return Scores(scores.with_columns(renamed)).write(path)


def test_from_an_inspect_log_to_the_report(tmp_path, command):
    def howsure(*words, **options):
        told = command(*words, cwd=tmp_path, **options)
        assert told.returncode == 0, told.stderr
        return told

    with ChatServer(forgetful) as server:
        environment = {**os.environ, "TEST_API_KEY": "none", "TEST_BASE_URL": server.base_url}
        asked = ("--model", "openai-api/test/forgetful", "--samples", 30, "--length", LENGTH)
        howsure("track", "run", *asked, "-o", "run", env=environment)
    assert list((tmp_path / "run/logs").glob("*.eval"))
    howsure("track", "report", "run/logs", "-o", "track")

    people(tmp_path / "run/people/samples.csv")  # where `track collect -o run/people` puts them
    howsure("bridge", "track", "run", "--replicates", 200, "-o", "horizon")
    horizon = pl.read_csv(tmp_path / "horizon/horizons.csv").row(0, named=True)
    assert horizon["horizon_state"] == "ok"
    assert 1 < horizon["horizon_low"] <= horizon["horizon"] <= horizon["horizon_high"] <= 5

    howsure("bridge", "scores", "track/attempts.csv", "-o", "scores")
    score = Scores(tmp_path / "scores/scores.csv").frame.row(0, named=True)
    assert score["benchmark"] == BOARD
    assert score["se"] > 0
    # the logs themselves will do: their scores are turns, which are read as the share of correct turns
    straight = json.loads(howsure("bridge", "scores", "run/logs", "--json").stdout)[0]
    assert straight["benchmark"] == BOARD
    means = json.loads(howsure("summary", "run/logs", "--json").stdout)["summary"]  # and so do other verbs
    assert [(row["task"], row["mean"]) for row in means] == [(BOARD, pytest.approx(score["score"], rel=1e-9))]
    assert (straight["score"], straight["se"]) == pytest.approx((score["score"], score["se"]), rel=1e-9)

    scale_with_track(tmp_path / "scores.csv")
    howsure("stitch", "fit", "scores.csv", "--replicates", 50, "-o", "fit")
    placed = json.loads(howsure("bridge", "place", "fit", "track/attempts.csv", "--json").stdout)["placed"]
    assert [row["model"] for row in placed] == ["openai-api/test/forgetful"]
    assert placed[0]["capability_low"] < placed[0]["capability"] < placed[0]["capability_high"]

    howsure("report", "track", "horizon", "fit", "-o", "report.html")
    page = (tmp_path / "report.html").read_text()
    for words in ("Correct answers before the first error (median", "Horizon in novice attempts", "Capability:"):
        assert words in page
    assert len(page) < 3_000_000
