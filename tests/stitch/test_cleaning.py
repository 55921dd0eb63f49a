"""From a table to the scores that are fitted, and every way in which a table does not do."""

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.stitch.cleaning import prepare_all_scores, prepare_scores
from howsure.stitch.model.problem import family_of, find_parts
from howsure.stitch.scale import prepared_for
from howsure.stitch.simulator import simulate
from howsure.tables import Scores


def table(*, n_models=5, n_benchmarks=4, seed=0, **columns):
    """Every model on every benchmark, dated by its number."""
    rng = np.random.default_rng(seed)
    model, benchmark = np.indices((n_models, n_benchmarks)).reshape(2, -1)
    rows = {
        "model": [f"m{i}" for i in model],
        "benchmark": [f"b{i}" for i in benchmark],
        "score": rng.random(len(model)).round(3),
        "date": [f"202{i}-01-01" for i in model],
    }
    return pl.DataFrame({**rows, **columns})


def test_arrays_are_sorted_whatever_the_order_of_the_rows():
    rows = table()
    one, other = prepare_scores(Scores(rows)), prepare_scores(Scores(rows.sample(fraction=1, shuffle=True, seed=1)))
    assert one.models == ("m0", "m1", "m2", "m3", "m4")
    assert (one.score == other.score).all()
    assert (one.model == np.repeat(np.arange(5), 4)).all()
    assert (one.benchmark == np.tile(np.arange(4), 5)).all()


def test_a_problem_and_its_frame_are_the_same():
    rows = table().with_columns(se=0.02, organisation=pl.lit("Amber"), compute=1e24, floor=0.1)
    problem = prepare_scores(Scores(rows))
    again = prepare_all_scores(Scores(problem.to_frame()))
    for name in ("score", "se", "floors", "ceilings", "compute", "dates"):
        assert (getattr(again, name) == getattr(problem, name)).all()
    assert again.families == problem.families
    assert again.organisations == problem.organisations == ("Amber",) * 5


def test_models_on_few_benchmarks_are_left_out_and_counted():
    rows = table().filter(~((pl.col("model") == "m4") & (pl.col("benchmark") != "b0")))
    problem = prepare_scores(Scores(rows))
    assert "m4" not in problem.models
    assert any("1 models were excluded: on fewer than 4 benchmarks" in note for note in problem.notes)
    assert "m4" in prepare_scores(Scores(rows), min_benchmarks=1).models


def test_since_leaves_out_older_and_undated_models():
    rows = table().with_columns(date=pl.when(pl.col("model") != "m3").then(pl.col("date")))
    problem = prepare_scores(Scores(rows), since="2021-01-01")
    assert problem.models == ("m1", "m2", "m4")
    assert any("1 models were excluded: before 2021-01-01" in note for note in problem.notes)
    assert any("1 models were excluded: no date" in note for note in problem.notes)


@pytest.mark.parametrize(
    ("policy", "score", "n", "se"),
    [("mean", 0.5, 4 / (1 / 2400 + 9 / 2400), np.hypot(0.01, 0.03) / 2), ("max", 0.6, 2400 / 9, 0.03), ("min", 0.4, 2400, 0.01)],
)  # fmt: skip
def test_duplicates_become_one(policy, score, n, se):
    rows = table().with_columns(se=0.02)
    pair = (pl.col("model") == "m1") & (pl.col("benchmark") == "b2")
    twice = rows.filter(pair)
    more = [twice.with_columns(score=0.4, se=0.01), twice.with_columns(score=0.6, se=0.03)]
    problem = prepare_scores(Scores(pl.concat([rows.filter(~pair), *more])), duplicates=policy)
    at = (problem.model == 1) & (problem.benchmark == 2)
    assert problem.score[at] == pytest.approx(score)
    assert problem.se[at] == pytest.approx(se)
    assert problem.n_effective[at] == pytest.approx(n)
    assert any(f"1 pairs had several scores, of which the {policy} counts" in note for note in problem.notes)


def test_a_mean_has_a_standard_error_only_if_all_have_one():
    rows = table().with_columns(se=0.02)
    more = rows.head(1).with_columns(se=pl.lit(None, pl.Float64))
    assert np.isnan(prepare_scores(Scores(pl.concat([rows, more]))).se[0])


