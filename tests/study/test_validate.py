"""Planted biases are found, real judges get their published statistics, and what cannot be told is a state."""

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from howsure.charts import to_spec
from howsure.errors import InputError, OptionError
from howsure.stats.judges import equal_terms
from howsure.study.analysis import analyze
from howsure.study.interval_coverage import draw_judged, simulate_prompts
from howsure.study.judging.comparison import OF_CATEGORIES, STATISTICS
from howsure.study.judging.labelling import estimate
from howsure.study.judging.ratings import Orders
from howsure.study.judging.simulator import simulate_judge
from howsure.study.judging.validation import Lengths, validate
from howsure.study.scoring.fidelity import ModelScores
from howsure.tables import Ratings
from study.judging import small_study

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "../shared"
EXAMPLE = {"pull": 0.4, "length": 0.5, "seed": 3}


def checked(world, **options):
    return validate(world.ratings, world.judge, orders=world.orders, lengths=world.lengths, **options)


@pytest.fixture(scope="module")
def example():
    return checked(simulate_judge(**EXAMPLE))


def statistics(found, dimension="voice"):
    return next(row for row in found.rows if row.dimension == dimension).statistics


def real(name, item, dimension, columns):
    """Columns of a real table in long form, one column a rater."""
    path = SHARED / f"data/ratings/{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"real data are not here: {path.name}")
    with gzip.open(path) as file:
        table = pl.read_csv(file.read(), infer_schema_length=None)
    table = table.with_columns(item=pl.concat_str([pl.col(name).cast(pl.String) for name in item], separator="/"))
    long = table.unpivot(index=["item", dimension], on=columns, variable_name="rater", value_name="value")
    return Ratings(long.rename({dimension: "dimension"}).drop_nulls("value"))


def reference():
    path = SHARED / "reference/reliability.json"
    if not path.exists():
        pytest.skip("reference statistics are absent")
    return json.loads(path.read_text())


def test_planted_sways_are_covered_and_a_straight_judge_is_cleared():
    inside = {"position_shift": 0, "length_excess": 0, "judge_too_high": 0}
    for seed in range(40):
        planted = {"pull": 0.3, "length": 0.5} if seed % 2 else {"pull": 0.0, "length": 0.0}
        world = simulate_judge(n_pairs=25, n_more=0, n_raters=2, is_rounded=False, seed=seed, **planted)
        judge = world.judge.frame.filter(dimension="vibe:target")
        people = world.ratings.frame.filter(dimension="vibe:target")
        found = statistics(
            validate(Ratings(people), Ratings(judge), orders=world.orders, lengths=world.lengths), "vibe:target"
        )
        truth = {
            "position_shift": 2 * 0.6 * planted["pull"],
            "length_excess": 0.6 * planted["length"],
            "judge_too_high": 0,
        }
        for name, value in truth.items():
            inside[name] += found[name].covers(value)
    assert min(inside.values()) >= 34, inside


def test_every_figure_is_there_with_its_interval_or_state(example):
    for row in example.rows:
        assert set(row.statistics) == set(STATISTICS)
    frame = example.to_frame()
    assert len(frame) == len(example.rows) * len(STATISTICS)
    assert frame.filter(pl.col("value").is_null(), pl.col("value_state") == "ok").is_empty()


def test_the_index_is_a_dimension_and_slots_are_told_by_its_parts(example):
    assert [row.dimension for row in example.rows] == ["voice", "vibe:target", "vibe:comparison", "pfi"]
    assert statistics(example, "pfi")["position_shift"].state == "undefined"
    assert example.rows[-1].scale == (0, 1)


def test_a_pull_to_slot_one_is_seen_on_each_dimension_and_a_love_of_length_from_both_sides(example):
    for dimension in ("voice", "vibe:target", "vibe:comparison"):
        assert statistics(example, dimension)["position_shift"].low > 0
    assert statistics(example, "vibe:target")["length_excess"].low > 0
    assert statistics(example, "vibe:comparison")["length_excess"].low > 0, "the longer rival gains too"


