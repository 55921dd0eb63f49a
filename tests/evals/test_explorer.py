"""The explorer in a real browser: the same numbers as Python, no request, nothing for an audit or a hostile text to find."""

import base64
import re
import zlib

import numpy as np
import polars as pl
import pytest

import howsure
from howsure.errors import OptionError
from howsure.evals.explorer import explore
from howsure.stats._arrays import t_quantile
from howsure.tables import Attempts
from servers.report_page import show

HOSTILE = "</script><script>globalThis.owned=1</script><img src=x onerror=alert(1)>\u202e{{7*7}}"


def attempts_of(seed=0, *, n_models=4, n_items=40, n_attempts=2, is_binary=True, **more):
    """Three evals of different size, families across items, some items missing, repeats, a prompt and costs."""
    rng = np.random.default_rng(seed)
    rows = []
    for model in range(n_models):
        for item in range(n_items):
            if rng.random() < 0.05 and item > 2:
                continue
            p = 1 / (1 + np.exp(np.sin(item) * 2 - model / 2))
            for attempt in range(n_attempts):
                score = (
                    float(rng.random() < p) if is_binary else round(float(rng.beta(4 * p + 0.1, 4 * (1 - p) + 0.1)), 6)
                )
                rows.append(
                    {
                        "subject": f"model {model}",
                        "task": f"t{item:03}",
                        "attempt": attempt + 1,
                        "score": score,
                        "domain": ("alpha", "beta", "gamma")[min(item * 5 // n_items, 2)],
                        "family": f"f{item // 3}" if item % 7 else None,
                        "prompt": ("short", "long")[(item + attempt) % 2],
                        "seconds": round(float(rng.gamma(2, 3)), 3),
                        "cost": round(float(rng.gamma(2, 0.01)), 5),
                    }
                    | more
                )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    # numbered without gaps
    return Attempts(frame.with_columns(attempt=pl.int_range(1, pl.len() + 1).over("subject", "task")))


@pytest.fixture
def opened(browser_page, tmp_path):
    def open_(attempts, *, expect_item=None, width=1280, scheme="light", **options):
        path = explore(attempts, **({"by": "model"} | options)).save(tmp_path / f"explorer-{width}-{scheme}.html")
        page = browser_page(path, width=width, scheme=scheme)
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        return page

    return open_


def same(found, estimate):
    assert found["value"] == pytest.approx(estimate.value, rel=1e-9, abs=1e-12)
    assert found["low"] == pytest.approx(estimate.low, rel=1e-9, abs=1e-12)
    assert found["high"] == pytest.approx(estimate.high, rel=1e-9, abs=1e-12)


def same_as_python(page, attempts, cluster):
    """Every mean and every difference of the page against `summary` and `compare`."""
    means = {row["model"]: row for row in page.evaluate("explorer.models()")}
    rows = {row.subject: row for row in howsure.summary(attempts, by="all", cluster=cluster).rows}
    assert means.keys() == rows.keys()
    for name, row in rows.items():
        same(means[name], row.mean)
        assert (means[name]["nItems"], means[name]["nClusters"]) == (row.n_items, row.n_clusters)
    names = page.evaluate("explorer.content.models")
    there = sorted(rows)
    for a, b in [(there[0], there[-1]), (there[-1], there[0]), (there[1], there[0])]:
        pair = howsure.compare(attempts, a, b, by="model", cluster=cluster).pairs[0]
        found = page.evaluate("([a, b]) => explorer.pair(a, b)", [names.index(a), names.index(b)])
        same(found, pair.difference)
        assert found["pGreater"] == pytest.approx(pair.p_a_greater, rel=1e-9, abs=1e-12)
        assert found["nItems"] == pair.n_items


@pytest.mark.parametrize("cluster", ["task", "family", "domain"])
@pytest.mark.parametrize("is_binary", [True, False])
def test_numbers_equal_python(opened, cluster, is_binary):
    attempts = attempts_of(is_binary=is_binary)
    page = opened(attempts, cluster=cluster)
    same_as_python(page, attempts, cluster)


@pytest.mark.parametrize("n_attempts", [1, 3])
def test_numbers_equal_python_in_one_eval_with_equal_items(opened, n_attempts):
    frame = attempts_of(n_attempts=n_attempts, n_items=21).frame
    one = frame.with_columns(domain=pl.lit("alpha"), item_digest=pl.col("task").str.head(3))
    page = opened(Attempts(one), cluster="task")
    same_as_python(page, Attempts(one), "task")


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.98, 1.0])
def test_numbers_equal_python_near_the_bounds(opened, share):
    frame = attempts_of(n_attempts=1).frame.with_columns(domain=pl.lit("alpha"))
    rank = pl.col("task").rank("dense").over("subject") / pl.col("task").n_unique()
    edge = Attempts(frame.with_columns(score=(rank <= share).cast(pl.Float64)))
    same_as_python(opened(edge, cluster="task"), edge, "task")


