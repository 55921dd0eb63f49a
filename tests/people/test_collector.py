"""The collector as an application: what it takes, what it refuses, and that it never stumbles."""

import json

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="pip install 'howsure[serve]'")

from howsure.errors import InputError
from howsure.people.collector import Collector, Limits, RateLimit, export
from howsure.people.packet import open_packet
from howsure.people.results import read_results
from howsure.people.store import ANSWERS, Store
from servers.event_loops import in_a_loop

from .asking import Asker
from .page_examples import answered, draft, signed, study_page, track_page

FREE = Limits(per_link=(1e9, 10**9), per_stranger=(1e9, 10**9))


@pytest.fixture
def collector(packet_folder):
    store = Store(packet_folder / ANSWERS)
    yield Collector(open_packet(packet_folder), store, limits=FREE)
    store.close()


@pytest.fixture
def ask(collector):
    return Asker(collector)


@pytest.fixture
def page(ask):
    return ask.packet.invitations[0].page


def test_the_link_shows_the_page_of_its_person_and_nothing_else_is_there(ask, page):
    response = ask("GET", ask.link())
    assert response.status_code == 200
    assert page.digest in response.text
    assert ask("GET", ask.link()[:-1]).text == response.text
    for path in (
        "/",
        "/r/",
        "/r",
        "/admin/",
        "/links.json",
        "/key.json",
        "/r1.html",
        "/robots.txt",
        "/favicon.ico",
        "/docs",
    ):
        assert ask("GET", path).status_code == 404, path


@pytest.mark.parametrize(
    "path",
    [
        "/../links.json",
        "/r/../links.json",
        "/r/..%2flinks.json",
        "/r/%2e%2e/%2e%2e/etc/passwd",
        "/r/..%5c..%5clinks.json",
        "/r//etc/passwd",
        "/r/%00/",
        "/r/%ff%fe/",
        "/admin/..%2f..%2fanswers.sqlite",
        "//evil.example/r/",
    ],
)
def test_no_path_leads_to_a_file(ask, path):
    response = ask("GET", path)
    assert response.status_code == 404
    assert "error" in response.json()


@pytest.mark.parametrize("status_of", ["page", "missing", "refused"])
def test_every_answer_carries_the_security_headers(ask, status_of):
    path = {"page": ask.link(), "missing": "/r/guess/", "refused": ask.link(end="draft")}[status_of]
    response = ask("PUT" if status_of == "refused" else "GET", path, b"{")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
    assert "server" not in response.headers
    assert "access-control-allow-origin" not in response.headers


def test_final_answers_get_a_receipt_the_same_again_the_same_and_others_are_refused(ask, page):
    first = ask("POST", ask.link(end="result"), answered(page))
    assert first.status_code == 200
    again = ask("POST", ask.link(end="result"), answered(page))
    assert again.json() == first.json()
    other = ask("POST", ask.link(end="result"), answered(page, voice=2))
    assert other.status_code == 409
    assert [json.loads(line)["screens"] for line in export(ask.collector.store).splitlines()] == [
        answered(page)["screens"]
    ]
    assert first.json()["receipt"] in ask("GET", ask.link()).text


def test_what_is_exported_is_what_was_sent(ask, tmp_path):
    pages = [invitation.page for invitation in ask.packet.invitations]
    for number, page in enumerate(pages):
        assert ask("POST", ask.link(number, "result"), answered(page, comment="  «ü» \u2028 ")).status_code == 200
    (tmp_path / "results.jsonl").write_text(ask("GET", f"/admin/{ask.packet.admin}/results.jsonl").text)
    collected = read_results([tmp_path / "results.jsonl"], pages)
    assert collected.refused == ()
    assert {received.rater for received in collected.results} == {"r1", "r2", "r3"}


def test_a_draft_comes_back_on_another_device_until_the_final_answers_are_there(ask, page):
    assert ask("PUT", ask.link(end="draft"), draft(page, saves=4)).status_code == 200
    assert ask("PUT", ask.link(end="draft"), draft(page, saves=4)).status_code == 200
    assert ask("PUT", ask.link(end="draft"), draft(page, saves=3)).status_code == 409
    session = ask("GET", ask.link()).text.split('id="session">')[1].split("</script>")[0]
    assert json.loads(session)["draft"]["saves"] == 4
    ask("POST", ask.link(end="result"), answered(page))
    assert ask("PUT", ask.link(end="draft"), draft(page, saves=9)).status_code == 409
    assert '"draft":null' in ask("GET", ask.link()).text


