"""Predicted scores: what related residuals add, both intervals, and states."""

import numpy as np
import polars as pl
import pytest

from howsure.errors import OptionError
from howsure.stitch import fit, simulate, validate
from howsure.stitch.cleaning import prepare_scores
from howsure.stitch.model import residuals
from howsure.stitch.model.fits import solve_hierarchy
from howsure.stitch.model.residuals import STRENGTHS, PredictedScores, ResidualProcess, fit_residuals
from howsure.stitch.prediction import intervals_of
from howsure.tables import Scores


@pytest.fixture(scope="module", params=[("default", 1), ("paper", 1), ("default", 2)], ids=["default", "paper", "2d"])
def scale(request, world):
    preset, dimensions = request.param
    return fit(world.scores, preset=preset, dimensions=dimensions)


def test_every_pair_has_both_intervals_within_0_and_1(scale):
    found = scale.predict().scores
    assert len(found) == len(scale.models) * len(scale.benchmarks)
    fine = found.filter(pl.col("expected_state") == "ok")
    assert len(fine) > 0.8 * len(found)
    columns = ["prediction_low", "expected_low", "expected", "expected_high", "prediction_high"]
    steps = np.diff(fine.select(columns).to_numpy(), axis=1)
    assert (steps >= 0).all()
    assert len(fine.filter(pl.col("prediction").is_between("prediction_low", "prediction_high"))) == len(fine)
    assert fine["prediction_low"].min() >= 0
    assert fine["prediction_high"].max() <= 1
    assert fine["expected"].is_between(0, 1, closed="none").all()
    assert found["observed"].drop_nulls().len() == scale.problem.n_observations


def test_names_are_strings_or_lists_in_the_order_given(scale):
    names = scale.models["model"].gather([5, 2]).to_list()
    found = scale.predict(names, scale.benchmarks["benchmark"][3]).scores
    assert found["model"].to_list() == names
    one = scale.predict(names[1], found["benchmark"][1]).scores
    assert one.drop("observed").row(0)[2:] == pytest.approx(found.drop("observed").row(1)[2:])
    with pytest.raises(OptionError, match="No model in this fit called 'nobody'"):
        scale.predict("nobody")
    with pytest.raises(OptionError, match="No benchmark in this fit called 'nothing'"):
        scale.predict(names, ["nothing"])


def test_a_linear_model_is_predicted_as_by_the_textbook(problem):
    """Without shared residuals and around an optimum, the process is the curvature's normal approximation, averaged over the curve's argument."""
    solution = solve_hierarchy(problem)
    alone = ResidualProcess(solution, dict.fromkeys(STRENGTHS, 0.0), np.zeros(len(problem.benchmarks)))
    found = alone.predict(problem.model, problem.benchmark)
    from howsure.stitch.model.fits import expected
    from howsure.stitch.model.solver import spread

    value, share = expected(solution.rows, solution.theta)
    around = spread(solution.rows, solution.weights, solution.theta, solution.prior)
    drawn = np.random.default_rng(0).standard_normal((20000, 1))
    eta = np.log(share / (1 - share)) + np.sqrt(around.eta) * drawn
    floor, span = problem.floors[problem.benchmark], (problem.ceilings - problem.floors)[problem.benchmark]
    curve = floor + span / (1 + np.exp(-eta))
    assert found.mean == pytest.approx(curve.mean(axis=0), abs=2e-3)
    assert found.mean == pytest.approx(value, abs=0.02)
    assert np.sqrt(found.variance) == pytest.approx(curve.std(axis=0), rel=0.05, abs=1e-3)


def test_a_siblings_residual_moves_the_prediction_towards_it(world):
    problem = prepare_scores(world.scores)
    family = np.bincount(problem.family).argmax()
    here = np.flatnonzero(problem.family[problem.model] == family)
    target = next(
        i for i in here if (problem.benchmark[here] == problem.benchmark[i]).sum() > 1 and 0.2 < problem.score[i] < 0.8
    )
    siblings = here[(problem.benchmark[here] == problem.benchmark[target]) & (here != target)]
    moved = []
    for shift in (-0.15, 0.15):
        score = problem.score.copy()
        score[siblings] = np.clip(score[siblings] + shift, 0, 1)
        kept = np.arange(problem.n_observations) != target
        from dataclasses import replace

        solution = solve_hierarchy(replace(problem, score=score).keep(kept))
        m, b = problem.model[[target]], problem.benchmark[[target]]
        full = ResidualProcess(solution, STRENGTHS | {"trait": 0.0}, np.zeros(len(problem.benchmarks))).predict(m, b)
        none = dict.fromkeys(STRENGTHS, 0.0)
        curve = ResidualProcess(solution, none, np.zeros(len(problem.benchmarks))).predict(m, b)
        moved.append(full.mean[0] - curve.mean[0])
    assert moved[1] - moved[0] > 0.03


def test_relations_that_the_residuals_lack_are_not_used():
    flat = simulate(n_models=60, n_benchmarks=14, correlation=0.0, seed=5)
    alike = simulate(n_models=60, n_benchmarks=14, correlation=0.8, seed=5)
    family = [fit_residuals(solve_hierarchy(prepare_scores(one.scores))).strengths["family"] for one in (flat, alike)]
    assert family == [0.0, STRENGTHS["family"]]


