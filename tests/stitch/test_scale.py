"""What a fit reports, keeps and refuses."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import howsure
from howsure.errors import InputError, OptionError
from howsure.stitch import Scale, fit
from howsure.stitch.cleaning import prepare_scores
from howsure.stitch.model.fits import solve_hierarchy
from howsure.stitch.model.problem import AnchorBenchmark, most_used
from howsure.stitch.model.replicates import ScaleReplicates, draw_replicates
from howsure.stitch.scale import assemble
from howsure.tables import Scores

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def scale(world):
    return fit(world.scores, n_replicates=300, seed=1)


@pytest.fixture(scope="module")
def saved(scale, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    scale.save(folder)
    return folder


def test_tables_are_sorted_and_whole(scale, world):
    models, benchmarks = scale.models, scale.benchmarks
    assert models.columns[:11] == [
        "model", "capability", "capability_low", "capability_high", "capability_state", "n_benchmarks", "rank", "rank_low", "rank_high", "p_best", "date",
    ]  # fmt: skip
    assert benchmarks.columns[:11] == [
        "benchmark", "difficulty", "difficulty_low", "difficulty_high", "difficulty_state", "slope", "slope_low", "slope_high", "slope_state", "n_models", "rmse",
    ]  # fmt: skip
    assert models["rank"].to_list() == list(range(1, 41))
    assert models["capability"].is_sorted(descending=True)
    assert benchmarks["difficulty"].is_sorted()
    assert models["p_best"].sum() == pytest.approx(1)
    assert (models["rank_low"] <= models["rank"]).mean() > 0.9
    assert set(models["model"]) == set(world.models["model"])


def test_truth_lies_in_the_intervals_about_as_often_as_it_should(scale, world):
    """Differences to the median model."""
    true = scale.link(dict(world.models.select("model", "capability").iter_rows()))
    others = scale.models["model"].to_list()
    middle = others.pop(20)
    pairs = scale.pairs([middle, *others]).filter((pl.col("a") == middle) | (pl.col("b") == middle))
    held = [
        low <= true[a] - true[b] <= high
        for a, b, low, high in pairs.select("a", "b", "difference_low", "difference_high").iter_rows()
    ]
    assert 0.75 <= np.mean(held) <= 1


def test_a_seed_gives_the_same_numbers(scale, world):
    again = fit(world.scores, n_replicates=300, seed=1)
    assert again.models.equals(scale.models)
    assert (
        not fit(world.scores, n_replicates=300, seed=2).models["capability_low"].equals(scale.models["capability_low"])
    )


def test_without_replicates_there_are_no_intervals(world):
    plain = fit(world.scores, n_replicates=0)
    assert plain.models["capability_low"].null_count() == 40
    assert set(plain.models["capability_state"]) == {"too_few"}
    assert plain.models["rank"].null_count() == 0
    assert plain.replicates is None
    best = plain.capability(plain.models["model"][0])
    assert (best.low, best.state) == (None, "ok")
    assert plain.pairs()["p_a_greater"].null_count() == 39


def test_the_command_and_python_draw_the_same_replicates_by_default(command):
    path = ROOT / "examples/stitch/scores.csv"
    told = command("stitch", "fit", path, "--json")
    assert told.returncode == 0, told.stderr
    rows, found = json.loads(told.stdout)["models"], howsure.stitch.fit(path)
    assert len(found.replicates) == 1000
    for name in ("capability", "capability_low", "capability_high"):
        assert [row[name] for row in rows] == pytest.approx(found.models[name].to_list(), rel=1e-9)


def test_no_benchmark_that_orders_models_in_reverse_is_the_default_anchor(world, scale):
    usual = scale.provenance.settings["anchor"]
    turned = pl.when(pl.col("benchmark") == usual).then(1 - pl.col("score")).otherwise("score")
    found = fit(Scores(world.scores.frame.with_columns(score=turned)), n_replicates=0)
    assert found.provenance.settings["anchor"] != usual


def test_the_default_anchor_is_the_benchmark_that_most_models_have(scale):
    anchor = scale.provenance.settings["anchor"]
    row = scale.benchmarks.filter(pl.col("benchmark") == anchor).row(0, named=True)
    assert row["n_models"] == scale.benchmarks["n_models"].max()
    assert (row["difficulty"], row["slope"]) == pytest.approx((0, 1))
    assert row["difficulty_low"] < 0 < row["difficulty_high"]  # the models hold the unit in refits, not the anchor


def unit_of(drawn, estimate):
    """The standard deviation of refits without what errors add to it: theirs, and those of the estimate."""
    return drawn.std(axis=1) * np.array([np.corrcoef(one, estimate)[0, 1] ** 2 for one in drawn])


def test_models_hold_the_unit_in_refits(world, scale):
    assert scale.reference == scale.problem.models
    drawn = scale.replicates.capability
    assert drawn.mean(axis=1) == pytest.approx(scale.estimate.capability.mean())
    assert unit_of(drawn, scale.estimate.capability) == pytest.approx(scale.estimate.capability.std())
    anchored = fit(world.scores, reference="none", n_replicates=20)
    assert anchored.reference == ()
    assert anchored.models["capability"].to_list() == pytest.approx(scale.models["capability"].to_list())
    assert anchored.replicates.difficulty[
        :, scale.problem.benchmark_at(scale.provenance.settings["anchor"])
    ] == pytest.approx(0)


def test_reference_models_give_two_scales_one_unit(world, scale, tmp_path):
    later = Scores(world.scores.frame.filter(pl.col("benchmark") != "bench-01"))
    kept = [name for name in scale.problem.models if (later.frame["model"] == name).sum() >= 4]
    scale.save(tmp_path / "old")
    scale.tables["reference"].write_csv(tmp_path / "list.csv")
    for reference in (scale, tmp_path / "old", tmp_path / "list.csv"):
        linked = fit(later, reference=reference)
        before, after = (np.array([one.capability(name).value for name in kept]) for one in (scale, linked))
        assert (after.mean(), after.std()) == pytest.approx((before.mean(), before.std()))
        assert [name for name in linked.reference if name in kept] == list(linked.reference)
    few = fit(world.scores, reference=kept[:8], n_replicates=10, error_factor=1.0)
    here = [few.problem.model_at(name) for name in kept[:8]]
    estimate = few.estimate.capability[here]
    assert unit_of(few.replicates.capability[:, here], estimate) == pytest.approx(estimate.std())
    again = fit(later, reference=scale)
    assert again.link(dict(scale.models.select("model", "capability").iter_rows()))[kept[0]] == pytest.approx(
        scale.capability(kept[0]).value
    )
    with pytest.raises(OptionError, match="reference names 3 models, of which 2 are in this fit"):
        fit(world.scores, reference=[*kept[:2], "nobody"])


def test_a_ridge_is_for_the_presets_that_have_one(world):
    weak, strong = (fit(world.scores, preset="paper", since="", ridge=ridge) for ridge in (0.1, 10.0))
    assert weak.models.equals(fit(world.scores, preset="paper", since="").models)
    assert strong.quality.rmse > weak.quality.rmse
    with pytest.raises(OptionError, match="has no ridge"):
        fit(world.scores, ridge=1.0)
    with pytest.raises(OptionError, match="above 0"):
        fit(world.scores, preset="paper", ridge=0.0)


def test_names_to_exclude_come_from_files(world, tmp_path):
    (tmp_path / "names.txt").write_text("bench-01  # saturated\n\nbench-02\n")
    model, benchmark = world.scores.frame.filter(pl.col("benchmark") == "bench-03").row(0)[0], "bench-03"
    pl.DataFrame({"model": [model], "benchmark": [benchmark]}).write_csv(tmp_path / "pairs.csv")
    by_file = fit(world.scores, exclude=[str(tmp_path / "names.txt"), tmp_path / "pairs.csv"])
    by_name = fit(world.scores, exclude=["bench-01", "bench-02", f"{model}@{benchmark}"])
    assert by_file.models.equals(by_name.models)
    assert by_file.provenance.settings["exclude"] == ("bench-01", "bench-02", f"{model}@{benchmark}")
    (tmp_path / "wrong.csv").write_text("name\nx\n")
    with pytest.raises(InputError, match=r"no column 'model' or 'benchmark'"):
        fit(world.scores, exclude=[str(tmp_path / "wrong.csv")])


def test_the_choice_of_the_anchor_changes_no_expected_score(world, scale):
    name = scale.benchmarks["benchmark"][3]
    other = fit(world.scores, anchor=name, anchor_difficulty=2.0, anchor_slope=0.5)
    assert other.quality.rmse == pytest.approx(scale.quality.rmse)
    assert other.models["model"].to_list() == scale.models["model"].to_list()
    row = other.benchmarks.filter(pl.col("benchmark") == name).row(0, named=True)
    assert (row["difficulty"], row["slope"]) == pytest.approx((2, 0.5))
    model, benchmark = scale.models["model"][4], scale.benchmarks["benchmark"][7]
    there, here = (one.predict(model, benchmark).scores["expected"][0] for one in (other, scale))
    assert there == pytest.approx(here)


def test_two_models_can_fix_the_scale(world, scale):
    worst, best = scale.models["model"][-1], scale.models["model"][0]
    other = fit(world.scores, anchor_models={best: 150, worst: 130}, n_replicates=50)
    assert other.capability(best).value == pytest.approx(150)
    assert (other.capability(worst).low, other.capability(worst).high) == pytest.approx((130, 130))
    assert other.provenance.settings["anchor_models"] == {worst: 130, best: 150}


def test_models_in_the_wrong_order_fix_nothing(world, scale):
    worst, best = scale.models["model"][-1], scale.models["model"][0]
    with pytest.raises(InputError, match=f"{best} comes out at least as able as {worst}"):
        fit(world.scores, anchor_models={best: 130, worst: 150})


def test_replicates_in_which_the_anchors_swap_are_counted(world, scale):
    first, second = scale.models["model"][0], scale.models["model"][1]
    other = fit(world.scores, anchor_models={first: 150, second: 130}, n_replicates=100)
    assert other.replicates.n_failed > 10
    assert len(other.replicates) == 100
    told = f"{other.replicates.n_failed} of 100 refits found no scale, so there are no intervals."
    assert told in other.provenance.notes


@pytest.fixture(scope="module")
def mostly_failed(world, scale):
    """A scale of which 46 of 50 refits failed."""
    drawn = draw_replicates(*solved(scale), 50, seed=3)
    parts = [part.copy() for part in (drawn.capability, drawn.difficulty, drawn.slope)]
    for part in parts:
        part[4:] = np.nan
    return assemble(*solved(scale), ScaleReplicates.of(parts), 0.9, scale.provenance)


def solved(scale):
    constraint = AnchorBenchmark(scale.problem.benchmark_at(scale.provenance.settings["anchor"]))
    return solve_hierarchy(scale.problem), constraint


def test_four_refits_of_fifty_make_no_interval_and_no_probability(mostly_failed, tmp_path):
    """They were printed as [1.498, 1.517] with P(best) > 0.999."""
    models, best = mostly_failed.models, mostly_failed.models["model"][0]
    assert set(models["interval_state"]) == set(models["capability_state"]) == {"undefined"}
    for name in ("capability_low", "capability_high", "rank_low", "rank_high", "p_best"):
        assert models[name].null_count() == len(models)
    assert set(mostly_failed.benchmarks["interval_state"]) == {"undefined"}
    assert mostly_failed.pairs()["p_a_greater"].null_count() == len(models) - 1
    assert str(mostly_failed.capability(best)).endswith("[undefined]")
    mostly_failed.save(tmp_path)
    assert Scale.load(tmp_path).models.equals(models)
    assert Scale.load(tmp_path).replicates.n_failed == 46


def test_what_follows_from_a_scale_whose_refits_failed_says_so(mostly_failed):
    from howsure.stitch.forecasting.frontier import Dated, fit_trend

    assert mostly_failed.usable_replicates is None
    assert not fit_trend(Dated.of(mostly_failed)).has_replicates
    assert mostly_failed.without_replicates.startswith("46 of 50 refits of the scale failed, more than 10%")
    placed = mostly_failed.score(Scores(mostly_failed.problem.to_frame().head(4))).models
    assert set(placed["interval_state"]) == set(placed["capability_state"]) == {"undefined"}


def test_a_few_failed_refits_open_the_interval(scale):
    """5 of 100 failed: they count beyond both ends, so that an interval of 95 % has none and one of 80 % is wider."""
    drawn = draw_replicates(*solved(scale), 100, seed=3)
    parts = [part.copy() for part in (drawn.capability, drawn.difficulty, drawn.slope)]
    for part in parts:
        part[:5] = np.nan
    wide, narrow = (
        assemble(*solved(scale), ScaleReplicates.of(parts), level, scale.provenance) for level in (0.95, 0.8)
    )
    whole = assemble(*solved(scale), drawn, 0.8, scale.provenance)
    assert set(wide.models["interval_state"]) == set(wide.models["capability_state"]) == {"unbounded"}
    assert wide.models["capability_low"].null_count() == len(wide.models)
    assert (wide.models["rank_low"] == 1).all()
    assert set(narrow.models["interval_state"]) == {"ok"}
    assert (
        (narrow.models["capability_high"] - narrow.models["capability_low"])
        > (whole.models["capability_high"] - whole.models["capability_low"])
    ).mean() > 0.9
    assert narrow.models["p_best"].sum() == pytest.approx(1)


def test_pairs_of_neighbours_and_of_a_list(scale):
    neighbours = scale.pairs()
    assert len(neighbours) == 39
    assert (neighbours["difference"] >= 0).all()
    chosen = scale.models["model"].gather([30, 0, 10]).to_list()
    pairs = scale.pairs(chosen)
    assert len(pairs) == 3
    top = pairs.row(0, named=True)
    assert (top["a"], top["b"]) == (chosen[1], chosen[2])
    assert top["p_a_greater"] > 0.9
    assert top["difference_low"] < top["difference"] < top["difference_high"]
    apart = scale.capability(chosen[1]).value - scale.capability(chosen[0]).value
    assert pairs["difference"].max() == pytest.approx(apart)


@pytest.mark.parametrize("n_dimensions", [1, 2])
def test_a_saved_scale_is_the_same_again(world, n_dimensions, tmp_path):
    made = fit(world.scores, n_replicates=20, dimensions=n_dimensions)
    written = made.save(tmp_path)
    assert {path.name for path in written} == {
        "models.csv", "benchmarks.csv", "pairs.csv", "reference.csv", "scores.csv", "fit.json", "fit.result.zip",
    }  # fmt: skip
    again = Scale.load(tmp_path)
    assert again.models.equals(made.models)
    assert again.benchmarks.equals(made.benchmarks)
    assert again.pairs().equals(made.pairs())
    assert again.quality == made.quality
    assert again.prior == made.prior
    assert (again.noise.variance == made.noise.variance).all()
    assert (again.replicates.slope == made.replicates.slope).all()
    assert again.provenance.digest == made.provenance.digest
    model, benchmark = made.models["model"][0], made.benchmarks["benchmark"][0]
    assert again.predict(model, benchmark).equals(made.predict(model, benchmark))
    assert again.next_benchmark(model).equals(made.next_benchmark(model))
    assert again.equals(made)


def test_fit_json_tells_how_it_was_made(saved, scale):
    told = json.loads((saved / "fit.json").read_text())
    for key in (
        "n_observations",
        "n_models",
        "n_benchmarks",
        "cost",
        "rmse",
        "mae",
        "r2",
        "gradient_norm",
        "iterations",
    ):
        assert told[key] == getattr(scale.quality, key)
    assert told["converged"] is True
    made = told["provenance"]
    assert made["seed"] == 1
    assert made["settings"]["resample"] == "errors"
    assert made["digest"]


def test_saving_without_replicates_leaves_no_old_ones(saved, world, tmp_path):
    fit(world.scores, n_replicates=10).save(tmp_path)
    fit(world.scores, n_replicates=0).save(tmp_path)
    assert Scale.load(tmp_path).replicates is None


def test_a_folder_without_a_fit_is_told(tmp_path, saved):
    with pytest.raises(InputError, match=r"expected one file fit.result.zip, found none"):
        Scale.load(tmp_path)
    (tmp_path / "fit.result.zip").write_bytes((saved / "fit.result.zip").read_bytes()[:-100])
    with pytest.raises(InputError, match="fit.result.zip"):
        Scale.load(tmp_path)


# states


def with_model(world, name, score):
    """The world's table and one more model with the same score on every benchmark."""
    benchmarks = world.scores.frame.select("benchmark", "floor", "benchmark_date").unique().sort("benchmark")
    more = benchmarks.with_columns(model=pl.lit(name), score=pl.lit(score), date=pl.lit("2024-06-01").str.to_date())
    return Scores(pl.concat([world.scores.frame, more], how="diagonal_relaxed"))


