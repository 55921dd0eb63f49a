"""Sentences of the front page come from a probability that a table shows, never from intervals of single estimates."""

import pytest

from howsure.estimates import Estimate
from howsure.reporting import Section
from howsure.results.leading import with_lead

WIDE, WIDER = Estimate(0.7, 0.5, 0.9), Estimate(0.6, 0.4, 0.8)
ABOVE = Estimate(10, 10, 10, state="above_range", low_state="above_range", high_state="above_range")
PARTLY = Estimate(10, 6.9, 10, state="above_range", high_state="above_range")


def told(rows, p=None):
    section = with_lead(Section("Any", []), "Score", list(rows.items()), p_greater=p and (lambda a, b: p))
    return section.found, section.unknown


def test_a_sure_order_is_known_although_the_intervals_overlap():
    (found,), unknown = told({"b": WIDER, "a": WIDE}, p=0.9996)
    assert (
        found
        == "Score: a has the highest estimate, 0.70 [0.50, 0.90], followed by b with 0.60 [0.40, 0.80]. P(a > b) > 0.999."
    )
    assert unknown == []


def test_an_unsure_order_is_not_known_although_the_intervals_are_apart():
    (found,), (unknown,) = told({"a": Estimate(0.7, 0.69, 0.71), "b": Estimate(0.6, 0.59, 0.61)}, p=0.9)
    assert "P(" not in found
    assert unknown == "Score: whether a is higher than b. P(a > b) = 0.900."


def test_without_a_test_the_order_is_only_described():
    (found,), unknown = told({"a": WIDE, "b": WIDER})
    assert found.endswith("The difference between these two is not tested in this table.")
    assert unknown == []


def test_a_test_of_the_difference_decides_too():
    rows = [("a", WIDE), ("b", WIDER)]
    sure, unsure = (with_lead(Section("Any", []), "Score", rows, p_value=lambda a, b, p=p: p) for p in (0.0321, 0.0601))
    assert sure.found[0].endswith("0.60 [0.40, 0.80]. Test: p = 0.032, Holm-corrected for all pairs.")
    assert sure.unknown == []
    assert unsure.unknown == ["Score: whether a is higher than b. Test: p = 0.060, Holm-corrected for all pairs."]


def test_the_front_page_says_by_how_much():
    rows = [("b", WIDER), ("a", WIDE)]
    ahead = lambda a, b: f"Difference: {a} minus {b}"  # noqa: E731
    (found,) = with_lead(Section("Any", []), "Score", rows, p_greater=lambda a, b: 0.6, advantage=ahead).found
    assert found.endswith("followed by b with 0.60 [0.40, 0.80]. Difference: a minus b.")


def test_a_corrected_test_says_that_the_interval_of_the_difference_is_not_corrected():
    """The interval alone excluded 0 beside "not decided", without a word why."""
    rows = [("b", WIDER), ("a", WIDE)]
    front = with_lead(
        Section("Any", []), "Score", rows, p_value=lambda a, b: 0.122, advantage=lambda a, b: "Difference: 6 [2, 10]"
    )
    assert front.found[0].endswith("Difference: 6 [2, 10].")
    assert front.unknown[0].endswith(
        "p = 0.122, Holm-corrected for all pairs; the interval of the difference is for this pair alone."
    )


def test_nobody_is_highest_where_everybody_is_above_the_range():
    (found,), (unknown,) = told({"a": ABOVE, "b": PARTLY, "c": WIDE}, p=0.6)
    assert found == "Score: the estimates of a and b are above the observed range (> 10.0)."
    assert unknown == "Score: which of a and b is highest. P(a > b) = 0.600."


def test_nobody_is_highest_where_two_are_equal():
    same = {"a": WIDE, "b": WIDE, "c": WIDER}
    assert told(same) == (
        ["Score: a and b have the same estimate, the highest: 0.70 [0.50, 0.90]."],
        ["Score: which of a and b is highest."],
    )
    assert told(same, p=0.5)[1] == ["Score: which of a and b is highest. P(a > b) = 0.500."]


def test_one_above_the_range_is_higher_than_one_at_its_edge():
    (found,), _ = told({"b": Estimate(10, 8, 10), "a": PARTLY}, p=0.99)
    assert "a has the highest estimate, > 10.0 [6.9, >10.0], followed by b" in found


def test_one_alone_is_nobodys_leader():
    assert told({"a": WIDE}) == (["Score: a has 0.70 [0.50, 0.90]."], [])


def test_who_has_no_estimate_is_named():
    none = Estimate.without("too_few", "one cluster")
    found, unknown = told({"a": none, **{f"m{i}": none for i in range(9)}})
    assert found == []
    assert unknown == ["Score of a, m0, m1, m2, m3 and 5 others: not estimated; the table gives the reason."]


@pytest.mark.parametrize(
    ("estimate", "threshold", "text"),
    [
        (Estimate(0.14, -0.0004, 0.28), 0, "0.1400 [-0.0004, 0.2800]"),
        (Estimate(0.8, 0.7496, 0.85), 0.75, "0.8000 [0.7496, 0.8500]"),
        (Estimate(0.8, 0.75, 0.85), 0.75, "0.80 [0.75, 0.85]"),
        (Estimate(0.2, 0.1, 0.3), 0.75, "0.20 [0.10, 0.30]"),
    ],
)
def test_an_end_is_never_rounded_to_the_threshold(estimate, threshold, text):
    assert estimate.against(threshold) == text


def test_an_interval_with_zero_inside_shows_that():
    assert str(Estimate(0.14, -0.002, 0.28)) == "0.140 [-0.002, 0.280]"
    assert str(Estimate(0.14, 0.002, 0.28)) == "0.14 [0.00, 0.28]"  # a share, say
    assert str(Estimate(0.5, -1e-12, 1)) == "0.5 [0.0, 1.0]"
