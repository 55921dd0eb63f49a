"""Whatever a file holds, readers give a table or an error of ours, never a traceback."""

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howsure import sources
from howsure.errors import HowsureError
from howsure.horizon.task_bank.suite import read_tasks
from howsure.horizon.time_horizon.published import dated_horizons
from howsure.sources.files import load_mapping
from howsure.study.packet.forms import read_mapping
from howsure.study.protocol import Study
from howsure.study.verdict import read_criteria
from howsure.yaml_files import read_yaml

EXAMPLES = Path(__file__).parents[1] / "examples"
fuzzed = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

# YAML

ODD = [
    *("2024-13-45", "0x_", "!!int abc", "!!bool maybe", "!!float x", "!!timestamp 2024-13-45", "!!binary =", "!!set 3"),
    *("? [a, b]\n: c", "? {a: b}\n: c", "[" * 300, "{a: " * 200, "9" * 5000, "1e999", ".nan", "-.inf", "~", "!!omap 1"),
    *("&a [*a]", "*a", "<<: 3", "<<: [1]", "12:30", "0o9", "!!python/object:os.system x", "\ufeffa: b", "- - - x", "%"),
    *("--- a\n--- b", "'\\ud800'", '"\\ud800"', "\x00", "\x85a: b", "1_0: 2", "null: x", "!!null x: y", "!!str [a]"),
]
texts = st.text(st.characters(codec="utf-8"), max_size=8)
scalars = st.one_of(st.sampled_from(ODD), texts, st.integers(), st.floats(), st.booleans(), st.none())


def yaml_texts(keys: list[str]) -> st.SearchStrategy[str]:
    """Texts that look like the file that has these keys, with odd values, and odd texts."""
    values = st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.sampled_from(keys), inner, max_size=3),
    )
    lines = st.dictionaries(st.sampled_from(keys), values, max_size=4).map(_written)
    return lines | lines.map(lambda text: f"- {text}".replace("\n", "\n  ")) | scalars.map(str) | st.text(max_size=30)


def _written(entries: dict) -> str:
    return "\n".join(
        f"{key}: {value if isinstance(value, str) else json.dumps(value)}" for key, value in entries.items()
    )


READERS = {
    "study": (
        Study.read,
        ["title", "pairs", "dimensions", "id", "prompt", "target", "comparison", "quiz", "attention"],
    ),
    "criteria": (read_criteria, ["name", "statistic", "threshold", "direction"]),
    "mapping": (load_mapping, ["table", "rename", "fill", "divide_by"]),
    "tasks": (read_tasks, ["tasks", "id", "domain", "prompt", "verification_type", "answer", "difficulty"]),
    "published": (dated_horizons, ["results", "metrics", "release_date", "p50_horizon_length", "estimate"]),
    "form": (read_mapping, ["rater", "columns", "quiz", "minutes", "screen"]),
    "any": (read_yaml, ["a", "b"]),
}


@pytest.mark.parametrize("name", READERS)
def test_no_yaml_file_gives_a_traceback(name, tmp_path):
    read, keys = READERS[name]
    path = tmp_path / "file.yaml"

    @fuzzed
    @given(yaml_texts(keys))
    def check(text):
        path.write_text(text, "utf-8", errors="surrogatepass")
        _only_ours(read, path)

    check()
    for odd in ODD:
        for text in (odd, *(f"{key}: {odd}" for key in keys), f"- {odd}", f"{keys[0]}: [{odd}]"):
            path.write_text(text, "utf-8")
            _only_ours(read, path)


def _only_ours(read, path):
    told = ""
    try:
        read(path)
    except HowsureError as error:
        told = str(error)
    assert not told or path.name in told or str(path.parent) in told, f"{told} does not name the file"
    assert "row 0" not in told


# logs and tables

