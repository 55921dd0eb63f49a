"""A number with its interval or its state: what it takes, says and prints."""

import doctest
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure import HowsureError, estimates
from howsure.errors import StateError
from howsure.estimates import Estimate

STATES = ("below_range", "above_range", "unbounded", "undefined", "too_few")
FINITE = st.floats(-1e12, 1e12, allow_subnormal=False)


def test_the_examples_in_the_docstrings_hold():
    tried = doctest.testmod(estimates)
    assert tried.attempted >= 2
    assert tried.failed == 0


# what it takes


@pytest.mark.parametrize("name", ["value", "low", "high"])
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_no_number_is_ever_infinite_or_nan(name, number):
    with pytest.raises(ValueError, match=f"Estimate.{name} is {number}: give a state instead"):
        Estimate(**{"value": 0.5} | {name: number})


def test_an_ok_estimate_has_a_value():
    with pytest.raises(ValueError, match="needs a state other than 'ok'"):
        Estimate(None)


@pytest.mark.parametrize("level", [0, 1, -0.5, 95])
def test_the_level_is_a_share(level):
    with pytest.raises(ValueError, match="not between 0 and 1"):
        Estimate(0.5, level=level)


def test_numbers_of_any_kind_become_floats():
    import numpy as np

    estimate = Estimate(np.float32(0.5), np.int64(0), True)
    assert [type(number) for number in (estimate.value, estimate.low, estimate.high)] == [float, float, float]
    assert json.dumps(estimate.as_dict())


def test_an_estimate_does_not_change():
    with pytest.raises(AttributeError):
        Estimate(0.5).value = 0.6


# what it says


@pytest.mark.parametrize("state", STATES)
def test_without_gives_the_state_and_why(state):
    estimate = Estimate.without(state, "one cluster", value=3, level=0.9)
    assert (estimate.state, estimate.reason, estimate.value, estimate.level) == (state, "one cluster", 3.0, 0.9)
    assert estimate.low is None
    assert estimate.high is None


def test_width_is_known_when_both_ends_are():
    assert Estimate(0.5, 0.25, 1.0).width == 0.75
    assert Estimate(0.5, 0.25).width is None
    assert Estimate(0.5).width is None


def test_an_open_end_covers_everything_beyond_it():
    assert Estimate(2, 1, 3).covers(1)
    assert Estimate(2, 1, 3).covers(3)
    assert not Estimate(2, 1, 3).covers(3.001)
    assert Estimate(2, 1).covers(1e9)
    assert not Estimate(2, 1).covers(0.999)
    assert Estimate(2).covers(-1e9)


def test_map_moves_value_and_ends_and_keeps_the_rest():
    estimate = Estimate(1, 0, None, level=0.9, state="above_range", reason="last attempt", low_state="below_range")
    moved = estimate.map(math.exp)
    assert (moved.value, moved.low, moved.high) == (math.e, 1, None)
    assert (moved.level, moved.state, moved.reason, moved.low_state) == (
        0.9,
        "above_range",
        "last attempt",
        "below_range",
    )


def test_map_to_infinity_is_refused():
    with pytest.raises(ValueError, match="give a state instead"):
        Estimate(1).map(lambda number: number * math.inf)


def test_as_dict_tells_what_there_is_to_tell():
    assert Estimate(0.5, 0.25, 0.75).as_dict() == {
        "value": 0.5,
        "low": 0.25,
        "high": 0.75,
        "level": 0.95,
        "state": "ok",
    }
    told = Estimate(9, 1, 9, state="above_range", reason="last attempt", high_state="above_range").as_dict()
    assert (told["reason"], told["high_state"]) == ("last attempt", "above_range")
    assert "low_state" not in told


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(FINITE, st.none() | FINITE, st.none() | FINITE)
def test_as_dict_is_json_that_gives_the_estimate_back(value, low, high):
    if low is not None and high is not None:
        low, high = sorted((low, high))
    estimate = Estimate(value, low, high)
    text = json.dumps(estimate.as_dict(), allow_nan=False)
    assert Estimate(**json.loads(text)) == estimate


def test_an_interval_that_ends_before_it_begins_is_our_mistake():
    with pytest.raises(ValueError, match="low end 0.8 is above its high end 0.2"):
        Estimate(0.5, 0.8, 0.2)


# how it prints


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.7812, 0.731, 0.829), "0.78 [0.73, 0.83]"),
        (Estimate(0.78123, 0.78102, 0.78149), "0.78123 [0.78102, 0.78149]"),
        (Estimate(1234.6, 1001, 1502), "1,235 [1,001, 1,502]"),
        (Estimate(2e6, 1.999e6, 2.001e6), "2,000,000 [1,999,000, 2,001,000]"),
        (Estimate(4.94e24), "4.94e+24"),
        (Estimate(12.34, 4.1, 30.2), "12 [4, 30]"),
        (Estimate(0.5), "0.500"),
        (Estimate(0.000012), "0.000012"),
        (Estimate(0), "0.00"),
        (Estimate(-0.001, -0.9, 0.9), "0.0 [-0.9, 0.9]"),
        (Estimate(0.5, 0.5, 0.5), "0.500 [0.500, 0.500]"),
        (Estimate(2.5e9, 1e9, 1e10), "2.5e+09 [1e+09, 1e+10]"),
        (Estimate(4, 2), "4.00 [2.00, ∞]"),
        (Estimate(4, None, 9), "4.00 [−∞, 9.00]"),
        (Estimate(10, 4, 10, state="above_range", high_state="above_range"), "> 10.0 [4.0, >10.0]"),
        (Estimate(1, 1, 3, state="below_range", low_state="below_range"), "< 1.0 [<1.0, 3.0]"),
        (Estimate.without("too_few", "one cluster"), "too few (one cluster)"),
        (Estimate.without("undefined", ""), "undefined"),
        (Estimate.without("unbounded", "no limit", value=3), "3.00 unbounded"),
        (Estimate(3, low_state="unbounded", high_state="unbounded"), "3.00 [−∞, ∞]"),
    ],
)
def test_it_prints_as_many_digits_as_it_is_sure_of(estimate, text):
    assert str(estimate) == text


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.floats(1e-6, 1e5), st.floats(1e-3, 10))
def test_the_printed_interval_is_close_to_the_true_one(middle, spread):
    """Rounding moves an end by less than a tenth of the width, so that the print misleads nobody."""
    estimate = Estimate(middle, middle - spread / 2, middle + spread / 2)
    numbers = str(estimate).replace(",", "").replace("[", "").replace("]", "").split()
    for printed, true in zip(numbers, (estimate.value, estimate.low, estimate.high), strict=True):
        assert abs(float(printed) - true) <= spread / 10


def test_an_end_beyond_what_was_observed_is_open():
    assert Estimate(2, 1, 3, low_state="below_range").covers(0.5)
    assert not Estimate(2, 1, 3, low_state="below_range").covers(3.5)
    assert Estimate(2, 1, 3, high_state="above_range").covers(9)


def test_a_number_is_its_value():
    assert float(Estimate(0.25, 0.1, 0.4)) == 0.25
    assert math.sqrt(Estimate(0.25)) == 0.5


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("value", [None, 3.0])
def test_what_has_no_number_is_refused_as_one(state, value):
    with pytest.raises(StateError, match=rf"has no number: .* Look at its state \({state}\) first") as caught:
        float(Estimate.without(state, "because", value=value))
    assert isinstance(caught.value, HowsureError)
    assert isinstance(caught.value, ValueError)
