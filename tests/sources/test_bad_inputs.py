"""What users get wrong, and what they are told: one line a problem, with the place, the value and the remedy."""

import gzip
import io
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from howsure import safe_io, sources
from howsure.errors import HowsureError, InputError, OptionError
from howsure.safe_io import Archive
from howsure.tables import Attempts, Ratings, Scores, text_tables

A = "subject,kind,task,attempt,score\n"
S = "model,benchmark,score\n"
R = "rater,item,dimension,value\n"
GOOD = "a,model,t,1,1\n"
LINE = '{"subject": "a", "kind": "model", "task": "t", "attempt": 1, "score": 1}\n'


def attempts(path: Path, **options: Any) -> Any:
    return Attempts(path, **options)


def scores(path: Path, **options: Any) -> Any:
    return Scores(path, **options)


def ratings(path: Path, **options: Any) -> Any:
    return Ratings(path, **options)


def read(path: Path, **options: Any) -> Any:
    return sources.read(path, **options)


@dataclass(frozen=True)
class Case:
    """A file, how it is read, and what the message must hold."""

    about: str
    name: str
    data: str | bytes | None
    told: tuple[str, ...]
    call: Callable[..., Any] = attempts
    options: dict[str, Any] = field(default_factory=dict)
    error: type[HowsureError] = InputError
    problems: int = 1
    patch: tuple[Any, str, int] | None = None


def parquet(**columns: Any) -> bytes:
    rows = {"subject": ["a"], "kind": ["model"], "task": ["t"], "attempt": [1], "score": [1.0]} | columns
    buffer = io.BytesIO()
    pl.DataFrame(rows).write_parquet(buffer)
    return buffer.getvalue()


def optional(column: str, value: str, header: str = A, row: str = GOOD) -> str:
    return f"{header.strip()},{column}\n{row.strip()},{value}\n"


def score(column: str, value: str) -> str:
    return optional(column, value, S, "m,b,0.5")


PACKED = gzip.compress((A + "".join(f"a{n},model,t,1,1\n" for n in range(2000))).encode())
WHOLE = parquet()

COLUMNS = [
    Case("missing column, near name", "x.csv", "subject,kind,tsk,attempt,score\n", ("x.csv", "'task'", "mean 'tsk'", "rename=")),
    Case("missing columns, none near", "x.csv", "q,w\n1,2\n", ("no column 'subject' (nor task, score", "columns are: q, w")),
    Case("space in the header", "x.csv", A.replace(",kind", ", kind") + GOOD, ("'kind'", "' kind'")),
    Case("a column twice", "x.csv", A.strip() + ",score\n", ("x.csv", "'score' is there twice", "rename one")),
    Case("mapped to what is not there", "x.csv", A + GOOD, ("no column 'acc' to use as 'score'", "columns are"), options={"rename": {"score": "acc"}}),
    Case("mapped from what we have not", "x.csv", A + GOOD, ("'point'", "Choose from"), options={"rename": {"point": "score"}}, error=OptionError),
    Case("filled into what we have not", "x.csv", A + GOOD, ("'knd'", "mean 'kind'"), options={"fill": {"knd": "model"}}, error=OptionError),
    Case("semicolons, no row", "x.csv", A.replace(",", ";"), ("x.csv", "no row below the header")),
    Case("commas in a tsv, too few fields", "x.tsv", A + "a,model\n", ("x.tsv line 2", "2 fields where the header has 5")),
]  # fmt: skip

