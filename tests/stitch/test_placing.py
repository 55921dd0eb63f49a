"""New models on a finished scale."""

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.stitch import fit, next_benchmark, simulate
from howsure.stitch.benchmark_gaps import gaps
from howsure.stitch.placing import match_benchmarks
from howsure.tables import Scores


@pytest.fixture(scope="module", params=[("default", 1), ("paper", 1), ("default", 2)], ids=["default", "paper", "2d"])
def scale(request, world):
    preset, dimensions = request.param
    return fit(world.scores, preset=preset, dimensions=dimensions, n_replicates=80)


def scores_of(scale, *models):
    return Scores(scale.problem.to_frame().filter(pl.col("model").is_in(models)))


def test_a_model_of_the_fit_is_placed_where_it_was(scale):
    names = scale.models["model"].gather([0, 15, 30]).to_list()
    placed = scale.score(scores_of(scale, *names)).models
    assert placed["model"].to_list() == names
    for row in placed.rows(named=True):
        there = scale.capability(row["model"])
        assert row["capability"] == pytest.approx(there.value, abs=0.01)
        assert row["capability_low"] < row["capability"] < row["capability_high"]
        assert row["capability_high"] - row["capability_low"] == pytest.approx(there.width, rel=0.5)


def test_placing_is_repeatable_and_leaves_the_scale(scale):
    new = scores_of(scale, scale.models["model"][3])
    before = scale.models.clone()
    assert scale.score(new, seed=4).models.equals(scale.score(new, seed=4).models)
    assert scale.models.equals(before)


def test_more_scores_make_a_place_surer(scale):
    name = scale.models.sort("n_benchmarks")["model"][-1]
    rows = scale.problem.to_frame().filter(pl.col("model") == name)
    few, all_of_them = (scale.score(Scores(part)).models.row(0, named=True) for part in (rows.head(2), rows))
    assert (
        few["capability_high"] - few["capability_low"] > all_of_them["capability_high"] - all_of_them["capability_low"]
    )


def test_unknown_benchmarks_are_left_out(world):
    scale = fit(world.scores)
    rows = scale.problem.to_frame().filter(pl.col("model") == scale.models["model"][2])
    more = rows.head(1).with_columns(benchmark=pl.lit("unheard of"), score=0.0)
    assert scale.score(Scores(pl.concat([rows, more]))).models["n_benchmarks"][0] == len(rows)
    with pytest.raises(InputError, match=r"None of the new benchmarks \(unheard of\) is on the scale"):
        scale.score(Scores(more))


def test_a_perfect_newcomer_is_above_range(world):
    scale = fit(world.scores, n_replicates=50)
    rows = pl.DataFrame({"model": "new", "benchmark": scale.problem.benchmarks, "score": 1.0, "date": "2026-01-01"})
    row = scale.score(Scores(rows)).models.row(0, named=True)
    assert row["capability_state"] == "above_range"
    assert row["capability_high"] is None
    assert row["capability"] > scale.models["capability"].quantile(0.9)


def test_the_next_benchmark_is_one_that_the_model_lacks_and_lies_near(scale):
    name = scale.models.sort("n_benchmarks")["model"][0]
    table = scale.next_benchmark(name).benchmarks
    has = scale.problem.to_frame().filter(pl.col("model") == name)["benchmark"]
    assert set(table["benchmark"]) == set(scale.problem.benchmarks) - set(has)
    assert table["information"].is_sorted(descending=True)
    assert (table["sd_after"] < table["sd_now"]).all()
    assert 0.05 < table["expected"][0] < 0.95


def test_a_benchmark_that_is_not_sure_itself_tells_less(world):
    plain, sure = fit(world.scores, n_replicates=0), fit(world.scores, n_replicates=100)
    name = plain.models["model"][5]
    both = plain.next_benchmark(name).benchmarks.join(sure.next_benchmark(name).benchmarks, on="benchmark")
    assert (both["information_right"] <= both["information"]).all()


def test_an_unknown_model_is_told(world):
    with pytest.raises(OptionError, match="No model in this fit called 'nobody'"):
        fit(world.scores).next_benchmark("nobody")


