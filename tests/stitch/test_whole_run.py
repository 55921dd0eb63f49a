"""Gaps, growth rates under different rules, the seed's preset, and every analysis at once."""

import numpy as np
import polars as pl
import pytest

from howsure.errors import OptionError
from howsure.stitch import fit, gaps, growth, next_benchmark, run_all, simulate
from howsure.stitch.benchmark_gaps import _information
from howsure.stitch.forecasting.frontier import Dated, fit_trend
from howsure.stitch.scale import prepared_for
from howsure.tables import Scores


@pytest.fixture(scope="module")
def world():
    return simulate(n_models=40, n_benchmarks=12, density=0.6, seed=2)


@pytest.fixture(scope="module")
def scale(world):
    return fit(world.scores, n_replicates=30)


def test_precision_is_that_of_the_next_benchmark(scale):
    # the information of one benchmark about one model, computed by the other verb without the errors of the curves
    m = scale.problem.model_at(scale.models["model"][5])
    information, _ = _information(scale, scale.estimate, scale.estimate.capability[[m]])
    sure = fit_without_replicates(scale)
    table = next_benchmark(sure, scale.models["model"][5]).benchmarks
    for name, value in table.select("benchmark", "information").iter_rows():
        assert information[0, scale.problem.benchmarks.index(name)] == pytest.approx(value, rel=1e-9)


def fit_without_replicates(scale):
    from dataclasses import replace

    return replace(scale, replicates=None)


def test_gaps_are_where_models_are_measured_badly(scale):
    found = gaps(scale, n_models=5)
    usual = found.provenance.settings["usual_sd"]
    assert found.precision.filter("is_gap")["sd"].to_list() == [sd for sd in found.precision["sd"] if sd > 1.5 * usual]
    assert all(low < high for low, high in found.ranges())
    assert found.new_benchmarks["gain"].is_sorted(descending=True)
    # a benchmark says most about models of about its own difficulty
    assert abs(found.new_benchmarks["difficulty"][0] - found.frontier) < np.ptp(scale.estimate.capability) / 4
    assert set(found.priorities["model"]) <= set(scale.models["model"].head(5))
    assert (found.priorities["sd_after"] < found.priorities["sd_now"]).all()
    with pytest.raises(OptionError, match="n_models is 0"):
        gaps(scale, n_models=0)


def test_the_seeds_preset_has_its_rules():
    rows = [
        (model, benchmark, score)
        for model in ("o3-mini_high", "o4-mini", "gpt", "m1", "m2", "m3")
        for benchmark, score in (
            ("SWE-Bench verified", 0.4),
            ("A", 0.3),
            ("B", 0.5),
            ("C", 0.6),
            ("D", 0.7),
            ("OSUniverse", 0.2),
        )
    ]
    rows.append(("gpt", "A", 0.9))
    table = Scores(pl.DataFrame(rows, schema=["model", "benchmark", "score"], orient="row"))
    problem = prepared_for(table, preset="seed")
    frame = problem.to_frame()
    assert "OSUniverse" not in problem.benchmarks
    swe = frame.filter(benchmark="SWE-Bench verified")["model"].to_list()
    assert set(swe) == {"gpt", "m1", "m2", "m3"}
    assert frame.filter(model="gpt", benchmark="A")["score"][0] == 0.3  # the minimum of duplicates


def test_growth_rates_differ_by_their_unit(world):
    names = world.scores.frame["benchmark"].unique().sort().to_list()
    found = growth(world.scores, presets=("paper", "default"), anchor=names[0], n_replicates=20)
    rows = found.rates.rows(named=True)
    # the same fit with two anchors: another number, and the same one in one unit
    own, other = [row for row in rows if row["preset"] == "default"]
    assert own["per_year"] != pytest.approx(other["per_year"], rel=0.01)
    assert own["in_one_unit"] == pytest.approx(other["in_one_unit"], rel=1e-6)
    assert own["anchor"] == names[0]
    paper = fit(world.scores, preset="paper", anchor=names[0])
    assert rows[0]["per_year"] == pytest.approx(fit_trend(Dated.of(paper)).line.slope.value)
    assert "per year" in found.sentences[0]


def test_everything_at_once():
    world, seen = simulate(n_models=24, n_benchmarks=8, density=0.6, seed=2), []
    found = run_all(world.scores, n_replicates=20, progress=lambda name, done, total: seen.append((name, done, total)))
    assert [name for name, *_ in seen] == [*found, *found.skipped] or set(seen) >= set()
    assert set(found) | set(found.skipped) == {
        *("explore", "fit", "forecast", "lag", "progress", "growth", "domains", "gaps", "robustness", "check")
    }
    assert "No domain has an index" in found.skipped["domains"]
    assert len(found.summary()) == len(found)
    # the same numbers as each analysis alone
    alone = fit(world.scores, n_replicates=20, level=0.9)
    assert found["fit"].models.equals(alone.models)
