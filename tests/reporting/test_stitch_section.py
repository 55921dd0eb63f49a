"""Sections on the capability scale: what they say, and that a page of all of them opens."""

import datetime as dt
import re
from pathlib import Path

import pytest

from howsure.reporting import Report, TableBlock, Text, save_report
from howsure.stitch.exploration import explore
from howsure.stitch.forecasting.frontier_forecast import forecast
from howsure.stitch.forecasting.horizon_map import map_horizons
from howsure.stitch.forecasting.scaling import progress
from howsure.stitch.scale import fit
from howsure.stitch.sections import (
    check_section,
    explore_section,
    forecast_section,
    horizon_section,
    progress_section,
    robustness_section,
    scale_section,
)
from howsure.stitch.sensitivity.analysis import robustness
from howsure.stitch.sensitivity.inspection import check
from howsure.tables import Scores
from servers.report_page import show

EXAMPLES = Path(__file__).parents[2] / "examples/stitch"


@pytest.fixture(scope="module")
def scores():
    return Scores(EXAMPLES / "scores.csv")


@pytest.fixture(scope="module")
def scale(scores):
    return fit(scores, n_replicates=60)


@pytest.fixture(scope="module")
def sections(scores, scale):
    return {
        "explore": explore_section(explore(scores)),
        "scale": scale_section(scale, {scale.models["model"][0]: 1e6}),
        "forecast": forecast_section(forecast(scale, cutoff="2025-05-01", n_simulations=99)),
        "progress": progress_section(progress(scale)),
        "horizon": horizon_section(map_horizons(scale, EXAMPLES / "horizons.csv", n_replicates=50)),
        "robustness": robustness_section(robustness(scores, n_replicates=6, folds=3)),
        "check": check_section(check(scale, n_models=5)),
    }


def words(section):
    return " ".join(block.text for block in section.blocks if isinstance(block, Text))


def tables(section):
    return [block for block in section.blocks if isinstance(block, TableBlock)]


def test_the_scale_is_told_with_its_leader_and_counts(sections, scale):
    text = words(sections["scale"])
    assert "210 scores of 36 models on 12 benchmarks" in text
    assert (
        f"{scale.models['model'][0]} has the highest capability, {scale.capability(scale.models['model'][0])}" in text
    )


def test_models_stand_beside_the_planted_truth(sections, scale):
    models = tables(sections["scale"])[0]
    assert models.columns[-2:] == ["True (simulated) value", "Covered"]
    assert models.rows[0][-2:] == [1e6, "no"]
    assert models.rows[1][-2:] == [None, None]
    assert [row[1] for row in models.rows] == scale.models["model"].to_list()


def test_without_truth_or_replicates_no_column_is_empty(scores):
    plain = tables(scale_section(fit(scores, n_replicates=0)))[0]
    assert "True (simulated) value" not in plain.columns
    assert "P(best)" not in plain.columns


def test_benchmarks_come_the_hardest_first(sections, scale):
    benchmarks = tables(sections["scale"])[1]
    assert [row[0] for row in benchmarks.rows] == scale.benchmarks["benchmark"].reverse().to_list()


def test_robustness_has_a_row_a_factor_and_all_its_words(sections):
    factors, validation = tables(sections["robustness"])
    assert len(factors.rows) == 8
    assert {row[1] for row in validation.rows if row[0] != "all three" and row[3] is None} == {"predict"}
    assert "The frontier rises by" in words(sections["robustness"])


@pytest.mark.parametrize("name", ["explore", "forecast", "progress", "horizon", "check"])
def test_every_section_says_something_in_numbers(sections, name):
    assert re.search(r"\d", words(sections[name]))
    assert tables(sections[name])


def test_a_page_of_all_sections_opens_without_trouble(sections, scale, browser_page, axe, tmp_path):
    report = Report("Scale", list(sections.values()), scale.provenance, dt.date(2025, 11, 15))
    page = browser_page(save_report(report, tmp_path / "report.html"))
    show(page.locator("figure.chart").last)
    page.locator("figure.chart .live svg, figure.chart svg").first.wait_for()
    assert page.locator("figure.chart").count() >= 20
    assert axe(page) == []
