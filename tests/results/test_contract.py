"""What every result promises. An example of each lies in ``examples_*.py``: a function per class, decorated with ``@example``.

``HOWSURE_WRITE_SCHEMAS=1 pytest tests/results/test_contract.py -k schema`` writes the published schemas anew.
"""

import copy
import importlib
import json
import os
import pkgutil
from pathlib import Path
from typing import get_args

import polars as pl
import pytest

import howsure
from howsure.charts import to_spec
from howsure.charts.pictures import png
from howsure.estimates import State
from howsure.results import Result
from howsure.results.base import readable
from howsure.results.schemas import schema_of

from .registry import EXAMPLES

HERE = Path(__file__).parent
SCHEMAS = HERE.parents[1] / "docs/schemas"
for file in sorted(HERE.glob("examples_*.py")):
    importlib.import_module(f".{file.stem}", __package__)


def subclasses(kind: type) -> set[type]:
    return {kind} | {inner for one in kind.__subclasses__() for inner in subclasses(one)}


@pytest.fixture(scope="module")
def kinds() -> set[type]:
    """Every result class of the package."""
    for module in pkgutil.walk_packages(howsure.__path__, "howsure."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return {kind for kind in subclasses(Result) - {Result} if kind.__module__.startswith("howsure.")}


@pytest.fixture(scope="module", params=sorted(EXAMPLES, key=lambda kind: kind.__name__), ids=lambda kind: kind.__name__)
def result(request) -> Result:
    """One example after the other, each with all its tests, so that one worker makes it once."""
    return EXAMPLES[request.param]()


def test_every_result_has_an_example(kinds):
    assert {kind.__name__ for kind in kinds} == {kind.__name__ for kind in EXAMPLES}


def test_names_are_unique(kinds):
    names = [kind.name for kind in kinds]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("as_path", [str, Path])
def test_what_is_saved_is_loaded_equal(result, tmp_path, as_path):
    files = result.save(as_path(tmp_path / "out"))
    assert all(isinstance(file, Path) and file.exists() for file in files)
    again = type(result).load(as_path(tmp_path / "out"))
    assert type(again) is type(result)
    assert again.equals(result)
    assert result.equals(again)
    assert again.as_dict() == result.as_dict()


def test_json_has_no_nan_and_says_what_made_it(result, tmp_path):
    def refuse(word):
        raise AssertionError(f"{word} in JSON")

    result.save(tmp_path)
    told = json.loads((tmp_path / f"{result.name}.json").read_text(), parse_constant=refuse)
    assert told == json.loads(json.dumps(result.as_dict()))
    assert {"settings", "version", "notes"} <= set(told["provenance"])


def test_tables_are_frames_and_the_first_is_the_main_one(result):
    tables = result.tables
    assert tables
    assert all(isinstance(frame, pl.DataFrame) for frame in tables.values())
    assert result.to_frame().equals(next(iter(tables.values())))
    for name, frame in tables.items():
        assert result.to_frame(name).equals(frame)
        pandas_frame = result.to_pandas(name)
        assert list(pandas_frame.columns) == frame.columns
        for column, dtype in frame.schema.items():
            kinds = "M" if dtype in (pl.Date, pl.Datetime) else "iuf" if dtype.is_numeric() else "biufMmO"
            assert pandas_frame[column].dtype.kind in kinds, (name, column)
    with pytest.raises(howsure.HowsureError, match="No table called 'nothing'"):
        result.to_frame("nothing")


def test_estimates_follow_the_rule(result):
    """Where there is an end, in any table, there is its value, the other end and the state, which is ok exactly where there is a value in the range."""
    for name, frame in result.tables.items():
        columns = set(frame.columns)
        ends = {column for column in columns if {"low", "high"} & set(column.split("_"))}
        stems = {column.removesuffix("_low").removesuffix("_high") for column in ends if not column.endswith("_state")}
        for stem in stems:
            whole = {stem, f"{stem}_low", f"{stem}_high", f"{stem}_state"}
            assert whole <= columns, f"{name}: {sorted(whole - columns)} are missing"
            rows = frame.select(value=stem, state=f"{stem}_state")
            assert set(rows["state"]) <= {*get_args(State), None}
            assert rows.filter(state="ok")["value"].null_count() == 0, f"{name}: {stem} is ok without a value"


def test_charts_are_drawn_and_nothing_is_printed(result, capfd):
    for chart in result.charts().values():
        assert png(to_spec(chart)).startswith(b"\x89PNG")
    assert capfd.readouterr() == ("", "")


def test_repr_is_short_and_html_shows_the_table(result):
    assert len(repr(result)) < 200
    assert "\n" not in repr(result)
    shown = result._repr_html_()
    assert shown.startswith('<div style="overflow-x:auto"><table>')
    assert shown.count("<tr>") <= 22
    assert "nan" not in shown.lower().split(">")[0]


def test_readable_tables_show_whole_numbers_and_open_ends_and_no_empty_columns():
    frame = pl.DataFrame(
        {
            "model": ["a", "b"],
            "rank": [1.0, 2.0],
            "rank_low": [1.0, 1.0],
            "rank_high": [2.0, 3.0],
            "minutes": [10.0, 20.0],
            "minutes_low": [5.0, 9.0],
            "minutes_high": [16.0, 480.0],
            "minutes_high_state": ["ok", "above_range"],
            "interval_state": ["ok", "ok"],
            "cost": [None, None],
            "reason": ["", ""],
        }
    )
    shown = readable(frame)
    assert shown.columns == ["model", "rank", "minutes"]
    assert shown["rank"].to_list() == ["1 [1, 2]", "2 [1, 3]"]
    assert shown["minutes"].to_list() == ["10 [5, 16]", "20 [9, >480]"]


@pytest.fixture(scope="module")
def jsonschema():
    return pytest.importorskip("jsonschema", reason="pip install jsonschema")


def test_json_fulfils_the_published_schema_which_changes_only_on_purpose(result, jsonschema):
    path, made = SCHEMAS / f"{result.name}.json", schema_of(result)
    if os.environ.get("HOWSURE_WRITE_SCHEMAS"):
        path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    published = json.loads(path.read_text("utf-8"))
    told = json.loads(json.dumps(result.as_dict()))
    jsonschema.Draft202012Validator.check_schema(published)
    jsonschema.validate(told, published)
    assert made == published, "the JSON of this result changed: if that is meant, write the schemas anew"
    wrong = copy.deepcopy(told)
    wrong["provenance"]["version"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, published)


def test_every_published_schema_belongs_to_a_result():
    assert {path.stem for path in SCHEMAS.glob("*.json")} == {kind.name for kind in EXAMPLES}


def test_a_schema_refuses_another_type_and_a_lonely_end(jsonschema):
    schema = json.loads((SCHEMAS / "summary.json").read_text("utf-8"))
    row = {"subject": "a", "mean": 0.5, "mean_low": 0.4, "mean_high": 0.6, "mean_state": "ok"}
    made = {"settings": {}, "digest": "", "seed": None, "notes": [], "version": "1"}
    jsonschema.validate({"summary": [row], "provenance": made}, schema)
    for wrong in (row | {"mean": "high"}, row | {"mean_state": "fine"}, {"mean": 0.5, "mean_low": 0.4}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"summary": [wrong], "provenance": made}, schema)
