"""Attempts, Scores and Ratings: from every kind of input, through every format, and what they refuse."""

import gzip
import io
import json
import os
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import howsure
from howsure.errors import InputError, OptionError
from howsure.tables import TABLES, Attempts, Ratings, Scores, Votes, frames, text_tables
from howsure.tables.frames import Part, json_lines

ROWS = {
    "subject": ["o9", "o9", "ada"],
    "kind": ["model", "model", "human"],
    "task": ["maze", "maze", "maze"],
    "attempt": [1, 2, 1],
    "score": [0.0, 1.0, 0.5],
    "minutes": [12.5, 12.5, 12.5],
    "date": [date(2025, 1, 31), date(2025, 2, 1), None],
}
FRAME = pl.DataFrame(ROWS)
FORMATS = ["csv", "tsv", "jsonl", "ndjson", "parquet", "csv.gz", "tsv.gz", "jsonl.gz"]


# every kind of input


def as_path(tmp_path, ending):
    return Attempts(FRAME).write(tmp_path / f"rows.{ending}")


INPUTS = {
    "polars": lambda _: FRAME,
    "lazy polars": lambda _: FRAME.lazy(),
    "pandas": lambda _: FRAME.to_pandas(),
    "pyarrow": lambda _: FRAME.to_arrow(),
    "another table": lambda _: Attempts(FRAME),
    "a list of frames": lambda _: [FRAME.head(2), FRAME.tail(1).lazy()],
    "frames of several libraries": lambda _: [FRAME.head(2).to_pandas(), FRAME.tail(1).to_arrow()],
    "a part": lambda _: Part(FRAME.lazy()),
    **{ending: lambda folder, ending=ending: as_path(folder, ending) for ending in FORMATS},
    "a path as text": lambda folder: str(as_path(folder, "csv")),
    "a glob": lambda folder: as_path(folder, "csv").parent / "*.csv",
}


@pytest.mark.parametrize("kind", INPUTS)
def test_every_kind_of_input_gives_the_same_table(tmp_path, kind):
    assert_frame_equal(Attempts(INPUTS[kind](tmp_path)).frame, FRAME)


def test_files_and_frames_may_be_mixed(tmp_path):
    path = Attempts(FRAME.head(2)).write(tmp_path / "a.jsonl")
    assert_frame_equal(Attempts([path, FRAME.tail(1)]).frame, FRAME)


def test_a_glob_is_read_in_the_order_of_names(tmp_path):
    for name, rows in (("b", FRAME.tail(1)), ("a", FRAME.head(2))):
        Attempts(rows).write(tmp_path / f"{name}.csv")
    assert_frame_equal(Attempts(tmp_path / "*.csv").frame, FRAME)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path, ending):
    assert len(Attempts(Attempts(FRAME).write(tmp_path / f"a[1]*?.{ending}"))) == 3


def test_a_late_key_of_a_jsonl_file_is_seen(tmp_path):
    path = tmp_path / "rows.jsonl"
    line = '{"subject": "a%d", "kind": "model", "task": "t", "attempt": 1, "score": 1%s}\n'
    path.write_text("".join(line % (n, ', "family": "f"' if n == 11_000 else "") for n in range(11_001)))
    assert Attempts(path).frame["family"].null_count() == 11_000


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path, ending):
    path = as_path(tmp_path, ending)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert_frame_equal(Attempts(path).frame, FRAME)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("score", [False, True, None]),
        ("score", [Decimal("0.5"), Decimal(1), Decimal(0)]),
        ("score", ["true", "False", "0.5"]),
        ("attempt", [1.0, 2.0, 1.0]),
        ("attempt", ["1", "2.0", "1"]),
        ("date", [datetime(2025, 1, 31, 12), None, None]),
        ("date", ["2025-01-31", "2025-01-31T12:00:00Z", "2025-01-31 12:00:00.5+00:00"]),
        ("task", pl.Series(["a", "b", "c"], dtype=pl.Categorical)),
        ("task", pl.Series(["a", "b", "c"], dtype=pl.Enum(["a", "b", "c"]))),
    ],
)
def test_values_are_brought_to_the_columns_type(column, values):
    rows = ROWS | {"attempt": [1, 1, 1], "task": ["a", "b", "c"]}
    if column == "attempt":
        rows["task"] = ["a", "a", "c"]
    given = pl.DataFrame(rows | {column: values}, strict=False)
    table = Attempts(given)
    assert (
        table.frame.schema[column]
        == {"score": pl.Float64, "attempt": pl.Int64, "date": pl.Date, "task": pl.String}[column]
    )
    assert table.frame[column].null_count() == given[column].null_count()


