"""The game in a real browser: played by keyboard, reloaded half-way, collected and reported."""

import json

import pytest

from howsure.errors import InputError, OptionError
from howsure.people import read_page
from howsure.track.browser import collect_page, make_page
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import shown, statistic

SHORT = Setting(length=8)


def answers(variant, seed, length):
    state = statistic(variant)()
    for number in SHORT.steps("median", seed)[:length]:
        state.update(number)
        yield shown(state.answer())


def type_in(page, texts):
    for text in texts:
        page.keyboard.type(text)
        page.keyboard.press("Enter")


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def start(page):
    """The name, the rules, and into the practice round."""
    press(page, "Tab")
    page.keyboard.type("ada")
    press(page, "Enter", "Enter", "Enter")


def practise(page):
    """Six answers, each told right or wrong, and into the first game."""
    for _ in range(6):
        type_in(page, ["1"])
        assert page.locator(".verdict").inner_text() in ("Right.", "Not right.")
        press(page, "Enter")
    press(page, "Enter", "Enter")


def finish(page, folder):
    press(page, "Enter")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download answers").press("Enter")
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_played_by_keyboard_reloaded_half_way_collected_and_reported(browser_page, axe, command, tmp_path):
    path = make_page("median", n_games=2, setting=SHORT).save(tmp_path / "play.html")
    page = browser_page(path)
    assert axe(page) == []
    start(page)
    practise(page)
    assert axe(page) == []
    type_in(page, list(answers("median", 0, 3)))
    page.reload()
    page.get_by_role("textbox").focus()
    assert page.locator(".counter").inner_text() == "Number 4 of 8"
    type_in(page, list(answers("median", 0, 8))[3:])  # all eight right
    press(page, "Enter", "Enter")
    type_in(page, [*answers("median", 1, 2), "0.3"])  # two right, then wrong
    press(page, "Enter")
    sent = finish(page, tmp_path)
    told = command("track", "collect", path, sent, "-o", tmp_path / "out", "--json")
    assert told.returncode == 0, told.stderr
    rows = json.loads(told.stdout)["track"]
    assert [(row["model"], row["n"]) for row in rows] == [("human/ada", 2)]
    kept = collect_page(read_page(path), [sent]).frame.sort("seed")
    assert kept["max_length"].to_list() == [8, 2]
    assert kept["seconds"].sum() > 0
    assert (tmp_path / "out" / "attempts.csv").exists()


def test_the_page_holds_no_answer_and_no_history(tmp_path):
    built = make_page("median", n_games=1, setting=SHORT)
    steps = built.page.screens[2].steps
    assert [int(step.show) for step in steps] == SHORT.steps("median", 0)
    assert all(len(step.rights[0]) == 16 for step in steps)  # hashes only


def test_practice_shows_none_of_the_sequences_that_count():
    built = make_page("mode", n_games=3)
    practice, *games = built.page.screens[1:]
    shown_in_practice = [step.show for step in practice.steps]
    assert all([step.show for step in game.steps[: len(shown_in_practice)]] != shown_in_practice for game in games)


def test_what_does_not_fit_is_told(tmp_path):
    with pytest.raises(OptionError, match="No variant called 'mean'"):
        make_page("mean")
    with pytest.raises(OptionError, match="0 games"):
        make_page("mode", n_games=0)
    stray = tmp_path / "stray.json"
    stray.write_text("{}")
    with pytest.raises(InputError, match="No answers to this page were found"):
        collect_page(make_page("mode", n_games=1, setting=SHORT), [stray])


@pytest.mark.parametrize("variant", ["sums-100", "automaton"])
def test_people_can_look_up_what_a_model_has_in_its_conversation(variant):
    rules, _, game = make_page(variant, n_games=1, setting=SHORT).page.screens
    assert statistic(variant).reference() in rules.text
    assert all(step.show.endswith(f"\n\n{statistic(variant).reference()}") for step in game.steps)
    assert (game.unit, make_page("median", setting=SHORT).page.screens[1].unit) == ("Turn", "Number")


def test_people_are_told_what_to_ignore_and_what_is_for_models_is_refused():
    setting = Setting(length=4, interference=0.5, distractors=0.5, updates=3)
    for variant, several in {"median": "3 in each message", "boxes": "Each message has 3 of them"}.items():
        text = make_page(variant, n_games=1, setting=setting).page.screens[0].text
        assert all(word in text for word in (several, "“Other table:”", "a line of text"))
    for other in ({"mode": "one-shot"}, {"mode": "continue"}, {"is_brief": True}, {"keeps_reasoning": True}):
        with pytest.raises(OptionError, match="this setting is for models"):
            make_page("median", setting=Setting(**other))
