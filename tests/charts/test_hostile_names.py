"""Names that mean something to JavaScript or to Vega are drawn like any other: at their rank, as text, without a word on the console."""

import datetime
import json
import re

import polars as pl
import pytest
import vl_convert

from howsure import charts
from howsure.charts import Caption, Field, estimate_rows, save_chart, to_spec
from howsure.estimates import Estimate
from howsure.evals.comparison import compare
from howsure.evals.summaries import summary
from howsure.horizon.attempt_horizon.horizons import attempt_horizons
from howsure.horizon.simulator import draw_suite
from howsure.horizon.simulator import simulate as simulate_attempts
from howsure.horizon.time_horizon.comparison import compare_horizons
from howsure.horizon.time_horizon.horizons import time_horizons
from howsure.horizon.time_horizon.simulator import simulate_time
from howsure.outside_text import one_line
from howsure.reporting import ChartBlock, Report, Section, save_report
from howsure.results import Provenance
from howsure.stitch.charts import draw_scale
from howsure.stitch.exploration import explore
from howsure.stitch.scale import fit
from howsure.stitch.simulator import simulate as simulate_scores
from howsure.tables import Attempts, Scores
from howsure.track.charts import draw_averages, draw_errors, draw_survival
from howsure.track.results import measure
from howsure.track.running.playing import run_players
from howsure.track.samples import Samples
from servers.report_page import bring_alive

HOSTILE = (
    *("constructor", "toString", "__proto__", "hasOwnProperty", "valueOf", "line\u2028end", "paragraph\u2029end"),
    *("it's", 'say "hi"', "a[0].b", "dotted.name", "datum.value", "back\\slash", "${x}", "null"),
)
SHOWN = [one_line(name) for name in HOSTILE]
CAPTION = Caption(12, "attempts", 0.95)
RATE = Field("value", "Rate of toString\u2028", "0–1")
EXPRESSIONS = ("expr", "signal", "update", "test", "init")


def renamed(column):
    """The column with each of its first names replaced by a hostile one."""
    names = column.unique(maintain_order=True).to_list()
    return column.replace(dict(zip(names, HOSTILE, strict=False)))


def an_interval_plot():
    estimates = {name: Estimate(0.9 - 0.05 * i, 0.85 - 0.05 * i, 0.95 - 0.05 * i) for i, name in enumerate(HOSTILE)}
    rows = estimate_rows(dict(reversed(estimates.items())))
    return charts.interval_plot(rows, title="T", caption=CAPTION, label=Field("label", "constructor"), value=RATE)


def a_grouped_plot():
    rows = estimate_rows([(name, Estimate(0.5, 0.4, 0.6)) for name in HOSTILE for _ in "ab"])
    rows = rows.with_columns(who=pl.Series(list(HOSTILE[:2]) * len(HOSTILE)))
    group = Field("who", "Who")
    return charts.interval_plot(
        rows, title="T", caption=CAPTION, label=Field("label", "M"), value=RATE, group=group, is_sorted=False
    )


def lines():
    rows = pl.DataFrame([(x, 0.5 + i / 50, 0.4, 0.9, name) for i, name in enumerate(HOSTILE) for x in (1, 2)],
                        schema=["x", "value", "low", "high", "who"], orient="row")  # fmt: skip
    x = Field("x", "Attempt", "number")
    return charts.line_with_band(rows, title="T", caption=CAPTION, x=x, y=RATE, group=Field("who", "Who"))


def points():
    rows = pl.DataFrame([(i, 0.5 + i / 50, 0.4, 0.9, name) for i, name in enumerate(HOSTILE)],
                        schema=["x", "value", "low", "high", "who"], orient="row")  # fmt: skip
    x, who = Field("x", "Attempt", "number"), Field("who", "Who")
    return charts.points_with_trend(rows, title="T", caption=CAPTION, x=x, y=RATE, label=who, group=who, named=HOSTILE)


def cells():
    rows = pl.DataFrame([(a, b, i / 20) for i, a in enumerate(HOSTILE) for b in HOSTILE[:3]],
                        schema=["down", "across", "value"], orient="row")  # fmt: skip
    across, down = Field("across", "B"), Field("down", "A")
    return charts.heat_map(rows, title="T", caption=CAPTION, x=across, y=down, value=RATE)


def of_evals():
    from howsure.evals.simulator import simulate

    frame = simulate(seed=1).attempts.frame
    attempts = Attempts(frame.with_columns(renamed(frame["subject"])))
    return [summary(attempts).chart(), compare(attempts).chart()]


