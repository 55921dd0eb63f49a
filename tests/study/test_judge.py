"""Replies become ratings only where both orders gave one."""

import polars as pl
import pytest

from howsure.errors import InputError
from howsure.study.judging.ratings import Orders, Reply, summarise_replies
from howsure.study.judging.runs import ask, oriented, read_reply
from howsure.study.protocol import Dimension
from howsure.tables import Ratings
from study.judging import always_first, fan, small_study

STUDY = small_study(4)


def replies(answer, study=STUDY):
    return [
        Reply(
            pair.id,
            slot,
            oriented(read_reply(answer(ask(study, pair, slot)), study.dimensions), study.dimensions, slot),
        )
        for pair in study.pairs
        for slot in (1, 2)
    ]


def test_a_perfect_judge_scores_one_whatever_the_slots():
    judged = summarise_replies(STUDY, "fan", replies(fan(STUDY)))
    assert judged.scores["score"].to_list() == [1.0] * 4
    assert judged.scores["domain"].to_list() == ["TECH"] * 4
    assert judged.position["voice"].shift.value == 0
    assert judged.position["voice"].consistency.value == 1


def test_a_judge_that_always_picks_slot_one_scores_a_half_and_is_found_out():
    judged = summarise_replies(STUDY, "lazy", replies(always_first(STUDY)))
    assert judged.scores["score"].to_list() == [0.5] * 4
    voice = judged.position["voice"]
    assert (voice.shift.value, voice.consistency.value, voice.slot_one.value) == (4, 0, 1)
    for name in ("vibe:target", "vibe:comparison"):
        assert judged.position[name].shift.value == 2, "both responses gain by standing first"


def test_ratings_are_means_of_both_orders_under_the_models_name():
    judged = summarise_replies(STUDY, "lazy", replies(always_first(STUDY)))
    assert isinstance(judged.table(), Ratings)
    assert judged.ratings["rater"].unique().to_list() == ["lazy"]
    assert judged.ratings.filter(dimension="vibe:target")["value"].to_list() == [2.0] * 4
    assert len(judged.orders) == 4 * 2 * 6


@pytest.mark.parametrize("failure", ["api", "format", "length", "null", "refusal"])
def test_a_failure_in_one_order_leaves_no_rating_of_that_pair(failure):
    told = replies(fan(STUDY))
    told[3] = Reply("pair-1", 2, {}, failure)
    judged = summarise_replies(STUDY, "fan", told)
    assert judged.ratings["item"].unique().sort().to_list() == ["pair-0", "pair-2", "pair-3"]
    assert judged.scores["item"].to_list() == ["pair-0", "pair-2", "pair-3"]
    assert judged.failures == {failure: 1}
    lost = judged.orders.filter(pl.col("failure").is_not_null())
    assert lost["value"].null_count() == len(lost) == 6
    assert judged.orders.filter(item="pair-1", target_slot=1)["value"].null_count() == 0


def test_nothing_rated_is_said_and_not_averaged():
    judged = summarise_replies(STUDY, "mute", [Reply(p.id, slot, {}, "null") for p in STUDY.pairs for slot in (1, 2)])
    assert (len(judged.ratings), len(judged.scores), judged.position) == (0, 0, {})
    with pytest.raises(InputError, match="mute rated no pair in both orders"):
        judged.table()


def test_the_seeds_form_counts_a_lost_pair_against_the_target():
    vibe = Dimension(name="vibe", kind="preferred", question="Alive?", low=1, high=3, labels=("no", "bit", "yes"))
    study = small_study(1, dimensions=[STUDY.dimensions[0], vibe])
    told = [Reply("pair-0", slot, {"voice": sign * 2, "vibe:preferred": 3}) for slot, sign in ((1, 1), (2, -1))]
    judged = summarise_replies(study, "lazy", told)
    assert judged.scores["score"].to_list() == [0.5], (
        "1 in one order and 0 in the other; a mean voice of 0 would say tie"
    )


def test_a_study_without_index_has_no_score():
    study = small_study(2, dimensions=[STUDY.dimensions[3]])
    judged = summarise_replies(study, "m", [Reply(p.id, s, {"continuity": 1.0}) for p in study.pairs for s in (1, 2)])
    assert (len(judged.ratings), len(judged.scores)) == (2, 0)


def test_files_are_read_back(tmp_path):
    told = replies(fan(STUDY))
    told[0] = Reply("pair-0", 1, {}, "format")
    written = summarise_replies(STUDY, "fan", told).save(tmp_path)
    assert [path.name for path in written] == [
        "judge.csv",
        "judge_orders.csv",
        "model_scores.csv",
        "judge.json",
        "judge.result.zip",
    ]
    assert len(Ratings(tmp_path / "judge.csv")) == 3 * 6
    assert len(Orders(tmp_path / "judge_orders.csv")) == 4 * 2 * 6
