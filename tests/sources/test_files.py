"""Any csv, tsv, jsonl or parquet file, and the mappings that say how its columns are read."""

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import polars as pl
import pytest

import howsure
from howsure.errors import InputError, OptionError
from howsure.sources import account, read, recognise
from howsure.sources._reading import keys
from howsure.sources.files import ColumnMapping, load_mapping, save_mapping
from howsure.tables import Attempts, Ratings, Scores, frames, text_tables
from howsure.tables.frames import write_frame

ATTEMPTS = {"subject": ["a"], "kind": ["model"], "task": ["t"], "attempt": [1], "score": [0.5]}
SCORES = {"model": ["m"], "benchmark": ["b"], "score": [0.5]}
RATINGS = {"rater": ["r"], "item": ["i"], "dimension": ["d"], "value": [3.0]}
ENDINGS = [".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".csv.gz", ".tsv.gz", ".jsonl.gz"]


# which table


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(("rows", "table"), [(ATTEMPTS, Attempts), (SCORES, Scores), (RATINGS, Ratings)])
def test_the_table_is_decided_by_the_columns(tmp_path, ending, rows, table):
    path = write_frame(pl.DataFrame(rows), tmp_path / f"rows{ending}")
    assert recognise(path).source == "files"
    assert type(read(path)) is table


def test_the_table_can_be_named(tmp_path):
    path = write_frame(pl.DataFrame(ATTEMPTS | SCORES), tmp_path / "both.csv")
    assert isinstance(read(path), Attempts)
    told = "read as: benchmark → domain; attempts (--table scores reads one published score per model and benchmark instead)."
    assert read(path).notes[0] == told
    assert isinstance(read(path, table="scores"), Scores)


def test_an_unknown_table_names_the_known_ones(tmp_path):
    path = write_frame(pl.DataFrame(SCORES), tmp_path / "scores.csv")
    with pytest.raises(OptionError, match=r"No table called 'score'\. Did you mean 'scores'\?"):
        read(path, table="score")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            "model,benchmark,when",
            r"scores needs model, benchmark, score; there is no column for 'score'\. The columns are",
        ),
        ("rater,item,dimensions,value", r"there is no column for 'dimension'\. Did you mean 'dimensions'"),
        (
            "subject,tasks,score",
            r"attempts needs subject, task, score; there is no column for 'task'\. Did you mean 'tasks'",
        ),
    ],
)
def test_a_file_that_fits_no_table_is_told_what_the_closest_lacks(tmp_path, header, message):
    (tmp_path / "rows.csv").write_text(header + "\n" + ",".join(["words"] * len(header.split(","))) + "\n")
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path / "rows.csv")
    assert "rename" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_several_files_are_one_table(tmp_path):
    for name in "ab":
        write_frame(pl.DataFrame(SCORES | {"model": [name]}), tmp_path / f"{name}.csv")
    assert read(tmp_path / "*.csv").frame["model"].to_list() == ["a", "b"]


def test_files_of_different_kinds_are_refused(tmp_path):
    write_frame(pl.DataFrame(SCORES), tmp_path / "a.csv")
    write_frame(pl.DataFrame(RATINGS), tmp_path / "b.csv")
    with pytest.raises(InputError, match=r"b\.csv: a table of scores needs model, benchmark"):
        read(tmp_path / "*.csv")


# rename, fill, scale


def test_columns_are_renamed_and_filled(tmp_path):
    path = write_frame(pl.DataFrame({"name": ["m"], "accuracy": [62.0]}), tmp_path / "x.csv")
    table = read(path, rename={"model": "name", "score": "accuracy"}, fill={"benchmark": "GPQA"}, divide_by=100)
    assert table.frame.row(0, named=True) == {"model": "m", "benchmark": "GPQA", "score": 0.62}


def test_progress_is_told(tmp_path):
    from howsure.sources import files

    steps = []
    files.read([write_frame(pl.DataFrame(SCORES), tmp_path / "x.csv")], progress=lambda *step: steps.append(step))
    assert steps == [(1, 1)]


# mappings


