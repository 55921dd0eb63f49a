"""Items: known answers by hand, planted wrong keys, and the rate of false suspicion."""

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.evals.item_table import items, viewer_address
from howsure.stats.correlation import correlation
from howsure.tables import Attempts


def attempts_of(by_model, **more):
    """One row per model, item and attempt, from {model: {item: [scores]}}."""
    rows = [
        {"subject": model, "task": task, "attempt": number, "score": float(score)}
        for model, by_task in by_model.items()
        for task, scores in by_task.items()
        for number, score in enumerate(scores, 1)
    ]
    return Attempts(pl.DataFrame(rows).with_columns(kind=pl.lit("model"), **{k: pl.lit(v) for k, v in more.items()}))


def simulated(n_models=16, n_items=60, wrong=(), seed=0, n_attempts=1):
    rng = np.random.default_rng(seed)
    ability, difficulty = np.linspace(-2, 2, n_models), rng.normal(0, 1, n_items)
    difficulty[list(wrong)] = 0
    p = 1 / (1 + np.exp(difficulty - ability[:, None]))
    p[:, list(wrong)] = 1 - p[:, list(wrong)]
    score = rng.random((n_models, n_items, n_attempts)) < p[:, :, None]
    return attempts_of({f"m{i:02}": {f"t{j:03}": score[i, j] for j in range(n_items)} for i in range(n_models)})


SMALL = {
    "x": {"easy": [1, 1], "hard": [0, 0], "flips": [1, 1], "noisy": [1, 0]},
    "y": {"easy": [1, 1], "hard": [0, 0], "flips": [0, 0], "noisy": [0, 1]},
}


def row(table, task):
    return table.items.row(by_predicate=pl.col("task") == task, named=True)


def test_a_small_table_by_hand():
    table = items(attempts_of(SMALL))
    assert (table.a, table.b) == ("x", "y")
    assert table.flips == (1, 0)
    assert [row(table, name)["solved"] for name in ("easy", "hard", "flips", "noisy")] == [
        "always",
        "never",
        "sometimes",
        "sometimes",
    ]
    flips = row(table, "flips")
    assert (flips["success"], flips["score_a"], flips["score_b"], flips["difference"], flips["flip"]) == (
        0.5,
        1,
        0,
        1,
        "a",
    )
    # Newcombe's interval of 2 of 2 against 0 of 2
    assert (flips["difference_low"], flips["difference_high"]) == pytest.approx(
        (1 - np.sqrt(2) * 0.6576197724933469, 1)
    )
    # both attempts of each model differ
    assert (row(table, "noisy")["noise"], row(table, "easy")["noise"]) == (1.0, 0.0)
    assert table.evals["always_solved"].to_list() == [0.25]
    assert table.evals["informative"].to_list() == [0.5]


def test_b_first_turns_the_difference():
    table = items(attempts_of(SMALL), "y", "x")
    assert row(table, "flips")["difference"] == -1
    assert table.flips == (0, 1)


def test_without_repeats_noise_is_a_state():
    table = items(simulated(n_models=3, n_items=5))
    assert table.items["noise"].null_count() == 5
    assert set(table.items["noise_state"]) == {"too_few"}


def test_discrimination_is_the_item_rest_correlation():
    attempts = simulated(n_attempts=2)
    table = items(attempts)
    wide = attempts.frame.group_by("subject", "task").agg(pl.col("score").mean())
    wide = wide.pivot("task", index="subject", values="score").sort("subject").drop("subject")
    name = "t007"
    rest = wide.drop(name).mean_horizontal().to_numpy()
    expected = np.corrcoef(wide[name].to_numpy(), rest)[0, 1]
    found = correlation(wide[name].to_numpy(), rest)
    assert row(table, name)["discrimination"] == pytest.approx(expected)
    assert row(table, name)["discrimination_low"] == pytest.approx(found.estimate.low)


def test_planted_wrong_keys_are_found_and_others_are_not():
    wrong = (3, 20, 41)
    table = items(simulated(n_models=24, wrong=wrong, seed=2, n_attempts=4))
    suspects = set(table.items.filter("is_suspect")["task"])
    assert suspects == {f"t{number:03}" for number in wrong}
    assert table.evals["n_suspect"].to_list() == [3]


def test_without_wrong_keys_suspicion_is_as_rare_as_the_level_says():
    n_suspicious = sum(items(simulated(n_items=20, seed=seed)).items["is_suspect"].any() for seed in range(20))
    assert n_suspicious <= 3


def test_few_models_suspect_nothing_and_say_so():
    table = items(simulated(n_models=4, wrong=(1,)))
    assert table.items["p_negative"].null_count() == len(table.items)
    assert not table.items["is_suspect"].any()
    assert any("tried by fewer than 5 models" in note for note in table.provenance.notes)


def test_models_that_tried_different_items_are_compared_on_their_own():
    frame = simulated(n_models=12).frame
    partial = frame.filter(~((pl.col("subject") == "m11") & (pl.col("task") < "t030")))
    table = items(Attempts(partial))
    assert row(table, "t000")["n_models"] == 11
    assert row(table, "t050")["n_models"] == 12
    assert row(table, "t000")["score_a"] is None or table.a != "m11"


def test_links_lead_to_the_sample_in_the_viewer():
    logged = attempts_of(SMALL, log="2026_eval (1).eval", sample="a/b", epoch=1)
    link = items(logged, viewer="http://127.0.0.1:7575").scores["link"][0]
    assert link == "http://127.0.0.1:7575/#/logs/2026_eval%20%281%29.eval/samples/sample/a%2Fb/1/"
    assert viewer_address("https://host/view/#/x") == "https://host/view/"


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: items(attempts_of(SMALL), "z"), OptionError, "No subject called 'z'"),
        (lambda: items(attempts_of(SMALL), "x", "x"), OptionError, "both 'x'"),
        (lambda: items(attempts_of(SMALL), viewer="javascript:alert(1)"), OptionError, "not an address"),
        (lambda: items(attempts_of(SMALL), viewer="http://localhost:1"), OptionError, "do not name their logs"),
        (lambda: items(attempts_of(SMALL, scale="free")), InputError, "must be 0–1"),
    ],
)
def test_what_cannot_be_shown_is_explained(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_one_model_and_one_item_are_enough_for_a_table():
    table = items(attempts_of({"x": {"t": [1]}}))
    assert (table.a, table.b) == ("x", "")
    assert table.items["difference_state"].to_list() == ["too_few"]


def test_the_command_prints_saturation_and_flips(command, tmp_path):
    simulated(n_models=12, wrong=(3,), seed=2, n_attempts=3).write(tmp_path / "attempts.csv")
    told = command("items", tmp_path / "attempts.csv", "-o", tmp_path / "out")
    assert told.returncode == 0, told.stderr
    assert "Saturation" in told.stdout
    assert "t003" in told.stdout
    assert len(pl.read_csv(tmp_path / "out/items.csv")) == 60
    assert len(pl.read_csv(tmp_path / "out/item_scores.csv")) == 720
