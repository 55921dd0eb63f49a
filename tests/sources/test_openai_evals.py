"""Event logs of openai/evals."""

import gzip
import json
from datetime import date

import pytest

from howsure.errors import InputError, OptionError
from howsure.sources import account, openai_evals, read, recognise

SPEC = {
    "completion_fns": ["gpt-4"],
    "eval_name": "test-match.s1.simple-v0",
    "base_eval": "test-match",
    "split": "s1",
    "run_config": {"completion_fns": ["gpt-4"], "seed": 20220722, "command": "oaieval gpt-4 test-match"},
    "created_by": "",
    "run_id": "230417220821DPM75QNS",
    "created_at": "2023-04-17 22:08:21.904498",
}


def event(kind, sample, data, number=0):
    return {
        "run_id": SPEC["run_id"],
        "event_id": number,
        "sample_id": f"test-match.s1.{sample}",
        "type": kind,
        "data": data,
        "created_by": "",
        "created_at": "2023-04-17 22:10:13.127550+00:00",
    }


def match(sample, correct, **more):
    return event("match", sample, {"correct": correct, "expected": 'a "quoted" \\ text', "picked": None} | more)


def metrics(sample, **values):
    return event("metrics", sample, values)


def write(path, *events, spec=SPEC, report=None):
    lines = [{"spec": spec}] if spec else []
    lines += [*events, *([{"final_report": report}] if report else [])]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_matches_are_attempts_of_zero_or_one(tmp_path):
    path = write(tmp_path / "run.jsonl", match(2, False), match(1, True), report={"accuracy": 0.5})
    assert recognise(path).source == "openai_evals"
    frame = read(path).frame
    assert frame["subject"].unique().to_list() == ["gpt-4"]
    assert frame["kind"].unique().to_list() == ["model"]
    assert frame["task"].to_list() == [
        "test-match.s1.simple-v0/test-match.s1.2",
        "test-match.s1.simple-v0/test-match.s1.1",
    ]
    assert frame["score"].to_list() == [0, 1]
    assert frame["domain"].unique().to_list() == ["test-match"]
    assert frame["date"].unique().to_list() == [date(2023, 4, 17)]
    assert frame["attempt"].to_list() == [1, 1]


def test_a_packed_log_reads_the_same(tmp_path):
    path = write(tmp_path / "run.jsonl", match(1, True))
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert recognise(packed).source == "openai_evals"
    assert read(packed).frame.drop("source").equals(read(path).frame.drop("source"))


def test_several_events_of_a_sample_are_attempts_in_order(tmp_path):
    path = write(tmp_path / "run.jsonl", match(0, False), match(1, True), match(0, True))
    frame = read(path).frame.filter(task="test-match.s1.simple-v0/test-match.s1.0")
    assert frame.select("attempt", "score").rows() == [(1, 0.0), (2, 1.0)]


def test_a_second_log_goes_on_counting(tmp_path):
    paths = [write(tmp_path / f"{name}.jsonl", match(0, True)) for name in ("a", "b")]
    assert read(paths).frame.select("attempt", "source").rows() == [(1, "a.jsonl"), (2, "b.jsonl")]


def test_logs_of_other_models_stand_beside_it(tmp_path):
    paths = [
        write(tmp_path / f"{name}.jsonl", match(0, True), spec=SPEC | {"completion_fns": [name]}) for name in ("a", "b")
    ]
    assert read(paths).frame.select("subject", "attempt").rows() == [("a", 1), ("b", 1)]


@pytest.mark.parametrize(
    ("spec", "subject"),
    [
        ({"completion_fns": ["gpt-4", "grader"]}, "gpt-4 + grader"),
        ({"completion_fns": None, "model_name": "davinci"}, "davinci"),
        ({"completion_fns": None, "model_names": {"completions": ["curie"]}}, "curie"),
    ],
)
def test_the_subject_is_the_completion_function(tmp_path, spec, subject):
    path = write(tmp_path / "run.jsonl", match(0, True), spec=SPEC | spec)
    assert read(path).frame["subject"].to_list() == [subject]