def test_items_of_the_judge_alone_sharpen_the_mean():
    few = checked(simulate_judge(n_pairs=30, n_more=400, n_raters=6, noise=0.3, judge_noise=0.3, seed=1))
    found = statistics(few)
    assert few.rows[0].n_judge_only == 400
    assert found["mean_powered"].width < 0.7 * found["mean_people"].width
    assert found["rate_corrected"].state == "ok"
    none = statistics(checked(simulate_judge(n_more=0)))
    assert none["mean_powered"].state == none["rate_corrected"].state == "too_few"
    assert "let it judge others" in none["mean_powered"].reason


@pytest.mark.parametrize("is_binary", [False, True])
def test_the_mean_of_all_items_is_that_of_study_estimate(is_binary):
    """PPI++ by one function: for labels of 0 and 1 an exact interval with the effective number of labels."""
    label, judged, *_ = draw_judged(np.random.default_rng(2), 200, is_binary=is_binary)
    names = ["rater", "item", "dimension", "value"]
    people = pl.DataFrame([(f"r{k}", f"i{i}", "q", label[i]) for i in range(30) for k in range(2)], names, orient="row")
    judge = pl.DataFrame([("j", f"i{i}", "q", judged[i, 0]) for i in range(200)], names, orient="row")
    mine = statistics(validate(people, judge), "q")["mean_powered"]
    other = estimate(people, judge).rows.row(0, named=True)
    assert (mine.value, mine.low, mine.high) == pytest.approx((other["mean"], other["mean_low"], other["mean_high"]))


def test_few_items_or_raters_leave_the_test_undecided_and_say_why():
    (row, *_) = checked(simulate_judge(n_pairs=29, n_raters=4)).rows
    assert (row.may_replace, row.statistics["winning_rate"].state) == (None, "too_few")
    assert "29 items" in row.sentence
    (row, *_) = checked(simulate_judge(n_pairs=30, n_raters=2)).rows
    assert row.may_replace is None
    assert "3 such raters are needed" in row.sentence


def test_a_good_judge_may_replace_and_noise_may_not():
    good = checked(simulate_judge(n_pairs=60, judge_noise=0.2, noise=0.8, seed=2)).rows[0]
    bad = checked(simulate_judge(n_pairs=60, judge_noise=3, noise=0.3, seed=2)).rows[0]
    assert (good.may_replace, bad.may_replace) == (True, False)
    assert "may replace a rater; it passes the alternative-annotator test against 4 of 4" in good.sentence
    assert "may not replace" in bad.sentence
    assert bad.statistics["judge_minus_people"].high < 0


def test_a_pass_that_a_constant_would_get_too_is_not_praised():
    rng = np.random.default_rng(1)
    rows = [(f"r{r}", f"i{i}", "q", 5.0 if rng.random() < 0.9 else 4.0) for r in range(3) for i in range(80)]
    people = Ratings(pl.DataFrame(rows, schema=["rater", "item", "dimension", "value"], orient="row"))
    judge = Ratings(pl.DataFrame({"rater": "j", "item": [f"i{i}" for i in range(80)], "dimension": "q", "value": 5.0}))
    (row,) = validate(people, judge).rows
    assert row.may_replace
    assert row.is_easy
    assert "A judge that always gives 5 passes too" in row.sentence
    assert row.statistics["correlation"].state == "undefined"


def test_summeval_judges_get_their_published_statistics():
    published = reference()["summeval"]
    source = ("summeval_raters_judges", ["doc", "system"], "dimension")
    people, judge = real(*source, [f"expert{n}" for n in range(3)]), real(*source, ["judge_gpt-4o"])
    found = validate(people, judge)
    for row in found.rows:
        told = row.statistics
        assert told["correlation"].value == pytest.approx(
            published["gpt4o_vs_mean_human_pearson"][row.dimension], abs=5e-4
        )
        # all raters rated all items, so the reliability of their mean is Cronbach's alpha
        assert told["noise_ceiling"].value ** 2 == pytest.approx(published["cronbach_alpha"][row.dimension], abs=6e-4)
        assert told["disattenuated"].value == pytest.approx(told["correlation"].value / told["noise_ceiling"].value)
        assert (row.n_items, row.n_raters) == (1600, 3)
    coherence = next(row for row in found.rows if row.dimension == "coherence")
    assert coherence.statistics["judge_minus_people"].high < 0, "experts agree better with one another"
    assert coherence.is_easy, "always saying 3 passes too"