def test_names_that_are_numbers_become_text():
    assert Ratings(pl.DataFrame({"rater": [7], "item": [1], "dimension": [2], "value": [3]})).frame.row(0) == (
        "7",
        "1",
        "2",
        3.0,
    )


def test_a_pandas_table_that_polars_cannot_take_is_explained():
    with pytest.raises(InputError, match="The pandas table cannot be read"):
        Attempts(pd.DataFrame({"subject": [{"a"}, 1.5]}))


def test_an_arrow_table_with_other_types_is_taken():
    table = pa.table(
        {"model": pa.array(["m"]).dictionary_encode(), "benchmark": ["b"], "score": pa.array([1], pa.int8())}
    )
    assert Scores(table).frame.row(0) == ("m", "b", 1.0)


# lazy and in memory


@pytest.mark.parametrize("given", ["file", "scan"])
def test_parquet_stays_lazy_until_its_rows_are_asked_for(tmp_path, given):
    path = as_path(tmp_path, "parquet")
    table = Attempts(path if given == "file" else pl.scan_parquet(path))
    assert isinstance(table.lazy, pl.LazyFrame)
    assert "PARQUET" in table.lazy.explain().upper()
    table.counts("subject")
    assert len(table) == 3
    assert "frame" not in vars(table)
    assert table.frame is table.frame


def test_text_is_parsed_once(tmp_path):
    path = as_path(tmp_path, "csv")
    table = Attempts(path)
    path.unlink()
    assert_frame_equal(table.frame, FRAME)


# counts, union, digest, notes


def test_counts_hold_what_a_mean_and_its_error_need():
    counts = Attempts(FRAME).counts("subject", "task")
    assert counts.rows() == [("ada", "maze", 1, 0.5, 0.25), ("o9", "maze", 2, 1.0, 1.0)]
    assert counts.columns == ["subject", "task", "n", "total", "squares"]


def test_counts_by_an_unknown_column_name_the_known():
    with pytest.raises(OptionError, match=r"No column in these attempts called 'famly'.*minutes"):
        Attempts(FRAME).counts("famly")


def test_union_joins_and_checks_again():
    one, two = Attempts(FRAME.head(2)), Attempts(FRAME.tail(1).drop("minutes"))
    joined = Attempts.union([one, two])
    assert joined.frame["minutes"].to_list() == [12.5, 12.5, None]
    assert Attempts.union([one]) is one
    with pytest.raises(InputError, match="attempt 1 of o9 on maze is there 2 times"):
        Attempts.union([one, one])


def test_notes_are_kept_and_told_once():
    with_extra = FRAME.with_columns(pl.lit("x").alias("familly"))
    one = Attempts(with_extra.head(2), notes=["left out: 3"])
    two = Attempts(with_extra.tail(1), notes=["left out: 4"])
    near = "Column 'familly' is not used. Did you mean 'family'?"
    assert one.notes == ("left out: 3", near)
    assert Attempts.union([one, two]).notes == ("left out: 3", near, "left out: 4")
    assert Attempts(one).notes == one.notes


def test_columns_that_resemble_none_of_ours_are_kept_without_a_word():
    table = Attempts(FRAME.with_columns(pl.lit(1).alias("token_count")))
    assert table.frame["token_count"].to_list() == [1, 1, 1]
    assert table.notes == ()