def test_items_are_counted_or_follow_from_the_standard_error():
    rows = table().with_columns(score=0.5)
    assert prepare_scores(Scores(rows.with_columns(n_items=100))).n_effective == pytest.approx(100)
    assert prepare_scores(Scores(rows.with_columns(se=0.05))).n_effective == pytest.approx(100)
    # siblings resemble each other: the standard error knows it, the number of items does not
    assert prepare_scores(Scores(rows.with_columns(se=0.1, n_items=100))).n_effective == pytest.approx(25)
    assert np.isnan(prepare_scores(Scores(rows)).n_effective).all()


def test_a_standard_error_of_0_is_none():
    """Scores of 0 published as ±0.000: the other scores of the benchmark say how many items there were."""
    is_zero = (pl.col("benchmark") == "b1") & pl.col("model").is_in(["m0", "m1"])
    rows = table().with_columns(
        score=pl.when(is_zero).then(0.0).otherwise(0.5), se=pl.when(is_zero).then(0.0).otherwise(0.1)
    )
    problem = prepare_scores(Scores(rows))
    assert problem.n_effective == pytest.approx(25)
    assert (problem.sampling_variance(np.full(problem.n_observations, 0.3)) > 0).all()
    told = "2 scores state no standard error, or one of 0; the benchmark's other scores give their number of items: b1 about 25."
    assert told in problem.notes


def test_scores_at_an_end_of_unknown_size_are_told():
    rows = table().with_columns(score=pl.when(pl.col("benchmark") == "b1").then(0.0).otherwise("score"))
    notes = prepare_scores(Scores(rows)).notes
    assert any("5 scores are 0 or 1, or state a standard error of 0" in note and "(b1)" in note for note in notes)


def test_names_that_are_nearly_the_same_are_noted():
    rows = table().with_columns(model=pl.col("model").replace({"m0": "GPT-4o", "m1": "gpt-4o"}))
    told = "Names that differ only in case, spaces or punctuation count as different models: GPT-4o and gpt-4o."
    assert told in prepare_scores(Scores(rows)).notes


def test_impossible_dates_are_noted_and_do_not_count():
    rows = table().with_columns(
        date=pl.when(pl.col("model") == "m0").then(pl.date(2094, 1, 1)).otherwise(pl.date(2024, 1, 1))
    )
    problem = prepare_scores(Scores(rows))
    assert np.isnat(problem.dates).tolist() == [True, False, False, False, False]
    assert any("m0 (2094-01-01)" in note for note in problem.notes)


def test_include_and_exclude():
    scores = Scores(table())
    assert prepare_scores(scores, include=["b0", "b1", "b2"], min_benchmarks=1).benchmarks == ("b0", "b1", "b2")
    chosen = prepare_scores(scores, include=["m0", "m1", "m2", "b0", "b1", "b3"], min_benchmarks=1)
    assert (chosen.models, chosen.benchmarks) == (("m0", "m1", "m2"), ("b0", "b1", "b3"))
    assert "m3" not in prepare_scores(scores, exclude=["m3"]).models
    one_less = prepare_scores(scores, exclude=["m3@b1"], min_benchmarks=1)
    assert one_less.n_observations == 19
    assert any("1 of 20 scores were excluded as asked" in note for note in one_less.notes)


def test_names_may_hold_an_at_sign():
    rows = table().with_columns(model=pl.col("model") + "@2024")
    assert prepare_scores(Scores(rows), exclude=["m3@2024@b1"], min_benchmarks=1).n_observations == 19


def test_an_unknown_name_is_told_with_the_closest():
    with pytest.raises(OptionError, match=r"No model, benchmark or model@benchmark called 'm33'. Did you mean 'm3'"):
        prepare_scores(Scores(table()), exclude=["m33"])


