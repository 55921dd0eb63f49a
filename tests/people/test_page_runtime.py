"""Pages in a real browser, opened from a file as they are mailed."""

import json
from pathlib import Path

import pytest

from howsure.people import GameScreen, Page, TextQuestion, answer_rows, build_page, opaque_id, read_results, step_rows

from .browsing import begin, download, heading, press, rate
from .page_examples import SURE, study_page, track_page


@pytest.mark.parametrize("width", [1280, 360])
def test_a_study_is_answered_by_keyboard_from_a_mailed_file(width, browser_page, tmp_path):
    built = study_page()
    page = browser_page(built.save(tmp_path / "r1.html"), width=width)
    begin(page)
    assert page.locator("aside summary").inner_text() == "The sample"
    rate(page, voice="1")
    rate(page, voice="5", sure="7")
    assert heading(page) == "Comments"
    press(page, "Tab")
    page.keyboard.type("All\nfine")
    press(page, "Control+Enter")
    assert heading(page) == "You are at the end"
    press(page, "Enter")
    assert heading(page) == "Thank you"
    collected = read_results([download(page, tmp_path)], [built])
    assert collected.refused == ()
    rows = answer_rows(collected.results)
    assert [row["value"] for row in rows] == [-2, 3, "yes", "80", 2, 3, "yes", "7", "All\nfine"]
    assert {row["revisions"] for row in rows} == {0}


def test_a_reload_and_a_way_back_keep_every_answer(browser_page, tmp_path):
    built = study_page()
    page = browser_page(built.save(tmp_path / "r1.html"))
    begin(page)
    rate(page, voice="2")
    press(page, "3", "2")
    page.reload()
    assert page.locator("#place").inner_text() == "Step 5 of 7"
    assert page.locator("input:checked").count() == 2
    page.get_by_role("button", name="Back").click()
    assert page.locator("input:checked").count() == 3
    assert page.get_by_label("How sure are you?").input_value() == "80"
    press(page, "5")  # a question that was answered before takes the digit only when it has the focus
    assert page.get_by_label("Leaning 1").is_checked()
    page.get_by_label("Leaning 1").focus()
    press(page, "5", "Tab", "Tab", "Enter")
    page.reload()
    press(page, "1", "9", "Enter", "Control+Enter", "Enter")
    assert heading(page) == "Thank you"
    page.reload()
    press(page, "Enter", "Control+Enter", "1")  # nothing is left to be done by keys
    assert heading(page) == "Thank you"
    received = read_results([download(page, tmp_path)], [built]).results[0]
    rows = answer_rows([received])
    assert [row["value"] for row in rows[:8]] == [2, 3, "yes", "80", 0, 2, "yes", "9"]
    assert [row["revisions"] for row in rows[:8]] == [1, 0, 0, 0, 0, 0, 0, 0]
    assert received.result.reloads == 2
    assert download(page, tmp_path / "again").read_bytes() == Path(received.source).read_bytes()


def test_arrow_keys_choose_without_counting_as_revisions(browser_page, tmp_path):
    built = study_page()
    page = browser_page(built.save(tmp_path / "r1.html"))
    begin(page)
    page.get_by_label("Definitely 1").focus()
    press(page, "ArrowRight", "ArrowRight", "ArrowRight", "Enter")
    press(page, "Space", "Enter", "Space", "Enter", *"50", "Enter")
    assert page.locator("#place").inner_text() == "Step 5 of 7"
    stored = page.evaluate("JSON.parse(localStorage.getItem(Object.keys(localStorage).find((k) => k.includes('r1'))))")
    record = next(record for record in stored["screens"].values() if record["kind"] == "item")
    assert record["answers"] == {"voice": 1, "vibe": 1, "trust": "yes", "sure": "50"}
    assert record["revisions"] == {}


