"""Robustness: published numbers, refits against cold fits, what no constraint may change, states, words."""

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure.charts import to_spec
from howsure.errors import InputError, OptionError
from howsure.stitch.model.problem import AnchorBenchmark, choose_constraint
from howsure.stitch.model.replicates import PRESETS
from howsure.stitch.scale import fit
from howsure.stitch.sensitivity.analysis import (
    STRENGTHS,
    BaselineFit,
    change_anchor,
    change_duplicates,
    change_model,
    change_strength,
    drop_benchmarks,
    frontier_slopes,
    leave_benchmarks_out,
    leave_organisations_out,
    refit_without,
    robustness,
    variant_frame,
)
from howsure.stitch.sensitivity.charts import draw_path
from howsure.stitch.sensitivity.crossvalidation import DEFAULT, METHODS, PAPER, PREDICTED
from howsure.stitch.sensitivity.sentences import FACTORS
from howsure.stitch.simulator import simulate
from howsure.tables import Scores

SHARED = Path(__file__).parents[2] / "../shared"
ANCHOR = "bench-03"


def shared(name):
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"no real data at {path}")
    return path


@pytest.fixture(scope="module")
def world():
    return simulate(n_models=30, n_benchmarks=10, seed=2)


class Fitted:
    """A scale, and what its refits start from."""

    def __init__(self, scores, preset, anchor=ANCHOR):
        self.scores, self.preset = scores, preset
        self.scale = fit(scores, preset=preset, anchor=anchor)
        self.problem = self.scale.problem
        self.constraint = choose_constraint(self.problem, anchor, 0.0, 1.0, None)
        self.solution = PRESETS[preset].solve(self.problem, self.constraint, 1)
        self.baseline = BaselineFit(self.problem.models, self.problem.dates, self.scale.estimate.capability)


@pytest.fixture(scope="module", params=["paper", "default"])
def fitted(request, world):
    return Fitted(world.scores, request.param)


@pytest.fixture(scope="module")
def paper(world):
    return Fitted(world.scores, "paper")


@pytest.fixture(scope="module")
def small():
    return simulate(n_models=20, n_benchmarks=8, density=0.6, seed=2)


@pytest.fixture(scope="module")
def found(small):
    return robustness(small.scores, anchor=ANCHOR, n_replicates=12, folds=2, seed=1)


@pytest.fixture
def few_methods(monkeypatch):
    """The cross-validation compares the three methods that every sentence names."""
    kept = {name: METHODS[name] for name in (DEFAULT, PAPER, PREDICTED)}
    monkeypatch.setattr("howsure.stitch.sensitivity.crossvalidation.METHODS", kept)


# the frontier's slope


def test_the_slope_is_that_of_the_line_through_running_maxima():
    dates = np.array(["2024-01-01", "2024-01-01", "2024-07-01", "2025-01-01", "NaT", "2026-01-01"], "datetime64[D]")
    capability = np.array([[0.0, 1.0, 0.5, 2.0, 9.0, 2.5], [0.0, np.nan, 0.5, 2.0, 9.0, 1.0]])
    years = dates.astype(np.int64) / 365.25
    by_hand = [
        np.polyfit(years[kept], row[kept], 1)[0] for row, kept in zip(capability, ([1, 3, 5], [0, 2, 3]), strict=True)
    ]
    assert frontier_slopes(capability, dates) == pytest.approx(by_hand)


def test_a_frontier_of_one_date_has_no_slope():
    dates = np.array(["2024-01-01", "2024-06-01"], "datetime64[D]")
    slopes = frontier_slopes(np.array([[1.0, 0.5], [1.0, 2.0], [np.nan, np.nan]]), dates)
    assert np.isnan(slopes).tolist() == [True, False, True]


# against published numbers


@pytest.fixture(scope="module")
def published():
    from howsure.sources import read

    return Fitted(read(shared("data/epoch-2025-11")), "paper", "Winogrande")


def test_the_published_draws_give_the_published_slopes(published):
    """The notebook behind the paper drops 11 of 38 benchmarks, drawn by `random.sample` from seed 42."""
    order = pl.read_csv(shared("reference/stitch_paper/scores_in.csv"))["benchmark"].unique(maintain_order=True)
    can_go = [name for name in order if name != "Winogrande"]
    draw, slopes = random.Random(42), []
    for _ in range(100):
        gone = [published.problem.benchmark_at(name) for name in draw.sample(can_go, k=11)]
        kept = ~np.isin(published.problem.benchmark, gone)
        capability = refit_without(published.solution, published.constraint, kept)
        slopes.append(frontier_slopes(capability[None], published.problem.dates)[0])
    assert slopes[:4] == pytest.approx([0.4398, 0.4914, 0.4912, 0.5320], abs=2e-4)
    reference = json.loads(shared("reference/stitching.json").read_text())["published"]
    told = reference["drop_30_percent_of_benchmarks_100_refits"]
    assert np.percentile(slopes, [2.5, 50, 97.5]) == pytest.approx(
        [told["low"], told["median_slope"], told["high"]], abs=5e-4
    )


