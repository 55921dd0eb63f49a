"""Every public function refuses an argument of a wrong type in one sentence that names it."""

import datetime
import importlib
import inspect
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import howsure
from howsure.arguments import as_date, checked
from howsure.errors import HowsureError, InputError, OptionError, naming_options

EXAMPLES = Path(__file__).parents[1] / "examples"
PACKAGES = ("howsure", *(f"howsure.{name}" for name in ("stitch", "horizon", "track", "bridges", "claims")))
ELSEWHERE = {"convert", "read", "formats", "find_parts"}  # of foreign files, and of arrays


def public_functions():
    for package in map(importlib.import_module, PACKAGES):
        for name in package.__all__:
            function = getattr(package, name)
            if inspect.isfunction(function) and function.__name__ not in ELSEWHERE:
                yield f"{package.__name__}.{name}", function


FUNCTIONS = {function: name for name, function in public_functions()}
WRONG = {
    "number": ["x", "0.95", float("nan"), [1, 2], pl.DataFrame()],
    "list": [5, object(), pl.DataFrame(), {"a": 1}, [5]],
    "numbers": ["0.5,0.8", object(), ["1month"], [None]],
    "table": [5, pd.Series([1.0]), pl.Series([1.0]), object(), [], [5]],
    "result": [5, pd.Series([1.0]), []],
}
TABLES = ("Attempts", "Scores", "Votes", "Ratings", "Samples")
RESULTS = ("Scale", "AttemptHorizons", "TimeHorizons")
KINDS = {
    **dict.fromkeys(("float", "int", "float | None", "int | None"), "number"),
    **dict.fromkeys(("Sequence[str]", "Collection[str]", "Sequence[str | os.PathLike[str]]"), "list"),
    **dict.fromkeys(("Sequence[float]", "Sequence[int]"), "numbers"),
    **dict.fromkeys((f"{table} | Source" for table in (*TABLES, "Attempts | ModelCounts")), "table"),
    **dict.fromkeys((f"Source | {table}" for table in TABLES), "table"),
    **dict.fromkeys((f"{name} | str | os.PathLike[str]" for name in RESULTS), "result"),
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=FUNCTIONS.get)
def test_a_wrong_argument_is_named_in_one_sentence(function):
    parameters = inspect.signature(function).parameters
    needed = {
        name: _fitting(function, str(given.annotation))
        for name, given in parameters.items()
        if given.default is given.empty and given.kind is not given.VAR_KEYWORD
    }
    for name, given in parameters.items():
        for wrong in WRONG.get(KINDS.get(str(given.annotation)), ()):
            with pytest.raises(HowsureError, match=rf"^{name} is .*; give [^.]*\.$"):
                function(**{**needed, name: wrong})


def _fitting(function, annotation):
    """An argument that is not refused for its type."""
    if isinstance(kind := inspect.unwrap(function).__globals__.get(annotation), type):
        return object.__new__(kind)
    return {} if annotation.startswith("Mapping") else 1 if annotation in ("int", "float") else "nothing"


def test_every_public_function_checks_its_arguments():
    kinds = [
        str(given.annotation) for function in FUNCTIONS for given in inspect.signature(function).parameters.values()
    ]
    assert sum(kind in KINDS for kind in kinds) > 250
    assert {*KINDS.values()} == {KINDS[kind] for kind in kinds if kind in KINDS}
    assert [name for function, name in FUNCTIONS.items() if not hasattr(function, "__wrapped__")] == []


@checked
def example(
    names: "Sequence[str]" = (),
    rates: "Sequence[float]" = (),
    n_items: "int" = 1,
    day: "str | datetime.date" = "2024-01-31",
):
    return names, rates, n_items, as_date(day, "day")


def test_one_value_is_a_list_of_one_and_a_text_is_not_taken_apart():
    assert example("matching", 0.5)[:2] == (["matching"], [0.5])
    assert example(("a", "b"), np.array([0.5, 0.8]))[:2] == (("a", "b"), [0.5, 0.8])
    assert example(pl.Series(["a"]))[0] == ["a"]


def test_counts_are_whole_and_not_negative():
    assert example(n_items=np.int64(3))[2] == 3
    assert example(n_items=3.0)[2] == 3
    for wrong in (-1, 2.5, "3", None):
        with pytest.raises(OptionError, match=f"n_items is {wrong!r}; give "):
            example(n_items=wrong)