def test_hannas_raters_are_unidentified_and_reward_length_themselves():
    published = reference()["hanna_icc_1k_by_criterion"]
    source = ("hanna_raters_metrics", ["story_id"], "criterion")
    people, judge = real(*source, ["rater1", "rater2", "rater3"]), real(*source, ["judge_ChatGPT"])
    length = real(*source, ["text_length"]).frame.unique("item").select("item", length="value")
    found = validate(people, judge, lengths=Lengths(length), rater_effects="unidentified")
    for row in found.rows:
        ceiling, expected = row.statistics["noise_ceiling"], published[row.dimension]
        if expected <= 0:
            assert ceiling.state == "undefined"
        else:
            assert ceiling.value**2 == pytest.approx(expected, abs=1e-6)
    engagement = statistics(found, "Engagement")
    assert engagement["length_judge"].low > 0
    assert engagement["length_excess"].high < 0, "people reward length more than this judge"


def wax():
    """Categories (codes of 16 classes) by 8 people and 6 model judges, and what the test's authors compute from them."""
    paths = [SHARED / f"data/ratings/wax_{who}.csv" for who in ("people", "judges")]
    published = SHARED / "reference/alt_test_wax.json"
    if not all(path.exists() for path in (*paths, published)):
        pytest.skip("real data are not here: wax")
    return *(Ratings(path) for path in paths), json.loads(published.read_text())


def test_categories_are_compared_by_exact_match_as_the_authors_of_the_test_do():
    people, judges, published = wax()
    found = validate(people, judges, kind="match", epsilon=0.1)
    assert found.judges == list(published)
    for row in found.rows:
        told = published[row.judge]
        assert row.statistics["winning_rate"].value == told["winning_rate"]
        assert row.statistics["advantage"].value == pytest.approx(told["average_advantage"], abs=1e-12)
        assert row.may_replace is (told["winning_rate"] >= 0.5)


def test_no_average_or_correlation_of_category_codes_is_shown(tmp_path, command):
    people, judges, _ = wax()
    found = validate(people, judges, kind="match", epsilon=0.1)
    for row in found.rows:
        shown = {name for name, estimate in row.statistics.items() if estimate.value is not None}
        assert shown <= set(OF_CATEGORIES)
        assert row.statistics["mean_people"].state == "undefined"
    assert found.to_frame("calibration").is_empty()
    one = judges.frame.filter(rater="gpt-4o-mini")
    people.write(tmp_path / "people.csv"), Ratings(one).write(tmp_path / "judge.csv")
    told = command(
        "study", "validate", tmp_path / "people.csv", tmp_path / "judge.csv", "--kind", "match", "-o", tmp_path
    )
    assert told.returncode == 0, told.stderr
    assert "judge − people" not in told.stdout
    assert "averages and correlations of their codes are meaningless" in told.stderr
    assert "Calibration" not in (tmp_path / "validate_report.html").read_text()


def clustered(seed):
    """Ratings of several responses to each prompt, with errors of judge and raters that responses to one prompt share."""
    return simulate_prompts(np.random.default_rng(seed))[:3]


def test_with_clusters_of_items_judge_minus_people_covers_the_true_difference():
    covered = {"items": 0, "prompts": 0}
    for seed in range(60):
        judge, people, prompt, truth = simulate_prompts(np.random.default_rng(seed))
        covered["items"] += equal_terms(judge, people).difference.covers(truth)
        covered["prompts"] += equal_terms(judge, people, clusters=prompt).difference.covers(truth)
    assert covered["items"] <= 51, covered
    assert covered["prompts"] >= 53, covered  # 57 expected, standard deviation 1.7


def long_table(values, prompts, rater):
    items = [f"i{number}" for number in range(len(values))]
    rows = {"rater": rater, "item": items, "dimension": "q", "value": np.clip(values, -3, 3), "prompt": prompts}
    return pl.DataFrame(rows, schema_overrides={"prompt": pl.String}, strict=False)


