"""Files read within bounds and written whole or not at all."""

import errno
import gzip
import os
import re
import stat
import struct
import subprocess
import sys
import threading
import zipfile
import zlib
from pathlib import Path

import pytest
from backports import zstd

from howsure import safe_io
from howsure.errors import InputError
from howsure.safe_io import Archive, atomic_path, gunzip, read_bytes, write_atomic
from servers import prepared_process


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


# writing


def write_half(path: Path, error: BaseException) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text("half of the new")
        raise error


def test_a_file_is_written_whole_with_its_folders(tmp_path):
    path = write_atomic(tmp_path / "a" / "b" / "x.txt", "Grüße")
    assert path.read_bytes() == "Grüße".encode()
    assert names(path.parent) == ["x.txt"]
    assert write_atomic(path, b"\x00\xff").read_bytes() == b"\x00\xff"


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = write_atomic(tmp_path / "x.txt", "old")
    with pytest.raises(RuntimeError, match="power cut"):
        write_half(path, RuntimeError("power cut"))
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x.txt"]


def test_an_interrupt_leaves_nothing_behind(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_half(tmp_path / "x.txt", KeyboardInterrupt())
    assert names(tmp_path) == []


def test_the_temporary_file_is_beside_the_target_and_keeps_its_ending(tmp_path):
    with atomic_path(tmp_path / "x.parquet") as temporary:
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".parquet"
        assert temporary.name.startswith(".")
        assert not (tmp_path / "x.parquet").exists()
    assert names(tmp_path) == ["x.parquet"]


def test_what_a_killed_run_left_behind_is_removed_by_the_next(tmp_path):
    program = f"""
import os, signal
from howsure.safe_io import atomic_path
with atomic_path({str(tmp_path / "x.csv")!r}) as temporary:
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", program], check=False)
    assert len(names(tmp_path)) == 1
    with atomic_path(tmp_path / "y.csv"):
        assert len(names(tmp_path)) == 1  # that of the run under way
        safe_io._remove_leftovers.__wrapped__(tmp_path)
        assert len(names(tmp_path)) == 1
    assert names(tmp_path) == ["y.csv"]


def test_the_mode_follows_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        path = write_atomic(tmp_path / "x.txt", "x")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_readers_see_the_old_file_or_the_new_one(tmp_path):
    path = write_atomic(tmp_path / "x.txt", "a" * 100_000)
    seen, done = set(), threading.Event()

    def look():
        while not done.is_set():
            seen.add(path.read_text())

    reader = threading.Thread(target=look)
    reader.start()
    for letter in "abcabcabc":
        write_atomic(path, letter * 100_000)
    done.set()
    reader.join()
    assert seen <= {letter * 100_000 for letter in "abc"}


def test_a_folder_in_the_targets_place_is_told(tmp_path):
    (tmp_path / "x").mkdir()
    with pytest.raises(InputError, match="x is a directory; name a file in it"):
        write_atomic(tmp_path / "x", "x")
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("below", ["x.txt", "deep/x.txt"])
def test_a_file_in_the_folders_place_is_told(tmp_path, below):
    (tmp_path / "taken").write_text("x")
    with pytest.raises(InputError, match="is a file, not a folder; choose another output"):
        write_atomic(tmp_path / "taken" / below, "x")


def test_a_folder_that_may_not_be_written_is_told(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(safe_io.tempfile, "mkstemp", refuse)
    with pytest.raises(InputError, match=r"x\.txt: cannot be written \(Permission denied\); choose another output"):
        write_atomic(tmp_path / "x.txt", "x")


def test_a_folder_that_may_not_be_made_is_told(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(InputError, match=r"deep: cannot be made \(Permission denied\)"):
        write_atomic(tmp_path / "deep" / "x.txt", "x")


# reading


@pytest.mark.parametrize("name", ["x.gz", "x.csv.gz", "X.GZ"])
def test_bytes_come_unpacked_when_the_name_says_so(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"data"))
    assert read_bytes(tmp_path / name) == b"data"


def test_several_gzip_members_are_one_file(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"one") + gzip.compress(b"two"))
    assert gunzip(tmp_path / "x.gz") == b"onetwo"


@pytest.mark.parametrize("name", ["no.txt", "no.gz"])
def test_what_cannot_be_read_is_told(tmp_path, name):
    with pytest.raises(InputError, match=rf"{name}: cannot be read \(No such file or directory\)"):
        read_bytes(tmp_path / name)


def test_a_folder_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\)"):
        read_bytes(tmp_path)


def test_a_wrong_checksum_is_told(tmp_path):
    data = bytearray(gzip.compress(b"data"))
    data[-8] ^= 1
    (tmp_path / "x.gz").write_bytes(data)
    with pytest.raises(InputError, match=r"not a whole gzip file \(CRC check failed"):
        gunzip(tmp_path / "x.gz")


def test_the_bound_grows_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(safe_io, "_FREE_BYTES", 100)
    noise = bytes(range(256)) * 2
    (tmp_path / "x.gz").write_bytes(gzip.compress(noise))
    assert gunzip(tmp_path / "x.gz") == noise
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"0" * 10**6))
    with pytest.raises(InputError, match=r"bomb\.gz: unpacks to more than .* and was not read"):
        gunzip(tmp_path / "bomb.gz")


# archives


def packed(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def zstandard_zip(path: Path, name: str, data: bytes, *, size: int | None = None, checksum: int | None = None) -> Path:
    """A zip file of one member packed with Zstandard (method 93), as Inspect writes them; `zipfile` itself cannot yet."""
    body, told = zstd.compress(data), name.encode()
    check = zlib.crc32(data) if checksum is None else checksum
    common = struct.pack(
        "<HHHHHIIIHH", 63, 0, 93, 0, 33, check, len(body), len(data) if size is None else size, len(told), 0
    )
    local = b"PK\x03\x04" + common + told
    central = b"PK\x01\x02" + struct.pack("<H", 63) + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + told
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local) + len(body), 0)
    path.write_bytes(local + body + central + end)
    return path


@pytest.mark.parametrize("kind", ["plain", "comment", "prefix", "large", "letters", "doubled"])
def test_the_directory_is_the_one_that_zipfile_reads(tmp_path, kind):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            info = zipfile.ZipInfo(f"samples/{'é' if kind == 'letters' else ''}{number}.json")
            with archive.open(info, "w", force_zip64=kind == "large") as member:
                member.write(b"data %d" % number)
        if kind == "doubled":
            with pytest.warns(UserWarning, match="Duplicate name"):
                archive.writestr("samples/0.json", b"the last one counts")
        archive.comment = b"a comment" if kind == "comment" else b""
    if kind == "prefix":
        path.write_bytes(b"#!/bin/sh\n" + path.read_bytes())
    with zipfile.ZipFile(path) as theirs, Archive(path) as ours:
        assert ours.names == list(dict.fromkeys(theirs.namelist()))
        assert {name: ours.read(name) for name in ours.names} == {name: theirs.read(name) for name in ours.names}


def test_an_encrypted_member_is_refused(tmp_path):
    path = packed(tmp_path / "x.zip", {"a": b"data"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    with Archive(path) as archive, pytest.raises(InputError, match=r"member 'a' is damaged \(it is encrypted\)"):
        archive.read("a")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_members_are_read_by_name(tmp_path, method):
    members = {"header.json": b"{}", "samples/1.json": b"data" * 1000, "empty": b""}
    with Archive(packed(tmp_path / "x.zip", members, method)) as archive:
        assert archive.names == list(members)
        assert {name: archive.read(name) for name in archive.names} == members
        assert "header.json" in archive
        assert "nothing" not in archive
    assert names(tmp_path) == ["x.zip"]


def test_a_member_packed_with_zstandard_is_read(tmp_path):
    with Archive(zstandard_zip(tmp_path / "x.eval", "header.json", b"data" * 1000)) as archive:
        assert archive.read("header.json") == b"data" * 1000


@pytest.mark.parametrize(("fault", "told"), [({"checksum": 7}, "wrong checksum"), ({"size": 5}, "damaged")])
def test_a_damaged_member_packed_with_zstandard_is_told(tmp_path, fault, told):
    with (
        Archive(zstandard_zip(tmp_path / "x.eval", "a", b"data" * 1000, **fault)) as archive,
        pytest.raises(InputError, match=told),
    ):
        archive.read("a")


def test_a_member_that_lies_beyond_the_file_is_told(tmp_path):
    path = zstandard_zip(tmp_path / "x.eval", "a", b"data")
    data = path.read_bytes()
    central = data.index(b"PK\x01\x02")
    path.write_bytes(data[: central + 42] + struct.pack("<I", 10**6) + data[central + 46 :])
    with pytest.raises(InputError, match="'a' overlaps another part of the archive"):
        Archive(path)


def test_a_method_that_may_take_any_memory_is_refused(tmp_path):
    path = packed(tmp_path / "x.zip", {"a": b"data"}, zipfile.ZIP_LZMA)
    with Archive(path) as archive, pytest.raises(InputError, match="packed by a method that is not read here"):
        archive.read("a")


def test_members_that_share_bytes_are_refused(tmp_path):
    path = packed(tmp_path / "x.zip", {"a": b"data", "b": b"data"})
    data = path.read_bytes()
    second = data.rindex(b"PK\x01\x02")
    path.write_bytes(data[: second + 42] + struct.pack("<I", 0) + data[second + 46 :])
    with pytest.raises(InputError, match=r"x\.zip: member '.' overlaps another part of the archive"):
        Archive(path)


def test_neither_padding_nor_many_members_raise_the_budget(tmp_path, monkeypatch):
    monkeypatch.setattr(safe_io, "_FREE_BYTES", 10**6)
    zeros, noise = b"0" * 800_000, os.urandom(50_000)
    with Archive(packed(tmp_path / "x.zip", {"a": zeros, "b": zeros, "padding": noise})) as archive:
        archive.read("a")
        archive.read("a")  # the same member is charged once
        archive.read("padding")
        with pytest.raises(InputError, match="'b' unpacks to 1 MB and was not read"):
            archive.read("b")
    (tmp_path / "x.gz").write_bytes(gzip.compress(zeros * 20) + b"\0" * 200_000)
    with pytest.raises(InputError, match="and was not read"):
        gunzip(tmp_path / "x.gz")


def test_json_has_a_budget_of_values(tmp_path, monkeypatch):
    monkeypatch.setattr(safe_io, "_FREE_VALUES", 1000)
    with Archive(packed(tmp_path / "x.zip", {"a": b"[" + b"[]," * 5000 + b"[]]", "b": b'{"text": 1}'})) as archive:
        assert archive.read_json("b") == b'{"text": 1}'
        with pytest.raises(InputError, match=r"member 'a' holds [\d,]+ values of JSON and was not read"):
            archive.read_json("a")


def test_a_limit_holds_for_packed_and_plain_files(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"0" * 3 * 2**20))
    (tmp_path / "x.txt").write_bytes(b"0" * 2000)
    for name in ("x.gz", "x.txt"):
        with pytest.raises(InputError, match="not read"):
            read_bytes(tmp_path / name, 1000)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "x.json")
    with pytest.raises(InputError, match=r"x\.json: is a pipe, not a file\. Save what comes from it to a file first"):
        read_bytes(tmp_path / "x.json")


def test_a_full_disk_is_told_in_one_line(tmp_path):
    with (
        pytest.raises(InputError, match=r"x\.txt: cannot be written \(No space left on device\)\. Make room"),
        atomic_path(tmp_path / "x.txt"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "x.jsonl", "x.csv.gz"])
def test_a_table_larger_than_its_disk_is_told_in_one_line(tmp_path, name):
    program = f"""
import resource, signal
import polars as pl
from howsure.errors import InputError
from howsure.tables.frames import write_frame
frame = pl.DataFrame({{"a": pl.Series(range(200_000)).hash().cast(pl.Float64)}})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    write_frame(frame, {str(tmp_path / name)!r})
except InputError as error:
    print(error)
"""
    done = prepared_process.run(["-c", program])
    assert re.search(rf"{name}: cannot be written \(File too large\)\. Make room", done.stdout), done.stderr
    assert names(tmp_path) == []


def test_an_unknown_member_is_told(tmp_path):
    with (
        Archive(packed(tmp_path / "x.zip", {"a": b""})) as archive,
        pytest.raises(InputError, match=r"x\.zip: has no member 'b'"),
    ):
        archive.read("b")


@pytest.mark.parametrize("data", [b"", b"no zip at all", b"PK\x03\x04 and then nothing"])
def test_what_is_no_archive_is_told(tmp_path, data):
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(InputError, match=r"x\.zip: not a whole zip file .* Make or fetch it again"):
        Archive(tmp_path / "x.zip")


def test_a_truncated_archive_is_told(tmp_path):
    path = packed(tmp_path / "x.zip", {"a": os.urandom(1000)})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match="not a whole zip file"):
        Archive(path)


def test_a_damaged_member_is_told(tmp_path):
    path = packed(tmp_path / "x.zip", {"a": b"data" * 1000})
    data = bytearray(path.read_bytes())
    data[40] ^= 0xFF
    path.write_bytes(data)
    with Archive(path) as archive, pytest.raises(InputError, match=r"member 'a' is damaged .* fetch the file again"):
        archive.read("a")


def test_what_is_no_file_is_never_replaced_by_one(tmp_path):
    """A page written to a device used to take the place of the device."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a device or a pipe, not a file"), atomic_path(tmp_path / "pipe") as part:
        part.write_text("x")
    assert (tmp_path / "pipe").is_fifo()