def test_filters_recompute_what_python_gives_for_the_rows_that_are_left(opened):
    attempts = attempts_of()
    page = opened(attempts, cluster="family")
    page.get_by_text("Prompt", exact=True).click()
    page.get_by_label("long", exact=True).uncheck()
    left = attempts.frame.filter(pl.col("prompt") == "short")
    assert f"{len(left):,} of {len(attempts.frame):,} attempts" in page.locator("#left").inner_text()
    renumbered = left.with_columns(attempt=pl.int_range(1, pl.len() + 1).over("subject", "task"))
    same_as_python(page, Attempts(renumbered), "family")
    page.get_by_text("Seconds", exact=True).click()
    page.get_by_label("Seconds: at most").fill("8")
    page.keyboard.press("Enter")
    fewer = left.filter(pl.col("seconds") <= 8)
    same_as_python(
        page, Attempts(fewer.with_columns(attempt=pl.int_range(1, pl.len() + 1).over("subject", "task"))), "family"
    )
    page.get_by_role("button", name="Reset filters").click()
    same_as_python(page, attempts, "family")


def test_a_level_and_clusters_can_be_changed(opened):
    attempts = attempts_of()
    page = opened(attempts)
    page.get_by_label("Clusters", exact=True).select_option("family")
    page.get_by_label("Coverage of intervals").select_option("0.99")
    row = howsure.summary(attempts, by="all", cluster="family", level=0.99).rows[0]
    same({one["model"]: one for one in page.evaluate("explorer.models()")}[row.subject], row.mean)


def test_counts_of_attempts_are_weighted(opened):
    rng = np.random.default_rng(1)
    rows = [
        {"subject": f"m{m}", "task": f"t{t}", "attempt": 1, "n": 5, "n_success": int(rng.binomial(5, 0.3 + 0.2 * m))}
        for m in range(3)
        for t in range(20)
    ]
    attempts = Attempts(pl.DataFrame(rows))
    page = opened(attempts)
    assert "300 of 300 attempts" in page.locator("#left").inner_text()
    same_as_python(page, attempts, "task")


def test_quantiles_of_t_equal_scipys(opened):
    page = opened(attempts_of(n_items=9))
    for level in (0.8, 0.95, 0.99):
        for df in (1, 1.37, 2.5, 7, 29.9, 400, 1e6):
            assert page.evaluate("([l, d]) => explorer.tQuantile(l, d)", [level, df]) == pytest.approx(
                t_quantile(level, df), rel=1e-12
            )


def test_cost_has_the_clustered_interval_of_its_item_means(opened):
    from howsure.stats.means import mean

    attempts = attempts_of()
    page = opened(attempts, cluster="task")
    own = attempts.frame.filter(subject="model 1").group_by("domain", "task").agg(pl.col("cost").mean())
    own = own.sort("domain", "task")
    expected = mean(own["cost"].to_numpy(), own["task"].to_list(), strata=own["domain"].to_list(), bounds=None)
    found = page.evaluate("explorer.measure(1, 'cost')")
    same(found, expected.estimate)
    assert "Cost ($) per attempt" in page.locator("#costs").inner_text()


