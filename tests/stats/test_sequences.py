"""Confidence sequences hold at all looks, and agree with the capital they are made from."""

import numpy as np
import pytest

from howsure.errors import InputError, OptionError
from howsure.stats.sequences import first_exclusion, mean_sequence


def test_the_true_mean_is_inside_at_all_looks():
    rng = np.random.default_rng(0)
    for draw, truth in (
        (lambda: rng.random((600, 200)) < 0.3, 0.3),
        (lambda: rng.beta(0.2, 5, (600, 200)), 0.2 / 5.2),
        (lambda: (rng.integers(3, size=(600, 200)) == 0) * 0.5, 1 / 6),
    ):
        excluded = first_exclusion(draw().astype(float), np.full(600, truth), n_planned=200) <= 200
        assert excluded.mean() <= 0.05 + 2 * 0.009
    late = first_exclusion((rng.random((300, 2000)) < 0.5).astype(float), np.full(300, 0.5), n_planned=200)
    assert np.mean(late <= 2000) <= 0.07  # ten times as many units as were planned


def test_looking_again_and_again_at_ordinary_intervals_errs_more_often():
    scores = (np.random.default_rng(1).random((400, 200)) < 0.5).astype(float)
    n = np.arange(10, 201)
    means = np.cumsum(scores, axis=1)[:, 9:] / n
    ordinary = (np.abs(means - 0.5) > 1.96 * np.sqrt(means * (1 - means) / n)).any(axis=1)
    sequence = first_exclusion(scores, np.full(400, 0.5), n_planned=200) <= 200
    assert ordinary.mean() > 0.15
    assert sequence.mean() < 0.07


def test_the_interval_excludes_what_the_capital_excludes():
    values = (np.random.default_rng(2).random(150) < 0.8).astype(float)
    found = mean_sequence(values, n_planned=150)
    assert np.all(np.diff(found.low) >= 0)
    assert np.all(np.diff(found.high) <= 0)
    for threshold in (0.5, 0.6, 0.7):
        when = int(first_exclusion(values[None], [threshold], n_planned=150)[0])
        below = np.flatnonzero(found.low >= threshold - 1e-12)
        assert when == (below[0] + 1 if len(below) else 151)


def test_differences_have_the_bounds_of_differences():
    a, b = np.random.default_rng(3).integers(2, size=(2, 80)).astype(float)
    found = mean_sequence(a - b, n_planned=80, bounds=(-1, 1)).estimate
    mirrored = mean_sequence(b - a, n_planned=80, bounds=(-1, 1)).estimate
    assert (found.low, found.high) == pytest.approx((-mirrored.high, -mirrored.low))
    assert found.value == pytest.approx((a - b).mean())


def test_without_units_there_is_no_number_and_wrong_input_is_refused():
    assert mean_sequence([], n_planned=10).estimate.state == "too_few"
    with pytest.raises(InputError, match="between 0 and 1"):
        mean_sequence([2.0], n_planned=10)
    with pytest.raises(OptionError, match="n_planned"):
        mean_sequence([1.0], n_planned=0)
