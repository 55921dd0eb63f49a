"""Rows from anywhere: one of them, or several."""

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from howsure.tables import Ratings
from howsure.tables.frames import as_list, parts_of

ROWS = {"rater": ["a", "b"], "item": ["1", "1"], "dimension": ["x", "x"], "value": [1.0, 2.0]}
ONE = {
    "text": "file.csv",
    "path": Path("file.csv"),
    "polars": pl.DataFrame(ROWS),
    "lazy": pl.LazyFrame(ROWS),
    "pandas": pd.DataFrame(ROWS),
    "pyarrow": pa.table(ROWS),
    "table": Ratings(pl.DataFrame(ROWS)),
    "part": parts_of(pl.DataFrame(ROWS))[0],
    "mapping": {"a": 1},
    "number": 5,
}


@pytest.mark.parametrize("one", ONE.values(), ids=list(ONE))
def test_one_value_is_a_list_of_one(one):
    assert [id(value) for value in as_list(one)] == [id(one)]


def test_several_values_are_a_list_of_them():
    paths = ["a.csv", Path("b.csv")]
    assert as_list(paths) == as_list(tuple(paths)) == as_list(iter(paths)) == paths
    assert as_list(pl.Series(["a.csv", "b.csv"])) == ["a.csv", "b.csv"]
    assert as_list(()) == as_list(None) == []
