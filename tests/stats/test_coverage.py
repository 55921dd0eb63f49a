import pytest

from howsure.errors import OptionError
from howsure.stats.coverage import CoverageRow, coverage_table


@pytest.fixture(scope="module")
def table():
    return coverage_table(40, seed=1)


def test_rows_say_what_was_simulated(table):
    assert 20 <= len(table) <= 40
    assert len({(row.method, row.design) for row in table}) == len(table)
    for row in table:
        assert row.level == 0.95
        assert row.monte_carlo_se == pytest.approx((row.coverage * (1 - row.coverage) / 40) ** 0.5)
        assert row.mean_width > 0


def test_seed_gives_the_same_table(table):
    told = []
    again = coverage_table(40, 1, lambda done, total: told.append((done, total)))
    assert again == table
    assert told == sorted(told)
    assert told[-1] == (40 * len(table), 40 * len(table))


def test_another_seed_gives_other_numbers(table):
    assert coverage_table(40, seed=2) != table


def test_a_lower_level_is_narrower(table):
    half = coverage_table(40, seed=1, level=0.5)
    assert all(low.mean_width < high.mean_width for low, high in zip(half, table, strict=True))


def test_no_simulation_is_refused():
    with pytest.raises(OptionError, match="0 simulations"):
        coverage_table(0)


@pytest.mark.evidence
def test_what_is_not_to_be_avoided_covers():
    rows = coverage_table(800, seed=3)
    kept = [row for row in rows if "avoid" not in row.method]
    avoided = [row for row in rows if "avoid" in row.method]
    assert all(isinstance(row, CoverageRow) for row in rows)
    assert min(row.coverage for row in kept) > 0.91 - 2 * 0.01  # standard errors of 800 data sets
    assert max(row.coverage for row in avoided) < 0.91 - 2 * 0.01
