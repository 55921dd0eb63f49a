import polars as pl
import pytest

from howsure.errors import InputError
from howsure.study.scoring.exclusions import Rules, check_raters
from howsure.study.scoring.fidelity import Raters
from howsure.tables import Ratings

from .study_examples import small_study
from .tables import PAIRS, perfect, slot_one, straight, table


def rules_of(quality):
    return {one.rater: [broken.rule for broken in one.exclusions] for one in quality.raters}


def raters_table(**columns):
    return Raters(pl.DataFrame(columns))


def test_good_raters_break_no_rule():
    quality = check_raters(table({"a": perfect, "b": perfect}))
    assert quality.kept == ["a", "b"]
    assert quality.exclusions_frame().is_empty()
    assert quality.exclusions_frame().columns == ["rater", "rule", "measured", "limit", "reason"]


def test_each_rule_is_logged_with_what_was_measured():
    ratings = table(dict.fromkeys("abcde", perfect), extra=[("d", "attention/1", "attention", 0.0)])
    raters = raters_table(
        rater=["a", "b", "c", "d", "e"],
        minutes=[9.0, 3.9, 9.0, 9.0, 9.0],
        complete=[1.0, 1.0, 0.5, 1.0, 1.0],
        quiz=[1.0, 1.0, 1.0, 1.0, 0.25],
    )
    quality = check_raters(ratings, raters, rules=Rules(fewest_minutes=4.0))
    assert rules_of(quality) == {"a": [], "b": ["minutes"], "c": ["complete"], "d": ["attention"], "e": ["quiz"]}
    by_rule = {one.rule: one for one in quality.exclusions}
    assert (by_rule["minutes"].measured, by_rule["minutes"].limit) == (3.9, 4.0)
    assert "pass mark is 50%" in by_rule["quiz"].reason


def test_a_slow_rater_is_flagged_and_kept():
    raters = raters_table(rater=["a", "b"], minutes=[30.0, 10.0])
    quality = check_raters(table({"a": perfect, "b": perfect}), raters, rules=Rules(target_minutes=(8, 12)))
    assert quality.kept == ["a", "b"]
    assert quality.raters[0].flags == ("30.0 minutes, target 8–12",)


def test_swapped_repeats_find_who_follows_the_slot():
    first = slot_one("a", "p1", 1)
    swapped = slot_one("a", "p1", 2)
    again = [("a", "p1/again", name, value) for name, value in swapped.items()]
    faithful = [("b", "p1/again", name, value) for name, value in perfect("b", "p1", 2).items()]
    quality = check_raters(table({"a": slot_one, "b": perfect}, extra=again + faithful))
    alike = {one.rater: one.consistency for one in quality.raters}
    assert first["voice"] == 2
    # continuity stays, the other five answers turn round
    assert alike == {"a": pytest.approx(1 / 6), "b": 1}
    assert rules_of(quality) == {"a": ["consistency"], "b": []}


def test_a_straight_line_is_found_and_a_perfect_rater_is_not_one():
    ratings = table({"a": straight, "b": perfect, "c": slot_one})
    raters = raters_table(rater=["a", "b", "c"], slot_one=[0.6, 0.4, 0.6])
    for known in (raters, None):
        assert rules_of(check_raters(ratings, known)) == {"a": ["straight-lining"], "b": [], "c": []}


def test_a_perfect_rater_of_the_preferred_form_is_no_straight_line():
    def answers(rater, pair, slot):
        return {"voice": 2.0, "vibe:preferred": 3.0, "logic:preferred": 3.0, "continuity": 1.0}

    def lazy(rater, pair, slot):
        return answers(rater, pair, slot) | {"voice": 2.0 if slot == 1 else -2.0}

    ratings = table({"a": answers, "b": lazy})
    raters = raters_table(rater=["a", "b"], slot_one=[0.6, 0.4])
    assert rules_of(check_raters(ratings, raters)) == {"a": [], "b": ["straight-lining"]}


