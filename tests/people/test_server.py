"""The collector as a running server: slow and rude visitors, many at once, sudden death, and the command itself."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

from howsure.people import read_pages, read_results
from servers import prepared_process
from servers.event_loops import in_a_loop

from .page_examples import answered, draft, study_page

pytest.importorskip("starlette", reason="pip install 'howsure[serve]'")
pytest.importorskip("uvicorn", reason="pip install 'howsure[serve]'")

from howsure.errors import OptionError
from howsure.people.collector import Limits, listen

COMMAND = [sys.executable, "-c", "from howsure.cli.serve import app; app()"]


def start(folder, *options):
    """The real command as a process of its own, its links by label, and where it listens."""
    process = subprocess.Popen(
        [*COMMAND, str(folder), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    links = {}
    while "admin" not in links:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        label, link = line.split()
        links[label] = link
    return process, links


def connect(running):
    host, port = running.base.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def everything(connection):
    data = b""
    while piece := connection.recv(65536):
        data += piece
    return data


def trickle(connection, seconds):
    ended = time.monotonic() + seconds
    while time.monotonic() < ended:
        connection.sendall(b"x-a: b\r\n")
        time.sleep(0.1)


def test_a_head_that_trickles_in_is_not_waited_for(run_collector, packet_folder):
    with run_collector(packet_folder, limits=Limits(head_seconds=3)) as running:
        with connect(running) as silent, connect(running) as slow:
            slow.sendall(b"GET / HTTP/1.1\r\n")
            with pytest.raises((BrokenPipeError, ConnectionResetError)):
                trickle(slow, seconds=60)
            assert everything(silent) == b""
        assert httpx.get(running.link(0)).status_code == 200


def test_a_body_that_trickles_in_is_refused(run_collector, packet_folder):
    with run_collector(packet_folder, limits=Limits(body_seconds=2)) as running:
        path = running.link(0).removeprefix(running.base)
        head = (
            f"POST {path}result HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"
        )
        with connect(running) as slow:
            slow.sendall(head.encode())
            slow.sendall(b"{")
            answer = everything(slow)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"connection: close" in answer.lower()
        assert httpx.get(running.link(0)).status_code == 200


def test_a_visitor_who_leaves_half_way_harms_nobody(run_collector, packet_folder):
    with run_collector(packet_folder) as running:
        path = running.link(0).removeprefix(running.base)
        for _ in range(20):
            with connect(running) as rude:
                rude.sendall(
                    f"POST {path}result HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{{".encode()
                )
        built = running.collector.packet.invitations[0].page
        assert httpx.post(f"{running.link(0)}result", json=answered(built)).status_code == 200


@pytest.mark.parametrize(
    "request_",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused(request_, run_collector, packet_folder):
    with run_collector(packet_folder) as running, connect(running) as odd:
        odd.sendall(request_)
        with contextlib.suppress(ConnectionResetError):  # a closed door is an answer, too
            assert everything(odd).startswith(b"HTTP/1.1 400")
        assert httpx.get(running.link(0)).status_code == 200


def test_a_port_in_use_is_named():
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(OptionError, match=r"cannot be listened on .* port"):
            listen("127.0.0.1", taken.getsockname()[1])


def test_the_command_prints_links_tells_who_finished_and_stops_cleanly(packet_folder, tmp_path):
    process, links = start(packet_folder, "--url", "https://lab.example/study/")
    try:
        assert set(links) == {"r1", "r2", "r3", "admin"}
        assert re.fullmatch(r"https://lab\.example/study/r/[\w-]{32}/", links["r1"])
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "Stopped: 0 of 3 have finished." in out
    assert err == ""
    process, links = start(packet_folder)
    try:
        page = read_pages(packet_folder)["r2"]
        assert httpx.post(f"{links['r2']}result", json=answered(page)).status_code == 200
        assert process.stdout.readline() == "r2 finished: 1 of 3 have finished\n"
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert "Stopped: 1 of 3 have finished." in out
    exported = prepared_process.run([*COMMAND[1:], packet_folder, "--export", tmp_path / "out.jsonl"])
    assert "1 final answer set." in exported.stdout
    assert [received.rater for received in read_results([tmp_path / "out.jsonl"], [page]).results] == ["r2"]


def test_a_folder_without_pages_is_one_line_and_exit_code_2(tmp_path):
    failed = prepared_process.run([*COMMAND[1:], tmp_path])
    assert failed.returncode == 2
    assert failed.stderr.count("\n") == 1
    assert "no folder with pages" in failed.stderr


@pytest.mark.heavy
@pytest.mark.parametrize("n_people", [50, pytest.param(200, marks=pytest.mark.evidence)])
def test_many_people_at_once_and_a_sudden_death_lose_no_acknowledged_answer(tmp_path, n_people):
    """Each person saves drafts and sends final answers; the server is killed (−9) in the middle, started again, and asked."""
    pages = {f"r{n:03d}": study_page(f"r{n:03d}") for n in range(n_people)}
    for rater, page in pages.items():
        page.save(tmp_path / f"{rater}.html")
    process, links = start(tmp_path)
    receipts: dict[str, str] = {}

    async def person(client, rater):
        try:
            page = await client.get(links[rater])
            assert page.status_code == 200
            for saves in (1, 2, 3):
                kept = await client.put(f"{links[rater]}draft", json=draft(pages[rater], saves=saves))
                assert kept.status_code == 200
            sent = await client.post(f"{links[rater]}result", json=answered(pages[rater]))
            assert sent.status_code == 200
            receipts[rater] = sent.json()["receipt"]
            if len(receipts) == n_people // 2:
                process.kill()
        except httpx.TransportError:
            return

    async def everyone():
        limits = httpx.Limits(max_connections=n_people)
        async with httpx.AsyncClient(limits=limits, timeout=60) as client:
            await asyncio.gather(*(person(client, rater) for rater in pages))

    in_a_loop(everyone())
    process.wait(timeout=120)
    process.communicate()
    assert n_people // 2 <= len(receipts) < n_people

    process, links = start(tmp_path)
    try:
        with httpx.Client(timeout=60) as client:
            for rater, page in pages.items():
                again = client.post(f"{links[rater]}result", json=answered(page))
                assert again.json()["receipt"] == receipts.get(rater, again.json()["receipt"])
                assert client.post(f"{links[rater]}result", json=answered(page, voice=2)).status_code == 409
            exported = client.get(f"{links['admin']}results.jsonl")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "results.jsonl").write_text(exported.text)
    collected = read_results([tmp_path / "out"], pages.values())
    assert collected.refused == ()
    assert len(collected.results) == n_people
    assert {json.loads(line)["rater"] for line in exported.text.splitlines()} == set(pages)
