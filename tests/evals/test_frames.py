"""A table, a frame and a file give the same result, in Python as on the command line."""

import operator
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import howsure

PATH = Path(__file__).parents[2] / "examples/evals/attempts.csv"
INPUTS = {
    "polars": lambda: pl.read_csv(PATH),
    "lazy polars": lambda: pl.scan_csv(PATH),
    "pandas": lambda: pd.read_csv(PATH),
    "path": lambda: PATH,
    "text": lambda: str(PATH),
}
ANALYSES = {
    "summary": lambda rows: howsure.summary(rows, cluster="family"),
    "compare": lambda rows: howsure.compare(rows, "amber-1", "amber-2"),
    "power": lambda rows: howsure.power(rows, a="amber-1", b="amber-2"),
}


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("analysis", ANALYSES)
def test_frames_and_files_are_taken_as_tables(kind, analysis):
    expected, found = (ANALYSES[analysis](rows) for rows in (howsure.read(PATH), INPUTS[kind]()))
    assert found.equals(expected)


def test_a_frame_with_other_columns_is_refused_in_one_line():
    with pytest.raises(howsure.HowsureError, match="there is no column for 'task'"):
        howsure.summary(pd.DataFrame({"model": ["a", "a"], "score": [1.0, 0.0]}))


@pytest.mark.parametrize("kind", INPUTS)
def test_names_that_may_be_the_same_are_found_in_frames_and_files(kind):
    assert howsure.names(INPUTS[kind]()) == howsure.names([howsure.read(PATH)])


@pytest.mark.parametrize("verb", ["summary", "stitch.fit", "stitch.votes", "horizon.attempts", "study.reliability"])
@pytest.mark.parametrize("nothing", [pd.DataFrame(), pd.DataFrame({"a": []}), pl.DataFrame(), [], None, 3])
def test_what_is_no_table_is_refused_in_one_line(verb, nothing):
    with pytest.raises(howsure.HowsureError) as refused:
        operator.attrgetter(verb)(howsure)(nothing)
    assert "\n" not in str(refused.value)


def test_what_is_converted_is_read_again(tmp_path):
    table = howsure.convert(PATH, tmp_path / "attempts.parquet")
    assert howsure.read(tmp_path / "attempts.parquet").digest == table.digest
