"""Study files: what is taken, what is refused and where, and the schema that editors use."""

import json

import pytest

from howsure.errors import InputError, OptionError
from howsure.study.item_studies import ItemStudy
from howsure.study.protocol import DEFAULT_DIMENSIONS, Dimension, Study

from .study_examples import EXAMPLE, small_study

MINIMAL = """\
title: Voices
consent: You rate texts.
gold: Warm words.
pairs:
  - id: a
    prompt: Why?
    target: Because.
    comparison: No idea.
"""


def write(tmp_path, text, name="study.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_example_reads_and_covers_five_domains():
    study = Study.read(EXAMPLE)
    assert [pair.domain for pair in study.pairs] == ["TECH", "ANAL", "PHIL", "SELF", "NARR"]
    assert [(one.name, one.kind, one.codes) for one in study.dimensions] == [
        ("voice", "comparison", (-2, -1, 0, 1, 2)),
        ("vibe", "each", (1, 2, 3)),
        ("logic", "each", (1, 2, 3)),
        ("continuity", "choice", (1, 0.5, 0)),
    ]


def test_a_minimal_study_gets_the_four_dimensions(tmp_path):
    study = Study.read(write(tmp_path, MINIMAL))
    assert study.dimensions == DEFAULT_DIMENSIONS
    assert [name for one in study.dimensions for name in one.rated] == [
        *("voice", "vibe:target", "vibe:comparison", "logic:target", "logic:comparison", "continuity")
    ]


def test_the_same_study_as_json(tmp_path):
    study = Study.read(write(tmp_path, MINIMAL))
    again = Study.read(write(tmp_path, json.dumps(study.model_dump(mode="json")), "study.json"))
    assert again.digest == study.digest


def test_pairs_may_be_in_a_file_of_their_own(tmp_path):
    head, pairs = MINIMAL.split("pairs:")
    write(tmp_path, f"pairs:{pairs}", "pairs.yaml")
    write(tmp_path, pairs, "bare.yaml")
    for name in ("pairs.yaml", "bare.yaml"):
        assert Study.read(write(tmp_path, f"{head}pairs: {name}\n")).pair("a").target == "Because."
    write(tmp_path, pairs.replace("Because.", ""), "bare.yaml")
    with pytest.raises(InputError, match=r"bare.yaml line 4: 0.target: .*text"):
        Study.read(tmp_path / "study.yaml")


def test_yes_and_no_are_words_and_dates_are_texts(tmp_path):
    text = MINIMAL.replace("Because.", "yes").replace("No idea.", "2024-05-01")
    pair = Study.read(write(tmp_path, text)).pair("a")
    assert (pair.target, pair.comparison) == ("yes", "2024-05-01")


def test_block_and_quoted_texts_end_alike(tmp_path):
    text = MINIMAL.replace("target: Because.", "target: |\n      Because.\n")
    assert Study.read(write(tmp_path, text)).pair("a").target == "Because."


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("title: Voices\n", "", r"study.yaml line 1: title: is missing"),
        ("gold: Warm words.", "gold: ''", r"study.yaml line 3: gold: is empty"),
        (
            "    prompt: Why?",
            "    prompt: Why?\n    promt: x",
            r"study.yaml line 7: pairs.0.promt: is not a field of a study",
        ),
        ("    prompt: Why?", "    prompt: 12", r"study.yaml line 6: pairs.0.prompt: must be text; put it in quotes"),
        ("Because.", "No idea.", r"line 5: pairs.0: both responses of pair 'a' are the same text"),
        ("id: a", "id: a/b", r"line 5: pairs.0.id: is blank or not an allowed name .*an id: up to 40"),
        ("title: Voices", "title: Voices\ntitle: Two", r"study.yaml line 2: 'title' is there twice"),
        ("title: Voices", "title: a: b", r"study.yaml line 1: not YAML \(mapping values are not allowed"),
        ("title: Voices", "title: Voices\nrepeats: 2", r"the study: repeats 2 is above the 1 pairs"),
        ("title: Voices", "title: Voices\ntarget_minutes: [9, 3]", r"target_minutes 9 to 3"),
        ("title: Voices", "title: !!python/object:os.system {}", r"not YAML"),
    ],
)
def test_faults_are_named_with_their_line(old, new, told, tmp_path):
    with pytest.raises(InputError, match=told) as caught:
        Study.read(write(tmp_path, MINIMAL.replace(old, new)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just words"])
def test_what_is_no_study_says_so(text, tmp_path):
    with pytest.raises(InputError, match="not a study"):
        Study.read(write(tmp_path, text))


def test_bytes_and_bottomless_nesting_are_refused(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InputError, match="UTF-8"):
        Study.read(path)
    path.write_text("[" * 5_000 + "]" * 5_000)
    with pytest.raises(InputError, match="nested too deeply"):
        Study.read(path)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kind": "comparison", "low": 0}, "favours one slot|need 3 labels"),
        ({"kind": "each", "low": 1, "high": 3}, "labels count 5"),
        ({"kind": "each", "low": 3, "high": 1}, "not below"),
        ({"kind": "choice", "low": 0, "high": 1, "labels": ["a", "b"], "values": [1]}, "1 values for 2 labels"),
        ({"kind": "choice", "low": 0, "high": 1, "labels": ["a", "b"], "values": [1, 5]}, "do not run from"),
        ({"kind": "each", "low": 1, "high": 2, "labels": ["a", "a"]}, "'a' appears twice"),
        ({"name": "guess", "kind": "comparison"}, "reserved by Howsure"),
    ],
)
def test_dimensions_that_do_not_fit_are_refused(given, told):
    with pytest.raises(ValueError, match=told):
        Dimension(**({"name": "x", "question": "?"} | given))


def test_questions_whose_names_would_clash_are_refused():
    own = [
        {"name": "vibe", "kind": "each", "question": "?", "low": 1, "high": 2, "labels": ["a", "b"]},
        {"name": "vibe_1", "kind": "comparison", "question": "?"},
    ]
    with pytest.raises(ValueError, match="question 'vibe_1' appears twice"):
        small_study(dimensions=own)


def test_questions_name_the_slot_they_ask_about():
    vibe = DEFAULT_DIMENSIONS[1]
    assert vibe.asked(2) == "Does Response 2 have the energy of the gold standard?"
    assert vibe.model_copy(update={"question": "Is it warm?"}).asked(1) == "Response 1: Is it warm?"


def test_pairs_and_dimensions_are_found_by_name():
    study = small_study()
    assert study.dimension("logic").kind == "each"
    with pytest.raises(OptionError, match="No pair called 'p9'"):
        study.pair("p9")
    with pytest.raises(OptionError, match="Did you mean 'voice'"):
        study.dimension("voise")


def test_the_schema_names_and_explains_every_field(command, tmp_path):
    schema = json.loads(command("study", "check", "--schema").stdout)
    pairs, items = schema["else"], schema["then"]
    assert set(pairs["properties"]) == set(Study.model_fields)
    assert set(items["properties"]) == set(ItemStudy.model_fields)
    parts = [pairs, items, *schema["$defs"].values()]
    assert all("description" in field for part in parts for field in part["properties"].values())
    assert {"type": "string"}.items() <= pairs["properties"]["pairs"]["anyOf"][1].items()
    assert command("study", "check", "--schema", "-o", tmp_path).returncode == 0
    assert json.loads((tmp_path / "study.schema.json").read_text()) == schema
