"""Modes of failure: what is said of single answers, and how often each occurs, models beside novices."""

import polars as pl
import pytest

from howsure.errors import InputError
from howsure.horizon import compare_failures, make_tasks
from howsure.horizon.failure_modes import MODES, failure_mode
from howsure.horizon.task_bank import Task


def task(answer):
    return Task(id="t", domain="d", verification_type="automated", prompt="?", answer=answer).instance(0)


@pytest.mark.parametrize(
    ("right", "said", "mode"),
    [
        ("120", "Answer: 120", None),
        ("120", "Answer: 121", "near miss"),
        ("120", "Answer: 131", "near miss"),
        ("120", "Answer: 200", "other answer"),
        ("120", "Answer: a dozen", "other form"),
        ("120", "", "no answer"),
        ("120", "I don't know.", "no answer"),
        ("Anna, Ben, Carl", "Ben, Anna, Carl", "wrong order"),
        ("Anna, Ben, Carl", "Anna, Ben, Dora", "partly right"),
        ("Anna, Ben, Carl", "Anna, Ben", "other form"),
        ("Anna, Ben, Carl", "Dora, Emil, Fritz", "other answer"),
        ("kitchen", "kitchn", "near miss"),
        ("kitchen", "garden", "other answer"),
        ("kitchen", "7", "other form"),
    ],
)
def test_a_wrong_answer_has_a_mode(right, said, mode):
    assert failure_mode(task(right), said) == mode


@pytest.mark.parametrize(
    "one", make_tasks(12, domains=["logic_puzzle", "household", "email_triage"]), ids=lambda one: one.id
)
def test_every_task_has_modes_for_any_text(one):
    instance = one.instance(3)
    assert failure_mode(instance, f"Answer: {instance.answer}") is None
    for text in ("", "?", "12", "a b c", "x" * 5000, "Answer:", "\x00"):
        assert instance.check(text) or failure_mode(instance, text) in MODES


def test_texts_for_a_judge_have_none():
    assert failure_mode(make_tasks(1, domains=["creative_writing"])[0].instance(1), "") is None


def rows(subject, kind, modes, n_tasks=20):
    """One attempt at each task for each mode in turn; a mode of None is a right answer."""
    return [
        {"subject": subject, "kind": kind, "task": f"t{t}", "attempt": k + 1, "score": float(mode is None), "domain": "ab"[t % 2], "mode": mode, "answer": mode}
        for t in range(n_tasks)
        for k, mode in enumerate(modes)
    ]  # fmt: skip


def test_shares_and_differences_are_those_of_the_data():
    people = rows("p1", "human", ["near miss", "near miss", "no answer", None])
    model = rows("m", "model", ["other form", "near miss"])
    found = compare_failures(pl.DataFrame(people + model))
    whole = {(row["who"], row["mode"]): row for row in found.modes.filter(domain="all").rows(named=True)}
    assert whole["novices", "near miss"]["share"] == pytest.approx(2 / 3)
    assert whole["novices", "near miss"]["n_wrong"] == 60
    assert whole["m", "other form"]["share"] == 0.5
    assert whole["m", "near miss"]["difference"] == pytest.approx(1 / 2 - 2 / 3)
    assert whole["m", "no answer"]["difference_high"] < 0 < whole["m", "other form"]["difference_low"]
    assert whole["novices", "near miss"]["difference"] is None
    assert set(found.modes["domain"]) == {"all", "a", "b"}
    assert found.modes.group_by("who", "domain").agg(pl.col("share").sum())["share"].to_list() == pytest.approx([1] * 6)
    assert found.answers.filter(kind="human", task="t0").rows() == [
        ("human", "t0", "near miss", 2),
        ("human", "t0", "no answer", 1),
    ]


def test_an_empty_mode_is_a_right_answer():
    table = pl.DataFrame(rows("m", "model", ["near miss", None]))
    assert compare_failures(table.with_columns(pl.col("mode").fill_null(""))).modes.equals(
        compare_failures(table).modes
    )


def test_what_is_missing_is_said():
    with pytest.raises(InputError, match="no column mode"):
        compare_failures(pl.DataFrame(rows("m", "model", [None])).drop("mode"))
    with pytest.raises(InputError, match="No answer is wrong"):
        compare_failures(pl.DataFrame(rows("m", "model", [None])))
    with pytest.raises(InputError, match="called 'silly'"):
        compare_failures(pl.DataFrame(rows("m", "model", ["silly"])))