def test_a_model_that_no_benchmark_challenges_is_above_range(world):
    scale = fit(with_model(world, "perfect", 1.0), n_replicates=60, error_factor=1.0)
    found = scale.capability("perfect")
    assert found.state == "above_range"
    assert found.high is None
    assert found.low is not None
    assert scale.models["model"][0] == "perfect"


def test_a_model_that_fails_everything_is_below_range(world):
    scale = fit(with_model(world, "hopeless", 0.0), n_replicates=60, error_factor=1.0)
    found = scale.capability("hopeless")
    assert found.state == "below_range"
    assert (found.low, scale.models["model"][-1]) == (None, "hopeless")


@pytest.mark.parametrize(("score", "state"), [(0.0, "above_range"), (1.0, "below_range"), (0.4, "undefined")])
def test_a_benchmark_on_which_all_score_the_same_has_a_state(world, score, state):
    rows = world.scores.frame
    flat = rows.unique("model", maintain_order=True).with_columns(
        benchmark=pl.lit("flat"), score=pl.lit(score), floor=0.0, benchmark_date=None
    )
    scale = fit(Scores(pl.concat([rows, flat])), n_replicates=50, error_factor=1.0)
    row = scale.benchmarks.filter(pl.col("benchmark") == "flat").row(0, named=True)
    assert row["difficulty_state"] == state
    assert (row["difficulty_high"] is None) == (state in ("above_range", "undefined"))
    assert (row["difficulty"] is None) == (state == "undefined")
    assert row["slope"] is None
    assert (row["difficulty_low"] is None) == (state in ("below_range", "undefined"))
    assert (scale.models["capability_state"] == "ok").all()