def test_other_events_are_counted_in_the_notes(tmp_path):
    events = [event("sampling", 0, {"prompt": "p"}), event("raw_sample", 0, {}), match(0, True)]
    events += [event("sampling", 1, {"prompt": "p"}), event("error", 1, {"type": "Timeout", "message": "late"})]
    table = read(write(tmp_path / "run.jsonl", *events))
    assert table.frame.select("score", "outcome", "reason").rows() == [(1, "scored", None), (None, "errored", "late")]
    assert "Events not used: 1 error, 1 raw_sample, 2 sampling." in table.notes
    made = account(tmp_path / "run.jsonl")
    assert (made.n_read, made.n_used, made.n_unexplained) == (5, 2, 0)


def test_the_only_metric_is_taken_without_a_word(tmp_path):
    table = read(write(tmp_path / "run.jsonl", metrics(0, accuracy=1), metrics(1, accuracy=0.25)))
    assert table.frame["score"].to_list() == [1, 0.25]
    assert table.notes == ()


def test_the_first_of_several_metrics_is_taken_and_told(tmp_path):
    path = write(tmp_path / "run.jsonl", metrics(0, f1=0.5, accuracy=True, text="x"))
    table = read(path)
    assert table.frame["score"].to_list() == [0.5]
    assert any("scored by f1; --metric chooses among accuracy" in note for note in table.notes)
    chosen = read(path, metric="accuracy")
    assert chosen.frame["score"].to_list() == [1]
    assert chosen.notes == ()


def test_matches_go_before_metrics_unless_one_is_named(tmp_path):
    path = write(tmp_path / "run.jsonl", match(0, True), metrics(0, f1=0.25))
    assert read(path).frame["score"].to_list() == [1]
    assert read(path, metric="f1").frame["score"].to_list() == [0.25]


def test_metrics_in_percent_are_divided(tmp_path):
    path = write(tmp_path / "run.jsonl", metrics(0, bleu=40))
    assert read(path, divide_by=100).frame["score"].to_list() == [0.4]
    with pytest.raises(InputError, match=r"run\.jsonl line 2: score 40 is not between 0 and 1"):
        read(path)


def test_a_metric_with_an_odd_name(tmp_path):
    path = write(tmp_path / "run.jsonl", metrics(0, **{"pass@1 (strict)": 0.5}))
    assert read(path).frame["score"].to_list() == [0.5]


# what cannot be read


def test_an_unknown_metric_names_those_there_are(tmp_path):
    path = write(tmp_path / "run.jsonl", metrics(0, accuracy=1))
    with pytest.raises(OptionError, match=r"No metric called 'acuracy'\. Did you mean 'accuracy'\?"):
        read(path, metric="acuracy")


def test_a_log_without_spec_is_recognised_and_refused(tmp_path):
    path = write(tmp_path / "run.jsonl", match(0, True), spec=None)
    assert recognise(path).source == "openai_evals"
    with pytest.raises(InputError, match=r"run\.jsonl line 1: no spec with completion_fns and eval_name"):
        read(path)


def test_a_log_without_scores_is_refused(tmp_path):
    path = write(tmp_path / "run.jsonl", event("sampling", 0, {"prompt": "p"}))
    with pytest.raises(InputError, match="no event carries a score"):
        read(path)


def test_a_match_without_correct_is_an_attempt_without_a_score(tmp_path):
    path = write(tmp_path / "run.jsonl", match(0, True), event("sampling", 1, {}), event("match", 1, {"picked": "x"}))
    assert read(path).frame.select("outcome", "reason").rows()[1] == ("unscored", "no event carries match")


def test_a_broken_line_is_named(tmp_path):
    path = write(tmp_path / "run.jsonl", match(0, True))
    path.write_text(path.read_text() + '{"run_id": "2304')
    with pytest.raises(InputError, match=r"run\.jsonl line 3: not JSON"):
        read(path)


@pytest.mark.parametrize("line", ['{"spec": {}, "weather": 1}', '{"id": 1, "type": "match"}', "[1, 2]", ""])
def test_other_jsonl_files_are_left_to_others(tmp_path, line):
    (tmp_path / "other.jsonl").write_text(line + "\n")
    assert openai_evals.recognise(tmp_path / "other.jsonl") is None
