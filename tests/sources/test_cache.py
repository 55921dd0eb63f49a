"""Readings that are kept: found again only while nothing changed, without texts, for their owner alone."""

import json
import os
import shutil
import socket
import stat
import threading
import time
import zipfile
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from howsure import sources
from howsure.errors import InputError, MissingExtraError
from howsure.sources import _cache, _remote

EVAL = {
    "task": "sums",
    "model": "m/1",
    "created": "2026-01-01T00:00:00+00:00",
    "task_id": "t1",
    "run_id": "r",
    "dataset": {},
}


def log(path, scores):
    """A small Inspect log."""
    header = {"version": 2, "status": "success", "eval": EVAL | {"task_id": path.stem}, "plan": {}, "results": None}
    summaries = [
        {"id": n, "epoch": 1, "input": "q", "target": "t", "scores": {"match": {"value": score}}}
        for n, score in enumerate(scores)
    ]
    with zipfile.ZipFile(path, "w") as archive:
        for name, held in {"_journal/start.json": {}, "header.json": header, "summaries.json": summaries}.items():
            archive.writestr(zipfile.ZipInfo(name), json.dumps(held))
        for n in range(len(scores)):
            archive.writestr(zipfile.ZipInfo(f"samples/{n}_epoch_1.json"), json.dumps(summaries[n]))
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two logs that have not changed for a while, and a cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "_WORTH_KEEPING", -1.0)
    home = tmp_path / "logs"
    home.mkdir()
    for name in "ab":
        settled(log(home / f"{name}.eval", [1, 0, 1]))
    return home


def settled(path, seconds=60):
    """The file as if it had been written a while ago."""
    then = time.time() - seconds
    os.utime(path, (then, then))
    return path


def kept():
    return sorted(_cache.folder().glob("*.reading")) if _cache.folder().is_dir() else []


def is_read_anew(folder, monkeypatch, **options):
    """Whether the files themselves are opened, with the mean score."""
    calls = []
    reader = sources.source("inspect_logs")
    with monkeypatch.context() as patch:
        whole = reader.read
        patch.setattr(reader, "read", lambda *a, **k: calls.append(1) or whole(*a, **k))
        table = sources.read(folder, **options)
    return bool(calls), table.frame["score"].mean()


def test_a_second_reading_of_unchanged_logs_gives_the_same_without_opening_them(folder, monkeypatch):
    first = sources.read(folder)
    assert len(kept()) == 1
    assert is_read_anew(folder, monkeypatch) == (False, pytest.approx(2 / 3))
    again = sources.read(folder)
    assert again.frame.equals(first.frame)
    assert again.notes == first.notes
    assert is_read_anew(folder, monkeypatch, cache=False)[0]


@pytest.mark.parametrize("change", ["rewritten", "same size and time", "new log", "gone", "other file", "option"])
def test_nothing_stale_is_served(folder, monkeypatch, change):
    sources.read(folder)
    path, before = folder / "a.eval", (folder / "a.eval").stat()
    options = {}
    if change == "rewritten":
        settled(log(path, [0, 0, 0, 0]), 30)
    elif change == "same size and time":
        log(path, [0, 0, 0])
        assert path.stat().st_size == before.st_size
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif change == "new log":
        settled(log(folder / "c.eval", [0]))
    elif change == "gone":
        path.unlink()
    elif change == "other file":
        settled_note = folder / "note.txt"
        settled_note.write_text("hello")
        settled(settled_note)
    else:
        options = {"better": "higher"}
    anew, mean = is_read_anew(folder, monkeypatch, **options)
    assert anew
    expected = {"rewritten": 2 / 7, "same size and time": 1 / 3, "new log": 4 / 7}.get(change, 2 / 3)
    assert mean == pytest.approx(expected)


