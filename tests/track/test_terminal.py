"""The game for people: played by a script, left and taken up again, and through a real terminal."""

import json
import re
import sys

import pytest

from howsure.errors import InputError, OptionError
from howsure.tables import Attempts
from howsure.track.game.sequence import Setting, numbers
from howsure.track.game.statistics import shown, statistic
from howsure.track.samples import load_samples
from howsure.track.terminal import Paused, play_human, typed
from servers import prepared_process
from servers.terminal import Terminal

COMMAND = [sys.executable, "-c", "from howsure.cli.track import app; app()"]


class Script:
    """A person who types what is written here, and remembers every screen."""

    def __init__(self, *lines):
        self.lines, self.screens = iter(lines), []

    def show(self, text):
        self.screens.append(text)

    def ask(self, prompt):
        return next(self.lines, None)


def answers(variant, seed, length):
    state, found = statistic(variant)(), []
    for number in numbers(seed, length=length):
        state.update(number)
        found.append(shown(state.answer()))
    return found


def play(folder, *lines, variant="median", length=6, **options):
    screen = Script("", *lines, "")
    ticks = iter(range(1000))
    options = {"name": "ann", "setting": Setting(length), "clock": lambda: float(next(ticks))} | options
    return play_human(variant=variant, folder=folder, screen=screen, **options), screen


def test_all_right(tmp_path):
    samples, screen = play(tmp_path, *answers("median", 0, 6))
    row = samples.frame.row(0, named=True)
    assert (row["model"], row["kind"], row["max_length"], row["error_kind"]) == ("human/ann", "human", 6, None)
    assert row["seconds"] > 0
    assert "All 6 answers correct" in screen.screens[-1]


def test_the_first_wrong_answer_ends_it_and_is_explained(tmp_path):
    right = answers("median", 0, 6)
    samples, screen = play(tmp_path, *right[:3], "1")
    assert samples.frame["max_length"].to_list() == [3]
    assert f"the median was {right[3]}. You had 3 turns right" in screen.screens[-1]


def test_a_slip_of_the_finger_is_asked_again_and_is_no_violation(tmp_path):
    right = answers("mode", 0, 3)
    samples, screen = play(tmp_path, "oops", "", *right, variant="mode", length=3)
    assert samples.frame.select("max_length", "violation").row(0) == (3, 0)
    assert "'oops' is not a number. Type digits" in screen.screens[2]


def test_no_screen_shows_an_earlier_number(tmp_path):
    shown_numbers = numbers(0, length=12)
    _, screen = play(tmp_path, *answers("median", 0, 12), length=12)
    turns = [text for text in screen.screens if text.startswith("Turn")]
    for turn, text in enumerate(turns):
        told = [int(digits) for digits in re.findall(r"\d+", text)]
        assert told == [turn + 1, 12, shown_numbers[turn]]


def test_left_and_taken_up_again(tmp_path):
    right = answers("median", 0, 6)
    stopped, _ = play(tmp_path, *right[:2], "q")
    assert stopped is None
    kept = (tmp_path / "paused-ann-median.json").read_text()
    assert json.loads(kept)["n_right"] == 2
    assert str(numbers(0)[0]) not in re.findall(r"\d+", kept)
    samples, screen = play(tmp_path, *right[2:])
    assert "after 2 correct answers" in screen.screens[0]
    assert screen.screens[1].startswith("Turn 3")
    row = samples.frame.row(0, named=True)
    assert row["max_length"] == 6
    assert row["seconds"] > 6  # both sittings count
    assert not (tmp_path / "paused-ann-median.json").exists()


def test_whoever_vanishes_goes_on_after_the_last_right_answer(tmp_path):
    class Gone(Script):
        def ask(self, prompt):
            line = super().ask(prompt)
            if line is None:
                raise KeyboardInterrupt
            return line

    with pytest.raises(KeyboardInterrupt):
        play_human("ann", "median", tmp_path, Gone("", *answers("median", 0, 6)[:3]), setting=Setting(6))
    assert Paused.load(tmp_path / "paused-ann-median.json").n_right == 3


