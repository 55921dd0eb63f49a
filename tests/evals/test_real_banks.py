"""Intervals hold in evals drawn from real item banks; small form of `howsure coverage --real`."""

from pathlib import Path

import pytest

from howsure.errors import InputError
from howsure.evals.real_banks import bank_coverage, banks_of, coverage_on_banks, sequences_on_banks

BANKS = Path(__file__).parents[2] / "../shared/data/items"
needs_banks = pytest.mark.skipif(not BANKS.exists(), reason="the real item banks are not beside the project")


@needs_banks
def test_intervals_cover_the_known_truth_of_real_models():
    for row in coverage_on_banks(BANKS, n_simulations=40).rows:
        # models of one row share the bank, so that their errors are not quite independent
        slack = 3 * row.monte_carlo_se + 0.005
        assert row.coverage >= 0.93 - slack, row
        if row.success != "outside" and not (row.items == "fixed" and row.n_repeats == 1):
            assert row.coverage <= 0.97 + slack, row


@needs_banks
def test_fixed_items_have_narrower_intervals():
    rows = bank_coverage(banks_of(BANKS)[2:], n_simulations=4, level=0.95, seed=0).rows
    width = {(r.quantity, r.items, r.success, r.n_items, r.n_repeats): r.mean_width for r in rows}
    for (quantity, items, success, n, k), found in width.items():
        if items == "fixed" and k == 5 and success != "outside":
            assert found < width[quantity, "sampled", success, n, k] / 1.5


def test_a_folder_without_banks_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no csv file"):
        coverage_on_banks(tmp_path)
    (tmp_path / "bank.csv").write_text("model,count,correct\na,1,1\n")
    with pytest.raises(InputError, match="there is no column 'example_id'"):
        coverage_on_banks(tmp_path)


@needs_banks
def test_sequences_err_seldom_and_save_samples_where_differences_are_larger_than_planned():
    for row in sequences_on_banks(BANKS, n_simulations=20, n_pairs=10).rows:
        assert row.error <= 0.05 + 2 * row.monte_carlo_se + 0.01, row
        assert row.power >= row.power_fixed - 0.1, row
        if row.ratio == 2:
            assert row.median_saving > 0.5, row
