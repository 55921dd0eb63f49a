"""A report with every kind of block, and what an attacker would put in each text of it."""

import datetime as dt

import polars as pl
import pytest

from howsure.charts import Caption, Field, estimate_rows, heat_map, interval_plot
from howsure.estimates import Estimate
from howsure.reporting import ChartBlock, Download, KeyNumbers, Method, Report, Section, TableBlock, Text, save_report
from howsure.results import Provenance

MODELS = {
    "strong": Estimate(0.8, 0.7, 0.9),
    "weak": Estimate(0.3, 0.2, 0.4),
    "new": Estimate.without("too_few", "one cluster"),
}
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}{% raw %}'\"&"


def intervals(text="Rates"):
    rows = estimate_rows({f"{text} {name}": estimate for name, estimate in MODELS.items()})
    label, value = Field("label", text), Field("value", text, "0–1")
    return interval_plot(rows, title=text, caption=Caption(12, "attempts", 0.95), label=label, value=value)


def cells(text="Cells"):
    rows = pl.DataFrame({"a": [text, "b"], "b": ["x", text], "v": [0.1, 0.9]})
    value = Field("v", text, "0–1")
    return heat_map(
        rows,
        title=text,
        caption=Caption(2, "cells", None, "as reported"),
        x=Field("a", "A"),
        y=Field("b", "B"),
        value=value,
    )


def a_report(text=""):
    """The report; with `text`, each of its texts is that."""
    rows = [
        [text or "beta", 1200, 0.5, MODELS["strong"], dt.date(2025, 2, 1)],
        [text or "alpha", 9, 12.25, MODELS["new"], None],
        [text or "Gamma 10", 45, None, MODELS["weak"], dt.date(2024, 12, 31)],
        [text or "gamma 9", 300, 0.125, Estimate(-2), dt.date(2025, 1, 1)],
    ]
    columns = [text or "Model", "Attempts", "Score", "Rate", "Released"]
    wide = TableBlock([f"column number {i}" for i in range(30)], [[i * 1000 for i in range(30)]] * 3, "A wide table")
    results = Section(
        text or "Results",
        [
            Text(text or "First.\n\nSecond."),
            ChartBlock(intervals(text or "Rates")),
            TableBlock(columns, rows, text or "One row per model"),
            Method(text or "How.\n\np = s / n", text or "Method"),
            Download("rates.csv", text or "model,rate\nα,0.5\n"),
        ],
    )
    more = Section(text or "More", [ChartBlock(cells(text or "Cells"), alt=text), wide])
    numbers = KeyNumbers({text or "Best rate": MODELS["strong"], "New": MODELS["new"], "Models": text or "4"})
    made = Provenance(
        {text or "replicates": 1000, "levels": [0.5, 0.8]},
        digest=text or "sha256:12ab",
        seed=7,
        notes=(text or "2 rows left out.",),
    )
    return Report(
        text or "Findings", [results, more], made, dt.date(2025, 11, 15), [Text(text or "In short."), numbers]
    )


@pytest.fixture(scope="session")
def report():
    return a_report()


@pytest.fixture(scope="session")
def report_path(report, tmp_path_factory):
    return save_report(report, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="session")
def hostile_text():
    return HOSTILE


@pytest.fixture(scope="session")
def hostile_path(tmp_path_factory):
    return save_report(a_report(HOSTILE), tmp_path_factory.mktemp("hostile") / "report.html")
