"""Pages in a real browser: nothing that an accessibility audit, a telephone or a hostile text could hold against them."""

import pytest

from howsure.people import Consent, GameScreen, Item, Page, Passage, ReadingScreen, build_page, opaque_id, read_results

from .browsing import download, heading, press, rate
from .page_examples import HOSTILE, SURE, VOICE, study_page, track_page

SCREENS = [
    "Before you begin",
    "The sample",
    "A question",
    "Two responses",
    "Two responses",
    "Comments",
    "You are at the end",
    "Thank you",
]


def test_hostile_texts_are_shown_as_text(browser_page, tmp_path):
    long = "Lorem ipsum " * 4200
    hostile = {"title": HOSTILE}
    passages = (Passage(label=HOSTILE, text=HOSTILE), Passage(label="b", text=long))
    screens = (
        Consent(id=opaque_id("s", 1), text=HOSTILE, agree=HOSTILE, **hostile),
        ReadingScreen(id=opaque_id("s", 2), passages=passages, at_hand=True, **hostile),
        Item(
            id=opaque_id("s", 3),
            text=HOSTILE,
            prompt=HOSTILE,
            passages=passages,
            questions=(VOICE.model_copy(update={"text": HOSTILE, "labels": (HOSTILE, "b")}),),
            **hostile,
        ),
        GameScreen.hiding([(HOSTILE, ["5"])], answer=SURE, id=opaque_id("s", 4), unit=HOSTILE, **hostile),
    )
    built = build_page(
        Page(instrument="study", title=HOSTILE, screens=screens, thanks=HOSTILE, sending=HOSTILE, rater="r1")
    )
    page = browser_page(built.save(tmp_path / "h.html"), width=360)
    n_passages = 0
    for keys in (
        ("Tab", "Space", "Enter"),
        ("Enter",),
        ("1", "Enter"),
        ("Enter", "5", "Enter"),
        ("Enter",),
        ("Enter",),
    ):
        assert not page.evaluate("'owned' in globalThis")
        assert page.locator("img, iframe").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        shown = page.locator("main .text").all_text_contents()
        assert shown == ([HOSTILE, long] if shown else [])
        n_passages += len(shown)
        press(page, *keys)
    assert n_passages == 4
    assert heading(page) == "Thank you"
    assert read_results([download(page, tmp_path)], [built]).refused == ()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_an_audit_finds_nothing_on_any_screen(width, scheme, browser_page, axe, tmp_path):
    built = study_page(texts=("short", "long " * 3000))
    page = browser_page(built.save(tmp_path / "r1.html"), width=width, scheme=scheme)
    seen = []

    def audit():
        seen.append(heading(page))
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    audit()
    press(page, "Enter")  # with a complaint
    assert axe(page) == []
    press(page, "Space", "Enter")
    audit()
    press(page, "Enter")
    audit()
    press(page, "2", "Enter")
    assert axe(page) == []
    press(page, "Enter", "1", "Enter", "Enter")
    audit()
    press(page, "Enter")
    assert axe(page) == []
    rate(page)
    audit()
    rate(page)
    audit()
    press(page, "Control+Enter")
    audit()
    press(page, "Enter")
    audit()
    assert seen == SCREENS


@pytest.mark.parametrize("width", [1280, 360])
def test_an_audit_finds_nothing_in_a_game(width, browser_page, axe, tmp_path):
    page = browser_page(track_page(tells=True).save(tmp_path / "p.html"), width=width)
    assert axe(page) == []
    press(page, "Tab", "Z", "Enter")
    for keys in (("Enter",), ("5", "Enter"), ("Enter",), ("0", "Enter"), ("Enter",)):
        assert axe(page) == []
        press(page, *keys)
    assert "round is over" in page.locator(".verdict").inner_text()
    assert axe(page) == []


def test_fingers_find_large_places_to_tap_and_nothing_moves_while_answering(browser_page, tmp_path):
    page = browser_page(study_page().save(tmp_path / "r1.html"), width=360, has_touch=True, is_mobile=True)
    page.get_by_text("I have read this").tap()
    page.get_by_role("button", name="Next").tap()
    page.get_by_role("button", name="Next").tap()
    page.get_by_text("ants", exact=True).tap()
    page.get_by_role("button", name="Check answers").tap()
    page.get_by_role("button", name="Next").tap()
    for box in [
        element.bounding_box()
        for element in page.locator("label.option, button, summary").all()
        if element.is_visible()
    ]:
        assert box["height"] >= 44
        assert box["width"] >= 44
    places = "[...document.querySelectorAll('.question, .options, .moves')].map((e) => e.getBoundingClientRect().top + scrollY)"
    before = page.evaluate(places)
    page.get_by_role("button", name="Next").tap()
    assert page.locator(".trouble", has_text="Please answer").count() == 1
    assert page.evaluate(places) == before
    page.get_by_text("Leaning 2").tap()
    page.get_by_role("button", name="Next").tap()
    assert page.evaluate(places) == before