def test_a_saved_mapping_reads_the_same_rows(tmp_path):
    path = write_frame(pl.DataFrame({"name": ["m"], "acc": [62.0]}), tmp_path / "x.csv")
    given = {"rename": {"model": "name", "score": "acc"}, "fill": {"benchmark": "GPQA"}}
    mapping = save_mapping(tmp_path / "x.yaml", table="scores", divide_by=100, **given)
    assert read(path, mapping=mapping).frame.equals(read(path, divide_by=100, **given).frame)


def test_a_mapping_comes_back_as_it_went(tmp_path):
    fill = {"kind": "model", "attempt": 1, "minutes": 2.5, "date": "2025-01-31", "family": "ß"}
    path = save_mapping(tmp_path / "x.yaml", table="attempts", rename={"task": "Aufgabe ä"}, fill=fill, divide_by=10)
    assert load_mapping(path) == ColumnMapping("attempts", {"task": "Aufgabe ä"}, fill, 10)


def test_what_is_given_beside_a_mapping_goes_before_it(tmp_path):
    path = write_frame(pl.DataFrame({"name": ["m"], "acc": [1.0], "f1": [0.5], "b": ["x"]}), tmp_path / "x.csv")
    mapping = save_mapping(tmp_path / "m.yaml", rename={"model": "name", "score": "acc", "benchmark": "b"})
    assert read(path, mapping=mapping, rename={"score": "f1"}).frame["score"].to_list() == [0.5]


def test_an_empty_mapping_says_nothing(tmp_path):
    assert load_mapping(save_mapping(tmp_path / "m.yaml")) == ColumnMapping()
    (tmp_path / "empty.yaml").write_text("")
    assert load_mapping(tmp_path / "empty.yaml") == ColumnMapping()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tabel: scores", r"No setting of a mapping called 'tabel'\. Did you mean 'table'\?"),
        ("table: score", r"table: input should be 'attempts', 'scores', 'ratings' or 'votes'"),
        ("rename: {score: 5}", r"rename\.score: input should be a valid string"),
        ("rename: accuracy", r"rename: input should be a valid dictionary"),
        ("fill: {kind: [model]}", r"fill\.kind: give one text, number or date"),
        ("divide_by: much", r"divide_by: input should be a valid number"),
        ("- table", r"a mapping has lines such as table: scores"),
        ("table: [", r"line [12]: not YAML"),
        ("a: 1\nb: : 2", r"line 2: not YAML"),
        ("\x00", r"not YAML"),
    ],
)
def test_a_wrong_mapping_is_explained(tmp_path, text, message):
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        load_mapping(tmp_path / "m.yaml")
    assert str(caught.value).startswith(str(tmp_path / "m.yaml"))


def test_each_wrong_setting_has_a_line(tmp_path):
    (tmp_path / "m.yaml").write_text("table: x\ndivide_by: y\n")
    with pytest.raises(InputError) as caught:
        load_mapping(tmp_path / "m.yaml")
    assert len(str(caught.value).splitlines()) == 2


def test_a_mapping_that_is_not_there_names_a_near_one(tmp_path):
    save_mapping(tmp_path / "epoch.yaml")
    with pytest.raises(InputError, match=r"no such file\. Did you mean .*epoch\.yaml"):
        load_mapping(tmp_path / "epohc.yaml")


@pytest.mark.parametrize("given", [{"table": "score"}, {"fill": {"kind": ["a"]}}])
def test_a_wrong_mapping_is_not_saved(tmp_path, given):
    with pytest.raises(OptionError):
        save_mapping(tmp_path / "m.yaml", **given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scale", ["0", "-1", ".nan", ".inf"])
def test_a_scale_that_is_none_is_refused_when_it_is_used(tmp_path, scale):
    (tmp_path / "m.yaml").write_text(f"divide_by: {scale}")
    path = write_frame(pl.DataFrame(SCORES), tmp_path / "x.csv")
    with pytest.raises(OptionError, match=r"divide_by .* is not a number above 0"):
        read(path, mapping=tmp_path / "m.yaml")


# what a file seems to hold


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        ("a.csv", b'x,"y z",w\n1,2,3\n', ("x", "y z", "w")),
        ("a.csv", b"\xef\xbb\xbfx,y\r\n1,2\r\n", ("x", "y")),
        ("a.tsv", b"x\ty\n", ("x", "y")),
        ("a.csv.gz", gzip.compress(b"x,y\n", mtime=0), ("x", "y")),
        ("a.csv.gz", b"no gzip", ()),
        ("a.jsonl", b'{"x": {"in": 1}, "y": [{"z": 2}]}\n{"w": "a:b"}\n', ("x", "y", "w")),
        ("a.json", b'{\n  "x": "\\"no\\": {",\n  "y": 1\n}\n', ("x", "y")),
        ("a.json", b'{"x": 1, "y": "cut off: {\\"fake\\": ', ("x", "y")),
        ("a.json", b'[{"x": 1}]', ("x",)),
        ("a.json", b"", ()),
        ("a.json", '{"x": 1}'.encode("utf-16"), ()),
        ("a.parquet", b"PAR1 and then nothing", ()),
    ],
)
def test_keys_are_found_in_the_first_bytes(tmp_path, name, data, found):
    (tmp_path / name).write_bytes(data)
    assert keys(tmp_path / name) == found


