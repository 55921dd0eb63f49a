"""The rules: what counts, what ends a game, and what kind of error it was."""

import pytest

from howsure.track.game.prompts import bracketed, instructions, state_message, turn_message
from howsure.track.game.rules import Game, Referee, play
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import VARIANTS, statistic


class Script:
    """A player that says what it was told to."""

    def __init__(self, *replies):
        self.replies = iter(replies)

    def reply(self, number):
        return next(self.replies)


def played(variant, numbers, *answers):
    return play(Script(*(one if isinstance(one, str) else f"[{variant}: {one}]" for one in answers)), variant, numbers)


def test_all_turns_right_is_the_whole_length():
    game = played("median", [4, 9, 5], 4, 6.5, 5)
    assert game == Game(length=3, max_length=3)
    assert game.is_complete
    assert not game.is_violation


def test_the_first_wrong_answer_ends_it():
    game = played("median", [4, 9, 5, 5], 4, 6.5, 77, 5)
    assert (game.max_length, game.error_kind, game.answer, game.truth) == (2, "other", 77, 5)


def test_a_malformed_reply_is_a_violation_and_no_wrong_answer():
    game = played("mode", [4, 9], 4, "it is 9")
    assert (game.max_length, game.error_kind, game.answer, game.is_violation) == (1, "format", None, True)


@pytest.mark.parametrize(
    ("variant", "numbers", "answers", "kind"),
    [
        ("median", [10, 20, 60], [10, 15, 15], "stale"),
        ("median", [10, 20], [10, 20], "tie"),
        ("median", [30, 20, 10, 70], [30, 25, 20, 30], "tie"),
        ("median", [10, 20, 60, 70, 80], [10, 15, 20, 40, 70], "rank"),
        ("mode", [5, 9, 5, 9], [5, 9, 5, 5], "stale"),
        ("mode", [9, 5, 5, 9, 7, 7], [9, 9, 5, 9, 9, 5], "tie"),
        ("mode", [9, 9, 9, 7, 7], [9, 9, 9, 9, 7], "rank"),
        ("mode", [9, 9, 9, 7], [9, 9, 9, 7], "other"),
        ("inversions", [9, 7, 5], [0, 1, 2], "rank"),
    ],
)
def test_kinds_of_errors(variant, numbers, answers, kind):
    game = played(variant, numbers, *answers)
    assert (game.error_kind, game.max_length) == (kind, len(numbers) - 1)


def test_a_referee_tells_how_it_stands():
    referee = Referee("mode", length=3)
    referee.show(4)
    assert referee.judge(4.0)
    assert referee.game == Game(3, 1)
    referee.show(4)
    assert not referee.judge(None)
    assert referee.game.error_kind == "format"


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_opening_tells_task_format_rule_and_an_example_that_is_right(variant):
    told, kind = instructions(variant), statistic(variant)
    assert kind.task in told
    assert kind.rule in told
    assert kind.intro() in told
    assert f"[{variant}: <answer>]" in told
    state = kind()
    for update in kind.example:
        state.update(update)
        assert f": {turn_message(kind, update)}\nYou: {bracketed(kind, state.answer())}" in told


def test_the_opening_fits_the_conditions():
    plain, other = instructions("mode"), instructions("mode", Setting(low=5, high=10, distractors=0.1, is_brief=True))
    assert "from 0 to 99" in plain
    assert "ignore" not in plain
    assert "from 5 to 9" in other
    assert "ignore it" in other
    assert "nothing but the answer" in other


def test_a_turn_shows_the_number_last():
    kind = statistic("median")
    assert turn_message(kind, 7) == "7"
    assert turn_message(kind, [7, 9]) == "7, 9"
    assert turn_message(kind, 7, "A heron waits.").splitlines() == ["A heron waits.", "7"]


def test_the_state_is_told_in_words_and_numbers():
    state = statistic("mode")()
    for number in (9, 4, 9):
        state.update(number)
    assert state_message(state) == "For reference, how often each number was shown so far: {4: 1, 9: 2}"
