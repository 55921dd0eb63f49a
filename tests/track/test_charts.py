"""Charts and the report's sections: they draw what was measured, say n and level, and compute nothing."""

import datetime

import altair
import pytest

from howsure.charts.export import svg, to_spec
from howsure.reporting import Report, render
from howsure.track.game.simulated_players import simulate
from howsure.track.results import measure
from howsure.track.running.playing import run_players
from howsure.track.samples import GameSample, Samples
from howsure.track.sections import track_sections


@pytest.fixture(scope="module")
def results():
    people = [GameSample("human/ann", "median", seed, 9 + seed, 300, "other", kind="human") for seed in range(4)]
    tokens = {"input_tokens": 1000, "output_tokens": 60}
    costly = [GameSample("costly", "median", seed, 5, 300, "format", **tokens) for seed in range(4)]
    players = run_players(["random", "largest"], ["median"], n_samples=40)
    return measure(Samples.union([simulate(n_samples=40).samples, players, Samples.from_games([*people, *costly])]))


@pytest.fixture(scope="module")
def specs(results):
    return {name: to_spec(chart) for name, chart in results.charts().items()}


def rows(spec):
    return [row for data in spec["datasets"].values() for row in data]


def test_there_is_a_chart_of_each_kind(specs):
    assert set(specs) == {"averages-median", "survival-median", "errors-median"}


def test_every_chart_says_n_and_how_sure_it_is(specs):
    for spec in specs.values():
        told = " ".join(spec["title"]["subtitle"])
        assert "games" in told
        assert "95 % interval" in told or "No interval" in told
        assert svg(spec).startswith("<svg")


def test_the_charts_are_valid_vega_lite(results):
    for chart in results.charts().values():
        assert altair.Chart.from_dict(chart.to_dict(), validate=True)


def test_bars_are_models_and_lines_are_baselines(specs, results):
    told = rows(specs["averages-median"])
    bars = {(row["label"], row["group"]): row["value"] for row in told if row["label"]}
    measured = {(r.model, r.solver): r.average.value for r in results.rows if r.kind == "model"}
    assert bars.keys() == {(model, "implicit" if solver == "direct" else solver) for model, solver in measured}
    assert bars["amber-1", "explicit"] == pytest.approx(measured["amber-1", "explicit"])
    assert {row["baseline"] for row in told if not row["label"]} == {"random (exact)", "largest", "people"}


def test_models_and_baselines_have_a_legend_each(specs):
    picture = svg(specs["averages-median"])
    assert picture.count(">State<") == picture.count(">Baseline<") == 1


def test_without_models_the_players_are_the_bars():
    told = rows(to_spec(measure(run_players(["random", "largest"], ["mode"], n_samples=9)).charts()["averages-mode"]))
    assert {row["label"] for row in told} == {"random", "largest", ""}


def test_shares_of_errors_add_up_to_one(specs):
    by_player = {}
    for row in rows(specs["errors-median"]):
        by_player[row["label"]] = by_player.get(row["label"], 0) + row["value"]
    assert list(by_player.values()) == pytest.approx([1] * len(by_player))
    assert "amber-1, explicit" in by_player


def test_the_survival_chart_shows_models_first(specs):
    told = rows(specs["survival-median"])
    assert list(dict.fromkeys(row["group"] for row in told))[:2] == ["amber-1", "amber-1, explicit"]
    assert all(0 <= row["low"] <= row["value"] <= row["high"] <= 1 for row in told)


def test_the_report_has_a_section_for_each_question(results):
    sections = track_sections(results)
    assert [section.title for section in sections] == [
        "For how many turns: median",
        "Differences between players",
        "Gain from showing the state",
        "Tokens used",
    ]
    page = render(Report("Track the Stat", sections, results.provenance, datetime.date(2025, 1, 31)))
    for words in (
        "random (exact)",
        "Restricted mean",
        "Hazard (probability of an error per turn)",
        "p (log-rank)",
        "4,240",
    ):
        assert words in page


def test_sections_without_a_subject_are_left_out():
    results = measure(run_players(["random"], ["mode"], n_samples=5))
    assert [section.title for section in track_sections(results)] == ["For how many turns: mode"]