def test_three_pairs_at_least_make_a_line():
    assert rules_of(check_raters(table({"a": straight}, PAIRS[:2]))) == {"a": []}


def test_minutes_are_the_seconds_of_items_where_nothing_else_is_known():
    frame = table({"a": perfect}).frame.with_columns(pl.lit(90.0).alias("seconds"))
    checked = check_raters(Ratings(frame), rules=Rules(target_minutes=(8, 12))).raters[0]
    assert checked.minutes == 7.5  # five items, each counted once
    assert checked.flags


def test_completion_is_counted_where_it_is_not_told():
    half = table({"a": lambda r, p, s: {"voice": 1.0} if p in PAIRS[:3] else perfect(r, p, s), "b": perfect})
    checked = {one.rater: one for one in check_raters(half).raters}
    assert checked["b"].complete == 1
    assert checked["a"].complete == pytest.approx((3 + 2 * 6) / 30)


def test_rules_can_be_changed():
    quality = check_raters(table({"a": straight}), rules=Rules(straight=False))
    assert quality.kept == ["a"]


def test_a_study_gives_the_pass_mark_and_the_minutes():
    from howsure.study.protocol import Quiz, QuizQuestion, Study

    question = QuizQuestion(question="?", options=("a", "b"), right="a")
    pair = {"id": "p1", "prompt": "?", "target": "a", "comparison": "b"}
    quiz = Quiz(questions=(question,) * 4, pass_mark=3)
    made = {"title": "t", "consent": "c", "gold": "g", "pairs": [pair], "quiz": quiz, "target_minutes": (4, 6)}
    found = Rules.of(Study.model_validate(made))
    assert (found.quiz, found.target_minutes) == (0.75, (4, 6))


def test_honest_raters_of_a_short_study_are_not_excluded_for_haste():
    """They read at up to 400 words per minute and need 3 seconds per answer, whatever the study's length."""
    for n_pairs, n_words in ((1, 5), (4, 30), (20, 300)):
        text = {role: f"{role} " * n_words for role in ("prompt", "target", "comparison")}
        study = small_study(pairs=[{"id": f"p{n}", **text} for n in range(n_pairs)])
        words = study.expected_minutes * 60 - 5 * study.n_answers
        honest = (words * 238 / 400 + 3 * study.n_answers) / 60
        rows = [(who, p.id, name, v) for who in "ab" for p in study.pairs for name, v in perfect(who, p.id, 1).items()]
        ratings = Ratings(pl.DataFrame(rows, schema=["rater", "item", "dimension", "value"], orient="row"))
        quality = check_raters(ratings, raters_table(rater=["a", "b"], minutes=[honest, honest / 3]), study)
        assert rules_of(quality) == {"a": [], "b": ["minutes"]}, (n_pairs, n_words)


def test_without_a_study_haste_is_measured_by_the_other_raters():
    two = check_raters(table({"a": perfect, "b": perfect}), raters_table(rater=["a", "b"], minutes=[1.0, 10.0]))
    assert two.kept == ["a", "b"]
    ratings = table(dict.fromkeys("abcd", perfect))
    short = check_raters(ratings, raters_table(rater=list("abcd"), minutes=[1.0, 1.5, 0.6, 1.2]))
    assert short.kept == list("abcd"), "all of them are quick, because the study is short"
    found = check_raters(ratings, raters_table(rater=list("abcd"), minutes=[8.0, 9.0, 12.0, 2.5]))
    assert rules_of(found) == {"a": [], "b": [], "c": [], "d": ["minutes"]}


def test_flags_of_collected_answers_are_kept():
    raters = raters_table(rater=["a"], flags=["finished in the future"])
    assert check_raters(table({"a": perfect}), raters).raters[0].flags == ("finished in the future",)


def test_wrong_rows_are_named():
    with pytest.raises(InputError, match="complete 1.4 is not between 0 and 1"):
        raters_table(rater=["a"], complete=[1.4])
