"""Any csv, tsv, jsonl or parquet file, and the mappings that say how its columns are read."""

import gzip
from pathlib import Path

import polars as pl
import pytest

import howsure
from howsure.errors import InputError, OptionError
from howsure.sources import read, recognise
from howsure.sources._sniff import keys
from howsure.sources.files import ColumnMapping, load_mapping, save_mapping
from howsure.tables import Attempts, Ratings, Scores
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
    assert (
        read(path)
        .notes[0]
        .endswith("as attempts; --table scores reads one published score per model and benchmark instead.")
    )
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
    assert "--map" in str(caught.value)
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