def test_the_digest_tells_tables_apart_and_formats_not(tmp_path):
    digest = Attempts(FRAME).digest
    assert {Attempts(as_path(tmp_path, ending)).digest for ending in FORMATS} == {digest}
    assert len(digest) == 16
    assert Attempts(FRAME.with_columns(pl.lit(0.25).alias("score"))).digest != digest


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (pl.Series([[1, 2], []]), "[1,2]"),
        (pl.Series([{"x": 1, "y": ["a"]}, None]), '{"x":1,"y":["a"]}'),
        (pl.Series([[1.0, 2.0], [3.0, 4.0]], dtype=pl.Array(pl.Float64, 2)), "[1.0,2.0]"),
        (pl.Series([b"\xff", b"a"]), "ff"),
        (pl.Series([[b"\xff"], []]), "[b'\\xff']"),
        (pl.Series([timedelta(days=1), None]), "P1D"),
    ],
    ids=["list", "struct", "array", "bytes", "list of bytes", "duration"],
)
def test_columns_that_text_cannot_hold_are_digested_and_written(tmp_path, column, shown):
    frame = FRAME.head(2).with_columns(column.alias("extra"))
    frame.write_parquet(tmp_path / "kept.parquet")
    table = Attempts(tmp_path / "kept.parquet")
    assert table.digest == Attempts(frame).digest
    assert table.digest != Attempts(frame.with_columns(pl.col("extra").reverse())).digest
    table.write(tmp_path / "kept.csv")
    assert Attempts(tmp_path / "kept.csv").frame["extra"][0] == shown
    table.write(tmp_path / "kept.jsonl")
    assert len(Attempts(tmp_path / "kept.jsonl")) == 2


def test_a_table_tells_what_it_holds():
    assert repr(Attempts(FRAME)) == "<Attempts: 3 rows, 2 subjects, 1 tasks>"
    assert Attempts(FRAME).has("minutes", "date")
    assert not Attempts(FRAME).has("minutes", "family")
    assert Attempts.named("score").high == 1


@pytest.mark.parametrize("table", TABLES.values())
def test_every_column_says_what_it_means(table):
    assert all(column.meaning and column.name == column.name.lower() for column in table.columns)
    assert [column.name for column in table.columns if column.required] == [c.name for c in table.columns][
        : sum(c.required for c in table.columns)
    ]


def test_votes_are_a_b_tie_or_both_bad():
    rows = {"voter": ["v", "v"], "item": ["q1", "q2"], "a": ["x", "y"], "b": ["y", "x"], "outcome": ["a", "both_bad"]}
    assert Votes(pl.DataFrame(rows)).frame["outcome"].to_list() == ["a", "both_bad"]
    with pytest.raises(InputError, match="outcome model_a is not one of a, b, tie, both_bad"):
        Votes(pl.DataFrame(rows | {"outcome": ["model_a", "b"]}))


# defaults, counts, configuration


BARE = pl.DataFrame({"subject": ["a", "a", "b", "a"], "task": ["t", "t", "t", "u"], "score": [1.0, 0.0, 1.0, 0.5]})


def test_kind_and_attempt_have_defaults(tmp_path):
    table = Attempts(BARE)
    assert table.frame.columns == ["subject", "kind", "task", "attempt", "score"]
    assert table.frame["kind"].unique().to_list() == ["model"]
    assert table.frame["attempt"].to_list() == [1, 2, 1, 1]
    assert Attempts([BARE.head(1), BARE.tail(3)]).frame.equals(table.frame)
    BARE.write_parquet(tmp_path / "bare.parquet")
    assert Attempts(tmp_path / "bare.parquet").frame.equals(table.frame)
    assert Attempts([FRAME, BARE]).frame["attempt"].to_list() == [1, 2, 1, 1, 2, 1, 1]


def counted_and_single():
    counts = pl.DataFrame({"subject": ["a", "b"], "task": ["t", "t"], "n": [4, 5], "n_success": [3, 0]})
    single = pl.DataFrame(
        {"subject": ["a"] * 4 + ["b"] * 5, "task": ["t"] * 9, "score": [1, 1, 1, 0, *[0] * 5]},
    )
    return Attempts(counts), Attempts(single)


