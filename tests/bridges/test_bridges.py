"""Each bridge on a world whose truth is known, and what it refuses."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import howsure
from howsure.bridges import correct, judged_horizons, map_scales, place_attempts, scores_of, track_horizons
from howsure.bridges.scales import read_scale, read_scales
from howsure.bridges.simulator import JudgedSimulation, true_horizon
from howsure.errors import InputError, OptionError
from howsure.horizon.attempt_horizon.horizons import attempt_horizons
from howsure.stats.correlation import correlation
from howsure.stitch.simulator import simulate as simulate_scores
from howsure.tables import Attempts, Ratings
from howsure.track.samples import GameSample, Samples

EXAMPLES = Path(__file__).parents[2] / "examples"


def games(kind, name, lengths):
    rows = [
        GameSample(name, "median", i, int(n), 40, "other" if n < 40 else None, kind=kind) for i, n in enumerate(lengths)
    ]
    return Samples.from_games(rows)


@pytest.fixture(scope="module")
def played():
    rng = np.random.default_rng(3)
    people = [games("human", f"human/{i}", np.minimum(rng.poisson([4, 8, 12, 16, 20]), 40)) for i in range(200)]
    return Samples.union(
        [*people, games("model", "short", rng.poisson(8, 250)), games("model", "long", rng.poisson(16, 250))]
    )


def test_a_model_that_plays_like_the_nth_game_has_horizon_n(played):
    found = track_horizons(played, n_replicates=200).headline()
    assert found["short"].horizon.value == pytest.approx(2, rel=0.1)
    assert found["long"].horizon.value == pytest.approx(4, rel=0.1)
    assert found["short"].horizon.covers(2)
    assert found["long"].horizon.covers(4)


def test_success_at_a_length(played):
    attempts = played.attempts(by="board", min_turns=10)
    assert set(attempts.frame["score"]) == {0.0, 1.0}
    with pytest.raises(OptionError, match="Choose 1 to 40"):
        played.attempts(by="board", min_turns=41)


def test_a_horizon_needs_people_who_learn(played):
    alone = Samples(played.frame.filter(pl.col("kind") == "model"))
    with pytest.raises(InputError, match="none is a person's"):
        track_horizons(alone)


def test_a_table_of_games_need_not_have_the_optional_columns():
    games = EXAMPLES / "track" / "samples.csv"
    assert len(howsure.bridges.learning_attempts(games).frame) == 56
    with pytest.raises(InputError, match="none is a person's"):
        track_horizons(games)


def attempts_of(rates, n=200, seed=0, **more):
    rng = np.random.default_rng(seed)
    rows = [
        {"subject": name, "kind": "model", "task": f"t{i}", "attempt": 1, "score": float(rng.random() < p)} | more
        for name, p in rates.items()
        for i in range(n)
    ]
    return Attempts(pl.DataFrame(rows))


def test_attempts_become_scores_with_the_standard_error_of_their_mean():
    found = scores_of(attempts_of({"a": 0.3}, domain="mine")).frame.row(0, named=True)
    assert found["benchmark"] == "mine"
    expected = howsure.summary(attempts_of({"a": 0.3})).rows[0]
    assert found["score"] == expected.mean.value
    assert found["se"] == pytest.approx(expected.se)
    assert found["n_items"] == 200


def test_scores_need_a_name_and_a_model():
    with pytest.raises(OptionError, match="benchmark NAME"):
        scores_of(attempts_of({"a": 0.3}))
    people = Attempts(attempts_of({"a": 0.3}).frame.with_columns(kind=pl.lit("human")))
    with pytest.raises(InputError, match="No attempt is a model's"):
        scores_of(people, benchmark="x")


def test_a_run_finds_its_place_on_the_scale():
    world = simulate_scores(seed=1)
    scale = howsure.stitch.fit(world.scores, n_replicates=100)
    benchmark = scale.benchmarks.row(0, named=True)
    placed = (
        place_attempts(scale, attempts_of({"new": 0.7}), benchmark=benchmark["benchmark"]).to_frame().row(0, named=True)
    )
    easier = (
        place_attempts(scale, attempts_of({"new": 0.9}), benchmark=benchmark["benchmark"]).to_frame().row(0, named=True)
    )
    assert placed["capability_low"] < placed["capability"] < placed["capability_high"]
    assert placed["capability"] < easier["capability"]
    with pytest.raises(InputError, match=r"is on the scale, which has bench-01.* with benchmark which"):
        place_attempts(scale, attempts_of({"new": 0.7}), benchmark="unheard of")
    whole = attempts_of({"new": 0.7}).frame
    parts = whole.with_columns(domain=pl.when(pl.col("task") < "t5").then(pl.lit("reading")).otherwise(pl.lit("maths")))
    named = [place_attempts(scale, frame, benchmark=benchmark["benchmark"]).to_frame() for frame in (whole, parts)]
    assert named[0].equals(named[1])


def judged_world(seed, truth=0.6, n=600, n_labelled=150, hit=0.9, spare=0.7):
    rng = np.random.default_rng(seed)
    good = rng.random(n) < truth
    verdict = np.where(rng.random(n) < np.where(good, hit, 1 - spare), 1.0, 0.0)
    attempts = Attempts(
        pl.DataFrame({"subject": "m", "kind": "model", "task": "t", "attempt": np.arange(1, n + 1), "score": verdict})
    )
    chosen = rng.choice(n, n_labelled, replace=False)
    labels = [{"rater": "r", "item": f"m/t/{i + 1}", "dimension": "success", "value": float(good[i])} for i in chosen]
    return attempts, Ratings(pl.DataFrame(labels))


def test_corrected_rates_hold_the_truth_where_the_judge_does_not():
    rows = [correct(*judged_world(seed)).rows[0] for seed in range(100)]
    assert sum(row.judged.covers(0.6) for row in rows) < 40  # the judge says 0.66
    assert sum(row.powered.covers(0.6) for row in rows) >= 89
    assert sum(row.corrected.covers(0.6) for row in rows) >= 89
    assert np.mean([row.corrected.value for row in rows]) == pytest.approx(0.6, abs=0.01)


def test_attempts_after_correction_have_the_corrected_mean():
    found = correct(*judged_world(5, n=5000, n_labelled=1000))
    assert found.attempts().frame["score"].mean() == pytest.approx(found.rows[0].powered.value, abs=0.003)


def test_success_given_a_verdict_depends_on_the_models_own_rate():
    """With P(success | verdict) pooled over models, rates of 0.8, 0.5 and 0.2 became 0.65, 0.51 and 0.37."""
    world = JudgedSimulation(n_tasks=60, n_attempts=20)
    verdicts, labels, _ = world.draw(1)
    means = correct(verdicts, labels).attempts().frame.group_by("subject").agg(pl.col("score").mean())
    found = dict(means.iter_rows())
    assert found == pytest.approx(world.rates, abs=0.04)


def horizons_of(world, seed, n_replicates=100):
    verdicts, labels, novices = world.draw(seed)
    corrected = correct(verdicts, labels)
    found = judged_horizons(corrected, novices, n_replicates=n_replicates, seed=seed)
    return corrected, {row.model: row for row in found.rows}


def test_horizons_recover_the_truth_where_the_verdicts_alone_do_not():
    """True horizons 7 and 1.7; with P(success | verdict) pooled over models the intervals missed both."""
    world = JudgedSimulation(n_tasks=60, n_attempts=20, n_novices=200)
    _, found = horizons_of(world, 1)
    for model, rate in world.rates.items():
        assert found[model].horizon.covers(true_horizon(rate)), model
        assert found[model].horizon.value == pytest.approx(true_horizon(rate), rel=0.15)
    assert not found["able"].as_judged.covers(true_horizon(0.8))
    assert not found["weak"].as_judged.covers(true_horizon(0.2))
    assert 0.2 < found["fair"].from_judge < 0.95


def test_a_judge_that_errs_differently_on_a_model_is_noticed_and_corrected():
    world = JudgedSimulation(n_tasks=60, n_attempts=20, labelled=0.2, errors={"able": (0.7, 0.95), "weak": (0.95, 0.6)})
    corrected, found = horizons_of(world, 2)
    assert corrected.method == "ppi"
    assert "differ between models" in corrected.provenance.notes[-1]
    for model, rate in world.rates.items():
        assert found[model].horizon.covers(true_horizon(rate)), model
    assert not found["weak"].as_judged.covers(true_horizon(0.2))


@pytest.mark.evidence
@pytest.mark.parametrize(
    "world",
    [
        JudgedSimulation(sensitivity=0.7, specificity=0.9, labelled=0.05, n_tasks=20, n_attempts=10, n_novices=60),
        JudgedSimulation(labelled=0.2, n_tasks=20, n_attempts=10, n_novices=60, errors={"able": (0.7, 0.95), "weak": (0.95, 0.6)}),
        JudgedSimulation(rates={"low": 0.1, "high": 0.9}, labelled=0.3, n_tasks=1, n_attempts=200, n_novices=60),
    ],
    ids=["few labels", "errors differ", "one task"],
)  # fmt: skip
def test_intervals_contain_the_true_horizon(world):
    """A small form of benchmarks/judged_coverage.py."""
    hits = [
        [row.horizon.covers(true_horizon(world.rates[model])) for model, row in horizons_of(world, seed, 60)[1].items()]
        for seed in range(16)
    ]
    # where the judge's errors differ between models, each has only its own labels: intervals are somewhat too narrow
    assert np.mean(hits) >= (0.8 if world.errors else 0.87)


def test_one_task_with_ppi_draws_runs_as_unsure_as_the_labels_leave_them():
    world = JudgedSimulation(n_tasks=1, n_attempts=600, errors={"able": (0.7, 0.95), "weak": (0.95, 0.6)}, labelled=0.3)
    corrected, found = horizons_of(world, 3)
    assert corrected.method == "ppi"
    for model, rate in world.rates.items():
        assert found[model].horizon.covers(true_horizon(rate)), model


def test_tasks_that_no_novice_tried_tell_of_the_judge_only():
    """A model that fails only at tasks without novices keeps its horizon on the others."""
    world = JudgedSimulation(n_tasks=60, n_attempts=20, labelled=0.2)
    verdicts, labels, novices = world.draw(1)
    easy = pl.col("task").is_in([f"task-{i}" for i in range(40)])
    here = judged_horizons(
        correct(verdicts, labels), Attempts(novices.frame.filter(easy)), n_replicates=100
    )  # 20 tasks have no novice
    assert {row.model for row in here.rows} == set(world.rates)
    assert any("only models tried" in note for note in here.provenance.notes)
    for row in here.rows:
        assert row.horizon.covers(true_horizon(world.rates[row.model]))


def test_graded_labels_and_verdicts_are_told():
    attempts, labels = judged_world(0)
    graded = Ratings(labels.frame.with_columns(value=pl.when(pl.col("value") > 0).then(0.7).otherwise(0.2)))
    assert any(
        "150 labels are between 0 and 1; from 0.5 on they count as a success" in note
        for note in correct(attempts, graded).provenance.notes
    )


def test_strange_and_few_labels_are_refused():
    attempts, labels = judged_world(0)
    with pytest.raises(InputError, match="subject/task/attempt"):
        correct(attempts, Ratings(labels.frame.with_columns(item=pl.lit("else/") + pl.col("item"))))
    with pytest.raises(InputError, match="3 of each verdict are needed"):
        correct(attempts, Ratings(labels.frame.head(4)))


def scale_frame(values):
    return pl.DataFrame({"model": [f"m{i}" for i in range(len(values))], "value": values})


def test_the_map_between_scales_recovers_a_planted_line():
    rng = np.random.default_rng(0)
    capability = rng.normal(0, 1, 40)
    minutes = 2 ** (3 + 2 * capability + rng.normal(0, 0.3, 40))
    found = map_scales({"capability": scale_frame(capability), "minutes": scale_frame(minutes)})
    link = found.links[0]
    assert link.slope.covers(2)
    assert link.predict(0.0).covers(8)
    assert link.predict(0.0).width > link.line.intercept.width
    assert set(found.charts()) == {"capability_minutes"}


def test_the_correlation_of_both_maps_knows_that_versions_of_a_family_resemble_each_other():
    rng = np.random.default_rng(1)
    family = np.repeat(np.arange(8), 5)
    capability, scatter = rng.normal(0, 1, 8)[family], rng.normal(0, 1, 8)[family]
    capability = capability + rng.normal(0, 0.05, 40)
    minutes = 2 ** (3 + capability + scatter)
    labels = pl.Series("family", [f"f{k}" for k in family])
    alone, in_families = (
        map_scales({"capability": frame, "minutes": scale_frame(minutes)}).links[0].correlation
        for frame in (
            scale_frame(capability).with_columns(family=pl.col("model")),
            scale_frame(capability).with_columns(labels),
        )
    )
    assert in_families.value == pytest.approx(alone.value)
    assert in_families.width > 1.5 * alone.width
    same = correlation(capability, np.log(minutes), clusters=family).estimate
    assert (same.low, same.high) == pytest.approx((in_families.low, in_families.high))


def test_scales_without_shared_models_are_refused():
    few = scale_frame([1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="Too few models"):
        map_scales({"capability": few, "minutes": few})
    with pytest.raises(OptionError, match="Give two or three"):
        map_scales({"capability": few})


def test_names_that_may_be_one_model_are_told_and_merged_by_a_file(tmp_path):
    capability = pl.DataFrame({"model": ["GPT-4o", "b", "c", "d", "e"], "value": [1.0, 2.0, 3.0, 4.0, 5.0]})
    minutes = pl.DataFrame({"model": ["openai/gpt-4o", "b", "c", "d"], "value": [2.0, 4.0, 9.0, 15.0]})
    scales = {"capability": capability, "minutes": minutes}
    with pytest.raises(InputError, match="GPT-4o.*provider before the slash.*names FILE merges them"):
        map_scales(scales)
    file = tmp_path / "names.yaml"
    file.write_text("models:\n  GPT-4o: [openai/gpt-4o]\n")
    assert len(map_scales(scales, names=file).links[0].points) == 4
    file.write_text("models:\n  b: [c]\n")
    with pytest.raises(InputError, match="makes one model, b, of two"):
        map_scales(scales, names=file)


def test_scales_are_read_from_what_instruments_saved(tmp_path):
    rows = pl.DataFrame({"model": ["a", "a", "b"], "success_rate": [0.5, 0.8, 0.5], "minutes": [8.0, 2.0, None], "minutes_low": [1.0, 1.0, None], "minutes_high": [9.0, 9.0, None], "minutes_state": ["ok", "ok", "undefined"]})  # fmt: skip
    rows.write_csv(tmp_path / "time_horizons.csv")
    kind, frame = read_scale(tmp_path)
    assert kind == "minutes"
    assert frame.rows() == [("a", 8.0, 1.0, 9.0)]
    with pytest.raises(
        InputError, match=r"time_horizons\.csv: has no horizons at success rate 0\.9, but at 0\.5, 0\.8"
    ):
        read_scale(tmp_path, success_rate=0.9)
    with pytest.raises(InputError, match="contains no scale"):
        read_scale(tmp_path / "nothing")


def people_and(*models):
    rng = np.random.default_rng(3)
    people = [games("human", f"human/{i}", np.minimum(rng.poisson([4, 8, 12, 16, 20]), 40)) for i in range(30)]
    return Samples.union([*people, *models])


def test_sixty_of_sixty_games_are_not_certainty():
    found = track_horizons(people_and(games("model", "perfect", [40] * 60)), n_replicates=200).rows[0]
    assert found.success.value == 1
    assert 0.9 < found.success.low < 0.99
    assert found.horizon.state == "above_range"


def test_a_model_that_is_perfect_on_every_task_is_not_certain_either():
    people = [
        {"subject": f"p{i}", "kind": "human", "task": f"t{t}", "attempt": k, "score": float((i + k + t) % 3 > 0)}
        for i in range(20)
        for t in range(10)
        for k in (1, 2, 3)
    ]
    model = [{"subject": "m", "kind": "model", "task": f"t{t}", "attempt": 1, "score": 1.0} for t in range(10)]
    found = attempt_horizons(Attempts(pl.DataFrame([*people, *model])), n_replicates=50).rows[0]
    assert found.success.value == 1
    assert found.success.low == pytest.approx(0.722, abs=0.001)  # Wilson, 10 of 10


def on_board(name, length, turns, **more):
    rows = [
        GameSample(name, "median", i, n, length, "other" if n < length else None, **more) for i, n in enumerate(turns)
    ]
    return Samples.from_games(rows)


def test_boards_are_not_pooled():
    """20 of 20 turns on one board are not better than 40 of 300 on another."""
    short, long = on_board("a", 20, [20] * 10), on_board("b", 300, [40] * 10)
    scores = scores_of(Samples.union([short, long]).attempts()).frame
    assert set(scores["benchmark"]) == {"track/median/20", "track/median/300"}
    people = on_board("human/1", 20, [3, 5, 8], kind="human")
    with pytest.raises(InputError, match="No board was played by people and every model"):
        track_horizons(Samples.union([short, long, people]))


def test_games_on_boards_that_not_all_played_are_excluded_and_counted(played):
    extra = on_board("short", 300, [8] * 5, solver="explicit")
    found = track_horizons(Samples.union([played, extra]), n_replicates=20)
    assert any("5 games on boards that not all played are excluded" in note for note in found.provenance.notes)
    assert set(found.headline()) == {"short", "long"}


def test_a_model_twice_on_one_scale_is_refused(tmp_path):
    for name, model in (("fit/models.csv", "a"), ("place/placed.csv", "b"), ("again/models.csv", "b")):
        (tmp_path / name).parent.mkdir()
        pl.DataFrame({"model": [model], "capability": [1.0]}).write_csv(tmp_path / name)
    assert read_scales([tmp_path / "fit", tmp_path / "place"])["capability"]["model"].to_list() == ["a", "b"]
    with pytest.raises(InputError, match="again: b is on the scale 'capability' already"):
        read_scales([tmp_path / "fit", tmp_path / "place", tmp_path / "again"])


def test_verdicts_and_answers_that_are_missing_do_not_count():
    verdicts, labels, novices = JudgedSimulation(rates={"a": 0.5, "b": 0.4}, labelled=0.4).draw(1)
    gone = pl.when(pl.col("attempt") == 2).then(None).otherwise("score").alias("score")
    silent, left = (Attempts(one.frame.with_columns(gone)) for one in (verdicts, novices))
    found = correct(silent, labels)
    assert {row.n for row in found.rows} == {30 * 11}
    assert len(found.attempts()) == 2 * 30 * 11
    horizons = judged_horizons(found, left, n_replicates=20)
    assert "600 of 7,200 attempts" in (notes := " ".join(horizons.provenance.notes)) or "600 unscored" in notes
    scores = scores_of(silent, benchmark="x")
    expected = verdicts.frame.filter(pl.col("attempt") != 2).group_by("subject", "task").agg(pl.mean("score"))
    means = dict(expected.group_by("subject").agg(pl.mean("score")).rows())
    assert dict(scores.frame.select("model", "score").rows()) == pytest.approx(means)
    assert "60 of 720 attempts have no score: 60 unscored." in scores.notes