def test_a_column_names_the_clusters_and_every_interval_uses_them():
    judge, people, prompt = clustered(1)
    prompts = [f"p{number}" for number in prompt]
    raters = Ratings(pl.concat([long_table(column, prompts, f"r{at}") for at, column in enumerate(people.T)]))
    judged = Ratings(long_table(judge, prompts, "j"))
    by_item, by_prompt = (validate(raters, judged, cluster=name).rows[0] for name in (None, "prompt"))
    for name in ("judge_minus_people", "correlation", "noise_ceiling", "mean_people", "mean_judge", "rate_people"):
        one, other = by_item.statistics[name], by_prompt.statistics[name]
        assert one.value == pytest.approx(other.value)
        assert other.width > 1.1 * one.width, name
    assert by_prompt.statistics["calibration_error"].width > by_item.statistics["calibration_error"].width
    lone = Ratings(judged.frame.drop("prompt"))
    assert validate(raters, lone, cluster="prompt").rows[0].statistics == by_prompt.statistics


def test_clusters_that_are_unclear_are_refused():
    judge, people, prompt = clustered(2)
    prompts = [f"p{number}" for number in prompt]
    raters = Ratings(long_table(people[:, 0], prompts, "r"))
    with pytest.raises(OptionError, match="No column to cluster by called 'family'"):
        validate(raters, raters, cluster="family")
    other = Ratings(long_table(judge, [*prompts[:-1], "another"], "j"))
    with pytest.raises(InputError, match="'i99' has two values in column 'prompt'"):
        validate(raters, other, cluster="prompt")
    lacking = Ratings(long_table(people[:, 0], [*prompts[:-1], None], "r"))
    with pytest.raises(InputError, match="1 items have no value in column 'prompt': i99"):
        validate(lacking, Ratings(lacking.frame.drop("prompt")), cluster="prompt")


def test_analyze_and_validate_give_the_same_noise_ceiling_on_the_same_items():
    """Only 8 of 40 rated items have scores, and they differ less than the others do."""
    rng = np.random.default_rng(5)
    quality = np.where(np.arange(40) < 8, 0.4, 1.5) * rng.normal(size=40)
    tables = [
        pl.DataFrame({"rater": f"r{at}", "item": [f"i{n:02d}" for n in range(40)], "dimension": "quality", "value": v})
        for at, v in enumerate(np.clip(3 + quality + 0.4 * rng.normal(size=(4, 40)), 1, 5))
    ]
    people, scores = Ratings(pl.concat(tables)), np.clip(0.5 + quality[:8], 0, 1)
    known = ModelScores(pl.DataFrame({"item": [f"i{n:02d}" for n in range(8)], "score": scores}))
    judge = Ratings(
        known.frame.select(pl.lit("j").alias("rater"), "item", pl.lit("quality").alias("dimension"), value="score")
    )
    analyzed = analyze(people, model_scores=known).findings.statistics
    (row,) = validate(people, judge).rows
    for mine, theirs in (
        ("noise_ceiling", "noise_ceiling"),
        ("pearson", "correlation"),
        ("pearson_disattenuated", "disattenuated"),
    ):
        one, other = analyzed[mine], row.statistics[theirs]
        for end in ("value", "low", "high"):
            assert getattr(one, end) == pytest.approx(getattr(other, end), rel=1e-9), (mine, end)
        assert (one.state, one.reason) == (other.state, other.reason)


def test_a_study_gives_scales_and_lengths():
    study = small_study(6)
    rows = [
        (rater, pair.id, "vibe:target", float(1 + (number + shift) % 3))
        for rater, shift in (("a", 0), ("b", 1))
        for number, pair in enumerate(study.pairs)
    ]
    people = Ratings(pl.DataFrame(rows, schema=["rater", "item", "dimension", "value"], orient="row"))
    judge = people.frame.filter(rater="a").with_columns(rater=pl.lit("m"))
    longer = study.model_copy(
        update={"pairs": tuple(p.model_copy(update={"target": "word " * 2**n}) for n, p in enumerate(study.pairs))}
    )
    (row,) = validate(people, Ratings(judge), study=longer).rows
    assert row.scale == (1, 3)
    assert row.statistics["length_judge"].value == pytest.approx(np.polyfit(range(6), [1, 2, 3, 1, 2, 3], 1)[0])