def test_a_row_of_counts_is_as_many_rows():
    counts, single = counted_and_single()
    assert counts.frame["score"].to_list() == [0.75, 0.0]
    assert_frame_equal(counts.counts("subject"), single.counts("subject"))
    assert_frame_equal(counts.counts(), single.counts())
    mixed = Attempts([counts.frame.head(1), single.frame.tail(5)])
    assert_frame_equal(mixed.counts("subject"), single.counts("subject"))
    for name in ("mean", "spread"):
        found = [
            table.lazy.group_by("subject").agg(table.sums()[name].alias(name)).sort("subject").collect()[name].to_list()
            for table in (counts, single, mixed)
        ]
        assert found[0] == pytest.approx(found[1], rel=1e-12)
        assert found[2] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"n": [2]}, "column 'n' without 'n_success'"),
        ({"n_success": [2]}, "column 'n_success' without 'n'"),
        ({"n": [2], "n_success": [3]}, "row 1: n_success 3 is above n"),
        ({"n": [0], "n_success": [0]}, "row 1: n 0 is below 1"),
        ({"n": [2], "n_success": [None]}, "row 1: n_success is missing beside n"),
        ({"n": [None], "n_success": [2], "score": [1]}, "row 1: n_success 2 is given without n"),
        ({"n": [2], "n_success": [1], "score": [0.9]}, "row 1: n_success 1 divided by n is not the score"),
    ],
)
def test_counts_that_contradict_each_other_are_refused(rows, message):
    with pytest.raises(InputError, match=message):
        Attempts(pl.DataFrame({"subject": ["a"], "task": ["t"]} | rows))


def test_counts_are_not_divided_by_a_scale():
    counts = counted_and_single()[0].frame.drop("score")
    assert Attempts(counts, divide_by=100).frame["score"].to_list() == pytest.approx([0.75, 0.0])


def test_further_columns_are_the_configuration():
    rows = pl.concat([BARE.with_columns(prompt=pl.lit(prompt), log=pl.lit("x.eval")) for prompt in ("short", "long")])
    assert Attempts(rows).config == ["log", "prompt"]
    assert Attempts(rows).frame["attempt"].to_list() == [1, 2, 1, 1, 3, 4, 2, 2]
    each = rows.with_columns(attempt=pl.Series([1, 2, 1, 1] * 2))
    table = Attempts(each)
    assert table.frame["attempt"].to_list() == [1, 2, 1, 1, 3, 4, 2, 2]
    assert table.notes == ("Attempts are numbered anew, because they start again at 1 for each value of prompt.",)
    with pytest.raises(InputError, match="attempt 1 of a on t is there 2 times"):
        Attempts(each.drop("prompt"))


PEOPLE = pl.DataFrame(
    {"subject": ["ann"] * 3, "kind": "human", "task": "t", "attempt": [1, 3, 4], "score": [0.0, 1, 1]}
)


def test_a_person_keeps_the_numbers_of_attempts_between_which_one_is_missing():
    assert Attempts(PEOPLE).frame["attempt"].to_list() == [1, 3, 4]
    with pytest.raises(InputError, match="attempt 3 of ann on t is there 2 times"):
        Attempts(PEOPLE.with_columns(attempt=pl.Series([1, 3, 3])))
    with pytest.raises(InputError, match="attempt 3 of ann on t follows attempt 1"):
        Attempts(PEOPLE.with_columns(kind=pl.lit("model")))
    models = PEOPLE.with_columns(subject=pl.lit("m"), kind=pl.lit("model"))
    some = pl.concat([PEOPLE, models]).with_columns(valid=pl.Series(["yes", "no", "yes"] * 2))
    # an invalid attempt was practice too; a model's attempts are repeats
    assert Attempts(some).frame["attempt"].to_list() == [1, 4, 1, 2]


def test_invalid_rows_are_excluded_and_counted():
    table = Attempts(BARE.with_columns(valid=pl.Series(["no", "yes", None, "yes"])))
    assert table.frame["attempt"].to_list() == [1, 1, 1]
    assert table.notes == ("1 row was excluded because declared invalid (valid = no).",)


def test_scores_of_any_size_are_said_to_be():
    rows = pl.DataFrame({"subject": ["a", "b"], "task": ["t", "t"], "score": [812.0, -3.0]})
    with pytest.raises(InputError, match=r'score 812.0 is not between 0 and 1 .*fill=\{"scale": "free"\}'):
        Attempts(rows)
    table = Attempts(rows, fill={"scale": "free", "better": "lower"})
    assert table.frame["score"].to_list() == [812.0, -3.0]
    assert table.is_free
    assert not Attempts(BARE).is_free
    with pytest.raises(InputError, match="score -3.0 is not between 0 and 1"):
        Attempts(rows.with_columns(scale=pl.Series(["free", None])))


