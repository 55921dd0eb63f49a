"""The study in a real browser: the whole example rated by keyboard, mailed and served, small and large, hostile and kind."""

import contextlib
import signal
import subprocess
import sys

import polars as pl
import pytest

from howsure.people import read_pages
from howsure.study.packet.building import StudyKey, build
from howsure.study.protocol import Study
from howsure.study.scoring.collection import collect

from .study_examples import EXAMPLE, perfect, small_study

HOSTILE = (
    '</script><script>globalThis.owned=1</script><img src=x onerror="globalThis.owned=1"><svg onload=owned=1>'
    "<!-- {{7*7}} ${7*7} {% raw %} <%= 7*7 %> &amp; \u202eevil\u202c \u2066\u200f \u2028 ']]> --> \U0001f600"
)
TO_THE_ITEMS = ("Tab", "Space", "Enter", "Enter", "2", "2", "Enter", "Enter", "Enter")
LONG = "A long answer goes on and on. " * 1_700  # 50 kB


@pytest.fixture(scope="module")
def packet(tmp_path_factory):
    """The example study, built for two raters."""
    folder = tmp_path_factory.mktemp("packet")
    build(Study.read(EXAMPLE), n_raters=2).save(folder)
    return folder


@contextlib.contextmanager
def serving(folder):
    """The real command as a process of its own, and its links by label."""
    pytest.importorskip("starlette", reason="pip install 'howsure[serve]'")
    line = [sys.executable, "-m", "howsure", "serve", str(folder), "--port", "0"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        links = {}
        while "admin" not in links:
            told = process.stdout.readline()
            assert told, process.stderr.read()
            label, link = told.split()
            links[label] = link
        yield links
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)


def heading(page):
    return page.locator("h1").inner_text()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def keys_of(study, screen, placed):
    """The digits by which a perfect rater answers a screen."""
    values = perfect(study, placed)
    for question in screen.questions:
        value = values[question.name]
        if question.kind == "scale":
            yield str(value - question.low + 1)
        else:
            yield str([option.value for option in question.options].index(value) + 1)


def walk(page, folder, rater, look=lambda: None, *, reload_at=None):
    """From consent to the end, by keyboard alone; `look` is called on every screen."""
    key, built = StudyKey.read(folder / "key.json"), read_pages(folder)[rater]
    placed = key.placed(rater)
    for number, screen in enumerate(built.page.screens):
        assert heading(page) == screen.title
        look()
        if screen.kind == "consent":
            press(page, "Tab", "Space")
        if screen.kind == "quiz":
            press(page, "2", "2", "Enter")
            page.get_by_text("2 of 2 right").wait_for()
            look()
        if screen.id in placed:
            press(page, *keys_of(key.study, screen, placed[screen.id]))
            if number == reload_at:
                page.reload()
                assert heading(page) == screen.title
        if screen.kind == "item" and screen.id not in placed:
            press(page, "Tab")
            page.keyboard.type("Good ants.")
            press(page, "Control+Enter")
        else:
            press(page, "Enter")
    assert heading(page) == "You are at the end"
    look()
    press(page, "Enter")
    assert heading(page) == "Thank you"
    look()


def download(page, folder):
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download answers").press("Enter")
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def assert_perfect(found, rater):
    assert found.refused == ()
    row = found.raters.row(0, named=True)
    assert (row["rater"], row["complete"], row["quiz"], row["comments"]) == (rater, 1.0, 1.0, "Good ants.")
    means = dict(found.ratings.frame.group_by("dimension").agg(pl.col("value").mean()).iter_rows())
    assert means == {
        "voice": 2,
        "vibe:target": 3,
        "vibe:comparison": 1,
        "logic:target": 3,
        "logic:comparison": 1,
        "continuity": 1,
        "guess": 1,
        "attention": 1,
    }


@pytest.mark.parametrize(("rater", "width", "scheme"), [("r01", 1280, "light"), ("r02", 400, "dark")])
def test_a_mailed_study_is_rated_by_keyboard_reloaded_half_way_and_an_audit_finds_nothing(
    rater, width, scheme, packet, browser_page, axe, tmp_path
):
    page = browser_page(packet / f"{rater}.html", width=width, scheme=scheme)

    def audit():
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    walk(page, packet, rater, audit, reload_at=7)
    assert_perfect(collect([download(page, tmp_path)], packet / "key.json"), rater)


