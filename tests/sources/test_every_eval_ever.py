"""Every Eval Ever: what Howsure writes follows the published schema 0.3.0 and reads back as it was.

The constraints below are those of the published schema, restated: what is required, of which type, in which pattern, and where files lie.
"""

import json
import re
from itertools import chain

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
    min_score={"oneOf": [{"type": "number"}, {"enum": ["Infinity", "-Infinity"]}, {"type": "null"}]},
    max_score={"oneOf": [{"type": "number"}, {"enum": ["Infinity", "-Infinity"]}, {"type": "null"}]},
    additional_details=DETAILS,
) | {
    "if": {"required": ["score_type"], "properties": {"score_type": {"const": "continuous"}}},
    "then": {"required": ["min_score", "max_score"]},
}
UUID4 = "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-4[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}"
PLACE = f"^data/[^/]+/[^/]+/[^/]+/{UUID4}"
MODEL = record(
    "name id additional_details",
    name=TEXT,
    id=TEXT,
    developer=TEXT,
    additional_details=DETAILS
    | {
        "required": ["deployment_type", "model_availability"],
        "properties": {
            "deployment_type": {"enum": ["self_deployed", "externally_managed", "unknown"]},
            "model_availability": {"enum": ["open_weights", "closed_weights", "unknown"]},
        },
    },
)
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
    model_info=MODEL,
    evaluation_results={"type": "array", "items": RESULT},
    detailed_evaluation_results=record(
        "format file_path",
        format={"enum": ["jsonl"]},
        file_path={"type": "string", "pattern": rf"{PLACE}_samples\.jsonl(?:\.(?:gz|zst|bz2|xz|lz4))?$"},
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


def validated(written, folder):
    """The aggregates and the samples, each valid and in its place."""
    aggregates, samples = {}, {}
    for path in written:
        place = path.relative_to(folder).as_posix()
        if path.suffix == ".json":
            held = aggregates[place] = json.loads(path.read_text(), parse_constant=pytest.fail)
            jsonschema.validate(held, AGGREGATE)
            assert re.fullmatch(rf"{PLACE}\.json", place)
            beside = held.get("detailed_evaluation_results", {}).get(
                "file_path", place.replace(".json", "_samples.jsonl")
            )
            assert beside == place.replace(".json", "_samples.jsonl")
        else:
            samples[place] = [json.loads(line, parse_constant=pytest.fail) for line in path.read_text().splitlines()]
            for sample in samples[place]:
                jsonschema.validate(sample, SAMPLE)
    return aggregates, samples


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
    aggregates, samples = validated(written, tmp_path)
    assert sorted(place.rpartition("/")[0] for place in aggregates) == ["data/howsure/acme/a", "data/howsure/b/b"]
    for held in aggregates.values():
        assert held["schema_version"] == "0.3.0"
        assert held["detailed_evaluation_results"]["total_rows"] == 6
        assert len(samples[held["detailed_evaluation_results"]["file_path"]]) == 6
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
    aggregates, _ = validated(written, tmp_path)
    assert sorted(place.rpartition("/")[0] for place in aggregates) == ["data/howsure/a/a", "data/x/b/b"]
    back = sources.read(tmp_path).frame.sort("model", "benchmark")
    assert back.select("model", "benchmark", "score", "se", "n_items").equals(table.frame)
    with pytest.raises(OptionError, match="No format to write called 'helm'"):
        sources.write_as(table, tmp_path, "helm")


def test_attempts_without_a_score_have_a_place_and_are_read_back(tmp_path):
    rows = [
        ("d/m: 1", "q0", 1.0, None, None),
        ("d/m: 1", "q1", None, "refused", "No."),
        ("d/m: 1", "q2", None, "errored", "late"),
    ]
    rows += [
        ("d/m: 1", "q3", None, "limit", "tokens"),
        ("n", "q0", None, "unscored", "blank"),
        ("n", "q1", 0.0, None, None),
    ]
    table = Attempts(pl.DataFrame(rows, schema=["subject", "task", "score", "outcome", "reason"], orient="row"))
    aggregates, samples = validated(sources.write_as(table, tmp_path, "every-eval-ever"), tmp_path)
    assert {place.rpartition("/")[0] for place in aggregates} == {"data/eval/d/m_ 1", "data/eval/n/n"}
    (mean,) = [
        held["evaluation_results"][0]["score_details"]
        for held in aggregates.values()
        if held["model_info"]["id"] != "n"
    ]
    assert (mean["score"], mean["uncertainty"]["num_samples"]) == (pytest.approx(1 / 3), 3)  # the error does not count
    told = {
        sample["sample_id"]: (sample["evaluation"]["score"], sample.get("error")) for sample in chain(*samples.values())
    }
    assert told["q2"] == (0, "late")
    back = sources.read(tmp_path)
    columns = ["subject", "outcome", "reason", "score"]
    assert (
        back.frame.sort("subject", "task").select(columns).equals(table.frame.sort("subject", "task").select(columns))
    )
    assert not [note for note in back.notes if "but the file states" in note]


def test_directions_and_free_scores_are_written_and_read_back(tmp_path):
    rows = [("m", f"wer/{i}", x, "wer", "lower", "free") for i, x in enumerate((0.2, 1.5))]
    rows += [("m", f"ece/{i}", x, "ece", "lower", "0-1") for i, x in enumerate((0.0, 0.5))]
    rows += [("m", f"points/{i}", x, "points", "higher", "free") for i, x in enumerate((3.0, 7.0))]
    table = Attempts(pl.DataFrame(rows, schema=["subject", "task", "score", "domain", "better", "scale"], orient="row"))
    aggregates, samples = validated(sources.write_as(table, tmp_path, "every-eval-ever"), tmp_path)
    (held,) = aggregates.values()
    config = {one["evaluation_name"]: one["metric_config"] for one in held["evaluation_results"]}
    assert {name: (one["lower_is_better"], one["max_score"]) for name, one in config.items()} == {
        "wer": (True, "Infinity"),
        "ece": (True, 1.0),
        "points": (False, "Infinity"),
    }
    correct = [sample["evaluation"]["is_correct"] for sample in chain(*samples.values())]
    assert correct == [False, False, True, False, False, False]
    back = sources.read(tmp_path).frame.sort("task")
    assert back.select("subject", "score", "better", "scale").equals(
        table.frame.sort("task").select("subject", "score", "better", "scale")
    )


def test_names_become_folders_that_every_system_has(tmp_path):
    names = ["a/b/c", "data", "con.x", "x?. ", "o/v:1"]
    table = Scores(
        pl.DataFrame({"model": names, "benchmark": "NUL", "score": 0.5}).with_columns(pl.col("model").str.strip_chars())
    )
    aggregates, _ = validated(sources.write_as(table, tmp_path, "every-eval-ever"), tmp_path)
    folders = {place.rpartition("/")[0].removeprefix("data/") for place in aggregates}
    assert folders == {"NUL_/a/b_c", "NUL_/data_/data_", "NUL_/con.x_/con.x_", "NUL_/x_/x_", "NUL_/o/v_1"}


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
        result("e", 3.0, lower_is_better=True, max_score="Infinity"),
    ]
    held = {"schema_version": "0.3.0", "evaluation_id": "e", "model_info": {"id": "m"}, "evaluation_results": results}
    (tmp_path / "x.json").write_text(json.dumps(held))
    made = sources.account(tmp_path / "x.json")
    assert (made.n_read, made.n_used) == (5, 2)
    unknown = "lower is better, and nothing says what the highest value is"
    assert made.left_out == {unknown: 1, "unknown level": 1, "no score": 1}
    assert sources.read(tmp_path / "x.json").frame["score"].to_list() == [0.625, 0.97]
    assert "b: scores from 0 to 100 are read as 1 to 0, as lower is better." in made.notes
    assert "a: scores from 0 to 100 are read as 0 to 1, as the file says." in made.notes
