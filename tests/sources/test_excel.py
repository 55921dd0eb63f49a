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


def written(path, rows):
    xlsxwriter = pytest.importorskip("xlsxwriter", reason="no xlsxwriter to make a spreadsheet")
    with xlsxwriter.Workbook(str(path)) as book:
        page = book.add_worksheet("results")
        for place, row in enumerate(rows):
            page.write_row(place, 0, row)
    return path


def test_titles_above_the_header_are_left_out_and_said(tmp_path):
    pytest.importorskip("fastexcel", reason="no fastexcel: pip install 'howsure[excel]'")
    rows = [["Our results"], [], ["model", "question_id", "correct"], ["m1", "q1", 1], ["m1", "q2", 0]]
    table = sources.read(written(tmp_path / "x.xlsx", rows))
    assert table.frame.select("subject", "task", "score").rows() == [("m1", "q1", 1), ("m1", "q2", 0)]
    assert "1 row above the header excluded" in table.notes[0]


def test_a_fault_names_the_spreadsheet(tmp_path):
    pytest.importorskip("fastexcel", reason="no fastexcel: pip install 'howsure[excel]'")
    path = written(tmp_path / "x.xlsx", [["model", "question_id", "correct"], ["m1", "q1", 1], [None, "q2", 0]])
    with pytest.raises(InputError, match=r"x\.xlsx row 2: subject is missing"):
        sources.read(path)


def test_spreadsheets_and_text_files_of_a_folder_are_read_together(tmp_path):
    pytest.importorskip("fastexcel", reason="no fastexcel: pip install 'howsure[excel]'")
    written(tmp_path / "x.xlsx", [["model", "question_id", "correct"], ["m1", "q1", 1]])
    (tmp_path / "~$x.xlsx").write_bytes(b"a lock")
    (tmp_path / "y.csv").write_text("model,question_id,correct\nm2,q1,0\n")
    table = sources.read(tmp_path)
    assert sorted(table.frame.select("subject", "score").rows()) == [("m1", 1), ("m2", 0)]
    assert "1 file was not read (not recognised): ~$x.xlsx." in table.notes


def test_cells_that_are_merged_over_rows_count_for_each_row(tmp_path):
    pytest.importorskip("fastexcel", reason="no fastexcel: pip install 'howsure[excel]'")
    xlsxwriter = pytest.importorskip("xlsxwriter", reason="no xlsxwriter to make a spreadsheet")
    with xlsxwriter.Workbook(str(tmp_path / "x.xlsx")) as book:
        page = book.add_worksheet("R & D")
        page.merge_range("B2:D2", "Our results")
        page.write_row("B3", ["model", "question_id", "correct"])
        page.merge_range("B4:B5", "m1")
        page.merge_range("B6:B7", "m2")
        for place, row in enumerate([["q1", 1], ["q2", 0], ["q1", 1], ["q2", 1]]):
            page.write_row(3 + place, 2, row)
    table = sources.read(tmp_path / "x.xlsx")
    assert table.frame.select("subject", "task", "score").rows() == [
        ("m1", "q1", 1),
        ("m1", "q2", 0),
        ("m2", "q1", 1),
        ("m2", "q2", 1),
    ]
    assert "merged cells of model count for each of their rows" in table.notes[0]
