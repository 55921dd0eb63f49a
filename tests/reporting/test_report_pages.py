"""The report in a real browser. Every page opened here also fails on a console error, a warning or a request."""

import datetime as dt
import re
from itertools import pairwise

import pytest

from howsure.reporting import Report, Section, TableBlock, save_report
from howsure.results import Provenance
from servers.report_page import bring_alive, show, unfold

LIVE = ".stage.is-live"


def opened(browser_page, path, **options):
    """The report with all its charts alive."""
    page = browser_page(path, **options)
    bring_alive(page)
    return page


@pytest.fixture(scope="module")
def alive(chromium, report_path):
    """The report with all its charts alive, opened once for the tests that change no more than the order of a table."""
    troubles = []
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")

    def shown(path):
        page = context.new_page()
        page.on("console", lambda said: said.type in ("error", "warning") and troubles.append(said.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(path.resolve().as_uri())
        return page

    yield opened(shown, report_path)
    context.close()
    assert troubles == []


def column(page, place):
    return page.locator(f"table >> nth=0 >> tbody tr > :nth-child({place})").all_inner_texts()


def test_charts_come_alive_when_they_come_near(browser_page, report_path):
    page = browser_page(report_path, height=300)
    unfold(page)
    figures = page.locator("figure.chart")
    assert figures.count() == 2
    assert figures.nth(1).locator(LIVE).count() == 0
    assert figures.nth(1).locator("svg").is_visible()
    show(figures.nth(1))
    figures.nth(1).locator(f"{LIVE} svg").wait_for()
    assert figures.nth(1).locator("svg").count() == 1


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_an_accessibility_audit_finds_nothing(browser_page, axe, report_path, scheme, width):
    page = opened(browser_page, report_path, scheme=scheme, width=width)
    page.locator(".part details details").first.evaluate("details => { details.open = true; }")
    assert axe(page) == []


@pytest.mark.parametrize("width", [1280, 400])
def test_only_wide_tables_scroll_and_they_can_be_reached_by_key(browser_page, report_path, width):
    page = opened(browser_page, report_path, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.get_by_role("group", name="A wide table")
    assert wide.evaluate("box => box.scrollWidth > box.clientWidth && box.tabIndex === 0")
    wide.focus()
    page.keyboard.press("ArrowRight")
    assert wide.evaluate("box => new Promise(done => setTimeout(() => done(box.scrollLeft > 0), 300))")


def test_tables_sort_by_keyboard_and_say_so(alive):
    head = alive.get_by_role("columnheader", name="Score")
    head.get_by_role("button").focus()
    alive.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(alive, 3) == ["0.125", "0.500", "12.250", "–"]
    alive.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "descending"
    assert column(alive, 3) == ["12.250", "0.500", "0.125", "–"]
    assert alive.locator("[aria-sort]").count() == 1


@pytest.mark.parametrize(
    ("place", "order"),
    [
        (1, ["alpha", "beta", "gamma 9", "Gamma 10"]),
        (2, ["9", "45", "300", "1,200"]),
        (4, ["-2.00", "0.30 [0.20, 0.40]", "0.80 [0.70, 0.90]", "too few (one cluster)"]),
        (5, ["2024-12-31", "2025-01-01", "2025-02-01", "–"]),
    ],
    ids=["names", "counts", "estimates", "dates"],
)
def test_each_kind_of_column_sorts_by_what_it_means(alive, place, order):
    alive.locator(f"table >> nth=0 >> thead th:nth-child({place}) button").click()
    assert column(alive, place) == order


def test_numbers_are_aligned_right_with_figures_of_one_width(alive):
    cell = alive.locator("td.number").first
    styles = cell.evaluate("e => [getComputedStyle(e).textAlign, getComputedStyle(e).fontVariantNumeric]")
    assert styles == ["right", "tabular-nums"]


def test_a_download_gives_the_file(alive, tmp_path):
    with alive.expect_download() as started:
        alive.get_by_role("link", name="rates.csv").click()
    assert started.value.suggested_filename == "rates.csv"
    started.value.save_as(tmp_path / "rates.csv")
    assert (tmp_path / "rates.csv").read_text("utf-8") == "model,rate\nα,0.5\n"


def test_the_keyboard_meets_the_skip_link_first(browser_page, report_path):
    page = browser_page(report_path)
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Skip to the content")
    assert link.evaluate("link => link === document.activeElement && link.getBoundingClientRect().left >= 0")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_landmarks_and_headings_are_in_order(alive):
    for role in ("banner", "navigation", "main", "contentinfo"):
        assert alive.get_by_role(role).count() == 1
    levels = [int(tag[1]) for tag in alive.locator("h1, h2, h3").evaluate_all("all => all.map(e => e.tagName)")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_contents_lead_there_and_stay_in_sight_on_wide_screens(browser_page, report_path):
    page = browser_page(report_path)
    link = page.get_by_role("navigation").get_by_role("link", name="More")
    link.click()
    assert page.url.endswith("#more")
    page.locator("nav a[aria-current]", has_text="More").wait_for()
    assert link.bounding_box()["y"] > 0


def test_print_has_the_front_and_the_open_parts_light_and_without_navigation(browser_page, report_path):
    folded = browser_page(report_path)
    assert len(re.findall(rb"/Type\s*/Page\b", folded.pdf(format="A4"))) == 1
    folded.emulate_media(media="print")
    assert not folded.get_by_role("heading", name="More").is_visible()
    page = opened(browser_page, report_path, scheme="dark")
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 2
    assert page.locator(".part details details").first.get_attribute("open") is not None
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.get_by_role("navigation").is_visible()
    assert page.locator("h1").evaluate("h1 => getComputedStyle(h1).color") == "rgb(27, 36, 48)"
    label = page.locator(f"{LIVE} text", has_text="strong").first
    assert label.evaluate("text => getComputedStyle(text).fill") == "rgb(27, 36, 48)"
    wide = page.locator("figure.chart svg").first.bounding_box()
    assert wide["x"] + wide["width"] <= 1280


def test_without_scripts_all_is_there_to_read(browser_page, report_path):
    page = browser_page(report_path, java_script_enabled=False)
    for part in page.locator(".part > details > summary").all():
        part.click()
    assert page.locator("figure.chart svg").count() == 2
    assert page.get_by_text("strong").first.is_visible()
    assert page.locator("thead button").count() == 0


def test_hostile_text_is_shown_as_text(browser_page, hostile_path, hostile_text):
    page = opened(browser_page, hostile_path)
    assert page.title() == hostile_text
    assert page.get_by_role("heading", level=1).inner_text() == hostile_text
    assert column(page, 1) == [hostile_text] * 4
    assert hostile_text in page.locator("figcaption").first.inner_text()
    assert page.locator("figure.chart svg text", has_text=hostile_text[:20]).count() > 0
    assert page.locator("img, main script:not([type])").count() == 0
    page.locator(f"{LIVE} .mark-symbol path").first.hover()
    page.locator("#vg-tooltip-element.visible").wait_for()
    assert hostile_text in page.locator("#vg-tooltip-element").inner_text()


def test_a_script_that_slipped_in_would_not_run(browser_page, report_path, tmp_path):
    poisoned = tmp_path / "poisoned.html"
    attack = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><main"
    poisoned.write_text(report_path.read_text("utf-8").replace("<main", attack, 1), "utf-8")
    page = browser_page(poisoned)
    unfold(page)
    page.locator("figure.chart").first.locator(LIVE).wait_for()
    assert page.title() == "Findings"
    assert any("Content Security Policy" in trouble for trouble in browser_page.troubles)
    browser_page.troubles.clear()


@pytest.mark.parametrize("mark", ["\u202e", "\u2067", "\u202b"], ids=["override", "isolate", "embedding"])
def test_marks_for_right_to_left_stay_inside_their_cell(browser_page, tmp_path, mark):
    table = TableBlock(["Name", "Note"], [[f"{mark}evil", "plain text"]], f"About {mark}names")
    report = Report(f"{mark}Title", [Section("S", [table])], Provenance({mark: mark}), dt.date(2025, 1, 1))
    page = browser_page(save_report(report, tmp_path / "report.html"))
    for text in ("plain text", "What made this report", "Input digest"):
        lefts = page.get_by_text(text).first.evaluate(_LEFTS)
        assert lefts == sorted(lefts)


_LEFTS = """element => {
  const text = element.firstChild, range = document.createRange();
  return [0, 3, 6].map(i => { range.setStart(text, i); range.setEnd(text, i + 1); return range.getBoundingClientRect().left; });
}"""
