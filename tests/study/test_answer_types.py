"""Answers by their type: recognised from the columns, systems compared, agreement chosen by scale and design, through Python and the command."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure import study
from howsure.errors import HowsureError, InputError, OptionError
from howsure.stats.latent_classes import simulate_labels
from howsure.stats.means import mean
from howsure.stats.ordinal import simulate_ordinal
from howsure.stats.paired_comparisons import simulate_comparisons, simulate_rankings
from howsure.stats.spans import simulate_spans
from howsure.study.answer_types import AnswerAnalysis, mean_rating, read_answers
from howsure.study.scoring.fidelity import few_raters
from howsure.study.sections import answer_tables
from howsure.tables import Ratings, Votes

ROOT = Path(__file__).parents[2]


def likert(seed=1, **options):
    drawn = simulate_ordinal(**{"n_items": 12, "n_raters": 5, "group_effects": (0, 2.5)} | options, seed=seed)
    names = {"rater": "r", "item": "p", "group": "s"}
    columns = {name: [f"{letter}{one}" for one in drawn[name]] for name, letter in names.items()}
    frame = pl.DataFrame({**columns, "dimension": "quality", "value": drawn["value"]})
    return frame.rename({"group": "system"})


def labels(seed=2, n=40):
    drawn, _ = simulate_labels(n_items=n, seed=seed)
    words = ("calm", "angry", "sad")
    rows = [(f"r{r}", f"t{i}", "tone", words[int(drawn[i, r])]) for i in range(n) for r in range(4)]
    return pl.DataFrame(rows, schema=["rater", "item", "dimension", "value"], orient="row")


def votes(n=240):
    drawn = simulate_comparisons([0.8, 0, -0.8], n, np.random.default_rng(0), tie=-0.5, position=0.4, n_voters=10)
    sides = {name: [f"s{one}" for one in getattr(drawn, name)] for name in ("a", "b")}
    voter = [f"v{one}" for one in drawn.voter]
    return pl.DataFrame({"voter": voter, "item": [f"q{k % 20}" for k in range(n)], **sides, "outcome": drawn.outcome})


def rankings():
    ranks = simulate_rankings([1.0, 0, -1.0], 60, np.random.default_rng(1))
    rows = [(f"r{k % 6}", f"q{k // 6}", f"s{j}", ranks[k, j]) for k in range(60) for j in range(3)]
    return pl.DataFrame(rows, schema=["rater", "item", "system", "rank"], orient="row")


def spans():
    marked, lengths = simulate_spans(n_items=12, seed=3)
    rows = [
        (rater, item, one[2] if one else None, one[0] if one else None, one[1] if one else None, lengths[item])
        for item, by_rater in marked.items()
        for rater, of in by_rater.items()
        for one in (of or [None])
    ]
    return pl.DataFrame(rows, schema=["rater", "item", "label", "start", "end", "length"], orient="row")


def test_the_type_is_recognised_from_the_columns():
    kinds = {
        "ratings": likert(),
        "categories": labels(),
        "comparisons": votes(),
        "rankings": rankings(),
        "spans": spans(),
    }
    assert {name: read_answers(frame)[0] for name, frame in kinds.items()} == {name: name for name in kinds}
    assert read_answers(likert().drop("system").unique(["rater", "item"]))[0] is None
    for name, frame in kinds.items():
        found = study.analyze(frame)
        assert isinstance(found, AnswerAnalysis)
        assert found.answers == name


def test_ratings_of_systems_have_means_differences_and_severity():
    found = study.analyze(likert())
    apart = found.to_frame("differences")
    assert apart["statistic"].to_list() == ["difference of means", "log odds ratio (ordinal model)"]
    assert (apart["difference"] < 0).all()
    assert (apart["p_holm"] < 0.05).all()
    assert found.to_frame("raters")["rater"].to_list() == [f"r{n}" for n in range(5)]
    reported = found.to_frame("agreement").filter(is_reported="yes")["coefficient"].to_list()
    assert reported == ["icc_2_k"]
    assert "severity count as error" in found.reasons["quality"]


def test_the_coefficient_follows_scale_and_design():
    frame = likert()
    for options, name in (
        ({"rater_effects": "fixed"}, "icc_3_k"),
        ({"rater_effects": "unidentified"}, "icc_1_k"),
        ({"scale": "ordinal"}, "krippendorff_ordinal"),
        ({"answers": "categories"}, "krippendorff_nominal"),
    ):
        found = study.analyze(frame, **options)
        assert found.to_frame("agreement").filter(is_reported="yes")["coefficient"].to_list() == [name]
    skewed = labels().with_columns(
        pl.when(pl.int_range(pl.len()) % 9 > 0).then(pl.lit("calm")).otherwise("value").alias("value")
    )
    assert "same one" in study.analyze(skewed).reasons["tone"]


def test_categories_have_true_labels_accuracies_and_confusion():
    found = study.analyze(labels())
    assert len(found.to_frame("labels")) == 40
    assert found.to_frame("raters")["value"].to_list() == sorted(found.to_frame("raters")["value"], reverse=True)
    sums = found.to_frame("confusion").group_by("rater", "true").agg(pl.col("probability").sum())
    assert sums["probability"].to_list() == pytest.approx([1.0] * 12)
    few = study.analyze(labels().filter(pl.col("rater").is_in(["r0", "r1"])))
    assert any("no model of true labels" in note for note in few.provenance.notes)
    assert few.to_frame("labels")["probability"].null_count() == 40


def test_comparisons_have_strengths_ties_and_position():
    found = study.analyze(Votes(votes()))
    systems = found.to_frame("systems")
    strength = dict(
        systems.filter(pl.col("statistic").str.starts_with("strength")).select("system", "value").iter_rows()
    )
    assert strength["s0"] > strength["s1"] > strength["s2"]
    assert systems.filter(pl.col("statistic").str.contains("shown first"))["value"][0] > 0
    assert "Intervals of strengths are for other voters and other items." in found.provenance.notes
    ranked = study.analyze(rankings())
    assert ranked.to_frame("systems")["system"][0] == "s0"
    assert ranked.to_frame("agreement")["coefficient"].to_list() == ["kendall_tau"]


def test_the_command_takes_any_csv_and_writes_what_it_says(command, tmp_path):
    labels().rename({"rater": "annotator", "item": "doc_id", "value": "label"}).write_csv(tmp_path / "labels.csv")
    told = command("study", "analyze", tmp_path / "labels.csv", "-o", tmp_path / "out", "--json")
    assert told.returncode == 0, told.stderr
    shown = json.loads(told.stdout)
    assert shown["answers"] == "categories"
    assert {"agreement.csv", "labels.csv", "confusion.csv", "answers.json", "analyze_report.html"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
    wrong = command("study", "analyze", tmp_path / "labels.csv", "--answers", "spans")
    assert wrong.returncode == 2
    assert "The table contains categories, not spans." in wrong.stderr


def test_several_systems_per_item_are_several_answers_in_every_verb():
    frame = likert()
    assert len(Ratings(frame)) == len(frame), "one rating per rater, item, dimension and system"
    found = study.reliability(frame)
    assert found.n_items == 24
    with pytest.raises(HowsureError, match="is there 2 times"):
        Ratings(pl.concat([frame, frame.head(1)]))


def test_wrong_options_are_told():
    with pytest.raises(OptionError, match="No type of answers called 'stars'"):
        study.analyze(labels(), answers="stars")
    with pytest.raises(OptionError, match="No dimension called 'mood'"):
        study.analyze(labels(), dimension="mood")
    with pytest.raises(OptionError, match="whose order is unknown"):
        study.reliability(labels(), scale="ordinal")


def grouped(seed=4, n_clusters=8, size=4):
    """Numbers whose items differ between clusters only: one dimension, no system."""
    rng = np.random.default_rng(seed)
    level = rng.normal(0, 1, n_clusters)
    rows = [
        (f"r{r}", f"p{c}-{k}", "quality", float(np.clip(np.round(3 + level[c] + rng.normal(0, 0.5)), 1, 5)), f"p{c}")
        for r in range(4)
        for c in range(n_clusters)
        for k in range(size)
    ]
    return pl.DataFrame(rows, schema=["rater", "item", "dimension", "value", "cluster"], orient="row")


def test_an_own_column_cluster_is_used_by_every_interval_and_told():
    frame = grouped()
    with_it, without = study.analyze(frame), study.analyze(frame.drop("cluster"))
    assert any("groups 32 items into 8 clusters" in note for note in with_it.provenance.notes)
    for table in ("systems", "agreement"):
        wide, narrow = (one.to_frame(table).row(0, named=True) for one in (with_it, without))
        assert wide["value"] == pytest.approx(narrow["value"])
        assert wide["value_high"] - wide["value_low"] > 1.1 * (narrow["value_high"] - narrow["value_low"])
    found = study.reliability(frame)
    row = with_it.to_frame("agreement").filter(pl.col("coefficient") == "icc_2_k").row(0, named=True)
    assert found.coefficients["icc_2_k"].low == pytest.approx(row["value_low"])
    assert found.provenance.settings["cluster"] == "cluster"
    gaps = frame.with_columns(pl.when(pl.col("item") == "p0-0").then(None).otherwise("cluster").alias("cluster"))
    unclear = study.reliability(gaps)
    assert unclear.provenance.settings["cluster"] is None
    assert any("Column cluster is not used" in note for note in unclear.provenance.notes)


def test_clusters_of_the_tables_reach_judges_and_estimates():
    frame = grouped()
    judge = frame.filter(pl.col("rater") == "r0").with_columns(pl.lit("judge").alias("rater"))
    people = frame.filter(pl.col("rater") != "r0")
    named = [one.rename({"cluster": "prompt"}) for one in (people, judge)]
    own, asked = study.validate(people, judge), study.validate(*named, cluster="prompt")
    assert own.rows[0].statistics == asked.rows[0].statistics
    labelled = people.filter(pl.col("item").str.ends_with("-0") | pl.col("item").str.ends_with("-1"))
    found = study.estimate(labelled, judge), study.estimate(labelled, named[1], cluster="prompt")
    assert found[0].to_frame("estimates").equals(found[1].to_frame("estimates"))


@pytest.mark.parametrize(
    ("preset", "kinds"),
    [
        ("likert", {"ratings": "ratings"}),
        ("pairwise", {"votes": "comparisons"}),
        ("ranking", {"rankings": "rankings", "ratings": "ratings"}),
        ("labels", {"categories": "categories", "spans": "spans", "ratings": "ratings"}),
    ],
)
def test_what_is_collected_from_a_preset_can_be_analysed(preset, kinds, tmp_path):
    """Also with items that are shown again: their answers are told and not counted."""
    from howsure.study import presets
    from howsure.study.packet import building, simulated_raters
    from howsure.study.scoring.collection import collect

    given = study.read_study(presets.init(tmp_path / "study", preset)[0])
    items = given.model_copy(update={"repeats": 2})
    building.build(items, n_raters=6, salt="0123456789abcdef").save(tmp_path / "packet")
    simulated_raters.rate_items(tmp_path / "packet", seed=1).save_answers(tmp_path / "answers")
    collect([tmp_path / "answers"], tmp_path / "packet/key.json").save(tmp_path / "out")
    for name, answers in kinds.items():
        path = tmp_path / f"out/{name}.csv"
        found = study.analyze(path)
        assert found.answers == answers
        assert len(found.to_frame("agreement"))
        assert any("shown again are excluded" in note for note in found.provenance.notes)
        assert not any("Lengths of the texts" in note for note in found.provenance.notes)
        frame = pl.read_csv(path)
        first = ~pl.col("is_repeat") if "is_repeat" in frame.columns else ~pl.col("item").str.ends_with("/again")
        once = study.analyze(frame.filter(first))
        assert all(found.to_frame(one).equals(once.to_frame(one)) for one in once.tables)


# who is excluded


def _answered(n_raters=8, n_items=12, seed=0):
    """Ratings from 1 to 5 of two systems; the last rater ticks 3 everywhere."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"r{rater}", f"i{item}/{system}", "q", 3.0 if rater == n_raters - 1 else float(rng.integers(1, 6)), system)
        for rater in range(n_raters)
        for item in range(n_items)
        for system in "ab"
    ]
    return pl.DataFrame(rows, ["rater", "item", "dimension", "value", "system"], orient="row")


