"""The table of games: it loads back as it was, and refuses what cannot be."""

from dataclasses import replace

import polars as pl
import pytest

from howsure.errors import InputError
from howsure.track.game.rules import Game
from howsure.track.game.sequence import Setting
from howsure.track.running.playing import run_players
from howsure.track.samples import GameSample, Samples, load_samples


def sample(**changes):
    told = {"model": "m", "variant": "mode", "seed": 0, "max_length": 3, "length": 10, "error_kind": "rank"}
    return GameSample(**told | changes)


def test_it_loads_back_as_it_was(tmp_path):
    made = Samples.from_games(
        [
            sample(input_tokens=10, output_tokens=4, reasoning_tokens=0, seconds=1.5),
            sample(seed=1, max_length=10, error_kind=None),
            sample(seed=2, error_kind="format"),
            sample(seed=3, error_kind=None, failure="api"),
        ]
    )
    again = load_samples(made.write(tmp_path / "samples.csv"))
    assert again.frame.equals(made.frame)
    assert again.digest == made.digest
    assert again.frame["violation"].to_list() == [0, 0, 1, 0]


def test_columns_that_are_not_there_have_no_values():
    made = Samples.from_games([sample()])
    bare = Samples(made.frame.select("model", "solver", "variant", "setting", "seed", "attempt", "length", "max_length", "violation", "error_kind", "kind"))  # fmt: skip
    assert bare.frame.equals(made.frame)
    assert bare.attempts().frame["score"].to_list() == [0.3]


def test_a_game_becomes_a_sample():
    game = Game(length=20, max_length=4, error_kind="format")
    found = GameSample.of(game, model="m", variant="median", seed=9, setting=Setting(20, high=10))
    assert (found.max_length, found.length, found.violation, found.setting) == (4, 20, 1, "high=10")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"max_length": 11, "error_kind": None}, "contradict each other"),
        ({"error_kind": None}, "3 of 10 turns right"),
        ({"max_length": 10}, "error rank"),
        ({"variant": "mean"}, "No variant called 'mean'"),
        ({"failure": "api"}, "error rank, failure api"),
        ({"error_kind": None, "failure": "weather"}, "failure weather is not one of api"),
        ({"kind": "robot"}, "kind robot is not one of"),
        ({"seed": -1}, "seed -1 is below 0"),
    ],
)
def test_rows_that_cannot_be_are_named(wrong, told):
    with pytest.raises(InputError, match=told):
        Samples.from_games([sample(**wrong)])


def test_two_games_with_one_key_are_refused():
    with pytest.raises(InputError, match="is there 2 times"):
        Samples.from_games([sample(), sample(max_length=4)])


def test_a_wrong_file_is_told_by_line(tmp_path):
    path = Samples.from_games([sample(), sample(seed=1)]).write(tmp_path / "samples.csv")
    path.write_text(path.read_text().replace("mode,standard,1", "mode,standard,one"))
    with pytest.raises(InputError, match=r"samples.csv line 3: seed one is not a whole number"):
        load_samples(path)


def test_nothing_played_is_no_table():
    with pytest.raises(InputError, match="no game was played"):
        Samples.from_games([])


def test_newer_games_take_the_place_of_the_same_players_older_ones():
    older = Samples.from_games([sample(), sample(model="other")])
    newer = Samples.from_games([sample(max_length=5)])
    found = newer.over(older).frame.sort("model")
    assert found.select("model", "max_length").rows() == [("m", 5), ("other", 3)]
    assert newer.over(None) is newer
    assert newer.over(Samples.from_games([sample()])).frame.equals(newer.frame)


def test_attempts_are_scored_by_the_share_of_turns_and_leave_out_what_broke_off():
    table = Samples.from_games(
        [
            sample(max_length=10, error_kind=None),
            sample(attempt=2),
            sample(solver="explicit", setting="high=10"),
            sample(seed=1, error_kind=None, failure="api"),
        ]
    ).attempts()
    assert table.frame.select("subject", "task", "attempt", "score", "solver").rows() == [
        ("m", "track/mode/10/0", 1, 1.0, "direct"),
        ("m", "track/mode high=10 explicit/10/0", 1, 0.3, "explicit"),
        ("m", "track/mode/10/0", 2, 0.3, "direct"),
    ]
    assert set(table.frame["kind"]) == {"model"}
    assert table.notes[-1] == "1 of 4 games were interrupted and have no score."


def test_a_broken_off_game_counts_where_it_had_enough_right_turns():
    broken = {"error_kind": None, "failure": "api"}
    table = Samples.from_games([sample(), sample(seed=1, max_length=5, **broken), sample(seed=2, **broken)]).attempts(
        min_turns=4
    )
    assert table.frame.select("task", "score").rows() == [("track/mode/10/0", 0.0), ("track/mode/10/1", 1.0)]
    with pytest.raises(InputError, match="All 1 games were interrupted"):
        Samples.from_games([sample(**broken)]).attempts()


def test_boards_are_never_one_task_or_domain():
    boards = [{}, {"length": 20}, {"setting": "high=10"}, {"solver": "explicit"}, {"variant": "median"}]
    frame = Samples.from_games([sample(**board) for board in boards]).attempts().frame
    assert frame["domain"].n_unique() == frame["task"].n_unique() == len(boards)
    assert frame["subject"].unique().to_list() == ["m"], "what is shown to a model makes no other model of it"


def test_how_a_game_ended_is_a_column(tmp_path):
    broken = {"error_kind": None}
    ends = [
        (sample(), "error"),
        (sample(max_length=10, error_kind=None), "complete"),
        (sample(failure="api", **broken), "interrupted"),
        (sample(failure="time_limit", **broken), "interrupted"),
        (sample(failure="token_limit", **broken), "limit"),
        (sample(failure="context", **broken), "limit"),
        (sample(failure="refusal", **broken), "no_answer"),
        (sample(failure="cut", **broken), "no_answer"),
    ]
    table = Samples.from_games([replace(game, seed=seed) for seed, (game, _) in enumerate(ends)])
    assert table.frame["ended_by"].to_list() == [end for _, end in ends]
    path = tmp_path / "older.csv"
    table.frame.drop("ended_by").write_csv(path)
    assert load_samples(path).frame["ended_by"].equals(table.frame["ended_by"])


def test_baselines_are_attempts_of_baselines():
    frame = run_players(["oracle"], ["median"], n_samples=3, setting=Setting(5)).attempts().frame
    assert frame.select(pl.col("kind").first(), pl.col("score").mean()).row(0) == ("baseline", 1.0)
