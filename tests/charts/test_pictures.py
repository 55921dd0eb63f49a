"""One run of Vega per chart; the page, the SVG file and the PNG file come from it."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import altair as alt
import polars as pl
import pytest

from howsure.charts import Caption, Field, captioned, interval_plot, pictures, save_chart, to_spec
from howsure.charts.drawing import Chart, quantitative

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def runs(monkeypatch):
    """The specifications that went through Vega."""
    import vl_convert

    convert, seen = vl_convert.vegalite_to_svg, []
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda spec, **rest: seen.append(spec) or convert(spec, **rest))
    pictures._through_vega.cache_clear()
    return seen


def bars(title, rows=3):
    frame = pl.DataFrame({"name": [f"m{i}" for i in range(rows)], "value": 0.5, "low": 0.4, "high": 0.6})
    caption = Caption(12, "attempts", 0.95)
    return interval_plot(
        frame, title=title, caption=caption, label=Field("name", "Model"), value=Field("value", "Rate", "0–1")
    )


def test_all_files_of_a_chart_take_one_run_of_vega(runs, tmp_path):
    for ending in ("html", "svg", "png", "svg"):
        save_chart(bars("Rates"), tmp_path / f"chart.{ending}")
    assert len(runs) == 1
    save_chart(bars("Rates", rows=4), tmp_path / "other.png")
    assert len(runs) == 2


def test_the_file_shows_title_and_caption_above_the_picture(tmp_path):
    title = "A long title that takes two lines because it says so much about what the picture shows & <why>"
    root = ET.fromstring(save_chart(bars(title), tmp_path / "chart.svg").read_text("utf-8"))
    head = root.findall(f"{SVG}text")
    assert " ".join(line.text for line in head[:2]) == title
    assert head[2].text.startswith("n = 12 attempts.")
    heights = [float(line.get("y")) for line in head]
    assert heights == sorted(heights)
    shift = float(root.find(f"{SVG}g").get("transform").partition(",")[2].rstrip(")"))
    assert heights[-1] < shift + 8
    assert root.get("aria-label").startswith(title)


@pytest.mark.parametrize("beyond", [0.0, 1e-9])
def test_an_interval_of_one_number_has_no_bar_and_nothing_is_printed(beyond, tmp_path, capfd):
    frame = pl.DataFrame({"name": ["a", "b"], "value": [0.5, 0.7], "low": [0.5, 0.6], "high": [0.5 + beyond, 0.8]})
    caption, field = Caption(2, "attempts", 0.95), Field("value", "Rate", "0–1")
    chart = interval_plot(frame, title="Rates", caption=caption, label=Field("name", "Model"), value=field)
    save_chart(chart, tmp_path / "chart.png")
    assert capfd.readouterr().err == ""
    lines = [line for line in ET.fromstring(pictures.svg(to_spec(chart))).iter(f"{SVG}line") if line.get("stroke-width") == "2.5"]  # fmt: skip
    assert len(lines) == 1


@pytest.mark.parametrize("d", ["M5,5L5,5", "M5,5L5,5L5,5Z", "M5.5, 5L5.5, 5Z", "M1e-7,2L0,2"])
def test_a_path_of_one_point_is_left_out(d):
    root = ET.fromstring(
        f'<svg xmlns="{SVG[1:-1]}"><g><path d="{d}"/><path d="M5,5L5,6"/><path d="M0,0A2,2,0,1,1,0,0"/></g></svg>'
    )
    pictures._without_points(root)
    assert [path.get("d")[:4] for path in root.iter(f"{SVG}path")] == ["M5,5", "M0,0"]


def test_a_picture_narrower_than_its_title_is_made_wider(tmp_path):
    frame = pl.DataFrame({"x": [1]})
    caption = Caption(1, "rows", None, "as reported")
    narrow = Chart(frame, width=60).mark("point").encode(x=quantitative("x"))
    chart = captioned(narrow, title="視野" * 10 + " and fifty letters beside them", caption=caption)
    root = ET.fromstring(save_chart(chart, tmp_path / "chart.svg").read_text("utf-8"))
    assert 20 * 16 < int(root.get("width")) < 72 * 16


def test_a_height_with_a_fraction_is_drawn(tmp_path):
    chart = captioned(
        Chart(pl.DataFrame({"x": [1]}), width=60, height=40.5).mark("point").encode(x=quantitative("x")),
        title="Half a pixel",
        caption=Caption(1, "rows", None, "as reported"),
    )
    root = ET.fromstring(save_chart(chart, tmp_path / "chart.svg").read_text("utf-8"))
    assert int(root.get("height")) > 40


def test_a_title_of_another_style_is_set_by_vega(tmp_path):
    chart = alt.Chart(pl.DataFrame({"x": [1]}), title=alt.Title("Mine", anchor="end")).mark_point().encode(x="x:Q")
    root = ET.fromstring(save_chart(chart, tmp_path / "chart.svg").read_text("utf-8"))
    assert root.findall(f"{SVG}text") == []
    assert [text.text for text in root.iter(f"{SVG}text") if text.text == "Mine"]


def test_a_chart_without_title_has_none(tmp_path):
    chart = alt.Chart(pl.DataFrame({"x": [1]})).mark_point().encode(x="x:Q")
    root = ET.fromstring(save_chart(chart, tmp_path / "chart.svg").read_text("utf-8"))
    assert root.findall(f"{SVG}text") == []


def test_a_pale_shape_has_a_pale_filling_or_line_and_both_together_stay_one(tmp_path):
    frame = pl.DataFrame({"x": [1]})
    for look in ({"filled": True}, {"filled": False}, {"fill": "red", "stroke": "blue"}):
        chart = Chart(frame).mark("point", opacity=0.4, **look).encode(x=quantitative("x"))
        root = ET.fromstring(save_chart(chart, tmp_path / "chart.svg").read_text("utf-8"))
        point = root.find(f".//{SVG}g[@class='mark-symbol role-mark marks']/{SVG}path")
        pale = {name: value for name, value in point.items() if name.endswith("opacity") and value == "0.4"}
        assert list(pale) == ["opacity" if "stroke" in look else "fill-opacity" if look["filled"] else "stroke-opacity"]


def test_vega_gets_no_tooltips_and_all_columns(runs):
    chart = Chart(pl.DataFrame({"tooltip": [1]})).mark("point", tooltip=True)
    pictures.svg(to_spec(chart.encode(x=quantitative("tooltip"), tooltip=quantitative("tooltip"))))
    spec = json.loads(runs[0])
    assert (list(spec["encoding"]), spec["mark"]) == (["x"], {"type": "point"})
    assert list(spec["datasets"].values()) == [[{"tooltip": 1}]]


def test_a_chart_gets_its_specification_once():
    chart = bars("Rates")
    assert to_spec(chart) is to_spec(chart)
    assert to_spec(bars("Others"))["title"] != to_spec(chart)["title"]
    assert to_spec(chart.having(width=10)) != to_spec(chart)


def test_drawing_prints_nothing_and_fetches_nothing():
    code = (
        "from howsure.charts.page import _make; from howsure.charts.pictures import engine, svg; _make();"
        "svg({'data': {'values': []}, 'mark': 'bar', 'encoding': {'x': {'field': 'no', 'type': 'temporal', 'scale': {'type': 'log'}}}});"
        "assert not hasattr(engine(), 'get_config') or engine().get_config()['allowed_base_urls'] == []"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