def _known(n_raters=8, **changes):
    rows = [
        {"rater": f"r{n}", "minutes": 8.0, "complete": 1.0, "quiz": None, "attention": 1.0} for n in range(n_raters)
    ]
    for rater, change in changes.items():
        rows[int(rater[1:])] |= change
    return pl.DataFrame(rows, infer_schema_length=None)


def test_raters_who_broke_a_rule_are_excluded_and_counted():
    known = _known(r0={"attention": 0.0}, r1={"minutes": 0.5}, r2={"complete": 0.5, "attention": 0.0})
    found = study.analyze(_answered(), answers="ratings", raters=known)
    broken = {(row["rater"], row["rule"]) for row in found.to_frame("exclusions").to_dicts()}
    alone = {("r0", "attention"), ("r1", "minutes"), ("r2", "complete"), ("r2", "attention"), ("r7", "straight-lining")}
    assert broken == alone
    assert (
        found.sentences[0]
        == "4 of 8 raters are excluded by rule (attention 2, minutes 1, complete 1, straight-lining 1)."
    )
    assert set(found.to_frame("raters")["rater"]) == {"r3", "r4", "r5", "r6"}
    everyone = study.analyze(_answered(), answers="ratings", raters=known, all_raters=True)
    assert "exclusions" not in everyone.tables
    assert everyone.to_frame("raters")["rater"].n_unique() == 8
    with pytest.raises(InputError, match="All 8 raters broke a rule"):
        study.analyze(_answered(), answers="ratings", raters=_known().with_columns(attention=pl.lit(0.0)))