def test_a_benchmark_on_which_all_score_the_same_is_no_anchor(world):
    rows = world.scores.frame
    flat = rows.unique("model", maintain_order=True).with_columns(
        benchmark=pl.lit("flat"), score=0.5, floor=0.0, benchmark_date=None
    )
    with pytest.raises(OptionError, match=r"flat cannot anchor the scale, since its 40 scores are all 0.5"):
        fit(Scores(pl.concat([rows, flat])), anchor="flat")


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_a_tiny_table_gives_a_scale_with_wide_intervals(preset):
    rows = pl.DataFrame(
        {
            "model": np.repeat(["a", "b", "c"], 3),
            "benchmark": np.tile(["p", "q", "r"], 3),
            "score": [0.9, 0.8, 0.6, 0.7, 0.5, 0.4, 0.4, 0.3, 0.1],
            "date": np.repeat(["2024-01-01", "2024-02-01", "2024-03-01"], 3),
        }
    )
    scale = fit(Scores(rows), preset=preset, min_benchmarks=3, n_replicates=100)
    assert scale.quality.converged
    assert scale.models["model"].to_list() == ["a", "b", "c"]
    assert (scale.models["capability_high"] - scale.models["capability_low"]).min() > 0.01


def test_a_benchmark_of_two_models_has_too_few(world):
    rows = world.scores.frame
    few = (
        rows.unique("model", maintain_order=True)
        .head(2)
        .with_columns(benchmark=pl.lit("new"), floor=0.0, benchmark_date=None)
    )
    scale = fit(Scores(pl.concat([rows, few])))
    assert scale.benchmarks.filter(pl.col("benchmark") == "new")["difficulty_state"][0] == "too_few"


