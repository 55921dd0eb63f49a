"""Lags between groups: hand calculations, a true shift that is recovered, and groups that cannot be compared."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.stitch import fit, lag, simulate
from howsure.stitch.forecasting.lags import mean_lag

YEAR = 365.25


@pytest.fixture(scope="module")
def scale():
    return fit(simulate(n_models=60, n_benchmarks=14, seed=3).scores, n_replicates=60)


def test_a_lag_by_hand():
    # a reaches 1 half a year after b, and 2 a year after it; from 1 to 2 the second step counts
    a = np.array([183, 731]), np.array([1.0, 2.0])
    b = np.array([0, 366, 900]), np.array([1.0, 2.0, 3.0])
    months, latest, low, high = mean_lag(a, b)
    assert (low, high) == (1.0, 2.0)
    assert months == latest == pytest.approx((731 - 366) / YEAR * 12)


def test_the_mean_is_the_area_between_the_frontiers():
    # between 0 and 1 b was there 100 days earlier, between 1 and 3 it was 400 days earlier
    a = np.array([0, 300, 900]), np.array([0.0, 1.0, 3.0])
    b = np.array([0, 200, 500]), np.array([0.0, 1.0, 3.5])
    months, latest, *_ = mean_lag(a, b)
    assert months == pytest.approx((1 * 100 + 2 * 400) / 3 / YEAR * 12)
    assert latest == pytest.approx(400 / YEAR * 12)


def test_exchanging_the_groups_changes_the_sign():
    rng = np.random.default_rng(0)
    days = [rng.integers(0, 1000, 30) for _ in range(2)]
    a, b = ((day, day / 300 + 0.3 * rng.normal(size=30)) for day in days)
    assert mean_lag(a, b)[0] == pytest.approx(-mean_lag(b, a)[0])


def test_groups_without_a_common_capability_have_no_lag():
    assert np.isnan(mean_lag((np.array([0]), np.array([1.0])), (np.array([5]), np.array([2.0])))[0])


def test_a_true_shift_is_in_the_interval_as_often_as_stated():
    hits, months = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        days = np.sort(rng.integers(0, 1500, 50))
        true = days / 500 + 0.3 * rng.normal(size=50)
        later = days + 180  # the second group does the same half a year later
        # errors of estimates, and replicates of the estimates
        seen = [true + 0.12 * rng.normal(size=50) for _ in range(2)]
        drawn = [one + 0.12 * rng.normal(size=(100, 50)) for one in seen]
        found = mean_lag((later, seen[1]), (days, seen[0]))[0]
        rows = [mean_lag((later, b), (days, a))[0] for a, b in zip(*drawn, strict=True)]
        low, high = np.quantile(rows, [0.05, 0.95])
        truth = mean_lag((later, true), (days, true))[0]
        hits.append(low <= truth <= high)
        months.append(found)
    assert np.mean(months) == pytest.approx(180 / YEAR * 12, abs=0.3)
    assert np.mean(hits) >= 0.82


def test_organisations_of_a_scale(scale):
    found = lag(scale)
    best = found.groups.row(0, named=True)
    assert best["best_model"] == scale.models.drop_nulls("date")["model"][0]
    rows = found.lags.filter(behind=best["group"])
    assert len(rows) == len(found.groups) - 1
    for row in rows.drop_nulls("months").rows(named=True):
        estimate = found.estimate(row)
        assert estimate.value == row["months"]
        assert estimate.low is None or estimate.low <= estimate.high
    # records of a group rise
    for _, some in found.frontiers.group_by("group"):
        assert some.sort("date", "capability")["capability"].is_sorted()


def test_groups_from_a_table_are_matched_and_joined(scale, tmp_path):
    organisations = sorted({name for name in scale.problem.organisations if name})
    half = len(organisations) // 2
    rows = [(name, "Open (free)" if i < half else "Closed") for i, name in enumerate(organisations)]
    pl.DataFrame(rows, schema=["Organization", "Access"], orient="row").write_csv(tmp_path / "groups.csv")
    found = lag(scale, tmp_path / "groups.csv", by="access", join={"open": ["Open*"], "closed": ["Closed"]})
    assert set(found.groups["group"]) == {"open", "closed"}
    assert found.groups["n_models"].sum() == len(scale.models)
    by_mapping = lag(scale, {name: group.split(" ")[0].lower() for name, group in rows})
    assert by_mapping.lags["months"].to_list() == found.lags["months"].to_list()


def test_a_model_of_two_organisations_belongs_to_both(scale):
    """ "Google DeepMind,Google" was a group of its own, behind Google DeepMind."""
    first, second, *_ = [name for name, n in Counter(scale.problem.organisations).most_common() if name]
    both = tuple(f"{first},{second}" if name == first else name for name in scale.problem.organisations)
    problem = replace(scale.problem, organisations=both)
    found, plain = lag(replace(scale, problem=problem)), lag(scale)
    assert set(found.groups["group"]) == set(plain.groups["group"])
    count = [dict(one.groups.select("group", "n_models").iter_rows()) for one in (found, plain)]
    assert count[0][second] == count[1][first] + count[1][second]
    assert count[0][first] == count[1][first]
    told = " and ".join(sorted([first, second]))
    assert any(f"count in each of them: {told}." in note for note in found.provenance.notes)


def test_without_replicates_lags_have_no_interval(scale):
    found = lag(replace(scale, replicates=None))
    assert found.lags["months_low"].null_count() == len(found.lags)
    assert any("no intervals" in note for note in found.provenance.notes)


def test_wrong_groups_are_explained(scale, tmp_path):
    with pytest.raises(OptionError, match="organisation, family"):
        lag(scale, by="country")
    with pytest.raises(InputError, match="a lag needs two"):
        lag(scale, join={"all": ["*"]})
    pl.DataFrame({"name": ["x"], "group": ["y"]}).write_csv(tmp_path / "wrong.csv")
    with pytest.raises(InputError, match="no column of models"):
        lag(scale, tmp_path / "wrong.csv", by="group")
