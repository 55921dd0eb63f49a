"""Chart pages in a real browser."""

import polars as pl
import pytest

from howsure.charts import Caption, Field, interval_plot, save_chart
from howsure.charts.theme import DARK, LIGHT

CAPTION = Caption(1204, "attempts", 0.95)
LIVE = ".stage.is-live svg"


def rgb(color):
    return f"rgb({', '.join(str(int(color[i : i + 2], 16)) for i in (1, 3, 5))})"


def test_every_chart_comes_alive_without_a_warning_and_fits_a_telephone(example, browser_page, tmp_path):
    page = browser_page(save_chart(example(), tmp_path / "chart.html"), width=400)
    page.locator(LIVE).wait_for()
    assert page.locator(".stage svg").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.locator(LIVE).bounding_box()["width"] <= 400


def test_legend_and_title_beside_long_names_fit_a_telephone(browser_page, tmp_path):
    names, kinds = [f"a model with a long name {i}" for i in range(3)], ["regression, 50 %", "regression, 80 %"]
    rows = pl.DataFrame([(name, kind, 0.5, 0.4, 0.6) for name in names for kind in kinds],
                        schema=["name", "kind", "value", "low", "high"], orient="row")  # fmt: skip
    chart = interval_plot(
        rows,
        title="Rates",
        caption=Caption(6, "rates", 0.95),
        label=Field("name", "Model"),
        value=Field("value", "A rate whose name is longer than the chart is wide", "0–1"),
        group=Field("kind", "Kind"),
    )
    page = browser_page(save_chart(chart, tmp_path / "chart.html"), width=400)
    texts = page.locator(f"{LIVE} text")
    texts.first.wait_for()
    assert texts.evaluate_all("all => all.filter((one) => one.getBoundingClientRect().right > 400).length") == 0
    assert page.get_by_text("is wide (0–1)").is_visible()


@pytest.mark.parametrize(("scheme", "colors"), [("light", LIGHT), ("dark", DARK)])
def test_the_same_picture_is_readable_on_light_and_dark(scheme, colors, examples, browser_page, tmp_path):
    from playwright.sync_api import expect

    path = save_chart(examples["interval_plot"](), tmp_path / "chart.html")
    page, without_scripts = (browser_page(path, scheme=scheme, java_script_enabled=has) for has in (True, False))
    for picture in (
        without_scripts.locator(".stage svg"),
        page.locator(LIVE),
    ):  # the live one takes the place of the still one
        expect(picture.locator("text", has_text="strong")).to_have_css("fill", rgb(colors["ink"]), timeout=60_000)
    assert page.locator("body").evaluate("body => getComputedStyle(body).backgroundColor") == rgb(colors["paper"])


def test_without_scripts_the_still_picture_stays(examples, browser_page, tmp_path):
    path = save_chart(examples["interval_plot"](), tmp_path / "chart.html")
    page = browser_page(path, java_script_enabled=False)
    assert page.locator(".stage svg text", has_text="strong").is_visible()


def test_a_pointer_is_told_the_estimate_as_text(browser_page, tmp_path):
    name = "<img src=x onerror=alert(1)>"
    rows = pl.DataFrame({"name": [name], "value": [0.5], "low": [0.4], "high": [0.6]})
    value = Field("value", "Rate", "0–1")
    chart = interval_plot(rows, title="T", caption=CAPTION, label=Field("name", "Model"), value=value)
    page = browser_page(save_chart(chart, tmp_path / "chart.html"))
    page.locator(f"{LIVE} .mark-symbol path").first.hover()
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    assert name in tip.inner_text()
    assert "0.50 [0.40, 0.60]" in tip.inner_text()


def test_a_chart_of_one_row_and_hostile_titles_is_just_text(browser_page, tmp_path):
    hostile = "</script><script>alert(1)</script>{{7*7}}"
    rows = pl.DataFrame({"name": [hostile], "value": [0.5], "low": [0.4], "high": [0.6]})
    caption = Caption(1, hostile, 0.9)
    chart = interval_plot(
        rows, title=hostile, caption=caption, label=Field("name", hostile), value=Field("value", hostile, hostile)
    )
    page = browser_page(save_chart(chart, tmp_path / "chart.html"))
    page.locator(LIVE).wait_for()
    assert hostile in page.locator("figcaption").inner_text()
    assert page.title() == hostile


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(scheme, examples, browser_page, axe, tmp_path):
    page = browser_page(save_chart(examples["interval_plot"](), tmp_path / "chart.html"), scheme=scheme)
    page.locator(LIVE).wait_for()
    assert axe(page) == []
    assert page.locator("[role=img]").get_attribute("aria-label").startswith("Rates. n = 1,204 attempts")