def test_keys_of_parquet_are_its_columns(tmp_path):
    assert keys(write_frame(pl.DataFrame(SCORES), tmp_path / "x.parquet")) == tuple(SCORES)


def test_keys_of_what_is_not_there_are_none(tmp_path):
    assert keys(tmp_path / "no.csv") == ()
    assert keys(tmp_path) == ()


def test_only_the_beginning_of_a_large_file_is_read(tmp_path, monkeypatch):
    path = tmp_path / "large.jsonl"
    path.write_text('{"x": 1}\n' + '{"y": "' + "." * 2**20 + '"}\n{"z": 1}\n')
    monkeypatch.setattr(Path, "read_bytes", None)
    assert keys(path) == ("x", "y")


def test_a_bad_table_in_a_folder_does_not_stop_the_others(tmp_path):
    (tmp_path / "a.csv").write_text("model,item,score\na,q1,1\na,q2,0\n")
    (tmp_path / "bad.csv").write_text("model,item,score\nb,q1,zzz\nb,q2,0\n")
    (tmp_path / "b.jsonl").write_text('{"model":"c","item":"q1","score":1}\n')
    table = howsure.read(tmp_path)
    assert sorted(table.frame["subject"].unique()) == ["a", "c"]
    assert any("Not read" in note and "bad.csv" in note for note in table.notes)
    with pytest.raises(InputError, match="zzz"):
        howsure.read(tmp_path, strict=True)


def test_tables_are_read_where_no_log_can_be(tmp_path):
    (tmp_path / "broken.eval").write_bytes(b"PK\x03\x04garbage")
    (tmp_path / "rows.csv").write_text("model,item,score\na,q,1\nb,q,0\n")
    made = account(tmp_path)
    assert (made.n_read, made.n_used, made.n_unexplained) == (2, 2, 0)
    assert {one.path.name: one.source for one in made.files} == {"rows.csv": "files", "broken.eval": None}
    assert "1 file was not read (not a whole zip file" in made.notes[-1]
    with pytest.raises(InputError, match=r"broken\.eval: not a whole zip file .* rows\.csv"):
        read(tmp_path, strict=True)
    (tmp_path / "rows.csv").write_text("nothing,here\n1,2\n")
    with pytest.raises(InputError, match=r"rows\.csv: a table of attempts needs .* broken\.eval"):
        read(tmp_path)


def test_notes_and_settings_in_a_folder_are_no_tables(tmp_path):
    (tmp_path / "config.json").write_text('{"optimizer": {"lr": 0.1, "beta": 0.9}}')
    (tmp_path / "notes.txt").write_text("seed temperature\n1 0.5\n")
    (tmp_path / "rows.csv").write_text("model,item,score\na,q,1\n")
    table = read(tmp_path)
    assert table.frame["subject"].to_list() == ["a"]
    assert (
        "2 files were not read (not recognised; name it to read it as a table): config.json, notes.txt." in table.notes
    )


# a zip is read as the folder that it holds