def test_ratings_are_numbers_or_categories():
    rows = pl.DataFrame({"rater": ["r", "s"], "item": ["i", "i"], "dimension": ["d", "d"], "value": ["good", "bad"]})
    table = Ratings(rows)
    assert table.is_categorical
    assert table.frame["value"].to_list() == ["good", "bad"]
    with pytest.raises(InputError, match=r"The ratings are categories \(bad, good"):
        table.numeric()
    with pytest.raises(InputError, match="row 1: value good is not a number"):
        Ratings(rows.with_columns(value=pl.Series(["good", "3"])))
    with pytest.raises(InputError, match="numbers in one input and categories in another"):
        Ratings([rows.head(1), rows.tail(1).with_columns(value=pl.lit(3))])


# rename, fill, scale


def test_rename_may_swap_and_displace():
    frame = pl.DataFrame({"score": ["m"], "model": [0.5], "b": ["x"], "benchmark": ["old"]})
    table = Scores(frame, rename={"model": "score", "score": "model", "benchmark": "b"})
    assert table.frame.row(0, named=True) == {"model": "m", "benchmark": "x", "score": 0.5}


def test_fill_gives_a_column_one_value():
    table = Attempts(FRAME.drop("kind"), fill={"kind": "baseline", "date": date(2025, 1, 1)})
    assert table.frame["kind"].unique().to_list() == ["baseline"]
    assert table.frame["date"].unique().to_list() == [date(2025, 1, 1)]


def test_divide_by_scales_scores_and_their_errors_only():
    rows = {
        "model": ["m"],
        "benchmark": ["b"],
        "score": [62.0],
        "se": [1.0],
        "floor": [25],
        "ceiling": [95],
        "n_items": [100],
    }
    assert Attempts(FRAME, divide_by=2).frame["minutes"].to_list() == ROWS["minutes"]
    table = Scores(pl.DataFrame(rows), divide_by=100)
    assert table.frame.select("score", "se", "floor", "ceiling", "n_items").row(0) == (0.62, 0.01, 0.25, 0.95, 100)


def test_a_model_may_have_several_scores_on_a_benchmark():
    assert len(Scores(pl.DataFrame({"model": ["m", "m"], "benchmark": ["b", "b"], "score": [0.5, 0.6]}))) == 2


# writing


@pytest.mark.parametrize("ending", FORMATS)
def test_what_is_written_is_read_back(tmp_path, ending):
    path = Attempts(FRAME).write(tmp_path / "deep" / f"rows.{ending}")
    assert_frame_equal(Attempts(path).frame, FRAME)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_packed_file_does_not_tell_when_it_was_written(tmp_path):
    data = Attempts(FRAME).write(tmp_path / "rows.csv.gz").read_bytes()
    assert data[4:8] == b"\0\0\0\0"
    assert gzip.decompress(data).startswith(b"subject,kind,task,attempt,score,minutes,date\n")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rows.xlsx", "unknown ending"),
        ("rows", "unknown ending"),
        ("rows.parquet.gz", r"compressed already; remove \.gz"),
    ],
)
def test_a_name_that_cannot_be_written_is_refused(tmp_path, name, message):
    with pytest.raises(InputError, match=message):
        Attempts(FRAME).write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = Attempts(FRAME).write(tmp_path / "rows.csv")
    table = Attempts(FRAME)
    table.lazy = table.lazy.with_columns(pl.col("subject").cast(pl.Int64))
    with pytest.raises(pl.exceptions.PolarsError):
        table.write(path)
    assert_frame_equal(Attempts(path).frame, FRAME)
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.csv"]


# parts and lines