# options


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"preset": "papr"}, r"No preset called 'papr'. Did you mean 'paper'"),
        ({"anchor": "bench-1"}, r"No benchmark to anchor the scale called 'bench-1'. Did you mean 'bench-1\d'"),
        ({"anchor_models": {"nobody": 1, "basalt-1.0": 2}}, r"No model to anchor the scale called 'nobody'"),
        ({"anchor_models": {"a": 1}}, r"anchor_models names 1 models; two fix a scale"),
        ({"anchor": "bench-01", "anchor_models": {"a": 1, "b": 2}}, r"give one of them"),
        (
            {"preset": "eci", "min_benchmarks": 1},
            r"The preset 'eci' fixes the scale by Claude 3.5 Sonnet, which is not among",
        ),
        ({"anchor_slope": 0.0}, r"anchor_slope is 0; a slope is above 0"),
        ({"dimensions": 3}, r"dimensions is 3; the preset 'default' knows 1 or 2 dimensions"),
        ({"dimensions": 2, "preset": "paper"}, r"the preset 'paper' knows 1 dimension"),
        ({"n_replicates": -1}, r"n_replicates is -1"),
        ({"n_replicates": 10, "resample": "jackknife"}, r"No resampling called 'jackknife'"),
        ({"level": 1.5}, r"level 1.5 is not between 0 and 1"),
        ({"preset": "paper", "floors": {"bench-01": 0.25}}, r"The preset 'paper' uses no floors"),
    ],
)
def test_wrong_options_are_told(world, options, told):
    with pytest.raises(OptionError, match=told):
        fit(world.scores, **options)


