"""Models that reason before they answer: what stays in the conversation, what counts as the answer, and what the reasoning costs."""

import importlib.util
import re

import polars as pl
import pytest

from howsure.errors import OptionError
from howsure.track.charts import reasoning_history
from howsure.track.game.prompts import bracketed
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import statistic
from howsure.track.results import measure
from howsure.track.running.costs import estimate_tokens
from howsure.track.running.logs import samples_from_logs
from howsure.track.samples import GameSample, Samples
from servers.openai_server import ChatServer, completion
from track.inspect_program import run

has_inspect = all(importlib.util.find_spec(package) for package in ("inspect_ai", "openai"))
LENGTH, GAMES = 6, 3
NOTE = "Sorted list so far"
# how many tokens each simulated model reasons per turn; one that reads its earlier notes never errs, others err after so many turns
THOUGHTS = {"short": 10, "medium": 40, "long": 160}
TURNS = {"short": 1, "medium": 3, "long": 5}


def reply(request):
    """Wrong from some turn on, unless earlier notes stand in the conversation; first a wrong guess, then the answer."""
    name = request.body["model"]
    shown = [int(re.search(r"^\d+$", text, re.MULTILINE)[0]) for text in request.said_by("user")]
    tracked = statistic("median")()
    for number in shown:
        tracked.update(number)
    reads_notes = NOTE in str(request.messages[1:])
    is_right = len(shown) <= TURNS[name] or reads_notes
    answer = bracketed(tracked, tracked.answer() if is_right else 1000.0)
    used = {"completion_tokens_details": {"reasoning_tokens": THOUGHTS[name]}}
    if name == "short":  # marks that Inspect leaves in the text, and nobody counts the tokens
        return completion(f"[THINK]{NOTE}: [median: 999][/THINK]{answer}")
    return completion(f"No: [median: 998]. {answer}", reasoning=f"{NOTE}: [median: 999]", **used)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Three models with earlier reasoning dropped and kept, and one where the first answer counts; and what they were asked."""
    if not has_inspect:
        pytest.skip("models are asked with Inspect and openai, which are not installed")
    out = tmp_path_factory.mktemp("reasoning")
    settings = {"dropped": {}, "kept": {"keeps_reasoning": True}, "first": {"takes_first": True}}
    cases = [(name, how) for name in THOUGHTS for how in ("dropped", "kept")] + [("long", "first")]
    with ChatServer(reply) as server:
        jobs = [
            {
                "model": f"openai-api/test/{name}",
                "base_url": server.base_url,
                "out": str(out),
                "n_samples": GAMES,
                "setting": {"length": LENGTH, **settings[how]},
                "config": {"reasoning_effort": "low"} if name == "medium" else {},
            }
            for name, how in cases
        ]
        results = run(*jobs)
        bodies = [request.body for request in server.requests]
    assert [result["status"] for result in results] == ["complete"] * len(cases)
    return samples_from_logs([out]), bodies


def of(samples, name, setting="standard"):
    model = f"openai-api/test/{name}" + (" (reasoning_effort=low)" if name == "medium" else "")
    return samples.frame.filter(model=model, setting=setting)


def test_earlier_reasoning_is_dropped_or_kept_as_the_board_says(played):
    samples, bodies = played
    for name, turns in TURNS.items():
        assert of(samples, name)["max_length"].to_list() == [turns] * GAMES
        kept = of(samples, name, "keeps_reasoning=1")["max_length"].to_list()
        assert kept == [LENGTH] * GAMES, "the notes of earlier turns came back"
    assert {body.get("reasoning_effort") for body in bodies if body["model"] == "medium"} == {"low"}


def test_the_answer_after_the_reasoning_counts_unless_the_first_is_asked_for(played):
    samples, _ = played
    first = of(samples, "long", "takes_first=1")
    assert first.select("max_length", "error_kind").rows() == [(0, "other")] * GAMES


def test_reasoning_tokens_per_turn_stand_beside_the_turns(played):
    samples, _ = played
    result = measure(samples)
    table = result.to_frame().filter(setting="standard")
    by_model = {row["model"].split("/")[-1].split(" ")[0]: row for row in table.iter_rows(named=True)}
    for name in ("medium", "long"):
        assert by_model[name]["reasoning_per_turn"] == pytest.approx(THOUGHTS[name])
        assert by_model[name]["avg_max_length"] == TURNS[name]
    assert by_model["short"]["reasoning_per_turn"] > 0, "estimated where the server does not count it"
    assert any("short: the server did not count the reasoning tokens of 6 of 6 games" in note for note in samples.notes)
    (rows,) = [rows for board, rows in result.reasoning_rows().items() if board.setting == "standard"]
    assert len(rows) == 6, "kept and dropped stand in one table"
    assert "reasoning-median-1" in result.charts()
    assert any("Correct answers against reasoning" in section.title for section in result.sections())


@pytest.mark.skipif(not has_inspect, reason="Inspect is not installed")
def test_simulated_models_last_longer_with_more_reasoning_and_with_kept_reasoning(tmp_path):
    """The board that the docs show, in small: one that reasons about two turns knows no third, unless it can read its notes."""
    cases = [(2, False), (5, False), (2, True)]
    jobs = [
        {
            "model": f"howsure-reasoning/{size}",
            "out": str(tmp_path),
            "n_samples": 3,
            "setting": {"length": 10, "keeps_reasoning": keeps},
        }
        for size, keeps in cases
    ]
    assert [result["status"] for result in run(*jobs)] == ["complete"] * 3
    ((_, rows),) = measure(samples_from_logs([tmp_path])).reasoning_rows().items()
    found = {(row.model.rpartition("/")[2], reasoning_history(row)): row for row in rows}
    short, long = found["2", "dropped"], found["5", "dropped"]
    assert short.average.value < 3 < long.average.value < 6
    assert short.reasoning.value < long.reasoning.value
    assert found["2", "kept"].average.value > 7


@pytest.mark.skipif(not has_inspect, reason="Inspect is not installed")
@pytest.mark.parametrize("name", ["0", "many", "-3"])
def test_a_simulated_model_that_does_not_exist_is_refused(tmp_path, name, command):
    told = command("track", "run", "--model", f"howsure-reasoning/{name}", "--samples", "1", "-o", tmp_path / "out")
    assert told.returncode == 2
    assert "for example howsure-reasoning/20" in told.stderr


def test_tokens_per_turn_are_a_ratio_clustered_by_sequence():
    """By hand: (30 + 90) tokens in (2 + 4) turns; residuals −10 and 10, se = sqrt(2 · 200) / 6."""
    games = [
        GameSample("m", "median", seed, turns - 1, 9, "other", output_tokens=99, reasoning_tokens=tokens)
        for seed, turns, tokens in ((0, 2, 30), (1, 4, 90))
    ]
    (row,) = measure(Samples.from_games(games)).rows
    assert row.reasoning.value == pytest.approx(20)
    assert row.reasoning.low == 0.0
    assert row.reasoning.high > 20 + 400**0.5 / 6


def test_games_without_counted_tokens_say_so():
    (row,) = measure(Samples.from_games([GameSample("m", "median", 0, 3, 9, "other")])).rows
    assert row.reasoning.state == "undefined"


def test_brief_and_kept_reasoning_exclude_each_other():
    with pytest.raises(OptionError, match="Choose one of the two"):
        Setting(is_brief=True, keeps_reasoning=True)


def test_kept_reasoning_is_read_again_and_costs_input_tokens():
    dropped, kept = (
        estimate_tokens(
            "median", turns=3, n_samples=1, setting=Setting(length=3, keeps_reasoning=keeps), extra_output=50
        )
        for keeps in (False, True)
    )
    assert kept.output_tokens == dropped.output_tokens
    assert kept.input_tokens - dropped.input_tokens == 50 * (0 + 1 + 2)


@pytest.mark.skipif(not has_inspect, reason="Inspect is not installed")
@pytest.mark.parametrize(
    ("config", "words"),
    [({"reasoning_effort": "huge"}, "reasoning_effort"), ({"reasoning_history": "all"}, "Use keeps_reasoning")],
)
def test_a_dial_that_does_not_exist_is_refused(tmp_path, config, words):
    from howsure.track.running.playing import run_model

    with pytest.raises(OptionError, match=words):
        run_model("openai-api/test/m", out=tmp_path, config=config)


def test_older_tables_of_games_are_read_as_before():
    frame = pl.DataFrame({"model": ["m"], "solver": ["direct"], "variant": ["median"], "setting": ["is_brief=1"], "seed": [0], "attempt": [1], "length": [3], "max_length": [3], "violation": [0], "kind": ["model"]})  # fmt: skip
    (row,) = measure(Samples(frame)).rows
    assert row.reasoning.value is None