def test_each_judge_has_rows_of_its_own_and_missing_dimensions_none():
    world = simulate_judge(n_more=0)
    other = world.judge.frame.filter(dimension="voice").with_columns(rater=pl.lit("other"))
    found = validate(world.ratings, Ratings(pl.concat([world.judge.frame, other])))
    assert found.judges == ["toy-judge", "other"]
    assert [row.dimension for row in found.of("other")] == ["voice"]
    assert "Position bias is unknown" in found.provenance.notes[-1]


def test_repeats_attention_and_guesses_are_left_out():
    world = simulate_judge(n_pairs=10, n_more=0)
    extra = pl.DataFrame(
        {
            "rater": "rater-1",
            "item": ["pair-01/again", "attention/a", "pair-01"],
            "dimension": ["voice", "attention", "guess"],
            "value": [2.0, 1.0, 1.0],
        }
    )
    more = Ratings(pl.concat([world.ratings.frame, extra]))
    assert statistics(validate(more, world.judge)) == statistics(validate(world.ratings, world.judge))


def test_what_does_not_fit_is_refused():
    world = simulate_judge(n_pairs=5)
    other = Ratings(world.judge.frame.with_columns(dimension=pl.lit("taste") + pl.col("dimension")))
    with pytest.raises(InputError, match="share no dimension"):
        validate(world.ratings, other)
    with pytest.raises(OptionError, match="No rater effects called"):
        checked(world, rater_effects="random")
    with pytest.raises(OptionError, match="No measure called"):
        checked(world, kind="cosine")


def test_orders_are_checked(tmp_path):
    path = tmp_path / "judge_orders.csv"
    path.write_text("rater,item,dimension,target_slot,value,failure\nm,a,voice,3,1,\n")
    with pytest.raises(InputError, match="line 2: target_slot 3 is not between 1 and 2"):
        Orders(path)
    path.write_text("rater,item,dimension,target_slot,value,failure\nm,a,voice,1,1,\nm,a,voice,2,,format\n")
    assert Orders(path).frame["value"].to_list() == [1, None]


def test_the_example_is_what_the_simulator_draws():
    world = simulate_judge(**EXAMPLE)
    folder = ROOT / "examples/study/judge"
    for drawn, kept in (
        (world.ratings, Ratings(folder / "ratings.csv")),
        (world.judge, Ratings(folder / "judge.csv")),
        (world.orders, Orders(folder / "judge_orders.csv")),
        (world.lengths, Lengths(folder / "lengths.csv")),
    ):
        assert_frame_equal(drawn.frame, kept.frame, rel_tol=1e-9)


def test_charts_say_what_they_show(example):
    charts = example.charts()
    assert list(charts) == ["agreement", "bias", "calibration"]
    for chart in charts.values():
        description = to_spec(chart)["description"]
        assert "n = 40 items" in description
        assert "95 % interval" in description
    few = checked(simulate_judge(n_pairs=6, n_more=0))
    assert "calibration" not in few.charts()


def test_the_command_writes_tables_charts_and_a_page(tmp_path, command):
    folder = ROOT / "examples/study/judge"
    line = ("study", "validate", folder / "ratings.csv", folder / "judge.csv", "--lengths", folder / "lengths.csv")
    told = command(*line, "-o", tmp_path, "--json")
    assert told.returncode == 0, told.stderr
    voice = json.loads(told.stdout)["judges"]["toy-judge"]["voice"]
    assert voice["may_replace"] is True
    assert voice["statistics"]["position_shift"]["low"] > 0
    written = {path.name for path in tmp_path.iterdir()}
    assert {"validation.json", "validation.csv", "calibration.csv", "validate_report.html", "agreement.png"} <= written
    page = (tmp_path / "validate_report.html").read_text()
    assert "passes the alternative-annotator test against" in page
    assert "bias and calibration" in page


def test_a_file_that_is_not_there_is_told_in_one_line(tmp_path, command):
    told = command("study", "validate", tmp_path / "no.csv", tmp_path / "no.csv")
    assert (told.returncode, told.stderr.count("\n")) == (2, 1)
