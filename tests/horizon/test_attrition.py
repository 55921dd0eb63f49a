"""Who leaves early, and whether it is warned about."""

import numpy as np
import polars as pl
import pytest

from horizon.people import people
from howsure.charts import save_chart
from howsure.horizon.learning_curves.attrition import measure_attrition
from howsure.horizon.learning_curves.charts import draw_attrition
from howsure.horizon.learning_curves.novice_counts import novice_counts
from howsure.tables import Attempts


def courses(*told, task="t"):
    """One learner a course, from its scores."""
    rows = [
        (f"{task}{who}", "human", task, n, float(score))
        for who, scores in enumerate(told)
        for n, score in enumerate(scores, 1)
    ]
    return pl.DataFrame(rows, schema=["subject", "kind", "task", "attempt", "score"], orient="row")


def measured(*frames):
    return measure_attrition(novice_counts(Attempts(pl.concat(frames))))


def test_leavers_and_stayers_by_hand():
    found = measured(courses([1], [1], [0], [0, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]))
    overall = found.overall
    assert (overall.n_leavers, overall.n_stayers) == (3, 3)  # the average course has 2.5 attempts
    assert overall.leavers == pytest.approx(2 / 3)
    assert overall.stayers == pytest.approx(1 / 3)
    assert overall.difference.state == "too_few"
    assert found.presence["n"].to_list() == [6, 3, 3, 3]
    assert found.presence["shift"].to_list() == pytest.approx([0, -1 / 6, -1 / 6, -1 / 6])


def test_nobody_leaves():
    found = measured(courses(*[[0, 1, 1]] * 8))
    assert found.overall.difference.state == "undefined"
    assert found.warning == ""
    assert found.presence["shift"].to_list() == [0, 0, 0]


def test_tasks_of_different_difficulty_do_not_look_like_attrition():
    easy = courses(*[[1]] * 30, *[[1, 1, 1]] * 10, task="easy")
    hard = courses(*[[0]] * 10, *[[0, 0, 1]] * 30, task="hard")
    found = measured(easy, hard)
    assert found.overall.leavers == found.overall.stayers == pytest.approx(0.5)
    assert found.warning == ""


def test_the_warning_says_who_leaves():
    able = measured(courses(*[[1]] * 40, *[[0, 1, 1]] * 40))
    assert able.warning.startswith("Attrition: the able leave early. Early leavers had 100% success")
    assert "too low" in able.warning
    struggling = measured(courses(*[[0]] * 40, *[[1, 1, 1]] * 40))
    assert "the struggling leave early" in struggling.warning
    assert able.as_dict()["warning"]
    assert able.to_frame()["task"].to_list() == ["all", "t"]


@pytest.mark.evidence
def test_stopping_at_mastery_is_seen_in_real_people_and_ordinary_leaving_is_not_warned_about():
    tutored = measure_attrition(people("assist09", answers=30, attempts=6, first=80))
    assert tutored.overall.difference.low > 0.15
    assert "the able leave early" in tutored.warning
    vocabulary = measure_attrition(people("spanish", answers=20, attempts=6, first=25))
    assert vocabulary.warning == ""
    assert vocabulary.overall.n_leavers > 3000
    assert np.abs(vocabulary.presence["shift"].to_numpy()).max() < 0.03


@pytest.mark.parametrize("told", [[[0, 1, 1]] * 8, [[1]] * 20 + [[0, 1, 1]] * 20])
def test_the_chart_has_no_line_without_length(told, tmp_path, capfd):
    """The drawing library complained about one for each attempt on which nobody had left."""
    save_chart(draw_attrition(measured(courses(*told))), tmp_path / "attrition.png")
    assert capfd.readouterr().err == ""