VALUES = [
    Case("a word for a number", "x.csv", A + "a,model,t,1,high\n", ("x.csv line 2", "score high is not a number", "digits")),
    Case("a decimal comma", "x.csv", A + 'a,model,t,1,"0,5"\n', ("line 2", "score 0,5 is not a number", "a point")),
    Case("percentages", "x.csv", A + "a,model,t,1,62\n", ("line 2", "score 62", "(a on t)", "pass divide_by=100")),
    Case("percentages, many", "x.csv", A + "".join(f"a,model,t{n},1,{n}\n" for n in range(60, 70)), ("score 60", "x.csv line 3 (61)", "7 more")),
    Case("below 0", "x.csv", A + "a,model,t,1,-0.1\n", ("score -0.1 is not between 0 and 1",)),
    Case("NaN", "x.csv", A + "a,model,t,1,NaN\n", ("line 2", "score NaN is not a finite number", "Remove it")),
    Case("infinity", "x.csv", A + "a,model,t,1,-inf\n", ("line 2", "score -inf is not a finite number")),
    Case("no score", "x.csv", A + "a,model,t,1,\nb,model,t,1,\n", ("x.csv: none of the 2 attempts has a score",)),
    Case("an unknown outcome", "x.csv", optional("outcome", "passed"), ("outcome passed is not one of scored, errored",)),
    Case("an empty name", "x.csv", A + ",model,t,1,1\n", ("line 2", "subject is missing (t)")),
    Case("space around a name", "x.csv", A + "a ,model,t,1,1\n", ("line 2", "subject 'a '", "Remove the space")),
    Case("an unknown kind", "x.csv", A + "a,robot,t,1,1\n", ("line 2", "kind robot", "human, model, baseline")),
    Case("a fraction of an attempt", "x.csv", A + "a,model,t,1.5,1\n", ("attempt 1.5 is not a whole number",)),
    Case("attempt 0", "x.csv", A + "a,model,t,0,1\n", ("attempt 0 is below 1", "leave the row out")),
    Case("an attempt too large for any machine", "x.csv", A + f"a,model,t,{'9' * 30},1\n", ("is not a whole number",)),
    Case("minutes of 0", "x.csv", optional("minutes", "0"), ("minutes 0 is not above 0", "leave it out")),
    Case("negative seconds", "x.csv", optional("seconds", "-3"), ("seconds -3 is below 0",)),
    Case("a date as people write it", "x.csv", optional("date", "31/01/2025"), ("date 31/01/2025 is not a date", "2025-01-31")),
    Case("a date that is none", "x.csv", optional("date", "2025-02-30"), ("date 2025-02-30 is not a date",)),
    Case("a year alone", "x.csv", optional("date", "2025"), ("date 2025 is not a date",)),
    Case("a negative error", "x.csv", score("se", "-0.1"), ("line 2", "se -0.1 is below 0 (m on b)"), scores),
    Case("no items", "x.csv", score("n_items", "0"), ("n_items 0 is below 1",), scores),
    Case("no compute", "x.csv", score("compute", "0"), ("compute 0 is not above 0",), scores),
    Case("floor above ceiling", "x.csv", score("floor,ceiling", "0.9,0.3"), ("x.csv line 2", "floor 0.9 is not below ceiling 0.3", "Correct"), scores),
    Case("floor at ceiling", "x.csv", score("floor,ceiling", "0.5,0.5"), ("floor 0.5 is not below ceiling 0.5",), scores),
    Case("a rating in words among numbers", "x.csv", R + "r,i,d,good\ns,i,d,3\n", ("line 2", "value good is not a number (r on i)"), ratings),
    Case("two problems, a line each", "x.csv", A + "a,robot,t,1,7\n", ("kind robot", "score 7"), problems=2),
    Case("a list for a number", "x.jsonl", LINE.replace('"score": 1', '"score": [1]'), ("x.jsonl line 1", "score [1] is not a number")),
    Case("a column of lists", "x.parquet", parquet(score=[[1.0]]), ("x.parquet", "'score' contains lists or structs", "one plain value")),
    Case("a column of structs", "x.parquet", parquet(subject=[{"a": 1}]), ("x.parquet", "'subject' contains lists")),
    Case("a row of parquet", "x.parquet", parquet(score=[62.0]), ("x.parquet row 1", "score 62.0")),
]  # fmt: skip

