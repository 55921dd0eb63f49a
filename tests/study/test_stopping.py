"""Live studies: what a criterion says, how it is read off answers, and that looking after every rater keeps its level."""

import json

import numpy as np
import pytest

from howsure.errors import OptionError
from howsure.people.store import Final
from howsure.stats.sequences import first_exclusion
from howsure.study.item_studies import ItemStudy
from howsure.study.packet.building import build
from howsure.study.packet.simulated_raters import ItemCrowd, rate_items
from howsure.study.scoring.stopping import decide_live, parse_stop_rule

from .study_examples import small_study

ITEMS = [{"id": f"i{n}", "responses": {"a": f"A {n}.", "b": f"B {n}."}} for n in range(6)]


def study(kind="rating", **given):
    question = {"name": "q", "type": kind, "question": "?"} | given
    return ItemStudy.model_validate({"title": "T", "items": ITEMS, "questions": [question], "seed": 4})


def finals(drawn):
    """What the collector's store holds of these answers."""
    bodies = [json.loads(text) for text in drawn.answers]
    return [
        Final(body["rater"], body["page"], body["digest"], text, "", "")
        for body, text in zip(bodies, drawn.answers, strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "bounds"),
    [("mean:q >= 3", (1, 5)), ("mean:q:a <= 2.5", (1, 5)), ("difference:q:a:b >= 0", (-4, 4))],
)
def test_criteria_are_read_with_the_bounds_of_their_scale(text, bounds):
    assert parse_stop_rule(text, study()).bounds == bounds


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("q", "no criterion. Write a statistic, >= or <=, and a number"),
        ("q >= 3", "write mean:DIMENSION"),
        ("mean:z >= 1", "No rated dimension called 'z'"),
        ("mean:q:c >= 3", "No system called 'c'"),
        ("difference:q:a >= 0", "a difference names 2 systems, as in difference:q:A:B"),
        ("mean:q >= 9", "not inside the scale"),
        ("votes:q:a:b >= 0.5", "No pairwise question"),
    ],
)
def test_what_is_no_criterion_is_refused(text, told):
    with pytest.raises(OptionError, match=told):
        parse_stop_rule(text, study())
    assert parse_stop_rule("mean:voice >= 0", small_study()).bounds == (-2, 2)


@pytest.mark.parametrize(("kind", "rule"), [("rating", "difference:q:a:b >= 0"), ("pairwise", "votes:q:a:b >= 0.5")])
def test_a_clear_difference_ends_the_study_and_none_does_not(tmp_path, kind, rule):
    told = study(kind)
    packet = build(told, n_raters=60, salt="0123456789abcdef")
    packet.save(tmp_path / "p")
    decide = decide_live(packet.key, packet.pages, parse_stop_rule(rule, told))
    assert not decide([]).is_over
    clear = finals(rate_items(tmp_path / "p", crowd=ItemCrowd(spread=3.0, first=0.0), seed=1))
    decision = decide(clear)
    assert decision.is_over
    assert "above" in decision.message
    assert not decide(clear[:2]).is_over
    equal = decide(finals(rate_items(tmp_path / "p", crowd=ItemCrowd(spread=0.0, item_spread=0.0, first=0.0), seed=1)))
    assert not equal.is_over


def test_each_item_is_decided_on_its_own_and_the_open_ones_are_rated_next(tmp_path):
    told = study()
    packet = build(told, design="12x30/6", salt="0123456789abcdef")
    packet.save(tmp_path / "p")
    decide = decide_live(packet.key, packet.pages, parse_stop_rule("each:q >= 3", told))
    assert decide([]).decided == frozenset()
    every = finals(rate_items(tmp_path / "p", crowd=ItemCrowd(spread=3.0, item_spread=0.0), seed=1))
    few, last = decide(every[:6]), decide(every)
    assert not few.is_over
    assert few.decided <= last.decided
    assert last.is_over
    assert last.decided == {unit.id for unit in told.units}
    assert "6 items above 3, 6 below, 0 open" in last.message
    near = decide(finals(rate_items(tmp_path / "p", crowd=ItemCrowd(spread=0.0, item_spread=0.0), seed=2)))
    assert not near.is_over
    with pytest.raises(OptionError, match="names no system"):
        parse_stop_rule("each:q:a >= 3", told)


@pytest.mark.parametrize(("show", "n_raters"), [("all", 60), ("pairs", 60)])
def test_a_screen_with_several_responses_is_decided_when_each_of_them_is(tmp_path, show, n_raters):
    asked = [{"name": "q", "type": "rating", "question": "{response}?", "of": "response"}]
    items = [{"id": f"i{n}", "responses": {"a": f"A {n}.", "b": f"B {n}.", "c": f"C {n}."}} for n in range(3)]
    told = ItemStudy.model_validate({"title": "T", "items": items, "questions": asked, "show": show})
    packet = build(told, n_raters=n_raters, salt="0123456789abcdef")
    packet.save(tmp_path / "p")
    decide = decide_live(packet.key, packet.pages, parse_stop_rule("each:q >= 3", told))
    drawn = rate_items(tmp_path / "p", quality={"a": 3.0, "b": -3.0, "c": 3.0}, seed=1)
    last = decide(finals(drawn))
    assert ", 0 open" in last.message
    assert last.is_over
    assert last.decided == {unit.id for unit in told.units}
    assert decide(finals(drawn)[:2]).decided == frozenset()


def test_looking_after_every_rater_decides_wrongly_in_at_most_five_per_cent():
    """Rater means of 12 answers each, with a rater effect, at a true difference of 0: 2,000 studies of 100 raters."""
    rng = np.random.default_rng(3)
    n_studies, n_raters = 2000, 100
    rater = 0.6 * rng.standard_normal((n_studies, n_raters, 1))
    answers = np.clip(np.round(rater + 1.2 * rng.standard_normal((n_studies, n_raters, 12))), -4, 4)
    units = (answers.mean(axis=2) + 4) / 8
    wrong = first_exclusion(units, np.full(n_studies, 0.5), n_planned=n_raters) <= n_raters
    assert wrong.mean() <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / n_studies)
