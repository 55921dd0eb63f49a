"""The tour as a whole: every estimate beside its truth, counted as it says, in one light page."""

import datetime as dt
import json
import math
from pathlib import Path

import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.tour import run_demo
from howsure.tour.coverage import Coverage, cover
from howsure.tour.making import ORDER
from howsure.tour.page import _first
from howsure.tour.stops import KnownEstimate, TourStatistic, tally

EPOCH = Path(__file__).parents[2] / "../shared/data/epoch-2025-11"
FIGURE = TourStatistic("Length", "metres")
INSTRUMENTS = ["Track the Stat", "Horizon", "Study", "Stitch", "Evals"]


@pytest.mark.parametrize(
    ("found", "truth", "is_held", "counts"),
    [
        (Estimate(2, 1, 3), 2.5, True, True),
        (Estimate(2, 1, 3), 3.5, False, True),
        (Estimate(9, 7, 10, high_state="above_range"), 30, True, True),
        (Estimate(9, 7, 10, high_state="above_range"), 6, False, True),
        (Estimate(1, 1, 2, low_state="below_range"), 0.5, True, True),
        (Estimate(2, level=0.9), 5, True, False),
    ],
)
def test_an_end_beyond_what_was_observed_holds_everything_there(found, truth, is_held, counts):
    one = KnownEstimate(FIGURE, "x", found, truth)
    assert (one.is_held, one.counts) == (is_held, counts)


def test_what_is_not_fit_to_count_is_not_counted():
    assert not KnownEstimate(FIGURE, "x", Estimate(2, 1, 3), 2, fit_to_count=False).counts


def test_a_headline_chart_shows_the_two_models_that_its_sentence_names():
    values = {"Fern": 86.0, "ember-1.3": 37.0, "dune-2.1": 30.0, "Elm": 17.0, "Aster": 4.0}
    known = [
        KnownEstimate(FIGURE, name, Estimate(value, value - 1, value + 1), value) for name, value in values.items()
    ]
    assert [one.subject for one in _first(known)] == ["Fern", "ember-1.3", "Elm", "Aster"]
    assert [one.subject for one in _first(known[1:3])] == ["ember-1.3", "dune-2.1"]


def test_every_instrument_is_held_against_the_truth(tour):
    assert [part.key for part in tour.parts] == list(ORDER)
    assert tour.hits["instrument"].to_list() == INSTRUMENTS
    assert tour.n_intervals == tour.hits["intervals"].sum() > 120
    assert tour.n_covered == tour.hits["held"].sum() > 0.7 * tour.n_intervals
    assert set(tour.known.filter("counts")["truth"].is_null()) == {False}


def test_the_strongest_model_is_beyond_what_novices_showed(tour):
    row = tour.known.filter(pl.col("statistic") == "Horizon in attempts").row(-1, named=True)
    assert row["truth"] is None
    assert not row["counts"]
    assert row["held"]


def test_the_page_says_it_in_front_and_weighs_little(tour, tour_folder):
    page = (tour_folder / "report.html").read_text("utf-8")
    assert len(page.encode()) < 3_000_000
    assert f"{tour.n_covered} of the {tour.n_intervals} intervals contain the true value; about 90% should." in page
    assert "<b>Not decided</b>" in page
    assert page.count('<section class="part"') == len(ORDER) + 2  # with the settings and the counts
    assert page.count('<article class="card">') == len(ORDER)
    assert page.count(": every estimate beside its true (simulated) value") == len(ORDER)


def test_each_part_leaves_its_tables_and_can_be_gathered_again(tour, tour_folder, command):
    told = json.loads((tour_folder / "demo.json").read_text())
    assert told["covered"] == tour.n_covered
    assert len(told["true_values"]) == len(pl.read_csv(tour_folder / "true_values.csv")) == len(tour.known)
    for key in ORDER:
        assert list((tour_folder / key).glob("*.csv"))
    out = tour_folder / "two.html"
    found = command("report", tour_folder / "study", tour_folder / "place", "-o", out)
    assert found.returncode == 0, found.stderr
    assert "Raters rate" in out.read_text("utf-8")


def test_without_inspect_the_page_says_so(tour):
    text = tour.parts[0].about
    assert "played without Inspect" in text
    assert "pip install 'howsure[run]'" in text