def test_two_dimensions_add_a_trait_and_loadings(world):
    scale = fit(world.scores, dimensions=2, n_replicates=20)
    assert scale.models["trait"].null_count() == 0
    assert scale.benchmarks["loading"].null_count() == 0
    assert scale.quality.rmse < fit(world.scores).quality.rmse
    assert scale.replicates.trait.shape == (len(scale.replicates), 40)


def test_eci_takes_families_as_models_and_stretches_scores(world):
    families = world.models.group_by("family").agg(pl.col("capability").mean()).sort("capability")["family"]
    scale = fit(
        world.scores,
        preset="eci",
        anchor_models={families[0]: 130, families[-1]: 150},
        n_replicates=50,
        min_benchmarks=1,
    )
    assert set(scale.models["model"]) == set(families)
    assert scale.capability(families[-1]).value == pytest.approx(150)
    assert scale.provenance.settings["resample"] == "models"
    guessed = scale.benchmarks.filter(pl.col("floor") > 0)
    assert len(guessed)


def test_eci_from_epochs_files(shared):
    from howsure.sources import read

    scale = fit(read(shared / "data/epoch-2025-11"), preset="eci")
    assert scale.capability("Claude 3.5 Sonnet").value == pytest.approx(130)
    assert scale.capability("GPT-5").value == pytest.approx(150)
    published = pl.read_csv(shared / "data/epoch-2025-11/epoch_capabilities_index.csv", infer_schema_length=None)
    best = published.drop_nulls("ECI Score").group_by("Model name").agg(pl.col("ECI Score").max())
    both = best.join(scale.models, left_on="Model name", right_on="model")
    assert len(both) > 80
    assert np.corrcoef(both["ECI Score"], both["capability"])[0, 1] > 0.97


