"""Text from strangers is harmless wherever it is shown, and data come back as they were."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure import outside_text
from howsure.charts import Caption, Field, estimate_rows, interval_plot
from howsure.charts.export import to_spec
from howsure.estimates import Estimate
from howsure.outside_text import csv_text, guarded, html_table, json_text, one_line, several_lines, unguarded
from howsure.tables.frames import parts_of, write_frame
from servers import prepared_process

RED, REVERSED = "gpt\x1b[31m-4", "gpt-\u202e4o"
FORMULAS = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\n=1", "＝1", "'=1", "''-x"]
HARMLESS = ["gpt-4", "-5", "+1.5e-3", "'quoted'", "", "a=b", "'", "1-2"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (RED, r"gpt\x1b[31m-4"),
        (REVERSED, r"gpt-\u202e4o"),
        ("a\x9bb\x7f", r"a\x9bb\x7f"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("a\u2028b\u200b\ufeff\u2066", r"a\u2028b\u200b\ufeff\u2066"),
        ("\ud800\udcff", r"\ud800\udcff"),
        ("\U000e0041", r"\U000e0041"),
        ("naïve 数学 שלום 👨\u200d👩\u200d👧 ∞ α", "naïve 数学 שלום 👨\u200d👩\u200d👧 ∞ α"),
    ],
)
def test_what_cannot_be_seen_is_written_as_an_escape(text, shown):
    assert one_line(text) == shown


def test_messages_keep_their_lines():
    assert several_lines("a\n\tb\x1b") == "a\n\tb\\x1b"


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_json_gives_the_value_back_and_can_always_be_written(text):
    shown = json_text({"name": text}, indent=1)
    assert json.loads(shown) == {"name": json.loads(json.dumps(text))}
    assert not outside_text._SEVERAL_LINES.search(shown)
    shown.encode("utf-8")


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_text_for_a_spreadsheet(text):
    frame = pl.DataFrame({"name": [text], text: ["x"]}).lazy()
    assert guarded(frame).collect()["name"][0] == f"'{text}"
    assert guarded(frame).collect_schema().names()[1] == f"'{text}"


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_and_numbers_stay(text):
    frame = pl.DataFrame({"name": [text], "number": [-1.5], "whole": [-3]})
    assert guarded(frame.lazy()).collect().equals(frame)


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "jsonl", "parquet"])
def test_what_we_write_we_read_back(tmp_path, ending):
    names = [*FORMULAS, *HARMLESS, RED, REVERSED, 'a"b', "a,b", "a\r\nb", "a\rb"]
    frame = pl.DataFrame({"model": names, "=x": [str(-n) for n in range(len(names))]})
    (part,) = parts_of(write_frame(frame, tmp_path / f"names.{ending}"))
    assert part.rows.collect().equals(frame)


@given(st.lists(st.text(alphabet="'=+-@\t \r\nab1.\\x1u\x1b\u202e\u200f", min_size=1), min_size=1))
def test_any_text_comes_back(texts):
    frame = pl.DataFrame({"text": texts})
    again = unguarded(pl.scan_csv(csv_text(frame).encode(), infer_schema=False)).collect()
    assert again.equals(frame)
    assert not set(csv_text(frame)) & set("\x1b\u202e")


def test_a_csv_file_changes_no_terminal_and_turns_no_letters():
    shown = csv_text(pl.DataFrame({"rater": [RED, REVERSED, r"C:\x1b", "שלום\u200f"], "a\x1bb": ["1", "2", "3", "4"]}))
    assert shown.splitlines() == [
        r"rater,'a\x1bb",
        r"'gpt\x1b[31m-4,1",
        r"'gpt-\u202e4o,2",
        r"C:\x1b,3",
        "שלום\u200f,4",
    ]


def test_charts_hold_no_hidden_characters():
    rows = estimate_rows({RED: Estimate(0.5, 0.4, 0.6), REVERSED: Estimate(0.4, 0.3, 0.6)})
    chart = interval_plot(
        rows,
        title=REVERSED,
        caption=Caption(1, RED, 0.95),
        label=Field("label", "Model"),
        value=Field("value", "Score", "0–1"),
    )
    assert not outside_text._SEVERAL_LINES.search(json.dumps(to_spec(chart), ensure_ascii=False))


def test_pages_hold_no_hidden_characters_and_no_markup():
    page = outside_text.templates({"a": "<p>{{ name }}</p>"}.__getitem__).get_template("a")
    assert page.render(name=f"<b>{RED}{REVERSED}") == r"<p>&lt;b&gt;gpt\x1b[31m-4gpt-\u202e4o</p>"


@pytest.fixture
def hostile_runs(tmp_path):
    rows = [
        {"subject": name, "kind": "model", "task": f"t{task}\u202e", "attempt": 1, "score": (task + n) % 2}
        for n, name in enumerate([RED, "=cmd|' /C calc'!A0", "b\x9b2J\nc"])
        for task in range(6)
    ]
    path = tmp_path / "runs\x1b[2J.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def run(*arguments, **options):
    return prepared_process.run(["-m", "howsure", *arguments], **options)


def test_a_hostile_file_is_harmless_from_end_to_end(hostile_runs, tmp_path):
    out = tmp_path / "out"
    done = run("summary", hostile_runs, "-o", out)
    assert done.returncode == 0, done.stderr
    assert r"gpt\x1b[31m-4" in done.stdout
    assert not outside_text._SEVERAL_LINES.search(done.stdout + done.stderr)
    assert "'=cmd" in (out / "summary.csv").read_text()
    assert not set("\x1b\x9b\u202e") & set((out / "summary.csv").read_text())
    page = (out / "summary_report.html").read_text()
    assert RED not in page
    assert "\u202e" not in page


@pytest.mark.parametrize(
    "arguments",
    [
        ["summary", "no\x1b[31mfile\u202e.csv"],
        ["\x1b[31mverb"],
        ["summary", "--\x1b[31m"],
    ],
)
def test_errors_show_strange_arguments_as_escapes(arguments, tmp_path):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert not outside_text._SEVERAL_LINES.search(done.stdout + done.stderr)
    assert r"\x1b" in done.stderr


def test_a_wide_table_in_a_notebook_scrolls_and_names_the_columns_that_it_does_not_show():
    columns = [f"column_{i}" for i in range(14)]
    shown = html_table("Wide", columns, [["0.78 [0.73, 0.83]"] * 14], 3, ".to_frame()")
    assert shown.startswith('<div style="overflow-x:auto">')
    assert shown.count("<td") == shown.count("<th ") == 12
    assert "… and 2 more rows and 2 more columns (column_12, column_13): <code>.to_frame()</code>" in shown
    assert ">0.78</span> <span" in shown  # a line may end before the interval
