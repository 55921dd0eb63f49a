"""Real Inspect runs, compared by one command each."""

import json
from pathlib import Path

import pytest

from servers import prepared_process

pytest.importorskip("inspect_ai", reason="pip install 'howsure[run]'")
MAKER = Path(__file__).with_name("make_runs.py")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    made = prepared_process.run([MAKER, folder], inspect=True)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture
def told(command):
    def run(*arguments):
        found = command(*arguments, "--json")
        assert found.returncode in (0, 1, 3), found.stderr
        return json.loads(found.stdout), found.stderr

    return run


def test_two_prompts_of_one_model(runs, told):
    """The mock model answers 28 of 40 questions when told to think, 18 otherwise."""
    (row,) = told("compare", runs / "prompts")[0]["compare"]
    assert (row["a"], row["b"], row["n_items"]) == ("Answer.", "Think step by step.", 40)
    assert row["difference"] == pytest.approx((18 - 28) / 40)
    assert row["p"] == pytest.approx(2 * 0.5**10)


def test_two_folders(runs, told):
    (row,) = told("compare", runs / "cot", runs / "plain")[0]["compare"]
    assert (row["a"], row["b"]) == ("cot", "plain")
    assert row["difference"] == pytest.approx(0.25)
    gate, _ = told("gate", runs / "cot", runs / "plain")
    assert gate["verdict"] == "block"
    assert gate["gate"][0]["n_losses"] == 10


def test_shuffled_logs_are_paired_by_content(runs, told):
    result, notes = told("gate", runs / "shuffled1", runs / "shuffled2")
    (row,) = result["gate"]
    assert (row["n_items"], row["n_gains"], row["n_losses"]) == (40, 0, 0)
    assert "paired by content" in notes


def test_an_eval_set_with_different_scorers_is_judged_eval_by_eval(runs, told):
    result, _ = told("gate", runs / "set", runs / "set2", "--margin", "0.1")
    assert {row["eval"]: (row["verdict"], row["method"]) for row in result["gate"]} == {
        "graded": ("ship", "t, smoothed and corrected for skewness"),
        "marked": ("ship", "score and exact"),
    }


def test_errored_samples_are_dropped_or_wrong(runs, told):
    left_out, notes = told("compare", runs / "flaky", runs / "flaky2", "--count", "errored=drop")
    assert left_out["compare"][0]["n_items"] == 35
    assert "have no score: 5 errored" in notes
    wrong, _ = told("compare", runs / "flaky", runs / "flaky2", "--count", "errored=wrong")
    assert wrong["compare"][0]["n_items"] == 40


def test_samples_cut_by_a_limit_count_as_they_were_scored(runs, told):
    result, _ = told("summary", runs / "limited")
    assert result["summary"][0]["n_items"] == 40