def test_straight_lines_are_told_from_agreement_and_from_few_answers():
    few = _answered(n_items=2)
    assert "exclusions" not in study.analyze(few, answers="ratings").tables
    agreed = _answered().with_columns(value=pl.when(pl.col("item") == "i0/a").then(2.0).otherwise(3.0))
    agreed = agreed.with_columns(value=pl.when(pl.col("rater") == "r7").then(3.0).otherwise("value"))
    assert "exclusions" not in study.analyze(agreed, answers="ratings").tables  # nearly all say 3
    votes_of = [
        (
            f"v{n}",
            f"i{item}",
            *(("x", "y") if (item + n) % 2 else ("y", "x")),
            "a" if n == 0 or (item * 7 + n) % 3 else "b",
        )
        for n in range(6)
        for item in range(20)
    ]
    first = study.analyze(pl.DataFrame(votes_of, ["voter", "item", "a", "b", "outcome"], orient="row"))
    assert first.to_frame("exclusions")["rater"].to_list() == ["v0"]  # always the one that was shown first
    ranked = [
        (f"r{n}", f"i{item}", system, 1 + (slot if n == 0 else (slot + item * (1 + n % 2)) % 3), slot)
        for n in range(5)
        for item in range(12)
        for slot, system in enumerate("xyz"[item % 3 :] + "xyz"[: item % 3])
    ]
    lined = study.analyze(pl.DataFrame(ranked, ["rater", "item", "system", "rank", "slot"], orient="row"))
    assert lined.to_frame("exclusions")["rater"].to_list() == ["r0"]