def test_answers_sent_with_the_link_of_another_are_refused(ask, page):
    assert ask("POST", ask.link(1, "result"), answered(page)).status_code == 422
    assert ask("PUT", ask.link(1, "draft"), draft(page)).status_code == 422
    assert ask("POST", ask.link(0, "result"), answered(page, rater="r2")).status_code == 422


def test_a_page_for_everyone_keeps_people_apart_by_their_links(tmp_path):
    built = track_page()
    built.save(tmp_path / "play.html")
    store = Store(tmp_path / ANSWERS)
    ask = Asker(Collector(open_packet(tmp_path, 2), store, limits=FREE))
    assert '"rater":"rater-002"' in ask("GET", ask.link(1)).text
    assert ask("POST", ask.link(1, "result"), answered(built, rater="rater-002")).status_code == 200
    assert ask("POST", ask.link(0, "result"), answered(built, rater="rater-002")).status_code == 422
    store.close()


@pytest.mark.parametrize(
    "forge", [lambda t: t[:-1], lambda t: t + "A", lambda t: t.swapcase(), lambda t: "x" * 32, lambda t: "%20" + t]
)
def test_forged_tokens_open_nothing(ask, page, forge):
    token = forge(ask.packet.invitations[0].token)
    for method, end, body in (("GET", "", None), ("PUT", "draft", draft(page)), ("POST", "result", answered(page))):
        assert ask(method, f"/r/{token}/{end}", body).status_code == 404
    assert ask("GET", f"/admin/{ask.packet.invitations[0].token}/").status_code == 404
    assert ask("GET", f"/r/{ask.packet.admin}/").status_code == 404
    assert ask("GET", f"/admin/{forge(ask.packet.admin)}/progress").status_code == 404
    assert ask.collector.store.finals() == []


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"[" * 500_000, {}, 422),
        (b'{"a":' * 90_000 + b"1" + b"}" * 90_000, {}, 422),
        (b'{"reloads": NaN}', {}, 422),
        (b'{"reloads": 1e999}', {}, 422),
        (b"9" * 900_000, {}, 422),
        (b"\xff\xfe", {}, 422),
        (b"", {}, 422),
        (b"null", {}, 422),
        (b'"\\ud800"', {}, 422),
        (b" " * 1_000_001, {}, 413),
        (b"{}", {"content-type": "text/plain"}, 415),
        (b"{}", {"content-type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_bodies_that_are_not_answers_are_refused(ask, body, headers, status):
    for method, end in (("PUT", "draft"), ("POST", "result")):
        response = ask(method, ask.link(end=end), body, headers=headers)
        assert response.status_code == status
        assert response.json()["error"]


def test_a_body_without_a_stated_size_is_cut_off_at_the_limit(ask):
    sent = 0

    async def endless():
        nonlocal sent
        while True:
            sent += 100_000
            yield b" " * 100_000

    async def post():
        transport = httpx.ASGITransport(ask.collector.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.post(
                ask.link(end="result"), content=endless(), headers={"content-type": "application/json"}
            )

    assert in_a_loop(post()).status_code == 413
    assert sent < 1_500_000


@pytest.mark.parametrize("length", ["-1", "1e3", "９", "999999999999999", "9" * 5000])
def test_an_absurd_size_is_refused(ask, length):
    headers = {"content-type": "application/json", "content-length": length}
    assert ask.raw("POST", ask.link(end="result"), b"{}", headers) == 413


def test_wrong_methods_are_refused(ask):
    for method, end in (
        ("POST", ""),
        ("DELETE", ""),
        ("GET", "result"),
        ("PUT", "result"),
        ("PATCH", "draft"),
        ("OPTIONS", "draft"),
    ):
        assert ask(method, ask.link(end=end)).status_code == 405


def test_too_many_requests_have_to_wait_and_then_go_on(packet_folder):
    store = Store(packet_folder / ANSWERS)
    ask = Asker(
        Collector(open_packet(packet_folder), store, limits=Limits(per_link=(0.001, 5), per_stranger=(0.001, 3)))
    )
    assert [ask("GET", ask.link()).status_code for _ in range(7)] == [200] * 5 + [429] * 2
    assert ask("GET", ask.link(1)).status_code == 200
    assert [ask("GET", "/r/guess/").status_code for _ in range(5)] == [404] * 3 + [429] * 2
    assert ask("GET", f"/admin/{ask.packet.admin}/").status_code == 200
    store.close()


def test_a_rate_fills_up_with_time_and_forgets_the_oldest():
    now = [0.0]
    rate = RateLimit(2, 3, clock=lambda: now[0], n_names=2)
    assert [rate.allows("a") for _ in range(4)] == [True, True, True, False]
    now[0] = 0.5
    assert [rate.allows("a") for _ in range(2)] == [True, False]
    assert rate.allows("b")
    assert rate.allows("c")
    assert rate.allows("a")  # forgotten in between


def test_the_researcher_sees_how_far_everyone_is_and_what_to_look_at(ask):
    pages = [invitation.page for invitation in ask.packet.invitations]
    ask("PUT", ask.link(1, "draft"), draft(pages[1], at=3))
    ask("POST", ask.link(0, "result"), answered(pages[0], quiz="bees"))
    progress = ask("GET", f"/admin/{ask.packet.admin}/progress").json()
    assert (progress["finished"], progress["begun"], progress["invited"]) == (1, 1, 1)
    rows = {row["label"]: row for row in progress["raters"]}
    assert rows["r1"]["signs"] == ["quiz not passed (0 of 1, 1 needed)"]
    assert rows["r1"]["minutes"] == 6
    assert (rows["r2"]["done"], rows["r2"]["of"], rows["r2"]["state"]) == (3, 6, "begun")


def test_an_instrument_brings_its_own_checks(packet_folder):
    store = Store(packet_folder / ANSWERS)
    seen = []

    def checks(page, result):
        seen.append((page.page.rater, result.rater))
        return ["looks odd"]

    ask = Asker(Collector(open_packet(packet_folder), store, checks=checks, limits=FREE))
    ask("POST", ask.link(end="result"), answered(ask.packet.invitations[0].page))
    assert [ask.collector.progress()["raters"][0]["signs"] for _ in range(2)] == [["looks odd"]] * 2
    assert seen == [("r1", "r1")]
    store.close()


def test_pages_changed_after_answers_came_in_are_refused(ask, packet_folder):
    ask("POST", ask.link(end="result"), answered(ask.packet.invitations[0].page))
    study_page("r1", seed=9, n_items=3).save(packet_folder / "r1.html")
    with pytest.raises(InputError, match="page of 'r1' was changed"):
        Collector(open_packet(packet_folder), ask.collector.store)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


@st.composite
def bent_answers(draw, page):
    """A right set of answers with one value, anywhere, replaced by something else; the digest often made to fit."""
    body = json.loads(json.dumps(draw(st.sampled_from([answered(page), draft(page)]))))
    inner = body
    while True:
        name = draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner))))
        if isinstance(inner[name], dict | list) and inner[name] and draw(st.booleans()):
            inner = inner[name]
            continue
        inner[name] = draw(JSON)
        break
    try:
        return signed(body) if draw(st.booleans()) else body
    except (ValueError, TypeError):
        return body


def stumble_over(ask, page, data):
    method = data.draw(st.sampled_from(["GET", "PUT", "POST", "HEAD", "DELETE", "OPTIONS"]))
    rooms = [("r", ask.packet.invitations[0].token), ("admin", ask.packet.admin)]
    room, token = data.draw(st.sampled_from(rooms) | st.tuples(st.sampled_from(["r", "admin"]), st.text(max_size=10)))
    end = data.draw(st.sampled_from(["", "draft", "result", "progress", "results.jsonl"]))
    body = data.draw(st.binary(max_size=50) | JSON | bent_answers(page))
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    kind = data.draw(st.sampled_from(["application/json", "APPLICATION/JSON; charset=x", "text/html", ""]))
    assert ask.raw(method, f"/{room}/{token}/{end}", body, {"content-type": kind}) < 500
    for final in ask.collector.store.finals():
        assert set(json.loads(final.text)) == set(answered(page))


@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_request_makes_it_stumble(ask, page, data):
    """Random methods, paths, headers and bodies: an answer below 500 each time, and nothing kept that is not whole."""
    stumble_over(ask, page, data)


@pytest.mark.evidence
@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_request_in_hundreds_makes_it_stumble(ask, page, data):
    stumble_over(ask, page, data)