def test_coverage_counts_by_instrument_and_tour():
    rows = [(s, i, "F", "m", 1.0, 0.0, 2.0, "ok", 1.0, held, True) for s in (0, 1) for i, held in (("A", True), ("A", s == 0), ("B", False))]  # fmt: skip
    names = ("seed", "instrument", "statistic", "subject", "found", "low", "high", "state", "truth", "held", "counts")
    found = Coverage(pl.DataFrame(rows, schema=names, orient="row"), 0.9, 2)
    assert found.by_instrument().select("instrument", "intervals", "held", "share").rows() == [
        ("A", 4, 3, 0.75),
        ("B", 2, 0, 0.0),
        ("All together", 6, 3, 0.5),
    ]
    assert found.by_instrument()["se"][0] == pytest.approx(math.sqrt(0.125) / math.sqrt(2))
    assert found.by_figure()["share"].to_list() == [0.75, 0.0]


def test_uncounted_rows_are_left_out_of_the_tally(tour):
    assert tally(tour.known)["intervals"].sum() < len(tour.known)


def test_no_tour_shows_nothing():
    with pytest.raises(OptionError, match="at least 1"):
        cover(0)


def test_tables_that_are_no_scores_are_refused_before_anything_is_measured(tmp_path, tour_folder):
    with pytest.raises(InputError, match="not Epoch's scores"):
        run_demo(date=dt.date(2026, 1, 1), epoch=tour_folder / "name-horizon" / "attempts.csv")


def test_the_command_line_refuses_what_does_not_go_together(tmp_path, command):
    found = command("demo", "--tours", "2", "--quick", cwd=tmp_path)
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert "--tours can be combined with" in found.stderr
    gone = command("demo", "--epoch", "nowhere", cwd=tmp_path)
    assert gone.returncode == 2
    assert "nowhere" in gone.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.evidence
def test_the_command_line_tours_through_inspect(tmp_path, command):
    found = command("demo", "-o", tmp_path / "tour", "--json")
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert 0.7 < told["covered"] / told["intervals"] <= 1
    assert [row["instrument"] for row in told["instruments"]] == INSTRUMENTS
    if list((tmp_path / "tour/track/logs").glob("*.eval")):
        assert "inspect view" in (tmp_path / "tour/report.html").read_text("utf-8")


@pytest.mark.evidence
def test_intervals_hold_the_truth_as_often_as_they_say():
    """Six tours: a share may stray by 0.05 or so by chance alone; a broken interval strays by far more."""
    found = cover(6, seed=100).by_instrument()
    share = dict(found.select("instrument", "share").iter_rows())
    assert 0.84 < share["All together"] < 0.96
    assert all(0.75 < one <= 1 for one in share.values()), share


@pytest.mark.evidence
def test_epochs_tables_come_without_truth(tour, monkeypatch):
    """The parts that have nothing to do with them are those of the tour that was made already."""
    if not EPOCH.exists():
        pytest.skip(f"no data at {EPOCH}")
    done = {part.key: part for part in tour.parts}
    makers = {"name": "name-horizon", "time": "time-horizon", "study": "study", "evals": "evals"}
    for name, key in (makers | {"track": "track", "game": "track-horizon"}).items():
        monkeypatch.setattr(f"howsure.tour.making.{name}_part", lambda *_, part=done[key]: part)
    made = run_demo(quick=True, date=dt.date(2026, 1, 1), epoch=EPOCH)
    assert "Stitch" not in set(made.hits["instrument"])
    assert "place" not in [part.key for part in made.parts]
    titles = [section.title for section in made.report.sections]
    assert "Epoch's benchmarks are linked on one scale" in titles
    from howsure.reporting import render

    assert len(render(made.report).encode()) < 3_200_000  # Epoch's many models are in its charts


def test_capabilities_and_horizons_of_the_tour_share_models(tour_folder, command):
    """`bridge map` found none, so the tour could not show it."""
    told = command("bridge", "map", tour_folder / "stitch", tour_folder / "time-horizon", "--json")
    assert told.returncode == 0, told.stderr
    link = json.loads(told.stdout)["scales"][0]
    assert link["n"] == 8
    assert link["slope_high"] > 0


def test_placed_models_are_a_scale_too_and_two_folders_of_one_scale_are_joined(tour_folder, command):
    parts = [tour_folder / name for name in ("stitch", "place", "time-horizon", "name-horizon")]
    told = command("bridge", "map", *parts, "--json")
    assert told.returncode == 0, told.stderr
    by_pair = {(link["x"], link["y"]): link["n"] for link in json.loads(told.stdout)["scales"]}
    assert by_pair["capability", "minutes"] == 14
