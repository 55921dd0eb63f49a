"""The pieces of a report check what they are given."""

import datetime as dt

import polars as pl
import pytest

from howsure.errors import OptionError
from howsure.estimates import Estimate
from howsure.reporting import Download, TableBlock
from howsure.reporting.render import shown_columns


@pytest.mark.parametrize("name", ["", "../rates.csv", "a/b.csv", ".hidden", "fdp\u202evsc.exe", 'x".csv', "a\nb.csv"])
def test_a_download_has_a_plain_name(name):
    with pytest.raises(OptionError, match="is no name for a download"):
        Download(name, b"")


@pytest.mark.parametrize("mime", ["", "text", "text/html,<script>", "text/html;charset=x"])
def test_a_download_has_a_media_type(mime):
    with pytest.raises(OptionError, match="is no media type"):
        Download("a.csv", b"", mime)


def test_a_row_with_a_cell_too_few_is_our_mistake():
    with pytest.raises(ValueError, match="row 2 has 1 cells; the table has 2 columns"):
        TableBlock(["a", "b"], [[1, 2], [3]], "")


def test_a_frame_becomes_a_table_with_chosen_columns():
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [0.5, None]})
    table = TableBlock.of(frame, "Caption", {"c": "Score", "a": "Count"})
    assert table == TableBlock(("Score", "Count"), ((0.5, 1), (None, 2)), "Caption")
    assert TableBlock.of(frame, "Caption").columns == ("a", "b", "c")


def one_column(*cells):
    (column,) = shown_columns(TableBlock(["a"], [[cell] for cell in cells], ""))
    return column


def test_numbers_of_a_column_end_at_the_same_digit():
    column = one_column(0.8212, 12.25, 0.4, None, float("nan"))
    assert [cell.text for cell in column.cells] == ["0.821", "12.250", "0.400", "–", "–"]
    assert column.kind == "number"


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ([1234567.8, 2e6], ["1,234,568", "2,000,000"]),
        ([1e-9, -2.34e-9, 0.0], ["1e-09", "-2.3e-09", "0.0000"]),
        ([0.5, 0.25, 1e-7], ["0.500", "0.250", "1e-07"]),
        ([0.0, 0.0], ["0.00", "0.00"]),
    ],
)
def test_large_and_small_numbers_stay_short(numbers, texts):
    assert [cell.text for cell in one_column(*numbers).cells] == texts


def test_whole_numbers_and_flags_and_dates():
    assert [cell.text for cell in one_column(1204, -3).cells] == ["1,204", "-3"]
    assert one_column(True, False).kind == "name"
    assert [cell.text for cell in one_column(True, False).cells] == ["yes", "no"]
    dates = one_column(dt.date(2025, 1, 31), None)
    assert (dates.kind, dates.cells[0].text) == ("date", "2025-01-31")


def test_names_stay_on_one_line_and_sentences_do_not():
    assert one_column("gpt-4o", "o3 (high)").kind == "name"
    assert one_column("o3 (high)", "a sentence that goes on for longer").kind == "text"


def test_estimates_show_their_interval_and_sort_by_their_value():
    column = one_column(Estimate(0.78, 0.73, 0.83), Estimate.without("too_few", "one cluster"))
    assert [(cell.text, cell.key) for cell in column.cells] == [
        ("0.78 [0.73, 0.83]", "0.78"),
        ("too few (one cluster)", ""),
    ]
    assert column.kind == "number"
