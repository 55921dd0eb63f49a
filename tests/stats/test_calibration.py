"""Curves and Brier scores are those of scikit-learn; the ECE's interval holds the truth, also where the truth is 0."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from howsure.errors import InputError, OptionError
from howsure.stats.calibration import _bins, _calibration_error, calibration


def draw(seed, n=200, tilt=1.0):
    rng = np.random.default_rng(seed)
    f = rng.uniform(0.05, 0.95, n)
    truth = 1 / (1 + np.exp(-tilt * np.log(f / (1 - f))))
    return f, (rng.random(n) < truth).astype(float)


def test_curve_and_score_are_those_of_scikit_learn():
    f, y = draw(1)
    found = calibration(f, y)
    share, mean = calibration_curve(y, f, n_bins=10, strategy="quantile")
    assert [one.prediction for one in found.curve] == pytest.approx(mean)
    assert [one.outcome.value for one in found.curve] == pytest.approx(share)
    assert found.brier.score.value == pytest.approx(brier_score_loss(y, f))
    assert found.error.value == pytest.approx(np.abs(share - mean).mean()), "bins of equal size"


def test_parts_add_up_and_are_murphys_where_a_bin_is_one_value():
    rng = np.random.default_rng(2)
    f = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], 300)
    y = (rng.random(300) < 0.2 + 0.6 * f).astype(float)
    parts = calibration(f, y).brier
    assert parts.within.value == 0
    assert parts.reliability.value == pytest.approx(
        sum((f == v).mean() * (v - y[f == v].mean()) ** 2 for v in np.unique(f))
    )
    assert parts.uncertainty.value == pytest.approx(y.mean() * (1 - y.mean()))
    total = parts.reliability.value - parts.resolution.value + parts.uncertainty.value + parts.within.value
    assert parts.score.value == pytest.approx(total)


@pytest.mark.parametrize(("tilt", "n"), [(1.0, 60), (1.0, 400), (0.4, 60), (0.4, 400), (2.0, 150)])
def test_the_interval_of_the_ece_holds_the_truth(tilt, n):
    n_covered = 0
    for seed in range(400):
        f, y = draw(seed, n, tilt)
        code = _bins(f, min(10, n // 10))
        gaps = np.bincount(code, f - 1 / (1 + np.exp(-tilt * np.log(f / (1 - f)))))
        n_covered += _calibration_error(f, y, code, 0.95)[0].covers(np.abs(gaps).sum() / n)
    assert n_covered / 400 >= 0.93


def test_noise_is_what_a_perfect_judge_shows():
    drawn = [draw(seed, 300) for seed in range(200)]
    found = [_calibration_error(f, y, _bins(f, 10), 0.95) for f, y in drawn]
    assert np.mean([error.value for error, _ in found]) == pytest.approx(
        np.mean([noise for _, noise in found]), rel=0.1
    )
    assert np.mean([error.low == 0 for error, _ in found]) > 0.93


def test_bias_has_the_sign_of_too_high_predictions():
    f, y = draw(4, 500)
    assert calibration(np.minimum(f + 0.2, 1), y).bias.low > 0.1


def test_equal_predictions_stay_in_one_bin():
    f = np.repeat([0.2, 0.6, 0.9], [70, 15, 15])
    found = calibration(f, np.tile([0.0, 1.0], 50))
    assert [(one.low, one.high, one.n_items) for one in found.curve] == [(0.2, 0.2, 70), (0.6, 0.6, 15), (0.9, 0.9, 15)]


def test_outcomes_may_be_shares():
    rng = np.random.default_rng(5)
    f = rng.uniform(0.2, 0.8, 100)
    found = calibration(f, f)
    assert found.error.value == pytest.approx(0)
    assert found.brier.score.value == 0


def test_few_items_are_a_state_and_wrong_numbers_are_refused():
    few = calibration([0.5] * 9, [1] * 9)
    assert (few.error.state, few.brier.score.state, few.curve) == ("too_few", "too_few", ())
    with pytest.raises(InputError, match="predictions: 1.5 at position 1 is not between 0 and 1"):
        calibration([0.1, 1.5], [0, 1])
    with pytest.raises(OptionError, match="at least 2"):
        calibration([0.1], [0], n_bins=1)
