import pytest

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.study.verdict import (
    CRITERIA,
    Criterion,
    judge_all,
    judge_criterion,
    overall,
    read_criteria,
    require_criterion,
    time_words,
)


@pytest.mark.parametrize(
    ("estimate", "direction", "verdict"),
    [
        (Estimate(0.8, 0.75, 0.9), "at_least", "pass"),
        (Estimate(0.8, 0.74, 0.9), "at_least", "inconclusive"),
        (Estimate(0.6, 0.5, 0.74), "at_least", "fail"),
        (Estimate(0.6, 0.5, 0.75), "at_least", "inconclusive"),
        (Estimate(0.6, 0.5, 0.75), "at_most", "pass"),
        (Estimate(0.8, 0.76, 0.9), "at_most", "fail"),
        (Estimate(0.99), "at_least", "inconclusive"),
        (Estimate(0.99, 0.8, None, high_state="unbounded"), "at_least", "pass"),
        (Estimate.without("too_few", "1 pair", value=0.9), "at_least", "inconclusive"),
        (Estimate.without("undefined", "nothing varies"), "at_least", "inconclusive"),
    ],
)
def test_the_interval_decides(estimate, direction, verdict):
    assert judge_criterion(estimate, 0.75, direction) == verdict


def test_all_must_pass_and_one_may_fail():
    one = Criterion("a", "x", 0.5)
    passed, failed, open_ = (judge_all({"x": Estimate(v, v - 0.1, v + 0.1)}, [one])[0] for v in (0.9, 0.1, 0.5))
    assert overall([passed, passed]) == "pass"
    assert overall([passed, open_]) == "inconclusive"
    assert overall([passed, open_, failed]) == "fail"
    assert "includes the threshold" in open_.reason


def test_the_protocols_criteria():
    told = {(one.statistic, one.threshold, one.direction) for one in CRITERIA}
    assert {("pfi.cronbach_alpha", 0.75, "at_least"), ("pearson", 0.7, "at_least"), ("pfi", 0.75, "at_least")} < told
    assert ("domain_difference", 0, "at_least") in told


def test_a_criterion_is_shown_under_a_name_that_people_know():
    assert [one.label for one in CRITERIA][2] == "mean human fidelity ≥ 0.75"
    assert require_criterion("mean:quality >= 3.5").label == "mean:quality ≥ 3.5"


def test_criteria_from_a_file(tmp_path):
    path = tmp_path / "criteria.yaml"
    path.write_text(
        "- name: long enough\n  statistic: minutes\n  threshold: 8\n- {name: not too long, statistic: minutes, threshold: 12, direction: at_most}\n"
    )
    found = read_criteria(path)
    assert [str(one) for one in found] == ["minutes ≥ 8", "minutes ≤ 12"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: x\n", "not a list"),
        ("[]\n", "not a list"),
        ("- x\n", "line 1: a criterion has"),
        ("- name: a\n  statistic: pfi\n", "threshold is None; write a number"),
        ("- name: a\n  statistic: pfi\n  threshold: yes\n", "write a number"),
        ("- name: a\n  statistic: pfi\n  threshold: 1\n  above: 2\n", "'above' is not a field of a criterion"),
        ("- name: a\n  statistic: pfi\n  threshold: 1\n  direction: up\n", "neither at_least nor at_most"),
        ("- {name: a, statistic: x, threshold: 1}\n- {name: a, statistic: y, threshold: 1}\n", "two criteria"),
    ],
)
def test_faults_are_named(tmp_path, text, says):
    path = tmp_path / "criteria.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        read_criteria(path)


@pytest.mark.parametrize(
    ("estimate", "threshold", "shown"),
    [
        (Estimate(0.5, -0.96, 0.99), 0.7, "0.50 [-0.96, 0.99]"),
        (Estimate(0.8, 0.7499, 0.85), 0.75, "0.8000 [0.7499, 0.8500]"),
        (Estimate.without("too_few", "no rater"), 0.75, "too few (no rater)"),
    ],
)
def test_an_estimate_shows_on_which_side_of_the_threshold_its_ends_lie(estimate, threshold, shown):
    assert estimate.against(threshold) == shown


def test_an_unknown_figure_is_named():
    with pytest.raises(OptionError, match="Did you mean 'pfi'"):
        judge_all({"pfi": Estimate(1)}, [Criterion("a", "pfl", 1)])


def test_the_correlation_s_p_value_stands_in_the_verdict():
    (one,) = judge_all(
        {"pearson": Estimate(0.9, 0.8, 0.95)}, [Criterion("r", "pearson", 0.7)], p_values={"pearson": 0.0312}
    )
    assert one.reason == "the whole interval meets the threshold; p = 0.031 against 0"
    (none,) = judge_all({"pearson": Estimate(0.9, 0.8, 0.95)}, [Criterion("r", "pearson", 0.7)])
    assert "p =" not in none.reason


@pytest.mark.parametrize(("minutes", "where"), [(7.5, "below"), (9.0, "within"), (14.0, "above")])
def test_the_time_that_raters_took_is_compared_with_the_plan_in_words(minutes, where):
    told = time_words(Estimate(minutes, minutes - 1, minutes + 1), (8, 12))
    assert told.endswith(f"; the mean is {where} the target of 8 to 12.")
    few = time_words(Estimate.without("too_few", "1 rater", value=7.5), (8, 12))
    assert "7.50 (no interval: 1 rater); the mean is below" in few