def test_other_draws_agree_with_the_published_ones(published):
    capability, is_in = drop_benchmarks(published.solution, published.constraint, 60, seed=3)
    slopes = frontier_slopes(capability, published.problem.dates)
    assert set((~is_in).sum(axis=1)) == {11}
    assert np.median(slopes) == pytest.approx(0.5425, abs=0.03)


# refits against fits from scratch


def test_a_refit_without_benchmarks_is_the_fit_of_the_smaller_table(paper):
    gone = ["bench-01", "bench-07"]
    at = [paper.problem.benchmark_at(name) for name in gone]
    warm = refit_without(paper.solution, paper.constraint, ~np.isin(paper.problem.benchmark, at))
    cold = fit(paper.scores, preset="paper", anchor=ANCHOR, exclude=gone, min_benchmarks=1)
    by_model = dict(zip(cold.problem.models, cold.estimate.capability, strict=True))
    for model, capability in zip(paper.problem.models, warm, strict=True):
        assert capability == pytest.approx(by_model.get(model, np.nan), abs=1e-5, nan_ok=True)


def test_another_anchor_is_the_fit_with_that_anchor(paper):
    for variant in change_anchor(paper.baseline, paper.solution, paper.constraint):
        if variant.label in ("bench-01", "bench-08"):
            cold = fit(paper.scores, preset="paper", anchor=variant.label)
            slope = frontier_slopes(cold.estimate.capability[None], cold.problem.dates)[0]
            assert variant.slope == pytest.approx(slope, abs=1e-5)


def test_every_variant_of_the_default_is_the_same_in_one_unit(world):
    default = Fitted(world.scores, "default")
    frame = variant_frame(list(change_anchor(default.baseline, default.solution, default.constraint)))
    slope = frontier_slopes(default.baseline.capability[None], default.baseline.dates)[0]
    assert frame["linked_slope"].to_numpy() == pytest.approx(slope)
    assert frame["moved"].max() < 1e-9
    assert frame["slope"].max() > 1.5 * frame["slope"].min()


def test_the_farther_the_prior_is_changed_the_farther_models_move(fitted):
    variants = list(change_strength(fitted.baseline, fitted.solution, fitted.constraint))
    assert [variant.label for variant in variants] == [f"× {factor:g}" for factor in STRENGTHS]
    moved = [variant.moved for variant in variants]
    assert moved[STRENGTHS.index(0.3)] < moved[0]
    assert moved[STRENGTHS.index(3.0)] < moved[-1]


def test_each_model_of_the_scores_but_the_one_in_use(fitted):
    used = "sigmoid (paper)" if fitted.preset == "paper" else "default"
    variants = list(change_model(fitted.baseline, fitted.problem, used))
    assert len(variants) == 3
    assert used not in {variant.label for variant in variants}
    assert all(variant.slope is None and variant.rank_correlation > 0.8 for variant in variants)


def test_the_rules_for_duplicates_differ_where_there_are_any(world):
    rows = world.scores.frame
    twice = rows.filter(pl.col("benchmark") == "bench-05").with_columns(pl.col("score") * 0.5)
    scores = Scores(pl.concat([rows, twice]))
    scale = fit(scores, anchor=ANCHOR)
    baseline = BaselineFit(scale.problem.models, scale.problem.dates, scale.estimate.capability)
    variants = list(change_duplicates(baseline, scores, {"anchor": ANCHOR}, "mean"))
    assert [variant.label for variant in variants] == ["max", "min"]
    assert all(variant.moved > 0 for variant in variants)


# comparing


def test_linking_undoes_a_change_of_gauge(fitted):
    moved = fitted.baseline.compare("x", "y", 3 + 2.5 * fitted.baseline.capability, n_benchmarks=10)
    slope = frontier_slopes(fitted.baseline.capability[None], fitted.baseline.dates)[0]
    assert moved.slope == pytest.approx(2.5 * slope)
    assert moved.linked_slope == pytest.approx(slope)
    assert moved.moved == pytest.approx(0, abs=1e-12)
    assert (moved.rank_correlation, moved.top_kept) == (pytest.approx(1), 1)


