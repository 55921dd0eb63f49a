"""Pages as the collector serves them, in a real browser."""

import json

import httpx
import pytest

from howsure.people import answer_rows, read_results
from howsure.people.store import Decision

from .browsing import begin, heading, press, rate
from .page_examples import HOSTILE, answered, study_page, track_page


def finish(page):
    press(page, "Control+Enter")
    assert heading(page) == "You are at the end"
    press(page, "Enter")


def at(running, rater):
    """Where the latest draft of a rater stands."""
    return json.loads(running.collector.store.draft(rater) or '{"at": 0}')["at"]


def until(page, is_so):
    """Wait in the browser's time for something to become true on the server."""
    for _ in range(1200):
        if is_so():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it never became true")


def test_a_served_study_is_answered_by_keyboard_and_gets_a_receipt(
    browser_page, run_collector, packet_folder, tmp_path
):
    with run_collector(packet_folder) as running:
        page = browser_page(running.link(0))
        begin(page)
        rate(page)
        page.reload()
        assert page.locator("#place").inner_text() == "Step 5 of 7"
        rate(page)
        finish(page)
        page.get_by_text("Receipt:").wait_for()
        final = running.collector.store.finals()[0]
        assert final.receipt in page.locator(".verdict").inner_text()
        page.reload()
        assert final.receipt in page.locator(".verdict").inner_text()
        assert page.evaluate("Object.keys(localStorage).filter((k) => k.includes('r1'))") == []
        assert [invitation.label for invitation in running.finished] == ["r1"]
        (tmp_path / "out.jsonl").write_text(final.text)
        collected = read_results([tmp_path / "out.jsonl"], [running.collector.packet.invitations[0].page])
        assert [row["value"] for row in answer_rows(collected.results)] == [1, 3, "yes", "80"] * 2


def test_nothing_is_sent_before_consent(browser_page, run_collector, packet_folder):
    with run_collector(packet_folder) as running:
        page = browser_page(running.link(0))
        sent = []
        page.on("request", lambda request: request.method == "PUT" and sent.append(json.loads(request.post_data)))
        page.clock.install()
        page.reload()
        press(page, "Enter")  # without the tick there is no way on
        page.get_by_text("Tick the box to go on").wait_for()
        page.clock.fast_forward(60_000)  # far longer than a draft waits before it is sent
        assert running.collector.store.drafts() == {}
        page.get_by_label("I have read this and agree to take part.").focus()
        press(page, "Space")
        page.clock.fast_forward(60_000)
        until(page, lambda: running.collector.store.draft("r1"))
        consent = running.collector.packet.invitations[0].page.page.screens[0].id
        assert all(body["screens"][consent]["agreed"] for body in sent)


def test_a_person_goes_on_on_another_device(browser_page, run_collector, packet_folder):
    with run_collector(packet_folder) as running:
        desk = browser_page(running.link(1))
        begin(desk)
        rate(desk)
        until(desk, lambda: at(running, "r2") == 4)
        telephone = browser_page(running.link(1), width=360)
        assert telephone.locator("#place").inner_text() == "Step 5 of 7"
        rate(telephone)
        until(telephone, lambda: at(running, "r2") == 5)
        press(desk, "1")
        desk.get_by_text("another window or on another device").wait_for()
        browser_page.troubles.clear()  # the refusal of the late draft is logged by the browser
        desk.reload()
        assert heading(desk) == "Comments"
        assert running.collector.progress()["begun"] == 1


def test_answers_wait_for_a_server_that_is_away_and_survive_a_reload(browser_page, run_collector, packet_folder):
    with run_collector(packet_folder) as running:
        page, port = browser_page("about:blank"), int(running.base.rpartition(":")[2])
        page.clock.install()
        page.goto(running.link(2))
        begin(page)
        rate(page)
    rate(page)
    finish(page)
    page.get_by_text("cannot be reached just now").wait_for()
    browser_page.troubles.clear()
    with run_collector(packet_folder, port=port) as running:
        page.get_by_text("Receipt:").wait_for()
        page.clock.run_for(10_000)  # late drafts must not come between
        assert page.get_by_text("Receipt:").is_visible()
        assert [final.rater for final in running.collector.store.finals()] == ["r3"]
    browser_page.troubles.clear()


