"""Files of rating tools: written and read again, as the tools' own files look, and every row accounted for."""

import json

import polars as pl
import pytest

from howsure import sources
from howsure.errors import InputError, OptionError
from howsure.study import read_ratings
from howsure.tables import Ratings, Scores

NUMBERS = Ratings(
    pl.DataFrame({"rater": list("abab"), "item": list("xxyy"), "dimension": ["q"] * 4, "value": [1.0, 2.5, 3.0, 4.0]})
)
WORDS = Ratings(pl.DataFrame({"rater": list("abab"), "item": list("xxyy"), "dimension": ["tone"] * 4, "value": ["calm", "=1+1", "calm", "sad"]}))  # fmt: skip
COLUMNS = ("rater", "item", "dimension", "value")


@pytest.mark.parametrize("table", [NUMBERS, WORDS], ids=["numbers", "words"])
@pytest.mark.parametrize("to", sources.WRITTEN[1:])
def test_what_is_written_is_recognised_and_read_again(table, to, tmp_path):
    files = sources.write_as(table, tmp_path, to)
    account = sources.account(tmp_path)
    assert {one.source for one in account.files} == {to.replace("-", "_")}
    assert (account.n_unexplained, account.n_read) == (0, 4)
    again = sources.read(tmp_path if len(files) > 1 else files[0])
    assert again.frame.select(COLUMNS).sort(COLUMNS).equals(table.frame.select(COLUMNS).sort(COLUMNS))
    assert read_ratings(tmp_path if len(files) > 1 else files[0], categories=True).digest == again.digest


def test_label_studio_skips_cancelled_annotations_and_regions(tmp_path):
    results = [
        {"from_name": "quality", "to_name": "t", "type": "rating", "value": {"rating": 4}},
        {"from_name": "ner", "to_name": "t", "type": "labels", "value": {"start": 0, "end": 3, "labels": ["X"]}},
    ]
    annotations = [
        {"id": 1, "completed_by": 10, "was_cancelled": False, "result": results, "lead_time": 4.3},
        {"id": 2, "completed_by": 11, "was_cancelled": True, "result": []},
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"id": 7, "data": {"text": "…"}, "annotations": annotations, "predictions": []}]))
    table = sources.read(path)
    assert table.frame.select(*COLUMNS, "seconds").rows() == [("10", "7", "quality", 4.0, 4.3)]
    account = sources.account(path)
    assert account.left_out == {"skipped by the annotator": 1, "a region or span, which is no rating": 1}
    assert account.n_unexplained == 0


@pytest.mark.parametrize("suffix", [".json", ".csv", ".tsv"])
def test_label_studio_reads_one_row_per_annotation(suffix, tmp_path):
    """JSON-MIN and CSV have the task's own columns beside the questions; several choices and regions are JSON."""
    rows = [
        {"id": task, "annotation_id": 10 * task + who, "annotator": who, "lead_time": 2.5, "created_at": "2024-01-01",
         "text": f"text {task}", "quality": 3 + who, "tone": "calm", "topics": {"choices": ["b", "a"]}, "ner": [{"start": 0, "end": 2, "labels": ["X"]}]}
        for task in (1, 2) for who in (1, 2)
    ]  # fmt: skip
    path = tmp_path / f"export{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        flat = [{name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in row.items()} for row in rows]  # fmt: skip
        pl.DataFrame(flat).write_csv(path, separator="\t" if suffix == ".tsv" else ",")
    table = sources.read(path, metric="quality")
    assert table.frame.select(*COLUMNS, "seconds").rows()[0] == ("1", "1", "quality", 4.0, 2.5)
    words = sources.read(path)
    assert {*words.frame.select("dimension", "value").rows()} == {("tone", "calm"), ("topics", "a + b")}
    account = sources.account(path)
    assert account.left_out["column text, which belongs to the task"] == 4
    assert account.left_out["a region or span, which is no rating"] == 4
    assert account.n_unexplained == 0


def test_label_studio_leaves_comments_out(tmp_path):
    results = [
        {"from_name": "q", "to_name": "t", "type": "rating", "value": {"rating": 4}},
        {"from_name": "why", "to_name": "t", "type": "textarea", "value": {"text": ["Too long."]}},
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": results}]}]))
    assert sources.read(path).frame["dimension"].to_list() == ["q"]
    assert sources.account(path).left_out == {"a comment, which is no rating": 1}


def test_argilla_reads_flat_and_nested_records(tmp_path):
    flat = {"id": "r1", "text": "…", "q.responses": ["good", "bad"], "q.responses.users": ["u1", "u2"], "q.responses.status": ["submitted", "draft"]}  # fmt: skip
    (tmp_path / "flat.jsonl").write_text(json.dumps(flat) + "\n")
    table = sources.read(tmp_path / "flat.jsonl")
    assert table.frame.select(COLUMNS).rows() == [("u1", "r1", "q", "good")]
    nested = {"id": "r1", "fields": {"text": "…"}, "responses": [{"user_id": "u1", "status": "submitted", "values": {"q": {"value": 3}, "rank": {"value": [{"value": "a", "rank": 1}]}}}]}  # fmt: skip
    (tmp_path / "nested.json").write_text(json.dumps([nested]))
    assert sources.read(tmp_path / "nested.json").frame.select(COLUMNS).rows() == [("u1", "r1", "q", 3.0)]
    assert sources.account(tmp_path / "nested.json").left_out == {"a ranking or span, which is no rating": 1}


def test_potato_names_the_user_by_the_folder(tmp_path):
    lines = [
        {"id": "60", "displayed_text": "?", "label_annotations": {"size": {"Yes": "true"}}, "span_annotations": {}, "behavioral_data": {}},
        {"id": "61", "displayed_text": "?", "label_annotations": {"size": {"Yes": False, "No": True}}, "span_annotations": [{"start": 1}], "behavioral_data": {}},
    ]  # fmt: skip
    (tmp_path / "kim").mkdir()
    path = tmp_path / "kim/annotated_instances.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    assert sources.read(path).frame.select(COLUMNS).rows() == [
        ("kim", "60", "size", "Yes"),
        ("kim", "61", "size", "No"),
    ]
    assert sources.account(path).left_out == {"a span, which is no rating": 1}
    path.write_text(json.dumps(lines[0] | {"span_annotations": 7}))
    assert sources.account(path).left_out == {"a span, which is no rating": 1}