def test_what_is_missing_is_said_at_its_place_and_gets_the_focus(browser_page, tmp_path):
    page = browser_page(study_page().save(tmp_path / "r1.html"))
    press(page, "Enter")
    assert "Tick the box" in page.locator(".trouble").inner_text()
    assert page.get_by_role("checkbox").get_attribute("aria-invalid") == "true"
    page.keyboard.press("Space")
    press(page, "Enter")
    press(page, "Enter", "2", "Enter")
    assert "0 of 1 right. Read the text again; you have 1 more try." in page.locator(".verdict").inner_text()
    press(page, "Enter", "2", "Enter")
    assert "please go on" in page.locator(".verdict").inner_text()
    press(page, "Enter", "1", "1", "Enter")
    assert page.locator("fieldset", has_text="trust").get_attribute("aria-invalid") == "true"
    press(page, "2")
    for typed, says in (("101", "lies between 0 and 100"), ("5.5", "whole number"), ("many", "whole number")):
        page.get_by_label("How sure").fill(typed)
        press(page, "Enter")
        assert says in page.locator(".question.number .trouble").inner_text()
    page.get_by_label("How sure").fill("100")
    press(page, "Enter")
    assert page.locator("#place").inner_text() == "Step 5 of 7"


def test_time_is_counted_on_the_screen_in_view_and_not_in_the_background(browser_page, tmp_path):
    built = study_page()
    page = browser_page(built.save(tmp_path / "r1.html"))
    page.clock.install()
    page.reload()
    page.clock.run_for(3_000)
    press(page, "Tab", "Space", "Enter")
    page.clock.run_for(5_000)
    page.evaluate(
        "Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true }); document.dispatchEvent(new Event('visibilitychange'))"
    )
    page.clock.run_for(60_000)
    page.evaluate(
        "Object.defineProperty(document, 'visibilityState', { value: 'visible', configurable: true }); document.dispatchEvent(new Event('visibilitychange'))"
    )
    page.clock.run_for(2_000)
    press(page, "Enter")
    stored = page.evaluate("JSON.parse(localStorage.getItem(Object.keys(localStorage).find((k) => k.includes('r1'))))")
    consent, sample = (stored["screens"][screen.id]["ms"] for screen in built.page.screens[:2])
    assert abs(consent - 3_000) < 900
    assert abs(sample - 7_000) < 900


def test_a_game_shows_one_value_at_a_time_stops_at_a_wrong_answer_and_survives_a_reload(browser_page, tmp_path):
    built = track_page()
    page = browser_page(built.save(tmp_path / "play.html"))
    assert heading(page) == "Who are you?"
    press(page, "Tab")
    page.keyboard.type(" Zoë ")
    press(page, "Enter")
    assert heading(page) == "Practice"
    assert not page.locator(".value").is_visible()
    press(page, "Enter", "5", "Enter")
    assert page.locator(".counter").inner_text() == "Number 2 of 4"
    page.reload()
    assert page.locator(".counter").inner_text() == "Number 2 of 4"
    assert page.get_by_role("button", name="Back").count() == 0
    press(page, "Enter")
    assert page.locator(".trouble").inner_text() == "Please answer this question."
    press(page, "5", "Enter")
    assert page.locator(".value").inner_text() == "9"
    press(page, "9", "Enter")
    assert "Right answers: 2." in page.locator(".verdict").inner_text()
    assert not page.locator(".value").is_visible()
    press(page, "Enter", "Enter", "5", "Enter", "5", "Enter", "5", "Enter")
    assert page.locator(".value").inner_text() == "1"
    page.keyboard.type("5,0")
    press(page, "Enter")
    assert "Right answers: 4." in page.locator(".verdict").inner_text()
    press(page, "Enter", "Enter")
    collected = read_results([download(page, tmp_path)], [built])
    assert collected.refused == ()
    steps = [(row["rater"], row["step"], row["answer"], row["taken_for_right"]) for row in step_rows(collected.results)]
    assert steps == [("Zoë", 1, "5", True), ("Zoë", 2, "5", True), ("Zoë", 3, "9", False)] + [
        ("Zoë", n, "5", True) for n in range(1, 5)
    ]


