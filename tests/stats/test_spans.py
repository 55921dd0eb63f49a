"""Agreement on spans: by hand, at the ends, and with an interval that contains the true value."""

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.stats.spans import simulate_spans, span_agreement


def test_overlap_matches_and_alpha_by_hand():
    spans = {
        "one": {"a": [(0, 10, "x")], "b": [(5, 15, "x")]},
        "two": {"a": [(0, 4, "x")], "b": [(0, 4, "x")]},
    }
    found = span_agreement(spans, {"one": 20, "two": 10})
    assert found.overlap.value == pytest.approx(2 * (5 + 4) / (20 + 8))
    assert found.matches.value == pytest.approx(2 / 4), "5 of 15 is less than half of the union"
    marked, n, apart = 28, 60, 2 * 10
    assert found.alpha.value == pytest.approx(1 - apart / (2 * marked * (n - marked) / (n - 1)))
    assert found.by_pair == (("a", "b", pytest.approx(18 / 28)),)


def test_other_labels_do_not_overlap():
    spans = {str(n): {"a": [(0, 5, "x")], "b": [(0, 5, "y")]} for n in range(3)}
    assert span_agreement(spans).overlap.value == 0


def test_the_interval_contains_the_true_value():
    true = span_agreement(*simulate_spans(n_items=4000, seed=99)).overlap.value
    hits = [span_agreement(*simulate_spans(seed=seed)).overlap.covers(true) for seed in range(80)]
    assert np.mean(hits) >= 0.88


def test_too_few_and_wrong_spans():
    assert span_agreement({"one": {"a": [], "b": []}}).overlap.state == "too_few"
    with pytest.raises(InputError, match="has no characters"):
        span_agreement({n: {"a": [(5, 5, "x")], "b": []} for n in "ab"})
    with pytest.raises(InputError, match="has 3 characters, but a span ends at 5"):
        span_agreement({n: {"a": [(0, 5, "x")], "b": []} for n in "ab"}, {"a": 3, "b": 9})