def test_a_served_study_is_rated_by_keyboard_and_exported(packet, browser_page, command, tmp_path):
    folder = tmp_path / "packet"
    build(Study.read(EXAMPLE), n_raters=2).save(folder)
    with serving(folder) as links:
        page = browser_page(links["r01"], width=400)
        walk(page, folder, "r01", reload_at=6)
        page.get_by_text("Receipt:").wait_for()
        admin = browser_page(links["admin"])
        admin.get_by_text("1 finished, 0 begun, 1 not yet begun.").wait_for()
        row = admin.locator("#raters").inner_text()
        assert "where 8 to 12 are expected" in row  # the study's own signs, live
        assert [page.request.get(links["r01"] + end).status for end in ("key.json", "../key.json")] == [404, 404]
        admin.close()  # it would ask for news after the end
    assert command("serve", folder, "--export", tmp_path / "out.jsonl").returncode == 0
    assert_perfect(collect([tmp_path / "out.jsonl"], folder / "key.json"), "r01")


def test_back_keeps_answers_and_changes_are_counted(browser_page, tmp_path):
    built = build(small_study(2, dimensions=[{"name": "voice", "kind": "comparison", "question": "?"}]), n_raters=2)
    built.save(tmp_path / "packet")
    page = browser_page(tmp_path / "packet/r01.html")
    press(page, "Tab", "Space", "Enter", "Enter", "Enter", "2", "Enter")
    assert heading(page) == "Item 2 of 2"
    page.get_by_role("button", name="Back").press("Enter")
    assert page.get_by_label("Leaning to Response 1").is_checked()
    page.get_by_label("Leaning to Response 1").focus()
    press(page, "5", "Enter", "4", "Enter", "Control+Enter", "Enter")
    frame = collect([download(page, tmp_path)], tmp_path / "packet/key.json").ratings.frame.sort("position")
    assert frame["value"].abs().to_list() == [2, 1]
    assert frame["revisions"].to_list() == [1, 0]
    assert (frame["seconds"] >= 0).all()


def test_the_gold_standard_stays_at_hand(packet, browser_page):
    page = browser_page(packet / "r01.html", width=400)
    press(page, *TO_THE_ITEMS)
    assert heading(page).startswith("Item 1")
    page.locator("summary").press("Enter")
    assert page.locator("#at-hand .text").first.inner_text() == Study.read(EXAMPLE).gold
    press(page, "2")  # rating goes on with the text open
    assert page.locator("#at-hand details").get_attribute("open") is not None


@pytest.mark.parametrize("width", [1280, 400])
def test_hostile_responses_are_shown_as_text(width, browser_page, axe, tmp_path):
    pairs = [
        {"id": "a", "prompt": HOSTILE, "target": HOSTILE, "comparison": LONG},
        {"id": "b", "prompt": "?", "target": f"x {HOSTILE}", "comparison": "\u202eright to left\u202c \u05d0\u05d1"},
    ]
    hostile = {
        "title": HOSTILE[:60],
        "consent": HOSTILE,
        "gold": HOSTILE,
        "characteristics": [HOSTILE],
        "thanks": HOSTILE,
    }
    study = small_study(pairs=pairs, **hostile)
    built = build(study, n_raters=2)
    built.save(tmp_path / "packet")
    page = browser_page(tmp_path / "packet/r01.html", width=width)
    shown = []

    def look():
        assert not page.evaluate("'owned' in globalThis")
        assert page.locator("img, iframe, svg").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        shown.extend(page.locator("main .text").all_text_contents())

    walk(page, tmp_path / "packet", "r01", look)
    assert {text for pair in study.pairs for text in (pair.target, pair.comparison)} <= set(shown)
    assert study.gold in shown
    assert collect([download(page, tmp_path)], tmp_path / "packet/key.json").refused == ()


def test_two_raters_read_different_orders(packet, browser_page):
    first = []
    for rater in ("r01", "r02"):
        page = browser_page(packet / f"{rater}.html")
        press(page, *TO_THE_ITEMS)
        assert heading(page) == "Item 1 of 7"
        first.append((page.locator("main .prompt").inner_text(), page.locator("main .text").all_text_contents()))
    assert first[0] != first[1]  # rows of one Latin square begin with different pairs