def test_values_shown_before_are_nowhere_to_be_found(browser_page, tmp_path):
    page = browser_page(track_page("p1", numbers=(11, 22, 33, 44), stop="end").save(tmp_path / "p.html"))
    press(page, "Enter", "1", "1", "Enter", "2", "Enter")
    assert page.locator(".value").inner_text() == "33"
    assert "11" not in page.locator("body").inner_text()
    assert "22" not in page.locator("body").inner_text()
    assert page.get_by_role("button", name="Back").count() == 0
    assert page.get_by_label("Median").input_value() == ""


def test_attempts_with_feedback_go_on_to_the_last_and_ask_what_each_step_asks(browser_page, tmp_path):
    word = TextQuestion(name="word", text="The missing letter", required=True)
    steps = [("a _ c", ["b"]), ("2, 4, _", ["6"], SURE), ("x _ z", ["y"])]
    game = GameScreen.hiding(steps, answer=word, id=opaque_id("s"), title="Gaps", tells=True, unit="Attempt")
    built = build_page(Page(instrument="horizon", title="Gaps", rater="n1", screens=(game,)))
    page = browser_page(built.save(tmp_path / "n1.html"))
    press(page, "Enter")
    assert page.locator(".counter").inner_text() == "Attempt 1 of 3"
    press(page, "q", "Enter")
    assert page.locator(".verdict").inner_text() == "Not right."
    assert page.locator(".value").inner_text() == "a _ c"
    press(page, "Enter", "6", "Enter")
    assert page.locator(".verdict").inner_text() == "Right."
    press(page, "Enter", "Y", "Enter", "Enter")
    assert "Right answers: 2." in page.locator(".verdict").inner_text()
    press(page, "Enter", "Enter")
    rows = step_rows(read_results([download(page, tmp_path)], [built]).results)
    assert [(row["answer"], row["taken_for_right"]) for row in rows] == [("q", False), ("6", True), ("Y", True)]


def test_the_result_can_be_copied(browser_page, tmp_path):
    built = track_page("p1", numbers=(5,))
    page = browser_page(built.save(tmp_path / "p.html"), permissions=["clipboard-read", "clipboard-write"])
    press(page, *("Enter", "5", "Enter", "Enter") * 2, "Enter")
    page.get_by_role("button", name="Copy answers").click()
    page.get_by_text("Copied.").wait_for()
    path = tmp_path / "pasted.json"
    path.write_text(page.evaluate("navigator.clipboard.readText()"), encoding="utf-8")
    assert read_results([path], [built]).refused == ()


def test_where_a_page_may_not_copy_the_text_is_selected_for_the_person_to_copy(browser_page, tmp_path):
    page = browser_page(track_page("p1", numbers=(5,)).save(tmp_path / "p.html"))
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")  # as on plain http
    page.reload()
    press(page, *("Enter", "5", "Enter", "Enter") * 2, "Enter")
    page.get_by_role("button", name="Copy answers").click()
    page.get_by_text("press Ctrl+C").wait_for()
    selected = "(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(document.activeElement)"
    assert page.evaluate(selected).startswith('{\n "format": "howsure-result/1"')


def test_a_browser_that_keeps_nothing_says_so_and_works(browser_page, tmp_path):
    built = track_page("p1", numbers=(5,))
    page = browser_page(built.save(tmp_path / "p.html"))
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })")
    page.reload()
    assert "finish in one go" in page.locator("#status").inner_text()
    press(page, *("Enter", "5", "Enter", "Enter") * 2, "Enter")
    assert read_results([download(page, tmp_path)], [built]).refused == ()


def test_a_reload_that_is_quicker_than_the_storage_loses_nothing(browser_page, tmp_path):
    # On a busy machine a page that is reloaded at once finds its storage empty, or as it was some writes ago.
    page = browser_page(study_page().save(tmp_path / "r1.html"))
    begin(page)
    press(page, "2")
    page.add_init_script("localStorage.clear()")
    page.reload()
    assert page.locator("#place").inner_text() == "Step 4 of 7"
    assert page.locator("input:checked").count() == 1


def test_two_windows_do_not_write_over_each_other(browser_page, tmp_path):
    path = study_page().save(tmp_path / "r1.html")
    first = browser_page(path)
    second = first.context.new_page()
    second.goto(path.as_uri())
    first.get_by_text("another window").wait_for()
    press(second, "Tab", "Space", "Enter")
    first.reload()
    assert heading(first) == "The sample"