def test_dates_may_be_texts():
    days = [example(day=day)[3] for day in ("2024-01-31", datetime.date(2024, 1, 31), pd.Timestamp("2024-01-31"))]
    assert set(days) == {datetime.date(2024, 1, 31)}
    with pytest.raises(OptionError, match="day 'May' is not a date"):
        example(day="May")


def test_a_saved_scale_is_as_good_as_the_scale(tmp_path):
    scores = EXAMPLES / "stitch" / "scores.csv"
    scale = howsure.stitch.fit(scores)
    scale.save(tmp_path)
    verbs = {
        "score": (scores,), "next": (), "predict": (scale.problem.models[0],), "domains": ({"all": list(scale.problem.benchmarks)},),
        "gaps": (), "check": (),
    }  # fmt: skip
    for name, more in verbs.items():
        verb = getattr(howsure.stitch, name)
        assert verb(str(tmp_path), *more).equals(verb(scale, *more))
    with pytest.raises(InputError, match="no such file or folder"):
        howsure.stitch.gaps(tmp_path / "nothing")


def test_release_dates_come_from_a_table_a_file_or_texts():
    horizons = pl.DataFrame({"model": list("abcdef"), "minutes": [1.0, 2.0, 5.0, 9.0, 20.0, 40.0]})
    dates = {name: f"202{year}-06-01" for year, name in enumerate("abcdef")}
    table = pl.DataFrame({"model": list(dates), "released": list(dates.values())})
    found = [howsure.horizon.trend(horizons, one, since="2021-01-01") for one in (dates, table, table.to_pandas())]
    days = {name: datetime.date.fromisoformat(day) for name, day in dates.items()}
    expected = howsure.horizon.trend(horizons, days, since=datetime.date(2021, 1, 1))
    assert all(one.equals(expected) for one in found)
    assert howsure.horizon.forecast(horizons, dates, targets=60).to_frame().height == 1


def test_tasks_come_from_their_file(tmp_path):
    path = howsure.horizon.write_tasks(howsure.horizon.tasks(10), tmp_path / "tasks.yaml")
    assert len(howsure.horizon.page(path, n_tasks=2, n_attempts=2).pages) == 1


def test_games_come_from_one_path():
    path = str(EXAMPLES / "track" / "samples.csv")
    assert howsure.track.read_samples(path).frame.equals(howsure.track.read_samples([path]).frame)


def test_errors_name_arguments_in_python_and_options_in_a_command():
    text = (
        "Pass --percent, --map score=acc, --set kind=model or --method joint; `howsure names --save` lists --min-first."
    )
    error = InputError(text)
    assert str(error) == (
        'Pass divide_by=100, rename={"score": "acc"}, fill={"kind": "model"} or method="joint"; '
        "`howsure names --save` lists min_first. (Arguments of howsure.read.)"
    )
    assert str(InputError(str(error))) == str(error)
    with naming_options():
        assert str(error) == text


def test_a_table_that_has_no_options_is_not_told_of_them(tmp_path):
    path = tmp_path / "samples.csv"
    path.write_text("player,variant\na,median\n")
    with pytest.raises(InputError, match=r"no column 'model'.*Add or rename the column\.$"):
        howsure.track.report(path)


def test_fractions_arrays_of_no_dimension_and_no_time_are_numbers_or_refused():
    rates = pl.DataFrame({"subject": ["a"] * 4, "task": list("abcd"), "score": [1, 0, 1, 1]})
    assert howsure.summary(rates, level=Fraction(9, 10)).equals(howsure.summary(rates, level=0.9))
    with pytest.raises(OptionError, match="n_items"):
        howsure.power(n_items=Fraction(201, 2))
    with pytest.raises(OptionError, match="since"):
        as_date(pd.NaT, "since")
    with pytest.raises(OptionError, match="a and b are a text"):
        howsure.compare(rates, a=["a"], b=["b"])
    taken = checked(_rates)(np.array(0.5)), checked(_rates)([Fraction(1, 2)])
    assert taken == ([0.5], [0.5])


def _rates(success_rates: "Sequence[float]"):
    return success_rates