def test_attempts_without_a_score_are_kept_and_counted_as_each_reading_says(folder, monkeypatch):
    settled(log(folder / "c.eval", [1, None]))
    first = sources.read(folder, count="unscored=wrong")
    assert is_read_anew(folder, monkeypatch) == (False, pytest.approx(5 / 7))
    again = sources.read(folder, count="unscored=drop")
    assert (again.frame.equals(first.frame), again.notes) == (True, first.notes)
    assert [one.counted.frame["score"].mean() for one in (first, again)] == pytest.approx([5 / 8, 5 / 7])
    monkeypatch.setattr(_cache, "_LAYOUT", 0)  # what an older version kept
    assert is_read_anew(folder, monkeypatch)[0]


def test_files_that_just_changed_are_not_kept(folder):
    log(folder / "c.eval", [1])
    sources.read(folder)
    assert kept() == []


def test_readings_are_for_their_owner_bounded_and_without_texts(folder, monkeypatch):
    sources.read(folder)
    (reading,) = kept()
    assert stat.S_IMODE(reading.stat().st_mode) == 0o600
    half, left = reading.with_name("now.part"), reading.with_name("left.part")
    for path in (half, left):
        path.write_bytes(b"half")
    os.utime(left, (1, 1))
    reading.write_bytes(b"damaged")
    assert is_read_anew(folder, monkeypatch)[0]
    assert kept()[0].read_bytes() != b"damaged"
    assert (half.exists(), left.exists()) == (True, False)
    monkeypatch.setattr(_cache, "MOST_BYTES", 10)
    sources.read(folder, better="higher")
    assert kept() == []
    monkeypatch.setattr(_cache, "MOST_BYTES", 10**9)
    monkeypatch.setattr(_cache, "_LONGEST_TEXT", 2)
    sources.read(folder, better="lower")
    assert kept() == []


