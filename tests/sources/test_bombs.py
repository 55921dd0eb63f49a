"""Small files that want to become large are refused, within a memory limit that a failure cannot exceed."""

import gzip
import json
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from backports import zstd

if not Path("/proc/self/status").exists():
    pytest.skip("the peak of a process's memory is read from /proc", allow_module_level=True)

_LIMIT = 2 * 2**30
_PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from howsure.errors import InputError
try:
    {call}
except InputError as error:
    print("refused:", error)
with open("/proc/self/status") as status:  # ru_maxrss would count what the parent had when it forked
    print(next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM")))
"""


def read_limited(call: str) -> tuple[str, int]:
    """What a call was told, and the megabytes that the process took at the most."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(limit=_LIMIT, call=call)],
        capture_output=True,
        text=True,
        env={**os.environ, "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *told, megabytes = done.stdout.splitlines()
    return "\n".join(told), int(megabytes)


def zip_of(path: Path, members: list[tuple[str, bytes]], *, is_shared: bool = False) -> Path:
    """A zip of members packed with Zstandard; shared, all names point to the first one's bytes."""
    body, central = b"", b""
    offset = 0
    for name, data in members:
        packed = zstd.compress(data)
        common = struct.pack(
            "<HHHHHIIIHH", 63, 0, 93, 0, 33, zlib.crc32(data), len(packed), len(data), len(name.encode()), 0
        )
        if not (is_shared and body):
            offset = len(body)
            body += b"PK\x03\x04" + common + name.encode() + packed
        central += (
            b"PK\x01\x02" + struct.pack("<H", 63) + common + struct.pack("<HHHII", 0, 0, 0, 0, offset) + name.encode()
        )
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(central), len(body), 0)
    path.write_bytes(body + central + b"PK\x05\x06" + end)
    return path


def header(version: int = 2) -> bytes:
    spec = {"task": "t", "model": "m", "created": "2025-01-01T00:00:00+00:00"}
    return json.dumps({"version": version, "status": "success", "eval": spec}).encode()


MANY = b'[{"id":1,"epoch":1,"metadata":{"a":[' + b"[]," * 4_000_000 + b"[]]}}]"
READ = "from howsure.sources import read; read({!r})"


@pytest.mark.parametrize("version", [2, 99])
def test_a_log_with_millions_of_values_is_refused(tmp_path, version):
    path = zip_of(tmp_path / "x.eval", [("header.json", header(version)), ("summaries.json", MANY)])
    assert path.stat().st_size < 10_000
    told, megabytes = read_limited(READ.format(str(path)))
    assert "values of JSON and was not read" in told
    assert megabytes < 700


def test_a_log_whose_members_overlap_is_refused(tmp_path):
    names = ["header.json", *(f"_journal/summaries/{number}.json" for number in range(1, 30))]
    path = zip_of(tmp_path / "x.eval", [(name, b" " * 2**20 + header()) for name in names], is_shared=True)
    told, megabytes = read_limited(READ.format(str(path)))
    assert "overlaps another part of the archive" in told
    assert megabytes < 500


def test_padding_does_not_make_a_log_larger(tmp_path):
    padding = ("padding", os.urandom(3_000_000))
    path = zip_of(tmp_path / "x.eval", [("header.json", header()), ("summaries.json", MANY), padding])
    told, megabytes = read_limited(READ.format(str(path)))
    assert "values of JSON and was not read" in told
    assert megabytes < 700


def test_a_sample_that_is_named_many_times_is_read_once(tmp_path):
    sample = json.dumps({"id": 1, "epoch": 1, "scores": {"a": {"value": 1, "history": [{}]}}, "x": "y" * 5_000_000})
    summaries = json.dumps([{"id": 1, "epoch": 1, "scores": {"a": {"value": 1}}}] * 20_000)
    members = {"header.json": header(), "summaries.json": summaries.encode(), "samples/1_epoch_1.json": sample.encode()}
    told, _ = read_limited(READ.format(str(zip_of(tmp_path / "x.eval", list(members.items())))))
    assert told == ""


@pytest.mark.parametrize(
    "text",
    [
        b"- x\n" * 20_000_000,
        b"#\n" * 40_000_000,
        b"[" * 1_000_000,
        b"a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\n" + b"d: [*c, *c, *c]\n" * 10_000,
    ],
    ids=["many values", "many comments", "deep", "many copies"],
)
def test_a_packed_yaml_file_has_bounds(tmp_path, text):
    path = tmp_path / "x.yaml.gz"
    path.write_bytes(gzip.compress(text))
    told, megabytes = read_limited(
        f"from howsure.yaml_files import read_yaml; from pathlib import Path; read_yaml(Path({str(path)!r}))"
    )
    assert told.startswith(f"refused: {path}")
    assert megabytes < 700