def test_what_the_paper_leaves_out_can_be_included(shared):
    from howsure.sources import read

    scores = read(shared / "data/epoch-2025-11")
    assert "BoolQ" not in fit(scores, preset="paper").problem.benchmarks
    benchmarks = [*fit(scores, preset="paper").problem.benchmarks, "BoolQ"]
    assert "BoolQ" in fit(scores, preset="paper", include=benchmarks).problem.benchmarks


def test_the_result_tells_its_size(scale):
    assert repr(scale).startswith("<Scale: 40 rows (model, capability, capability_low, capability_high, ")
    assert scale.to_frame().select(scale.models.columns).equals(scale.models)


def test_a_reversed_benchmark_is_flagged(world):
    """A benchmark on which a lower score is better passed as ok."""
    name = world.scores.frame.group_by("benchmark").len().sort("len", "benchmark")["benchmark"][-2]
    score = pl.when(pl.col("benchmark") == name).then(1 - pl.col("score")).otherwise("score")
    found = fit(Scores(world.scores.frame.with_columns(score=score, floor=pl.lit(None, pl.Float64))))
    assert found.benchmarks.filter(benchmark=name)["difficulty_state"][0] == "undefined"
    assert any(note.startswith(f"{name}: scores fall as capability rises (r = -0.") for note in found.provenance.notes)
    assert not any("scores fall" in note for note in fit(world.scores).provenance.notes)


