"""The table of coverage: designs can be chosen, and rows count what the simulations say."""

import pytest

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.horizon import interval_coverage


@pytest.fixture
def _known(monkeypatch):
    """Intervals that contain the true value for even seeds alone."""

    def simulate(design, level, seed):
        if seed == 99:
            raise InputError("Too few.")
        return {"n": [(Estimate(2.0, 1.0, 4.0, level), 2.0 if seed % 2 == 0 else 8.0)]}

    designs = [{"n_tasks": 10, "mastery": 1}, {"n_tasks": 10}]
    monkeypatch.setitem(interval_coverage.HORIZONS, "known", (simulate, designs))


@pytest.mark.usefixtures("_known")
def test_only_designs_that_contain_a_text_are_simulated():
    every = interval_coverage.coverage("known", n_simulations=4).rows
    assert every["design"].to_list() == ["tasks 10, mastery 1", "tasks 10"]
    assert every["coverage"].to_list() == [0.5, 0.5]
    one = interval_coverage.coverage("known", containing="mastery", n_simulations=4).rows
    assert one.equals(every.head(1))
    with pytest.raises(
        OptionError, match=r"No design contains 'joint'. The designs are: tasks 10, mastery 1; tasks 10\."
    ):
        interval_coverage.coverage("known", containing="joint")


@pytest.mark.usefixtures("_known")
def test_data_sets_without_an_answer_are_counted():
    found = interval_coverage.coverage("known", n_simulations=5, seed=96)
    assert found.rows["n_simulations"].to_list() == [4, 4]
    assert found.provenance.notes == ("2 of 10 data sets were refused, as in: Too few.",)


def test_an_estimate_without_interval_contains_no_true_value(monkeypatch):
    """It was counted as containing every true value."""
    few = Estimate(2.0, reason="few", low_state="too_few", high_state="too_few")
    some = (few, Estimate.without("undefined", "none"), Estimate(2.0, 1.0, None, high_state="unbounded"))
    simulate = lambda design, level, seed: {"n": [(some[seed % 3], 0.5)]}  # noqa: E731
    monkeypatch.setitem(interval_coverage.HORIZONS, "known", (simulate, [{"n_tasks": 10}]))
    row = interval_coverage.coverage("known", n_simulations=6).rows.row(0, named=True)
    assert (row["coverage"], row["share_open"], row["share_without"]) == (0, 1, pytest.approx(2 / 3))
