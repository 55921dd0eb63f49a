"""The open link: seats, ids, drop-outs, screening, completion, withdrawal, and what strangers can do with it."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from howsure.errors import OptionError
from howsure.people import ChoiceQuestion, Item, Option, Page, build_page, opaque_id, read_page
from howsure.people.collector import Limits
from howsure.people.packet import open_packet
from howsure.people.store import ANSWERS, Decision, Fielding, Quotas, Store

from .page_examples import answered, signed, study_page

WIDE = Limits(per_join=(10_000, 10_000), per_link=(10_000, 10_000), seats_per_address=10_000)
CODES = Fielding(completion_code="C0DE", completion_url="https://platform.example/done?id={id}", screen_out_code="NOPE")


def screened_page(rater):
    """A page that takes only those who say yes."""
    options = (Option(value="a", label="Yes"), Option(value="b", label="No"))
    question = ChoiceQuestion(name="s1", text="Do you?", options=options)
    screening = Item(id=opaque_id("s", rater), title="Screening", questions=(question,), admits={"s1": ("a",)})
    rest = study_page(rater).page
    return build_page(Page(instrument="study", title="Voices", rater=rater, screens=(screening, *rest.screens)))


@pytest.fixture
def open_folder(tmp_path):
    """Makes a folder with so many pages."""

    def make(n=3, page=study_page):
        folder = tmp_path / f"open{n}"
        for number in range(1, n + 1):
            page(f"r{number:03d}").save(folder / f"r{number:03d}.html")
        return folder

    return make


_OPENED = []


@pytest.fixture(autouse=True)
def close_browsers():
    yield
    while _OPENED:
        _OPENED.pop().close()


def browser():
    """Somebody's browser, with cookies of its own."""
    _OPENED.append(httpx.Client(timeout=120, verify=False))
    return _OPENED[-1]


def join(base, client, person, **options):
    return client.get(f"{base}?PROLIFIC_PID={person}", follow_redirects=False, **options)


def arrive(running, person, client=None):
    """Join as somebody with a browser of their own; gives their link and browser."""
    client = client or browser()
    told = join(running.open, client, person)
    assert told.status_code == 303, told.text
    link = httpx.URL(running.open).join(told.headers["location"])
    return str(link), client


def page_of(running, link):
    token = link.rstrip("/").rpartition("/")[2]
    seat = running.collector.store.seat(token).seat
    return running.collector._by_seat[seat].page


def finish(running, link, client, **given):
    return client.post(f"{link}result", json=answered(page_of(running, link), **given))


def test_people_with_ids_get_one_page_each_and_a_code_at_the_end(open_folder, run_collector):
    with run_collector(open_folder(3), is_open=True, fielding=CODES, limits=WIDE) as running:
        ann, ben = arrive(running, "ann"), arrive(running, "ben")
        assert page_of(running, ann[0]).page.rater != page_of(running, ben[0]).page.rater
        told = finish(running, *ann).json()
        assert told["completion"] == {"code": "C0DE", "url": "https://platform.example/done?id=ann"}
        assert "C0DE" not in ben[1].get(ben[0]).text  # not before the answers have arrived
        assert "C0DE" in ann[1].get(ann[0]).text
        again, _ = arrive(running, "ann", ann[1])
        assert again == ann[0]
        exported = ann[1].get(f"{running.admin}results.jsonl").text
        assert "ann" not in exported
        assert json.loads(exported)["rater"] == "r001"
        people = list(csv.DictReader(io.StringIO(ann[1].get(f"{running.admin}people.csv").text)))
        assert [(row["id"], row["rater"], row["state"]) for row in people] == [
            ("ann", "r001", "finished"),
            ("ben", "r002", "open"),
        ]


def test_an_id_opens_nothing_in_another_browser_and_one_browser_gets_one_page(open_folder, run_collector):
    with run_collector(open_folder(3), is_open=True, limits=WIDE) as running:
        link, own = arrive(running, "ann")
        thief = join(running.open, browser(), "ann")
        assert thief.status_code == 409
        assert "another browser" in thief.text
        second, _ = arrive(running, "ann-again", own)  # one person with many ids
        assert second == link
        (row,) = [row for row in running.collector.progress()["raters"] if row["state"] == "begun"]
        assert row["signs"] == ["this browser came with 2 ids"]


