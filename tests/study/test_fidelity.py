import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError
from howsure.study.protocol import Dimension, Study
from howsure.study.scoring.fidelity import LITE_RANGE, parts_of, score
from howsure.tables import Ratings

from .tables import PAIRS, perfect, slot_one, table


def one_answer(**answers):
    rows = [("r", "p", name.replace("_", ":"), value) for name, value in answers.items()]
    return score(Ratings(pl.DataFrame(rows, schema=["rater", "item", "dimension", "value"], orient="row"))).frame.row(
        0, named=True
    )


def test_a_perfect_rater_scores_one_whatever_the_slots():
    scored = score(table({f"r{n}": perfect for n in range(4)}))
    assert (scored.matrix("pfi") == 1).all()
    assert scored.matrix("pfi_lite") == pytest.approx(LITE_RANGE[1])
    assert (scored.matrix("vibe_advantage") == 1).all()


def test_who_always_picks_slot_one_scores_a_half_on_voice():
    scored = score(table({"a": slot_one, "b": slot_one}, (*PAIRS, "p6")))
    assert scored.frame["voice"].mean() == 0.5
    assert scored.frame["pfi"].mean() == 0.5
    assert set(scored.frame["voice"]) == {0, 1}


def test_the_neutral_point_is_a_half_and_that_of_lite_is_not():
    row = one_answer(voice=0, vibe_target=2, vibe_comparison=2, logic_target=2, logic_comparison=2)
    assert row["pfi"] == 0.5
    assert row["pfi_lite"] == pytest.approx(4 / 9)
    worst = one_answer(voice=-2, vibe_target=1, vibe_comparison=3, logic_target=1, logic_comparison=3)
    assert (worst["pfi"], worst["pfi_lite"]) == (0, LITE_RANGE[0])


@pytest.mark.parametrize(
    ("voice", "answer", "part"), [(2, 3, 1), (1, 1, 0), (0, 3, 0.5), (-1, 1, 0.5), (-2, 3, 0), (-2, 2, 0.25)]
)
def test_what_is_asked_of_the_preferred_response(voice, answer, part):
    row = one_answer(voice=voice, vibe_preferred=answer, logic_preferred=answer)
    assert row["vibe"] == row["logic"] == part
    assert row["pfi_lite"] == pytest.approx((voice + 2 * answer) / 9)


def test_a_tie_needs_no_answer_about_the_preferred_one():
    ratings = table({"a": lambda r, p, s: {"voice": 0.0} if p == "p1" else {"voice": 1.0, "vibe:preferred": 3.0}})
    frame = score(ratings).frame
    assert frame.filter(item="p1")["vibe"].item() == 0.5


def test_continuity_is_no_part_of_the_index():
    with_it = one_answer(voice=2, vibe_target=3, vibe_comparison=1, continuity=0)
    assert (with_it["pfi"], with_it["continuity"]) == (1, 0)


def test_the_index_is_null_where_a_part_is_missing():
    answers = {
        "a": perfect,
        "b": lambda r, p, s: {k: v for k, v in perfect(r, p, s).items() if k != "voice" or p != "p2"},
    }
    scored = score(table(answers))
    assert np.isnan(scored.matrix("pfi")).sum() == 1
    assert np.isnan(scored.matrix("pfi")[scored.pairs.index("p2"), scored.raters.index("b")])
    assert not np.isnan(scored.matrix("vibe")).any()


def test_repeats_attention_and_guesses_stay_out():
    extra = [("a", "p1/again", "voice", -2.0), ("a", "attention/x", "attention", 0.0), ("a", "p1", "guess", 1.0)]
    plain, more = score(table({"a": perfect})), score(table({"a": perfect}, extra=extra))
    assert plain.frame.equals(more.frame)


def test_a_table_without_pairs_is_refused():
    rows = pl.DataFrame({"rater": ["a"], "item": ["attention/x"], "dimension": ["attention"], "value": [1.0]})
    with pytest.raises(InputError, match="No rating is of a pair"):
        score(Ratings(rows))


def test_any_other_dimension_is_a_rating_as_far_as_answers_go():
    rows = pl.DataFrame({"rater": ["a", "b"], "item": ["x", "x"], "dimension": ["depth", "depth"], "value": [1.0, 5.0]})
    scored = score(Ratings(rows))
    assert scored.frame["pfi"].to_list() == [0, 1]
    assert "depth 1–5" in scored.notes[0]
    assert "pfi_lite" not in scored.statistics


def test_a_rating_that_nobody_varied_stands_in_the_middle():
    rows = pl.DataFrame({"rater": ["a", "b"], "item": ["x", "x"], "dimension": ["depth", "depth"], "value": [4.0, 4.0]})
    assert score(Ratings(rows)).frame["pfi"].to_list() == [0.5, 0.5]


def study_with(*dimensions):
    pair = {"id": "p1", "prompt": "?", "target": "a", "comparison": "b"}
    return Study.model_validate({"title": "t", "consent": "c", "gold": "g", "pairs": [pair], "dimensions": dimensions})


def test_a_study_names_the_ends():
    depth = Dimension(name="depth", kind="each", question="?", low=0, high=4, labels=tuple("abcde"))
    ratings = table({"a": lambda r, p, s: {"depth:target": 3.0, "depth:comparison": 1.0}}, ("p1",))
    row = score(ratings, study_with(depth)).frame.row(0, named=True)
    assert (row["depth"], row["depth_advantage"], row["pfi"]) == (0.75, 0.5, 0.75)


def test_answers_that_the_study_cannot_have_got_are_refused():
    depth = Dimension(name="depth", kind="each", question="?", low=0, high=2, labels=tuple("abc"))
    with pytest.raises(InputError, match="answers from 3 to 3, where the study has 0 to 2"):
        score(table({"a": lambda r, p, s: {"depth:target": 3.0}}, ("p1",)), study_with(depth))
    with pytest.raises(InputError, match="dimension 'width' that is not in the study. The study asks: depth"):
        score(table({"a": lambda r, p, s: {"width": 1.0}}, ("p1",)), study_with(depth))


def test_default_dimensions_are_known_by_name():
    parts, notes = parts_of(table({"a": perfect}))
    assert [(part.name, part.kind) for part in parts] == [
        ("voice", "comparison"),
        ("vibe", "each"),
        ("logic", "each"),
        ("continuity", "choice"),
    ]
    assert notes == ()