SAMPLE = {"id": 1, "epoch": 1, "scores": {"match": {"value": 1}}, "metadata": {"a": "b"}, "total_time": 1.5}
SPEC = {"task": "t", "model": "m", "created": "2025-01-01T00:00:00+00:00", "task_id": "x", "dataset": {"name": "d"}}
RESULT = {"scorer": "match"}
LOG = {"version": 2, "status": "success", "eval": SPEC, "results": {"scores": [RESULT]}, "samples": [SAMPLE, SAMPLE]}
LM_EVAL = {
    "doc_id": 0,
    "doc": {"a": 1},
    "target": "x",
    "filtered_resps": ["x"],
    "acc": 1.0,
    "filter": "none",
    "metrics": ["acc"],
}
OPENAI = [
    {"spec": {"completion_fns": ["m"], "eval_name": "e", "base_eval": "e", "created_at": "2024-01-01"}},
    {
        "event_id": 0,
        "sample_id": "s.0",
        "type": "match",
        "data": {"correct": True},
        "created_at": "2024-01-01 00:00:00",
    },
    {"event_id": 1, "sample_id": "s.1", "type": "metrics", "data": {"acc": 1}, "created_at": "2024-01-01 00:00:00"},
]
METR = {
    "task_id": "a/b",
    "task_family": "a",
    "alias": "m",
    "model": "m",
    "score_binarized": 1,
    "human_minutes": 5,
    "run_id": 1,
    "started_at": 1.0,
    "completed_at": 2.0,
}
ATTEMPT = {
    "subject": "m",
    "kind": "model",
    "task": "t",
    "attempt": 1,
    "score": 1,
    "minutes": 3,
    "seconds": 2,
    "date": "2025-01-01",
}
STRANGE = [
    10**25,
    -1,
    0,
    1e300,
    1e-300,
    True,
    None,
    "",
    "\ud800",
    "\x1b[31m\u202e",
    "=1",
    "9" * 5000,
    [],
    {},
    [[[]]],
    {"a": {"a": 1}},
    "0001-01-01T00:00:00+10:00",
    "99999-01-01",
    "NaN",
    "2024-13-45",
]


def places(value, here=()):
    """The way to each value in a tree."""
    yield here
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*here, key))


def changed(value, place, new):
    """A copy of the tree with another value at one place."""
    if not place:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = changed(value[place[0]], place[1:], new)
    return copy


def changes(record):
    strange = st.sampled_from(STRANGE) | st.floats() | st.integers() | st.text(max_size=5)
    return st.builds(lambda place, new: changed(record, place, new), st.sampled_from(list(places(record))), strange)


def write_eval(path, log):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        log = log if isinstance(log, dict) else {"eval": log}
        archive.writestr("header.json", json.dumps({key: one for key, one in log.items() if key != "samples"}))
        archive.writestr("summaries.json", json.dumps(log.get("samples")))


def write_lines(path, rows):
    path.write_text("\n".join(map(json.dumps, rows if isinstance(rows, list) else [rows])))


FORMATS = {
    "log.json": (LOG, lambda path, log: path.write_text(json.dumps(log))),
    "log.eval": (LOG, write_eval),
    "samples_x_2025.jsonl": (LM_EVAL, lambda path, row: path.write_text(f"{json.dumps(LM_EVAL)}\n{json.dumps(row)}")),
    "openai.jsonl": (OPENAI, write_lines),
    "runs.jsonl": (METR, lambda path, row: path.write_text(f"{json.dumps(METR)}\n{json.dumps(row)}")),
    "attempts.jsonl": (ATTEMPT, lambda path, row: path.write_text(f"{json.dumps(ATTEMPT)}\n{json.dumps(row)}")),
}


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.evidence)])
@pytest.mark.parametrize("name", FORMATS)
def test_no_log_gives_a_traceback(name, every, tmp_path):
    record, write = FORMATS[name]
    path = tmp_path / name
    write(path, record)

    @fuzzed
    @given(changes(record))
    def check(odd):
        write(path, odd)
        _only_ours(sources.read, path)

    check()
    for number, place in enumerate(places(record)):
        for new in STRANGE[number % every :: every]:  # some of the values at a place, and others at the next ones
            write(path, changed(record, place, new))
            _only_ours(sources.read, path)


@pytest.mark.parametrize(
    "name", ["x.csv", "x.csv.gz", "x.jsonl", "x.parquet", "x.eval", "x.json", "x.zip", "x.yaml", "x.tsv"]
)
def test_no_bytes_give_a_traceback(name, tmp_path):
    path = tmp_path / name
    starts = st.sampled_from(
        [
            b"",
            b"PK\x03\x04",
            b"\x1f\x8b\x08",
            b"PAR1",
            b"{",
            b'{"version": 2, "eval": {',
            b"model,benchmark,score\n",
            b"\xff\xfe",
        ]
    )

    @fuzzed
    @given(starts, st.binary(max_size=60))
    def check(start, rest):
        path.write_bytes(start + rest)
        _only_ours(sources.read, path)

    check()
