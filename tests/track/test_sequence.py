"""Sequences, distractors and settings: the same seed gives the same, and odd conditions are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.errors import OptionError
from howsure.track.game.sequence import Setting, distractors, numbers


def test_numbers_are_the_original_draw():
    drawn = numbers(7)
    assert drawn == np.random.default_rng(7).integers(0, 100, size=300).tolist()
    assert type(drawn[0]) is int


def test_length_and_range():
    drawn = numbers(3, length=500, low=5, high=8)
    assert len(drawn) == 500
    assert set(drawn) == {5, 6, 7}


def test_a_longer_sequence_begins_with_the_shorter():
    assert numbers(3, length=50) == numbers(3)[:50]


def test_distractors_have_no_digits_and_the_asked_share():
    lines = distractors(1, length=2000, share=0.3)
    assert not any(letter.isdigit() for line in lines for letter in line)
    assert sum(map(bool, lines)) == pytest.approx(600, abs=4 * np.sqrt(2000 * 0.3 * 0.7))
    assert lines == distractors(1, length=2000, share=0.3)
    assert lines != distractors(2, length=2000, share=0.3)


@given(
    st.builds(
        Setting,
        st.integers(1, 500),
        low=st.integers(0, 50),
        high=st.integers(51, 99),
        distractors=st.sampled_from([0.0, 0.25, 1.0]),
        takes_first=st.booleans(),
        is_brief=st.booleans(),
    )
    | st.builds(Setting, st.integers(1, 500), keeps_reasoning=st.booleans())
)
def test_a_setting_is_told_by_its_label_and_length(setting):
    assert Setting.of(setting.label, setting.length) == setting


def test_the_original_conditions_are_standard():
    assert Setting().label == Setting(length=20).label == "standard"
    assert Setting(high=10, is_brief=True).label == "high=10 is_brief=1"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"length": 0}, "at least 1"),
        ({"low": -1}, "no minus sign"),
        ({"low": 9, "high": 9}, "0 ≤ low < high"),
        ({"distractors": 2}, "0 to 1"),
    ],
)
def test_conditions_that_cannot_be_are_refused(options, told):
    with pytest.raises(OptionError, match=told):
        Setting(**options)


@pytest.mark.parametrize("label", ["hard", "high=ten", "colour=3", ""])
def test_an_unknown_label_is_refused(label):
    with pytest.raises(OptionError, match="is not known"):
        Setting.of(label)


def test_a_seed_below_zero_is_refused():
    with pytest.raises(OptionError, match="numbered from 0"):
        numbers(-1)
