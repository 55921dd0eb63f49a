"""Charts become files: whole, offline, the same each time."""

import html
import json
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import altair as alt
import polars as pl
import pytest

from howsure.charts import save_chart, to_spec
from howsure.errors import InputError, OptionError


def addresses(page):
    """What the page's elements point at."""
    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found.extend(value for name, value in attributes if name in ("src", "href", "action", "srcset"))

    Reader().feed(page)
    return found


@pytest.fixture(scope="module")
def chart(examples):
    return examples["interval_plot"]()


def test_png_has_one_and_a_half_dots_per_pixel_on_white(chart, tmp_path):
    png = save_chart(chart, tmp_path / "chart.png").read_bytes()
    picture = ET.fromstring(save_chart(chart, tmp_path / "chart.svg").read_text("utf-8"))
    assert png.startswith(b"\x89PNG")
    size = [float(picture.get(side)) for side in ("width", "height")]
    assert struct.unpack(">II", png[16:24]) == pytest.approx([1.5 * side for side in size], abs=1)
    assert picture[0].get("fill") == "white"


def test_json_is_the_specification(chart, tmp_path):
    assert json.loads(save_chart(chart, tmp_path / "chart.json").read_text("utf-8")) == to_spec(chart)


def test_html_holds_everything_it_needs(chart, tmp_path):
    page = save_chart(chart, tmp_path / "chart.html").read_text("utf-8")
    policy = html.unescape(re.search(r'content="(default-src[^"]*)"', page)[1])
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert addresses(page) == []


@pytest.mark.parametrize("ending", ["svg", "html", "json"])
def test_the_same_chart_gives_the_same_bytes(ending, examples, tmp_path):
    written = [save_chart(examples["heat_map"](), tmp_path / f"{i}.{ending}").read_bytes() for i in range(2)]
    assert written[0] == written[1]


@pytest.mark.parametrize("name", ["chart.pdf", "chart"])
def test_an_unknown_ending_says_which_there_are(chart, tmp_path, name):
    with pytest.raises(OptionError, match=r"is written as \.html, \.png, \.svg, \.json"):
        save_chart(chart, tmp_path / name)


def test_a_folder_is_not_a_file(chart, tmp_path):
    (tmp_path / "chart.json").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        save_chart(chart, tmp_path / "chart.json")
    assert [path.name for path in tmp_path.iterdir()] == ["chart.json"]


def test_too_many_rows_are_refused_whatever_the_session_has_set(tmp_path):
    big = alt.Chart(pl.DataFrame({"x": range(5001)})).mark_point().encode(x="x:Q")
    for allowed in (5000, None):
        with (
            alt.data_transformers.enable("default", max_rows=allowed),
            pytest.raises(OptionError, match="5,001 rows; a page draws up to 5,000"),
        ):
            save_chart(big, tmp_path / "big.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrap", [lambda chart: chart, lambda chart: alt.hconcat(chart, chart)])
def test_data_from_elsewhere_is_refused(wrap):
    distant = alt.Chart("https://example.org/data.csv").mark_point().encode(x="x:Q")
    with pytest.raises(OptionError, match=r"fetches its data from https://example\.org/data\.csv"):
        to_spec(wrap(distant))


def test_a_session_theme_changes_nothing(chart):
    plain = to_spec(chart)
    with alt.theme.enable("dark"):
        assert to_spec(chart) == plain


def test_importing_charts_and_reports_brings_no_altair():
    code = "import sys, howsure.charts, howsure.reporting; sys.exit(bool({'altair', 'vl_convert', 'jinja2'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