def test_a_part_names_the_rows_that_were_kept(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 2}\n{"a": 3}\n')
    part = Part(pl.LazyFrame({"a": [1, 3]}), path, "jsonl", pl.Series([0, 2]))
    assert [part.where(row).removeprefix(f"{tmp_path}{os.sep}") for row in (0, 1)] == [
        "rows.jsonl line 1",
        "rows.jsonl line 4",
    ]
    assert Part(pl.LazyFrame({"a": [1]}), path, "json").where(0) == f"{path} row 1"


def test_json_lines_come_with_their_numbers(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n{"a": "\xe2\x80\xa8"}')
    assert list(json_lines(path)) == [(1, {"a": 1}), (3, {"a": "\u2028"})]


# hypothesis


QUICK = settings(max_examples=40, deadline=None, derandomize=True, database=None)
LONG = settings(QUICK, max_examples=200)
EFFORTS = [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.evidence)]
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(lambda text: text == text.strip())
NAMES = st.text("abcXYZ019-_. ", min_size=1, max_size=8).filter(lambda text: text == text.strip())
SHARES = st.floats(0, 1, allow_subnormal=False)


def maybe(values):
    return st.none() | values


@st.composite
def attempt_tables(draw, names=TEXTS):
    """Valid attempts in any order: 1…n for some pairs of subject and task."""
    subjects = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    tasks = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    tries = {(s, t): draw(st.integers(0, 3)) for s in subjects for t in tasks} | {(subjects[0], tasks[0]): 2}
    keys = draw(st.permutations([(s, t, n + 1) for (s, t), count in tries.items() for n in range(count)]))
    rows = {
        "subject": [key[0] for key in keys],
        "kind": [draw(st.sampled_from(["human", "model", "baseline"])) for _ in keys],
        "task": [key[1] for key in keys],
        "attempt": [key[2] for key in keys],
        "score": [draw(SHARES) for _ in keys],
        "family": [draw(maybe(names)) for _ in keys],
        "minutes": [draw(maybe(st.floats(1e-9, 1e9))) for _ in keys],
        "seconds": [draw(maybe(st.floats(0, 1e9, allow_subnormal=False))) for _ in keys],
        "date": [draw(maybe(st.dates(date(1000, 1, 1), date(9999, 12, 31)))) for _ in keys],
    }
    schema = {"attempt": pl.Int64, "score": pl.Float64, "minutes": pl.Float64, "seconds": pl.Float64, "date": pl.Date}
    return _told(pl.DataFrame(rows, schema_overrides=schema))


@st.composite
def score_tables(draw):
    n = draw(st.integers(1, 5))
    rows = {
        "model": [draw(TEXTS) for _ in range(n)],
        "benchmark": [draw(TEXTS) for _ in range(n)],
        "score": [draw(SHARES) for _ in range(n)],
        "se": [draw(maybe(SHARES)) for _ in range(n)],
        "n_items": [draw(maybe(st.integers(1, 2**40))) for _ in range(n)],
        "compute": [draw(maybe(st.floats(1, 1e30))) for _ in range(n)],
    }
    schema = {"score": pl.Float64, "se": pl.Float64, "n_items": pl.Int64, "compute": pl.Float64}
    return _told(pl.DataFrame(rows, schema_overrides=schema))


@st.composite
def rating_tables(draw):
    keys = draw(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=5, unique=True))
    columns = dict(zip(("rater", "item", "dimension"), zip(*keys, strict=True), strict=True))
    value = [draw(st.floats(-1e9, 1e9, allow_subnormal=False)) for _ in keys]
    return pl.DataFrame({**{name: list(texts) for name, texts in columns.items()}, "value": value})


def _told(frame: pl.DataFrame) -> pl.DataFrame:
    """Without the columns that say nothing: jsonl does not write them back."""
    return frame.select(column for column in frame if column.null_count() < len(frame))


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize(
    ("table", "frames"), [(Attempts, attempt_tables()), (Scores, score_tables()), (Ratings, rating_tables())]
)
def test_valid_tables_come_back_unchanged_from_every_format(tmp_path, table, frames, effort):
    @effort
    @given(frames, st.sampled_from(FORMATS))
    def comes_back(frame, ending):
        made = table(frame)
        assert_frame_equal(made.frame, frame.select(made.frame.columns))
        assert_frame_equal(table(made.write(tmp_path / f"rows.{ending}")).frame, made.frame)

    comes_back()


