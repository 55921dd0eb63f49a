"""The page as text: the same each time, small, and with nothing from outside."""

import dataclasses
import datetime as dt
import html
import re
from collections import Counter
from html.parser import HTMLParser

import altair as alt
import polars as pl
import pytest

from howsure.errors import InputError
from howsure.reporting import ChartBlock, Report, Section, TableBlock, Text, render, save_report
from howsure.results import Provenance

MADE = Provenance({})


def small(*blocks, titles=("A section",)):
    return Report("A report", [Section(title, blocks) for title in titles], MADE, dt.date(2025, 1, 1))


def test_the_same_report_gives_the_same_bytes(report, report_path):
    assert render(report).encode() == report_path.read_bytes()


def test_another_date_changes_only_the_date(report):
    later = render(dataclasses.replace(report, date=dt.date(2031, 5, 6)))
    assert later.replace("2031-05-06", "2025-11-15") == render(report)


def test_it_weighs_little(report_path):
    assert report_path.stat().st_size < 1_100_000


def test_without_charts_there_is_no_chart_script():
    assert len(render(small(Text("Hello.")))) < 30_000


def test_the_script_is_there_once_however_many_charts(report_path):
    assert report_path.read_text("utf-8").count("window.vegaEmbed=") == 1


def test_the_policy_allows_no_network_no_eval_and_no_foreign_script(report_path):
    page = report_path.read_text("utf-8")
    policy = html.unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1])
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert re.fullmatch(r"('sha256-[\w+/=]+' ?){3}", rules["script-src"])
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["style-src"])


def test_the_footer_says_what_made_it(report_path):
    footer = report_path.read_text("utf-8").partition("<footer>")[2].partition("</footer>")[0]
    for told in ("Howsure", "2025-11-15", ">7<", "sha256:12ab", "replicates", "1000", "[0.5, 0.8]", "2 rows left out."):
        assert told in footer


def test_no_seed_and_no_input_are_said():
    page = render(small(Text("x")))
    assert "<dt>Seed</dt><dd>none</dd>" in page
    assert "<code>none</code>" in page


def test_ids_are_used_once(report_path):
    found = re.findall(r'\sid="([^"]+)"', report_path.read_text("utf-8"))
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("titles", "keys"),
    [
        (["Time horizon"], ["time-horizon"]),
        (["Same", "same"], ["same", "section-2-same"]),
        (["Summary", "80 %", "視野", "領域"], ["section-1-summary", "section-2-80", "section", "section-4-section"]),
    ],
)
def test_sections_have_anchors_that_can_be_shared(titles, keys):
    assert re.findall(r'<h2 id="([^"]+)" dir', render(small(Text("x"), titles=titles))) == keys


def test_a_chart_without_caption_is_refused():
    bare = alt.Chart(pl.DataFrame({"x": [1]})).mark_point().encode(x="x:Q")
    with pytest.raises(ValueError, match=r"howsure\.charts\.captioned"):
        render(small(ChartBlock(bare)))


def test_text_is_escaped_wherever_it_stands(report_path, hostile_path):
    hostile, harmless = tags(hostile_path), tags(report_path)
    assert set(hostile) == set(harmless)
    assert hostile["script"] == harmless["script"] == 5
    assert "49" not in re.sub(r"<script.*?</script>|<svg.*?</svg>", "", hostile_path.read_text("utf-8"), flags=re.S)


def tags(path):
    """How often the page has each element outside its pictures."""
    counts = Counter()

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            counts[tag] += 1

    Reader().feed(re.sub(r"<svg.*?</svg>", "", path.read_text("utf-8"), flags=re.S))
    return counts


def test_an_empty_table_and_an_empty_report_are_pages_too():
    assert "<tbody>" in render(small(TableBlock(["a"], [], "Nothing")))
    assert "<nav" not in render(Report("Empty", [], MADE, dt.date(2025, 1, 1)))


def test_saving_over_a_folder_says_so(tmp_path):
    with pytest.raises(InputError, match="is a directory"):
        save_report(small(Text("x")), tmp_path)
