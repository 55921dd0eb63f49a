import pytest
from pydantic import ValidationError

from howsure.people import ChoiceQuestion, GameScreen, Item, Option, Page, QuizScreen, TextQuestion, opaque_id

from .page_examples import MEDIAN, QUIZ, SURE, TRUST, VOICE, study_page, track_page


@pytest.mark.parametrize(
    ("question", "good", "bad"),
    [
        (VOICE, [-2, 0, 2], [-3, 3, "1", True, None]),
        (TRUST, ["yes", "sort_of"], ["maybe", "", 0]),
        (SURE, ["0", "100"], ["-1", "101", "050", "1.5", 50, ""]),
        (MEDIAN, ["0.5", "7"], ["0.25", "7.0", ".5"]),
        (TextQuestion(name="t", text="?", max_chars=3), ["abc", "\U0001f600"], ["", "  \n", "abcd", 1]),
    ],
)
def test_a_question_knows_which_answers_a_page_can_record(question, good, bad):
    assert all(question.accepts(answer) for answer in good)
    assert not any(question.accepts(answer) for answer in bad)


def test_names_that_say_something_are_refused():
    with pytest.raises(ValidationError, match="string_pattern_mismatch"):
        Item(id="pair-3-target", title="T", questions=(VOICE,))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Item(id=opaque_id("s"), title="T", questions=(VOICE, VOICE)), "'voice' appears twice"),
        (lambda: ChoiceQuestion(name="a", text="?", options=(Option(value="x", label="1"),) * 2), "'x' appears twice"),
        (lambda: QuizScreen.hiding({}, questions=[QUIZ], id=opaque_id("s"), title="T", pass_mark=1), "right answers"),
        (
            lambda: QuizScreen.hiding({"q1": ["wasps"]}, questions=[QUIZ], id=opaque_id("s"), title="T", pass_mark=1),
            "cannot be given",
        ),
        (
            lambda: QuizScreen.hiding({"q1": ["ants"]}, questions=[QUIZ], id=opaque_id("s"), title="T", pass_mark=2),
            "above",
        ),
        (
            lambda: GameScreen.hiding([("1", [])], answer=MEDIAN, id=opaque_id("s"), title="T", stop="wrong"),
            "every step",
        ),
        (
            lambda: GameScreen.hiding(
                [("1", [])], answer=TextQuestion(name="a", text="?"), id=opaque_id("s"), title="T"
            ),
            "required",
        ),
        (lambda: Page(instrument="study", title="T", screens=study_page().page.screens * 2), "appears twice"),
    ],
)
def test_content_that_cannot_work_is_refused_when_it_is_made(make, reason):
    with pytest.raises(ValueError, match=reason):
        make()


def test_right_answers_are_recognised_and_not_readable():
    built = study_page()
    quiz = next(screen for screen in built.page.screens if isinstance(screen, QuizScreen))
    assert quiz.is_right("q1", "ants")
    assert not quiz.is_right("q1", "bees")
    game = track_page(numbers=(5, 8)).page.screens[0]
    assert isinstance(game, GameScreen)
    assert [game.is_right(1, answer) for answer in ("6.5", "5")] == [True, False]
    assert "6.5" not in game.model_dump_json()


@pytest.mark.parametrize(
    ("stop", "ends"), [("wrong", [False, False, True]), ("right", [True, True, False]), ("end", [False, False, False])]
)
def test_a_game_ends_by_its_rule_or_with_its_last_step(stop, ends):
    game = track_page(numbers=(5, 5, 9, 1), stop=stop).page.screens[0]
    answers = ["5", "5", "0"]
    assert [game.is_over(answers[: n + 1]) for n in range(3)] == ends
    assert game.is_over(["5", "5", "5", "5"])
    assert not game.is_over([])


def test_a_text_answer_is_compared_without_case_and_spaces_and_a_step_can_ask_its_own_question():
    word = TextQuestion(name="word", text="?", required=True)
    game = GameScreen.hiding(
        [("a _ c", ["b"]), ("2, 4, _", ["6"], SURE), ("?", [])], answer=word, id=opaque_id("s"), title="T", tells=True
    )
    assert game.is_right(0, " B\n")
    assert game.is_right(1, "6")
    assert game.question(1) == SURE
    assert game.is_right(2, "anything") is None
