"""What a table holds, counted by hand and on the real one."""

import datetime as dt
import json
from pathlib import Path

import polars as pl
import pytest

from howsure.stitch.exploration import explore
from howsure.tables import Scores

EPOCH = Path(__file__).parents[2] / "../shared/data/epoch-2025-11"


def scores(*rows, **columns):
    frame = pl.DataFrame(rows, schema=["model", "benchmark", "score"], orient="row")
    return Scores(frame.with_columns(pl.Series(name, values) for name, values in columns.items()))


@pytest.fixture
def found():
    dates = ["2024-01-10", "2024-01-10", "2024-03-05", "2024-03-05", "2024-03-20", None]
    return explore(
        scores(
            ("a", "X", 0.5),
            ("a", "Y", 0.4),
            ("b", "X", 0.6),
            ("b", "X", 0.9),
            ("c", "Y", 0.3),
            ("d", "Y", 0.2),
            date=dates,
        )
    )


def test_counts(found):
    seen = found.overview
    assert (seen.n_scores, seen.n_models, seen.n_benchmarks, seen.n_pairs) == (6, 4, 2, 5)
    assert seen.coverage == pytest.approx(5 / 8)
    assert (seen.n_several, seen.n_undated, seen.n_parts) == (1, 1, 1)
    assert (seen.first_date, seen.last_date) == (dt.date(2024, 1, 10), dt.date(2024, 3, 20))
    assert (seen.median_benchmarks_per_model, seen.median_models_per_benchmark) == (1.0, 2.5)


def test_the_most_covered_come_first(found):
    assert found.benchmarks.select("benchmark", "n_models", "n_scores").rows() == [("Y", 3, 3), ("X", 2, 3)]
    assert found.models["model"].to_list() == ["a", "b", "c", "d"]
    assert found.to_frame().equals(found.benchmarks)
    assert found.benchmarks["last_model"].to_list() == [dt.date(2024, 3, 20), dt.date(2024, 3, 5)]


def test_how_many_remain_when_models_need_more_benchmarks(found):
    assert found.least.rows() == [(1, 4, 6), (2, 1, 2)]


def test_the_overlap_counts_shared_models(found):
    cells = {(row[0], row[1]): row[2] for row in found.overlap.iter_rows()}
    assert cells == {("X", "X"): 2, ("Y", "Y"): 3, ("X", "Y"): 1, ("Y", "X"): 1}
    assert found.overlap["benchmark"].to_list()[:2] == ["Y", "Y"]


def test_benchmarks_that_share_no_model_are_in_the_overlap_too():
    found = explore(scores(("a", "X", 0.5), ("b", "Y", 0.4)))
    assert found.overlap.filter(benchmark="X", other="Y")["n_models"][0] == 0


def test_months_without_scores_are_left_in(found):
    assert found.months.rows() == [
        (dt.date(2024, 1, 1), 2, 1),
        (dt.date(2024, 2, 1), 0, 0),
        (dt.date(2024, 3, 1), 3, 2),
    ]


def test_duplicates_and_their_spread(found):
    (row,) = found.duplicates.rows(named=True)
    assert (row["model"], row["benchmark"], row["n_scores"]) == ("b", "X", 2)
    assert row["spread"] == pytest.approx(0.3)


def test_parts_are_named_with_what_would_join_them():
    found = explore(
        scores(
            ("a", "X", 0.5),
            ("b", "X", 0.4),
            ("b", "Z", 0.4),
            ("c", "Y", 0.3),
            ("d", "Y", 0.2),
            ("d", "W", 0.1),
            ("e", "V", 0.9),
        )
    )
    assert found.overview.n_parts == 3
    first, second, third = found.parts.rows(named=True)
    assert [part["models"] for part in (first, second, third)] == ["c, d", "a, b", "e"]
    assert [part["benchmarks"] for part in (first, second, third)] == ["W, Y", "X, Z", "V"]
    assert [part["would_join"] for part in (first, second, third)] == [None, "b on Y", "e on Y"]


def test_a_table_without_dates_has_no_months():
    found = explore(scores(("a", "X", 0.5), ("a", "Y", 0.4), ("b", "X", 0.1)))
    assert not len(found.months)
    assert found.overview.first_date is None
    assert found.overview.n_undated == 2
    assert "months" not in found.charts()


def test_saving_writes_a_matrix_and_the_numbers(found, tmp_path):
    written = {path.name for path in found.save(tmp_path)}
    assert written == {
        "coverage_models.csv", "coverage_benchmarks.csv", "coverage_least.csv", "overlap.csv", "months.csv", "duplicates.csv", "parts.csv", "explore.json", "explore.result.zip",
    }  # fmt: skip
    assert pl.read_csv(tmp_path / "overlap.csv").rows() == [("Y", 3, 1), ("X", 1, 2)]
    told = json.loads((tmp_path / "explore.json").read_text())
    assert told["n_pairs"] == 5
    assert told["last_date"] == "2024-03-20"
    assert told["provenance"]["digest"] == found.provenance.digest


@pytest.mark.skipif(not EPOCH.is_dir(), reason="Epoch's tables are not on this machine")
def test_the_real_table():
    from howsure.sources import epoch

    found = explore(epoch.read([EPOCH]))
    seen = found.overview
    assert (seen.n_models, seen.n_benchmarks, seen.n_parts) == (469, 43, 1)
    assert found.least.filter(at_least=4)["n_models"][0] == 198
    assert found.duplicates.row(0)[:2] == ("Llama-2-70b-hf", "GSM8K")
    diagonal = found.overlap.filter(pl.col("benchmark") == pl.col("other")).sort("benchmark")["n_models"]
    assert diagonal.to_list() == found.benchmarks.sort("benchmark")["n_models"].to_list()
