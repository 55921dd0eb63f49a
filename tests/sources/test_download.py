"""Fetching from a real server on loopback that also misbehaves."""

from __future__ import annotations

import contextlib
import io
import socket
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from howsure.errors import InputError
from howsure.sources import download
from howsure.sources.download import fetch


def zipped(text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("benchmark_metadata.csv", text)
    return buffer.getvalue()


BODY = zipped("benchmark,source_file\n" + "".join(f"b{i},f{i}.csv\n" for i in range(20_000)))
HALF = len(BODY) // 2


class Site:
    """What the server holds, how it behaves on the coming requests, and what it was asked."""

    def __init__(self) -> None:
        self.body = BODY
        self.tag: str | None = '"v1"'
        self.manners: list[str] = []  # one a request; then "good"
        self.asked: list[dict[str, str]] = []
        self.address = ""
        self.is_over = threading.Event()

    def url(self, name: str = "data.zip") -> str:
        return f"{self.address}/{name}"


def handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(dict(self.headers.items()))
            manner = site.manners.pop(0) if site.manners else "good"
            if manner.isdecimal():
                self.send_error(int(manner))
            else:
                with contextlib.suppress(ConnectionError):  # the client may have gone
                    getattr(self, manner)()

        def good(self) -> None:
            if site.tag and self.headers.get("If-None-Match") == site.tag:
                self.head(304, 0)
            elif "Range" in self.headers and self.headers.get("If-Range") == site.tag:
                self.rest(int(self.headers["Range"].removeprefix("bytes=").rstrip("-")))
            else:
                self.whole()

        def rest(self, start: int) -> None:
            if start >= len(site.body):
                self.send_error(416)
                return
            span = f"bytes {start}-{len(site.body) - 1}/{len(site.body)}"
            self.head(206, len(site.body) - start, {"Content-Range": span})
            self.wfile.write(site.body[start:])

        def whole(self) -> None:
            self.head(200, len(site.body))
            self.wfile.write(site.body)

        def cut(self) -> None:
            self.head(200, len(site.body))
            self.wfile.write(site.body[: len(site.body) // 2])

        def hang_up(self) -> None:
            self.close_connection = True

        def wrong_piece(self) -> None:
            self.head(206, 10, {"Content-Range": f"bytes 0-9/{len(site.body)}"})
            self.wfile.write(site.body[:10])

        def too_short(self) -> None:  # says less than there is: what arrives ends early
            self.head(200, HALF)
            self.wfile.write(site.body[:HALF])

        def of_unknown_length(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(site.body)

        def moved(self) -> None:
            self.head(302, 0, {"Location": "/elsewhere.zip"})

        def slow(self) -> None:
            time.sleep(4)
            self.whole()

        def drip(self) -> None:
            self.head(200, len(site.body))
            self.dripped(site.body)

        def drip_headers(self) -> None:
            self.dripped(b"HTTP/1.0 200 OK\r\nX: " + b"y" * 10_000)

        def dripped(self, data: bytes) -> None:
            for place in range(len(data)):
                self.wfile.write(data[place : place + 1])
                self.wfile.flush()
                if site.is_over.wait(0.05):
                    return

        def page(self) -> None:
            self.head(200, 6, {"Content-Type": "text/html; charset=utf-8"})
            self.wfile.write(b"<html>")

        def head(self, status: int, length: int, more: dict[str, str] | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            for name, value in ({"ETag": site.tag} if site.tag else {}).items():
                self.send_header(name, value)
            for name, value in ({"Content-Type": "application/zip"} | (more or {})).items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.setattr(download, "_FIRST_PAUSE", 0.01)
    held = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(held))
    held.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield held
    server.shutdown()
    thread.join()
    server.server_close()


def told(url: str, cache: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        fetch(url, cache=cache, **options)
    text = str(caught.value)
    assert text.startswith(url)
    assert "\n" not in text
    assert "by hand" in text
    return text


def leftovers(cache: Path) -> set[str]:
    return {path.name.partition("-")[2] for path in cache.iterdir()}


def test_fetches_once_and_then_asks_whether_it_changed(site: Site, tmp_path: Path) -> None:
    first = fetch(site.url(), cache=tmp_path)
    assert first.read_bytes() == BODY
    assert first.suffix == ".zip"
    assert fetch(site.url(), cache=tmp_path) == first
    assert site.asked[1]["If-None-Match"] == '"v1"'
    assert leftovers(tmp_path) == {"data.zip", "data.zip.tag"}


def test_a_changed_file_replaces_the_copy(site: Site, tmp_path: Path) -> None:
    fetch(site.url(), cache=tmp_path)
    site.body, site.tag = zipped("new"), '"v2"'
    assert fetch(site.url(), cache=tmp_path).read_bytes() == site.body


def test_two_addresses_do_not_meet_in_the_cache(site: Site, tmp_path: Path) -> None:
    one, two = (fetch(site.url(f"data.zip?v={v}"), cache=tmp_path) for v in (1, 2))
    assert one != two


def test_goes_on_where_the_connection_broke(site: Site, tmp_path: Path) -> None:
    site.manners = ["cut"]
    seen: list[tuple[int, int]] = []
    path = fetch(site.url(), cache=tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == BODY
    assert site.asked[1]["Range"] == f"bytes={HALF}-"
    assert site.asked[1]["If-Range"] == '"v1"'
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (len(BODY), len(BODY))


def test_goes_on_in_a_later_call(site: Site, tmp_path: Path) -> None:
    site.manners = ["cut"]
    text = told(site.url(), tmp_path, retries=0)
    assert f"broke at {HALF:,} of {len(BODY):,} bytes" in text
    assert fetch(site.url(), cache=tmp_path).read_bytes() == BODY
    assert site.asked[1]["Range"] == f"bytes={HALF}-"


def test_starts_over_when_the_file_changed_meanwhile(site: Site, tmp_path: Path) -> None:
    site.manners = ["cut"]
    told(site.url(), tmp_path, retries=0)
    site.body, site.tag = zipped("new"), '"v2"'
    assert fetch(site.url(), cache=tmp_path).read_bytes() == site.body


@pytest.mark.parametrize("tag", [None, 'W/"v1"'])
def test_starts_over_without_a_strong_tag(site: Site, tmp_path: Path, tag: str | None) -> None:
    site.tag, site.manners = tag, ["cut"]
    assert fetch(site.url(), cache=tmp_path).read_bytes() == BODY
    assert "Range" not in site.asked[1]


def test_a_server_that_ignores_ranges_sends_it_all_again(site: Site, tmp_path: Path) -> None:
    site.manners = ["cut", "whole"]
    assert fetch(site.url(), cache=tmp_path).read_bytes() == BODY
    assert "Range" in site.asked[1]


@pytest.mark.parametrize("manner", ["416", "wrong_piece"])
def test_a_piece_that_does_not_fit_is_thrown_away(site: Site, tmp_path: Path, manner: str) -> None:
    site.manners = ["cut", manner]
    assert fetch(site.url(), cache=tmp_path).read_bytes() == BODY
    assert "Range" not in site.asked[2]


def test_a_piece_nobody_asked_for_is_refused(site: Site, tmp_path: Path) -> None:
    site.manners = ["wrong_piece"] * 2
    assert "another piece than was asked for 2 times" in told(site.url(), tmp_path, retries=1)


@pytest.mark.parametrize("manner", ["500", "503", "429", "hang_up", "slow"])
def test_tries_again_after_a_passing_fault(site: Site, tmp_path: Path, manner: str) -> None:
    site.manners = [manner]
    assert fetch(site.url(), cache=tmp_path, timeout=2 if manner == "slow" else 60).read_bytes() == BODY
    assert len(site.asked) == 2


def test_gives_up_after_the_last_try(site: Site, tmp_path: Path) -> None:
    site.manners = ["503"] * 9
    assert "answered 503 Service Unavailable 3 times" in told(site.url(), tmp_path, retries=2)
    assert len(site.asked) == 3


def test_a_missing_file_is_not_tried_again(site: Site, tmp_path: Path) -> None:
    site.manners = ["404"]
    assert "answered 404 Not Found" in told(site.url(), tmp_path)
    assert len(site.asked) == 1


def test_a_web_page_is_refused_by_its_type_and_by_its_look(site: Site, tmp_path: Path) -> None:
    site.manners = ["page"]
    assert "is a web page" in told(site.url(), tmp_path)
    site.body = b"\n <!DOCTYPE html><title>Log in</title>"
    assert "it is a web page" in told(site.url(), tmp_path)
    assert not leftovers(tmp_path)


def test_a_bad_file_leaves_the_copy_and_names_it(site: Site, tmp_path: Path) -> None:
    path = fetch(site.url(), cache=tmp_path)
    damaged = bytearray(BODY)
    damaged[60] ^= 0xFF
    site.body, site.tag = bytes(damaged), '"v2"'
    text = told(site.url(), tmp_path)
    assert "damaged" in text
    assert text.endswith(str(path))
    assert path.read_bytes() == BODY
    assert leftovers(tmp_path) == {"data.zip", "data.zip.tag"}


def test_a_wrong_length_is_noticed(site: Site, tmp_path: Path) -> None:
    site.manners = ["too_short"]
    assert "not a whole zip file" in told(site.url(), tmp_path)
    assert fetch(site.url(), cache=tmp_path).read_bytes() == BODY
    assert "Range" not in site.asked[1]


def test_a_csv_is_known_by_its_header(site: Site, tmp_path: Path) -> None:
    site.body = b"model,benchmark,performance\no3,GPQA,0.8\n"
    assert fetch(site.url("scores.csv"), cache=tmp_path).read_bytes() == site.body
    site.body, site.tag = b"nothing here\n", '"v2"'
    assert "no csv header" in told(site.url("scores.csv"), tmp_path)


@pytest.mark.parametrize("manner", ["whole", "of_unknown_length"])
def test_refuses_what_is_too_large(site: Site, tmp_path: Path, manner: str) -> None:
    site.manners = [manner]
    assert "larger than 0.1 MB" in told(site.url(), tmp_path, limit=100_000)
    assert not leftovers(tmp_path)


def test_follows_to_another_address(site: Site, tmp_path: Path) -> None:
    site.manners = ["moved"]
    assert fetch(site.url(), cache=tmp_path).read_bytes() == BODY


def test_no_network_is_said_in_one_line(site: Site, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert "cannot be reached (Connection refused). Check the network." in told(
        f"http://127.0.0.1:{port}/a.zip", tmp_path
    )


def test_without_the_server_the_copy_is_named_but_not_used(site: Site, tmp_path: Path) -> None:
    path = fetch(site.url(), cache=tmp_path)
    site.manners = ["hang_up"]
    assert told(site.url(), tmp_path, retries=0).endswith(f": {path}")


@pytest.mark.parametrize("url", ["data.zip", "file:///etc/passwd", "http://", "http://a b/c.zip", "http://h:x/c.zip"])
def test_only_web_addresses_are_fetched(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a web address"):
        fetch(url, cache=tmp_path)


def test_a_cache_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="Choose another folder"):
        fetch("http://127.0.0.1:9/data.zip", cache=tmp_path / "file" / "cache")


@pytest.mark.parametrize("manner", ["drip", "drip_headers"])
def test_a_server_that_drips_has_a_deadline(site, tmp_path, manner):
    site.manners = [manner]
    with pytest.raises(InputError, match=r"was not received within 2 seconds\. The same command continues"):
        fetch(site.url(), cache=tmp_path, timeout=20, deadline=2)
    site.is_over.set()
    assert len(site.asked) == 1
    assert zipfile.is_zipfile(fetch(site.url(), cache=tmp_path))