def of_time():
    drawn = simulate_time({name: 2.0 ** (i / 2 + 2) for i, name in enumerate(HOSTILE[:7])}, seed=1)
    found = time_horizons(drawn.counts, n_replicates=30, seed=1)
    return [*found.charts().values(), *compare_horizons(found, *HOSTILE[:2]).charts().values()]


def of_attempts():
    planted = {name: float(i + 1) for i, name in enumerate(HOSTILE[:7])}
    drawn = simulate_attempts(
        draw_suite(8, seed=1), true_horizons=planted, n_learners=6, n_attempts=6, n_runs=4, seed=1
    )
    return list(attempt_horizons(drawn.attempts, n_replicates=30, seed=1).charts().values())


def of_stitch():
    frame = simulate_scores(n_models=30, n_benchmarks=16, seed=3).scores.frame
    scores = Scores(frame.with_columns(renamed(frame["model"]), renamed(frame["benchmark"])))
    return [*explore(scores).charts().values(), *draw_scale(fit(scores, n_replicates=20)).values()]


def of_track():
    samples = run_players(["random", "largest", "window-4"], ["median"], n_samples=5, seed=1)
    frame = samples.frame.with_columns(renamed(samples.frame["model"]), kind=pl.lit("model"))
    found = measure(Samples(frame))
    (board,) = found.boards
    return [draw(found, board) for draw in (draw_averages, draw_survival, draw_errors)]


DRAWN = (an_interval_plot, a_grouped_plot, lines, points, cells)
MADE = (of_evals, of_time, of_attempts, of_stitch, of_track)


def expressions(part, is_expression=False):
    """Every text of a compiled chart that Vega takes for an expression; data are none."""
    if isinstance(part, str) and is_expression:
        yield part
    elif isinstance(part, list):
        for one in part:
            yield from expressions(one, is_expression)
    elif isinstance(part, dict):
        for key, one in part.items():
            if not (key == "values" and isinstance(one, list)):
                yield from expressions(one, key in EXPRESSIONS)


@pytest.mark.parametrize("make", [*DRAWN, *MADE], ids=lambda make: make.__name__)
def test_no_name_from_the_data_reaches_an_expression(make):
    made = make()
    for chart in made if isinstance(made, list) else [made]:
        found = [text for text in expressions(vl_convert.vegalite_to_vega(to_spec(chart))) if _has_a_name(text)]
        assert found == []


def _has_a_name(text):
    written = [json.dumps(name, ensure_ascii=False)[1:-1] for name in HOSTILE if name not in ("null", "datum.value")]
    without_titles = text.replace("Rate of toString", "").replace("constructor\u00a0", "")
    return any(re.search(rf"(?<![\w.]){re.escape(name)}(?![\w(])", without_titles) for name in written)


def labels_down(page, axis="role-axis-label"):
    """The texts of the axis of names, from the top to the bottom."""
    texts = page.locator(f".stage.is-live svg .{axis} text")
    shown = texts.evaluate_all("all => all.map(one => [one.getBoundingClientRect().y, one.textContent])")
    return [text for _, text in sorted(shown) if text in SHOWN]


@pytest.mark.parametrize("make", [an_interval_plot, a_grouped_plot, cells], ids=lambda make: make.__name__)
def test_names_are_drawn_at_their_rank(make, browser_page, tmp_path):
    page = browser_page(save_chart(make(), tmp_path / "chart.html"))
    page.locator(".stage.is-live svg").wait_for()
    down = labels_down(page)
    assert down[: len(SHOWN)] == SHOWN
    if make is an_interval_plot:
        dots = page.locator(".stage.is-live svg .mark-symbol.role-mark path").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect()).map(box => [box.y, box.x])"
        )
        across = [x for _, x in sorted(dots)]
        assert len(across) == len(HOSTILE)
        assert across == sorted(across, reverse=True)


@pytest.mark.parametrize("make", [lines, points, *MADE], ids=lambda make: make.__name__)
def test_charts_with_such_names_come_alive_without_a_word(make, browser_page, tmp_path):
    made = make()
    charts = [ChartBlock(chart) for chart in (made if isinstance(made, list) else [made])]
    report = Report("Charts", [Section("All", charts)], Provenance({}), datetime.date(2026, 1, 1))
    page = browser_page(save_report(report, tmp_path / "charts.html"))
    assert len(bring_alive(page)) == len(charts)
