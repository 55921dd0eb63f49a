"""Planted studies: the truth comes back, vices show, and tables are as collect would give them."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure.errors import OptionError
from howsure.stats.components import variance_components
from howsure.stats.reliability import intraclass
from howsure.study.packet.building import build
from howsure.study.protocol import DEFAULT_DIMENSIONS, Dimension, Study
from howsure.study.scoring.fidelity import PFI, ModelScores, Raters, score
from howsure.study.simulator import (
    Crowd,
    fidelity_of,
    honest_answers,
    kept_answers,
    placeholder_study,
    random_answers,
    simulate,
    slot_answers,
)
from howsure.tables import Ratings

from .study_examples import small_study

EXAMPLE = Path(__file__).parents[2] / "examples/study/study.yaml"
PREFERRED = tuple(
    d
    if d.kind != "each"
    else Dimension(name=d.name, kind="preferred", question="?", low=1, high=3, labels=("a", "b", "c"))
    for d in DEFAULT_DIMENSIONS
)


@pytest.fixture(scope="module")
def large():
    return simulate(n_pairs=100, crowd=Crowd(n_raters=60), seed=5)


def test_each_pairs_true_fidelity_comes_back(large):
    found = score(large.ratings)
    means = dict(zip(found.pairs, found.matrix(PFI).mean(axis=1), strict=True))
    off = np.array([means[pair] - truth for pair, truth in large.truth.fidelity_by_pair.items()])
    assert abs(off.mean()) < 0.02  # the raters' own severities do not cancel
    assert np.std(off) < 0.03
    assert np.corrcoef(list(means.values()), list(large.truth.fidelity_by_pair.values()))[0, 1] > 0.95


def test_true_reliability_comes_back(large):
    found = intraclass(score(large.ratings).matrix(PFI))
    assert found["icc_2_1"].covers(large.truth.icc_2_1)
    assert found["icc_3_k"].covers(large.truth.alpha)
    assert large.truth.icc_2_k < large.truth.alpha


def test_true_correlation_comes_back(large):
    true = np.array(list(large.truth.fidelity_by_pair.values()))
    assert np.corrcoef(true, large.model_scores["score"])[0, 1] == pytest.approx(large.truth.correlation_here)
    assert large.truth.correlation_here == pytest.approx(large.truth.correlation, abs=0.06)
    assert large.truth.correlation == pytest.approx(0.89, abs=0.015)  # steps and their ends take a little of 0.9


@pytest.mark.parametrize("fidelity", [0.6, 0.8], ids=["mid-scale", "near the top"])
def test_intervals_hold_the_true_reliability_of_ticked_answers_at_five_pairs(fidelity):
    rng = np.random.default_rng(8)

    def rated(n_pairs, n_raters):
        seen = fidelity + 0.1 * rng.standard_normal((n_pairs, 1))
        view = seen + 0.05 * rng.standard_normal(n_raters) + 0.1 * rng.standard_normal((n_pairs, n_raters))
        answers = honest_answers(DEFAULT_DIMENSIONS, view.ravel(), rng)
        return fidelity_of(DEFAULT_DIMENSIONS, answers).reshape(n_pairs, n_raters)

    # the truth from two raters of their own for each of very many pairs
    views = fidelity + 0.1 * rng.standard_normal(200_000)
    one, two = (
        fidelity_of(DEFAULT_DIMENSIONS, honest_answers(DEFAULT_DIMENSIONS, views + s, rng))
        for s in np.hypot(0.05, 0.1) * rng.standard_normal((2, 200_000))
    )
    truth = np.corrcoef(one, two)[0, 1]
    held = [intraclass(rated(5, 7))["icc_2_1"].covers(truth) for _ in range(1200)]
    assert 0.91 <= np.mean(held) <= 0.975


def test_domains_fall_in_the_order_that_is_planted(large):
    true = large.model_scores.with_columns(true=pl.Series(list(large.truth.fidelity_by_pair.values())))
    by_domain = true.group_by("domain", maintain_order=True).agg(pl.col("true").mean())
    assert by_domain["domain"].to_list() == ["TECH", "ANAL", "PHIL", "SELF", "NARR"]
    assert by_domain["true"][0] > by_domain["true"][2] > by_domain["true"][4]


def test_worthless_scores_and_equal_pairs_are_told_as_such():
    assert abs(simulate(correlation=0.0).truth.correlation) < 0.02
    flat = simulate(spread=0.0).truth
    assert (flat.icc_2_1, flat.alpha, flat.correlation) == (0, 0, 0)


def test_severity_shows_as_variance_of_raters():
    world = simulate(n_pairs=60, crowd=Crowd(n_raters=60, severity=0.12, noise=0.05), fidelity=0.6, seed=2)
    shares = variance_components(score(world.ratings).matrix(PFI)).shares
    assert shares["rater"] > 0.25


def test_tables_are_in_the_form_of_collect():
    world = simulate(crowd=Crowd(n_raters=6), seed=1)
    frame = world.ratings.frame
    assert frame.columns == ["rater", "item", "dimension", "value", "seconds", "revisions", "position"]
    pair = {"voice", "vibe:target", "vibe:comparison", "logic:target", "logic:comparison", "continuity", "guess"}
    assert set(frame.filter(pl.col("item") == "pair-01")["dimension"]) == pair
    again = frame.filter(pl.col("item").str.ends_with("/again"))
    assert again.group_by("rater").agg(pl.col("item").n_unique())["item"].to_list() == [1] * 6
    attention = frame.filter(pl.col("dimension") == "attention")
    assert set(attention["item"]) == {"attention/a1"}
    assert set(attention["value"]) <= {0.0, 1.0}
    for _, mine in frame.group_by("rater"):
        seen = mine.unique(["item", "position"]).sort("position")
        assert seen["position"].to_list() == list(range(1, 8))
    assert len(Raters(world.raters).frame) == 6
    assert ModelScores(world.model_scores).frame["item"].to_list() == [f"pair-0{n}" for n in range(1, 6)]


def test_answers_stay_on_their_scales():
    world = simulate(crowd=Crowd(n_raters=8, bots=2, straight_liners=2, slot_one_pickers=2), seed=3)
    for dimension in DEFAULT_DIMENSIONS:
        for name in dimension.rated:
            values = set(world.ratings.frame.filter(pl.col("dimension") == name)["value"])
            assert values <= set(map(float, dimension.codes)), name


def test_who_always_picks_the_first_slot_scores_half_on_voice():
    world = simulate(n_pairs=20, crowd=Crowd(n_raters=8, slot_one_pickers=8), seed=4)
    voice = score(world.ratings).matrix("voice")
    assert voice.mean() == pytest.approx(0.5)
    assert set(np.unique(voice)) == {0.0, 1.0}


def test_straight_liners_keep_to_their_places():
    world = simulate(n_pairs=12, crowd=Crowd(n_raters=5, straight_liners=5), seed=4)
    firsts = world.ratings.frame.filter(~pl.col("item").str.contains("/"))
    spread = firsts.with_columns(pl.col("value").abs()).group_by("rater", "dimension").agg(pl.col("value").n_unique())
    assert set(spread.filter(~pl.col("dimension").is_in(["guess"]))["value"]) == {1}


def test_bots_answer_at_random_and_fast():
    world = simulate(n_pairs=100, crowd=Crowd(n_raters=12, bots=6), seed=4)
    kinds = world.truth.kind_by_rater
    is_bot = np.array([kinds[rater] == "bot" for rater in score(world.ratings).raters])
    table = score(world.ratings).matrix(PFI)
    assert table[:, is_bot].mean() == pytest.approx(0.5, abs=0.05)
    assert variance_components(table[:, is_bot]).shares["item"] < 0.05
    minutes = world.raters["minutes"].to_numpy()
    assert minutes[is_bot].max() < minutes[~is_bot].min()


def test_attrition_leaves_gaps_that_raters_csv_tells():
    world = simulate(crowd=Crowd(n_raters=40, attrition=0.5), seed=6)
    answers = dict(world.ratings.frame.group_by("rater").len().iter_rows())
    complete = dict(world.raters.select("rater", "complete").iter_rows())
    assert 0.3 < np.mean([share < 1 for share in complete.values()]) < 0.7
    for rater, share in complete.items():
        assert answers[rater] == pytest.approx(share * 42)  # six pairs of six answers, five guesses, one attention item


def test_honest_raters_need_the_minutes_of_the_protocol():
    minutes = simulate(crowd=Crowd(n_raters=200), seed=7).raters["minutes"].to_numpy()
    assert 8 < np.median(minutes) < 12


def test_a_study_file_is_rated_with_its_own_scores():
    study = Study.read(EXAMPLE)
    world = simulate(study, seed=1)
    assert world.model_scores["score"].to_list() == [pair.model_score for pair in study.pairs]
    assert set(score(world.ratings, study).pairs) == {pair.id for pair in study.pairs}
    assert world.raters["quiz"].null_count() == (0 if study.quiz else 7)


@pytest.mark.parametrize("asked", [DEFAULT_DIMENSIONS, PREFERRED], ids=["each", "preferred"])
def test_fidelity_is_that_of_the_analysis(asked):
    rng = np.random.default_rng(0)
    answers = honest_answers(asked, rng.uniform(-0.2, 1.2, 300), rng)
    rows = [
        (f"r{n % 10}", f"p{n // 10:02}", name, float(values[n])) for name, values in answers.items() for n in range(300)
    ]
    frame = pl.DataFrame(rows, schema=["rater", "item", "dimension", "value"], orient="row")
    study = placeholder_study(1).model_copy(update={"dimensions": asked})
    found = score(Ratings(frame), study).matrix(PFI)
    assert found == pytest.approx(fidelity_of(asked, answers).reshape(30, 10))


def test_a_perfect_view_scores_one_and_its_reverse_zero():
    rng = np.random.default_rng(0)
    ends = fidelity_of(DEFAULT_DIMENSIONS, honest_answers(DEFAULT_DIMENSIONS, np.array([3.0, -2.0]), rng))
    assert ends.tolist() == [1.0, 0.0]


def test_vices_answer_every_question():
    names = {name for dimension in DEFAULT_DIMENSIONS for name in dimension.rated}
    rng = np.random.default_rng(0)
    habit = rng.random(len(DEFAULT_DIMENSIONS))
    assert set(random_answers(DEFAULT_DIMENSIONS, rng)) == names
    for is_first in (True, False):
        assert set(kept_answers(DEFAULT_DIMENSIONS, habit, is_first=is_first)) == names
        assert set(slot_answers(DEFAULT_DIMENSIONS, is_first=is_first)) == names


def test_seed_gives_the_same_world():
    assert simulate(seed=9).ratings.frame.equals(simulate(seed=9).ratings.frame)
    assert not simulate(seed=9).ratings.frame.equals(simulate(seed=10).ratings.frame)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Crowd(n_raters=3, bots=4),
        lambda: Crowd(n_raters=0),
        lambda: Crowd(noise=-1),
        lambda: Crowd(attrition=2),
        lambda: simulate(correlation=1.5),
        lambda: simulate(fidelity=2),
        lambda: simulate(n_pairs=0),
        lambda: simulate(placeholder_study(2).model_copy(update={"dimensions": DEFAULT_DIMENSIONS[3:]})),
    ],
)
def test_impossible_worlds_are_refused(make):
    with pytest.raises(OptionError):
        make()


def test_the_command_writes_its_files(command, tmp_path):
    told = command("study", "simulate", "--study", EXAMPLE, "--raters", 6, "--bots", 1, "-o", tmp_path, "--json")
    assert told.returncode == 0, told.stderr
    truth = json.loads(told.stdout)
    assert truth["kind_by_rater"]["r06"] == "bot"
    assert {path.name for path in tmp_path.iterdir()} == {
        "ratings.csv",
        "raters.csv",
        "model_scores.csv",
        "study_truth.json",
        "study_truth.result.zip",
    }
    assert json.loads((tmp_path / "study_truth.json").read_text()) == truth
    assert len(Raters(tmp_path / "raters.csv").frame) == 6
    assert Ratings(tmp_path / "ratings.csv").frame["rater"].n_unique() == 6


def test_the_names_of_many_answer_files_are_not_all_printed(command, tmp_path):
    build(small_study(2), n_raters=30).save(tmp_path / "packet")
    told = command("study", "simulate", "--packet", tmp_path / "packet", "-o", tmp_path / "out")
    assert told.returncode == 0, told.stderr
    assert "answers-r01.json … answers-r30.json" in told.stderr
    assert "answers-r02" not in told.stderr
