"""One example of every chart, small but with every feature in use."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from howsure import charts
from howsure.charts import Caption, Field, Reference, bins, estimate_rows, to_spec
from howsure.estimates import Estimate

CAPTION = Caption(1204, "attempts", 0.95, "bootstrap over task families")
RATE = Field("value", "Success rate", "0–1")


def interval_plot():
    estimates = {
        "strong": Estimate(0.8, 0.7, 0.9),
        "medium": Estimate(0.5, None, 0.6),
        "weak": Estimate(0.3, 0.2, None, state="above_range"),
        "new": Estimate.without("too_few", "one cluster; two are needed"),
    }
    rows = estimate_rows(estimates)
    reference = Reference(0.5, "chance")
    return charts.interval_plot(
        rows, title="Rates", caption=CAPTION, label=Field("label", "Model"), value=RATE, reference=reference
    )


def line_with_band():
    x, names = np.tile(np.arange(1, 11), 2), np.repeat(["novices", "experts"], 10)
    y = np.linspace(0.2, 0.8, 20)
    rows = pl.DataFrame({"attempt": x, "value": y, "low": y - 0.1, "high": y + 0.1, "who": names})
    return charts.line_with_band(
        rows,
        title="Practice",
        caption=CAPTION,
        x=Field("attempt", "Attempt", "number"),
        y=RATE,
        group=Field("who", "Learners"),
        reference=Reference(0.5, "target"),
    )


def points_with_trend():
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=30 * i) for i in range(12)]
    minutes = 2.0 ** np.arange(12)
    trend = pl.DataFrame({"day": days, "minutes": minutes, "low": minutes / 2, "high": minutes * 2})
    named = pl.Series("name", [f"m{i}" for i in range(12)])
    points = trend.with_columns(named, pl.Series("maker", ["A", "B", "C"] * 4))
    return charts.points_with_trend(
        points,
        trend,
        title="Horizons",
        caption=CAPTION,
        x=Field("day", "Released"),
        y=Field("minutes", "Horizon", "expert time", scale="log2", ticks={1: "1 min", 60: "1 h", 960: "16 h"}),
        label=Field("name", "Model"),
        group=Field("maker", "Maker"),
        named=["m11"],
    )


def heat_map():
    pairs = [(a, b) for a in "abc" for b in "abc" if a != b]
    rows = pl.DataFrame(pairs, schema=["row", "column"], orient="row").with_columns(
        value=pl.Series(np.linspace(0, 1, 6)),
        low=pl.Series(np.linspace(0, 0.9, 6)),
        high=pl.Series(np.linspace(0.1, 1, 6)),
    )
    return charts.heat_map(
        rows,
        title="Who beats whom",
        caption=CAPTION,
        x=Field("column", "Column model"),
        y=Field("row", "Row model"),
        value=Field("value", "P(better)", "0–1", format=".2f"),
        low="low",
        high="high",
        midpoint=0.5,
    )


def histogram():
    rows = bins(np.random.default_rng(1).normal(7, 1, 2000))
    return charts.histogram(
        rows,
        title="Replicates",
        caption=CAPTION,
        x=Field("start", "Doubling time", "months"),
        count=Field("count", "Replicates", "count"),
        estimate=Estimate(7, 5, 9),
        reference=Reference(8, "published"),
    )


EXAMPLES = {make.__name__: make for make in (heat_map, histogram, interval_plot, line_with_band, points_with_trend)}


@pytest.fixture(scope="session", params=EXAMPLES)
def example(request):
    """Each chart function's example in turn, as a function that draws it."""
    return EXAMPLES[request.param]


@pytest.fixture(scope="session")
def spec(example):
    return to_spec(example())


@pytest.fixture(scope="session")
def examples():
    return EXAMPLES
