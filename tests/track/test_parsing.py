"""The parser: as the reference's, on every text there is."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from howsure.track.game.parsing import is_right, parse
from howsure.track.game.statistics import VARIANTS


def test_every_reference_case(reference):
    told = reference("parse_cases")
    for case in told["cases"]:
        found = parse(case["text"], told["task"])
        assert found == case["parsed"], case["text"]
        assert (found is not None and is_right(found, 5)) == case["accepted_for_truth_5"], case["text"]


@given(text=st.text(max_size=200), variant=st.sampled_from(VARIANTS))
@example(text="[median: " + "9" * 5000 + "]", variant="median")
@example(text="[median: ٣٫٥]", variant="median")
@example(text="[median: ²]", variant="median")
@example(text="[median: 1." + "0" * 400 + "]", variant="median")
def test_no_text_makes_it_raise(text, variant):
    for whole in (text, f"[{variant}: {text}]"):
        found = parse(whole, variant)
        assert found is None or (math.isfinite(found) and isinstance(is_right(found, 5.0), bool))


@given(st.integers(0, 10**6), st.integers(0, 9))
def test_what_is_written_is_read(whole, tenth):
    assert parse(f"so: [MODE: {whole}.{tenth}]!", "mode") == float(f"{whole}.{tenth}")


@pytest.mark.parametrize(
    ("answer", "truth", "right"), [(40.5, 40.5, True), (40.54, 40.5, True), (40.4, 40.5, False), (5, 5.0, True)]
)
def test_answers_are_compared_to_one_decimal(answer, truth, right):
    assert is_right(answer, truth) is right