def test_families_come_from_the_table_or_from_the_name():
    rows = table().with_columns(
        model=pl.col("model").replace({"m0": "gpt-5-2025-08-07_high", "m1": "gpt-5-2025-08-07_low"}),
        family=pl.when(pl.col("model") == "m2").then(pl.lit("Em")),
    )
    families = dict(zip((problem := prepare_scores(Scores(rows))).models, problem.families, strict=True))
    assert families["gpt-5-2025-08-07_high"] == families["gpt-5-2025-08-07_low"] == "gpt-5"
    assert families["m2"] == "Em"
    assert problem.family[0] == problem.family[1]


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet"),
        ("claude-3-7-sonnet-20250219_64K", "claude-3-7-sonnet"),
        ("gpt-4-0314", "gpt-4"),
        ("gemini-1.5-pro-002", "gemini-1.5-pro"),
        ("grok-3-mini-beta_high", "grok-3-mini"),
        ("Llama-2-70b-hf", "llama-2-70b"),
        ("o3", "o3"),
        ("-chat", "-chat"),
    ],
)
def test_family_of_a_version(model, family):
    assert family_of(model) == family


def test_families_as_models():
    rows = table(n_models=6).with_columns(family=pl.col("model").replace({"m1": "m0", "m5": "m4"}))
    problem = prepare_scores(Scores(rows), by_family=True, duplicates="max")
    assert problem.models == ("m0", "m2", "m3", "m4")
    assert problem.dates[0] == np.datetime64("2020-01-01")
    best = rows.filter(pl.col("model").is_in(["m0", "m1"]), pl.col("benchmark") == "b0")["score"].max()
    assert problem.score[0] == best
    assert "6 model versions were taken as 4 families." in problem.notes
    # a false date of one version puts a model on the frontier of the year before
    assert any("check it: m0 (2020-01-01, the next 2021-01-01), m4 (" in note for note in problem.notes)
    near = rows.with_columns(date=pl.lit("2024-01-01"))
    assert not any("check it" in note for note in prepare_scores(Scores(near), by_family=True).notes)


def test_floors_from_a_mapping_and_a_file(tmp_path):
    scores = Scores(table())
    assert prepare_scores(scores, floors={"b1": 0.25}).floors.tolist() == [0, 0.25, 0, 0]
    file = tmp_path / "floors.csv"
    file.write_text("benchmark,floor,ceiling\nb2,0.1,0.9\nb9,0.5,\n")
    problem = prepare_scores(scores, floors=file)
    assert (problem.floors[2], problem.ceilings[2]) == (0.1, 0.9)
    assert any("b9" in note for note in problem.notes)


def test_wrong_floors_are_told(tmp_path):
    scores = Scores(table())
    with pytest.raises(InputError, match=r"floor 1.5 is not between 0 and 1"):
        prepare_scores(scores, floors={"b1": 1.5})
    with pytest.raises(InputError, match=r"b1: floor 1 is not below ceiling 1"):
        prepare_scores(scores, floors={"b1": 1.0})
    file = tmp_path / "floors.csv"
    file.write_text("name,floor\nb2,0.1\n")
    with pytest.raises(InputError, match=r"no column 'benchmark'"):
        prepare_scores(scores, floors=file)


# what does not do


def test_contradicting_dates_are_told_with_both_values():
    rows = pl.concat([table(), table().head(1).with_columns(benchmark=pl.lit("b3"), date=pl.lit("2024-05-06"))])
    with pytest.raises(
        InputError,
        match=r"m0 has two different values of date: 2020-01-01 \(b0\) and 2024-05-06 \(b3\). Give each model one",
    ):
        prepare_scores(Scores(rows))


def test_contradicting_floors_are_told():
    rows = table().with_columns(floor=pl.when(pl.col("model") == "m2").then(0.2).otherwise(0.1))
    with pytest.raises(
        InputError, match=r"b0 has two different values of floor: 0.1 \(m0\) and 0.2 \(m2\). Give each benchmark one"
    ):
        prepare_scores(Scores(rows))


def test_one_benchmark_is_no_scale():
    with pytest.raises(InputError, match=r"Only one benchmark is left \(b0\)"):
        prepare_scores(Scores(table(n_models=12, n_benchmarks=1, date=[None] * 12)), min_benchmarks=1)


