"""The tour's page in a real browser. Every page opened here also fails on a console error, a warning or a request."""

import pytest


@pytest.mark.heavy
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark"), (1280, "dark"), (400, "light")])
def test_the_page_is_sound_on_screens_of_all_kinds(browser_page, axe, tour_folder, width, scheme):
    page = browser_page(tour_folder / "report.html", width=width, scheme=scheme)
    for figure in page.locator("figure.chart").all():
        figure.scroll_into_view_if_needed()
        figure.locator(".stage.is-live").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe(page) == []
