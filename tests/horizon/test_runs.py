"""Runs of models as counts: who did what how often, and what is refused."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure import sources
from howsure.errors import InputError, OptionError
from howsure.horizon.run_counts import count_table, model_counts
from howsure.horizon.time_horizon.horizons import time_horizons
from howsure.tables import Attempts

SHARED = Path(__file__).parents[2] / "../shared"


def attempts(rows, **columns):
    names = ("subject", "kind", "task", "attempt", "score")
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return Attempts(frame.with_columns(pl.Series(name, values) for name, values in columns.items()))


RUNS = [
    *(("a", "model", "t1", 1, 1), ("a", "model", "t1", 2, 0), ("a", "model", "t2", 1, 0)),
    *(("b", "model", "t1", 1, 1), ("eve", "human", "t2", 1, 1)),
]


def test_successes_and_runs_of_each_model_at_each_task():
    found = model_counts(attempts(RUNS, minutes=[4, 4, 60, 4, 60], family=["x", "x", None, "x", None]))
    assert found.models == ("a", "b")
    assert found.tasks.to_dict(as_series=False) == {
        "task": ["t2", "t1"],
        "family": ["t2", "x"],
        "domain": [None, None],
        "minutes": [60.0, 4.0],
    }
    assert found.successes.tolist() == [[0, 1], [0, 1]]
    assert found.n.tolist() == [[1, 2], [0, 1]]


def test_people_are_counted_when_asked():
    assert model_counts(attempts(RUNS), kinds=("human",)).models == ("eve",)
    with pytest.raises(InputError, match="no attempt of kind baseline"):
        model_counts(attempts(RUNS), kinds=("baseline",))


def test_minutes_that_nobody_gave_are_unknown():
    assert np.isnan(model_counts(attempts(RUNS)).minutes).all()


def test_scores_between_need_a_threshold():
    table = attempts([("a", "model", "t1", 1, 0.4), ("a", "model", "t1", 2, 0.8)])
    with pytest.raises(InputError, match=r"Score 0.4 of a on t1 .* threshold"):
        model_counts(table)
    assert model_counts(table, threshold=0.5).successes.tolist() == [[1]]


def test_rows_that_disagree_on_minutes_have_their_median_and_are_counted():
    table = attempts(RUNS, minutes=[4, 4, 60, 5, 60])
    found = model_counts(table)
    assert found.minutes[found.tasks["task"].to_list().index("t1")] == 4
    (note,) = found.notes
    assert note.startswith(
        "1 of 2 tasks have different minutes in different rows (up to 1.25 times as many; t1: 4 to 5)."
    )
    assert note.endswith("The median over the rows of a task is taken.")
    assert time_horizons(table, n_replicates=0).provenance.notes[0] == note


def test_some_of_the_tasks():
    found = model_counts(attempts(RUNS, minutes=[4, 4, 60, 4, 60]))
    long = found.of_tasks(found.minutes > 10)
    assert long.models == ("a",)
    assert long.to_frame().rows() == [("a", "t2", "t2", None, 60.0, 0, 1)]
    with pytest.raises(OptionError, match="No model called 'b'"):
        long.index("b")


def test_counts_made_elsewhere_give_the_same():
    found = model_counts(attempts(RUNS, minutes=[4, 4, 60, 4, 60]))
    again = count_table(found.to_frame())
    assert again.digest == found.digest
    assert again.models == found.models


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"successes": 3}, "a on t1: 3 successes in 2 runs"),
        ({"n": 0, "successes": 0}, "0 successes in 0 runs"),
    ],
)
def test_wrong_counts_are_named(change, says):
    frame = pl.DataFrame([{"model": "a", "task": "t1", "successes": 1, "n": 2} | change])
    with pytest.raises(InputError, match=says):
        count_table(frame)


def test_counts_are_refused_when_a_column_lacks_or_a_row_is_twice():
    with pytest.raises(InputError, match="no column 'n'"):
        count_table(pl.DataFrame({"model": ["a"], "task": ["t"], "successes": [1]}))
    with pytest.raises(InputError, match="a on t is there twice"):
        count_table(pl.DataFrame({"model": ["a"] * 2, "task": ["t"] * 2, "successes": [1] * 2, "n": [1] * 2}))


def test_metr_runs():
    path = SHARED / "data/metr/runs_2025-01-28.jsonl"
    if not path.is_file():
        pytest.skip("the METR runs are not here")
    found = model_counts(sources.read(path))
    assert len(found.models) == 10
    assert found.n.sum() == 6852
    assert len(set(found.family.tolist())) == 36
    assert not np.isnan(found.minutes).any()


@pytest.mark.parametrize("given", [{}, {"threshold": 0.5}, {"is_graded": True}])
def test_rows_of_counts_give_what_single_rows_give(given):
    counts = pl.DataFrame({"subject": ["a", "a", "b"], "task": ["t", "u", "t"], "n": [4, 5, 2], "n_success": [3, 0, 2]})
    single = pl.DataFrame({"subject": ["a"] * 9 + ["b"] * 2, "task": ["t"] * 4 + ["u"] * 5 + ["t"] * 2}).with_columns(
        score=pl.Series([1, 1, 1, 0, *[0] * 5, 1, 1], dtype=pl.Float64)
    )
    found, wanted = (model_counts(Attempts(frame), **given) for frame in (counts, single))
    assert found.to_frame().equals(wanted.to_frame())
    if given.get("is_graded"):
        assert np.array_equal(found.squares, wanted.squares)


def test_scores_of_any_size_have_no_horizon():
    rows = pl.DataFrame({"subject": ["a"], "task": ["t"], "score": [30.0], "scale": ["free"]})
    with pytest.raises(InputError, match="a horizon needs success"):
        model_counts(Attempts(rows))


def test_runs_that_did_not_end_by_themselves_count_as_asked():
    table = attempts(
        RUNS,
        minutes=[4, 4, 60, 4, 60],
        limit=[None, "token", None, None, None],
        flag=[None, None, "cheated", None, None],
    )
    scored = model_counts(table)
    dropped = model_counts(table, limits="drop")
    assert dropped.n.sum() == scored.n.sum() - 1
    assert any("1 of 4 runs were cut at a limit and are excluded" in note for note in dropped.notes)
    assert model_counts(table, limits="success").n.sum() == scored.n.sum()
    assert model_counts(table, limits="success").successes.sum() >= scored.successes.sum()
    assert model_counts(table, flags="failure").successes.sum() <= scored.successes.sum()
    with pytest.raises(OptionError, match="No limits called 'guess'"):
        model_counts(table, limits="guess")


@pytest.mark.parametrize(("policy", "minutes"), [("median", 4), ("first", 1), ("geometric-mean", 4)])
def test_minutes_that_disagree_become_one_number(policy, minutes):
    rows = pl.DataFrame({"subject": ["m"] * 3, "task": ["t"] * 3, "score": [1.0, 0, 1], "minutes": [1.0, 4, 16]})
    found = model_counts(Attempts(rows), minutes=policy)
    assert found.minutes.tolist() == pytest.approx([minutes])
    assert f"The {policy.replace('-', ' ')} over the rows" in found.notes[-1]


def test_runs_without_a_score_count_by_the_main_policy_and_the_user_decides():
    rows = [("a", "model", f"t{i}", 1, None if i > 3 else i % 2) for i in range(8)]
    rows += [("a", "model", f"t{i}", 2, i % 2) for i in range(8)]
    error = [None] * 4 + ["broke", None, None, None] + [None] * 8
    limit = [None] * 5 + ["tokens", "tokens", None] + [None] * 8
    table = attempts(rows, error=error, limit=limit, minutes=[2.0**i for i in range(8)] * 2)
    found = model_counts(table)
    assert (int(found.n.sum()), int(found.successes.sum())) == (14, 6)  # two limits are failures, two runs do not count
    assert found.notes[-1] == "Attempts without a score count as wrong (limit) or are excluded (errored, unscored)."
    wrong = table.counting("errored=wrong,unscored=wrong")
    assert (int(model_counts(wrong).n.sum()), int(model_counts(wrong).successes.sum())) == (16, 6)
    told = time_horizons(table, n_replicates=0).provenance.notes
    assert "4 of 16 attempts have no score: 1 errored, 1 unscored, 2 ended by a limit." in told
    assert found.notes[-1] in told
    cut = model_counts(table, limits="censored")  # runs that a limit cut have no known outcome, scored or not
    assert cut.unknown.sum() * 2 == pytest.approx(2)
