"""What every chart promises: a caption with n and the interval's level, axes with units, tooltips, a valid drawing."""

import inspect
import re

import altair
import pytest

from howsure import charts
from howsure.charts.export import svg, to_spec


def encodings(spec):
    return [layer["encoding"] for layer in spec["layer"]]


def test_every_chart_function_has_an_example(examples):
    functions = {name: getattr(charts, name) for name in charts.__all__ if inspect.isfunction(getattr(charts, name))}
    drawing = {
        name for name, one in functions.items() if one.__annotations__.get("return") == "Chart" and name != "captioned"
    }
    assert drawing == set(examples)


def test_the_caption_names_n_and_the_level(spec):
    title = spec["title"]
    assert title["text"]
    told = " ".join(title["subtitle"])
    assert "n = 1,204 attempts" in told
    assert "95 % interval, bootstrap over task families" in told


def test_a_reader_who_sees_nothing_is_told_the_title_and_caption(spec):
    assert spec["description"] == f"{spec['title']['text'][0]}. {' '.join(spec['title']['subtitle'])}"


@pytest.mark.parametrize("channel", ["x", "y"])
def test_axes_have_titles_and_numbers_have_units(spec, channel):
    titled = [one[channel] for one in encodings(spec) if one.get(channel, {}).get("title")]
    assert titled
    for axis in titled:
        assert axis["type"] != "quantitative" or re.search(r"\(.+\)$", axis["title"])


def test_tooltips_tell_the_interval_in_words(spec):
    fields = {
        tip["field"]
        for one in encodings(spec)
        for tip in one.get("tooltip", [])
        if isinstance(tip, dict) and "field" in tip
    }
    assert "told" in fields
    told = [row["told"] for rows in spec["datasets"].values() for row in rows if row.get("told")]
    assert any(re.search(r"\[.+, .+\]", one) for one in told)


def test_the_specification_is_valid_vega_lite(example):
    assert altair.Chart.from_dict(example().to_dict(), validate=True)


def test_the_picture_shows_title_caption_and_axes(spec):
    picture = svg(spec)
    shown = [spec["title"]["text"][0], *spec["title"]["subtitle"]]
    shown += [one[channel]["title"] for one in encodings(spec) for channel in "xy" if one.get(channel, {}).get("title")]
    assert all(text in picture for text in shown)


def test_the_same_input_gives_the_same_specification_and_picture(example, spec):
    again = to_spec(example())
    assert again == spec
    assert svg(again) == svg(again)