WRONG = {
    "subject": ["", " o9", "o9\t"],
    "kind": ["", "robot", "Model"],
    "task": ["", "maze "],
    "attempt": ["", "0", "-1", "1.5", "one", "nan", "inf"],
    "score": ["62", "-0.5", "1.0001", "high", "NaN", "-inf", "0,5", "1e999"],
    "minutes": ["0", "-3", "long", "inf", "NaN"],
    "seconds": ["-0.001", "soon", "nan"],
    "date": ["31.01.2025", "2025-13-01", "2025-1-31", "yesterday", "20250131"],
}


@pytest.mark.parametrize(("column", "value"), [(column, value) for column, wrong in WRONG.items() for value in wrong])
def test_every_wrong_value_is_refused(column, value):
    wrong = FRAME.with_columns(pl.lit(1.0).alias("seconds")).cast(pl.String)
    wrong[1, column] = value
    with pytest.raises(InputError, match=f"^row 2: .*{column}"):
        Attempts(wrong)


@pytest.mark.parametrize("effort", EFFORTS)
def test_one_wrong_cell_is_refused_and_its_row_is_named(tmp_path, effort):
    @effort
    @given(attempt_tables(NAMES), st.sampled_from(["csv", "tsv", "jsonl", "parquet", "frame"]), st.data())
    def is_refused(frame, ending, data):
        row = data.draw(st.integers(0, len(frame) - 1))
        column = data.draw(st.sampled_from([name for name in frame.columns if name in WRONG]))
        value = data.draw(st.sampled_from(WRONG[column]))
        wrong = frame.cast(pl.String)
        wrong[row, column] = value
        with pytest.raises(InputError) as caught:
            Attempts(wrong if ending == "frame" else _written(wrong, tmp_path / f"rows.{ending}"))
        text = str(caught.value)
        assert _place(row, ending) in text
        assert column in text
        assert value.strip() in text

    is_refused()


def _written(frame: pl.DataFrame, path: Path) -> Path:
    writers = {
        ".csv": pl.DataFrame.write_csv,
        ".tsv": lambda rows, buffer: rows.write_csv(buffer, separator="\t"),
        ".jsonl": pl.DataFrame.write_ndjson,
        ".parquet": pl.DataFrame.write_parquet,
    }
    buffer = io.BytesIO()
    writers[path.suffix](frame, buffer)
    path.write_bytes(buffer.getvalue())
    return path


def _place(row: int, ending: str) -> str:
    places = {"frame": f"row {row + 1}:", "parquet": f"row {row + 1}:", "jsonl": f"line {row + 1}:"}
    return places.get(ending, f"line {row + 2}:")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("short.csv", "{csv}a,model,t0,1,1,d\nb,model,t1,1,1\n", "line 3: 5 fields where the header has 6"),
        ("quoted.csv", '{csv}a,model,"t\n0",1,1,d\nb,model,t1,1,1\n', "line 4: 5 fields where the header has 6"),
        (
            "twice.jsonl",
            '{jsonl}{{"subject":"a","kind":"model","task":"u","attempt":1,"score":1,"score":0}}\n',
            "twice",
        ),
        (
            "half.jsonl",
            '{jsonl}{{"subject":"\\ud800","kind":"model","task":"u","attempt":1,"score":1}}\n',
            "half a letter",
        ),
        (
            "half2.jsonl",
            '{jsonl}{{"subject":"\\udfffa","kind":"model","task":"u","attempt":1,"score":1}}\n',
            "half a letter",
        ),
        ("long.jsonl", '{jsonl}{{"subject":"a","kind":"model","task":"u","attempt":1,"score":{big}}}\n', "too long"),
    ],
)
def test_a_row_that_can_be_read_in_two_ways_is_refused_with_its_line(tmp_path, name, text, told):
    jsonl = '{"subject":"a","kind":"model","task":"t","attempt":1,"score":1}\n'
    path = tmp_path / name
    path.write_text(text.format(csv="subject,kind,task,attempt,score,domain\n", jsonl=jsonl, big="9" * 5000))
    with pytest.raises(InputError, match=told) as caught:
        Attempts(path)
    assert f"{name} line {told[5] if told.startswith('line') else 2}: " in str(caught.value)
    assert "sys." not in str(caught.value)


