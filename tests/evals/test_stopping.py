"""Evals that stop when they know, in real Inspect runs, and what `howsure watch` shows of their logs."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.evals.stopping import Question, StopWhenKnown, watch
from servers.event_loops import in_a_loop
from servers.inspect_process import run

pytest.importorskip("inspect_ai")


PROGRAM = Path(__file__).with_name("stopping_program.py")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What four evals came to, and the folder of the logs."""
    folder, alone, repeated = (tmp_path_factory.mktemp(name) for name in ("logs", "alone", "repeated"))
    (base,) = run(PROGRAM, {"folder": folder, "n": 100, "rate": 0.2, "model": "mockllm/base"})
    compared = {"folder": folder, "n": 100, "stop": {"baseline": base["location"]}}
    better, equal, above, twice = run(
        PROGRAM,
        compared | {"rate": 0.9, "seed": 1},
        compared | {"rate": 0.2, "seed": 2, "model": "mockllm/c"},
        {"folder": alone, "n": 120, "rate": 0.95, "stop": {"target": 0.5}},
        {"folder": repeated, "n": 40, "rate": 0.9, "epochs": 2, "stop": {"precision": 0.3}},
    )
    assert {one["status"] for one in (base, better, equal, above, twice)} == {"success"}
    return SimpleNamespace(
        better=better, equal=equal, above=above, twice=twice, folder=folder, alone=alone, repeated=repeated
    )


def test_an_eval_stops_when_its_mean_is_above_the_threshold(runs):
    told, stops = runs.above["told"], runs.above["stops"]
    assert told["answer"] == "above"
    assert told["low"] > 0.5
    assert len(stops) > 60
    assert "decided: above" in stops[0]["reason"]
    (seen,) = watch(runs.alone, target=0.5).runs
    assert seen.answer == "above"
    # samples that ran beside the deciding one count as well, where all before them are finished
    assert told["n_units"] <= seen.n_units <= told["n_units"] + 4
    assert (seen.n_planned, seen.status) == (120, "success")


def test_a_run_is_compared_with_a_baseline_and_undecided_runs_are_not_cut(runs):
    assert runs.better["told"]["answer"] == "above"
    assert runs.better["stops"]
    assert runs.equal["told"]["answer"] == "open"
    assert runs.equal["stops"] == []
    pairs = {frozenset((p.a, p.b)): p for p in watch(runs.folder).pairs}
    assert len(pairs) == 3
    decided = pairs[frozenset(("mockllm/base", "mockllm/a"))]
    assert decided.answer == ("below" if decided.a == "mockllm/base" else "above")
    assert pairs[frozenset(("mockllm/base", "mockllm/c"))].answer == "open"


def test_a_unit_is_an_item_with_all_its_epochs(runs):
    assert runs.twice["told"]["answer"] == "precise enough"
    assert runs.twice["stops"]
    assert all(stop["epoch"] == 2 for stop in runs.twice["stops"])
    (seen,) = watch(runs.repeated).runs
    assert runs.twice["told"]["n_units"] <= seen.n_units < 40


@pytest.fixture(scope="module")
def odd_runs(tmp_path_factory):
    """Evals in which the second unit has an error or no usable score, one task for two models, and samples numbered after shuffling."""
    folder = tmp_path_factory.mktemp("odd")
    asked = {"n": 40, "rate": 1.0, "stop": {"target": 0.4}}
    names = ("broken", "unscored", "outside", "twice", "base")
    jobs = [{"is_broken": True}, {"odd": "nan"}, {"odd": 7}, {"model": ["mockllm/a", "mockllm/b"]}]
    jobs = [asked | job | {"folder": folder / name} for name, job in zip(names, jobs, strict=False)]
    numbered = {"n": 50, "rate": 0.5, "is_numbered": True, "folder": folder / "base"}
    *found, base = run(PROGRAM, *jobs, numbered)
    again = numbered | {"order": 2, "stop": {"baseline": base["location"], "margin": 0.4}, "model": "mockllm/again"}
    return SimpleNamespace(**dict(zip(names, [*found, base], strict=True)), again=run(PROGRAM, again)[0], folder=folder)