def test_a_variant_without_a_scale_says_so(fitted):
    nothing = fitted.baseline.compare("x", "y", np.full(30, np.nan), n_benchmarks=3)
    assert (nothing.n_models, nothing.slope, nothing.rank_correlation, nothing.leader) == (0, None, None, None)


# leaving out


def test_without_the_anchor_only_the_linked_unit_is_left(fitted):
    by_name = {v.label: v for v in leave_benchmarks_out(fitted.baseline, fitted.solution, fitted.constraint)}
    assert set(by_name) == set(fitted.problem.benchmarks)
    assert by_name[ANCHOR].slope is None
    assert by_name[ANCHOR].linked_slope is not None
    assert by_name["bench-01"].slope is not None


def test_the_benchmark_that_joins_two_parts_leaves_no_scale():
    names = [("early", range(4), range(3)), ("late", range(4), range(3, 6))]
    rows = [
        (f"{side}-{m}", f"bench-{b}", 1 / (1 + np.exp(b / 2 - m)), f"202{m + 3}-01-01")
        for side, models, benchmarks in names
        for m in models
        for b in [*benchmarks, 9]
    ]
    scores = Scores(pl.DataFrame(rows, schema=["model", "benchmark", "score", "date"], orient="row"))
    joined = Fitted(scores, "paper", "bench-9")
    by_name = {v.label: v for v in leave_benchmarks_out(joined.baseline, joined.solution, joined.constraint)}
    assert by_name["bench-9"].rank_correlation is None
    assert by_name["bench-0"].rank_correlation is not None


def test_joint_organisations_belong_to_each_of_theirs(world):
    renamed = pl.col("organisation").replace({"Basalt": "Basalt,Cobalt", "Dune": "Dune, Inc."})
    joint = Fitted(Scores(world.scores.frame.with_columns(renamed)), "paper")
    by_name = {v.label: v for v in leave_organisations_out(joint.baseline, joint.solution, joint.constraint)}
    assert {"Basalt", "Cobalt", "Dune, Inc."} <= set(by_name)
    makers = world.models["organisation"]
    assert by_name["Cobalt"].n_models == 30 - makers.is_in(["Basalt", "Cobalt"]).sum()
    assert by_name["Basalt"].n_models == 30 - (makers == "Basalt").sum()


def test_drops_are_repeatable_and_spare_the_anchor(fitted):
    once, is_in = drop_benchmarks(fitted.solution, fitted.constraint, 9, seed=5)
    again, _ = drop_benchmarks(fitted.solution, fitted.constraint, 9, seed=5)
    np.testing.assert_array_equal(once, again)
    assert is_in[:, fitted.problem.benchmark_at(ANCHOR)].all()
    assert set((~is_in).sum(axis=1)) == {3}
    assert (~is_in).any(axis=0).sum() > 5


@pytest.mark.parametrize("share", [0.05, 0.9])
def test_a_share_that_drops_none_or_nearly_all_is_refused(fitted, share):
    with pytest.raises(OptionError, match="Choose a share"):
        drop_benchmarks(fitted.solution, fitted.constraint, 5, share=share)


def test_anchored_by_models_every_benchmark_can_go(world):
    best, worst = world.models.sort("capability")["model"].to_list()[-1], world.models.sort("capability")["model"][0]
    by_models = Fitted(world.scores, "default")
    constraint = choose_constraint(by_models.problem, None, 0.0, 1.0, {worst: 0.0, best: 100.0})
    _, is_in = drop_benchmarks(by_models.solution, constraint, 40, seed=1)
    assert (~is_in).any(axis=0).all()
    assert isinstance(by_models.constraint, AnchorBenchmark)


# the whole


def test_every_factor_is_there_with_its_range(found):
    assert [factor.kind for factor in found.factors] == list(FACTORS)
    for factor in found.factors:
        assert factor.linked_min <= factor.linked_max
        assert 0 < factor.rank_correlation <= 1
    by_kind = {factor.kind: factor for factor in found.factors}
    assert by_kind["drop"].n == 12
    assert by_kind["anchor"].linked_min == pytest.approx(by_kind["anchor"].linked_max)
    assert by_kind["noise"].is_beyond is None
    assert found.slope.low < found.slope.value < found.slope.high