def test_potato_reads_a_table_of_all_users(tmp_path):
    lines = ["user\tinstance_id\tdisplayed_text\tq:::1\tq:::2\ttone:::calm\ttone:::sad"]
    lines += ["ann\tx\t…\ttrue\t\t\ttrue", "bob\tx\t…\t\ttrue\ttrue\ttrue"]
    (tmp_path / "annotated_instances.tsv").write_text("\n".join(lines) + "\n")
    path = tmp_path / "annotated_instances.tsv"
    assert sources.read(path).frame.select(COLUMNS).rows() == [("ann", "x", "q", 1.0), ("bob", "x", "q", 2.0)]
    assert sources.read(path, metric="tone").frame["value"].to_list() == ["sad", "calm + sad"]


def test_prodigy_reads_choices_and_binary_answers(tmp_path):
    base = {"text": "…", "_input_hash": 5, "_task_hash": 6, "_annotator_id": "set-kim"}
    lines = [
        base | {"options": [{"id": 1, "text": "good"}, {"id": 2, "text": "bad"}], "accept": [2], "answer": "accept"},
        base | {"_input_hash": 7, "label": "TOXIC", "answer": "reject"},
        base | {"_input_hash": 8, "label": "TOXIC", "answer": "ignore"},
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, lines)))
    rows = sources.read(tmp_path / "p.jsonl").frame.select(COLUMNS).rows()
    assert rows == [("set-kim", "5", "choice", "bad"), ("set-kim", "7", "TOXIC", "reject")]
    assert sources.account(tmp_path / "p.jsonl").left_out == {"ignored by the annotator": 1}


def test_mechanical_turk_reads_options_forms_and_rejections(tmp_path):
    head = "HITId,WorkerId,AssignmentId,AssignmentStatus,WorkTimeInSeconds,Input.item,Answer.tone.calm,Answer.tone.sad,Answer.taskAnswers\n"
    form = '"[{""kind"":{""label"":""news""}}]"'
    rows = [f"h1,w1,a1,Approved,12,x,true,false,{form}", f"h1,w2,a2,Rejected,3,x,true,false,{form}"]
    (tmp_path / "b.csv").write_text(head + "\n".join(rows) + "\n")
    table = sources.read(tmp_path / "b.csv")
    assert sorted(table.frame.select(COLUMNS).rows()) == [("w1", "x", "kind", "news"), ("w1", "x", "tone", "calm")]
    assert sources.account(tmp_path / "b.csv").left_out == {"a rejected assignment": 1}


def test_mechanical_turk_reads_numbers_beside_words(tmp_path):
    head = "HITId,WorkerId,AssignmentId,Input.item,Answer.quality,Answer.comment\n"
    (tmp_path / "b.csv").write_text(head + "h1,w1,a1,x,4,=1+1\nh1,w2,a2,x,2,\n")
    assert sources.read(tmp_path / "b.csv").frame["value"].to_list() == [4.0, 2.0]
    assert sources.read(tmp_path / "b.csv", metric="comment").frame["value"].to_list() == ["=1+1"]


def test_numbers_and_words_of_one_file_are_read_one_after_the_other(tmp_path):
    both = [
        {"rater": "a", "item": "x", "dimension": "q", "value": 3},
        {"rater": "a", "item": "x", "dimension": "w", "value": "no"},
    ]
    responses = {row["dimension"]: [{"user_id": row["rater"], "value": row["value"]}] for row in both}
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"id": "x", "fields": {}, "responses": responses}]))
    table = sources.read(path)
    assert table.frame["dimension"].to_list() == ["q"]
    assert any("--dimension NAME (in Python, metric) reads one dimension" in note for note in table.notes)
    assert read_ratings(path, categories=True, dimension="w").frame["value"].to_list() == ["no"]
    assert sources.read(path, metric="w").frame["value"].to_list() == ["no"]
    with pytest.raises(OptionError, match="No dimension in these ratings called 'z'"):
        sources.read(path, metric="z")


def test_only_ratings_are_written_for_rating_tools(tmp_path):
    scores = Scores(pl.DataFrame({"model": ["m"], "benchmark": ["b"], "score": [0.5]}))
    with pytest.raises(InputError, match="argilla takes ratings; these are scores"):
        sources.write_as(scores, tmp_path, "argilla")
    with pytest.raises(InputError, match="every-eval-ever takes attempts or scores"):
        sources.write_as(NUMBERS, tmp_path, "every-eval-ever")


def test_scorers_of_inspect_are_judges():
    path = sources_folder() / "inspect/data_arc_qwen.json"
    if not path.exists():
        pytest.skip("no shared data")
    ratings = read_ratings(path)
    assert ratings.frame["rater"].unique().to_list() == ["choice"]
    assert ratings.frame["system"].unique().to_list() == ["ollama/qwen2.5:0.5b"]


def sources_folder():
    from pathlib import Path

    return Path(__file__).parents[3] / "shared/data/formats"