@pytest.mark.parametrize("name", ["broken", "unscored"])
def test_a_unit_without_a_score_holds_up_no_other_and_is_counted(odd_runs, name):
    ended = getattr(odd_runs, name)
    assert ended["status"] == "success", ended["error"]
    assert (ended["told"]["answer"], ended["told"]["n_failed_units"]) == ("above", 1)
    assert len(ended["stops"]) > 10
    (seen,) = watch(odd_runs.folder / name, target=0.4).runs
    assert (seen.answer, seen.n_failed) == ("above", 1)


def test_a_score_outside_0_to_1_leaves_the_eval_running_and_the_question_undefined(odd_runs):
    ended = odd_runs.outside
    assert (ended["status"], ended["stops"]) == ("success", [])
    assert (ended["told"]["state"], ended["told"]["answer"]) == ("undefined", "open")
    assert "score of 7" in ended["told"]["reason"]
    (seen,) = watch(odd_runs.folder / "outside", target=0.4).runs
    assert "score of 7" in seen.mean.reason


def test_one_object_serves_two_models_one_after_the_other(odd_runs):
    runs = watch(odd_runs.folder / "twice", target=0.4).runs
    assert [one.answer for one in runs] == ["above", "above"]
    assert odd_runs.twice["told"]["answer"] == "above"


def test_samples_numbered_after_shuffling_are_paired_by_input(odd_runs):
    told = odd_runs.again["told"]
    assert (told["answer"], told["value"]) == ("no difference that matters", 0.0)  # the same answers in another order
    seen = watch(odd_runs.folder / "base")
    assert seen.pairs == ()
    assert "refers to different inputs" in seen.provenance.notes[-1]


def completed(stopper, item, value):
    score = SimpleNamespace(score=SimpleNamespace(value=value))
    in_a_loop(stopper.complete_sample(item, 1, {"known": score}))


@pytest.mark.parametrize("is_shuffled", [True, False])
def test_later_units_wait_for_earlier_ones(is_shuffled):
    stopper = StopWhenKnown(target=0.5)
    spec = SimpleNamespace(dataset=SimpleNamespace(shuffled=is_shuffled), scorers=None, eval_id="one")
    samples = [SimpleNamespace(id=i, metadata=None, input=f"item {i}") for i in range(60)]
    in_a_loop(stopper.start_task(spec, samples, 1))
    order = stopper._units.order
    assert (order == [str(i) for i in range(60)]) == is_shuffled
    for item in order[1:]:
        completed(stopper, item, 1.0)
    assert (stopper.n_units, stopper.answer) == (0, None)
    completed(stopper, order[0], 0.0)
    assert stopper.n_units == 60
    assert stopper.answer == "above"


def test_questions_are_answered_by_the_interval():
    ask = Question(target=0.0, margin=0.1, precision=0.02)
    assert ask.answer(Estimate(0.2, 0.05, 0.4)) == "above"
    assert ask.answer(Estimate(-0.2, -0.4, -0.05)) == "below"
    assert ask.answer(Estimate(0.0, -0.09, 0.09)) == "no difference that matters"
    assert Question(precision=0.02).answer(Estimate(0.5, 0.49, 0.51)) == "precise enough"
    assert ask.answer(Estimate(0.0, -0.2, 0.09)) is None
    assert ask.answer(Estimate.without("too_few", "none")) is None
    with pytest.raises(OptionError, match="no question"):
        Question()
    with pytest.raises(OptionError, match="not with both"):
        StopWhenKnown(target=0.5, baseline="x.eval")


def test_the_command_shows_a_folder_once(runs, command):
    shown = command("watch", runs.alone, "--target", "0.5", "--once", "--json")
    assert shown.returncode == 0, shown.stderr
    (row,) = json.loads(shown.stdout)["watch"]
    assert row["answer"] == "above"
    ended = command("watch", runs.folder)  # nothing is running: it shows the end and returns
    assert ended.returncode == 0, ended.stderr
    assert "mockllm/base" in ended.stdout


def test_a_folder_without_logs_is_refused(tmp_path):
    with pytest.raises(InputError, match="no Inspect log"):
        watch(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        watch(tmp_path / "missing")