ROWS = [
    Case("an attempt twice", "x.csv", A + GOOD + "a,model,t,1,0\n", ("x.csv line 2", "attempt 1 of a on t", "also", "x.csv line 3", "1, 2, 3")),
    Case("an attempt twice, name ends in .0", "x.csv", A + "v1.0,model,t,1,1\n" * 2, ("line 2", "line 3")),
    Case("an attempt twice, written in two ways", "x.csv", A + "a,model,t,1,1\na,model,t,01,1\n", ("line 2", "line 3")),
    Case("a gap", "x.csv", A + GOOD + "a,model,t,3,0\n", ("line 3", "attempt 3 of a on t follows attempt 1", "without gaps")),
    Case("no first attempt", "x.csv", A + "a,model,t,2,0\n", ("line 2", "attempt 2 of a on t follows nothing")),
    Case("a rating twice", "x.csv", R + "r,i,d,1\nr,j,d,1\nr,i,d,2\n", ("line 2", "rater 'r', item 'i', dimension 'd'", "line 4", "Keep one"), ratings),
    Case("no rows", "x.csv", A, ("x.csv", "no row below the header")),
    Case("no rows in parquet", "x.parquet", parquet(subject=[], kind=[], task=[], attempt=[], score=[]), ("x.parquet", "no row")),
    Case("a row after a blank line", "x.csv", A + GOOD + "\nb,model,t,1,7\n", ("x.csv line 4", "score 7")),
    Case("a row after a field of two lines", "x.csv", A + '"a\nb",model,t,1,1\nb,model,t,1,7\n', ("x.csv line 4",)),
    Case("a row after quoted nothing", "x.csv", A + '"","","","",""\nb,model,t,1,7\n', ("x.csv line 3",)),
    Case("a row of a file from Windows", "x.csv", (A + GOOD + "b,model,t,1,7\n").replace("\n", "\r\n"), ("x.csv line 3",)),
    Case("a line after a blank line", "x.jsonl", LINE + "\n" + LINE.replace(": 1}", ": 7}"), ("x.jsonl line 3", "score 7")),
]  # fmt: skip

BYTES = [
    Case("latin-1 csv", "x.csv", (A + GOOD + "Müller,model,t,1,7\n").encode("latin-1"), ("x.csv line 3", "score 7", "Müller")),
    Case("damaged UTF-8 csv", "x.csv", (A + GOOD + "Müller,model,ü,1,1\n").encode().replace(b"\xc3\xbc,1", b"\xc3,1"), ("x.csv line 3", "0xc3 is not UTF-8", "iconv")),
    Case("bytes that are no letters", "x.csv", (A + GOOD).encode() + b"\x81,model,t,1,1\n", ("x.csv line 3", "0x81 is not UTF-8", "iconv")),
    Case("latin-1 jsonl", "x.jsonl", (LINE + LINE.replace('"a"', '"ü"')).encode("latin-1"), ("x.jsonl line 2", "0xfc is not UTF-8")),
    Case("cut UTF-16 csv", "x.csv", (A + GOOD).encode("utf-16")[:-1], ("x.csv", "begins as UTF-16", "Save the file as UTF-8")),
    Case("UTF-16 csv without mark", "x.csv", (A + GOOD).encode("utf-16-le"), ("x.csv", "UTF-16", "Save the file as UTF-8")),
    Case("UTF-16 jsonl", "x.jsonl", LINE.encode("utf-16"), ("x.jsonl line 1", "is not UTF-8")),
    Case("UTF-16 jsonl without mark", "x.jsonl", LINE.encode("utf-16-le"), ("x.jsonl", "UTF-16")),
    Case("line ends of old", "x.csv", (A + GOOD + "b,model,t,1,7\n").replace("\n", "\r"), ("x.csv line 3", "score 7")),
    Case("truncated gzip", "x.csv.gz", PACKED[:-50], ("x.csv.gz", "not a whole gzip file", "fetch it again")),
    Case("a gzip that is none", "x.csv.gz", A, ("x.csv.gz", "not a whole gzip file")),
    Case("damaged gzip", "x.csv.gz", PACKED[:60] + b"\xff" * 40 + PACKED[100:], ("x.csv.gz", "not a whole gzip file")),
    Case("gzip without its ending", "x.csv", PACKED, ("x.csv", "compressed", "Unpack it first")),
    Case("gzip in gzip", "x.csv.gz", gzip.compress(PACKED), ("x.csv.gz", "compressed", "Unpack it first")),
    Case("a gzip bomb", "x.csv.gz", gzip.compress(b"0" * 2**20), ("x.csv.gz", "unpacks to more than", "if you trust it"), patch=(safe_io, "_FREE_BYTES", 2**10)),
    Case("a gzip bomb in capitals", "X.CSV.GZ", gzip.compress(b"0" * 2**20), ("unpacks to more than",), patch=(safe_io, "_FREE_BYTES", 2**10)),
    Case("truncated parquet", "x.parquet", WHOLE[:-20], ("x.parquet", "not a whole parquet file", "fetch it again")),
    Case("a parquet that is none", "x.parquet", A, ("x.parquet", "not a whole parquet file")),
    Case("damaged parquet", "x.parquet", WHOLE[:20] + b"\xff" * 30 + WHOLE[50:], ("x.parquet", "not a whole parquet file")),
    Case("an empty csv", "x.csv", "", ("x.csv: the file is empty",)),
    Case("a csv of blank lines", "x.csv", "\n\n\n", ("x.csv: the file is empty",)),
    Case("an empty jsonl", "x.jsonl", "\n", ("x.jsonl: the file is empty",)),
    Case("an empty parquet", "x.parquet", b"", ("x.parquet: the file is empty",)),
    Case("an empty gzip", "x.csv.gz", gzip.compress(b""), ("x.csv.gz: the file is empty",)),
]  # fmt: skip