def test_what_is_no_id_or_not_invited_is_refused_and_takes_no_seat(open_folder, run_collector):
    fielding = Fielding(ids=frozenset({"ann"}))
    with run_collector(open_folder(2), is_open=True, fielding=fielding, limits=WIDE) as running:
        client = browser()
        for query in ("", "?PROLIFIC_PID=", "?PROLIFIC_PID=%3Cscript%3E", "?other=ann", f"?id={'x' * 81}", "?id=a%20b"):
            told = client.get(running.open + query, follow_redirects=False)
            assert (told.status_code, "participant id" in told.text) == (400, True)
        assert join(running.open, client, "eve").status_code == 403
        assert running.collector.store.seats() == []
        assert client.get(f"{running.base}/join/wrong/?id=ann").status_code == 404
        assert join(running.open, client, "ann").status_code == 303


def test_places_of_people_who_left_are_given_to_others(open_folder, run_collector):
    with run_collector(open_folder(1), is_open=True, fielding=Fielding(away_minutes=10), limits=WIDE) as running:
        link, own = arrive(running, "ann")
        assert join(running.open, browser(), "ben").status_code == 503  # all places are taken
        with running.collector.store._transaction():
            running.collector.store._base.execute("update seats set seen = seen - 601")
        other, client = arrive(running, "ben")
        assert page_of(running, other).digest == page_of(running, link).digest
        assert own.get(link).status_code == 410
        assert finish(running, link, own).status_code == 410
        assert finish(running, other, client).status_code == 200
        assert join(running.open, browser(), "cid").status_code == 410  # the study is complete
        assert running.collector.progress()["away"] == 1


def test_a_screening_frees_the_place_and_keeps_no_answers(open_folder, run_collector):
    with run_collector(open_folder(1, screened_page), is_open=True, fielding=CODES, limits=WIDE) as running:
        link, client = arrive(running, "ann")
        page = page_of(running, link)
        first = page.page.screens[0].id
        whole = answered(page)
        record = {"kind": "item", "ms": 900, "visits": 1, "answers": {"s1": "b"}, "revisions": {}}
        out = signed(whole | {"screens": {first: record}})
        told = client.post(f"{link}result", json=out)
        assert told.json()["completion"] == {"code": "NOPE"}
        assert client.post(f"{link}result", json=out).json()["receipt"] == told.json()["receipt"]
        assert arrive(running, "ann", client)[0] == link  # no second try
        other, friend = arrive(running, "ben")
        body = answered(page)
        body["screens"][first] = record | {"answers": {"s1": "a"}}
        assert friend.post(f"{other}result", json=signed(body)).status_code == 200
        assert [final.rater for final in running.collector.store.finals()] == ["r001"]
        assert running.collector.progress()["screened"] == 1
        forged = answered(page)
        forged["screens"][first] = record  # turned away, and yet all is answered
        assert client.post(f"{other}result", json=signed(forged)).status_code == 422


def test_whoever_withdraws_leaves_nothing_behind(open_folder, run_collector):
    folder = open_folder(2)
    with run_collector(folder, is_open=True, limits=WIDE) as running:
        link, client = arrive(running, "ann-4711")
        finish(running, link, client, comment="my secret remark")
        refused = client.post(f"{running.admin}withdraw", json={"rater": "nobody"})
        assert refused.status_code == 404
        assert client.post(f"{running.admin}withdraw", json={"rater": "ann-4711"}).json() == {"withdrawn": "r001"}
        assert client.get(link).status_code == 410
        assert running.collector.store.finals() == []
        stored = b"".join(path.read_bytes() for path in folder.glob("answers.sqlite*"))
        assert b"secret remark" not in stored
        assert b"ann-4711" not in stored
        assert arrive(running, "ben")[0] != link  # the place is free again
        assert client.post(f"{running.base}/admin/wrong/withdraw", json={"rater": "r001"}).status_code == 404


