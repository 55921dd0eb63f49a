"""Every Eval Ever: what Howsure writes follows the published schema (as stated there, in short) and reads back as it was."""

import json

import polars as pl
import pytest

from howsure import sources
from howsure.errors import InputError, OptionError
from howsure.tables import Attempts, Ratings, Scores

jsonschema = pytest.importorskip("jsonschema", reason="no jsonschema")

TEXT = {"type": "string"}
DETAILS = {"type": "object", "additionalProperties": TEXT}


def record(required, additional=True, **properties):
    """An object with these properties."""
    held = {"type": "object", "required": required.split(), "properties": properties}
    return held if additional else held | {"additionalProperties": False}


METRIC = record(
    "lower_is_better",
    metric_id=TEXT,
    metric_name=TEXT,
    metric_kind=TEXT,
    metric_unit=TEXT,
    lower_is_better={"type": "boolean"},
    score_type={"enum": ["binary", "continuous", "levels"]},
    min_score={"type": "number"},
    max_score={"type": "number"},
    additional_details=DETAILS,
) | {
    "if": {"required": ["score_type"], "properties": {"score_type": {"const": "continuous"}}},
    "then": {"required": ["min_score", "max_score"]},
}
UNCERTAINTY = record(
    "",
    standard_error=record("value", value={"type": "number"}, method=TEXT),
    standard_deviation={"type": "number"},
    num_samples={"type": "integer"},
)
RESULT = record(
    "evaluation_name source_data metric_config score_details",
    evaluation_result_id=TEXT,
    evaluation_name=TEXT,
    source_data=record(
        "dataset_name source_type", dataset_name=TEXT, source_type={"enum": ["url", "hf_dataset", "other"]}
    ),
    metric_config=METRIC,
    score_details=record("score", score={"type": "number"}, uncertainty=UNCERTAINTY),
)
AGGREGATE = record(
    "schema_version evaluation_id retrieved_timestamp source_metadata model_info eval_library evaluation_results",
    additional=False,
    schema_version=TEXT,
    evaluation_id=TEXT,
    evaluation_timestamp=TEXT,
    retrieved_timestamp=TEXT,
    source_metadata=record(
        "source_type source_organization_name evaluator_relationship",
        source_type={"enum": ["documentation", "evaluation_run"]},
        source_organization_name=TEXT,
        evaluator_relationship={"enum": ["first_party", "third_party", "collaborative", "other"]},
        additional_details=DETAILS,
    ),
    eval_library=record("name version", name=TEXT, version=TEXT, additional_details=DETAILS),
    model_info=record("name id", name=TEXT, id=TEXT, developer=TEXT, additional_details=DETAILS),
    evaluation_results={"type": "array", "items": RESULT},
    detailed_evaluation_results=record(
        "",
        format={"enum": ["jsonl", "json"]},
        file_path=TEXT,
        hash_algorithm={"enum": ["sha256", "md5"]},
        checksum=TEXT,
        total_rows={"type": "integer"},
    ),
)
MAYBE = {"type": ["string", "null"]}
SAMPLE = record(
    "schema_version evaluation_id model_id evaluation_name sample_id interaction_type input output answer_attribution evaluation",
    additional=False,
    schema_version=TEXT,
    evaluation_id=TEXT,
    model_id=TEXT,
    evaluation_name=TEXT,
    evaluation_result_id=TEXT,
    sample_id=TEXT,
    sample_hash=MAYBE,
    interaction_type={"const": "single_turn"},
    input=record("raw reference", raw=TEXT, reference={"type": "array", "items": TEXT}),
    output=record("raw", raw={"type": "array", "items": TEXT}),
    messages={"type": "null"},
    answer_attribution={"type": "array"},
    evaluation=record("score is_correct", score={"type": "number"}, is_correct={"type": "boolean"}),
    token_usage={"type": ["object", "null"]},
    performance=record("", latency_ms={"type": ["number", "null"], "minimum": 0}),
    error=MAYBE,
    metadata={"type": ["object", "null"], "additionalProperties": TEXT},
)