TEXT = [
    Case("a row too long", "x.csv", A + "a,model,t,1,1,9\n", ("x.csv line 2", "6 fields where the header has 5", "quotes")),
    Case("a row too short", "x.csv", A + "a,model,t\n", ("x.csv line 2: 3 fields where the header has 5",)),
    Case("a quote left open", "x.csv", A + GOOD + '"a,model,t,1,1\n', ("x.csv line 3", "quotes closed")),
    Case("a broken line", "x.jsonl", LINE + '{"subject": "a"\n' + LINE, ("x.jsonl line 2", "not JSON", '{"subject": "a"')),
    Case("a truncated last line", "x.jsonl", LINE * 2 + '{"subje', ("x.jsonl line 3", "not JSON", '{"subje')),
    Case("two objects on a line", "x.jsonl", LINE.strip() + LINE, ("x.jsonl line 1", "Extra data")),
    Case("NaN in JSON", "x.jsonl", LINE.replace(": 1}", ": NaN}"), ("x.jsonl line 1", "NaN is not a JSON number", "write null")),
    Case("Infinity in JSON", "x.jsonl", LINE.replace(": 1}", ": -Infinity}"), ("line 1", "-Infinity is not a JSON")),
    Case("a number beyond numbers", "x.jsonl", LINE.replace(": 1}", ": 1e999}"), ("line 1", "1e999 is not a JSON number")),
    Case("an array for lines", "x.jsonl", f"[{LINE.strip()}]", ("x.jsonl line 1", "one JSON object per line")),
    Case("a pretty array", "x.jsonl", f"[\n{LINE}]", ("x.jsonl line 1", "not JSON")),
    Case("a pretty object", "x.jsonl", LINE.replace(", ", ",\n"), ("x.jsonl line 1", "not JSON")),
    Case("numbers for objects", "x.jsonl", "1\n2\n", ("x.jsonl line 1", "one JSON object per line is expected, not 1")),
    Case("a huge line", "x.jsonl", LINE + LINE.replace('"t"', f'"{"t" * 3000}"'), ("x.jsonl line 2", "longer than", "one object per line"), patch=(text_tables, "LONGEST_LINE", 1000)),
    Case("a huge line, packed", "x.jsonl.gz", gzip.compress(LINE.replace('"t"', f'"{"t" * 3000}"').encode()), ("line 1", "longer than"), patch=(text_tables, "LONGEST_LINE", 1000)),
]  # fmt: skip

PATHS = [
    Case("no such file, near name", "scores.csv", S, ("scoers.csv: no such file", "Did you mean", "scores.csv?"), lambda path: Scores(path.with_name("scoers.csv"))),
    Case("no such file, none near", "x.csv", S, ("no such file",), lambda path: Scores(path.with_name("quite-another.parquet"))),
    Case("no such folder", "x.csv", S, ("no such file",), lambda path: Scores(path.parent / "no" / "x.csv")),
    Case("a glob without matches", "x.csv", S, ("*.tsv: no file matches",), lambda path: Scores(path.parent / "*.tsv")),
    Case("a folder for a file", "x.csv", S, ("is a directory", "/*.csv"), lambda path: Scores(path.parent)),
    Case("an unknown ending", "x.xlsx", S, ("x.xlsx: unknown ending", ".csv", ".parquet")),
    Case("no ending", "x", S, ("unknown ending",)),
    Case("no input", "x.csv", S, ("No input was given",), lambda path: Scores([])),
    Case("a number for a table", "x.csv", S, ("polars, pandas or pyarrow", "this is of type int"), lambda path: Scores(5)),
    Case("a file no source knows", "x.docx", "PK", ("x.docx: not recognised", "source_name"), read),
    Case("an unknown source", "x.csv", S, ("No source called 'epok'", "mean 'epoch'"), read, {"source_name": "epok"}, OptionError),
    Case("an option that means nothing here", "x.csv", S + "m,b,1\n", ("scorer does not apply to input of the format files",), read, {"scorer": "x"}, OptionError),
    Case("an option that nobody knows", "x.csv", S + "m,b,1\n", ("weather does not apply to input of the format files",), read, {"weather": "x"}, OptionError),
    Case("a scale of 0", "x.csv", S + "m,b,1\n", ("divide_by 0 is not a number above 0",), scores, {"divide_by": 0}, OptionError),
    Case("a scale that is no number", "x.csv", S + "m,b,1\n", ("divide_by nan",), scores, {"divide_by": float("nan")}, OptionError),
    Case("a broken file, table not named", "x.csv.gz", PACKED[:-50], ("x.csv.gz", "not a whole gzip file"), read),
    Case("an empty file, table not named", "x.csv", "", ("x.csv: the file is empty",), read),
    Case("cut UTF-16, table not named", "x.csv", S.encode("utf-16")[:-1], ("begins as UTF-16",), read),
]  # fmt: skip

