"""Attempts without a score: what became of them, what they count as, and that no way of reading, writing or joining loses them."""

import polars as pl
import pytest

import howsure
from howsure.errors import InputError, OptionError
from howsure.tables import Attempts
from howsure.tables.spellings import NameFile, rename_all

COLUMNS = ("score", "outcome", "reason")


def attempts(*rows, **more):
    """One model at q0, q1, … with these rows of score and other columns."""
    frame = pl.DataFrame(
        [{"subject": "a", "task": f"q{i}", **row} for i, row in enumerate(rows)], infer_schema_length=None
    )
    return Attempts(frame.with_columns(pl.lit(value).alias(name) for name, value in more.items()))


def test_error_and_limit_say_what_became_of_an_attempt_unless_it_says_so_itself():
    table = attempts(
        {"score": 1.0, "error": "late, but scored"},
        {"error": "TimeoutError:\n after  60 s" + "!" * 300},
        {"limit": "tokens"},
        {"limit": "tokens", "error": "broke"},
        {"error": "400 content_filter"},
        {"error": "connection refused"},
        {"error": "False"},
        {"outcome": "absent", "error": "not started"},
        {"reason": "the judge was silent"},
        {},
    )
    assert table.frame.select(COLUMNS).rows()[1:] == [
        (None, "errored", ("TimeoutError: after 60 s" + "!" * 300)[:200]),
        (None, "limit", "tokens"),
        (None, "errored", "broke"),
        (None, "refused", "400 content_filter"),
        (None, "errored", "connection refused"),
        (None, "unscored", "blank"),
        (None, "absent", "not started"),
        (None, "unscored", "the judge was silent"),
        (None, "unscored", "blank"),
    ]
    assert table.frame.row(0, named=True)["outcome"] == "scored"
    with pytest.raises(InputError, match="The table: none of the 2 attempts has a score"):
        attempts({"error": "x"}, {"error": "x"}, score=None)


def test_what_counts_is_said_and_has_no_outcomes():
    table = attempts({"score": 1.0}, {"error": "x"}, {"outcome": "refused"})
    main = table.counted
    assert main.frame.select("task", "score").rows() == [("q0", 1), ("q2", 0)]
    assert main.notes[-1] == "Attempts without a score count as wrong (refused) or are excluded (errored)."
    assert not main.has("outcome")
    assert Attempts(main.frame, notes=main.notes).notes == main.notes  # nothing is settled twice
    assert table.counting("errored=wrong").counted.frame["score"].to_list() == [1, 0, 0]


def test_the_worst_score_is_that_of_the_scale():
    lower = attempts({"score": 0.2}, {"error": "x"}, better="lower").counting("errored=wrong").counted
    assert lower.frame["score"].to_list() == [0.2, 1]
    free = attempts({"score": 7.5}, {"error": "x"}, scale="free")
    dropped = free.counting("errored=wrong").counted
    assert dropped.frame["score"].to_list() == [7.5]
    assert "where scores have no worst value, all are excluded (--missing-score gives one)" in dropped.notes[-1]
    assert free.counting("errored=wrong", -1).counted.frame["score"].to_list() == [7.5, -1]
    with pytest.raises(OptionError, match="missing_score nan is not a finite number"):
        free.counting("errored=wrong", float("nan"))
    shares = attempts({"score": 0.5}, {"error": "x"}, scale="0-1").counting("errored=wrong", -1)
    assert shares.counted.frame["score"].to_list() == [0.5, 0]  # which have a worst value


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("more", [{}, {"prompt": "long"}])
def test_a_written_table_is_read_back_as_it_was(tmp_path, ending, more):
    rows = [
        {"score": 1.0},
        {"error": "x, y"},
        {"outcome": "refused", "reason": "No."},
        {"outcome": "absent"},
        {"limit": "time"},
    ]
    table = attempts(*rows, **more)
    back = howsure.read(table.write(tmp_path / f"t.{ending}"))
    assert back.frame.equals(table.frame.select(back.frame.columns))
    assert (back.outcomes, back.notes) == (table.outcomes, table.notes)