def test_cost_per_success_is_that_of_compare(opened):
    ratio = pytest.importorskip("howsure.evals.comparison", reason="costs are not compared yet").ratio

    attempts = attempts_of()
    page = opened(attempts, cluster="task")
    own = attempts.frame.filter(subject="model 1").group_by("task").agg(pl.col("cost", "score").mean()).sort("task")
    expected = ratio(own["cost"].to_numpy(), own["score"].to_numpy(), own["task"].to_list(), 0.95)
    same(page.evaluate("explorer.costPerSuccess(1)"), expected)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_an_audit_finds_nothing_and_nothing_overflows(opened, axe, width, scheme):
    page = opened(
        attempts_of(answer="yes, because", question="What is asked?"), width=width, scheme=scheme, with_text=True
    )
    page.locator("#filter-box").evaluate("box => { box.open = true; }")
    page.locator(".filter").first.evaluate("box => { box.open = true; }")
    page.locator("#flips button.plain").first.click()
    page.get_by_role("heading", name="A: ").wait_for()
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_map_is_walked_by_keyboard(opened):
    page = opened(attempts_of())
    page.locator("#map").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "+", "ArrowLeft"):
        page.keyboard.press(key)
    told = page.locator("#told").inner_text()
    assert re.match(r"model \d, t\d{3}: (score \d\.\d\d \(attempts: \d\)|not tried)", told)
    assert "items" in page.locator("#zoom-told").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id === 'item-name'")
    assert page.locator("#item-name").inner_text() == told.split(", ")[1].split(":")[0]


def test_a_click_on_the_map_shows_the_item(opened):
    page = opened(attempts_of())
    show(page.locator("#map"))
    box = page.locator("#map").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + 10)
    page.locator("#item-name").wait_for()
    assert page.locator("#item article").count() >= 3


def test_answers_of_both_stand_side_by_side_only_with_text(opened):
    attempts = attempts_of(answer="the secret answer", question="the secret question")
    without = explore(attempts).html
    assert "secret" not in without
    page = opened(attempts, with_text=True)
    page.locator("#flips button.plain").first.click()
    page.get_by_text("the secret question").wait_for()
    texts = page.locator("#item article .text").all_inner_texts()
    assert len(texts) >= 4
    assert set(texts) == {"the secret answer"}
    first, second = (page.locator("#item article").nth(k).bounding_box() for k in (0, 1))
    assert first["y"] == second["y"]


def test_links_lead_to_the_transcript(opened):
    attempts = attempts_of(log="a b.eval", sample="x/1", epoch=2)
    page = opened(attempts, viewer="http://127.0.0.1:7575")
    page.locator("#flips button.plain").first.click()
    link = page.locator("#item article a").first
    assert link.get_attribute("href") == "http://127.0.0.1:7575/#/logs/a%20b.eval/samples/sample/x%2F1/2/"
    assert link.get_attribute("rel") == "noopener noreferrer"


def test_hostile_names_and_texts_are_shown_as_text(opened):
    frame = attempts_of(n_items=12, answer=HOSTILE, question=HOSTILE, note=HOSTILE).frame
    hostile = frame.with_columns(
        *(
            pl.concat_str(pl.lit(HOSTILE), pl.col(name)).alias(name)
            for name in ("subject", "task", "family", "domain", "prompt")
        )
    )
    page = opened(Attempts(hostile, notes=[HOSTILE]), with_text=True, title=HOSTILE)
    page.locator("#items button.plain").first.click()
    page.locator("#item article .text").first.wait_for()
    assert not page.evaluate("'owned' in globalThis")
    assert page.locator("img").count() == 0
    assert "\\u202e" in page.locator("#item article .text").first.inner_text()


