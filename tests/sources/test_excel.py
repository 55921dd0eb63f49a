"""Spreadsheets are read as other tables are; without fastexcel one line says what to install."""

import pytest

from howsure import sources
from howsure.errors import InputError, MissingExtraError


@pytest.fixture
def sheet(tmp_path):
    """A workbook with notes on a second sheet."""
    xlsxwriter = pytest.importorskip("xlsxwriter", reason="no xlsxwriter to make a spreadsheet")
    path = tmp_path / "results.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        for name, rows in {
            "results": [["model", "question_id", "correct"], ["m1", "q1", 1], ["m1", "q2", 0], ["m2", "q1", 1]],
            "notes": [["note"], ["hello"]],
        }.items():
            page = book.add_worksheet(name)
            for place, row in enumerate(rows):
                page.write_row(place, 0, row)
    return path


def test_the_first_sheet_is_read_and_others_are_named(sheet):
    pytest.importorskip("fastexcel", reason="no fastexcel: pip install 'howsure[excel]'")
    table = sources.read(sheet)
    assert table.frame.select("subject", "task", "score").rows() == [("m1", "q1", 1), ("m1", "q2", 0), ("m2", "q1", 1)]
    assert "results.xlsx: sheet results is read; not read: notes." in table.notes
    assert sources.account(sheet).n_unexplained == 0


def test_a_damaged_spreadsheet_is_told(tmp_path):
    pytest.importorskip("fastexcel", reason="no fastexcel: pip install 'howsure[excel]'")
    (tmp_path / "x.xlsx").write_bytes(b"PK no")
    with pytest.raises(InputError, match=r"x\.xlsx: not a whole zip file"):
        sources.read(tmp_path / "x.xlsx")


def test_without_fastexcel_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (tmp_path / "x.xlsx").write_bytes(b"PK")
    with pytest.raises(MissingExtraError, match=r"pip install 'howsure\[excel\]'"):
        sources.source("excel").read([tmp_path / "x.xlsx"])