def test_the_summary_says_in_words_what_matters(found):
    text = " ".join(found.summary)
    assert text.startswith("The frontier rises by ")
    assert "does not depend on the choice of the anchor" in text
    assert "Without 30% of the benchmarks, drawn 12 times" in text
    assert "The order of the models depends most on" in text
    assert "on held-out scores" in text


def test_ranks_under_dropped_benchmarks(found):
    assert found.ranks["rank"].to_list() == list(range(1, 21))
    assert (found.ranks["rank_low"] <= found.ranks["rank_high"]).all()
    assert found.ranks["p_best"].sum() == pytest.approx(1, abs=0.35)


def test_the_result_goes_to_files_json_and_charts(found, tmp_path):
    written = [path.name for path in found.save(tmp_path)]
    assert "robustness.json" in written
    told = json.loads((tmp_path / "robustness.json").read_text())
    assert told["provenance"]["settings"]["fit"]["anchor"] == ANCHOR
    assert len(pl.read_csv(tmp_path / "robustness_refits.csv")) == len(found.variants)
    charts = found.charts()
    assert set(charts) == {
        f"robustness_{name}"
        for name in ("factors", "dropped", "prior", "benchmark", "organisation", "ranks", "validation")
    }
    specs = {name: to_spec(chart) for name, chart in charts.items()}
    assert all(spec["description"] for spec in specs.values())
    bars = {
        name: [
            row
            for rows in specs[f"robustness_{name}"]["datasets"].values()
            for row in rows
            if row.get("start") is not None
        ]
        for name in ("factors", "benchmark", "organisation", "validation")
    }
    assert bars["validation"]
    # a bar without length cannot be drawn
    assert all(row["end"] - row["start"] > 1e-9 for rows in bars.values() for row in rows)


def test_a_unit_that_models_hold_is_drawn_as_one_line(found):
    held = replace(found, variants=found.variants.with_columns(slope="linked_slope"))
    both, one = (json.dumps(to_spec(draw_path(result))) for result in (found, held))
    assert "the unit as fitted" in both
    assert "the unit as fitted" not in one


def test_the_same_seed_gives_the_same_findings_and_progress_runs_from_start_to_end(small, found):
    seen = []
    again = robustness(
        small.scores, anchor=ANCHOR, n_replicates=12, folds=2, seed=1, progress=lambda *one: seen.append(one)
    )
    assert again.variants.equals(found.variants)
    assert again.summary == found.summary
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (400, 400)


def test_the_benchmark_that_moves_models_most_is_the_one_that_errs(few_methods):
    rng = np.random.default_rng(3)
    rows = []
    for m in range(16):
        for b in range(7):
            score = 1 / (1 + np.exp((b - 3) / 3 - (m - 8) / 4)) + rng.normal(0, 0.01 if b != 2 else 0.2)
            rows.append((f"m{m:02}", f"bench-{b}", float(np.clip(score, 0, 1)), f"202{m // 8 + 3}-0{m % 8 + 1}-01"))
    scores = Scores(pl.DataFrame(rows, schema=["model", "benchmark", "score", "date"], orient="row"))
    left_out = robustness(scores, preset="paper", n_replicates=4, folds=2).of("benchmark").sort("moved")
    assert left_out["label"][-1] == "bench-2"
    assert left_out["moved"][-1] > 3 * left_out["moved"][-2]


def test_without_dates_only_the_order_is_judged_and_folds_may_come_from_a_table(small, few_methods, tmp_path):
    scores = Scores(small.scores.frame.drop("date"))
    problem = fit(scores).problem
    table = problem.to_frame().select("model", "benchmark").with_columns(fold=pl.int_range(pl.len()) % 2)
    undated = robustness(scores, n_replicates=4, folds=table)
    assert undated.validation["n"][0] == problem.n_observations
    assert undated.slope.state == "undefined"
    assert "only the order of the models is judged" in undated.summary[0]
    assert set(undated.charts()) == {"robustness_ranks", "robustness_validation"}
    assert undated.save(tmp_path)


def test_a_table_without_a_fold_is_told(small):
    table = fit(small.scores).problem.to_frame().select("model", "benchmark").with_columns(fold=pl.int_range(pl.len()))
    with pytest.raises(InputError, match="1 scores have no fold"):
        robustness(small.scores, n_replicates=2, folds=table.tail(-1))
    with pytest.raises(InputError, match="no column 'fold'"):
        robustness(small.scores, n_replicates=2, folds=table.drop("fold"))


def test_one_refit_is_too_few(world):
    with pytest.raises(OptionError, match="at least 2 refits"):
        robustness(world.scores, n_replicates=1)