def test_each_game_takes_the_next_sequence_and_all_are_kept(tmp_path):
    play(tmp_path, "999")
    play(tmp_path, "999")
    play(tmp_path, "999", name="bob")
    samples, _ = play(tmp_path, "999", seed=0)
    assert samples.frame.select("model", "seed", "attempt").rows() == [
        ("human/ann", 0, 1),
        ("human/ann", 1, 1),
        ("human/bob", 0, 1),
        ("human/ann", 0, 2),
    ]
    assert load_samples(tmp_path / "samples.csv").frame.equals(samples.frame)
    assert len(samples.attempts()) == 4


def test_distractors_are_shown_to_people_too(tmp_path):
    setting = Setting(4, distractors=1)
    _, screen = play(tmp_path, *answers("median", 0, 4), setting=setting)
    assert setting.lines("median", 0)[0] in screen.screens[1]


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a b"])
def test_names_that_are_no_file_names_are_refused(name, tmp_path):
    with pytest.raises(OptionError, match="letters, digits"):
        play(tmp_path, name=name)


@pytest.mark.parametrize("text", ["{", "{}", '{"name": "ann"}', "[]", "null"])
def test_a_damaged_pause_is_told(text, tmp_path):
    (tmp_path / "paused-ann-median.json").write_text(text)
    with pytest.raises(InputError, match="Delete the file"):
        play(tmp_path, "1")


@pytest.mark.parametrize(
    ("text", "number"),
    [("7\n", 7), (" 40.5 ", 40.5), ("[mode: 9]", 9), ("40,5", 40.5), ("-3", None), ("", None), ("1e5", None)],
)
def test_what_people_type(text, number):
    assert typed(text) == number


def test_played_in_a_terminal_left_and_taken_up_again(tmp_path):
    right = answers("median", 0, 5)
    terminal = Terminal(*COMMAND, "human", "--name", "ann", "--length", "5", "-o", tmp_path)
    opening = terminal.until("Press Enter")
    assert "\x1b[?1049h" in opening  # a screen of its own, which keeps nothing to scroll back to
    terminal.type("")
    for answer in right[:2]:
        shown_text = terminal.until("to stop): ")
        assert "\x1b[2J\x1b[3J\x1b[H" in shown_text
        terminal.type(answer)
    terminal.until("to stop): ")
    terminal.type("q")
    assert "continues from here" in terminal.until("continues from here")
    assert terminal.end() == 0

    terminal = Terminal(*COMMAND, "human", "--name", "ann", "--length", "5", "-o", tmp_path)
    assert "after 2 correct answers" in terminal.until("Press Enter")
    terminal.type("")
    for answer in [*right[2:4], "0"]:
        terminal.until("to stop): ")
        terminal.type(answer)
    terminal.until("Press Enter to leave")
    terminal.type("")
    told = terminal.until("attempts.csv")
    assert "4 correct answers on the median, sequence 0." in told
    assert terminal.end() == 0
    assert load_samples(tmp_path / "samples.csv").frame["max_length"].to_list() == [4]
    assert Attempts(tmp_path / "attempts.csv").frame.select("kind", "score").row(0) == ("human", 0.8)


def test_a_person_plays_through_inspect_leaves_and_goes_on(tmp_path):
    right = answers("median", 0, 4)
    who = ("--model", "human/ann", "--length", "4", "--samples", "1", "-o", tmp_path)
    terminal = Terminal(*COMMAND, "run", *who)
    for answer in [right[0], "abc", right[1], "q"]:
        shown_text = terminal.until("to stop): ")
        terminal.type(answer)
    assert "51" in shown_text
    assert "63" not in shown_text  # only the newest number
    terminal.until("stopped")
    assert terminal.end() == 130
    terminal = Terminal(*COMMAND, "run", *who)
    for answer in [right[2], "0"]:
        terminal.until("to stop): ")
        terminal.type(answer)
    terminal.until("wrote")
    assert terminal.end() == 0
    played = load_samples(tmp_path / "samples.csv").frame
    assert played.select("model", "kind", "max_length").rows() == [("human/ann", "human", 3)]


def test_without_a_terminal_it_says_so(tmp_path):
    told = prepared_process.run([*COMMAND[1:], "human", "-o", tmp_path])
    assert told.returncode == 2
    assert told.stderr == "howsure: The game needs a terminal: run it without pipes or redirection.\n"