def attempts():
    rows = [
        (model, f"{eval_name}/{item}", score, eval_name, 1.5)
        for model in ("acme/a", "b")
        for eval_name in ("sums", "words")
        for item, score in enumerate((1.0, 0.0, 0.25))
    ]
    return Attempts(pl.DataFrame(rows, schema=["subject", "task", "score", "domain", "seconds"], orient="row"))


def test_attempts_are_written_as_aggregates_and_samples_and_read_back(tmp_path):
    table = attempts()
    written = sources.write_as(table, tmp_path, "every-eval-ever")
    assert len(written) == 4
    for path in written:
        if path.suffix == ".json":
            held = json.loads(path.read_text())
            jsonschema.validate(held, AGGREGATE)
            assert held["detailed_evaluation_results"]["total_rows"] == 6
            assert held["schema_version"] == "0.3.0"
        else:
            for line in path.read_text().splitlines():
                jsonschema.validate(json.loads(line), SAMPLE)
    back = sources.read(tmp_path)
    columns = ["subject", "task", "attempt", "score", "domain", "seconds"]
    assert back.frame.select(columns).sort(columns).equals(table.frame.select(columns).sort(columns))
    assert not [note for note in back.notes if "but the file states" in note]
    means = sources.read(tmp_path, table="scores").frame
    assert means["score"].to_list() == pytest.approx([1.25 / 3] * 4, rel=1e-12)
    assert means["n_items"].to_list() == [3] * 4


def test_scores_are_written_and_read_back(tmp_path):
    rows = {
        "model": ["a", "a", "b"],
        "benchmark": ["x", "y", "x"],
        "score": [0.5, 0.25, 1.0],
        "se": [0.1, None, 0.0],
        "n_items": [10, None, 7],
    }
    table = Scores(pl.DataFrame(rows))
    written = sources.write_as(table, tmp_path, "every_eval_ever")
    for path in written:
        jsonschema.validate(json.loads(path.read_text()), AGGREGATE)
    back = sources.read(tmp_path).frame.sort("model", "benchmark")
    assert back.select("model", "benchmark", "score", "se", "n_items").equals(table.frame)
    with pytest.raises(OptionError, match="No format to write called 'helm'"):
        sources.write_as(table, tmp_path, "helm")


def test_ratings_have_no_place_there(tmp_path):
    table = Ratings(pl.DataFrame({"rater": ["r"], "item": ["i"], "dimension": ["d"], "value": [1.0]}))
    with pytest.raises(InputError, match="every-eval-ever takes attempts or scores; these are ratings"):
        sources.write_as(table, tmp_path, "every-eval-ever")


def test_scales_directions_and_unknown_levels_are_what_the_file_says(tmp_path):
    def result(name, score, **config):
        metric = {"lower_is_better": False, "score_type": "continuous", "min_score": 0, "max_score": 100} | config
        return {"evaluation_name": name, "metric_config": metric, "score_details": {"score": score}, "source_data": {}}

    results = [
        result("a", 62.5),
        result("b", 3.0, lower_is_better=True),
        result("c", -1, has_unknown_level=True),
        result("d", None),
    ]
    held = {"schema_version": "0.3.0", "evaluation_id": "e", "model_info": {"id": "m"}, "evaluation_results": results}
    (tmp_path / "x.json").write_text(json.dumps(held))
    made = sources.account(tmp_path / "x.json")
    assert (made.n_read, made.n_used) == (4, 1)
    assert made.left_out == {"lower is better": 1, "unknown level": 1, "no score": 1}
    assert sources.read(tmp_path / "x.json").frame["score"].to_list() == [0.625]
    assert "a: scores from 0 to 100 are read as 0 to 1, as the file says." in made.notes