def zipped(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_a_zip_of_tables_is_read_as_a_folder(tmp_path):
    head = "model,item,score\n"
    members = {"x/a.csv": head + "a,q,1\n", "x/b.csv": head + "b,q,0\n"}
    path = zipped(
        tmp_path / "rows.zip", members | {"__MACOSX/._a.csv": "\0", "x/.hidden.csv": "", "x/picture.png": "-"}
    )
    made = account(path)
    assert recognise(path).reason.startswith("it contains x/a.csv: ")
    assert (made.n_read, made.n_used, made.n_unexplained) == (2, 2, 0)
    assert {str(one.path) for one in made.files} == {f"{path}/x/{name}" for name in ("a.csv", "b.csv", "picture.png")}
    assert "1 file was not read (not recognised): x/picture.png." in made.notes
    assert read(path).frame["score"].to_list() == [1, 0]
    zipped(path, {"x/a.csv": head + "a,q,1\nb,q,1\nc,q,1\n"})
    assert len(read(path)) == 3


def test_a_fault_in_a_zip_names_zip_member_and_line(tmp_path):
    path = zipped(tmp_path / "rows.zip", {"a.csv": "model,item,score\na,q,1\na,r,seven\n"})
    with pytest.raises(InputError, match=rf"{path}/a\.csv line 3: score seven is not a number"):
        read(path)
    with pytest.raises(InputError, match=r"none\.zip: no file in it is of a known format\. 1 file .*: a\.png"):
        read(zipped(tmp_path / "none.zip", {"a.png": "-"}))
    with pytest.raises(InputError, match=r"out\.zip: contains a member '\.\./a\.csv' that points outside"):
        read(zipped(tmp_path / "out.zip", {"../a.csv": "-"}))


def test_a_zip_that_grows_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("howsure.sources._remote._LARGEST_ZIP", 2**20)
    path = zipped(tmp_path / "rows.zip", {f"{i}.csv": f"model,item,score\n{i:0400000}," for i in range(3)})
    with pytest.raises(InputError, match=r"rows\.zip: unpacks to more than"):
        read(path)


# tables in text and JSON

FORMS = {
    "tabs": ("x.txt", "model\titem\tscore\na\tq\t1\nb\tq\t0\n"),
    "commas": ("x.txt", "model,item,score\na,q,1\nb,q,0\n"),
    "blanks": ("x.txt", "model item   score\na q    1\n\nb   q 0\n"),
    "columns of text": ("x.txt", "model    item   score\na        q      1\nb        q      0\n"),
    "R": ("x.txt", '"model" "item" "score"\n"1" "a" "q" 1\n"2" "b" "q" 0\n'),
    "a title": ("x.txt", "What we found\n\nmodel;item;score\na;q;1\nb;q;0\n"),
    "blanks in a csv": ("x.csv", "model item score\na q 1\nb q 0\n"),
    "carriage returns": ("x.csv", "model,item,score\ra,q,1\rb,q,0\r"),
    "a list in an object": ("x.json", '{"by": "us", "results": [{"llm": "a", "id": "q", "correct": true}, {"llm": "b", "id": "q", "correct": false}]}'),
    "an object per model": ("x.json", '{"a": {"q": 1}, "b": {"q": 0}}'),
    "objects in an object": ("x.json", '{"date": "today", "scores": {"a": {"q": 1}, "b": {"q": 0}}}'),
    "an object per model and item": ("x.json", '{"a": {"q": {"score": 1}}, "b": {"q": {"score": 0}}}'),
    "lists of attempts": ("x.json", '{"a": {"q": [1]}, "b": {"q": [0]}}'),
    "pandas": ("x.json", '{"model": {"0": "a", "1": "b"}, "item": {"0": "q", "1": "q"}, "score": {"0": 1, "1": 0}}'),
    "pandas, lists": ("x.json", '{"model": ["a", "b"], "item": ["q", "q"], "score": [1, 0]}'),
    "pandas, split": ("x.json", '{"columns": ["model", "item", "score"], "index": [0, 1], "data": [["a", "q", 1], ["b", "q", 0]]}'),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_tables_in_text_and_json_are_read(tmp_path, form):
    name, text = FORMS[form]
    (tmp_path / name).write_text(text, newline="")
    made = account(tmp_path / name, wanted="attempts")
    table = read(tmp_path / name, wanted="attempts")
    assert dict(table.frame.select("subject", "score").rows()) == {"a": 1, "b": 0}
    assert set(table.frame["task"]) == {"q"}
    assert (made.n_read, made.n_used) == (2, 2)


def test_one_list_per_model_numbers_the_items(tmp_path):
    (tmp_path / "x.json").write_text('{"a": [1, 0, 1], "b": [0, 0, 1]}')
    assert read(tmp_path / "x.json").frame.group_by("subject").len().sort("subject").rows() == [("a", 3), ("b", 3)]


def test_what_an_object_says_beside_its_rows_holds_for_all(tmp_path):
    (tmp_path / "x.json").write_text(
        '{"model": "a", "accuracy": 1, "results": [{"id": "q", "correct": 1}, {"id": "r", "correct": 0}]}'
    )
    assert read(tmp_path / "x.json").frame["subject"].to_list() == ["a", "a"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.txt", "We ran three models, and they were good.\nThat is all.\n"),
        ("x.txt", ""),
        ("x.json", '{"lr": 0.1, "layers": [1, 2], "x": {"y": 1}}'),
        ("x.json", '{"a": {"b": '),
        ("x.json", "{}"),
    ],
)
def test_what_is_no_table_is_not_recognised(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=r"not recognised as any of"):
        read(tmp_path / name)


def test_letters_of_windows_are_read_and_said(tmp_path):
    text = "model,item,score\nGröße,Übung – 1,1\nGröße,„Übung“,0\n"
    (tmp_path / "x.csv").write_bytes(text.encode("cp1252"))
    table = read(tmp_path / "x.csv")
    assert set(table.frame["task"]) == {"Übung – 1", "„Übung“"}
    assert "Windows-1252 letters, not UTF-8" in table.notes[0]


def _table_with_texts(n: int, mark: str = ",") -> str:
    """Answers with separators, quotes, line breaks and formulas in them, and blank lines between."""
    made = io.StringIO()
    writer = csv.writer(made, delimiter=mark, lineterminator="\n")
    writer.writerow(["model", "item", "score", "answer", ""])
    texts = ["plain", f"a{mark} b", 'he said "7"', "two\nlines", "=1+1", "", "ünï"]
    for number in range(n):
        writer.writerow([f"m{number % 3}", number // 3, number % 2, texts[number % 7], ""])
        made.write("\n" if number % 11 == 0 else "")
    return made.getvalue()


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "jsonl.gz"])
def test_a_large_file_is_read_in_blocks_with_the_same_rows(tmp_path, monkeypatch, ending):
    path = tmp_path / f"answers.{ending}"
    text = _table_with_texts(300, "\t" if ending == "tsv" else ",")
    if ending == "jsonl.gz":
        rows = csv.DictReader(io.StringIO(text))
        text = "".join(json.dumps({k: v for k, v in row.items() if k}) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith(".gz") else text.encode())
    whole = read(path, cache=False).frame
    monkeypatch.setattr(frames, "_LARGE_LINES", 1000)
    monkeypatch.setattr(frames, "_LARGE_PACKED", 100)
    for module in (text_tables,):
        monkeypatch.setattr(module, "BLOCK", 700)
    part = frames.parts_of(path)[0].parsed()
    assert "PARQUET" in part.rows.explain().upper()  # not in memory
    in_blocks = read(path, cache=False).frame
    assert in_blocks.equals(whole)
    assert len(whole) == 300


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize(
    ("line", "says"), [("m1,7", "2 fields"), ("m1,7,1,a,,b", "6 fields"), ('m1,7,1,"open', "quotes")]
)
def test_a_faulty_record_of_a_large_file_is_named_as_in_a_small_one(tmp_path, monkeypatch, ending, line, says):
    path = tmp_path / f"answers.{ending}"
    text = (_table_with_texts(300) + line + "\n").encode()
    path.write_bytes(gzip.compress(text) if ending.endswith(".gz") else text)
    with pytest.raises(InputError, match=says) as small:
        read(path, cache=False)
    monkeypatch.setattr(frames, "_LARGE_LINES", 1000)
    monkeypatch.setattr(frames, "_LARGE_PACKED", 100)
    for module in (text_tables,):
        monkeypatch.setattr(module, "BLOCK", 700)
    with pytest.raises(InputError) as large:
        read(path, cache=False)
    assert str(large.value) == str(small.value)