def test_a_cache_that_cannot_be_written_is_no_error(folder, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert len(sources.read(folder)) == 6


# addresses


def test_addresses_are_read_through_fsspec(folder):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for name in "ab":
        memory.pipe(f"/logs/{name}.eval", (folder / f"{name}.eval").read_bytes())
    memory.pipe("/logs/broken.eval", b"no zip")
    table = sources.read("memory://logs")
    assert len(table) == 6
    assert any("broken.eval" in note for note in table.notes)
    assert len(sources.read("memory://logs/a.eval")) == 3
    assert len(sources.read("memory://logs/[ab].eval")) == 6
    assert len(sources.read(f"file://{folder}")) == 6
    with pytest.raises(InputError, match=r"^memory://logs/broken\.eval: not a whole zip file"):
        sources.read("memory://logs/broken.eval")
    with pytest.raises(InputError, match=r"memory://nowhere: no such file"):
        sources.read("memory://nowhere")
    with pytest.raises((MissingExtraError, InputError), match="nonsense://x"):
        sources.read("nonsense://x")


def test_without_fsspec_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(
        MissingExtraError, match="s3://bucket/logs: reading s3:// needs the package 'fsspec': pip install fsspec"
    ):
        sources.read("s3://bucket/logs")
    assert not sources.is_address("logs/a.eval")
    assert sources.is_address("hf://datasets/x")


def test_an_address_that_never_ends_or_is_too_large_is_left(folder):
    fsspec = pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp", reason="fsspec reads http:// with aiohttp")
    fsspec.filesystem("memory").pipe("/large/a.eval", bytes(3 * 2**20))
    with pytest.raises(InputError, match=r"^memory://large: is larger than 0\.00195312 GiB, the most that is fetched"):
        _remote.fetched("memory://large", limit=2 * 2**20)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the call, and says nothing
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/a.eval"
        with pytest.raises(InputError, match=r"a\.eval: was not received within 0\.5 seconds"):
            _remote.fetched(address, deadline=0.5)


def test_a_link_to_nothing_in_a_run_folder_is_no_fault(tmp_path):
    data = Path(__file__).parents[3] / "shared" / "data" / "formats" / "helm"
    if not data.is_dir():
        pytest.skip("no HELM runs beside the repository")
    run = tmp_path / "run"
    shutil.copytree(next(path for path in sorted(data.iterdir()) if path.is_dir()), run)
    (run / "gone").symlink_to("nowhere")
    assert len(sources.read(run)) == 10


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner here")
def test_a_reading_that_someone_else_wrote_is_not_used(folder, monkeypatch):
    assert is_read_anew(folder, monkeypatch)[0]
    assert not is_read_anew(folder, monkeypatch)[0]
    monkeypatch.setattr(_cache.os, "getuid", lambda: folder.stat().st_uid + 1)
    assert is_read_anew(folder, monkeypatch)[0]


class _Web(BaseHTTPRequestHandler):
    """One table, one page without an end, a page to log in, and faults with their number."""

    def do_HEAD(self):
        status = self.path[1:4]
        self.send_response(int(status) if status.isdecimal() else 200)
        self.end_headers()

    def do_GET(self):
        self.do_HEAD()
        if self.path.startswith("/login"):
            self.wfile.write(b"<!DOCTYPE html>\n<html></html>")
            return
        self.wfile.write(b"model,item,score\na,q1,1\n")
        with suppress(OSError):
            while self.path.startswith("/endless"):
                self.wfile.write(b"a" * 2**16)

    def log_message(self, *_):
        pass


def test_a_web_address_may_have_a_query_and_an_endless_page_is_left_at_the_limit():
    pytest.importorskip("aiohttp", reason="no aiohttp to read web addresses with")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Web)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        assert len(sources.read(f"{address}/x.csv?signature=s")) == 1
        with pytest.raises(InputError, match="is larger than"):
            _remote.fetched(f"{address}/endless.csv", limit=2**22, deadline=120)
        for page, told in (
            ("404/x.csv", "no such file"),
            ("500/x.csv", r"cannot be read \(the server answers 500 Internal Server Error\)"),
            ("403/x.csv", r"cannot be read \(the server answers 403 Forbidden\)"),
            ("login.csv", "contains a web page, not a table"),
        ):
            with pytest.raises(InputError, match=rf"^{address}/{page}: {told}"):
                sources.read(f"{address}/{page}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    with pytest.raises(InputError, match=rf"^{address}/x\.csv: the server cannot be reached \(Cannot connect"):
        sources.read(f"{address}/x.csv")


def test_logs_that_vanish_while_they_are_read_are_no_fault(folder, monkeypatch):
    """As in a folder that a run writes and another clears."""
    from howsure.sources import inspect_logs

    read_log = inspect_logs.read_log

    def read_and_remove(path, **options):
        found = read_log(path, **options)
        if path.name != "a.eval":
            path.unlink()
        return found

    shutil.copy(folder / "b.eval", folder / "copy.eval")
    monkeypatch.setattr(inspect_logs, "read_log", read_and_remove)
    assert len(sources.read(folder, cache=False)) == 6

    def remove_and_read(path, **options):
        (folder / "b.eval").unlink(missing_ok=True)
        return read_log(path, **options)

    settled(log(folder / "b.eval", [1, 0, 1]))
    monkeypatch.setattr(inspect_logs, "read_log", remove_and_read)
    table = sources.read(folder, cache=False)
    assert len(table) == 3
    assert any("b.eval" in note for note in table.notes)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_what_is_closed_to_us_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("model,item,score\na,q,1\n")
    (tmp_path / "b.json").write_text("{}")
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.json").chmod(0)
    (tmp_path / "sub").chmod(0)
    try:
        told = " ".join(sources.read(tmp_path).notes)
        assert "cannot be read: Permission denied): b.json, sub" in told
        with pytest.raises(InputError, match=r"b\.json: cannot be read: Permission denied"):
            sources.read(tmp_path / "b.json")
    finally:
        (tmp_path / "sub").chmod(0o700)
