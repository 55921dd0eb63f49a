"""Charts put together from frames and dictionaries."""

import datetime as dt
import math

import altair
import polars as pl

from howsure.charts.drawing import Chart, above_each_other, layered, nominal, quantitative
from howsure.charts.export import to_spec
from howsure.charts.pictures import svg


def dots(rows):
    return Chart(rows).mark("point").encode(x=quantitative("score"), y=nominal("model"))


def rows():
    return pl.DataFrame({"model": ["a", "b"], "score": [0.4, math.nan], "day": [dt.date(2025, 1, 2), None]})


def test_every_method_leaves_the_chart_as_it_was():
    chart = dots(rows())
    before = chart.to_dict()
    chart.where("datum.score > 0").encode(color={"value": "red"}).having(width=10)
    assert chart.to_dict() == before


def test_layers_of_one_frame_share_its_rows():
    frame = rows()
    spec = layered([dots(frame), dots(frame), dots(rows())]).to_dict()
    assert [layer["data"]["name"] for layer in spec["layer"]] == ["data-1", "data-1", "data-2"]
    assert len(spec["datasets"]) == 2


def test_rows_are_json_with_local_times_and_without_nan():
    first, second = dots(rows()).to_dict()["datasets"]["data-1"]
    assert (first["day"], first["score"]) == ("2025-01-02T00:00:00", 0.4)
    assert (second["day"], second["score"]) == (None, None)


def test_altair_takes_the_chart_and_draws_the_same():
    panel = layered([Chart().mark("point").encode(x=quantitative("score"))])
    for chart in (dots(rows()), above_each_other([dots(rows())]), panel.facet(rows(), nominal("model"), columns=2)):
        again = chart.to_altair()
        assert isinstance(again, altair.TopLevelMixin)
        assert svg(to_spec(again)) == svg(to_spec(chart))


def test_a_notebook_shows_a_picture():
    shown = dots(rows())._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg")