def test_a_personal_link_ends_with_its_withdrawal(packet_folder, run_collector):
    with run_collector(packet_folder) as running:
        client = browser()
        built = running.collector.packet.invitations[0].page
        assert client.post(f"{running.link()}result", json=answered(built)).status_code == 200
        client.post(f"{running.admin}withdraw", json={"rater": "r1"})
        assert client.get(running.link()).status_code == 410
        states = {row["label"]: row["state"] for row in running.collector.progress()["raters"]}
        assert states == {"r1": "withdrawn", "r2": "invited", "r3": "invited"}


def test_flooding_takes_no_more_places_than_an_address_may_have(open_folder, run_collector):
    limits = Limits(per_join=(0.001, 12), seats_per_address=5)
    with run_collector(open_folder(20), is_open=True, limits=limits) as running:
        statuses = [join(running.open, browser(), f"bot{n}").status_code for n in range(20)]
        assert statuses.count(303) == 5
        assert statuses.count(429) == 15
        assert len(running.collector.store.seats()) == 5


def test_one_address_cannot_keep_all_places_of_a_small_study_but_a_class_room_can_use_them(tmp_path):
    seats = [f"r{n:03d}" for n in range(12)]
    store = Store(tmp_path / ANSWERS)

    def come(person, address, now):
        return store.join(
            person, f"browser of {person}", address, seats=seats, away_seconds=3600, most_per_address=40, now=now
        )

    taken = [come(f"p{n}", "one address", 1000.0) for n in range(12)]
    assert all(one.token for one in taken)
    for number in range(4):  # these answer
        store.keep_draft(seats[number], "page", 1, "{}")
    assert come("late", "elsewhere", 1060.0).reason == "full"  # a minute is no idleness
    assert come("friend", "one address", 1400.0).reason == "full"  # the crowd gains nothing by it
    others = [come(f"o{n}", f"address {n}", 1400.0) for n in range(9)]
    assert [one.reason for one in others] == [""] * 8 + ["full"]
    left = {one.seat for one in store.seats() if one.state == "open" and one.person.startswith("p")}
    assert left == set(seats[:4])  # whoever answers keeps their place
    store.close()


def test_a_place_that_is_given_away_while_its_owner_comes_back_has_one_owner(tmp_path):
    """The owner's request has read the place, and before it is marked as seen, somebody else gets it."""
    store = Store(tmp_path / ANSWERS)
    offer = {"seats": ["r1"], "away_seconds": 60, "most_per_address": 40}
    first = store.join("ann", "a", "x", now=0.0, **offer)
    begin = store._transaction

    def late():
        store._transaction = begin
        assert store.join("ben", "b", "y", **offer).token
        return begin()

    store._transaction = late
    assert store.seat(first.token).state == "away"
    store.close()


def test_neighbours_are_no_crowd(tmp_path):
    """Two people of one household in a study of 8."""
    seats = [f"r{n}" for n in range(8)]
    store = Store(tmp_path / ANSWERS)
    for number in range(8):
        store.join(f"p{number}", f"b{number}", f"home {number // 2}", seats=seats, away_seconds=3600, most_per_address=40, now=0.0)  # fmt: skip
    assert store.join("x", "x", "x", seats=seats, away_seconds=3600, most_per_address=40, now=900.0).reason == "full"
    store.close()


@pytest.mark.parametrize(
    ("hosts", "n_networks"),
    [
        (("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"), 2),
        (("::ffff:192.0.2.7", "192.0.2.7", "192.0.2.8"), 2),
        (("fe80::1%eth0", "fe80::2%eth1"), 1),
    ],
)
def test_the_second_half_of_an_address_of_ipv6_is_one_network(hosts, n_networks):
    pytest.importorskip("starlette", reason="pip install 'howsure[serve]'")
    from starlette.requests import Request

    from howsure.people.collector import _network

    requests = [Request({"type": "http", "client": (host, 1), "headers": []}) for host in hosts]
    assert len({_network(one) for one in requests}) == n_networks


@pytest.mark.parametrize(
    ("is_proxied", "headers", "statuses"),
    [
        (False, ("192.0.2.1", "192.0.2.2"), [303, 429]),
        (True, ("192.0.2.1", "192.0.2.2"), [303, 303]),
        (True, ("203.0.113.1, 192.0.2.1", "203.0.113.2, 192.0.2.1"), [303, 429]),
        (True, ("home 1", "home 2"), [303, 429]),
    ],
    ids=["no proxy", "proxy", "proxy that appends", "no addresses"],
)
def test_a_visitor_cannot_choose_the_address_that_limits_count(
    open_folder, run_collector, is_proxied, headers, statuses
):
    limits = Limits(seats_per_address=1)
    with run_collector(open_folder(4), is_open=True, is_proxied=is_proxied, limits=limits) as running:
        given = [
            join(running.open, browser(), f"pid{number}", headers={"X-Forwarded-For": one}).status_code
            for number, one in enumerate(headers)
        ]
    assert given == statuses