def test_the_report_of_a_whole_study_counts_exclusions(command, tmp_path):
    """From the simulated pages: a rater who misses the attention item is excluded, with the reason in terminal and report."""
    from howsure.study.presets import init

    init(tmp_path / "study", "likert")
    for arguments in (
        ("build", tmp_path / "study/study.yaml", "-o", tmp_path / "packet"),
        ("simulate", "--packet", tmp_path / "packet", "--seed", 3, "-o", tmp_path / "simulated"),
        ("collect", tmp_path / "simulated/answers", "--key", tmp_path / "packet/key.json", "-o", tmp_path / "out"),
    ):
        done = command("study", *arguments)
        assert done.returncode == 0, done.stderr
    raters = pl.read_csv(tmp_path / "out/raters.csv")
    raters.with_columns(attention=pl.when(pl.col("rater") == "r01").then(0.0).otherwise(1.0), minutes=pl.lit(9.0)).write_csv(tmp_path / "out/raters.csv")  # fmt: skip
    line = (
        "study",
        "analyze",
        tmp_path / "out/ratings.csv",
        "--study",
        tmp_path / "packet/key.json",
        "--dimension",
        "faithful",
    )
    done = command(*line, "-o", tmp_path / "analysis")
    assert done.returncode == 0, done.stderr
    assert "of 8 raters are excluded by rule (attention 1" in done.stdout
    assert "0% of the attention items" in (tmp_path / "analysis/analyze_report.html").read_text()
    assert "r01,attention" in (tmp_path / "analysis/exclusions.csv").read_text()
    assert "excluded" not in command(*line, "--all-raters").stdout


