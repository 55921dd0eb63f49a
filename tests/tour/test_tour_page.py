"""The tour's page in a real browser. Every page opened here also fails on a console error, a warning or a request."""

import re

import pytest

from howsure.tour.making import ORDER
from servers.report_page import bring_alive


@pytest.mark.heavy
@pytest.mark.parametrize(("width", "scheme"), [pytest.param(1280, "light", marks=pytest.mark.evidence), (400, "dark")])
def test_the_page_is_sound_on_screens_of_all_kinds(browser_page, axe, tour_folder, width, scheme):
    page = browser_page(tour_folder / "report.html", width=width, scheme=scheme)
    bring_alive(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(_CLIPPED) == []
    assert page.evaluate(_SMALL) == []
    if width == 1280:
        assert page.locator(".table.is-cut").count() == 0
    assert axe(page) == []


@pytest.mark.heavy
def test_the_front_page_is_short_and_prints_on_two_sheets(browser_page, tour_folder):
    page = browser_page(tour_folder / "report.html")
    assert page.locator("article.card figure.chart").count() == len(ORDER)
    assert page.evaluate("document.documentElement.scrollHeight") < 6000
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert page.evaluate(_CLIPPED) == []
    assert page.locator(".table.is-cut").count() == 0
    pdf = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 2
    link = page.get_by_role("link", name="Details: Time horizons")
    link.click()
    page.get_by_text("Time horizons: every estimate beside").first.wait_for()


# boxes that cut what is in them, outside of a labelled box that scrolls
_CLIPPED = """() => [...document.querySelectorAll("main *:not(svg *)")].filter((box) => {
  const look = getComputedStyle(box);
  if (look.display === "inline" || look.position === "absolute" || !box.clientWidth || box.scrollWidth <= box.clientWidth + 1) return false;
  const holder = box.closest(".table, .stage");
  return !holder || !/auto|scroll/.test(getComputedStyle(holder).overflowX) || !(holder.ariaLabel || holder.getAttribute("aria-labelledby"));
}).map((box) => `${box.tagName} ${box.className} ${box.scrollWidth} > ${box.clientWidth}`)"""

_SMALL = """() => [...document.querySelectorAll(".stage svg text")].filter((text) => {
  const size = parseFloat(getComputedStyle(text).fontSize), matrix = text.getScreenCTM();
  return size > 0 && size * Math.hypot(matrix.a, matrix.b) < 10.99;
}).map((text) => text.textContent)"""