def test_a_live_study_prefers_pages_with_open_items_and_ends_when_it_is_decided(open_folder, run_collector):
    items = {"r001": ["x", "y"], "r002": ["x", "z"], "r003": ["y", "z"]}
    looks = []

    def decide(finals):
        looks.append(len(finals))
        return Decision(is_over=len(finals) >= 2, message=f"{len(finals)} looks", decided=frozenset("x"))

    with run_collector(open_folder(3), is_open=True, limits=WIDE, decide=decide, quotas=Quotas(2, items)) as running:
        link, client = arrive(running, "ann")
        assert page_of(running, link).page.rater == "r003"  # both of its items are open
        finish(running, link, client)
        other, friend = arrive(running, "ben")
        finish(running, other, friend)
        assert looks == [0, 1, 2]
        assert join(running.open, browser(), "cid").status_code == 410
        told = running.collector.progress()
        assert told["decision"] == "2 looks"
        assert told["is_over"]
        assert {row["item"]: row["done"] for row in told["quotas"]["rows"]} == {"x": 1, "y": 2, "z": 1}


def test_nobody_waits_for_the_looks_of_others_and_the_last_look_sees_all(open_folder, run_collector):
    looks, may_go_on = [], threading.Event()

    def decide(finals):
        looks.append(len(finals))
        if len(looks) == 2:  # the first look after an answer takes long
            may_go_on.wait(60)
        return Decision(is_over=False, message=f"{len(finals)} seen")

    with run_collector(open_folder(4), is_open=True, limits=WIDE, decide=decide) as running:
        people = [arrive(running, f"p{number}") for number in range(4)]
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(finish, running, *people[0])
            while len(looks) < 2:
                time.sleep(0.01)
            assert [finish(running, *one).status_code for one in people[1:]] == [200] * 3
            assert looks == [0, 1]  # they have their receipts, and the look still goes on
            may_go_on.set()
            assert first.result().status_code == 200
        deadline = time.monotonic() + 60
        while running.collector.progress()["decision"] != "4 seen":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert looks == [0, 1, 4]


def test_two_people_who_come_at_once_never_get_the_same_place(open_folder):
    folder = open_folder(8)
    stores = [Store(folder / ANSWERS) for _ in range(2)]
    seats = [f"r{n:03d}" for n in range(1, 9)]

    def one(number):
        return stores[number % 2].join(
            f"p{number}", f"b{number}", "a", seats=seats, away_seconds=60, most_per_address=99
        )

    with ThreadPoolExecutor(8) as pool:
        joined = list(pool.map(one, range(12)))
    assert sum(bool(given.token) for given in joined) == 8
    assert len({one.seat for one in stores[0].seats()}) == 8
    assert {given.reason for given in joined if not given.token} == {"full"}


def test_personal_and_open_links_do_not_mix(open_folder):
    folder = open_folder(2)
    open_packet(folder, is_open=True)
    with pytest.raises(OptionError, match="Pass one_link again"):
        open_packet(folder)
    other = open_folder(3)
    open_packet(other)
    with pytest.raises(OptionError, match="Build a new packet"):
        open_packet(other, is_open=True)
    with pytest.raises(OptionError, match="https://"):
        Fielding(completion_url="javascript:alert(1)")