def test_empty_last_fields_and_blank_lines_are_no_short_rows(tmp_path):
    path = tmp_path / "whole.csv"
    path.write_text('subject,kind,task,attempt,score,domain\na,model,"t",1,1,\n\na,model,u,1,1,d\n,,\n')
    assert len(Attempts(path)) == 2


@pytest.mark.parametrize("score", ["NA", "75%", '"0,75"', "yes"])
def test_advice_for_a_score_that_is_no_number_can_be_followed(tmp_path, score):
    path = tmp_path / "x.csv"
    path.write_text(f"subject,kind,task,attempt,score\na,model,t,1,{score}\n")
    with pytest.raises(InputError, match="0.75, not 0,75 or 75%; 1 and 0, not yes and no") as caught:
        Attempts(path)
    assert "leave the row out" in str(caught.value)
    assert "empty" not in str(caught.value)


def test_a_notebook_shows_the_first_rows():
    rows = {"subject": "m", "kind": "model", "task": [f"<b>{i}" for i in range(12)], "attempt": 1, "score": 0.5}
    shown = Attempts(pl.DataFrame(rows))._repr_html_()
    assert shown.count("<tr>") == 11
    assert "Attempts: 12 rows" in shown
    assert "and 2 more rows" in shown
    assert "&lt;b&gt;3" in shown
    assert "<b>" not in shown


def test_rows_that_stand_there_twice_are_told():
    rows = [{"subject": s, "task": f"t{i}", "score": 1.0} for s in "ab" for i in range(5)]
    again = Attempts(pl.DataFrame([*rows, rows[0], rows[7]]))
    assert len(again) == 12
    assert again.notes == (
        "2 rows are exact copies of others and count as repeats of their items: most items have 1 row for each subject. Remove copies that are there by mistake.",
    )
    assert Attempts(pl.DataFrame(rows * 2)).notes == ()  # repeats of every item are meant
    assert Attempts(pl.DataFrame([*rows, rows[0] | {"score": 0.0}])).notes == ()  # another score is another attempt


def _answers(path, n=300):
    rows = [
        {"model": f"m{i % 3}", "sample_id": i // 6, "epoch": i // 3 % 2 + 1, "score": i % 2, "response": f"é {i}" * 20}
        for i in range(n)
    ]
    rows[0]["sample_id"], rows[-1]["seconds"] = "0", 2.5  # a text among numbers, and a key that the last line alone has
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


def test_a_large_jsonl_file_is_read_in_blocks_and_gives_the_same_table(tmp_path, monkeypatch):
    path = _answers(tmp_path / "answers.jsonl")
    held = howsure.read(path)
    monkeypatch.setattr(frames, "_LARGE_LINES", 0)
    monkeypatch.setattr(text_tables, "BLOCK", 1000)
    collected = []
    frame_of = pl.LazyFrame.collect
    monkeypatch.setattr(
        pl.LazyFrame, "collect", lambda self, **how: collected.append(frame_of(self, **how)) or collected[-1]
    )
    stored = howsure.read(path)
    assert stored.digest == held.digest
    assert stored.notes == held.notes
    assert max(len(one) for one in collected if "response" in one.columns) < 10  # of 300 rows
    assert stored.frame.equals(held.frame)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('{"model": "m", "sample_id": 999, "score": 1', "line 301: not JSON"),
        ('{"model": "m", "model": "n", "sample_id": 999, "score": 1}', "line 301: key 'model' is there twice"),
        ('{"model": "m", "sample_id": 999, "seconds": -1, "score": 1}', "line 301: seconds -1"),
    ],
)
def test_a_fault_in_a_large_jsonl_file_is_named_with_its_line(tmp_path, monkeypatch, wrong, said):
    path = _answers(tmp_path / "answers.jsonl")
    path.write_text(path.read_text() + wrong + "\n")
    monkeypatch.setattr(frames, "_LARGE_LINES", 0)
    monkeypatch.setattr(text_tables, "BLOCK", 1000)
    with pytest.raises(InputError, match=said):
        howsure.read(path)
