"""What every chart of the instrument promises: title, n, how sure it is, units, a valid drawing."""

import re
from dataclasses import replace

import altair
import numpy as np
import polars as pl
import pytest

from howsure.charts import to_spec
from howsure.charts.export import svg
from howsure.stitch import domains, gaps, lag, simulate_votes, update, votes
from howsure.stitch.charts import draw_capabilities, draw_difficulties, draw_ranking, draw_scale, readable
from howsure.stitch.exploration import explore
from howsure.stitch.forecasting.frontier_forecast import forecast
from howsure.stitch.forecasting.horizon_map import map_horizons
from howsure.stitch.forecasting.scaling import progress
from howsure.stitch.model.curves import curve_frame, residual_frame
from howsure.stitch.scale import fit
from howsure.stitch.simulator import simulate
from howsure.tables import Scores

NAMES = (
    "overlap", "coverage", "months", "ranking", "curves", "residuals", "capabilities", "difficulties",
    "forecast", "saturation", "validation", "scaling", "efficiency", "gains", "horizon_map",
    "group_frontiers", "lags", "domains", "gaps", "update", "votes", "joint",
)  # fmt: skip


@pytest.fixture(scope="module")
def world():
    return simulate(n_models=36, n_benchmarks=12, density=0.45, seed=4)


@pytest.fixture(scope="module")
def scale(world):
    return fit(world.scores, n_replicates=40)


@pytest.fixture(scope="module")
def drawn(world, scale):
    minutes = dict(zip(scale.models["model"], np.exp(scale.models["capability"]), strict=True))
    results = [
        explore(world.scores),
        forecast(scale, cutoff="2025-05-01", n_simulations=9),
        progress(scale),
        map_horizons(scale, minutes, n_replicates=50),
        lag(scale),
        domains(scale, {"one": ["bench-0*"], "two": ["bench-1*"]}),
        gaps(scale),
        update(scale, world.scores.frame.filter(pl.col("benchmark") != "bench-02"), n_replicates=0),
        votes(simulate_votes(dict(scale.models.head(8).select("model", "capability").iter_rows()), 300), scale),
    ]
    return draw_scale(scale) | {name: chart for result in results for name, chart in result.charts().items()}


@pytest.fixture(params=NAMES)
def spec(request, drawn):
    return to_spec(drawn[request.param])


def test_every_chart_is_listed_here(drawn):
    assert sorted(drawn) == sorted(NAMES)


def test_each_says_what_it_shows_and_how_sure_it_is(spec):
    told = " ".join(spec["title"]["subtitle"])
    assert spec["title"]["text"]
    assert re.match(r"n = [\d,]+ \w+", told)
    assert re.search(r"\d+ % interval, \w+|No interval: \w+", told)
    assert ". ." not in told


def test_axes_are_titled_and_numbers_have_units(spec):
    for channel in "xy":
        titled = [
            layer["encoding"][channel] for layer in spec["layer"] if layer["encoding"].get(channel, {}).get("title")
        ]
        assert titled
        assert all(axis["type"] != "quantitative" or re.search(r"\(.+\)$", axis["title"]) for axis in titled)


def test_a_pointer_is_told_something(spec):
    assert any(layer["encoding"].get("tooltip") for layer in spec["layer"])


def test_each_is_valid_and_can_be_drawn(drawn, spec):
    picture = svg(spec)
    assert spec["title"]["text"][0] in picture


@pytest.mark.parametrize("name", NAMES)
def test_the_specification_is_valid_vega_lite(drawn, name):
    assert altair.Chart.from_dict(drawn[name].to_dict(), validate=True)


def test_the_ranking_names_models_that_fix_the_scale(scale):
    best, worst = scale.models["model"][0], scale.models["model"][-1]
    told = {**scale.provenance.settings, "anchor_models": {worst: 130, best: 150}}
    held = replace(scale, provenance=replace(scale.provenance, settings=told))
    assert f"Without a bar: {best}, which fixes the scale" in " ".join(
        to_spec(draw_ranking(held, 5))["title"]["subtitle"]
    )


def test_the_ranking_shows_the_best_first_with_their_intervals(scale):
    rows = [row for rows in to_spec(draw_ranking(scale, 5))["datasets"].values() for row in rows if "told" in row]
    best = scale.models["model"][0]
    assert any(row["label"] == best and row["told"] == str(scale.capability(best)) for row in rows)
    assert {row["label"] for row in rows} == set(scale.models["model"].head(5))


def test_a_fit_without_replicates_is_drawn_and_says_so(world):
    bare = fit(world.scores, n_replicates=0)
    for chart in draw_scale(bare).values():
        assert "interval" in " ".join(to_spec(chart)["title"]["subtitle"])
    assert "the fit has no replicates" in " ".join(to_spec(draw_ranking(bare))["title"]["subtitle"])


def test_without_dates_there_is_nothing_over_time(world):
    undated = fit(Scores(world.scores.frame.drop("date", "benchmark_date")))
    assert set(draw_scale(undated)) == {"ranking", "curves", "residuals"}


def test_a_frontier_too_short_for_a_line_is_drawn_without(world):
    one_day = world.scores.frame.with_columns(date=pl.date(2024, 1, 1))
    scale = fit(Scores(one_day))
    for chart in (draw_capabilities(scale), draw_difficulties(scale)):
        assert "rises" not in " ".join(to_spec(chart)["title"]["subtitle"])


def test_curves_and_residuals_are_the_fit(scale):
    residuals = residual_frame(scale)
    assert np.sqrt((residuals["residual"].to_numpy() ** 2).mean()) == pytest.approx(scale.quality.rmse)
    row = residuals.row(0, named=True)
    of, b = scale.estimate, scale.problem.benchmark_at(row["benchmark"])
    floor, ceiling = scale.problem.floors[b], scale.problem.ceilings[b]
    share = of.shares(of, scale.problem.model_at(row["model"]))[b]
    assert row["expected"] == pytest.approx(floor + (ceiling - floor) * share)
    curves = curve_frame(scale, n=5)
    assert len(curves) == 5 * len(scale.benchmarks)
    one = curves.filter(benchmark=scale.benchmarks["benchmark"][0])
    assert (np.diff(one["score"].to_numpy()) > 0).all()


def test_labels_neither_meet_nor_leave_the_picture():
    points = pl.DataFrame(
        {"x": [0.0, 9.0, 9.1, 9.2], "y": [0.0, 5.0, 5.01, 9.0], "name": ["left", "first", "hidden", "top"]}
    )
    assert readable(points, "x", "y", "name") == ["first", "top"]
    assert readable(points.clear(), "x", "y", "name") == []