def test_eci_excludes_superseded_benchmarks_and_says_that_floors_are_absent(world):
    rows = world.scores.frame.drop("floor")
    old, new = rows["benchmark"].unique().sort().to_list()[:2]
    rows = rows.with_columns(superseded_by=pl.when(pl.col("benchmark") == old).then(pl.lit(new)))
    best, worst = fit(world.scores).models["model"].gather([0, -1]).to_list()
    found = fit(
        Scores(rows),
        preset="eci",
        anchor_models={family(world, worst): 130, family(world, best): 150},
        min_benchmarks=2,
    )
    assert old not in found.problem.benchmarks
    assert f"Superseded benchmarks are excluded by the preset 'eci': {old} (by {new})." in found.provenance.notes
    assert any("no benchmark here has a floor: all are taken as 0" in note for note in found.provenance.notes)
    assert old in fit(Scores(rows)).problem.benchmarks


def test_floors_that_are_known_to_be_0_are_not_asked_for(world):
    """Epoch's tidy table is stretched from guessing at 0 already: giving floors would correct its scores twice."""
    rows = world.scores.frame.with_columns(floor=pl.lit(0.0))
    best, worst = fit(world.scores, n_replicates=0).models["model"].gather([0, -1]).to_list()
    ends = {family(world, worst): 130, family(world, best): 150}
    found = fit(Scores(rows), preset="eci", anchor_models=ends, min_benchmarks=2, n_replicates=0)
    assert not any("has a floor" in note for note in found.provenance.notes)


def family(world, model):
    return world.models.filter(model=model)["family"][0]


def test_the_default_anchor_is_one_on_which_models_differ(world):
    """The fit took it, and predict then refused the fit."""
    rows = world.scores.frame
    widest = rows.group_by("benchmark").len().sort("len", "benchmark")["benchmark"][-1]
    flat = pl.when(pl.col("benchmark") == widest).then(0.0).otherwise("score")
    found = fit(Scores(rows.with_columns(score=flat, floor=pl.lit(None, pl.Float64))))
    assert found.provenance.settings["anchor"] != widest
    assert len(found.predict(found.problem.models[0]).scores) == len(found.problem.benchmarks)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_scores_that_do_not_order_the_models_give_no_scale(score):
    rows = pl.DataFrame([(f"m{m}", f"b{b}", score) for m in range(5) for b in range(5)], ["model", "benchmark", "score"], orient="row")  # fmt: skip
    with pytest.raises(InputError, match="all models come out equally capable"):
        fit(rows)


def test_a_benchmark_that_lost_its_scores_anchors_nothing_and_says_nothing(world):
    """Held-out parts of a table may leave a benchmark without scores; a warning of numpy was printed."""
    problem = prepare_scores(world.scores)
    gone = most_used(problem)
    assert most_used(problem.keep(problem.benchmark != gone)) != gone