def test_tables_sort_and_turn_pages_by_keyboard(opened):
    page = opened(attempts_of(n_items=60))
    page.locator("#items thead button", has_text="A − B").focus()
    page.keyboard.press("Enter")
    head = page.get_by_role("columnheader", name="A − B")
    assert head.get_attribute("aria-sort") == "ascending"
    page.locator("#items").get_by_role("button", name="Next").press("Enter")
    assert "26–50 of 60" in page.locator("#items .pager").inner_text()


def test_no_attempt_left_is_said_and_can_be_undone(opened):
    page = opened(attempts_of())
    page.get_by_label("Item name contains").fill("nothing like this")
    page.get_by_text("No attempt is left").wait_for()
    page.get_by_role("button", name="Reset filters").click()
    page.get_by_role("rowheader", name="model 3").first.wait_for()


def test_factors_that_vary_are_crossed_unless_they_are_pooled_and_that_is_said(opened):
    attempts = attempts_of(n_models=2)
    page = opened(attempts, by=())
    assert page.evaluate("explorer.content.models") == [
        f"model=model {m}, prompt={p}" for m in (0, 1) for p in ("long", "short")
    ]
    found = page.evaluate("explorer.pair(2, 0)")
    pair = howsure.compare(attempts, "model=model 1,prompt=long", "model=model 0,prompt=long").pairs[0]
    same(found, pair.difference)
    pooled = opened(attempts, by="model")
    assert pooled.evaluate("explorer.content.models") == ["model 0", "model 1"]
    assert "averaged over prompt" in pooled.locator("footer").text_content()


def test_one_model_and_one_item(opened):
    attempts = Attempts(pl.DataFrame({"subject": ["m"], "task": ["t"], "attempt": [1], "score": [1.0]}))
    page = opened(attempts)
    assert "too few" in page.locator("#models").inner_text()
    assert "Choose two different models" in page.locator("#difference").inner_text()


def test_200_000_samples_fit_in_10_megabytes():
    rng = np.random.default_rng(0)
    n_models, n_items, n_attempts = 20, 2000, 5
    index = np.arange(n_models * n_items * n_attempts)
    frame = pl.DataFrame(
        {
            "subject": np.char.add("model-", (index // (n_items * n_attempts)).astype(str)),
            "task": np.char.add("eval/sample-", (index // n_attempts % n_items).astype(str)),
            "attempt": index % n_attempts + 1,
            "score": (rng.random(len(index)) < 0.6).astype(float),
            "domain": "eval",
            "seconds": rng.gamma(2, 10, len(index)).round(3),
            "tokens": rng.integers(100, 20_000, len(index)),
            "cost": rng.gamma(2, 0.01, len(index)).round(6),
        }
    )
    page = explore(frame).html
    assert len(page.encode()) < 10_000_000


def test_a_notebook_shows_the_page_in_a_frame_of_its_own():
    shown = explore(attempts_of())._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts allow-popups"' in shown
    assert shown.count("<") == 2  # the frame and its end


def test_the_page_can_fetch_nothing_and_holds_no_address():
    page = explore(attempts_of()).html
    assert "default-src &#39;none&#39;" in page
    assert "require-trusted-types-for &#39;script&#39;" in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    blob = re.search(r'"blob":"([^"]+)"', page)[1]
    assert len(zlib.decompress(base64.b64decode(blob))) > 1000


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"cluster": "site"}, "No cluster called 'site'"),
        ({"with_text": True}, "no column question, target or answer"),
        ({"viewer": "javascript:alert(1)"}, "not an address"),
        ({"viewer": "http://localhost:1"}, "do not name their logs"),
    ],
)
def test_what_cannot_be_shown_is_explained(options, text):
    with pytest.raises(OptionError, match=text):
        explore(attempts_of(n_items=5), **options)