def test_dimensions_with_other_scales_have_charts_of_their_own_and_reasons_are_told_once(command, tmp_path):
    frame = _answered(n_items=4)
    slider = frame.with_columns(dimension=pl.lit("slider"), value=pl.col("value") * 20 + pl.int_range(pl.len()) % 7)
    pl.concat([frame, slider]).write_csv(tmp_path / "ratings.csv")
    found = study.analyze(tmp_path / "ratings.csv", answers="ratings")
    assert [name for name in found.charts() if name.startswith("systems")] == ["systems", "systems_2"]
    told = command("study", "analyze", tmp_path / "ratings.csv").stdout
    assert told.count("Report ICC(2,k)") == 1
    tables = told[: told.index("Report ICC")]
    assert max(len(line.rstrip()) for line in tables.splitlines()) <= 100


def test_many_raters_keep_the_comparison_at_the_same_prompts_and_show_both_ends():
    """So many raters that their combinations with systems cannot be fitted: those go, not the prompts that systems share."""
    frame = likert(n_items=10, n_raters=410, group_effects=(0, 1.2), missing=0.5, seed=5)
    found = study.analyze(frame, answers="ratings", all_raters=True)
    notes = " ".join(found.provenance.notes)
    assert "without random effects of rater × system" in notes
    assert "without random effects of cluster" not in notes
    by_method = {row["statistic"]: row for row in found.to_frame("differences").iter_rows(named=True)}
    means, odds = by_method["difference of means"], by_method["log odds ratio (ordinal model)"]
    assert max(means["p"], odds["p"]) < 0.001
    table = next(block for block in answer_tables(found, is_short=True) if block.caption.startswith("Raters"))
    assert "of 410" in table.caption
    assert len(table.rows) == 10
    shown = found.extreme_raters(5)["value"]
    every = found.to_frame("raters")["value"].sort()
    assert shown.to_list() == [*every.head(5), *every.tail(5)]


def test_few_raters_are_told_how_often_their_intervals_hold():
    two, five = (study.analyze(likert(n_raters=n), answers="ratings").provenance.notes for n in (2, 5))
    assert any("2 raters give little information" in note and "87 to 96 %" in note for note in two)
    assert not any("give little information" in note for note in five)
    protocol = study.analyze(study.simulate(n_pairs=5, crowd=study.Crowd(3), seed=1).ratings)
    assert any("3 raters give little information" in note for note in protocol.provenance.notes)


@pytest.mark.parametrize("n_raters", [2, 3])
def test_the_note_on_few_raters_has_the_rates_of_the_page_whose_table_the_command_prints(n_raters):
    page = (ROOT / "docs/study-analyze.md").read_text(encoding="utf-8")
    rates = [float(rate) for rate in re.findall(rf"items × {n_raters} raters.* (0\.\d+) ±", page)]
    least, most = round(100 * min(rates)), round(100 * max(rates))
    assert (f"{least} to {most} %" if least < most else f"about {least} %") in few_raters(n_raters)


def test_one_rating_per_item_counts_raters_not_items():
    """Items alone would claim a third of the width: raters differ, and each has ten items of their own."""
    rng = np.random.default_rng(3)
    cells = np.full((50, 5), np.nan)
    rater = np.arange(50) % 5
    cells[np.arange(50), rater] = np.clip(
        np.round(3 + rng.normal(0, 0.5, 50) + np.array([-1.5, -0.5, 0, 0.8, 1.4])[rater]), 1, 5
    )
    found = mean_rating(cells, None, 0.95, (1.0, 5.0))
    over_items = mean(cells[np.arange(50), rater], bounds=(1.0, 5.0)).estimate
    assert found.value == pytest.approx(over_items.value)
    assert found.width > 2.5 * over_items.width