@pytest.mark.heavy
@pytest.mark.parametrize("n_people", [60, pytest.param(500, marks=pytest.mark.evidence)])
def test_hundreds_of_people_over_http_meet_every_quota(open_folder, run_collector, n_people):
    """A fifth of those who come by the open link leave; every page is answered once, and nothing that was acknowledged is lost."""
    n_leavers, acknowledged, lock = n_people // 5, {}, threading.Lock()
    n_seats = n_people - n_leavers
    folder = open_folder(n_seats)
    fielding = Fielding(completion_code="C0DE", away_minutes=1)

    with run_collector(folder, is_open=True, fielding=fielding, limits=WIDE) as running:

        def person(number):
            with httpx.Client(timeout=120, verify=False) as client:
                told = join(running.open, client, f"pid{number}")
                if told.status_code != 303:
                    return told.status_code
                link = str(httpx.URL(running.open).join(told.headers["location"]))
                content = re.search(r'"rater":"(r\d+)"', client.get(link).text)[1]
                if number < n_leavers:
                    return "left"
                answers = answered(running.collector._by_seat[content].page, voice=number % 5 - 2)
                receipt = client.post(f"{link}result", json=answers).json()
                with lock:
                    acknowledged[content] = (answers["digest"], receipt["receipt"])
                return receipt["completion"]["code"]

        with ThreadPoolExecutor(8) as pool:
            leavers = list(pool.map(person, range(n_leavers)))
            with running.collector.store._transaction():
                running.collector.store._base.execute("update seats set seen = seen - 61")
            finishers = list(pool.map(person, range(n_leavers, n_people)))
        assert set(leavers) == {"left"}
        assert finishers == ["C0DE"] * n_seats
        assert running.collector.progress()["finished"] == n_seats
    store = Store(folder / ANSWERS)
    assert {final.rater: (final.digest, final.receipt) for final in store.finals()} == acknowledged
    store.close()


@pytest.mark.heavy
def test_a_killed_collector_loses_neither_answers_nor_places(open_folder):
    """Kill −9 after each person: every acknowledged answer, and every place, is there when it runs again."""
    folder, received, links = open_folder(3), {}, {}
    for number in range(3):
        with serving(folder, "--one-link", "--completion-code", "C0DE") as (process, base):
            client = browser()
            told = join(base, client, f"pid{number}")
            link = str(httpx.URL(base).join(told.headers["location"]))
            seat = re.search(r'"rater":"(r\d+)"', client.get(link).text)[1]
            if number % 2:
                body = answered(read_page(folder / f"{seat}.html"))
                received[seat] = client.post(f"{link}result", json=body).json()["receipt"]
            links[seat] = httpx.URL(link).path
            process.kill()
    with serving(folder, "--one-link") as (_, base):
        for seat, path in links.items():
            page = browser().get(str(httpx.URL(base).join(path))).text
            assert f'"receipt":{json.dumps(received.get(seat))}' in page
    store = Store(folder / ANSWERS)
    assert {final.rater: final.receipt for final in store.finals()} == received
    store.close()


@contextmanager
def serving(folder, *options):
    """The real command in a process of its own, and where its open link is."""
    line = [sys.executable, "-m", "howsure", "serve", str(folder), "--port", "0", *options]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        try:
            told = "".join(process.stdout.readline() for _ in range(3))
            base = re.search(r"http\S+/join/\S+", told)[0]
            deadline = time.monotonic() + 60
            while True:
                try:
                    httpx.get(base, verify=False)
                    break
                except httpx.ConnectError:
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
            yield process, base
        finally:
            process.kill()


def test_a_folder_that_cannot_be_written_is_told_in_one_line(open_folder, command):
    folder = open_folder(1)
    (folder / ANSWERS).mkdir()
    told = command("serve", folder, "--one-link")
    assert told.returncode == 2
    assert told.stderr.count("\n") == 1
    assert "cannot be written" in told.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_told_in_one_line(open_folder, command):
    folder = open_folder(2)
    folder.chmod(0o500)
    try:
        told = command("serve", folder, "--one-link")
    finally:
        folder.chmod(0o700)
    assert (told.returncode, told.stderr.count("\n")) == (2, 1)


def test_a_copy_is_whole_and_private_while_the_collector_runs(open_folder, run_collector, tmp_path):
    with run_collector(open_folder(2), is_open=True, limits=WIDE) as running:
        link, client = arrive(running, "ann")
        finish(running, link, client)
        running.collector.store.backup(tmp_path / "copy.sqlite")
        assert (tmp_path / "copy.sqlite").stat().st_mode & 0o777 == 0o600
        copy = Store(tmp_path / "copy.sqlite")
        assert [final.rater for final in copy.finals()] == ["r001"]
        copy.close()