def test_another_person_can_play_on_the_same_device(browser_page, tmp_path):
    page = browser_page(track_page(numbers=(5,)).save(tmp_path / "p.html"))
    press(page, "Tab", "A", "Enter", *("Enter", "5", "Enter", "Enter") * 2, "Enter")
    kept = page.evaluate("Object.entries(localStorage).find(([key]) => key.startsWith('howsure '))")
    page.get_by_role("button", name="Someone else").click()
    page.add_init_script(f"localStorage.setItem(...{json.dumps(kept)})")  # as if the storage were slow to forget
    page.get_by_role("button", name="Press again").click()
    page.get_by_role("heading", name="Who are you?").wait_for()
    assert page.get_by_label("Name or code").input_value() == ""


def test_a_damaged_page_says_so(browser_page, tmp_path):
    path = study_page().save(tmp_path / "r1.html")
    path.write_text(path.read_text().replace("First text.", "Furst text."))
    page = browser_page(path)
    assert "damaged" in page.locator("main").inner_text()


def test_each_person_sees_their_own_order(browser_page, tmp_path):
    def first_texts(rater):
        page = browser_page(study_page(rater, n_items=4).save(tmp_path / f"{rater}.html"))
        begin(page)
        shown = []
        for _ in range(4):
            shown.append(page.locator("main .text").first.inner_text())
            rate(page)
        return shown

    orders = {rater: first_texts(rater) for rater in ("r1", "r4")}
    assert orders["r1"] != orders["r4"]
    assert {text for order in orders.values() for text in order} == {"First text.", "Second text."}


def kept(page):
    """What the page has put by on the device."""
    return page.evaluate(
        "JSON.parse(localStorage[Object.keys(localStorage).find((key) => key.startsWith('howsure '))])"
    )


def steps_of(page):
    return [step for screen in kept(page)["screens"].values() for step in screen.get("steps", ())]


@pytest.mark.parametrize("tells", [False, True])
def test_every_answer_has_its_own_time_to_the_millisecond(tells, browser_page, tmp_path):
    page = browser_page(track_page(rater="ann", tells=tells).save(tmp_path / "ann.html"))
    page.clock.install()
    page.reload()
    page.clock.pause_at(page.evaluate("Date.now()") + 60_000)
    press(page, "Enter")  # into the round
    for answer, ms in (("5", 350), ("5", 40), ("5", 1_730), ("5", 7)):
        page.clock.run_for(ms)
        press(page, answer, "Enter")
        if tells:
            page.clock.run_for(900)  # reading the verdict is no part of the next answer
            press(page, "Enter")
    assert [step["ms"] for step in steps_of(page)] == [350, 40, 1_730, 7]


def test_time_is_put_by_when_the_page_is_hidden_and_stands_still_until_it_is_seen_again(browser_page, tmp_path):
    page = browser_page(track_page(rater="ann").save(tmp_path / "ann.html"))
    page.clock.install()
    page.reload()
    page.clock.pause_at(page.evaluate("Date.now()") + 60_000)
    press(page, "Enter")
    page.clock.run_for(420)
    set_visibility(page, "hidden")
    assert next(iter(kept(page)["screens"].values()))["open_ms"] == 420
    page.clock.run_for(30_000)
    set_visibility(page, "visible")
    page.clock.run_for(80)
    press(page, "5", "Enter")
    assert [step["ms"] for step in steps_of(page)] == [500]


def set_visibility(page, state):
    page.evaluate(
        """(state) => {
          Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        state,
    )


def test_answers_entered_quickly_take_some_time(browser_page, tmp_path):
    page = browser_page(track_page(rater="ann").save(tmp_path / "ann.html"))
    press(page, "Enter")
    for _ in range(4):
        press(page, "5", "Enter")
    assert page.locator(".verdict").inner_text()
    assert len(steps_of(page)) == 4
    assert all(step["ms"] > 0 for step in steps_of(page))