def test_information_by_hand(world):
    """The square of how much the score rises with capability, over its variance."""
    scale = fit(world.scores, n_replicates=0)
    name = scale.models["model"][8]
    row = scale.next_benchmark(name).benchmarks.row(0, named=True)
    b, m = scale.problem.benchmark_at(row["benchmark"]), scale.problem.model_at(name)
    slope, span = scale.estimate.slope[b], scale.problem.ceilings[b] - scale.problem.floors[b]
    share = 1 / (1 + np.exp(-slope * (scale.estimate.capability[m] - scale.estimate.difficulty[b])))
    variance = scale.noise.variance[b] * (4 * share * (1 - share) + scale.noise.shape) / (1 + scale.noise.shape)
    assert row["information"] == pytest.approx((span * slope * share * (1 - share)) ** 2 / variance)


def test_spellings_of_a_benchmark_are_matched_and_told(scale):
    """A table with other spellings dropped those scores in silence, and placed the model by the rest."""
    rows = scale.problem.to_frame().filter(model=scale.models["model"][3])
    exact = scale.score(Scores(rows.with_columns(model=pl.lit("new")))).models
    spelt = rows.with_columns(
        model=pl.lit("new"), benchmark=pl.col("benchmark").str.to_uppercase().str.replace("-", " ")
    )
    matched = match_benchmarks(scale, Scores(spelt))
    assert any("is taken as 'bench-" in note for note in matched.notes)
    assert scale.score(Scores(spelt)).models.equals(exact)
    assert exact["unmatched"][0] == ""


def test_benchmarks_that_are_not_on_the_scale_are_named(scale):
    rows = scale.problem.to_frame().filter(model=scale.models["model"][3]).with_columns(model=pl.lit("new"))
    other = rows.head(1).with_columns(benchmark=pl.lit("bench-99"))
    placed = scale.score(Scores(pl.concat([rows, other]))).models
    assert placed["unmatched"][0] == "bench-99"
    notes = match_benchmarks(scale, Scores(pl.concat([rows, other]))).notes
    assert any("benchmarks are not on the scale and are excluded: bench-99 (nearest: bench-0" in note for note in notes)


@pytest.mark.parametrize("is_told", [True, False], ids=["n_items known", "n_items unknown"])
def test_a_test_of_ten_items_is_not_the_next_benchmark(is_told):
    """Its scores are noisy: that is in the sampling variance where the number of items is known, else in the residuals."""
    rows = simulate(n_models=40, n_benchmarks=10, seed=3).scores.frame
    small = rows.group_by("benchmark").len().sort("len", "benchmark")["benchmark"][3]
    is_small, rng = pl.col("benchmark") == small, np.random.default_rng(0)
    few = pl.Series(rng.binomial(10, rows["score"].clip(0, 1).to_numpy()) / 10)
    rows = rows.with_columns(score=pl.when(is_small).then(few).otherwise("score"))
    if is_told:
        rows = rows.with_columns(n_items=pl.when(is_small).then(10).otherwise(500))
    scale = fit(Scores(rows), n_replicates=20, error_factor=1.0)
    lists = [next_benchmark(scale, model).benchmarks["benchmark"].to_list() for model in scale.models["model"][::2]]
    firsts = [names[0] for names in lists if small in names and len(names) > 1]
    assert len(firsts) > 5
    assert small not in firsts


def test_scores_on_the_other_benchmarks_are_predicted_as_if_the_model_were_on_the_scale(world):
    """A new model with the scores of one that is fitted: the same predictions, from the fit with it and from the fit without it."""
    whole = fit(world.scores)
    name = whole.models["model"][10]
    rows = world.scores.frame
    without = fit(Scores(rows.filter(pl.col("model") != name)))
    placed = without.score(Scores(rows.filter(pl.col("model") == name))).predictions
    there = whole.predict(name).scores.filter(pl.col("observed").is_null(), pl.col("expected_state") == "ok")
    both = there.join(placed, on=["model", "benchmark"])
    assert len(both) == len(there) > 3
    assert both["expected_right"].to_numpy() == pytest.approx(both["expected"].to_numpy(), abs=0.05)
    width = (both["prediction_high_right"] - both["prediction_low_right"]) / (
        both["prediction_high"] - both["prediction_low"]
    )
    assert width.to_numpy() == pytest.approx(1, abs=0.25)
    again = whole.score(Scores(rows.filter(pl.col("model") == name))).predictions
    assert again.sort("benchmark")["expected"].to_numpy() == pytest.approx(
        whole.predict(name).scores.filter(pl.col("observed").is_null()).sort("benchmark")["expected"].to_numpy(),
        abs=0.05,
    )