def test_a_second_set_of_answers_is_refused_and_can_still_be_downloaded(browser_page, run_collector, packet_folder):
    with run_collector(packet_folder) as running:
        page = browser_page(running.link(0))
        page.route("**/draft", lambda route: None)  # a late draft would meet the other answers first
        begin(page)
        rate(page)
        rate(page)
        built = running.collector.packet.invitations[0].page
        running.collector.store.keep_final("r1", built.digest, "another", json.dumps(answered(built)))
        finish(page)
        page.get_by_text("did not take the answers").wait_for()
        assert page.get_by_role("button", name="Download answers").is_visible()
        browser_page.troubles.clear()


def test_a_page_for_everyone_is_served_without_asking_for_a_name(browser_page, run_collector, tmp_path):
    track_page(numbers=(5,)).save(tmp_path / "play.html")
    with run_collector(tmp_path, n_raters=2) as running:
        page = browser_page(running.link(1))
        assert heading(page) == "Practice"
        press(page, *("Enter", "5", "Enter", "Enter") * 2, "Enter")
        page.get_by_text("Receipt:").wait_for()
        assert [final.rater for final in running.collector.store.finals()] == ["rater-002"]


def test_a_served_page_works_below_a_path_of_a_proxy(browser_page, run_collector, packet_folder):
    """A proxy that keeps the collector under /lab/: the page finds its way back by its own address."""
    with run_collector(packet_folder) as running:
        page = browser_page("about:blank")
        page.route(
            "**/lab/**", lambda route: route.fulfill(response=route.fetch(url=route.request.url.replace("/lab/", "/")))
        )
        page.goto(running.link(0).replace("/r/", "/lab/r/"))
        press(page, "Tab", "Space", "Enter")
        page.get_by_text("Saved.", exact=True).wait_for()
        assert running.collector.store.draft("r1")


@pytest.mark.parametrize("width", [1280, 360])
def test_the_researchers_view_is_live_and_accessible(width, browser_page, axe, run_collector, tmp_path):
    for rater in ("r1", "r2"):
        study_page(rater, texts=(HOSTILE, "b")).save(tmp_path / f"{rater}.html")
    with run_collector(tmp_path, checks=lambda page, result: [HOSTILE]) as running:
        page = browser_page(running.admin, width=width)
        page.get_by_text("0 finished, 0 begun, 2 not yet begun.").wait_for()
        built = running.collector.packet.invitations[1].page
        running.collector.store.keep_final("r2", built.digest, "d", json.dumps(answered(built)))
        page.get_by_text("1 finished, 0 begun, 1 not yet begun.").wait_for()
        assert HOSTILE.split("\x00")[0].strip() in page.locator("#raters .more").inner_text()
        assert not page.evaluate("'owned' in globalThis")
        assert axe(page) == []
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download all final answers").click()
        assert waiting.value.path().read_text() == running.collector.store.finals()[0].text + "\n"
        page.close()  # it asks again and again, and complains when the server is gone


def test_the_researchers_view_of_an_open_study_lists_who_came_and_says_when_it_is_over(
    browser_page, run_collector, tmp_path
):
    for rater in ("r1", "r2", "r3"):
        study_page(rater).save(tmp_path / f"{rater}.html")

    def decide(finals):
        return Decision(is_over=bool(finals), message=f"{len(finals)} so far.")

    with run_collector(tmp_path, is_open=True, decide=decide, checks=lambda page, result: []) as running:
        page = browser_page(f"{running.open}?PROLIFIC_PID=ann")
        built = running.collector.packet.invitations[0].page
        httpx.post(f"{page.url}result", json=answered(built))
        page.goto(running.admin)
        page.get_by_text("1 finished, 0 begun, 2 places not needed.").wait_for()
        assert page.locator("#decision").inner_text() == "1 so far. The study is over: nobody else is taken in."
        assert page.locator("#raters th").all_inner_texts() == ["r1"]
        page.close()