def test_a_large_table_is_conditioned_on_the_most_related_scores(problem, monkeypatch):
    solution = solve_hierarchy(problem)
    process = fit_residuals(solution)
    m, b = problem.model[::40], problem.benchmark[::40]
    whole = process.predict(m, b)
    monkeypatch.setattr(residuals, "_MOST", problem.n_observations * 2 // 3)
    part = process.predict(m, b)
    assert part.mean == pytest.approx(whole.mean, abs=0.03)
    assert np.sqrt(part.observed_variance) == pytest.approx(np.sqrt(whole.observed_variance), rel=0.2)


def test_benchmarks_that_define_nothing_have_a_state(world):
    rows = world.scores.frame
    first = rows["benchmark"][0]
    few = rows.filter(pl.col("benchmark") == first).head(2).with_columns(benchmark=pl.lit("rare"))
    capability = dict(world.models.select("model", "capability").iter_rows())
    against = rows.filter(pl.col("benchmark") == first).with_columns(
        benchmark=pl.lit("against"),
        score=pl.col("model").replace_strict(capability).rank(descending=True) / (pl.len() + 1),
    )
    scale = fit(Scores(pl.concat([rows, few, against])))
    states = dict(scale.predict(scale.models["model"][3]).scores.select("benchmark", "expected_state").iter_rows())
    assert (states["rare"], states["against"]) == ("too_few", "undefined")
    assert scale.predict(scale.models["model"][3], "against").scores["expected"][0] is None


def test_intervals_are_the_quantiles_of_a_skewed_score():
    """Mean ± t·sd missed high scores of models that were expected near the floor: 15 of 100 above, none below."""
    rng = np.random.default_rng(0)
    middle = 1 / (1 + np.exp(2 - 1.2 * residuals._NODES))
    noise = np.full((1, len(middle)), 0.006**2)
    found = PredictedScores(middle[None], np.array([0.008**2]), noise, np.array([1e9]))
    drawn = 1 / (1 + np.exp(2 - 1.2 * rng.standard_normal(200_000)))
    drawn = drawn + rng.normal(0, 0.01, len(drawn))
    assert found.mean[0] == pytest.approx(drawn.mean(), abs=2e-3)
    *_, low, high = intervals_of(found, 0.9)
    assert (drawn < low).mean() == pytest.approx(0.05, abs=0.01)
    assert (drawn > high).mean() == pytest.approx(0.05, abs=0.01)
    assert high[0] - found.mean[0] > 1.5 * (found.mean[0] - low[0])
    few = intervals_of(found._replace(degrees=np.array([5.0])), 0.9)
    assert few.prediction_high[0] - found.mean[0] == pytest.approx((high[0] - found.mean[0]) * 2.015 / 1.645, rel=1e-3)


@pytest.mark.parametrize(("middle", "rest"), [(1.01, 0.03), (-0.02, 0.03), (1.2, 0.0), (0.4, 0.1)])
def test_an_expected_score_is_never_exactly_0_or_1(middle, rest):
    """Families that do well on a benchmark may take the sum of curve and residual beyond 1, which no expected score can reach."""
    parts = np.array([[middle - 0.01, middle + 0.01]])
    found = PredictedScores(parts, np.array([rest**2]), np.full((1, 2), 0.01**2), np.array([1e9]))
    low, high, seen, seen_low, seen_high = (end[0] for end in intervals_of(found, 0.9))
    assert 0 < low < found.expected[0] < high < 1
    assert 0 <= seen_low <= low
    assert seen_low <= seen <= seen_high
    assert high <= seen_high <= 1
    if rest:
        drawn = np.random.default_rng(0).normal(parts[0], rest, (400_000, 2)).T
        drawn = np.concatenate([one[(one > 0) & (one < 1)][:80_000] for one in drawn])
        assert found.expected[0] == pytest.approx(drawn.mean(), abs=5e-4)
        assert (low, high) == pytest.approx(np.quantile(drawn, [0.05, 0.95]), abs=1e-3)


@pytest.mark.parametrize("correlation", [0.0, 0.45])
def test_prediction_intervals_contain_held_out_scores_as_often_as_stated(correlation):
    covered = []
    for seed in range(6):
        problem = prepare_scores(simulate(n_models=60, n_benchmarks=14, correlation=correlation, seed=seed).scores)
        held_out = np.random.default_rng(seed).random(problem.n_observations) < 0.15
        new = problem.keep(held_out)
        found = fit_residuals(solve_hierarchy(problem.keep(~held_out))).predict(new.model, new.benchmark)
        *_, low, high = intervals_of(found, 0.9)
        covered += ((low <= new.score) & (new.score <= high)).tolist()
    assert len(covered) > 300
    assert 0.86 < np.mean(covered) < 0.94


def test_validation_needs_scores_that_a_model_keeps(world):
    with pytest.raises(OptionError, match="n_known is 0"):
        validate(world.scores, n_known=0)


def test_a_split_without_scores_is_named(world):
    undated = Scores(world.scores.frame.drop("date"))
    found = validate(undated, folds=2, n_known=3)
    assert found.errors["split"].unique(maintain_order=True).to_list() == ["random holes", "new models"]
    assert any("No later models" in note for note in found.provenance.notes)


@pytest.mark.evidence
def test_real_scores_are_predicted_better_than_by_the_curves(shared):
    from howsure.sources import read

    scores = read(shared / "data/epoch-2025-11")
    found = validate(scores, preset="paper", folds=shared / "reference/stitch_paper/folds.csv", n_known=3)
    mine = found.errors.filter(method="predict")
    rmse, ratio = (dict(mine.select("split", name).iter_rows()) for name in ("rmse", "ratio"))
    assert rmse["random holes"] < 0.075
    assert ratio["new models"] < 0.77
    assert ratio["later models"] < 0.81
    coverage = dict(found.coverage.filter(pl.col("expected") == "all").select("split", "coverage").iter_rows())
    assert all(0.87 <= one <= 0.93 for one in coverage.values())