CASES = [*COLUMNS, *VALUES, *ROWS, *BYTES, *TEXT, *PATHS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.about)
def test_a_bad_input_is_told_in_a_line_with_place_and_remedy(tmp_path, monkeypatch, case):
    path = tmp_path / case.name
    path.write_bytes(case.data if isinstance(case.data, bytes) else case.data.encode())
    if case.patch:
        monkeypatch.setattr(*case.patch)
    with pytest.raises(HowsureError) as caught:
        case.call(path, **case.options)
    text = str(caught.value)
    assert type(caught.value) is case.error
    assert len(text.splitlines()) == case.problems, text
    for fragment in case.told:
        assert fragment in text


def test_the_cases_are_many_and_differ():
    assert len(CASES) >= 100
    assert len({case.about for case in CASES}) == len(CASES)


def test_tables_of_different_kinds_are_not_joined(tmp_path):
    (tmp_path / "a.csv").write_text(A + GOOD)
    (tmp_path / "b.jsonl").write_text('{"spec": {"completion_fns": ["m"], "eval_name": "e"}}\n')
    (tmp_path / "c.csv").write_text("alias,task,n_successes,n_runs\nx,t,1,1\n")
    (tmp_path / "d.csv").write_text(S + "m,b,1\n")
    assert len(sources.read([tmp_path / "a.csv", tmp_path / "c.csv"])) == 2
    with pytest.raises(InputError, match=r"different kinds \(Attempts and Scores\); read them apart"):
        sources.read([tmp_path / "c.csv", tmp_path / "d.csv"])


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet", "x.csv.gz"])
def test_a_file_that_may_not_be_read_is_told(tmp_path, monkeypatch, name):
    path = tmp_path / name
    path.write_bytes(b"x")
    if os.geteuid() == 0:  # root may read everything

        def refuse(self, *_, **__):
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "open", refuse)
        monkeypatch.setattr(Path, "read_bytes", refuse)
    else:
        path.chmod(0)
    with pytest.raises(InputError, match=rf"{name}: cannot be read \(Permission denied\)"):
        Attempts(path)


def test_a_dangling_link_is_no_file(tmp_path):
    (tmp_path / "x.csv").symlink_to(tmp_path / "gone.csv")
    with pytest.raises(InputError, match="no such file"):
        Attempts(tmp_path / "x.csv")


# zip archives


def packed(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "a/../../b", "..\\evil"])
def test_a_member_that_points_outside_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="points outside the archive, and was not read"):
        Archive(packed(tmp_path / "x.zip", **{name: b"x"}))


def test_a_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(safe_io, "_FREE_BYTES", 2**10)
    with (
        Archive(packed(tmp_path / "x.zip", bomb=b"0" * 2**22)) as archive,
        pytest.raises(InputError, match=r"member 'bomb' unpacks to 4 MB and was not read"),
    ):
        archive.read("bomb")


def test_a_member_that_lies_about_its_size_is_refused(tmp_path):
    path = packed(tmp_path / "x.zip", big=b"0" * 5000)
    data = path.read_bytes()
    path.write_bytes(data.replace((5000).to_bytes(4, "little"), (50).to_bytes(4, "little")))
    with Archive(path) as archive, pytest.raises(InputError, match=r"'big' (is damaged|does not have the size)"):
        archive.read("big")