def test_the_command_writes_outcomes_and_keeps_count_for_analyses(tmp_path, command):
    (tmp_path / "in.csv").write_text("llm,item,passed,error\na,q1,yes,\na,q2,,Timeout\na,q3,refused,\n")
    told = command("convert", tmp_path / "in.csv", tmp_path / "out.csv")
    assert "2 of 3 attempts have no score: 1 errored, 1 refused." in told.stderr
    back, first = howsure.read(tmp_path / "out.csv"), howsure.read(tmp_path / "in.csv")
    assert back.frame.select(sorted(back.frame.columns)).equals(first.frame.select(sorted(first.frame.columns)))
    assert repr(back).endswith("; without a score: 1 errored, 1 refused>")
    told = command("convert", tmp_path / "in.csv", tmp_path / "out.csv", "--count", "errored=wrong")
    assert told.returncode == 2
    assert "Give them to the analysis" in told.stderr
    with pytest.raises(OptionError, match="count and missing_score change nothing"):
        howsure.convert(tmp_path / "in.csv", tmp_path / "out.csv", count="harness")


def test_parts_and_unions_say_their_own_counts():
    one, other = attempts({"score": 1.0}, {"error": "x"}), attempts({"score": 1.0}, {}, subject="b")
    both = Attempts.union([one.counting("errored=wrong"), other])
    assert both.notes == ("2 of 4 attempts have no score: 1 errored, 1 unscored.",)
    assert both.count.rules == {"errored": "wrong"}
    part = Attempts(both.lazy.filter(pl.col("subject") == "a"), notes=both.notes)
    assert part.notes == ("1 of 2 attempts have no score: 1 errored.",)
    renamed = rename_all(both, NameFile(models={"a": ["b"]}))
    assert renamed.count.rules == {"errored": "wrong"}
    assert renamed.outcomes == {"a": {"errored": 1, "scored": 2, "unscored": 1}}


def read_text(tmp_path, text, **options):
    (tmp_path / "x.csv").write_text(text)
    return howsure.read(tmp_path / "x.csv", **options)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("model,item,outcome\na,1,pass\na,2,fail\na,3,\n", [(1, "scored", None), (0, "scored", None), (None, "unscored", "blank")]),
        ("model,item,score,outcome\na,1,1,scored\na,2,,limit\n", [(1, "scored", None), (None, "limit", "blank")]),
        ("model,item,score,outcome\na,1,1,done\na,2,,timeout\na,3,,lost\n", [(1, "scored", "done"), (None, "errored", "timeout"), (None, "unscored", "lost")]),
        ("model,item,score,error_message\na,1,1,\na,2,n/a,Rate limit\n", [(1, "scored", None), (None, "errored", "Rate limit")]),
        ("model,item,score,valid\na,1,1,yes\na,2,,no\na,3,crashed,yes\n", [(1, "scored", None), (None, "errored", "crashed")]),
        ("model,item,score,n\na,1,0.5,4\na,2,,3\n", [(0.5, "scored", None), (None, "unscored", "blank")]),
    ],
)  # fmt: skip
def test_columns_of_tables_that_people_wrote(tmp_path, text, rows):
    table = read_text(tmp_path, text)
    assert table.frame.select(COLUMNS).rows() == rows
    account = howsure.sources.account(tmp_path / "x.csv")
    assert account.n_read == text.count("\n") - 1 == account.n_used + account.n_left_out


def test_a_word_for_an_error_among_published_scores_is_no_score(tmp_path):
    table = read_text(tmp_path, "model,benchmark,score\na,x,0.5\na,y,error\na,z,\n", table="scores")
    assert table.frame["score"].to_list() == [0.5]
    assert "1 blank excluded; 1 error excluded" in table.notes[0]