def test_three_rows_are_no_scale():
    with pytest.raises(InputError, match=r"Too little is left for a scale: 3 scores of 2 models on 2 benchmarks"):
        prepare_scores(Scores(table().filter(pl.col("model").is_in(["m0", "m1"])).gather([0, 1, 4])), min_benchmarks=1)


def test_no_model_is_covered():
    with pytest.raises(InputError, match=r"No model is on 9 benchmarks; the most is 4. Lower min_benchmarks"):
        prepare_scores(Scores(table()), min_benchmarks=9)


def test_no_model_is_recent():
    with pytest.raises(InputError, match=r"No model is dated 2030-01-01 or later"):
        prepare_scores(Scores(table()), since="2030-01-01")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"since": "last year"}, r"since 'last year' is not a date"),
        ({"duplicates": "median"}, r"No policy for duplicates called 'median'"),
        ({"min_benchmarks": 0}, r"min_benchmarks is 0"),
    ],
)
def test_wrong_options_are_told(options, told):
    with pytest.raises(OptionError, match=told):
        prepare_scores(Scores(table()), **options)


def test_parts_that_no_model_joins_are_named_with_what_would_join_them():
    other = table().with_columns(model="x" + pl.col("model"), benchmark="x" + pl.col("benchmark"))
    rows = pl.concat([table(), other.filter(pl.col("model") != "xm4")])
    with pytest.raises(InputError) as refused:
        prepare_scores(Scores(rows))
    told = str(refused.value)
    assert "fall into 2 groups that no model links" in told
    assert "5 models (m0, m1, m2, m3, … 5 in all) on b0, b1, b2, b3" in told
    assert "4 models (xm0, xm1, xm2, xm3) on xb0" in told
    assert "for example of m0 on xb0" in told
    assert "\n" not in told


def test_parts_largest_first():
    parts = find_parts(np.array([0, 1, 2]), np.array([1, 0, 0]), ["a", "b", "c"], ["p", "q"])
    assert [part.models for part in parts] == [("b", "c"), ("a",)]
    assert [part.benchmarks for part in parts] == [("p",), ("q",)]


def test_a_model_with_scores_on_a_benchmark_and_on_a_part_of_it_counts_once():
    """Public and private FrontierMath counted twice."""
    rows = simulate(n_models=20, n_benchmarks=6, density=0.9, seed=1).scores.frame.sort("model", "benchmark")
    part, whole, *_ = rows["benchmark"].unique().sort().to_list()
    rows = rows.with_columns(part_of=pl.when(pl.col("benchmark") == part).then(pl.lit(whole)))
    has_whole = set(rows.filter(benchmark=whole)["model"])
    both = rows.filter(pl.col("benchmark") == part, pl.col("model").is_in(list(has_whole)))
    alone = rows.filter(pl.col("benchmark") == part, ~pl.col("model").is_in(list(has_whole)))
    assert len(both)
    assert len(alone)
    once = prepared_for(Scores(rows), min_benchmarks=2)
    assert once.n_observations == len(rows) - len(both)
    assert set(once.to_frame().filter(benchmark=part)["model"]) == set(alone["model"])
    assert any(f"{len(both)} scores were excluded" in note and f"{part} beside {whole}" in note for note in once.notes)
    twice = prepared_for(Scores(rows), min_benchmarks=2, keep_overlaps=True)
    assert twice.n_observations == len(rows)
    assert any(f"{len(both)} scores count twice" in note for note in twice.notes)
    for preset in ("paper", "seed"):  # as published
        assert prepared_for(Scores(rows), preset=preset, min_benchmarks=2, since="").n_observations == len(rows)


def test_benchmarks_that_are_parts_of_each_other_are_refused():
    rows = simulate(n_models=20, n_benchmarks=6, density=0.9, seed=1).scores.frame
    one, two, *_ = rows["benchmark"].unique().sort().to_list()
    rows = rows.with_columns(part_of=pl.col("benchmark").replace_strict({one: two, two: one}, default=None))
    with pytest.raises(InputError, match=f"{one} and {two} are each named as a part of the other"):
        prepared_for(Scores(rows))


def test_a_benchmark_named_as_a_part_of_itself_stays():
    assert prepare_scores(Scores(table().with_columns(part_of="benchmark"))).n_observations == 20
