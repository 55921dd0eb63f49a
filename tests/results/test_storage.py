"""Values go to one file and come back equal; nothing but this package's classes is ever built."""

import datetime
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.evals.summaries import Summary
from howsure.results import Provenance
from howsure.results.storage import is_equal, read_value, write_value
from howsure.tables import Attempts

EVERYTHING = {
    "estimate": Estimate(0.1 + 0.2, 0.1, 0.5, high_state="above_range"),
    "provenance": Provenance({"level": 0.95, "of": (1, 2)}, "abc", 3, ("a note",)),
    "numbers": (float("nan"), float("inf"), -0.0, 1e-320, 2**70, True, None),
    "array": np.array([[0.1, np.nan], [np.inf, 3]]),
    "bits": np.array([True, False]),
    "objects": np.array(["a", None], dtype=object),
    "frame": pl.DataFrame({"x": [0.1, None], "when": [datetime.date(2026, 1, 2), None]}),
    "series": pl.Series("s", [1, 2]),
    "dates": [datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC)],
    "path": Path("a/b"),
    "$odd": {1: "x", (2, "b"): {"$tuple": "not a tag"}},
    "set": frozenset({"a", "b"}),
    "text": "ü\u2028\0",
}


def test_everything_comes_back_equal(tmp_path):
    path = write_value(EVERYTHING, tmp_path / "x.result.zip")
    again = read_value(path)
    assert is_equal(EVERYTHING, again)
    assert is_equal(again, EVERYTHING)
    assert type(again["numbers"]) is tuple
    assert again["estimate"] == EVERYTHING["estimate"]
    assert "NaN" not in zipfile.ZipFile(path).read("result.json").decode()


def test_the_same_value_gives_the_same_bytes(tmp_path):
    first, second = (write_value(EVERYTHING, tmp_path / name).read_bytes() for name in ("a", "b"))
    assert first == second


def test_tables_come_back_with_their_notes(tmp_path):
    table = Attempts(
        pl.DataFrame({"subject": ["a"], "kind": ["model"], "task": ["t"], "attempt": [1], "score": [0.5]}),
        notes=["one row was left out"],
    )
    assert is_equal(read_value(write_value(table, tmp_path / "t.result.zip")), table)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1.0, 1.0 + 2**-52),
        ((1,), [1]),
        (np.zeros(2), np.zeros(3)),
        (np.zeros(2), np.zeros(2, dtype=np.float32)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (Estimate(1), Estimate(1, 0, 2)),
        (pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [1.0]})),
        (None, 0),
    ],
)
def test_what_differs_is_not_equal(a, b):
    assert not is_equal(a, b)
    assert not is_equal(b, a)


def test_a_value_that_cannot_be_saved_is_named(tmp_path):
    with pytest.raises(TypeError, match=r"result\['a'\]\[1\] is a function"):
        write_value({"a": [1, print_nothing]}, tmp_path / "x.result.zip")
    with pytest.raises(TypeError, match="Foreign, which cannot be saved"):
        write_value(Foreign(1), tmp_path / "x.result.zip")
    assert list(tmp_path.iterdir()) == []


def print_nothing():
    """A function."""


@dataclass
class Foreign:
    x: int


def planted(tmp_path, value, form=1):
    path = tmp_path / "x.result.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("result.json", json.dumps({"form": form, "value": value}))
    return path


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"$class": "subprocess:Popen", "fields": {"args": "true"}}, "not part of this package"),
        ({"$class": "howsure.results.storage:zipfile.ZipFile", "fields": {"file": "x"}}, "no class of this package"),
        ({"$class": "howsure.errors:HowsureError", "fields": {}}, "is no dataclass"),
        ({"$class": "howsure.estimates:Nothing", "fields": {}}, "Nothing"),
        ({"$class": "howsure.estimates:Estimate", "fields": {"colour": 1}}, "colour"),
        ({"$array": "array-0.npy"}, "no member"),
        ({"$unheard": 1}, "unknown kind"),
        ({"$enum": "howsure.estimates:Estimate", "name": "x"}, "no enumeration"),
    ],
)
def test_a_forged_file_is_refused_in_one_line(tmp_path, value, told):
    with pytest.raises(InputError, match=told) as caught:
        read_value(planted(tmp_path, value))
    assert "\n" not in str(caught.value)


def test_a_file_of_another_version_says_so(tmp_path):
    with pytest.raises(InputError, match="another version"):
        read_value(planted(tmp_path, 1, form=99))


def test_a_table_is_told_from_a_saved_result(tmp_path):
    (tmp_path / "scores.csv").write_text("model,benchmark,score\n")
    with pytest.raises(InputError, match=r"scores\.csv: is no saved result\. Give the folder that a command wrote"):
        Summary.load(tmp_path / "scores.csv")