def test_a_set_of_benchmarks_tells_most_about_the_others(scale):
    name = scale.models.sort("n_benchmarks")["model"][0]
    found = scale.next_benchmark(name, n=3)
    has = set(scale.problem.to_frame().filter(pl.col("model") == name)["benchmark"])
    assert not has & set(found.together["benchmark"])
    assert found.together["step"].to_list() == [1, 2, 3]
    assert (found.together["error"] < found.together["error_now"]).all()
    assert found.together["n_others"].diff().drop_nulls().to_list() == [-1, -1]


def true_score(world, capability, benchmark):
    row = world.benchmarks.row(by_predicate=pl.col("benchmark") == benchmark, named=True)
    return row["floor"] + (1 - row["floor"]) / (1 + np.exp(-row["slope"] * (capability - row["difficulty"])))


def test_the_chosen_benchmarks_predict_the_others_better_than_the_least_informative(world):
    scale = fit(world.scores)
    found = scale.next_benchmark(n=4)
    assert found.model is None
    assert len(found.benchmarks) == len(scale.benchmarks)
    assert found.together["error"][-1] < 0.8 * found.together["error_now"][-1]
    sets = found.together["benchmark"].to_list(), found.benchmarks["benchmark"].to_list()[-4:]
    rng, errors, date = np.random.default_rng(1), ([], []), world.models["date"].max()
    for capability in world.models.sort("date")["capability"][-10::2]:
        for some, squares in zip(sets, errors, strict=True):
            scores = [np.clip(true_score(world, capability, b) + 0.02 * rng.standard_normal(), 0, 1) for b in some]
            new = pl.DataFrame({"model": "newcomer", "benchmark": some, "score": scores, "date": date})
            others = scale.score(Scores(new)).predictions.drop_nulls("expected")
            others = others.filter(~pl.col("benchmark").is_in(sets[0] + sets[1]))
            squares += [(value - true_score(world, capability, b)) ** 2 for b, value in others.select("benchmark", "expected").iter_rows()]  # fmt: skip
    assert np.mean(errors[0]) < np.mean(errors[1])


@pytest.mark.parametrize("keep", [False, True])
def test_a_new_models_score_on_a_part_of_a_benchmark_counts_as_in_the_fit(world, keep):
    """`score` counted both, whatever the fit did; new tables rarely say which benchmark is a part."""
    rows = world.scores.frame
    part, whole = rows.group_by("benchmark").len().sort("len", "benchmark")["benchmark"].to_list()[-2:]
    fitted = rows.with_columns(part_of=pl.when(pl.col("benchmark") == part).then(pl.lit(whole)))
    scale = fit(Scores(fitted), keep_overlaps=keep)
    assert scale.problem.whole_by_part == {part: whole}
    other = next(name for name in scale.problem.benchmarks if name not in (part, whole))
    new = pl.DataFrame({"model": "new", "benchmark": [part.upper(), whole, other], "score": [0.2, 0.8, 0.7]})
    both, alone = scale.score(Scores(new)), scale.score(Scores(new[1:]))
    assert both.models["n_benchmarks"].item() == (3 if keep else 2)
    assert (both.models["capability"].item() == alone.models["capability"].item()) is not keep
    assert any("1 scores were excluded, since" in note for note in both.provenance.notes) is not keep


def test_next_and_gaps_expect_what_predict_expects(scale):
    name = scale.models["model"][1]
    there = scale.predict(name).scores.select("benchmark", "expected")
    following = scale.next_benchmark(name, n=3)
    lacking = gaps(scale, n_models=2).priorities.filter(model=name)
    for table in (following.benchmarks, following.together, lacking):
        both = table.join(there, on="benchmark")
        assert len(both) == len(table) > 0
        assert both["expected"].to_numpy() == pytest.approx(both["expected_right"].to_numpy(), abs=1e-12)
